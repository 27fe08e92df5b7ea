//! From a CRD, as the derive makes it, to what Crossplane takes: an XRD, or the schema of a function's input.
//!
//! Crossplane builds its own CRDs from an XRD and drops part of the schema on the way: at the level of `spec` it keeps properties,
//! required, description, oneOf, rules and preserve-unknown-fields, and nothing else. So nothing else stands there.
//!
//! Input: types. Output: JSON values, to be written as YAML. No I/O.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Map, Value, json};

use crate::claim::{CLAIM_KIND, CLAIM_PLURAL, GROUP, XTestPlatformCluster};
use crate::input::InputObject;
use crate::pool::XTestPlatformClusterPool;
use crate::space;
use crate::test_cluster;

/// Keys of the connection Secret, in upstream's order. Part of what Crossplane cannot change on a running XRD.
pub const CONNECTION_SECRET_KEYS: [&str; 2] = ["kubeconfig", "kubeAdminPassword"];

/// Which Composition makes each kind where nobody says which. Without that Crossplane takes one at random wherever there is more than one, and what
/// the other sets, such as the longest lifetime, would be anybody's to draw. Source: Crossplane, `internal/controller/apiextensions/composite/api.go`.
mod composition {
    pub(super) const CLUSTER: &str = "testplatform-ephemeral-cluster";
    pub(super) const TEST_CLUSTER: &str = "testplatform-test-cluster";
    pub(super) const POOL: &str = "testplatform-cluster-pool";
    pub(super) const SPACE: &str = "eaas-namespace";
}

/// The kind that tenants use for a composite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimNames<'a> {
    /// Kind, such as `TestPlatformCluster`.
    pub kind: &'a str,
    /// Plural, such as `testplatformclusters`.
    pub plural: &'a str,
}

/// The XRD of `TestPlatformCluster`, `xtestplatformclusters.ci.openshift.org`.
///
/// # Errors
/// Only if the derived CRD cannot be written as JSON, which a test excludes.
pub fn test_platform_cluster() -> Result<Value, serde_json::Error> {
    composite_resource_definition(
        &XTestPlatformCluster::crd(),
        composition::CLUSTER,
        Some(ClaimNames { kind: CLAIM_KIND, plural: CLAIM_PLURAL }),
        &CONNECTION_SECRET_KEYS,
    )
}

/// The XRD of pools, `xtestplatformclusterpools.ci.openshift.org`: no claim, because pools are the administrators', and no credentials.
///
/// # Errors
/// Only if the derived CRD cannot be written as JSON, which a test excludes.
pub fn test_platform_cluster_pool() -> Result<Value, serde_json::Error> {
    composite_resource_definition(&XTestPlatformClusterPool::crd(), composition::POOL, None, &[])
}

/// The XRD of spaces, `xnamespaces.eaas.konflux-ci.dev`. As the incumbent's: a claim asks for nothing, and may leave out its whole `spec`; all
/// keys of the credentials pass. Only the status is ours.
///
/// # Errors
/// Only if the derived schema cannot be written as JSON, which a test excludes.
pub fn space_xrd() -> Result<Value, serde_json::Error> {
    let mut status = serde_json::to_value(schema_for::<space::SpaceStatus>())?;
    tidy_schema(&mut status);
    let column = |name: &str, path: &str| json!({ "name": name, "type": "string", "jsonPath": path });
    let mut message = column("MESSAGE", ".status.message");
    message["priority"] = 1.into();
    let version = json!({
        "name": space::VERSION,
        "served": true,
        "referenceable": true,
        "additionalPrinterColumns":
            [column("PHASE", ".status.phase"), column("NAMESPACE", ".status.namespace"), message],
        "schema": { "openAPIV3Schema": {
            "type": "object",
            "description": "A namespace on a hub with quotas, limits, network policies and an account, for tests that need no cluster of their own.",
            "properties": { "status": status },
        } },
    });
    Ok(json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "CompositeResourceDefinition",
        "metadata": {
            "name": format!("{}.{}", space::SPACE_PLURAL, space::GROUP),
            "annotations": { "argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true" },
        },
        "spec": {
            "group": space::GROUP,
            "names": { "kind": space::SPACE_KIND, "plural": space::SPACE_PLURAL },
            "claimNames": { "kind": space::SPACE_CLAIM_KIND, "plural": space::SPACE_CLAIM_PLURAL },
            "defaultCompositionRef": { "name": composition::SPACE },
            "versions": [version],
        },
    }))
}

/// The schema of a part, in the words of a CRD.
fn schema_for<T: schemars::JsonSchema>() -> schemars::Schema {
    let generator = schemars::generate::SchemaSettings::openapi3().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = generator
        .with_transform(kube::core::schema::StructuralSchemaRewriter)
        // An optional field is not nullable: a schema for both has no type, which API servers refuse.
        .with_transform(kube::core::schema::OptionalEnum)
        .into_generator()
        .into_root_schema_for::<T>();
    schema.remove("title");
    schema
}

/// The XRD of `TestCluster`, `testclusters.ci.openshift.org`: of the same types, for composites in the tenant's namespace
/// (`apiextensions.crossplane.io/v2`, which Crossplane has from 2.0 on). It has no claim and no connection Secret of Crossplane's.
///
/// # Errors
/// Only if the derived CRD cannot be written as JSON, which a test excludes.
pub fn test_cluster() -> Result<Value, serde_json::Error> {
    let mut xrd =
        composite_resource_definition(&XTestPlatformCluster::crd(), composition::TEST_CLUSTER, None, &[])?;
    xrd["apiVersion"] = "apiextensions.crossplane.io/v2".into();
    xrd["metadata"]["name"] = format!("{}.{GROUP}", test_cluster::PLURAL).into();
    xrd["spec"]["scope"] = "Namespaced".into();
    xrd["spec"]["names"] = json!({
        "kind": test_cluster::KIND, "plural": test_cluster::PLURAL, "shortNames": [test_cluster::SHORT_NAME],
    });
    let (property, rule) = test_cluster::secret_reference();
    for version in array_mut(&mut xrd, "/spec/versions") {
        let Some(spec) = version.pointer_mut("/schema/openAPIV3Schema/properties/spec") else { continue };
        spec["properties"]["writeConnectionSecretToRef"] = property.clone();
        if let Some(rules) = spec["x-kubernetes-validations"].as_array_mut() {
            rules.push(rule.clone());
        }
    }
    Ok(xrd)
}

/// The CRD of the function's input. It is never applied; packages and editors read it.
///
/// # Errors
/// Only if the derived CRD cannot be written as JSON, which a test excludes.
pub fn input_xrd() -> Result<Value, serde_json::Error> {
    let mut crd = serde_json::to_value(InputObject::crd())?;
    for version in array_mut(&mut crd, "/spec/versions") {
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            tidy_schema(schema);
            add_type_and_metadata(schema);
        }
    }
    Ok(crd)
}

/// Reshapes a CRD into an XRD (`apiextensions.crossplane.io/v1`, and so of scope `LegacyCluster`).
///
/// `names` and `claimNames` get kind and plural only: they are immutable as a whole, and with a short name more the XRD could not be
/// applied over a running one that has none. Of each version the schema of `spec` and `status` is kept, since
/// the rest is Crossplane's, and the printer columns, which come before Crossplane's own. `composition` is taken where none is named.
///
/// # Errors
/// If the CRD cannot be written as JSON.
pub fn composite_resource_definition(
    crd: &CustomResourceDefinition,
    composition: &str,
    claim: Option<ClaimNames<'_>>,
    connection_secret_keys: &[&str],
) -> Result<Value, serde_json::Error> {
    let names = &crd.spec.names;
    let mut spec = json!({
        "group": crd.spec.group,
        "names": { "kind": names.kind, "plural": names.plural },
        "defaultCompositionRef": { "name": composition },
        "versions": crd.spec.versions.iter().map(version_schema).collect::<Result<Vec<_>, _>>()?,
    });
    if let Some(claim) = claim {
        spec["claimNames"] = json!({ "kind": claim.kind, "plural": claim.plural });
    }
    if !connection_secret_keys.is_empty() {
        spec["connectionSecretKeys"] = json!(connection_secret_keys);
    }
    Ok(json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "CompositeResourceDefinition",
        "metadata": {
            "name": format!("{}.{}", names.plural, crd.spec.group),
            // As upstream: Argo CD may apply it in one go with Crossplane itself.
            "annotations": { "argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true" },
        },
        "spec": spec,
    }))
}

fn version_schema(
    version: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionVersion,
) -> Result<Value, serde_json::Error> {
    let derived = serde_json::to_value(&version.schema)?;
    let derived = derived.get("openAPIV3Schema").unwrap_or(&Value::Null);
    let mut schema = json!({ "type": "object", "required": ["spec"], "properties": {} });
    if let Some(description) = derived.get("description") {
        schema["description"] = description.clone();
    }
    for property in ["spec", "status"] {
        if let Some(inner) = derived.pointer(&format!("/properties/{property}")) {
            schema["properties"][property] = inner.clone();
        }
    }
    tidy_schema(&mut schema);
    if let Some(status) = schema.pointer_mut("/properties/status") {
        without_rules(status);
    }
    let mut xrd = json!({
        "name": version.name,
        "served": version.served,
        // Exactly one version is referenceable; it is the one that is stored.
        "referenceable": version.storage,
        "schema": { "openAPIV3Schema": schema },
    });
    if let Some(columns) = &version.additional_printer_columns {
        xrd["additionalPrinterColumns"] = serde_json::to_value(columns)?;
    }
    Ok(xrd)
}

/// Brings a derived schema into the form in which one would write it by hand.
///
/// - `nullable` goes. The derive puts it on every `Option`; with it an API server would store nulls and rules would see them as set, without it
///   nulls are pruned, which is what "not set" means here.
/// - Bounds of integers are integers.
/// - Line breaks that only wrap a doc comment become spaces. Descriptions of fields below `ciOperator` are upstream's and stay as they are.
fn tidy_schema(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    object.remove("nullable");
    for bound in ["minimum", "maximum"] {
        if let Some(whole) = object.get(bound).and_then(Value::as_f64).and_then(to_integer) {
            object.insert(bound.to_owned(), Value::from(whole));
        }
    }
    if let Some(Value::String(description)) = object.get_mut("description") {
        *description = unwrap_lines(description);
    }
    for keyword in ["additionalProperties", "items"] {
        if let Some(inner) = object.get_mut(keyword) {
            tidy_schema(inner);
        }
    }
    for (name, inner) in properties_mut(object) {
        // Ours is the description of the block, not what is in it, which is already in the right form.
        if name == "ciOperator" {
            if let Value::Object(block) = inner {
                block.remove("nullable");
                if let Some(Value::String(description)) = block.get_mut("description") {
                    *description = unwrap_lines(description);
                }
            }
        } else {
            tidy_schema(inner);
        }
    }
}

/// Keywords that bound a value.
const BOUNDS: [&str; 9] = [
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "pattern",
];

/// Removes rules and bounds from a status. Its copies of spec fields were admitted by earlier rules, or come from a catalogue without a
/// schema. They must not block a status update of an existing cluster. Enums of ours stay.
fn without_rules(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    object.remove("x-kubernetes-validations");
    for bound in BOUNDS {
        object.remove(bound);
    }
    for keyword in ["additionalProperties", "items"] {
        if let Some(inner) = object.get_mut(keyword) {
            without_rules(inner);
        }
    }
    properties_mut(object).for_each(|(_, inner)| without_rules(inner));
}

/// Adds the fields that every object has. API servers add them, but editors read the file as it is.
fn add_type_and_metadata(schema: &mut Value) {
    let Value::Object(root) = schema else { return };
    // The derive titles the root with the name of a Rust type.
    root.remove("title");
    if let Some(Value::Object(properties)) = root.get_mut("properties") {
        properties.insert("apiVersion".to_owned(), json!({ "type": "string" }));
        properties.insert("kind".to_owned(), json!({ "type": "string" }));
        properties.insert("metadata".to_owned(), json!({ "type": "object" }));
    }
}

fn properties_mut(object: &mut Map<String, Value>) -> impl Iterator<Item = (&String, &mut Value)> {
    object.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::iter_mut)
}

fn array_mut<'a>(value: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    value.pointer_mut(pointer).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Paragraphs stay paragraphs.
fn unwrap_lines(text: &str) -> String {
    text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n")
}

/// Bounds of ours are small; a bound that is not whole stays as it is.
#[allow(clippy::cast_possible_truncation)]
fn to_integer(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64)
}

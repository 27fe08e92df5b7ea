//! Types of the charts' values. Schema, defaults and comments of `values.yaml` come from them.
//!
//! Every type refuses unknown fields, so that a misspelt value is an error and not ignored.

use std::collections::BTreeMap;

use anyhow::Context as _;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde::Serialize;
use serde_json::{Map, Value, json};
use testplatform_apis::template::Backend;

use crate::{
    install::alerts::SITE,
    names::{FUNCTION, PROVIDER},
};

/// Schema of the provider's configuration, as `provider-testplatform schema` prints it.
const PROVIDER_SCHEMA: &str = include_str!("../../../../provider/config.schema.json");
/// Registry in references that an administrator replaces. It does not exist.
const NO_REGISTRY: &str = "xpkg.example.org";
/// Rights of a Konflux cluster on a hub that belong to no backend of templates.
const OTHER_RIGHTS: [&str; 4] = ["clusterclaims", "clusterpools", "hub-facts", "spaces"];

/// Values of chart `testplatform`. Unknown fields are refused.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct KonfluxValues {
    /// Pools of Hive from Git, as XTestPlatformClusterPools.
    cluster_pools: Part,
    /// The EnvironmentConfig that names this cluster.
    environment: EnvironmentValues,
    /// The composition function.
    function: FunctionValues,
    /// Values of a parent chart. This chart reads none.
    #[serde(skip_serializing_if = "Option::is_none")]
    global: Option<Map<String, Value>>,
    /// Access to the hub.
    hub: AccessValues,
    /// ConfigMap and rights by which kube-state-metrics measures claims.
    kube_state_metrics: Part,
    /// Monitors, alerts and the dashboard, for the Prometheus operator.
    monitoring: MonitoringValues,
    /// Namespace crossplane-connections, in which Crossplane keeps connection details.
    namespaces: CreatedPart,
    /// Rights of every user to read ConfigMap testplatform-offers, which `cargo xpkg generate offers` writes.
    offers: Part,
    /// Settings for OpenShift, which assigns user ids itself.
    openshift: Part,
    /// Namespace claims of group eaas.konflux-ci.dev.
    spaces: Part,
    /// TestClusters in addition to claims, for Crossplane 2.
    test_clusters: Part,
}

/// Values of chart `testplatform-hub`. Unknown fields are refused.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct HubValues {
    /// The definition of EphemeralClusters. Set create to false if another controller installed it.
    definition: CreatedPart,
    /// Values of a parent chart. This chart reads none.
    #[serde(skip_serializing_if = "Option::is_none")]
    global: Option<Map<String, Value>>,
    /// The identity of Konflux clusters on this hub.
    konflux: IdentityValues,
    /// Monitor and alerts, for the Prometheus operator.
    monitoring: MonitoringValues,
    /// Namespaces ephemeral-cluster and provider-testplatform.
    namespaces: CreatedPart,
    /// The provider.
    provider: ProviderValues,
    /// The provider's rights for the default configuration. For another configuration, set create to false and apply the output of
    /// `provider-testplatform rbac hub --config FILE`.
    rights: CreatedPart,
}

impl HubValues {
    /// Defaults, with the configuration of the overlay.
    pub(super) fn new(config: Value) -> Self {
        Self {
            definition: CreatedPart::default(),
            global: None,
            konflux: IdentityValues::default(),
            monitoring: MonitoringValues::default(),
            namespaces: CreatedPart::default(),
            provider: ProviderValues { config, image: default_reference(PROVIDER), replicas: 2 },
            rights: CreatedPart::default(),
        }
    }
}

/// A part that is installed on request.
#[derive(Clone, Copy, Debug, Default, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct Part {
    /// Whether it is installed.
    enabled: bool,
}

/// A part that is installed unless something else installs it.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct CreatedPart {
    /// Whether this chart creates it.
    create: bool,
}

impl Default for CreatedPart {
    fn default() -> Self {
        Self { create: true }
    }
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EnvironmentValues {
    /// Name by which the hub knows this cluster. Every cluster has its own.
    #[schemars(length(min = 1, max = 253))]
    cluster_name: String,
    /// Whether this chart creates the EnvironmentConfig.
    create: bool,
    /// By workflow, the provisioning time that nine of ten clusters meet, such as `ipi-aws: 2h30m`.
    #[serde(rename = "provisionP90")]
    #[schemars(schema_with = "durations_schema")]
    provision_p90: BTreeMap<String, String>,
}

/// Text without spaces and control characters.
const PRINTABLE: &str = "^[!-~]+$";
/// Key of a label.
const LABEL_KEY: &str = "^([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
/// Value of a label.
const LABEL_VALUE: &str = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$";
/// Name of a namespace.
const NAMESPACE: &str = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";
/// A reference with a tag or a digest.
const REFERENCE: &str = r"^[^\s@]+(:[^\s@/]+|@sha256:[0-9a-f]{64})$";
/// A duration of Go.
const DURATION: &str = "^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$";

impl Default for EnvironmentValues {
    fn default() -> Self {
        let cluster_name = "name-of-this-cluster".to_owned();
        Self { cluster_name, create: true, provision_p90: BTreeMap::new() }
    }
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct FunctionValues {
    /// The function's package in your registry, by the digest that `cargo xpkg push` prints:
    /// HOST/PATH/function-testplatform@sha256:DIGEST.
    #[schemars(regex(pattern = REFERENCE))]
    package: String,
    /// Number of pods.
    #[schemars(range(min = 1, max = 16))]
    replicas: u32,
}

impl Default for FunctionValues {
    fn default() -> Self {
        Self { package: default_reference(FUNCTION), replicas: 2 }
    }
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AccessValues {
    /// Identity on the hub. Secret: the kubeconfig in Secret testplatform-appci-cluster of namespace crossplane-system, which you create.
    /// InjectedIdentity: the hub is this cluster, and provider-kubernetes has its own ServiceAccount there. None: something else creates the
    /// ProviderConfig.
    #[schemars(extend("enum" = ["Secret", "InjectedIdentity", "None"]))]
    access: String,
    /// An ExternalSecret that fetches the kubeconfig from a vault, for the External Secrets Operator.
    external_secret: ExternalSecretValues,
}

impl Default for AccessValues {
    fn default() -> Self {
        Self { access: "Secret".to_owned(), external_secret: ExternalSecretValues::default() }
    }
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct ExternalSecretValues {
    /// Whether it is installed.
    enabled: bool,
    /// Key in the vault, with property kubeconfig.
    #[schemars(length(min = 1))]
    key: String,
    /// The store that reads the vault.
    store: StoreValues,
}

impl Default for ExternalSecretValues {
    fn default() -> Self {
        Self {
            enabled: false,
            key: "production/openshift-ci/appci-cluster".to_owned(),
            store: StoreValues {
                kind: "ClusterSecretStore".to_owned(),
                name: "appsre-stonesoup-vault".to_owned(),
            },
        }
    }
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct StoreValues {
    /// ClusterSecretStore, or SecretStore in namespace crossplane-system.
    #[schemars(extend("enum" = ["ClusterSecretStore", "SecretStore"]))]
    kind: String,
    /// Its name.
    #[schemars(length(min = 1))]
    name: String,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct MonitoringValues {
    /// Address of your documentation site. Alerts lead to its pages.
    #[schemars(regex(pattern = "^https?://[!-~]+$"))]
    docs: String,
    /// Whether it is installed.
    enabled: bool,
    /// Labels by which the Prometheus operator selects monitors and rules.
    #[schemars(schema_with = "labels_schema")]
    labels: BTreeMap<String, String>,
    /// Namespaces of Prometheus, from which the NetworkPolicy admits requests for metrics. At least one, which need not exist.
    #[schemars(length(min = 1), extend("items" = { "type": "string", "pattern": NAMESPACE }))]
    namespaces: Vec<String>,
}

impl Default for MonitoringValues {
    fn default() -> Self {
        let namespaces = ["openshift-monitoring", "openshift-user-workload-monitoring", "monitoring"];
        Self {
            docs: SITE.to_owned(),
            enabled: false,
            labels: BTreeMap::new(),
            namespaces: namespaces.map(str::to_owned).into(),
        }
    }
}

#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct IdentityValues {
    /// Kinds of claims, in addition to those of ci-operator, for which a Konflux cluster has rights here.
    #[schemars(schema_with = "rights_schema")]
    rights: Vec<String>,
}

/// Every kind of claims that `konflux.rights` can name.
pub(super) fn available_rights() -> Vec<String> {
    let backends = Backend::ALL.iter().map(ToString::to_string);
    backends.chain(OTHER_RIGHTS.map(str::to_owned)).collect()
}

fn durations_schema(_: &mut SchemaGenerator) -> Schema {
    texts_schema(PRINTABLE, DURATION)
}

fn labels_schema(_: &mut SchemaGenerator) -> Schema {
    texts_schema(LABEL_KEY, LABEL_VALUE)
}

/// Texts by name. Not `propertyNames`, about which Helm reports a wrong place.
fn texts_schema(names: &str, texts: &str) -> Schema {
    json_schema!({
        "type": "object",
        "patternProperties": { (names): { "type": "string", "pattern": texts } },
        "additionalProperties": false,
    })
}

fn rights_schema(_: &mut SchemaGenerator) -> Schema {
    let rights = available_rights();
    json_schema!({ "type": "array", "uniqueItems": true, "items": { "type": "string", "enum": rights } })
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct ProviderValues {
    /// The provider's configuration; `provider-testplatform schema` prints every field. A change restarts the provider.
    config: Value,
    /// The provider's image in your registry, by digest: HOST/PATH/provider-testplatform@sha256:DIGEST.
    #[schemars(regex(pattern = REFERENCE))]
    image: String,
    /// Number of pods. One of them acts, the others wait.
    #[schemars(range(min = 1, max = 16))]
    replicas: u32,
}

/// Reference that the overlays have before an administrator names a registry.
fn default_reference(name: &str) -> String {
    format!("{NO_REGISTRY}/{name}:v{}", env!("CARGO_PKG_VERSION"))
}

/// Schema of the values of chart `testplatform`.
///
/// # Errors
/// If the type has no schema.
pub(super) fn konflux_schema() -> anyhow::Result<Value> {
    generate_schema::<KonfluxValues>()
}

/// Schema of the values of chart `testplatform-hub`, with that of the provider's configuration.
///
/// # Errors
/// If the type has no schema, or the provider's is unreadable.
pub(super) fn hub_schema() -> anyhow::Result<Value> {
    let mut schema = generate_schema::<HubValues>()?;
    let mut config: Value = serde_json::from_str(PROVIDER_SCHEMA)?;
    move_references(&mut config);
    let fields = config.as_object_mut().context("the provider's schema is no object")?;
    let definitions = fields.remove("$defs").unwrap_or_else(|| json!({}));
    fields.remove("$schema");
    fields.remove("title");
    let place = "/properties/provider/properties/config";
    let property = schema.pointer_mut(place).with_context(|| format!("the schema has no {place}"))?;
    fields.insert("description".to_owned(), property["description"].clone());
    *property = config;
    schema["definitions"] = definitions;
    Ok(schema)
}

/// Draft 07 without references: older versions of Helm know no later draft.
fn generate_schema<T: JsonSchema>() -> anyhow::Result<Value> {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = serde_json::to_value(settings.into_generator().into_root_schema_for::<T>())?;
    schema.as_object_mut().context("a type of values has no schema")?.remove("title");
    Ok(schema)
}

/// References to definitions, as draft 07 has them.
fn move_references(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get_mut("$ref") {
                *target = target.replace("#/$defs/", "#/definitions/");
            }
            fields.values_mut().for_each(move_references);
        }
        Value::Array(items) => items.iter_mut().for_each(move_references),
        _ => {}
    }
}

//! The `ciOperator` block: a request to ci-operator, in ci-operator's own schema.
//!
//! The block belongs to another project and grows without asking us. So it is data here, not a struct: it is handed to the
//! hub as the tenant wrote it, and this module only knows its schema, to say early what the hub would refuse late.
//!
//! Input: the value of `spec.ciOperator`. Output: the schema for the XRD, the invalid and unknown fields of a value, and the value to
//! forward. It must never drop a field because this copy of the schema does not know it.

use std::borrow::Cow;
use std::sync::OnceLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::collect;

pub(crate) mod inspect;

pub use inspect::{find_problems, unknown_fields};

/// The schema of `spec.ciOperator` of the `EphemeralCluster` CRD (`ephemeralclusters.ci.openshift.io`), unchanged, as JSON.
const UPSTREAM: &str = include_str!("ci_operator.schema.json");

/// Refusal of a `test.clusterClaim` that is neither empty nor complete.
pub const PARTIAL_CLUSTER_CLAIM: &str = "test.clusterClaim needs cloud, owner and version together; leave all three out to run without a cluster claim";

/// The value of `spec.ciOperator`, exactly as the tenant wrote it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CiOperator(pub Map<String, Value>);

impl CiOperator {
    /// The block for the hub: verbatim, with unknown fields, but without leftovers of templating.
    ///
    /// Members that are null are left out at every depth (an API server prunes them from declared fields, but keeps them
    /// in unknown ones, where the hub would take offence), and so is a `test.clusterClaim` that is then empty: the
    /// Konflux task sends `{}` by default, and on the hub a present one is required to be complete.
    /// A null inside a list stays, since leaving it out would move its neighbours.
    pub fn to_forwarded(&self) -> Map<String, Value> {
        let mut block = without_nulls(&self.0, MAX_DEPTH);
        if let Some(Value::Object(test)) = block.get_mut("test")
            && test.get("clusterClaim").is_some_and(|claim| claim.as_object().is_some_and(Map::is_empty))
        {
            test.remove("clusterClaim");
        }
        block
    }
}

/// Deeper values are passed on as they are. Parsers refuse JSON deeper than 128, so nothing real is that deep.
const MAX_DEPTH: usize = 128;

fn without_nulls(map: &Map<String, Value>, depth: usize) -> Map<String, Value> {
    let rest = map.iter().filter(|(_, value)| !value.is_null());
    collect::to_object(rest.map(|(key, value)| (key.clone(), prune_nulls(value, depth))))
}

fn prune_nulls(value: &Value, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else { return value.clone() };
    match value {
        Value::Object(map) => Value::Object(without_nulls(map, depth)),
        Value::Array(items) => Value::Array(items.iter().map(|item| prune_nulls(item, depth)).collect()),
        other => other.clone(),
    }
}

/// The schema as the `EphemeralCluster` CRD has it, parsed once.
pub fn upstream_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    // A test parses the data file; `true` (anything goes) can only be reached by a file that never passed it.
    SCHEMA.get_or_init(|| serde_json::from_str(UPSTREAM).unwrap_or(Value::Bool(true)))
}

/// The schema as our XRD has it: upstream's, with two differences, both towards accepting more. Built once.
///
/// - Every object level keeps fields that are not declared. The API server would prune them silently, and the tenant
///   would get another cluster than the one asked for (it happened to `releases.*.release.relative`).
/// - `test.clusterClaim` may be empty. Upstream's `required` refuses the default of the Konflux task.
pub fn xrd_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| relax_schema(upstream_schema()))
}

/// Applies the two differences of [`xrd_schema`] to any version of upstream's schema. Idempotent.
pub fn relax_schema(upstream: &Value) -> Value {
    let mut schema = upstream.clone();
    preserve_unknown(&mut schema);
    if let Some(claim) =
        schema.pointer_mut("/properties/test/properties/clusterClaim").and_then(Value::as_object_mut)
    {
        claim.remove("required");
        claim.insert(
            "x-kubernetes-validations".to_owned(),
            json!([{
                "rule": "has(self.cloud) == has(self.owner) && has(self.owner) == has(self.version)",
                "message": PARTIAL_CLUSTER_CLAIM,
            }]),
        );
    }
    schema
}

fn preserve_unknown(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    if object.contains_key("properties") {
        object.insert("x-kubernetes-preserve-unknown-fields".to_owned(), Value::Bool(true));
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(preserve_unknown);
    }
    for keyword in ["additionalProperties", "items"] {
        if let Some(inner) = object.get_mut(keyword) {
            preserve_unknown(inner);
        }
    }
}

impl JsonSchema for CiOperator {
    fn schema_name() -> Cow<'static, str> {
        "CiOperator".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::try_from(xrd_schema().clone()).unwrap_or_default()
    }
}

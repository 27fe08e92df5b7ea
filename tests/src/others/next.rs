//! The version after this one, as far as it is another: it composes a resource and says things that this version does not
//! know, a field of the status among them, and its definition has one field more in spec and status. Else it is this version.

use anyhow::Context as _;
use jiff::Timestamp;
use prost::{Message as _, bytes::Bytes};
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_composites::{
    Options,
    sdk::{
        proto::{
            self, Condition, Ready, Resource, RunFunctionRequest, RunFunctionResponse, Severity, Status,
            Target,
        },
        wire,
    },
};

/// Annotation of claims that get the new resource.
pub const MONITORED: &str = "testplatform.ci.openshift.org/monitored";
/// Composition resource name of the new resource, and the beginning of its name.
pub const MONITOR: &str = "monitor";
/// Annotation that it writes where this version writes others.
pub const NEW: &str = "testplatform.ci.openshift.org/new-in-next";
/// Field of the spec that only its definition has, and of the status, where it repeats what the spec says.
pub const FIELD: &str = "newInNext";
/// Value of the field in the status where the spec does not set it.
const UNSAID: &str = "by the next version";

/// Our definition as it has it.
pub fn definition(mut ours: Value) -> anyhow::Result<Value> {
    for part in ["spec", "status"] {
        let at = format!("{SCHEMA}/{part}/properties");
        let fields = ours.pointer_mut(&at).and_then(Value::as_object_mut);
        let fields = fields.with_context(|| format!("a definition without {at}"))?;
        fields.insert(FIELD.into(), json!({ "type": "string" }));
    }
    Ok(ours)
}

/// `true` if a definition, or the one that core derives from it, has the field in the status.
pub fn declares(definition: &Value) -> bool {
    definition.pointer(&format!("{SCHEMA}/status/properties/{FIELD}")).is_some()
}

const SCHEMA: &str = "/spec/versions/0/schema/openAPIV3Schema/properties";

/// Runs it once.
pub fn run(request: &RunFunctionRequest, now: Timestamp) -> RunFunctionResponse {
    let mut known = request.clone();
    if let Some(observed) = &mut known.observed {
        observed.resources.remove(MONITOR);
    }
    let mut response = testplatform_composites::run(&known, &Options::default(), now);
    let fatal = response.results.iter().any(|r| r.severity == i32::from(Severity::Fatal));
    if !fatal && let Err(error) = extend(request, &mut response) {
        response.results.push(proto::Result {
            severity: Severity::Fatal.into(),
            message: format!("the next version cannot go on: {error:#}"),
            ..proto::Result::default()
        });
    }
    response
}

fn extend(request: &RunFunctionRequest, response: &mut RunFunctionResponse) -> anyhow::Result<()> {
    response.conditions.push(Condition {
        r#type: "ClusterHealthy".into(),
        // Not Unknown, which is what core says where a pass failed.
        status: Status::ConditionFalse.into(),
        reason: "NotMonitored".into(),
        message: Some("said by the next version".into()),
        target: Some(Target::CompositeAndClaim.into()),
    });
    let composite = request.observed.as_ref().and_then(|o| o.composite.as_ref());
    let composite = composite.map(|c| wire::to_value(&c.resource)).transpose()?.unwrap_or_default();
    let Some(desired) = &mut response.desired else { return Ok(()) };
    if let Some(said) = &mut desired.composite {
        let mut told = wire::to_value(&said.resource)?;
        told["status"][FIELD] = composite["spec"][FIELD].as_str().unwrap_or(UNSAID).into();
        said.resource = wire::to_struct(&told)?;
    }
    let Some(ec) = desired.resources.get_mut("ec") else { return Ok(()) };
    let mut writer = Resource::decode(ec.clone())?;
    let mut object = wire::to_value(&writer.resource)?;
    object["metadata"]["annotations"][NEW] = "on the Object".into();
    object["spec"]["forProvider"]["manifest"]["metadata"]["annotations"][NEW] = "on the hub".into();
    let monitor = monitor(&object);
    writer.resource = wire::to_struct(&object)?;
    *ec = Bytes::from(writer.encode_to_vec());
    if composite["metadata"]["annotations"][MONITORED] == "true" {
        let resource = Resource {
            resource: wire::to_struct(&monitor)?,
            connection_details: vec![],
            ready: Ready::True.into(),
        };
        desired.resources.insert(MONITOR.into(), Bytes::from(resource.encode_to_vec()));
    }
    Ok(())
}

/// An Object that looks at what the writer writes.
fn monitor(writer: &Value) -> Value {
    let manifest = &writer["spec"]["forProvider"]["manifest"];
    let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
    json!({
        "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object",
        "metadata": { "name": format!("{MONITOR}-{name}"), "labels": { (ours::COMPONENT): MONITOR } },
        "spec": {
            "managementPolicies": ["Observe"],
            "forProvider": { "manifest": {
                "apiVersion": manifest["apiVersion"], "kind": manifest["kind"],
                "metadata": { "name": name, "namespace": manifest["metadata"]["namespace"] },
            } },
            "providerConfigRef": writer["spec"]["providerConfigRef"],
        },
    })
}

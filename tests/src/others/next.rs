//! The version after this one, as far as it is another: it composes a resource and says things that this version does not
//! know. Else it is this version.

use function_testplatform::{
    Options,
    proto::{
        self, Condition, Ready, Resource, RunFunctionRequest, RunFunctionResponse, Severity, Status, Target,
    },
    wire,
};
use jiff::Timestamp;
use prost::{Message as _, bytes::Bytes};
use serde_json::{Value, json};
use testplatform_apis::names::ours;

/// Annotation of claims that get the new resource.
pub const MONITORED: &str = "testplatform.ci.openshift.org/monitored";
/// Composition resource name of the new resource, and the beginning of its name.
pub const MONITOR: &str = "monitor";
/// Annotation that it writes where this version writes others.
pub const NEW: &str = "testplatform.ci.openshift.org/new-in-next";

/// Runs it once.
pub fn run(request: &RunFunctionRequest, now: Timestamp) -> RunFunctionResponse {
    let mut known = request.clone();
    if let Some(observed) = &mut known.observed {
        observed.resources.remove(MONITOR);
    }
    let mut response = function_testplatform::run(&known, &Options::default(), now);
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
        status: Status::ConditionUnknown.into(),
        reason: "NotMonitored".into(),
        message: Some("said by the next version".into()),
        target: Some(Target::CompositeAndClaim.into()),
    });
    let composite = request.observed.as_ref().and_then(|o| o.composite.as_ref());
    let composite = composite.map(|c| wire::to_value(&c.resource)).transpose()?.unwrap_or_default();
    let Some(desired) = &mut response.desired else { return Ok(()) };
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

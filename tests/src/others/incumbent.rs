//! The pipeline of text templates that ours replaces, as one function: what it composes, says and hands on. It has no
//! status, no pin and no memory, and it is as ready as its Objects say.

use std::collections::BTreeMap;

use prost::{Message as _, bytes::Bytes};
use serde_json::{Value, json};
use testplatform_composites::sdk::{
    proto::{
        Condition, Ready, Requirements, Resource, ResourceSelector, ResponseMeta, RunFunctionRequest,
        RunFunctionResponse, State, Status, Target, resource::ConnectionDetailsEntry,
        resource_selector::Match,
    },
    wire,
};

use crate::cluster::has;

const ENVIRONMENT: &str = "envcfg";
const NAMESPACE: &str = "ephemeral-cluster";
const PROVIDER_CONFIG: &str = "testplatform-kubernetes-provider-config";
const CEL: &str = "has(object.status) && has(object.status.conditions) &&\n\
                   object.status.conditions.exists(c, c.type == 'ClusterReady' && c.status == 'True')\n";
const NOTES: &str = "ephemeralcluster.ci.openshift.io";

/// Runs it once. Unreadable input ends it, and so the pipeline.
pub fn run(request: &RunFunctionRequest) -> anyhow::Result<RunFunctionResponse> {
    let observed = request.observed.clone().unwrap_or_default();
    let composite = wire::to_value(&observed.composite.unwrap_or_default().resource)?;
    let config = request.required_resources.get(ENVIRONMENT).and_then(|r| r.items.first());
    let config = config.map(|r| wire::to_value(&r.resource)).transpose()?;
    let of = |name: &str| -> anyhow::Result<(Value, Vec<ConnectionDetailsEntry>)> {
        let Some(bytes) = observed.resources.get(name) else { return Ok((Value::Null, vec![])) };
        let resource = Resource::decode(bytes.clone())?;
        Ok((wire::to_value(&resource.resource)?, resource.connection_details))
    };
    let (ec, _) = of("ec")?;
    let (credentials, details) = of("credentials")?;
    let hub = &ec["status"]["atProvider"]["manifest"]["status"];

    let mut desired = State::default();
    let mut compose = |name: &str, object: &Value, observed: &Value| -> anyhow::Result<()> {
        let ready = if has(observed, "Ready", "True", "") { Ready::True } else { Ready::Unspecified };
        let resource =
            Resource { resource: wire::to_struct(object)?, connection_details: vec![], ready: ready.into() };
        desired.resources.insert(name.into(), Bytes::from(resource.encode_to_vec()));
        Ok(())
    };
    if let Some(config) = config {
        let cluster = config["data"]["clusterName"].as_str().unwrap_or("<no value>");
        compose("ec", &writer(&composite, cluster), &ec)?;
    }
    compose("credentials", &reader(&composite, hub), &credentials)?;
    desired.composite = Some(Resource {
        resource: wire::to_struct(
            &json!({ "apiVersion": composite["apiVersion"], "kind": composite["kind"] }),
        )?,
        connection_details: details,
        ready: Ready::Unspecified.into(),
    });
    let selector = ResourceSelector {
        api_version: "apiextensions.crossplane.io/v1beta1".into(),
        kind: "EnvironmentConfig".into(),
        namespace: None,
        r#match: Some(Match::MatchName(ENVIRONMENT.into())),
    };
    Ok(RunFunctionResponse {
        meta: Some(ResponseMeta {
            tag: request.meta.as_ref().map(|m| m.tag.clone()).unwrap_or_default(),
            ttl: None,
        }),
        desired: Some(desired),
        context: request.context.clone(),
        requirements: Some(Requirements {
            resources: BTreeMap::from([(ENVIRONMENT.into(), selector)]),
            ..Requirements::default()
        }),
        conditions: said(hub).iter().map(condition).collect(),
        ..RunFunctionResponse::default()
    })
}

/// The Object `ec`.
pub fn writer(composite: &Value, cluster: &str) -> Value {
    let name = composite["metadata"]["name"].as_str().unwrap_or_default();
    let mut notes = json!({
        (format!("{NOTES}/konflux-cluster")): cluster,
        (format!("{NOTES}/konflux-tenant")): composite["spec"]["claimRef"]["namespace"],
    });
    for note in ["pipeline-run-name", "task-run-name"] {
        let note = format!("{NOTES}/{note}");
        if let Some(run) = composite["metadata"]["annotations"][&note].as_str() {
            notes[note] = run.into();
        }
    }
    let mut spec = json!({ "ciOperator": composite["spec"]["ciOperator"] });
    if let Some(asked) = composite["spec"].get("tearDownCluster") {
        spec["tearDownCluster"] = asked.clone();
    }
    object(
        &format!("managed-{name}"),
        &json!({
            "forProvider": { "manifest": {
                "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster",
                "metadata": { "name": name, "namespace": NAMESPACE, "annotations": notes },
                "spec": spec,
            } },
            "providerConfigRef": { "name": PROVIDER_CONFIG },
            "readiness": { "policy": "DeriveFromCelQuery", "celQuery": CEL },
            "watch": true,
        }),
    )
}

/// The Object `credentials`.
pub fn reader(composite: &Value, hub: &Value) -> Value {
    let name = composite["metadata"]["name"].as_str().unwrap_or_default();
    let name = format!("credentials-{name}");
    let secret = hub["secretRef"].as_str().filter(|s| !s.is_empty()).unwrap_or("pending");
    let detail = |key: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "namespace": NAMESPACE, "name": secret,
            "fieldPath": format!("data.{key}"), "toConnectionSecretKey": key,
        })
    };
    object(
        &name,
        &json!({
            "managementPolicies": ["Observe"],
            "forProvider": { "manifest": {
                "apiVersion": "v1", "kind": "Secret", "metadata": { "name": secret, "namespace": NAMESPACE },
            } },
            "connectionDetails": [detail("kubeconfig"), detail("kubeAdminPassword")],
            "providerConfigRef": { "name": PROVIDER_CONFIG },
            "writeConnectionSecretToRef": { "name": name, "namespace": "crossplane-connections" },
            "watch": true,
        }),
    )
}

fn object(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object",
        "metadata": { "name": name, "annotations": {} }, "spec": spec,
    })
}

/// Its conditions: two that carry a text, then the hub's own.
pub fn said(hub: &Value) -> Vec<Value> {
    let text = |type_: &str, field: &str| json!({ "type": type_, "status": "True", "message": hub[field].as_str().unwrap_or_default() });
    let mut said = vec![text("_EphemeralClusterPhase", "phase"), text("_ProwJobURL", "prowJobURL")];
    said.extend(hub["conditions"].as_array().into_iter().flatten().cloned());
    said
}

fn condition(said: &Value) -> Condition {
    let text = |field: &str| said[field].as_str().unwrap_or_default().to_owned();
    let status = match said["status"].as_str() {
        Some("True") => Status::ConditionTrue,
        Some("False") => Status::ConditionFalse,
        _ => Status::ConditionUnknown,
    };
    Condition {
        r#type: text("type"),
        status: status.into(),
        reason: text("reason"),
        message: Some(text("message")),
        target: Some(Target::CompositeAndClaim.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use testplatform_test_data::upstream;

    fn read(path: &std::path::Path) -> Value {
        serde_json::from_slice(&fs::read(path).expect("a recorded file")).expect("JSON")
    }

    #[test]
    fn it_answers_as_was_recorded() {
        let recorded = upstream().join("parity");
        for state in ["02-create", "03-provisioning", "04-ready", "05-teardown"] {
            let request = read(&recorded.join(state).join("request.json"));
            let response = read(&recorded.join(state).join("response.json"));
            let composite = &request["observed"]["composite"]["resource"];
            let config = &request["extraResources"][ENVIRONMENT]["items"][0]["resource"];
            let cluster = config["data"]["clusterName"].as_str().expect("a name");
            let observed = &request["observed"]["resources"]["ec"]["resource"];
            let hub = &observed["status"]["atProvider"]["manifest"]["status"];
            let desired = &response["desired"]["resources"];
            assert_eq!(writer(composite, cluster), desired["ec"]["resource"], "{state}");
            assert_eq!(reader(composite, hub), desired["credentials"]["resource"], "{state}");
            let fields = |conditions: &[Value]| -> Vec<[String; 4]> {
                let text = |c: &Value, field: &str| c[field].as_str().unwrap_or_default().to_owned();
                let status =
                    |c: &Value| text(c, "status").trim_start_matches("STATUS_CONDITION_").to_lowercase();
                let all = conditions.iter();
                all.map(|c| [text(c, "type"), status(c), text(c, "reason"), text(c, "message")]).collect()
            };
            let theirs = response["conditions"].as_array().expect("conditions");
            assert_eq!(fields(&said(hub)), fields(theirs), "{state}");
        }
    }
}

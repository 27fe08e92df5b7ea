//! The incumbent's pipeline for spaces, as one function: what it composes and hands on, its first pass with `<no value>` included.

use std::collections::BTreeMap;

use prost::{Message as _, bytes::Bytes};
use serde_json::{Value, json};
use testplatform_composites::sdk::{
    proto::{
        Ready, Requirements, Resource, ResourceSelector, ResponseMeta, RunFunctionRequest,
        RunFunctionResponse, State, resource::ConnectionDetailsEntry, resource_selector::Match,
    },
    wire,
};

use crate::cluster::has;

/// Output of its text templates for a missing value.
const NOTHING: &str = "<no value>";
/// Its ProviderConfig, whose Secret has the URL of the hub's API server.
const PROVIDER_CONFIG: &str = "eaas-kubernetes-provider-config";
/// Its ServiceAccount.
const ACCOUNT: &str = "namespace-manager";

/// Runs it once. Unreadable input ends it, and so the pipeline.
pub fn run(request: &RunFunctionRequest) -> anyhow::Result<RunFunctionResponse> {
    let observed = request.observed.clone().unwrap_or_default();
    let composite = wire::to_value(&observed.composite.unwrap_or_default().resource)?;
    let name = composite["metadata"]["name"].as_str().unwrap_or_default();
    let namespace = name.replace('.', "-");
    let config = request.required_resources.get("providerConfig").and_then(|r| r.items.first());
    let config = config.map(|r| wire::to_value(&r.resource)).transpose()?.unwrap_or_default();
    let mut known = BTreeMap::new();
    for (name, bytes) in &observed.resources {
        let resource = Resource::decode(bytes.clone())?;
        known.insert(name.as_str(), (wire::to_value(&resource.resource)?, resource.connection_details));
    }
    let account = known.get("serviceaccount").map(|(object, _)| {
        object["spec"]["forProvider"]["manifest"]["metadata"]["name"].as_str().unwrap_or(NOTHING).to_owned()
    });
    let account = account.unwrap_or_else(|| NOTHING.to_owned());

    let mut desired = State::default();
    for (resource, object) in objects(name, &namespace, &account, &config) {
        let is = known.get(resource).is_some_and(|(object, _)| has(object, "Ready", "True", ""));
        let ready = if is { Ready::True } else { Ready::Unspecified };
        let resource_ =
            Resource { resource: wire::to_struct(&object)?, connection_details: vec![], ready: ready.into() };
        desired.resources.insert(resource.into(), Bytes::from(resource_.encode_to_vec()));
    }
    let read = known.get("secret").map(|(_, details)| details.as_slice()).unwrap_or_default();
    let body = json!({ "apiVersion": composite["apiVersion"], "kind": composite["kind"] });
    desired.composite = Some(Resource {
        resource: wire::to_struct(&body)?,
        connection_details: details(&namespace, &account, read),
        ready: Ready::Unspecified.into(),
    });
    let selector = ResourceSelector {
        api_version: "kubernetes.crossplane.io/v1alpha1".into(),
        kind: "ProviderConfig".into(),
        namespace: None,
        r#match: Some(Match::MatchName(PROVIDER_CONFIG.into())),
    };
    Ok(RunFunctionResponse {
        meta: Some(ResponseMeta {
            tag: request.meta.as_ref().map(|m| m.tag.clone()).unwrap_or_default(),
            ttl: None,
        }),
        desired: Some(desired),
        context: request.context.clone(),
        requirements: Some(Requirements {
            resources: BTreeMap::from([("providerConfig".into(), selector)]),
            ..Requirements::default()
        }),
        ..RunFunctionResponse::default()
    })
}

/// All five, or none where one of them is not known yet.
fn details(namespace: &str, account: &str, read: &[ConnectionDetailsEntry]) -> Vec<ConnectionDetailsEntry> {
    let value = |key: &str| {
        let found = read.iter().find(|e| e.key == key).and_then(|e| e.value.clone()).unwrap_or_default();
        String::from_utf8_lossy(&found).into_owned()
    };
    let (token, server) = (value("token"), value("apiserver"));
    if token.is_empty() || server.is_empty() {
        return vec![];
    }
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\nclusters:\n  - name: eaas-cluster\n    cluster:\n      server: {server}\n\
         contexts:\n  - context:\n      cluster: eaas-cluster\n      namespace: {namespace}\n      user: {account}\n    name: default\n\
         users:\n  - name: {account}\n    user:\n      token: {token}\ncurrent-context: default\npreferences: {{}}\n"
    );
    [
        ("apiserver", server),
        ("kubeconfig", kubeconfig),
        ("namespace", namespace.to_owned()),
        ("serviceaccount", account.to_owned()),
        ("token", token),
    ]
    .map(|(key, value)| ConnectionDetailsEntry { key: key.to_owned(), value: Some(value.into()) })
    .into()
}

fn objects(name: &str, namespace: &str, account: &str, config: &Value) -> Vec<(&'static str, Value)> {
    let inside = |api: &str, kind: &str, name: &str, spec: Value| {
        let metadata = json!({ "name": name, "namespace": namespace });
        json!({ "apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec })
    };
    let quota = |name: &str, spec: Value| object(&inside("v1", "ResourceQuota", name, spec));
    let policy =
        |name: &str, spec: Value| object(&inside("networking.k8s.io/v1", "NetworkPolicy", name, spec));
    let home = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": namespace, "labels": { "konflux-ci.dev/namespace-type": "eaas" } },
    });
    let mut home = object(&home);
    home["metadata"]["annotations"] = json!({ "crossplane.io/external-name": namespace });
    let labelled = |key: &str, value: &str| json!({ "namespaceSelector": { "matchLabels": { key: value } } });
    let group = "network.openshift.io/policy-group";
    let limit = json!({
        "type": "Container", "default": { "cpu": "2000m", "memory": "2Gi" },
        "defaultRequest": { "cpu": "10m", "memory": "256Mi" },
    });
    let metadata = |name: &str| json!({ "name": name, "namespace": namespace });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": metadata("namespace-manager-rb"),
        "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace }],
        "roleRef": { "kind": "ClusterRole", "name": "edit", "apiGroup": "rbac.authorization.k8s.io" },
    });
    let own = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(ACCOUNT) });
    vec![
        ("namespace", home),
        ("quota", quota("quota", json!({ "hard": hard() }))),
        (
            "quota-not-terminating",
            quota(
                "quota-not-terminating",
                json!({
                    "scopes": ["NotTerminating"],
                    "hard": { "requests.cpu": "1750m", "requests.memory": "32Gi", "limits.cpu": "20", "limits.memory": "32Gi" },
                }),
            ),
        ),
        (
            "quota-terminating",
            quota(
                "quota-terminating",
                json!({
                    "scopes": ["Terminating"], "hard": { "cpu": 0, "memory": 0, "pods": 0 },
                }),
            ),
        ),
        (
            "resource-limits",
            object(&inside("v1", "LimitRange", "resource-limits", json!({ "limits": [limit] }))),
        ),
        (
            "allow-same-namespace",
            policy(
                "allow-same-namespace",
                json!({
                    "podSelector": {}, "ingress": [{ "from": [{ "podSelector": {} }] }],
                }),
            ),
        ),
        (
            "allow-from-openshift",
            policy(
                "allow-from-openshift",
                json!({
                    "podSelector": {}, "policyTypes": ["Ingress"],
                    "ingress": [{ "from": [
                        labelled(group, "console"), labelled(group, "monitoring"), labelled(group, "ingress"),
                        labelled("openshift.io/scc", "anyuid"),
                    ] }],
                }),
            ),
        ),
        ("serviceaccount", object(&own)),
        ("rolebinding", object(&binding)),
        ("secret", secret(name, namespace, account, config)),
    ]
}

fn hard() -> Value {
    let mut hard = json!({
        "requests.storage": "50Gi", "requests.ephemeral-storage": "50Gi", "limits.ephemeral-storage": "50Gi",
        "count/persistentvolumeclaims": "12", "count/pods": "150", "count/configmaps": "100",
        "count/secrets": "100", "count/services": "30", "count/ingresses.extensions": "0",
        "count/routes.route.openshift.io": "0", "count/buildconfigs.build.openshift.io": "0",
        "count/clustertemplateinstances.clustertemplate.openshift.io": "5",
    });
    for kind in [
        "deployments.apps",
        "deploymentconfigs.apps",
        "daemonsets.apps",
        "statefulsets.apps",
        "replicasets.apps",
        "replicationcontrollers",
        "jobs.batch",
        "cronjobs.batch",
    ] {
        hard[format!("count/{kind}")] = "30".into();
    }
    hard
}

fn secret(name: &str, namespace: &str, account: &str, config: &Value) -> Value {
    let reference = &config["spec"]["credentials"]["secretRef"];
    let text = |field: &str| reference[field].as_str().unwrap_or(NOTHING).to_owned();
    let detail = |key: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "name": account, "namespace": namespace,
            "fieldPath": format!("data.{key}"), "toConnectionSecretKey": key,
        })
    };
    let mut secret = object(&json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {
            "name": account, "namespace": namespace,
            "annotations": { "kubernetes.io/service-account.name": account },
        },
    }));
    secret["spec"]["references"] = json!([{ "patchesFrom": {
        "apiVersion": "v1", "kind": "Secret", "name": text("name"), "namespace": text("namespace"),
        "fieldPath": "data.apiserver",
    } }]);
    secret["spec"]["connectionDetails"] = json!([detail("token"), detail("apiserver")]);
    let into = json!({ "name": name, "namespace": "crossplane-connections" });
    secret["spec"]["writeConnectionSecretToRef"] = into;
    secret
}

fn object(manifest: &Value) -> Value {
    json!({
        "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "metadata": {},
        "spec": { "forProvider": { "manifest": manifest }, "providerConfigRef": { "name": PROVIDER_CONFIG } },
    })
}

//! The YAML of a claim → what is asked of the hub: tenants write what they like, and it stays data.

use std::{collections::BTreeMap, sync::LazyLock};

use prost::{Message as _, bytes::Bytes};
use serde_json::{Value, json};
use testplatform_apis::names::ephemeral_cluster::{KONFLUX_CLUSTER, KONFLUX_TENANT};
use testplatform_composites::{
    Options, run,
    sdk::{
        proto::{Resource, Resources, RunFunctionRequest, Severity, State},
        wire,
    },
};

use super::request::{answered, now};

/// An EnvironmentConfig with the name of the Konflux cluster, and one with a catalogue of pools.
const ENVIRONMENT: &str = include_str!("../../examples/hive-by-version/environment.yaml");
/// The catalogue of templates: all that are shipped as samples.
const TEMPLATES: [&str; 7] = [
    include_str!("../../package/install/examples/template-bundles.yaml"),
    include_str!("../../package/install/examples/template-caas.yaml"),
    include_str!("../../package/install/examples/template-cloud-credential.yaml"),
    include_str!("../../package/install/examples/template-cluster-api.yaml"),
    include_str!("../../package/install/examples/template-hypershift-kubevirt.yaml"),
    include_str!("../../package/install/examples/template-osac.yaml"),
    include_str!("../../package/install/examples/template-prerequisites.yaml"),
];
const CLUSTER: &str = "konflux-example";
const TENANT: &str = "team-a";
const NAME: &str = "demo-x7k2p";
/// The hub that makes what there are templates for.
const HUB: &str = "hub-1";
/// Those with the pools of that catalogue.
const OF_POOLS: &[&str] = &["testplatform-hive-1", "testplatform-hive-2"];

/// What may be asked of a hub for a claim.
pub struct Asked {
    /// Composition resource name of the Object.
    pub name: &'static str,
    kind: &'static str,
    /// The ProviderConfigs by which it may go.
    hubs: &'static [&'static str],
    namespace: &'static str,
    /// What follows the composite's name in that of a ConfigMap beside a cluster. Nothing: it stands for the cluster itself.
    suffix: &'static str,
}

const fn cluster(
    name: &'static str,
    kind: &'static str,
    hubs: &'static [&'static str],
    namespace: &'static str,
) -> Asked {
    Asked { name, kind, hubs, namespace, suffix: "" }
}

const fn ahead(name: &'static str, suffix: &'static str) -> Asked {
    Asked { name, kind: "ConfigMap", hubs: &[HUB], namespace: "clusters", suffix }
}

/// All of it. Where it is follows from the catalogues, of which a claim can only choose.
pub const ASKED: [Asked; 8] = [
    cluster("ec", "EphemeralCluster", &["testplatform-kubernetes-provider-config"], "ephemeral-cluster"),
    cluster("claim", "ClusterClaim", OF_POOLS, "cluster-pools"),
    cluster("cluster", "HostedCluster", &[HUB], "clusters"),
    cluster("topology", "Cluster", &[HUB], "clusters"),
    cluster("instance", "ClusterTemplateInstance", &[HUB], "clusters"),
    cluster("order", "ClusterOrder", &[HUB], "osac-orders"),
    ahead("cloud-credential", "-cloud-credential"),
    ahead("prerequisites", "-prerequisites"),
];

/// Whatever the text.
pub fn check(bytes: &[u8]) {
    for (name, object) in asked(bytes) {
        assert_eq!(wrong(&name, &object), None, "{object}");
    }
}

/// What a claim has asked of hubs in its first pass: the Objects by their composition resource names.
pub fn asked(bytes: &[u8]) -> BTreeMap<String, Value> {
    let text = std::str::from_utf8(bytes).ok();
    let claim = text.and_then(|text| serde_saphyr::from_str::<Value>(text).ok());
    let response = claim.as_ref().and_then(request).and_then(|request| answered(&request));
    let desired = response.and_then(|response| response.desired).unwrap_or_default();
    // What reads the credentials asks for nothing.
    let asking = desired.resources.into_iter().filter(|(name, _)| name != "credentials");
    let read = |bytes: Bytes| {
        let resource = Resource::decode(bytes).expect("a resource of ours");
        wire::to_value(&resource.resource).expect("an object of ours")
    };
    asking.map(|(name, bytes)| (name, read(bytes))).collect()
}

/// Why it asks for nothing: what the function says of the request, if it says anything.
#[allow(dead_code, reason = "a target of the fuzzer needs only the verdict")]
pub fn told(bytes: &[u8]) -> Option<String> {
    let claim = serde_saphyr::from_str::<Value>(std::str::from_utf8(bytes).ok()?).ok()?;
    let response = run(&request(&claim)?, &Options::default(), now());
    let fatal = response.results.into_iter().find(|result| result.severity == i32::from(Severity::Fatal));
    let accepted = response.conditions.into_iter().find(|condition| condition.r#type == "RequestAccepted");
    fatal.map(|fatal| fatal.message).or_else(|| accepted?.message)
}

/// What depends on the claim, and must not: what is asked for, of whom, where, under which name and for whom.
pub fn wrong(name: &str, object: &Value) -> Option<&'static str> {
    let manifest = &object["spec"]["forProvider"]["manifest"];
    let metadata = &manifest["metadata"];
    let Some(asked) = ASKED.iter().find(|asked| asked.name == name) else {
        return Some("nothing of this name");
    };
    let hub = object["spec"]["providerConfigRef"]["name"].as_str().unwrap_or_default();
    let order = || serde_json::from_str::<Value>(manifest["data"]["order"].as_str().unwrap_or_default());
    let order = if asked.suffix.is_empty() { Value::Null } else { order().unwrap_or_default() };
    let of_whom = match name {
        "cloud-credential" => order["tenant"] == TENANT,
        // It is asked for with the cluster that follows.
        "prerequisites" => true,
        _ => {
            let notes = &metadata["annotations"];
            notes[KONFLUX_TENANT] == TENANT && notes[KONFLUX_CLUSTER] == CLUSTER
        }
    };
    [
        (manifest["kind"] == asked.kind, "another kind"),
        (asked.hubs.contains(&hub), "another hub"),
        (metadata["namespace"] == asked.namespace, "another namespace"),
        (metadata["name"] == format!("{NAME}{}", asked.suffix), "another name"),
        (asked.suffix.is_empty() || order["cluster"]["name"] == NAME, "another cluster"),
        (of_whom, "another tenant"),
    ]
    .into_iter()
    .find_map(|(right, what)| (!right).then_some(what))
}

/// What core has fetched for the claim.
static FETCHED: LazyLock<BTreeMap<String, Resources>> = LazyLock::new(|| {
    let found: Vec<Value> = serde_saphyr::from_multiple(ENVIRONMENT).expect("YAML");
    let [environment, pools] = <[Value; 2]>::try_from(found).expect("two documents");
    let templates = TEMPLATES.map(|text| serde_saphyr::from_str::<Value>(text).expect("YAML"));
    let mut hub = json!({
        "apiVersion": "kubernetes.crossplane.io/v1alpha1", "kind": "ProviderConfig",
        "metadata": { "name": HUB, "labels": { "testplatform.ci.openshift.org/hub": "true" } },
    });
    for backend in ["caas", "cluster-api", "hypershift", "osac"] {
        hub["metadata"]["labels"][format!("testplatform.ci.openshift.org/backend.{backend}")] = "true".into();
    }
    let items = |objects: &[Value]| {
        let items = objects.iter().map(|object| resource(object).expect("it has a form on the wire"));
        Resources { items: items.collect() }
    };
    let fetched = [
        ("envcfg", items(&[environment])),
        ("pools", items(&[pools])),
        ("templates", items(&templates)),
        ("hubs", items(&[hub])),
        ("hub-facts", items(&[])),
        ("neighbours", items(&[])),
        ("clusters", items(&[])),
    ];
    fetched.map(|(name, items)| (name.to_owned(), items)).into()
});

fn resource(object: &Value) -> Option<Resource> {
    Some(Resource { resource: wire::to_struct(object).ok()?, ..Resource::default() })
}

/// The first request for the composite that Crossplane makes of a claim; none where it has no form on the wire.
fn request(claim: &Value) -> Option<RunFunctionRequest> {
    let mut spec = claim["spec"].as_object().cloned().unwrap_or_default();
    spec.insert("claimRef".into(), json!({ "name": "demo", "namespace": TENANT }));
    let mut composite = json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformCluster",
        "metadata": { "name": NAME, "uid": "xr-uid", "creationTimestamp": "2026-11-21T10:00:00Z" },
        "spec": spec,
    });
    // No API server has them as null, which would be refused before anything is read.
    if !claim["metadata"]["annotations"].is_null() {
        composite["metadata"]["annotations"] = claim["metadata"]["annotations"].clone();
    }
    Some(RunFunctionRequest {
        observed: Some(State { composite: Some(resource(&composite)?), ..State::default() }),
        desired: Some(State::default()),
        input: None::<Bytes>,
        required_resources: FETCHED.clone(),
        ..RunFunctionRequest::default()
    })
}

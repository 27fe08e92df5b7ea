//! Prerequisites and credentials of a cloud in entries: what is on the hub before a cluster is named after it and beside it, and a variable has
//! one value.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::template::entry::{BUNDLES, Entry, EntryFlaw, Made};
use testplatform_apis::{cloud, prerequisites};

use crate::support::yaml;

fn entry() -> Value {
    yaml(
        r#"
backend: cluster-api
backendRef:
  classRef: { name: openstack-v3, namespace: magnum-system }
  cluster: { topology: { variables: [{ name: dnsDomain, value: x.example }] } }
  imageVariable: imageUUID
  controlPlaneClasses: { variable: controlPlaneFlavor, classes: { large: m1.large } }
  networkVariables: { externalNetworkID: externalNetworkId, dnsNameservers: dnsNameservers }
  cloudCredential: { cloud: acme, variable: cloudCredentialsSecret, roles: [member], lifetime: 24h }
allowedTenants: ["*"]
version: v1.31.2
image: 2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a10
parameters:
  address: { enum: [fixed, any], default: any }
  zone: { enum: [a, b], default: a, target: zone }
allowedNodeClasses:
  default: { machine: { worker: default-worker } }
prerequisites:
- name: address
  when: { parameter: address, equals: fixed }
  manifests:
  - object: { apiVersion: ipam.cluster.x-k8s.io/v1beta1, kind: IPAddressClaim, metadata: { name: "{name}-api", namespace: "{namespace}" } }
    ready: has(object.status) && has(object.status.addressRef)
preCreate:
- name: capacity
  timeout: 5m
  manifests:
  - object: { apiVersion: v1, kind: ConfigMap, metadata: { name: "{name}" } }
  - object: { apiVersion: batch/v1, kind: Job, metadata: { name: "capacity-{name}" }, spec: { note: "{tenant}" } }
"#,
    )
}

fn read(data: &Value) -> Result<Entry, Vec<EntryFlaw>> {
    Entry::from_data("demo", data)
}

/// Sets what a pointer leads to, members and items that are not there included.
fn set(data: &mut Value, pointer: &str, value: Value) {
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    let parent = data.pointer_mut(parent).unwrap();
    match member.parse::<usize>() {
        Ok(index) => parent[index] = value,
        Err(_) => parent[member] = value,
    }
}

#[test]
fn an_entry_with_prerequisites_and_a_credential_can_be_used() {
    let entry = read(&entry()).unwrap();
    let [address] = entry.document.prerequisites.as_slice() else { panic!("{entry:?}") };
    assert!(!address.is_selected_by(&[("address".into(), json!("any"))]));
    assert!(address.is_selected_by(&[("address".into(), json!("fixed"))]));
    let made = address.to_bundle(&[("name", "demo"), ("namespace", "clusters")]);
    let metadata = &made.manifests[0].object["metadata"];
    assert_eq!(*metadata, json!({ "name": "demo-api", "namespace": "clusters" }));
    let capacity = entry.document.pre_create[0].to_bundle(&[("name", "demo"), ("tenant", "team")]);
    assert_eq!(capacity.timeout.to_string(), "5m0s");
    assert_eq!(capacity.manifests[1].object["spec"]["note"], "team");
    let Made::ClusterApi(kit) = entry.made else { panic!("another backend") };
    let credential = kit.base.cloud_credential.unwrap();
    assert_eq!((credential.cloud.as_str(), credential.variable.as_str()), ("acme", "cloudCredentialsSecret"));
    assert_eq!((credential.roles.len(), credential.lifetime.unwrap().to_string()), (1, "24h0m0s".into()));
    // A parameter that selects a prerequisite is immutable, and has no other target.
    let chooses = &kit.parameters["address"];
    assert!(chooses.rule.immutable && chooses.target.is_none());
}

#[rstest]
// Rules that all bundles share.
#[case("/prerequisites/0/name", json!("Address"), "prerequisites[0].name", "is not a name of")]
#[case("/preCreate/0/colour", json!("blue"), "preCreate[0]", "unknown field")]
#[case("/prerequisites/0/when/equals", json!("none"), "prerequisites[0].when.equals", "not a value of the parameter")]
#[case("/preCreate/0/timeout", json!("5h"), "preCreate[0].timeout", "from 1s to 4h")]
#[case("/preCreate/0/manifests", json!([]), "preCreate[0].manifests", "nothing to apply")]
#[case("/prerequisites/0/manifests/0/ready", json!(""), "prerequisites[0].manifests[0].ready", "is not an expression")]
#[case("/preCreate/0/manifests/0/object/kind", json!("Secret"), "preCreate[0].manifests[0].object.kind", "no secret may travel")]
// Where it is on the hub.
#[case("/preCreate/0/manifests/0/object/metadata/name", json!("capacity"), "preCreate[0].manifests[0].object.metadata.name", "two clusters would share the object")]
#[case("/preCreate/0/manifests/0/object/metadata/name", json!("{namespace}-{tenant}"), "preCreate[0].manifests[0].object.metadata.name", "two clusters would share the object")]
#[case("/preCreate/0/manifests/0/object/metadata/name", json!("${name}"), "preCreate[0].manifests[0].object.metadata.name", "two clusters would share the object")]
#[case(
    "/preCreate/0/manifests/0/object/metadata/name",
    Value::Null,
    "preCreate[0].manifests[0].object.metadata.name",
    "is missing"
)]
#[case("/prerequisites/0/manifests/0/object/metadata/namespace", json!("kube-system"), "prerequisites[0].manifests[0].object.metadata.namespace", "another one than that of the cluster's object")]
#[case("/prerequisites/0/manifests/0/object/metadata/namespace", json!("{tenant}"), "prerequisites[0].manifests[0].object.metadata.namespace", "another one")]
#[case("/preCreate/0/manifests/0/object/metadata/name", json!("{name}-bundles"), "preCreate[0].manifests[0].object.metadata.name", "by which the hub is told")]
#[case("/preCreate/0/manifests/0/object/metadata/name", json!("{name}-cloud-credential"), "preCreate[0].manifests[0].object.metadata.name", "by which the hub is told")]
#[case("/preCreate/0/manifests/0/object/metadata/name", json!("{name}-prerequisites"), "preCreate[0].manifests[0].object.metadata.name", "by which the hub is told")]
// The credential.
#[case("/backendRef/cloudCredential/cloud", json!("acme,b=c"), "backendRef.cloudCredential.cloud", "not a value of a label")]
#[case("/backendRef/cloudCredential/cloud", json!("-acme"), "backendRef.cloudCredential.cloud", "not a value of a label")]
#[case("/backendRef/cloudCredential/cloud", json!("x".repeat(64)), "backendRef.cloudCredential.cloud", "not a value of a label")]
#[case("/backendRef/cloudCredential/variable", json!("two words"), "backendRef.cloudCredential.variable", "not a name of a variable")]
#[case("/backendRef/cloudCredential/roles", json!(["member", ""]), "backendRef.cloudCredential.roles", "an empty name")]
#[case("/backendRef/cloudCredential/lifetime", json!("9m59s"), "backendRef.cloudCredential.lifetime", "shorter than 10m")]
#[case("/backendRef/cloudCredential/lifetime", json!("soon"), "backendRef", "not a duration")]
#[case("/backendRef/cloudCredential/password", json!("x"), "backendRef", "unknown field `password`")]
#[case("/backendRef/cloudCredential/variable", json!("imageUUID"), "backendRef.cloudCredential.variable", "is that of imageVariable too")]
#[case("/backendRef/cloudCredential/variable", json!("controlPlaneFlavor"), "backendRef.cloudCredential.variable", "is that of controlPlaneClasses.variable too")]
#[case("/backendRef/cloudCredential/variable", json!("externalNetworkId"), "backendRef.cloudCredential.variable", "is that of networkVariables.externalNetworkID too")]
#[case("/backendRef/cloudCredential/variable", json!("dnsNameservers"), "backendRef.cloudCredential.variable", "is that of networkVariables.dnsNameservers too")]
#[case("/backendRef/cloudCredential/variable", json!("dnsDomain"), "backendRef.cloudCredential.variable", "is that of cluster.topology.variables[0].name too")]
#[case("/backendRef/cloudCredential/variable", json!("zone"), "parameters.zone.target", "leads to the credential of the cloud")]
#[case("/nodeParameters", json!({ "x": { "target": "cloudCredentialsSecret" } }), "nodeParameters.x.target", "leads to the credential of the cloud")]
#[case("/allowedNodeClasses/default/machine/variables", json!({ "cloudCredentialsSecret": "shared" }), "allowedNodeClasses.default.machine", "has variable cloudCredentialsSecret")]
#[case("/overlay", json!({ "cluster": { "topology": { "variables": [] } } }), "overlay.cluster.topology.variables", "written by the function")]
fn invalid_prerequisites_are_reported_with_their_path(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] path: &str,
    #[case] part: &str,
) {
    let mut data = entry();
    if value.is_null() {
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        data.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(member);
    } else {
        set(&mut data, pointer, value);
    }
    let flaws = read(&data).unwrap_err();
    let paths: Vec<&str> = flaws.iter().map(|flaw| flaw.path.as_str()).collect();
    assert_eq!(paths, [format!("data.{path}")], "{flaws:#?}");
    assert!(flaws[0].sentence.contains(part), "{flaws:#?}");
}

/// The name is another kind's; and lists have names of their own.
#[test]
fn unusual_but_valid_prerequisites_are_accepted() {
    for (pointer, value) in [
        ("/preCreate/0/manifests/1/object/metadata/name", json!("{name}-bundles")),
        ("/preCreate/0/manifests/0/object/metadata/name", json!("x-{name}-bundles")),
        ("/preCreate/0/manifests/0/object/metadata/namespace", json!("{namespace}")),
        ("/preCreate/0/name", json!("address")),
        ("/backendRef/cloudCredential/lifetime", json!("10m")),
        ("/backendRef/cloudCredential/roles", json!([])),
        ("/parameters/zone/target", json!("cloudCredentialsSecretName")),
    ] {
        let mut data = entry();
        set(&mut data, pointer, value);
        assert_eq!(read(&data).map(drop), Ok(()), "{pointer}");
    }
}

#[test]
fn names_are_unique_within_each_list() {
    for list in BUNDLES {
        let bundle = json!({ "name": "a", "manifests": [{ "object": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "{name}-x" },
        } }] });
        let mut data = entry();
        data[list] = json!([bundle, bundle]);
        data["parameters"]["address"]["target"] = json!("address");
        let flaws = read(&data).unwrap_err();
        assert_eq!(flaws.len(), 1, "{flaws:#?}");
        assert_eq!(flaws[0].path, format!("data.{list}[1].name"));
    }
}

/// A parameter that no list names any more has to lead somewhere.
#[test]
fn each_list_chooses_by_parameters() {
    for list in BUNDLES {
        let mut data = entry();
        let bundle = data["prerequisites"].take();
        data[list] = bundle;
        if list != "prerequisites" {
            data["prerequisites"] = json!([]);
        }
        let Made::ClusterApi(kit) = read(&data).unwrap().made else { panic!("another backend") };
        assert!(
            kit.parameters["address"].rule.immutable && kit.parameters["address"].target.is_none(),
            "{list}"
        );
        data[list] = json!([]);
        let Made::ClusterApi(kit) = read(&data).unwrap().made else { panic!("another backend") };
        assert!(
            !kit.parameters["address"].rule.immutable && kit.parameters["address"].target.is_some(),
            "{list}"
        );
    }
}

/// All lists together have a limit, and the last non-empty one gets the message.
#[test]
fn all_lists_together_are_bounded() {
    let bundles = |from: usize, count: usize| -> Value {
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "{name}" } });
        let bundle = |i: usize| json!({ "name": format!("b{i}"), "manifests": [{ "object": object }] });
        (from..from + count).map(bundle).collect()
    };
    let mut data = entry();
    data["parameters"] = json!({});
    data["prerequisites"] = bundles(0, 20);
    data["preCreate"] = bundles(20, 12);
    assert_eq!(read(&data).map(drop), Ok(()));
    data["preCreate"] = bundles(20, 13);
    let flaws = read(&data).unwrap_err();
    assert_eq!(flaws.len(), 1, "{flaws:#?}");
    assert_eq!(
        (flaws[0].path.as_str(), flaws[0].sentence.contains("33 bundles")),
        ("data.preCreate.length", true)
    );
    data["prerequisites"] = bundles(0, 33);
    data["preCreate"] = json!([]);
    assert_eq!(read(&data).unwrap_err()[0].path, "data.prerequisites.length");
}

/// In the namespaces of claims nobody applies anything, before as little as after.
#[test]
fn claim_with_tenant_credentials_gets_no_prerequisites() {
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "{name}-x" } });
    for list in ["prerequisites", "preCreate"] {
        let account = |name: &str| json!({ "name": name, "namespace": "testplatform" });
        let data = json!({
            "backend": "hypershift", "allowedTenants": ["*"], "version": "4.20.3", "image": "quay.io/x:4.20.3",
            "backendRef": { "platform": "KubeVirt", "hostedCluster": { "pullSecret": { "name": "pull" } } },
            "bringYourOwn": { "carrier": account("carrier"), "provider": account("provider") },
            list: [{ "name": "a", "manifests": [{ "object": object }] }],
        });
        let flaws = read(&data).unwrap_err();
        assert_eq!(flaws.len(), 1, "{flaws:#?}");
        assert_eq!(flaws[0].path, "data.bringYourOwn");
        assert!(flaws[0].sentence.contains(list), "{flaws:#?}");
    }
}

/// It is a matter of Cluster API alone.
#[test]
fn other_backends_know_no_credential_of_a_cloud() {
    let own = json!({ "cloud": "acme", "variable": "x" });
    for (backend, mut reference) in [
        (
            "hypershift",
            json!({ "platform": "KubeVirt", "hostedCluster": { "pullSecret": { "name": "pull" } } }),
        ),
        ("caas", json!({ "clusterTemplate": "x" })),
        ("osac", json!({ "templateID": "x.y" })),
    ] {
        reference["cloudCredential"] = own.clone();
        let data = json!({
            "backend": backend, "backendRef": reference, "allowedTenants": ["*"], "version": "4.20.3", "image": "quay.io/x:4.20.3",
        });
        let flaws = read(&data).unwrap_err();
        let said = flaws
            .iter()
            .any(|f| f.path == "data.backendRef" && f.sentence.contains("unknown field `cloudCredential`"));
        assert!(said, "{backend}: {flaws:#?}");
    }
}

/// By what the two ends know each other.
#[test]
fn request_round_trips_without_empty_fields() {
    let text = r#"{"cluster":{"group":"cluster.x-k8s.io","kind":"Cluster","name":"demo"},"prerequisites":[{"name":"a","timeout":"10m0s","manifests":[]}]}"#;
    let order: prerequisites::PrerequisiteRequestSpec = serde_json::from_str(text).unwrap();
    assert!(order.pre_create.is_empty());
    assert_eq!(serde_json::to_string(&order).unwrap(), text);
    assert_eq!(prerequisites::config_map_name(&order.cluster.name), "demo-prerequisites");
    assert_eq!(cloud::secret_name(&order.cluster.name), "demo-cloud-credential");
}

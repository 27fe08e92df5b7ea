//! Bundles and overlays of entries: what is wrong with them is said with its place, and what a claim gets is chosen by its parameters.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::bundle::TIMEOUT;
use testplatform_apis::template::entry::{Entry, EntryFlaw, Made};

use crate::support::yaml;

fn entry() -> Value {
    yaml(
        r#"
backend: hypershift
backendRef:
  platform: KubeVirt
  hostedCluster: { pullSecret: { name: pull }, autoscaling: { scaling: ScaleUpOnly }, olmCatalogPlacement: guest }
allowedTenants: ["*"]
version: 4.20.3
image: quay.io/x:4.20.3-x86_64
parameters:
  fips: { type: boolean, target: hostedCluster.fips }
  monitoring: { enum: [none, small, large], default: none }
overlay:
  hostedCluster: { services: [], autoscaling: { maxNodesTotal: 9 }, olmCatalogPlacement: null }
  nodePool: { platform: { kubevirt: { additionalNetworks: [{ name: ns/net }] } } }
postInstall:
- name: rbac
  manifests:
  - object: { apiVersion: v1, kind: ConfigMap, metadata: { name: base, namespace: default } }
- name: monitoring
  when: { parameter: monitoring, in: [small, large] }
  timeout: 20m
  manifests:
  - object: { apiVersion: apps/v1, kind: Deployment, metadata: { name: agent, namespace: monitoring } }
    ready: object.status.readyReplicas == object.spec.replicas
preDelete:
- name: rbac
  manifests:
  - object: { apiVersion: v1, kind: ConfigMap, metadata: { name: "{name}", namespace: default } }
"#,
    )
}

fn read(data: &Value) -> Result<Entry, Vec<EntryFlaw>> {
    Entry::from_data("bundled", data)
}

#[test]
fn an_entry_with_bundles_and_an_overlay_can_be_used() {
    let entry = read(&entry()).unwrap();
    let [rbac, monitoring] = entry.document.post_install.as_slice() else { panic!("{entry:?}") };
    let chosen = |value: &str| monitoring.is_selected_by(&[("monitoring".into(), json!(value))]);
    assert!(chosen("small") && chosen("large") && !chosen("none"));
    assert!(rbac.is_selected_by(&[]) && !monitoring.is_selected_by(&[]));
    assert_eq!(
        (rbac.to_bundle(&[]).timeout, monitoring.to_bundle(&[]).timeout.to_string()),
        (TIMEOUT, "20m0s".into())
    );
    let made = entry.document.pre_delete[0].to_bundle(&[("name", "demo")]);
    assert_eq!(made.manifests[0].object["metadata"]["name"], "demo");
    // It leads nowhere else, and cannot change.
    let Made::HyperShift(kit) = &entry.made else { panic!("{entry:?}") };
    assert_eq!(
        (&kit.parameters["monitoring"].target, kit.parameters["monitoring"].rule.immutable),
        (&None, true)
    );
    assert!(kit.parameters["fips"].target.is_some() && !kit.parameters["fips"].rule.immutable);
}

#[rstest]
#[case("/postInstall/0/name", json!("rbac.x"), "postInstall[0].name")]
#[case("/postInstall/1/name", json!("rbac"), "postInstall[1].name")]
#[case("/postInstall/0/manifests", json!([]), "postInstall[0].manifests")]
#[case("/postInstall/0/manifests/0/object/apiVersion", json!(""), "postInstall[0].manifests[0].object.apiVersion")]
#[case("/postInstall/0/manifests/0/object/kind", json!("Secret"), "postInstall[0].manifests[0].object.kind")]
#[case("/postInstall/0/manifests/0/object/kind", json!("List"), "postInstall[0].manifests[0].object.kind")]
#[case("/preDelete/0/manifests/0/object/metadata", json!({ "generateName": "x-" }), "preDelete[0].manifests[0].object.metadata.name")]
#[case(
    "/preDelete/0/manifests/0/object/metadata/labels",
    Value::Null,
    "preDelete[0].manifests[0].object.metadata.labels"
)]
#[case("/postInstall/1/manifests/0/ready", json!(" "), "postInstall[1].manifests[0].ready")]
#[case("/postInstall/1/timeout", json!("999ms"), "postInstall[1].timeout")]
#[case("/postInstall/1/timeout", json!("4h1s"), "postInstall[1].timeout")]
#[case("/postInstall/1/when/in", json!([]), "postInstall[1].when")]
#[case("/postInstall/1/when/equals", json!("small"), "postInstall[1].when")]
#[case("/postInstall/1/when/in", json!(["huge"]), "postInstall[1].when.in")]
#[case("/postInstall/0/colour", json!("blue"), "postInstall[0]")]
#[case("/overlay/hostedCluster/release", json!({ "image": "x" }), "overlay.hostedCluster.release")]
#[case("/overlay/hostedCluster/fips", json!(true), "overlay.hostedCluster.fips")]
#[case("/overlay/hostedCluster/platform", json!({ "type": "AWS" }), "overlay.hostedCluster.platform.type")]
#[case("/overlay/hostedCluster/platform", json!("AWS"), "overlay.hostedCluster.platform")]
#[case("/overlay/hostedCluster/platform", Value::Null, "overlay.hostedCluster.platform")]
#[case("/overlay/hostedCluster/networking", json!({ "clusterNetwork": [] }), "overlay.hostedCluster.networking.clusterNetwork")]
#[case("/overlay/hostedCluster/olmCatalogPlacement", json!({ "x": 1 }), "overlay.hostedCluster.olmCatalogPlacement")]
#[case("/overlay/nodePool/replicas", json!(3), "overlay.nodePool.replicas")]
#[case("/overlay/nodePool", json!([]), "overlay.nodePool")]
#[case("/overlay/cluster", json!({}), "overlay.cluster")]
fn invalid_bundles_are_reported_with_their_path(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] path: &str,
) {
    let mut data = entry();
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    let parent = data.pointer_mut(parent).unwrap();
    match member.parse::<usize>() {
        Ok(index) => parent[index] = value,
        Err(_) => parent[member] = value,
    }
    let flaws = read(&data).unwrap_err();
    let paths: Vec<&str> = flaws.iter().map(|flaw| flaw.path.as_str()).collect();
    assert_eq!(paths, [format!("data.{path}")], "{flaws:#?}");
}

/// Then nothing is chosen by the other one, which has to lead somewhere.
#[test]
fn a_parameter_that_there_is_not_chooses_nothing() {
    let mut data = entry();
    data["postInstall"][1]["when"]["parameter"] = json!("other");
    let mut paths: Vec<String> = read(&data).unwrap_err().into_iter().map(|flaw| flaw.path).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["data.parameters.monitoring.target", "data.postInstall[1].when.parameter"]);
}

#[test]
fn every_flaw_of_a_bundle_is_reported_at_once() {
    let mut data = entry();
    data["postInstall"][0]["name"] = json!("");
    data["preDelete"][0]["manifests"][0]["object"]["kind"] = json!("Secret");
    data["overlay"]["hostedCluster"]["release"] = json!(1);
    data["cost"] = json!("x");
    assert_eq!(read(&data).unwrap_err().len(), 4);
}

#[test]
fn bundles_are_bounded() {
    let many = |bundles: usize, manifests: usize, text: usize| {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x" }, "data": { "x": "x".repeat(text) },
        });
        let manifests = vec![json!({ "object": object }); manifests];
        let mut data = entry();
        data["postInstall"] =
            (0..bundles).map(|i| json!({ "name": format!("b{i}"), "manifests": manifests })).collect();
        data["preDelete"] = json!([]);
        data["parameters"] = json!({});
        read(&data).map(|_| ())
    };
    assert_eq!(many(32, 2, 3000), Ok(()));
    for (bundles, manifests, text, what) in
        [(33, 1, 1, "33 bundles"), (32, 3, 1, "96 manifests"), (2, 2, 70_000, "bytes in total")]
    {
        let flaws = many(bundles, manifests, text).unwrap_err();
        assert!(flaws.len() == 1 && flaws[0].sentence.contains(what), "{flaws:?}");
    }
}

#[rstest]
#[case("caas", json!({ "clusterTemplate": "x" }))]
#[case("osac", json!({ "templateID": "x.y" }))]
fn backends_without_a_document_take_no_overlay(#[case] backend: &str, #[case] reference: Value) {
    let data = json!({
        "backend": backend, "backendRef": reference, "allowedTenants": ["*"], "overlay": { "hostedCluster": { "x": 1 } },
    });
    let flaws = read(&data).unwrap_err();
    assert_eq!(flaws[0].path, "data.overlay");
    assert!(flaws[0].sentence.contains(backend), "{flaws:?}");
}

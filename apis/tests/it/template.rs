//! Entries of the catalogue of templates: what is wrong with one is said whole, with its place, and values are judged whole.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::template::entry::{Entry, EntryFlaw, Made, within_reach};
use testplatform_apis::template::parameter::Rule;
use testplatform_apis::template::{Backend, version::Version};

use crate::support::yaml;

fn hosted() -> Value {
    yaml(
        r#"
title: Hosted
backend: hypershift
backendRef:
  platform: KubeVirt
  hostedCluster: { pullSecret: { name: pull }, platform: { type: KubeVirt, kubevirt: {} } }
  nodePool: { management: { upgradeType: Replace } }
allowedTenants: [team-a]
releases:
- { version: 4.20.3, image: "quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64" }
- { version: 4.20.9, image: "quay.io/openshift-release-dev/ocp-release:4.20.9-x86_64", enabled: false }
parameters:
  fips: { type: boolean, target: hostedCluster.fips, default: false, immutable: true }
  proxy: { pattern: "^https?://", target: hostedCluster.configuration.proxy.httpsProxy }
allowedNodeClasses:
  small: { machine: { kubevirt: { cores: 4, memory: 16Gi } } }
defaultNodeGroups:
- { name: workers, class: small, count: 2 }
limits: { maxNodes: 10, network: [podCIDR] }
"#,
    )
}

fn topology() -> Value {
    yaml(
        r#"
backend: cluster-api
backendRef:
  classRef: { name: openstack-v3, namespace: magnum-system }
  imageVariable: imageUUID
  controlPlaneClasses: { variable: controlPlaneFlavor, classes: { large: m1.large } }
  networkVariables: { externalNetworkID: externalNetworkId, dnsNameservers: dnsNameservers }
allowedTenants: ["*"]
version: v1.31.2
image: 2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a10
imageVersion: 1.31.2
parameters:
  cni: { enum: [calico, cilium], default: calico }
nodeParameters:
  bootVolume: { type: integer, minimum: 10, target: bootVolumeSize }
allowedNodeClasses:
  default: { scaleToZero: true, machine: { worker: default-worker, variables: { flavor: m1.large } } }
limits: { network: [external, dnsNameservers] }
"#,
    )
}

fn caas() -> Value {
    yaml(
        "{ backend: caas, backendRef: { clusterTemplate: hypershift-aws }, allowedTenants: [a], parameters: { instanceType: {} } }",
    )
}

fn osac() -> Value {
    yaml(
        "{ backend: osac, backendRef: { templateID: osac.templates.small }, allowedTenants: [a], allowedNodeClasses: { metal: { machine: { resourceClass: fc430 } } } }",
    )
}

fn read(data: &Value) -> Result<Entry, Vec<EntryFlaw>> {
    Entry::from_data("demo", data)
}

#[test]
fn entry_is_typed_by_its_backend() {
    for (data, backend) in [
        (hosted(), Backend::HyperShift),
        (topology(), Backend::ClusterApi),
        (caas(), Backend::Caas),
        (osac(), Backend::Osac),
    ] {
        let entry = read(&data).unwrap();
        assert_eq!((entry.backend(), entry.quota_cost(), entry.is_enabled()), (backend, 1, true));
    }
    let Made::ClusterApi(kit) = read(&topology()).unwrap().made else { panic!("another backend") };
    assert_eq!(kit.classes["default"].machine.worker, "default-worker");
    assert_eq!(kit.node_parameters["bootVolume"].target.as_ref().unwrap().0, "bootVolumeSize");
    let entry = read(&hosted()).unwrap();
    assert!(
        entry.is_allowed_for(Some("team-a"))
            && entry.is_allowed_for(None)
            && !entry.is_allowed_for(Some("team-b"))
    );
}

fn numbered(n: usize) -> Value {
    (0..n).map(|i| (format!("l{i}"), json!("x"))).collect::<serde_json::Map<_, _>>().into()
}

fn ranged(min: i32, max: i32) -> Value {
    json!([{ "name": "workers", "class": "small", "autoscale": { "min": min, "max": max } }])
}

fn groups(n: usize) -> Value {
    (0..n).map(|i| json!({ "name": format!("g{i}"), "class": "small", "count": 0 })).collect()
}

#[rstest]
#[case("/backend", json!(null), "data.backend", "leave it out")]
#[case("/backend", json!("openstack"), "data.backend", "unknown variant")]
#[case("/backendRef", json!({}), "data.backendRef", "missing field `platform`")]
#[case("/backendRef/hostedCluster", json!({}), "data.backendRef.hostedCluster.pullSecret.name", "must name a Secret")]
#[case("/backendRef/hostedCluster/release", json!({ "image": "x" }), "data.backendRef.hostedCluster.release", "written by the function")]
#[case("/backendRef/hostedCluster/dns", json!(null), "data.backendRef.hostedCluster.dns", "is null")]
#[case("/backendRef/nodePool/replicas", json!(2), "data.backendRef.nodePool.replicas", "written by the function")]
#[case("/backendRef/platform", json!("AWS"), "data.backendRef.hostedCluster.platform.type", "another one")]
#[case("/allowedTenants", json!("team-a"), "data.allowedTenants", "expected a sequence")]
#[case("/colour", json!("blue"), "data.colour", "is not a field of an entry")]
#[case("/maxLifetime", json!("soon"), "data.maxLifetime", "not a duration")]
#[case("/timeouts", json!({ "provision": "5s" }), "data.timeouts.provision", "at least 1m")]
#[case("/upgradesFrom", json!(["demo"]), "data.upgradesFrom", "itself")]
#[case("/observes", json!("hypershift"), "data.observes", "is for caas")]
#[case("/bringYourOwn", json!({ "sshKey": true }), "data.bringYourOwn", "carrier")]
#[case("/bringYourOwn", json!({ "token": "x" }), "data.bringYourOwn", "unknown field")]
#[case("/version", json!("4.20.4"), "data.version", "combined with releases")]
#[case("/releases/0/version", json!(null), "data.releases[0].version", "an image without a version")]
#[case("/releases/0/version", json!("4.20"), "data.releases[0].version", "not a whole version")]
#[case("/releases/0/version", json!("4.20.4"), "data.releases[0].image", "do not belong together")]
#[case("/releases/0/imageVersion", json!("4.20.4"), "data.releases[0].imageVersion", "do not belong together")]
#[case("/releases/0/image", json!(null), "data.releases[0].image", "needs the image")]
#[case("/releases/0/image", json!("two words"), "data.releases[0].image", "without blanks")]
#[case("/releases/0/enabled", json!(false), "data.releases", "none that is enabled")]
#[case("/releases/1/version", json!("v4.20.3"), "data.releases[1].version", "already used")]
#[case("/releases", json!([]), "data.releases", "is empty")]
#[case("/parameters/fips/target", json!("fips"), "data.parameters.fips.target", "must begin with hostedCluster.")]
#[case("/parameters/fips/target", json!("hostedCluster.release.image"), "data.parameters.fips.target", "parameters must not set")]
#[case("/parameters/fips/target", json!("hostedCluster.a..b"), "data.parameters.fips.target", "not a path")]
#[case("/parameters/fips/target", json!("hostedCluster.configuration.proxy.httpsProxy"), "data.parameters.proxy.target", "is that of fips too")]
#[case("/parameters/fips/default", json!("no"), "data.parameters.fips.default", "must be true or false")]
#[case("/parameters/fips/pattern", json!("x"), "data.parameters.fips.pattern", "is for texts")]
#[case("/parameters/fips/required", json!(true), "data.parameters.fips.default", "never used")]
#[case("/parameters/fips/colour", json!(1), "data.parameters.fips", "unknown field")]
#[case("/parameters/proxy/pattern", json!("("), "data.parameters.proxy", "not a regular expression")]
#[case("/parameters/proxy/enum", json!(["ftp://x"]), "data.parameters.proxy.enum", "must match")]
#[case("/parameters/proxy/maximum", json!(3), "data.parameters.proxy.maximum", "is for numbers")]
#[case("/parameters/proxy/items", json!({}), "data.parameters.proxy.items", "is for lists")]
#[case("/parameters/bare", json!({ "secret": true, "target": "hostedCluster.x" }), "data.parameters.bare.secret", "needs enum or pattern")]
#[case("/parameters/bare", json!({ "secret": true, "immutable": true, "pattern": "x", "target": "hostedCluster.x" }), "data.parameters.bare.immutable", "cannot be kept")]
#[case("/parameters/bare", json!({ "type": "integer", "minimum": 3, "maximum": 2, "target": "hostedCluster.x" }), "data.parameters.bare.type", "leaves no value")]
#[case("/nodeParameters", json!({ "x": { "target": "hostedCluster.x" } }), "data.nodeParameters.x.target", "must begin with nodePool.")]
#[case("/allowedNodeClasses/small/machine", json!({}), "data.allowedNodeClasses.small.machine", "exactly one of")]
#[case("/allowedNodeClasses/small/machine/aws", json!({ "instanceType": "m5" }), "data.allowedNodeClasses.small.machine", "exactly one of")]
#[case("/allowedNodeClasses/small/machine/kubevirt/memory", json!("much"), "data.allowedNodeClasses.small.machine", "such as 16Gi")]
#[case("/allowedNodeClasses/other", json!({ "machine": { "agent": { "matchLabels": { "a": "b" } } } }), "data.allowedNodeClasses.other.machine", "is for Agent")]
#[case("/defaultNodeGroups/0/class", json!("large"), "data.defaultNodeGroups[0].class", "none of allowedNodeClasses")]
#[case("/defaultNodeGroups/0/colour", json!("blue"), "data.defaultNodeGroups[0]", "unknown field")]
#[case("/defaultNodeGroups/0/count", json!(11), "data.defaultNodeGroups", "more nodes in all")]
#[case("/defaultNodeGroups/0/count", json!(null), "data.defaultNodeGroups[0]", "either count or autoscale")]
#[case("/defaultNodeGroups/0/failureDomain", json!("z"), "data.defaultNodeGroups[0].failureDomain", "not supported by hypershift")]
#[case("/defaultNodeGroups/0/name", json!("Workers_1"), "data.defaultNodeGroups[0].name", "not a DNS label")]
#[case("/defaultNodeGroups/0/name", json!("a.b"), "data.defaultNodeGroups[0].name", "not a DNS label")]
#[case("/defaultNodeGroups/0/count", json!(5000), "data.defaultNodeGroups[0].count", "within 0 and 1000")]
#[case("/defaultNodeGroups/0/count", json!(-1), "data.defaultNodeGroups[0].count", "within 0 and 1000")]
#[case("/defaultNodeGroups/0/labels", json!({ "a b": "c" }), "data.defaultNodeGroups[0].labels", "not a label's")]
#[case("/defaultNodeGroups/0/labels", numbered(33), "data.defaultNodeGroups[0].labels", "more than 32")]
#[case("/defaultNodeGroups/0/taints", json!([{ "key": "-", "effect": "NoSchedule" }]), "data.defaultNodeGroups[0].taints", "not a taint's")]
#[case("/defaultNodeGroups/0/taints", json!(vec![json!({ "key": "a", "effect": "NoSchedule" }); 17]), "data.defaultNodeGroups[0].taints", "more than 16")]
#[case("/defaultNodeGroups/0/parameters", json!({ "x": 1 }), "data.defaultNodeGroups[0].parameters.x", "none of nodeParameters")]
#[case("/nodeParameters", json!({ "x": { "required": true, "target": "nodePool.x" } }), "data.defaultNodeGroups[0].parameters.x", "is required")]
#[case("/defaultNodeGroups", ranged(5, 3), "data.defaultNodeGroups[0].autoscale", "not be above")]
#[case("/defaultNodeGroups", ranged(0, 3), "data.defaultNodeGroups[0].autoscale.min", "at least 1")]
#[case("/defaultNodeGroups", ranged(0, 0), "data.defaultNodeGroups[0].autoscale.max", "at least 1")]
#[case("/defaultNodeGroups", groups(33), "data.defaultNodeGroups", "more than 32 groups")]
#[case("/limits/maxNodeGroups", json!(0), "data.defaultNodeGroups", "more than 0 groups")]
#[case("/defaultControlPlaneReplicas", json!(5), "data.defaultControlPlaneReplicas", "none of those")]
#[case("/limits/minNodes", json!(11), "data.limits.minNodes", "above maxNodes")]
#[case("/limits/controlPlaneReplicas", json!([5]), "data.limits.controlPlaneReplicas", "cannot make")]
#[case("/limits/network", json!(["external"]), "data.limits.network", "nowhere to go")]
#[case("/limits/network", json!(["dns"]), "data.limits", "unknown variant")]
#[case("/limits/releaseImages", json!([""]), "data.limits.releaseImages", "any image")]
fn what_is_wrong_is_said_with_its_place(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] path: &str,
    #[case] part: &str,
) {
    let mut data = hosted();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let members = data.pointer_mut(parent).unwrap();
    if value.is_null() && key != "backend" && key != "dns" {
        members.as_object_mut().unwrap().remove(key);
    } else {
        members[key] = value;
    }
    let flaws = read(&data).unwrap_err();
    let said = |flaw: &&EntryFlaw| flaw.path == path && flaw.sentence.contains(part);
    assert!(flaws.iter().any(|f| said(&f)), "{flaws:#?}");
}

#[rstest]
#[case(caas(), "/parameters/x", json!({ "target": "a/b" }), None)]
#[case(caas(), "/version", json!("4.20.3"), Some("data.backendRef.versionParameter"))]
#[case(caas(), "/allowedNodeClasses", json!({ "a": {} }), Some("data.allowedNodeClasses"))]
#[case(caas(), "/defaultNodeGroups", json!([{ "name": "a", "class": "a", "count": 1 }]), Some("data.defaultNodeGroups"))]
#[case(caas(), "/nodeParameters", json!({ "a": {} }), Some("data.nodeParameters.a.target"))]
#[case(caas(), "/limits", json!({ "releaseImages": ["x"] }), Some("data.limits.releaseImages"))]
#[case(caas(), "/observes", json!("hypershift"), None)]
#[case(caas(), "/parameters/x", json!({ "type": "array" }), Some("data.parameters.x.type"))]
#[case(caas(), "/backendRef", json!({ "clusterTemplate": "x", "versionParameter": "v", "imageParameter": "v" }), Some("data.backendRef.imageParameter"))]
#[case(caas(), "/backendRef", json!({ "clusterTemplate": "x", "versionParameter": "a b" }), Some("data.backendRef.versionParameter"))]
#[case(caas(), "/backendRef", json!({ "clusterTemplate": "x", "hostedClusterNamespace": "of.them" }), None)]
#[case(osac(), "/backendRef", json!({ "templateID": "4.17" }), Some("data.backendRef.templateID"))]
#[case(osac(), "/version", json!("4.20.3"), Some("data.image"))]
#[case(osac(), "/nodeParameters", json!({ "a": {} }), Some("data.nodeParameters.a.target"))]
#[case(osac(), "/allowedNodeClasses", json!({ "a": { "machine": {} } }), Some("data.allowedNodeClasses.a.machine"))]
#[case(topology(), "/image", json!(null), Some("data.image"))]
#[case(topology(), "/imageVersion", json!("1.31.3"), Some("data.imageVersion"))]
#[case(topology(), "/parameters/image", json!({ "target": "imageUUID" }), Some("data.parameters.image.target"))]
#[case(topology(), "/limits", json!({ "network": ["internal"] }), Some("data.limits.network"))]
#[case(topology(), "/allowedNodeClasses/x", json!({ "machine": { "worker": "" } }), Some("data.allowedNodeClasses.x.machine"))]
fn each_backend_has_its_own_fields(
    #[case] mut data: Value,
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] path: Option<&str>,
) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let members = data.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    members.remove(key);
    if !value.is_null() {
        members.insert(key.into(), value);
    }
    let flaws = read(&data).err().unwrap_or_default();
    let paths: Vec<&str> = flaws.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(paths, path.into_iter().collect::<Vec<_>>(), "{flaws:#?}");
}

#[test]
fn every_flaw_of_an_entry_is_reported_at_once() {
    let mut data = hosted();
    data["allowedTenants"] = json!(7);
    data["colour"] = json!("blue");
    data["releases"] = json!([{ "image": "x" }, "no release", { "version": "4.20.3", "image": "x:4.20.4" }]);
    data["parameters"]["fips"]["type"] = json!("truth");
    data["parameters"]["proxy"]["default"] = json!("ftp://");
    data["limits"]["minNodes"] = json!(11);
    let flaws = read(&data).unwrap_err();
    let mut paths: Vec<&str> = flaws.iter().map(|f| f.path.as_str()).collect();
    paths.sort_unstable();
    let expected = [
        "data.allowedTenants",
        "data.colour",
        "data.limits.minNodes",
        "data.parameters.fips",
        "data.parameters.proxy.default",
        "data.releases[0].version",
        "data.releases[1]",
        "data.releases[1].image",
    ];
    assert_eq!(paths, expected, "{flaws:#?}");
    for odd in [Value::Null, json!([]), json!("x")] {
        assert_eq!(read(&odd).unwrap_err()[0].path, "data");
    }
    assert_eq!(Entry::from_data("Not A Name", &hosted()).unwrap_err()[0].path, "metadata.name");
}

/// Nothing that a claim could ask for is refused as a default.
#[test]
fn every_value_of_a_claim_may_be_a_default() {
    let mut data = hosted();
    data["nodeParameters"] =
        json!({ "disk": { "required": true, "enum": ["a"], "target": "nodePool.disk" } });
    data["allowedNodeClasses"]["small"]["scaleToZero"] = true.into();
    data["defaultNodeGroups"] = json!([
        { "name": "a", "class": "small", "count": 0, "labels": { "example.org/a": "" }, "parameters": { "disk": "a" },
          "taints": [{ "key": "k", "value": "v.w", "effect": "NoExecute" }] },
        { "name": "b", "class": "small", "autoscale": { "min": 0, "max": 3 }, "arch": "arm64", "parameters": { "disk": "a" } },
    ]);
    assert_eq!(read(&data).err(), None);
    data["defaultNodeGroups"][0]["parameters"]["disk"] = "b".into();
    let flaws = read(&data).unwrap_err();
    assert_eq!(flaws[0].path, "data.defaultNodeGroups[0].parameters.disk");
    let mut data = hosted();
    data["defaultNodeGroups"] = groups(32);
    assert_eq!(read(&data).err(), None);
}

/// More than a claim could set, every claim would have; of optional ones none has all.
#[test]
fn defaults_are_bounded_as_claims_are() {
    for (rule, most, said) in [
        (json!({ "default": "x" }), 64, false),
        (json!({ "default": "x" }), 65, true),
        (json!({ "required": true }), 65, true),
        (json!({}), 100, false),
    ] {
        let rules = |root: &str| -> Value {
            let one = |i: usize| {
                let mut rule = rule.clone();
                rule["target"] = format!("{root}.p{i}").into();
                (format!("p{i}"), rule)
            };
            (0..most).map(one).collect::<serde_json::Map<_, _>>().into()
        };
        for (member, root) in [("parameters", "hostedCluster"), ("nodeParameters", "nodePool")] {
            let mut data = hosted();
            data["defaultNodeGroups"] = json!([]);
            data[member] = rules(root);
            let flaws = read(&data).err().unwrap_or_default();
            let paths: Vec<&str> = flaws.iter().map(|f| f.path.as_str()).collect();
            let path = format!("data.{member}");
            assert_eq!(paths, Vec::from_iter(said.then_some(path.as_str())), "{rule} {most}: {flaws:#?}");
        }
    }
}

fn judged(rule: &Value, value: &Value) -> Vec<String> {
    let rule: Rule = serde_json::from_value(rule.clone()).unwrap();
    let mut said = Vec::new();
    rule.check_value(&mut "p".to_owned(), value, &mut |path, sentence| {
        said.push(format!("{path} {sentence}"));
    });
    said
}

#[rstest]
#[case(json!({}), json!("x"), &[])]
#[case(json!({}), json!(1), &["p must be a string, not a whole number"])]
#[case(json!({ "type": "integer" }), json!(2.0), &[])]
#[case(json!({ "type": "integer" }), json!(2.5), &["p must be a whole number, not a number"])]
#[case(json!({ "type": "integer", "enum": [1, 3] }), json!(3.0), &[])]
#[case(json!({ "type": "integer", "enum": [1, 3] }), json!(2), &["p must be one of 1, 3"])]
#[case(json!({ "type": "number", "minimum": 1, "maximum": 2 }), json!(2.5), &["p must be at most 2"])]
#[case(json!({ "type": "number", "minimum": 1.5 }), json!(1), &["p must be at least 1.5"])]
#[case(json!({ "pattern": "^a+$" }), json!("aab"), &["p must match ^a+$"])]
#[case(json!({ "pattern": "^a+$" }), json!("a\n"), &["p must match ^a+$"])]
#[case(json!({ "minLength": 3 }), json!("ä"), &["p must have at least 3 characters"])]
#[case(json!({ "maxLength": 2 }), json!("äöü"), &["p must have at most 2 characters"])]
#[case(json!({ "enum": ["a"], "pattern": "b" }), json!("c"), &["p must be one of \"a\"", "p must match b"])]
#[case(json!({ "type": "boolean" }), json!("true"), &["p must be true or false, not a string"])]
#[case(json!({ "type": "object" }), json!({ "a": [null] }), &[])]
#[case(json!({ "type": "array", "maxItems": 1, "items": { "type": "integer" } }), json!([1, 2]), &["p must have at most 1 items"])]
#[case(json!({ "type": "array", "minItems": 3, "items": { "type": "integer" } }), json!(["x", 2]), &["p must have at least 3 items", "p[0] must be a whole number, not a string"])]
#[case(json!({ "secret": true, "pattern": "." }), json!("Hunter 2"), &["p must be the name of a Secret on the hub, not a secret"])]
#[case(json!({ "secret": true, "pattern": "^team-" }), json!("team-pull"), &[])]
fn values_are_judged_whole(#[case] rule: Value, #[case] value: Value, #[case] said: &[&str]) {
    assert_eq!(judged(&rule, &value), said);
}

#[test]
fn release_follows_from_request_and_current_version() {
    let mut data = hosted();
    let image = |v: &str| json!({ "version": v, "image": format!("quay.io/x:{v}-x86_64") });
    data["releases"] = json!([image("4.19.7"), image("4.20.3"), image("4.20.9"), image("4.21.0-rc.1")]);
    data["releases"][0]["deprecated"] = json!("it is old");
    data["releases"][1]["allowedUpgrades"] = json!(["4.20.9"]);
    let entry = read(&data).unwrap();
    let version = |text: &str| Version::try_from(text.to_owned()).unwrap();
    let chosen = |asked: &str, held: Option<&str>| {
        entry.find_release(asked, held.map(version).as_ref()).map(|r| r.version.to_string())
    };
    assert_eq!(entry.default_release().unwrap().version, version("4.20.3"));
    assert_eq!(chosen("4.20", None).as_deref(), Some("4.20.9"));
    assert_eq!(chosen("4.20", Some("4.20.3")).as_deref(), Some("4.20.3"), "nobody asked for an upgrade");
    assert_eq!(chosen("4.20.9", Some("4.20.3")).as_deref(), Some("4.20.9"));
    assert_eq!(chosen("4.21", None), None);
    let from = |v: &str| entry.releases.iter().find(|r| r.version == version(v)).unwrap();
    assert!(from("4.20.3").may_become(&version("4.20.9")));
    assert!(!from("4.20.3").may_become(&version("4.21.0")), "it is not among allowedUpgrades");
    assert!(from("4.19.7").may_become(&version("4.20.3")));
    assert!(!from("4.20.9").may_become(&version("4.20.3")), "down");
    assert!(!within_reach(&version("1.29.1"), &version("1.31.2")));
    assert!(within_reach(&version("1.30.1"), &version("1.31.2")));
    assert!(!within_reach(&version("4.20.1"), &version("5.0.0")));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "x{5000}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,8}", inner, 0..4).prop_map(|m| json!(m)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Whatever stands wherever, it is read or named with a place in it, and never panics.
    #[test]
    fn entries_broken_at_random_say_where(field in 0_usize..14, value in any_json()) {
        let mut data = hosted();
        let keys: Vec<String> = data.as_object().unwrap().keys().cloned().collect();
        let key = keys[field % keys.len()].clone();
        data[&key] = value;
        if let Err(flaws) = read(&data) {
            prop_assert!(!flaws.is_empty());
            prop_assert!(flaws.iter().all(|f| f.path.starts_with("data")));
        }
    }

    #[test]
    fn any_rule_judges_any_value(rule in any_json(), value in any_json()) {
        if let Ok(rule) = serde_json::from_value::<Rule>(rule) {
            let _ = rule.find_flaws();
            rule.check_value(&mut String::new(), &value, &mut |_, sentence| assert!(!sentence.contains("xxxxxx")));
        }
    }
}

fn takes(mut data: Value) -> Value {
    let account = |name: &str| json!({ "name": name, "namespace": "testplatform" });
    data["bringYourOwn"] =
        json!({ "sshKey": true, "carrier": account("carrier"), "provider": account("provider") });
    data
}

/// Clusters of claims that bring their own credentials are in namespaces of their own, where nothing is that the entry names.
#[test]
fn entry_with_tenant_credentials_names_no_other_objects() {
    let plain = json!({
        "backend": "hypershift", "allowedTenants": ["*"], "version": "4.20.3", "image": "quay.io/x:4.20.3",
        "backendRef": { "platform": "KubeVirt", "hostedCluster": { "pullSecret": { "name": "pull" }, "sshKey": { "name": "key" } } },
    });
    let entry = Entry::from_data("x", &takes(plain.clone())).unwrap();
    assert!(
        entry
            .document
            .bring_your_own
            .is_some_and(|own| own.ssh_key && own.carrier.name.as_str() == "carrier")
    );
    let beside = "is not";
    for (path, value, at, words) in [
        (
            "/backendRef/hostedCluster/additionalTrustBundle",
            json!({ "name": "ca" }),
            "data.backendRef.hostedCluster.additionalTrustBundle",
            beside,
        ),
        (
            "/backendRef/hostedCluster/configuration",
            json!({ "proxy": { "trustedCA": { "name": "ca" } } }),
            "data.backendRef.hostedCluster.configuration.proxy.trustedCA",
            beside,
        ),
        (
            "/backendRef/nodePool",
            json!({ "config": [{ "name": "kubelet" }] }),
            "data.backendRef.nodePool.config[0]",
            beside,
        ),
        (
            "/overlay",
            json!({ "hostedCluster": { "auditWebhook": { "name": "audit" } } }),
            "data.overlay.hostedCluster.auditWebhook",
            beside,
        ),
        (
            "/parameters",
            json!({ "key": { "target": "hostedCluster.sshKey.name" } }),
            "data.bringYourOwn",
            "sshKey.name",
        ),
        ("/preDelete", json!([{ "name": "a", "manifests": [] }]), "data.bringYourOwn", "preDelete"),
    ] {
        let mut data = plain.clone();
        let (parent, key) = path.rsplit_once('/').unwrap();
        data.pointer_mut(parent).unwrap()[key] = value;
        let flaws = Entry::from_data("x", &takes(data)).unwrap_err();
        assert!(flaws.iter().any(|f| f.path == at && f.sentence.contains(words)), "{at}: {flaws:#?}");
    }
    for other in [topology(), caas(), osac()] {
        let flaws = Entry::from_data("x", &takes(other)).unwrap_err();
        assert!(
            flaws.iter().any(|f| f.path == "data.bringYourOwn" && f.sentence.contains("is for hypershift")),
            "{flaws:#?}"
        );
    }
}

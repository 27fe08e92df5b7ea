//! Once a cluster was asked for: what may change does, anything else keeps it as it is, and nothing that happens to the catalogue
//! touches it.

use function_model::world::World;
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_composites::cluster::request::{AnyBackendSpec, Resolution};

use crate::templates::{Change, effective, kept, made, noted, templated};

fn group(change: &Value) -> Value {
    let mut group = json!({ "name": "workers", "class": "small", "count": 2 });
    group.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    json!([group])
}

fn changed(mut world: World, field: &str, value: Value) -> [World; 2] {
    world.spec[field] = value;
    let other = noted(world.clone());
    [world, other]
}

#[rstest]
#[case("version", json!("4.20.9"), "/version", json!("4.20.9"))]
#[case("version", json!("4.21"), "/version", json!("4.21.0"))]
#[case("version", json!("4.20"), "/version", json!("4.20.3"))]
#[case("releaseImage", json!("quay.io/dev/x:4.20.5"), "/releaseImage", json!("quay.io/dev/x:4.20.5"))]
#[case("parameters", json!({ "channel": "fast" }), "/parameters/channel", json!("fast"))]
#[case("nodeGroups", group(&json!({ "count": 5 })), "/nodeGroups/0/count", json!(5))]
#[case("nodeGroups", group(&json!({ "class": "large" })), "/nodeGroups/0/class", json!("large"))]
#[case("nodeGroups", group(&json!({ "count": null, "autoscale": { "min": 1, "max": 3 } })), "/nodeGroups/0/autoscale/max", json!(3))]
#[case("nodeGroups", json!([{ "name": "other", "class": "large", "count": 1 }]), "/nodeGroups/0/name", json!("other"))]
#[case("template", json!("hosted-next"), "/version", json!("4.21.3"))]
fn change_of_mutable_field_applies(
    #[case] field: &str,
    #[case] value: Value,
    #[case] pointer: &str,
    #[case] is: Value,
) {
    for world in changed(made("hosted", &json!({})), field, value.clone()) {
        assert_eq!(kept(&world), None, "{field}");
        assert_eq!(effective(&world).pointer(pointer), Some(&is), "{}", effective(&world));
    }
}

#[rstest]
#[case("hosted", "parameters", json!({ "fips": true }), "Immutable", "spec.parameters.fips cannot change")]
#[case("hosted", "network", json!({ "podCIDR": "10.132.0.0/14" }), "Immutable", "spec.network.podCIDR cannot change")]
#[case("hosted", "hub", json!({ "name": "hub-2" }), "Immutable", "spec.hub cannot change")]
#[case("hosted", "timeouts", json!({ "provision": "1h" }), "Immutable", "spec.timeouts cannot change")]
#[case("hosted", "nodeGroups", group(&json!({ "arch": "s390x" })), "Immutable", "spec.nodeGroups[0].arch cannot change")]
#[case("hosted", "template", json!("topology"), "Immutable", "spec.template is for cluster-api, and the cluster was created from hypershift")]
#[case("hosted", "template", json!("nothing"), "TemplateNotFound", "there is no template nothing")]
#[case("hosted", "template", json!("retired"), "TemplateNotFound", "is switched off")]
#[case("hosted", "template", json!("others"), "TemplateNotFound", "is not offered to namespace tenant-a")]
#[case("hosted-next", "template", json!("hosted"), "Immutable", "spec.template does not name")]
#[case("hosted", "version", json!("4.22.0"), "Rejected", "spec.version cannot be reached from 4.20.3 in one step")]
#[case("hosted-next", "releaseImage", json!("quay.io/x:1"), "Rejected", "spec.releaseImage cannot be set, because the template does not allow it")]
#[case("hosted", "version", json!("4.99"), "Rejected", "spec.version is not offered by the template")]
#[case("hosted", "version", json!(4.2), "Rejected", "spec.version expected a string")]
#[case("hosted", "nodeGroups", group(&json!({ "class": "huge" })), "Rejected", "spec.nodeGroups[0].class must be one of")]
#[case("hosted", "parameters", json!({ "channel": "slow" }), "Rejected", "spec.parameters.channel must be one of")]
#[case("topology", "nodeGroups", json!([{ "name": "a", "class": "gpu", "count": 1 }]), "Immutable", "spec.nodeGroups[0].class cannot change")]
#[case("hosted", "controlPlane", json!({ "replicas": 3 }), "Immutable", "spec.controlPlane.replicas cannot change")]
#[case("topology", "controlPlane", json!({ "class": "large" }), "Immutable", "spec.controlPlane.class cannot change")]
#[case("chart", "parameters", json!({ "instanceType": "m5.xlarge" }), "Immutable", "spec.parameters.instanceType cannot change")]
#[case("order", "releaseImage", json!("quay.io/x:2"), "Rejected", "spec.releaseImage")]
fn change_of_other_fields_keeps_the_cluster(
    #[case] template: &str,
    #[case] field: &str,
    #[case] value: Value,
    #[case] reason: &str,
    #[case] part: &str,
) {
    let start = match template {
        "chart" => json!({ "parameters": { "instanceType": "m5.large" } }),
        "topology" => json!({ "nodeGroups": [{ "name": "a", "class": "default", "count": 1 }] }),
        _ => json!({}),
    };
    let before = made(template, &start);
    let was = before.status["effective"].clone();
    for world in changed(before, field, value.clone()) {
        let (why, message) = kept(&world).unwrap_or_else(|| panic!("{field} was changed"));
        assert_eq!(why, reason, "{message}");
        assert!(message.contains(part), "{message}");
        assert_eq!(effective(&world), was, "what is remembered stays");
    }
}

#[test]
fn partly_invalid_change_applies_nothing() {
    let mut world = made("hosted", &json!({}));
    world.spec["parameters"] = json!({ "fips": true, "channel": "fast" });
    world.spec["version"] = json!("4.22.0");
    world.spec["network"] = json!({ "serviceCIDR": "172.30.0.0/16" });
    let (reason, message) = kept(&world).unwrap();
    assert_eq!(reason, "Immutable");
    for path in ["spec.parameters.fips", "spec.version", "spec.network.serviceCIDR"] {
        assert!(message.contains(path), "{path} is not in {message}");
    }
    assert_eq!(effective(&world)["parameters"]["channel"], "stable");
    // And it is shown, by one pass, since without a backend nobody repeats what was made.
    world.pass();
    assert_eq!(world.condition("SpecApplied"), ("False".into(), "Immutable".into()));
    assert_eq!(world.condition("RequestAccepted"), ("True".into(), "ChangeIgnored".into()));
}

#[test]
fn a_version_never_goes_back_and_cluster_api_walks() {
    let mut world = made("hosted", &json!({ "version": "4.20.9" }));
    world.spec["version"] = json!("4.20.3");
    assert_eq!(
        kept(&world).unwrap().1,
        "spec.version would be a downgrade from 4.20.9 to 4.20.3; the cluster stays as requested"
    );
    let mut world = made("topology", &json!({ "version": "1.29" }));
    world.spec["version"] = json!("1.31");
    assert_eq!((kept(&world), effective(&world)["version"].clone()), (None, json!("1.31.2")));
}

/// Unset fields of the claim keep their values, whatever the catalogue says by now.
#[test]
fn a_catalogue_that_changes_changes_no_cluster() {
    let mut world = made("hosted", &json!({ "version": "4.20" }));
    let was = world.status["effective"].clone();
    assert_eq!(was["version"], "4.20.9");
    let entry = world.catalogue_entry("hosted");
    entry["releases"]
        .as_array_mut()
        .unwrap()
        .insert(0, json!({ "version": "4.20.11", "image": "quay.io/x:4.20.11" }));
    entry["releases"].as_array_mut().unwrap().retain(|r| r["version"] != "4.20.9");
    entry["parameters"]["channel"]["default"] = json!("fast");
    entry["parameters"]["fips"]["default"] = json!(true);
    entry["parameters"]["later"] =
        json!({ "type": "boolean", "default": true, "immutable": true, "target": "hostedCluster.later" });
    entry["parameters"]["needed"] = json!({ "required": true, "target": "hostedCluster.needed" });
    entry["nodeParameters"]["later"] = json!({ "default": "x", "target": "nodePool.later" });
    entry["defaultControlPlaneReplicas"] = json!(3);
    entry["defaultNodeGroups"] = json!([{ "name": "workers", "class": "large", "count": 4 }]);
    entry["timeouts"]["provision"] = json!("5h");
    entry["enabled"] = json!(false);
    entry["allowedTenants"] = json!([]);
    for world in [world.clone(), noted(world)] {
        assert_eq!(kept(&world), None);
        assert_eq!(effective(&world), was);
    }
}

/// A rule that became stricter holds for what is asked anew.
#[test]
fn stricter_rule_keeps_existing_values() {
    let mut world = made("hosted", &json!({ "parameters": { "proxy": "http://a" } }));
    world.catalogue_entry("hosted")["parameters"]["proxy"]["pattern"] = json!("^https://");
    assert_eq!(kept(&world), None);
    world.spec["parameters"]["proxy"] = json!("http://b");
    assert!(kept(&world).unwrap().1.contains("spec.parameters.proxy must match ^https://"));
}

/// The same of node groups, whether the claim says them or the template did, and of a class that is not offered any more: an upgrade
/// asks for none of them anew.
#[rstest]
#[case(|e: &mut Value| e["limits"]["maxNodes"] = json!(1), "at most 1 are allowed")]
#[case(|e: &mut Value| e["limits"]["minNodes"] = json!(9), "needs at least 9")]
#[case(|e: &mut Value| e["limits"]["maxNodeGroups"] = json!(1), "more than 1 groups")]
#[case(|e: &mut Value| drop(e["allowedNodeClasses"].as_object_mut().unwrap().remove("small")), "must be one of")]
fn a_stricter_rule_leaves_alone_the_groups_that_stand(#[case] stricter: fn(&mut Value), #[case] part: &str) {
    let groups = json!([
        { "name": "workers", "class": "small", "count": 2 }, { "name": "more", "class": "small", "count": 1 },
    ]);
    for said in [true, false] {
        let mut world = if said {
            made("hosted", &json!({ "nodeGroups": groups }))
        } else {
            let mut world = World::with_template("hosted");
            world.catalogue_entry("hosted")["defaultNodeGroups"] = groups.clone();
            world.settle();
            world.status["backend"] =
                json!({ "kind": "X", "uid": "remote-1", "name": "x", "namespace": "x" });
            world
        };
        let was = effective(&world)["nodeGroups"].clone();
        world.catalogue_entry("hosted")["defaultNodeGroups"] = json!([]);
        stricter(world.catalogue_entry("hosted"));
        assert_eq!(kept(&world), None);
        world.spec["version"] = json!("4.20.9");
        for mut world in [world.clone(), noted(world)] {
            assert_eq!(kept(&world), None);
            assert_eq!(effective(&world)["version"], "4.20.9");
            assert_eq!(effective(&world)["nodeGroups"], was);
            let Resolution::Resolved(whole) = templated(&world).resolution else { panic!("kept") };
            let AnyBackendSpec::HyperShift(order) = whole.backend_spec else { panic!("another backend") };
            assert_eq!(order.groups.len(), 2);
            world.spec["nodeGroups"] = groups.clone();
            world.spec["nodeGroups"][0]["count"] = json!(3);
            assert!(kept(&world).unwrap().1.contains(part), "{:?}", kept(&world));
        }
    }
}

#[test]
fn a_catalogue_that_is_gone_or_broken_loses_nothing() {
    let was = made("hosted", &json!({})).status["effective"].clone();
    let changes: [(Change, &str); 6] = [
        (
            |w| w.catalogue_entry("hosted")["defaultNodeGroups"][0]["name"] = json!("Workers_1"),
            "data.defaultNodeGroups[0].name: is not a DNS label",
        ),
        (
            |w| {
                let rule = |i: usize| json!({ "default": "x", "target": format!("hostedCluster.p{i}") });
                w.catalogue_entry("hosted")["parameters"] =
                    (0..65).map(|i| (format!("p{i}"), rule(i))).collect();
            },
            "data.parameters: has more than 64",
        ),
        (|w| w.templates.clear(), "there is no template hosted"),
        (
            |w| w.catalogue_entry("hosted")["backend"] = json!("magic"),
            "cannot be used: data.backend: unknown variant",
        ),
        (|w| w.catalogue_entry("hosted")["releases"] = json!(5), "data.releases: "),
        (|w| *w.catalogue_entry("hosted") = Value::Null, "data: is missing"),
    ];
    for (change, part) in changes {
        let mut world = made("hosted", &json!({}));
        change(&mut world);
        for world in [world.clone(), noted(world)] {
            let (reason, message) = kept(&world).unwrap();
            assert_eq!(reason, "TemplateNotFound");
            assert!(message.contains(part), "{message}");
            assert_eq!(effective(&world), was);
            assert_eq!(templated(&world).backend.unwrap().as_str(), "hypershift", "whose it is stays known");
        }
    }
}

#[test]
fn without_memory_nothing_is_changed() {
    let mut world = made("hosted", &json!({}));
    world.status.as_object_mut().unwrap().remove("effective");
    let (reason, message) = kept(&world).unwrap();
    assert_eq!(reason, "NotObserved");
    assert!(message.contains("testplatform.ci.openshift.org/effective"), "{message}");
    assert_eq!(templated(&world).effective, None);
}

/// A Secret's name is remembered nowhere, and may change.
#[test]
fn secret_reference_may_change() {
    let mut world = made("hosted", &json!({ "parameters": { "sshKey": "team-one" } }));
    world.spec["parameters"]["sshKey"] = json!("team-two");
    for world in [world.clone(), noted(world)] {
        let Resolution::Resolved(whole) = templated(&world).resolution else { panic!("kept") };
        let AnyBackendSpec::HyperShift(order) = whole.backend_spec else { panic!("another backend") };
        assert!(order.parameters.iter().any(|p| p.value == "team-two"));
    }
}

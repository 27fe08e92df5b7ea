//! Before anything is asked of a hub.

use function_model::world::World;
use serde_json::json;
use testplatform_apis::condition::TemplateConditionType;
use testplatform_apis::{names::ours, template::kind::Host};
use testplatform_composites::{
    Options,
    cluster::request::{AnyBackendSpec, NodeCount, Resolution},
    run,
    sdk::proto::{MatchLabels, resource_selector::Match},
};

use crate::templates::{effective, judged, templated};

#[test]
fn defaults_are_filled_in_and_shown() {
    let mut world = World::with_template("hosted");
    assert_eq!(
        effective(&world),
        json!({
            "template": "hosted", "backend": "hypershift", "version": "4.20.3", "releaseImage": "quay.io/x:4.20.3-x86_64",
            "parameters": { "channel": "stable", "fips": false },
            "nodeGroups": [{ "name": "workers", "class": "small", "count": 2, "parameters": { "drain": "10m" } }],
            "timeouts": { "provision": "1h30m0s" },
        })
    );
    world.spec["version"] = json!("4.20");
    world.spec["parameters"] = json!({ "fips": true, "sshKey": "team-a-key", "proxy": null });
    world.spec["nodeGroups"] = json!([
        { "name": "a", "class": "large", "autoscale": { "min": 0, "max": 3 }, "arch": "s390x" },
        { "name": "b", "class": "small", "count": 1 },
    ]);
    world.spec["controlPlane"] = json!({ "replicas": 3 });
    world.spec["network"] = json!({ "podCIDR": "10.132.0.0/14" });
    world.settle();
    let shown = &world.status["effective"];
    assert_eq!(
        (&shown["version"], &shown["parameters"]),
        (&json!("4.20.9"), &json!({ "channel": "stable", "fips": true }))
    );
    assert!(!world.status.to_string().contains("team-a-key"), "what names a Secret is not shown");
    assert_eq!(world.status["template"], json!({ "name": "hosted", "backend": "hypershift", "cost": 2 }));
}

#[test]
fn resolved_spec_is_complete_and_typed() {
    let mut world = World::with_template("hosted");
    world.spec["parameters"] = json!({ "sshKey": "team-a-key" });
    let Resolution::Resolved(whole) = templated(&world).resolution else { panic!("held") };
    assert_eq!(whole.release.version.unwrap().to_string(), "4.20.3");
    let AnyBackendSpec::HyperShift(order) = whole.backend_spec else { panic!("another backend") };
    assert_eq!(order.groups[0].size, NodeCount::Fixed(2));
    assert_eq!(order.groups[0].parameters[0].target.path, ["nodeDrainTimeout"]);
    let names: Vec<_> = order.parameters.iter().map(|p| (p.name.as_str(), p.target.path.join("."))).collect();
    let expected =
        [("channel", "channel".to_owned()), ("fips", "fips".into()), ("sshKey", "sshKey.name".into())];
    assert_eq!(names, expected);
    let mut world = World::with_template("order");
    world.spec["nodeGroups"] = json!([{ "name": "a", "class": "metal", "count": 2 }]);
    let Resolution::Resolved(whole) = templated(&world).resolution else { panic!("held") };
    assert_eq!((whole.release.version, whole.release.image), (None, None));
    let AnyBackendSpec::Osac(order) = whole.backend_spec else { panic!("another backend") };
    assert_eq!(order.groups[0].machine, Some(Host::ResourceClass("fc430".into())));
}

#[test]
fn image_of_a_claim_is_used_where_allowed() {
    let mut world = World::with_template("hosted");
    world.spec["releaseImage"] = json!("quay.io/dev/x@sha256:0123");
    assert_eq!(effective(&world)["releaseImage"], "quay.io/dev/x@sha256:0123");
    assert!(effective(&world)["version"].is_null());
    world.spec["releaseImage"] = json!("quay.io/x:4.20.9-x86_64");
    assert_eq!(effective(&world)["version"], "4.20.9", "one of the template's own");
}

#[test]
fn limits_of_the_template_are_the_claims() {
    let mut world = World::with_template("hosted");
    let life = |world: &World| judged(world).plan.request.unwrap().validated.lifetime;
    assert_eq!(life(&world).effective.unwrap().to_short_string(), "2h");
    assert_eq!(life(&world).max.unwrap().to_short_string(), "8h");
    assert_eq!(life(&world).reported_timeout.unwrap().to_short_string(), "1h30m");
    world.spec["timeouts"] = json!({ "provision": "20m" });
    world.spec["lifetime"] = json!("100h");
    assert_eq!(life(&world).reported_timeout.unwrap().to_short_string(), "20m");
    assert_eq!(life(&world).effective.unwrap().to_short_string(), "8h");
}

/// Tools wait for conditions; one that is not created yet is an error to some.
#[test]
fn first_response_has_every_condition() {
    for change in [|_: &mut World| (), |w: &mut World| w.spec["version"] = json!(7)] {
        let mut world = World::with_template("hosted");
        change(&mut world);
        let response = world.pass();
        let types: Vec<&str> = response.conditions.iter().map(|c| c.r#type.as_str()).collect();
        // Of clusters with a credential of their own alone.
        let own = |type_: &&TemplateConditionType| **type_ != TemplateConditionType::PlatformCredentialsValid;
        for type_ in TemplateConditionType::ALL.iter().filter(own) {
            assert!(types.contains(&type_.as_str()), "{type_} is not among {types:?}");
        }
    }
    for mut world in [World::default(), World::hive_claim()] {
        let response = world.pass();
        let ours = |t: &str| TemplateConditionType::parse(t).is_some();
        assert!(!response.conditions.iter().any(|c| ours(&c.r#type)));
        assert!(world.status["template"].is_null() && world.status["effective"].is_null());
    }
    let mut world = World::with_template("hosted");
    world.settle();
    for (type_, status, reason) in [
        ("HubSelected", "False", "HubsNotRead"),
        ("InfrastructureReady", "Unknown", "NotObserved"),
        ("ControlPlaneAvailable", "Unknown", "NotObserved"),
        ("NodesReady", "Unknown", "NotReported"),
        ("TemplateApplied", "Unknown", "NotReported"),
        ("SpecApplied", "Unknown", "NotObserved"),
        ("TearDownComplete", "False", "NotRequested"),
    ] {
        assert_eq!(world.condition(type_), (status.to_owned(), reason.to_owned()), "{type_}");
    }
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), ("True".into(), "NothingToTearDown".into()));
}

#[test]
fn deprecated_template_works_with_a_warning() {
    let world = World::with_template("topology");
    let request = judged(&world).plan.request.unwrap();
    assert_eq!(request.issues[0].reason.as_str(), "TemplateDeprecated");
    assert_eq!(request.issues[0].message, "template topology is deprecated: use hosted");
    assert!(matches!(templated(&world).resolution, Resolution::Resolved(_)));
    assert_eq!(effective(&world)["version"], "1.29.4");
    let mut world = World::with_template("hosted");
    world.catalogue_entry("hosted")["releases"][1]["deprecated"] = json!("it leaks");
    assert!(judged(&world).plan.request.unwrap().issues.is_empty());
    world.spec["version"] = json!("4.20.9");
    let request = judged(&world).plan.request.unwrap();
    assert_eq!(request.issues[0].message, "this version of template hosted is deprecated: it leaks");
}

/// Always the catalogue of templates; pools, peers and hubs while nothing was asked of a hub.
#[test]
fn catalogue_is_always_required() {
    let asked = |world: &World| {
        let response = run(&world.request(), &Options::default(), world.now);
        let resources = response.requirements.unwrap().resources;
        let Some(Match::MatchLabels(MatchLabels { labels })) = resources["templates"].r#match.clone() else {
            panic!("{resources:?}")
        };
        assert_eq!(
            labels,
            std::collections::BTreeMap::from([(ours::CATALOGUE.to_owned(), "true".to_owned())])
        );
        resources.into_keys().collect::<Vec<_>>()
    };
    let mut world = World::with_template("hosted");
    assert_eq!(asked(&world), ["clusters", "envcfg", "hub-facts", "hubs", "pools", "templates", "writer"]);
    // Whatever came of it.
    world.spec["version"] = json!("1");
    world.templates.clear();
    assert_eq!(asked(&world), ["clusters", "envcfg", "hub-facts", "hubs", "pools", "templates", "writer"]);
    world.status["backend"] = json!({ "uid": "remote-1" });
    assert_eq!(asked(&world), ["envcfg", "templates"]);
}

#[test]
fn the_order_of_the_catalogue_does_not_matter() {
    let mut world = World::with_template("nothing");
    world.settle();
    let before = world.refusal_message().to_owned();
    world.templates.reverse();
    world.settle();
    assert_eq!(world.refusal_message(), before);
    // Ten, and how many more.
    let entry = world.catalogue_entry("hosted-next").clone();
    world.templates = (0..14)
        .map(|i| json!({ "metadata": { "name": format!("t{i:02}") }, "data": entry.clone() }))
        .collect();
    world.settle();
    assert!(
        world.refusal_message().contains("t00, t01, t02, t03, t04, t05, t06, t07, t08, t09, and 4 more"),
        "{}",
        world.refusal_message()
    );
}

#[test]
fn every_error_of_a_claim_is_reported_at_once() {
    let mut world = World::with_template("hosted");
    world.spec["version"] = json!("3");
    world.spec["parameters"] = json!({ "fips": 1, "nothing": 2 });
    world.spec["nodeGroups"] =
        json!([{ "name": "a", "class": "no", "count": 1 }, { "name": "b", "class": "small", "count": 20 }]);
    world.spec["controlPlane"] = json!({ "replicas": 5 });
    world.spec["network"] = json!({ "machineCIDR": "x" });
    world.settle();
    assert_eq!(world.condition("RequestAccepted").1, "VersionUnsupported");
    for path in [
        "spec.version ",
        "spec.parameters.fips ",
        "spec.parameters.nothing ",
        "spec.nodeGroups ",
        "spec.nodeGroups[0].class ",
        "spec.controlPlane.replicas ",
        "spec.network.machineCIDR ",
    ] {
        assert!(world.refusal_message().contains(path), "{path} is not in {}", world.refusal_message());
    }
    // Edited, it goes on: nothing of this is final.
    world.spec = json!({ "template": "hosted" });
    world.settle();
    assert_eq!(world.condition("RequestAccepted").1, "HubsNotRead");
}

//! Changes of an existing cluster.

use function_model::world::{NAME, World};
use serde_json::{Value, json};
use testplatform_apis::names::ours;

use crate::hypershift::{asked, group, is, level};

fn images(world: &World, groups: &[&str]) -> Vec<String> {
    let pools = groups.iter().map(|group| &world.requested_pool(group)["spec"]);
    let image = |spec: &Value| spec["release"]["image"].as_str().unwrap().replace("quay.io/x:", "");
    let all = std::iter::once(&asked(world)["spec"]).chain(pools);
    all.map(|spec| image(spec).replace("-x86_64", "")).collect()
}

#[test]
fn upgrade_reaches_cluster_before_each_group() {
    let mut world = World::hypershift_claim();
    world.spec["nodeGroups"] =
        json!([group("b", &json!({ "count": 1 })), group("a", &json!({ "count": 1 }))]);
    world.settle();
    world.hypershift_installs();
    world.hypershift_publishes();
    world.settle();
    world.spec["version"] = json!("4.20.9");
    world.settle();
    assert_eq!(images(&world, &["a", "b"]), ["4.20.9", "4.20.3", "4.20.3"]);
    assert_eq!(level(&world, "SpecApplied"), is("False", "Applying"));
    world.hypershift_rolls_out("Partial");
    world.settle();
    assert_eq!(images(&world, &["a", "b"]), ["4.20.9", "4.20.3", "4.20.3"]);
    assert_eq!(
        (&world.status["version"], &world.status["versionDesired"]),
        (&json!("4.20.3"), &json!("4.20.9"))
    );
    assert_eq!(world.phase(), "Ready");
    // The next one waits.
    world.spec["version"] = json!("4.21.0");
    world.settle();
    assert_eq!(images(&world, &["a", "b"])[0], "4.20.9");
    assert_eq!(level(&world, "SpecApplied"), is("False", "Queued"));
    world.hypershift_rolls_out("Completed");
    world.settle();
    assert_eq!(images(&world, &["a", "b"]), ["4.21.0", "4.20.3", "4.20.3"]);
    world.hypershift_rolls_out("Completed");
    world.reconcile_objects();
    world.pass();
    assert_eq!(images(&world, &["a", "b"]), ["4.21.0", "4.21.0", "4.20.3"], "one at a time");
    world.reconcile_objects();
    let pool = world
        .node_pools
        .values_mut()
        .find(|p| p["metadata"]["name"].as_str().unwrap().ends_with("-a"))
        .unwrap();
    pool["status"]["conditions"] =
        json!([{ "type": "UpdatingVersion", "status": "True", "reason": "AsExpected" }]);
    world.settle();
    assert_eq!(images(&world, &["a", "b"]), ["4.21.0", "4.21.0", "4.20.3"], "one at a time");
    world.hypershift_scales();
    world.settle();
    assert_eq!(images(&world, &["a", "b"]), ["4.21.0", "4.21.0", "4.21.0"]);
    assert_eq!(level(&world, "SpecApplied"), is("False", "Applying"), "the last is at it");
    world.hypershift_scales();
    world.settle();
    assert_eq!(level(&world, "SpecApplied"), is("True", "UpToDate"));
}

#[test]
fn no_way_leads_back_and_none_leaves_a_version_out() {
    for (version, reason) in [("4.22.0", "Rejected"), ("4.20.1", "Rejected")] {
        let mut world = World::hosted_ready();
        let before = asked(&world).clone();
        world.spec["version"] = json!(version);
        world.settle();
        assert_eq!(asked(&world), &before);
        assert_eq!(level(&world, "SpecApplied"), is("False", reason));
        assert_eq!(world.phase(), "Ready");
    }
}

/// One whose image HyperShift cannot use it does not begin with, and nothing but another release helps.
#[test]
fn refused_release_can_be_withdrawn_or_replaced() {
    let by_hypershift = |w: &mut World| w.hypershift_rejects_the_image();
    let by_the_hub = |w: &mut World| {
        w.fixed.insert("/release".into());
        w.reconcile_objects();
        w.settle();
    };
    for (refuse, hub_has) in [(by_hypershift as fn(&mut World), "4.20.9"), (by_the_hub, "4.20.3")] {
        for (next, there) in [("4.20.3", true), ("4.21.0", true), ("4.22.0", false), ("4.19.1", false)] {
            let mut world = World::hosted_ready();
            if hub_has == "4.20.3" {
                world.fixed.insert("/release".into());
            }
            world.spec["version"] = json!("4.20.9");
            world.settle();
            refuse(&mut world);
            world.settle();
            let on_the_hub = world.remote.as_ref().unwrap()["spec"]["release"]["image"].clone();
            assert_eq!(on_the_hub, format!("quay.io/x:{hub_has}-x86_64"));
            assert_eq!(
                images(&world, &["workers"]),
                ["4.20.9", "4.20.3"],
                "it is asked for as long as it is meant"
            );
            world.spec["version"] = json!(next);
            world.fixed.clear();
            world.settle();
            let asked = if there { next } else { "4.20.9" };
            assert_eq!(
                images(&world, &["workers"]),
                [asked, "4.20.3"],
                "{next} after one that the hub has at {hub_has}"
            );
            if there {
                world.hypershift_installs();
                world.settle();
                world.hypershift_scales();
                world.settle();
                assert_eq!(images(&world, &["workers"]), [next, next]);
                assert_eq!(level(&world, "SpecApplied"), is("True", "UpToDate"));
            } else {
                assert_eq!(level(&world, "SpecApplied"), is("False", "Rejected"));
            }
            assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
        }
    }
}

/// The last accepted release is no way back where the record of its groups cannot be read: nodes that the template no longer has would go.
#[test]
fn withdrawn_release_keeps_every_node() {
    let mut world = World::hosted_ready();
    world.fixed.insert("/release".into());
    world.spec["version"] = json!("4.20.9");
    world.settle();
    let notes = &mut world.objects.get_mut("cluster").unwrap().object["metadata"]["annotations"];
    let mut taken: Value = serde_json::from_str(notes[ours::LAST_ACCEPTED].as_str().unwrap()).unwrap();
    taken["nodeGroups"] = json!("workers");
    notes[ours::LAST_ACCEPTED] = taken.to_string().into();
    world.catalogue_entry("hosted")["defaultNodeGroups"][0]["name"] = json!("others");
    world.spec["version"] = json!("4.20.3");
    world.fixed.clear();
    world.settle();
    assert_eq!(images(&world, &["workers"]), ["4.20.3", "4.20.3"]);
    assert!(!world.objects.contains_key("pool-others"));
}

/// The hub refuses the release of the other template, or HyperShift refuses its image.
#[test]
fn refused_move_can_be_withdrawn_or_repaired() {
    for by_the_hub in [false, true] {
        let refused = || {
            let mut world = World::hosted_ready();
            if by_the_hub {
                world.fixed.insert("/release".into());
            }
            world.spec["template"] = json!("hosted-next");
            world.settle();
            if !by_the_hub {
                world.hypershift_rejects_the_image();
                world.settle();
            }
            assert_eq!(images(&world, &["workers"]), ["4.21.3", "4.20.3"]);
            world
        };
        let there = |world: &mut World, all: &str| {
            world.fixed.clear();
            world.settle();
            world.hypershift_installs();
            world.settle();
            world.hypershift_scales();
            world.settle();
            assert_eq!(images(world, &["workers"]), [all, all]);
            assert_eq!(level(world, "SpecApplied"), is("True", "UpToDate"));
            let notes = &world.objects["cluster"].object["metadata"]["annotations"];
            assert!(notes[ours::LAST_ACCEPTED].is_null(), "{notes}");
            assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
        };
        let mut world = refused();
        world.catalogue_entry("hosted")["enabled"] = json!(false);
        world.drop_status();
        world.spec["template"] = json!("hosted");
        world.settle();
        assert_eq!(images(&world, &["workers"]), ["4.20.3", "4.20.3"], "by the hub: {by_the_hub}");
        assert_eq!(world.status["effective"]["template"], "hosted");
        there(&mut world, "4.20.3");
        let mut world = refused();
        world.catalogue_entry("hosted-next")["image"] = json!("quay.io/x:4.21.3-multi");
        world.settle();
        assert_eq!(images(&world, &[]), ["4.21.3-multi"]);
        there(&mut world, "4.21.3-multi");
        // Once it is there, there is no way back.
        world.spec["template"] = json!("hosted");
        world.settle();
        assert_eq!(level(&world, "SpecApplied"), is("False", "Immutable"));
        assert_eq!(images(&world, &["workers"]), ["4.21.3-multi", "4.21.3-multi"]);
    }
}

/// A condition about another release, the network, or a change under way says nothing of the requested release.
#[test]
fn a_release_that_may_still_be_begun_with_is_waited_for() {
    let blip = |w: &mut World| {
        w.hypershift_rejects_the_image();
        let conditions = w.remote.as_mut().unwrap()["status"]["conditions"].as_array_mut().unwrap();
        for condition in conditions {
            condition["message"] = json!("Get https://quay.io/v2/: i/o timeout");
        }
    };
    let of_before = |w: &mut World| {
        w.hypershift_rejects_the_image();
        let generation = w.remote.as_ref().unwrap()["metadata"]["generation"].as_i64().unwrap();
        w.remote.as_mut().unwrap()["metadata"]["generation"] = json!(generation + 1);
    };
    let something_else = |w: &mut World| {
        w.fixed.insert("/channel".into());
        w.spec["parameters"] = json!({ "channel": "fast" });
        w.settle();
    };
    let begun = |w: &mut World| {
        w.hypershift_rolls_out("Partial");
        w.hypershift_rejects_the_image();
    };
    for happen in [blip as fn(&mut World), of_before, something_else, begun] {
        let mut world = World::hosted_ready();
        world.spec["version"] = json!("4.20.9");
        world.settle();
        happen(&mut world);
        world.settle();
        for next in ["4.21.0", "4.20.3"] {
            world.spec["version"] = json!(next);
            world.settle();
            assert_eq!(images(&world, &["workers"]), ["4.20.9", "4.20.3"], "{next}");
        }
    }
}

#[test]
fn groups_come_and_go_and_change() {
    let mut world = World::hosted_ready();
    world.spec["nodeGroups"] = json!([
        group("workers", &json!({ "count": 3 })),
        { "name": "more", "class": "large", "autoscale": { "min": 1, "max": 2 } },
    ]);
    world.settle();
    assert_eq!(world.requested_pool("workers")["spec"]["replicas"], 3);
    assert_eq!(world.requested_pool("more")["spec"]["autoScaling"]["max"], 2);
    assert_eq!(level(&world, "NodesReady"), is("False", "NotEnough"));
    world.hypershift_scales();
    world.settle();
    assert_eq!(level(&world, "SpecApplied"), is("True", "UpToDate"));
    world.spec["nodeGroups"] = json!([{ "name": "more", "class": "small", "count": 1 }]);
    world.settle();
    assert!(
        !world.objects.contains_key("pool-workers") && world.node_pools.len() == 1,
        "{:?}",
        world.node_pools
    );
    let pool = &world.requested_pool("more")["spec"];
    assert_eq!((&pool["replicas"], &pool["autoScaling"]), (&json!(1), &json!(null)));
    assert_eq!(pool["platform"]["kubevirt"]["compute"]["cores"], 4);
}

/// Unset fields keep their values, and a changed catalogue affects new clusters alone.
#[test]
fn a_catalogue_that_changes_changes_no_cluster() {
    for change in [
        |w: &mut World| w.templates.clear(),
        |w: &mut World| {
            w.catalogue_entry("hosted")["backendRef"]["hostedCluster"] =
                json!({ "pullSecret": { "name": "x" } });
        },
        |w: &mut World| {
            w.catalogue_entry("hosted")["allowedNodeClasses"]["small"]["machine"]["kubevirt"]["cores"] =
                json!(9);
        },
        |w: &mut World| w.catalogue_entry("hosted")["defaultNodeGroups"] = json!([]),
        |w: &mut World| {
            w.catalogue_entry("hosted")["releases"] =
                json!([{ "version": "4.21.0", "image": "quay.io/x:4.21.0-x86_64" }]);
        },
        |w: &mut World| of_the_entry(w, "two"),
        |w: &mut World| w.environment = None,
        |w: &mut World| w.hubs = None,
    ] {
        for labelled in [false, true] {
            let mut world = World::hypershift_claim();
            if labelled {
                of_the_entry(&mut world, "one");
            }
            world.hypershift_makes_it();
            let before = [asked(&world)["spec"].clone(), world.requested_pool("workers").clone()];
            change(&mut world);
            world.settle();
            assert_eq!([asked(&world)["spec"].clone(), world.requested_pool("workers").clone()], before);
            assert_eq!(world.phase(), "Ready");
        }
    }
}

/// Labels and taints that nodes of new clusters have.
fn of_the_entry(world: &mut World, text: &str) {
    world.catalogue_entry("hosted")["backendRef"]["nodePool"] = json!({
        "nodeLabels": { "of": text, "team": "x-{name}" },
        "taints": [{ "key": "of", "value": text, "effect": "NoSchedule" }],
    });
}

/// Those of the claim change, and nothing else of them.
#[test]
fn labels_and_taints_of_a_group_can_change() {
    for noted in [true, false] {
        let mut world = World::hypershift_claim();
        of_the_entry(&mut world, "one");
        let own = json!({ "labels": { "a": "b", "of": "me" }, "taints": [{ "key": "k", "effect": "NoSchedule" }], "count": 2 });
        world.spec["nodeGroups"] = json!([group("workers", &own)]);
        world.hypershift_makes_it();
        let of_entry = json!({ "key": "of", "value": "one", "effect": "NoSchedule" });
        let of_group = json!({ "key": "k", "effect": "NoSchedule" });
        let pool = |world: &World| {
            let spec = &world.requested_pool("workers")["spec"];
            (spec["nodeLabels"].clone(), spec["taints"].clone())
        };
        let team = format!("x-{NAME}");
        let born = (json!({ "a": "b", "of": "me", "team": team }), json!([of_entry, of_group]));
        assert_eq!(pool(&world), born);
        if !noted {
            // As versions before this one left it: nothing is noted, and nothing was filled in.
            let object = &mut world.objects.get_mut("pool-workers").unwrap().object;
            object["metadata"]["annotations"].as_object_mut().unwrap().remove(ours::NODE_BASE);
            object["spec"]["forProvider"]["manifest"]["spec"]["nodeLabels"]["team"] = json!("x-{name}");
            world.settle();
            assert_eq!(pool(&world), (json!({ "a": "b", "of": "me", "team": "x-{name}" }), born.1));
        }
        of_the_entry(&mut world, "two");
        world.spec["nodeGroups"] = json!([group("workers", &json!({ "count": 2 }))]);
        world.settle();
        let mut labels = json!({ "of": "one", "team": team });
        if !noted {
            // Nobody knows the group's earlier value any more.
            labels = json!({ "team": "x-{name}" });
        }
        assert_eq!(pool(&world), (labels, json!([of_entry])));
    }
}

/// The record of a group cannot be read: its class, while the catalogue's class differs by now, or its values from
/// the catalogue.
#[test]
fn nodes_with_lost_records_stay() {
    for (lost, damaged) in [(ours::NODE_CLASS, None), (ours::NODE_BASE, Some("{"))] {
        let mut world = World::hypershift_claim();
        world.catalogue_entry("hosted")["backendRef"]["nodePool"] = json!({
            "nodeLabels": { "of": "one" }, "taints": [{ "key": "of", "value": "one", "effect": "NoSchedule" }],
        });
        world.hypershift_makes_it();
        let notes = |world: &World| world.objects["pool-workers"].object["metadata"]["annotations"].clone();
        let before = (world.requested_pool("workers").clone(), notes(&world));
        world.catalogue_entry("hosted")["allowedNodeClasses"]["small"]["machine"]["kubevirt"]["cores"] =
            json!(9);
        let object = &mut world.objects.get_mut("pool-workers").unwrap().object;
        let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.remove(lost).unwrap();
        annotations.extend(damaged.map(|text| (lost.to_owned(), json!(text))));
        world.settle();
        assert_eq!(world.requested_pool("workers"), &before.0, "{lost} {damaged:?}");
        assert_eq!(notes(&world), before.1, "{lost} {damaged:?}");
        world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "large", "count": 2 }]);
        world.settle();
        let cores = &world.requested_pool("workers")["spec"]["platform"]["kubevirt"]["compute"]["cores"];
        assert_eq!(cores, 16, "{lost} {damaged:?}: what is asked for anew");
    }
}

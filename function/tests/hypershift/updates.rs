//! What changes of a cluster that is there.

use function_model::world::World;
use serde_json::json;

use crate::{asked, group, is, level};

fn images(world: &World) -> [String; 3] {
    let image = |spec: &serde_json::Value| spec["release"]["image"].as_str().unwrap().to_owned();
    let [a, b] = ["a", "b"].map(|g| image(&world.asked_pool(g)["spec"]));
    [image(&asked(world)["spec"]), a, b].map(|i| i.replace("quay.io/x:", "").replace("-x86_64", ""))
}

#[test]
fn an_upgrade_goes_to_the_cluster_first_and_then_to_one_group_after_the_other() {
    let mut world = World::hosted();
    world.spec["nodeGroups"] =
        json!([group("b", &json!({ "count": 1 })), group("a", &json!({ "count": 1 }))]);
    world.settle();
    world.hypershift_installs();
    world.hypershift_publishes();
    world.settle();
    world.spec["version"] = json!("4.20.9");
    world.settle();
    assert_eq!(images(&world), ["4.20.9", "4.20.3", "4.20.3"]);
    assert_eq!(level(&world, "SpecApplied"), is("False", "Applying"));
    world.hypershift_rolls_out("Partial");
    world.settle();
    assert_eq!(images(&world), ["4.20.9", "4.20.3", "4.20.3"]);
    assert_eq!(
        (&world.status["version"], &world.status["versionDesired"]),
        (&json!("4.20.3"), &json!("4.20.9"))
    );
    assert_eq!(world.phase(), "Ready");
    // The next one waits.
    world.spec["version"] = json!("4.21.0");
    world.settle();
    assert_eq!(images(&world)[0], "4.20.9");
    assert_eq!(level(&world, "SpecApplied"), is("False", "Queued"));
    world.hypershift_rolls_out("Completed");
    world.settle();
    assert_eq!(images(&world), ["4.21.0", "4.20.3", "4.20.3"]);
    world.hypershift_rolls_out("Completed");
    world.provider();
    world.pass();
    assert_eq!(images(&world), ["4.21.0", "4.21.0", "4.20.3"], "one at a time");
    world.provider();
    let pool = world
        .node_pools
        .values_mut()
        .find(|p| p["metadata"]["name"].as_str().unwrap().ends_with("-a"))
        .unwrap();
    pool["status"]["conditions"] =
        json!([{ "type": "UpdatingVersion", "status": "True", "reason": "AsExpected" }]);
    world.settle();
    assert_eq!(images(&world), ["4.21.0", "4.21.0", "4.20.3"], "one at a time");
    world.hypershift_scales();
    world.settle();
    assert_eq!(images(&world), ["4.21.0", "4.21.0", "4.21.0"]);
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

#[test]
fn groups_come_and_go_and_change() {
    let mut world = World::hosted_ready();
    world.spec["nodeGroups"] = json!([
        group("workers", &json!({ "count": 3 })),
        { "name": "more", "class": "large", "autoscale": { "min": 1, "max": 2 } },
    ]);
    world.settle();
    assert_eq!(world.asked_pool("workers")["spec"]["replicas"], 3);
    assert_eq!(world.asked_pool("more")["spec"]["autoScaling"]["max"], 2);
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
    let pool = &world.asked_pool("more")["spec"];
    assert_eq!((&pool["replicas"], &pool["autoScaling"]), (&json!(1), &json!(null)));
    assert_eq!(pool["platform"]["kubevirt"]["compute"]["cores"], 4);
}

/// What is not said keeps its value, and what the catalogue says otherwise by now is for new clusters.
#[test]
fn a_catalogue_that_changes_changes_no_cluster() {
    for change in [
        |w: &mut World| w.templates.clear(),
        |w: &mut World| {
            w.entry("hosted")["backendRef"]["hostedCluster"] = json!({ "pullSecret": { "name": "x" } });
        },
        |w: &mut World| {
            w.entry("hosted")["allowedNodeClasses"]["small"]["machine"]["kubevirt"]["cores"] = json!(9);
        },
        |w: &mut World| w.entry("hosted")["defaultNodeGroups"] = json!([]),
        |w: &mut World| {
            w.entry("hosted")["releases"] =
                json!([{ "version": "4.21.0", "image": "quay.io/x:4.21.0-x86_64" }]);
        },
        |w: &mut World| w.environment = None,
        |w: &mut World| w.hubs = None,
    ] {
        let mut world = World::hosted_ready();
        let before = [asked(&world)["spec"].clone(), world.asked_pool("workers").clone()];
        change(&mut world);
        world.settle();
        assert_eq!([asked(&world)["spec"].clone(), world.asked_pool("workers").clone()], before);
        assert_eq!(world.phase(), "Ready");
    }
}

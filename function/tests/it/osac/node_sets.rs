//! OSAC since September 2026: a group of nodes is a node set with an instance type, and the order itself tells of its machines.

use function_model::world::{NAME, World};
use serde_json::json;

use crate::osac::{asked, is, noted};

fn groups(world: &mut World, groups: &[(&str, &str, u32)]) {
    let group =
        |(name, class, count): &(&str, &str, u32)| json!({ "name": name, "class": class, "count": count });
    world.spec["nodeGroups"] = groups.iter().map(group).collect();
}

#[test]
fn each_group_is_a_node_set() {
    let mut world = World::order_of_sets();
    groups(&mut world, &[("b", "metal", 1), ("a", "metal", 2), ("l", "large", 4)]);
    world.pass();
    assert_eq!(
        asked(&world)["spec"]["nodeRequests"],
        json!([
            { "nodeSet": "a", "numberOfNodes": 2, "bareMetal": { "instanceType": "bm-standard" } },
            { "nodeSet": "b", "numberOfNodes": 1, "bareMetal": { "instanceType": "bm-standard" } },
            { "nodeSet": "l", "numberOfNodes": 4, "bareMetal": { "instanceType": "bm-large" } },
        ])
    );
    let note = "{\"large\":{\"instanceType\":\"bm-large\"},\"metal\":{\"instanceType\":\"bm-standard\"}}";
    assert_eq!(noted(&world, "node-classes"), note);
    // The order reports its machines, so no NodePool is looked at.
    world.settle();
    world.osac_makes();
    world.settle();
    assert!(!world.objects.keys().any(|name| name.starts_with("pool-")), "{:?}", world.objects.keys());
    assert_eq!(world.condition("NodesReady"), is("True", "AllReady"));
    assert_eq!((&world.status["nodes"]["desired"], &world.status["nodes"]["ready"]), (&json!(7), &json!(7)));
    assert_eq!(
        world.status["nodes"]["pools"][2],
        json!({ "name": "l", "class": "large", "desired": 4, "ready": 4 })
    );
}

/// Its automation numbers NodePools by the place of their request: a request that moves is made again beside the old one.
#[test]
fn a_request_keeps_its_place() {
    for mut world in [World::order_of_sets_ready(), World::order_ready()] {
        groups(&mut world, &[("workers", "metal", 2), ("a", "large", 1)]);
        world.settle();
        let before = asked(&world)["spec"]["nodeRequests"].clone();
        let names = |requests: &serde_json::Value| -> Vec<String> {
            let name = |r: &serde_json::Value| {
                r["nodeSet"].as_str().or(r["resourceClass"].as_str()).unwrap().to_owned()
            };
            requests.as_array().unwrap().iter().map(name).collect()
        };
        let expected = if before[0]["nodeSet"].is_string() { ["workers", "a"] } else { ["fc430", "fc640"] };
        assert_eq!(names(&before), expected);
        groups(&mut world, &[("a", "large", 3), ("workers", "metal", 5)]);
        world.settle();
        let after = &asked(&world)["spec"]["nodeRequests"];
        assert_eq!(names(after), expected);
        assert_eq!((&after[0]["numberOfNodes"], &after[1]["numberOfNodes"]), (&json!(5), &json!(3)));
    }
}

#[test]
fn a_node_set_before_another_cannot_be_removed() {
    let mut world = World::order_of_sets_ready();
    let all = [("workers", "metal", 2), ("a", "large", 1), ("b", "metal", 1)];
    groups(&mut world, &all);
    world.settle();
    let before = asked(&world)["spec"]["nodeRequests"].clone();
    for left in [vec![all[0], all[2]], vec![all[1]], vec![("c", "large", 1), all[2]]] {
        groups(&mut world, &left);
        world.settle();
        assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"), "{left:?}");
        let message = world.condition_message("SpecApplied");
        assert!(message.contains("spec.nodeGroups must keep group"), "{message}");
        assert_eq!(asked(&world)["spec"]["nodeRequests"], before, "{left:?}");
    }
    // The last ones go, and another one takes their place.
    groups(&mut world, &[("c", "large", 1), all[0], all[1]]);
    world.settle();
    assert_eq!(asked(&world)["spec"]["nodeRequests"][2]["nodeSet"], "c");
    groups(&mut world, &all[..1]);
    world.settle();
    assert_eq!(asked(&world)["spec"]["nodeRequests"].as_array().unwrap().len(), 1);
}

#[test]
fn machines_that_come_later_are_waited_for() {
    let mut world = World::order_of_sets();
    world.settle();
    world.osac_makes();
    let machine = |name: &str, phase: &str| json!({ "name": name, "nodeSet": "workers", "kind": "BareMetalInstance", "phase": phase });
    let failed = json!({
        "name": "w-1", "nodeSet": "workers", "kind": "BareMetalInstance", "phase": "Failed",
        "lastFailureReason": "AgentRegistrationTimeout", "lastFailureMessage": "no agent registered within 30m",
    });
    let workers = |world: &mut World, workers: serde_json::Value| {
        world.remote.as_mut().unwrap()["status"]["workers"] = workers;
        world.settle();
    };
    workers(&mut world, json!([machine("w-0", "Ready"), machine("w-1", "WaitingForAgent")]));
    assert_eq!(world.condition("NodesReady"), is("False", "Waiting"));
    assert_eq!(world.phase(), "Provisioning");
    assert!(world.condition_message("NodesReady").contains("node group workers: 1 of 2 nodes are ready"));
    workers(&mut world, json!([machine("w-0", "Ready"), failed]));
    let told = &world.status["lastError"];
    assert_eq!(told["reason"], "AgentRegistrationTimeout", "{told}");
    assert_eq!(told["message"], "a machine of node set workers failed: no agent registered within 30m");
    assert_eq!(world.phase(), "Provisioning", "OSAC tries it again");
    workers(&mut world, json!([machine("w-0", "Ready"), machine("w-1", "Ready")]));
    world.publish_credentials();
    world.settle();
    assert_eq!(world.phase(), "Ready");

    // A third one is asked for, and is not there before the order has a place for it.
    groups(&mut world, &[("workers", "metal", 3)]);
    world.settle();
    world.report_osac("Ready", &[]);
    world.osac_job("job-more", "provision", "Succeeded", "");
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("False", "Applying"));
    workers(&mut world, json!([machine("w-0", "Ready"), machine("w-1", "Ready"), machine("w-2", "Binding")]));
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
    assert_eq!(
        (world.condition("NodesReady"), world.phase()),
        (is("False", "NotEnough"), "Ready".to_owned())
    );
}

/// A class says how the hub's OSAC calls it: a catalogue that says it otherwise changes no cluster.
#[test]
fn a_cluster_keeps_the_words_of_its_osac() {
    for (mut world, other) in [
        (World::order_of_sets_ready(), json!({ "resourceClass": "fc430" })),
        (World::order_ready(), json!({ "instanceType": "bm-standard" })),
    ] {
        let before = asked(&world)["spec"]["nodeRequests"].clone();
        let entry = world.spec["template"].as_str().unwrap().to_owned();
        world.catalogue_entry(&entry)["allowedNodeClasses"]["metal"]["machine"] = other;
        world.settle();
        assert_eq!(asked(&world)["spec"]["nodeRequests"], before);
        assert_eq!(world.phase(), "Ready");
    }
}

#[test]
fn a_class_says_one_of_both() {
    for machine in [
        json!({ "resourceClass": "fc430", "instanceType": "bm-standard" }),
        json!({}),
        json!({ "instanceType": "" }),
        json!({ "flavor": "x" }),
    ] {
        let mut world = World::order_of_sets();
        world.catalogue_entry("order-sets")["allowedNodeClasses"]["metal"]["machine"] = machine.clone();
        world.settle();
        assert_eq!(world.condition("RequestAccepted").0, "False", "{machine}");
        assert!(
            world.refusal_message().contains("allowedNodeClasses.metal.machine"),
            "{machine}: {}",
            world.refusal_message()
        );
    }
}

fn observed_pools(world: &World) -> Vec<String> {
    let pools = world.objects.iter().filter(|(name, _)| name.starts_with("pool-"));
    let name = |object: &serde_json::Value| {
        object["spec"]["forProvider"]["manifest"]["metadata"]["name"].as_str().unwrap().to_owned()
    };
    pools.map(|(_, composed)| name(&composed.object)).collect()
}

/// Since late August 2026 the automation also numbers the NodePools of resource classes.
#[test]
fn numbered_node_pools_of_classes_are_found_and_waited_for() {
    let mut world = World { numbers_classes: true, ..World::osac_claim() };
    groups(&mut world, &[("workers", "metal", 2), ("big", "large", 1)]);
    world.settle();
    world.osac_makes();
    let second = format!("nodepool-{NAME}-fc640-1");
    world.node_pools.get_mut(&second).unwrap()["status"]["replicas"] = json!(0);
    world.publish_credentials();
    let mut phases = vec![];
    for _ in 0..8 {
        world.pass();
        phases.push(world.phase());
        world.reconcile_objects();
    }
    assert!(phases.iter().all(|phase| phase != "Ready"), "ready without its nodes: {phases:?}");
    assert_eq!(observed_pools(&world), [second.clone(), format!("nodepool-{NAME}-fc430-0")]);
    assert_eq!(world.condition("NodesReady"), is("False", "Waiting"));
    world.osac_serves();
    world.settle();
    assert_eq!(world.phase(), "Ready");
    assert_eq!((&world.status["nodes"]["desired"], &world.status["nodes"]["ready"]), (&json!(3), &json!(3)));
    // It is settled: no name is tried again.
    world.advance_time(jiff::SignedDuration::from_mins(30));
    world.settle();
    assert_eq!(observed_pools(&world), [second, format!("nodepool-{NAME}-fc430-0")]);
}

#[test]
fn node_pools_without_a_number_are_found_although_they_are_late() {
    let mut world = World::osac_claim();
    groups(&mut world, &[("workers", "metal", 2)]);
    world.settle();
    world.osac_makes();
    let late = std::mem::take(&mut world.node_pools);
    world.settle();
    assert_eq!(observed_pools(&world), [format!("nodepool-{NAME}-fc430-0")]);
    world.advance_time(jiff::SignedDuration::from_mins(4));
    world.settle();
    assert_eq!(observed_pools(&world), [format!("nodepool-{NAME}-fc430-0")], "it may be late as well");
    world.node_pools = late;
    world.advance_time(jiff::SignedDuration::from_mins(2));
    world.settle();
    assert_eq!(observed_pools(&world), [format!("nodepool-{NAME}-fc430")]);
    world.osac_serves();
    world.publish_credentials();
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

/// Whichever name is looked for, the answer settles, and it changes seldom.
#[test]
fn node_pools_under_neither_name_are_looked_for_in_turns() {
    let mut world = World::osac_claim();
    groups(&mut world, &[("workers", "metal", 2)]);
    world.settle();
    world.osac_makes();
    world.node_pools.clear();
    let mut names = vec![];
    for _ in 0..120 {
        world.advance_time(jiff::SignedDuration::from_mins(1));
        world.settle();
        names.push(observed_pools(&world));
    }
    let changes = names.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!((20..=24).contains(&changes), "{changes} changes in two hours");
    let plain = names.iter().filter(|names| names[0] == format!("nodepool-{NAME}-fc430")).count();
    assert!((50..=65).contains(&plain), "{plain} of 120 minutes");
}

#[test]
fn numbered_node_pools_are_looked_for_at_once_at_any_time() {
    for minute in 0..30 {
        let mut world = World { numbers_classes: true, ..World::osac_claim() };
        groups(&mut world, &[("workers", "metal", 2)]);
        world.settle();
        world.advance_time(jiff::SignedDuration::from_mins(minute));
        world.osac_makes();
        world.publish_credentials();
        world.settle();
        assert_eq!(world.phase(), "Ready", "completed {minute} minutes later: {:#?}", world.conditions);
    }
}

#[test]
fn a_class_before_another_can_be_removed_only_where_it_has_no_number() {
    for numbers_classes in [false, true] {
        let mut world = World { numbers_classes, ..World::osac_claim() };
        let all = [("workers", "metal", 2), ("more", "metal", 1), ("big", "large", 1)];
        groups(&mut world, &all);
        world.settle();
        world.osac_makes();
        world.publish_credentials();
        world.settle();
        assert_eq!(world.phase(), "Ready", "{:#?}", world.conditions);
        let before = asked(&world)["spec"]["nodeRequests"].clone();
        groups(&mut world, &all[2..]);
        world.settle();
        let after = asked(&world)["spec"]["nodeRequests"].clone();
        if numbers_classes {
            assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
            let message = world.condition_message("SpecApplied");
            assert!(message.contains("spec.nodeGroups must keep group workers"), "{message}");
            assert_eq!(after, before);
        } else {
            assert_eq!(after.as_array().unwrap().len(), 1);
        }
        // One group of the class stays, and so does its request.
        groups(&mut world, &all[1..]);
        world.settle();
        let after = &asked(&world)["spec"]["nodeRequests"];
        assert_eq!(after.as_array().unwrap().len(), 2, "{after}");
    }
}

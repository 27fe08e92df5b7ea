//! Promises for clusters by template, whichever backend makes them.

use function_model::{
    hypershift::hub_for,
    world::{World, set_synced},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use testplatform_apis::{duration::GoDuration, names::ours};

use crate::templates::is;

/// A backend, as the tests know it.
#[derive(Clone, Copy)]
pub(crate) struct Made {
    /// Its name in the catalogue.
    pub(crate) backend: &'static str,
    /// The composed resource that writes its remote object.
    pub(crate) writer: &'static str,
    /// A claim for one of its clusters.
    pub(crate) asked: fn() -> World,
    /// The same, ready.
    pub(crate) ready: fn() -> World,
}

pub(crate) const BACKENDS: [Made; 4] = [
    Made {
        backend: "hypershift",
        writer: "cluster",
        asked: World::hypershift_claim,
        ready: World::hosted_ready,
    },
    Made {
        backend: "cluster-api",
        writer: "topology",
        asked: World::cluster_api_claim,
        ready: World::topology_ready,
    },
    Made {
        backend: "caas",
        writer: "instance",
        asked: World::chart_observed,
        ready: World::chart_observed_ready,
    },
    Made { backend: "osac", writer: "order", asked: World::osac_claim, ready: World::order_ready },
];

/// Everything in the catalogue is another one by now.
fn catalogue_moves_on(world: &mut World) {
    for entry in &mut world.templates {
        let base = &mut entry["data"]["backendRef"];
        for (member, pointer) in [
            ("clusterTemplate", ""),
            ("templateID", ""),
            ("classRef", "/name"),
            ("hostedCluster", "/pullSecret/name"),
        ] {
            if let Some(part) = base.get_mut(member).and_then(|part| part.pointer_mut(pointer)) {
                *part = json!("other");
            }
        }
        let classes = entry["data"]["allowedNodeClasses"].as_object_mut();
        for class in classes.into_iter().flatten().map(|(_, class)| &mut class["machine"]) {
            if let Some(of_osac) = class.get_mut("resourceClass") {
                *of_osac = json!("fc999");
            }
        }
    }
}

/// Nothing but the credentials remembers where it is, and the catalogue has moved on: the cluster is found as it is, nothing of it
/// changes, and it ends when that is asked for.
#[test]
fn lost_primary_object_is_recreated_and_finds_the_cluster() {
    for Made { backend, writer, ready, .. } in BACKENDS {
        let mut world = ready();
        let spec = |world: &World| world.remote.as_ref().unwrap()["spec"].clone();
        let asked =
            |world: &World| world.objects[writer].object["spec"]["forProvider"]["manifest"]["spec"].clone();
        let (before, asked_before) = (spec(&world), asked(&world));
        world.drop_status();
        world.objects.remove(writer);
        world.refs.remove(writer);
        world.hubs = Some(vec![hub_for(backend, "hub-0")]);
        catalogue_moves_on(&mut world);
        world.remote.as_mut().unwrap()["spec"]["others"] = json!("theirs");
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Ready", 1), "{backend}");
        assert_eq!(world.status["hub"]["name"], "hub-1", "{backend}");
        let mut after = spec(&world);
        after.as_object_mut().unwrap().remove("others");
        assert_eq!(after, before, "{backend}");
        if backend == "cluster-api" || backend == "osac" {
            assert_eq!(asked(&world), asked_before, "{backend}: what others wrote stays theirs");
        }
        world.spec["tearDownCluster"] = json!(true);
        world.settle();
        world.hive_is_done();
        world.hosted = None;
        world.settle();
        assert_eq!(world.phase(), "Deprovisioned", "{backend}");
    }
}

/// Somebody deleted both Objects that tell where it is, and a restore dropped status: what is beside them stays as it is, on its hub, whether or
/// not the catalogue tells what makes such clusters.
#[test]
fn remaining_objects_stay_after_primary_and_credentials_are_lost() {
    for Made { backend, writer, ready, .. } in BACKENDS {
        for (known, served) in [(true, true), (true, false), (false, true), (false, false)] {
            let at = format!("{backend}, catalogue: {known}, served: {served}");
            let mut world = ready();
            let beside = |world: &World| -> Vec<(String, Value)> {
                let objects = world.objects.iter();
                let beside = objects.filter(|(name, _)| *name == "hosted" || name.starts_with("pool-"));
                beside
                    .map(|(name, o)| (name.clone(), json!([o.object["metadata"]["name"], o.object["spec"]])))
                    .collect()
            };
            let before = beside(&world);
            if before.is_empty() && !served {
                // Nothing at all would remember it.
                continue;
            }
            world.drop_status();
            for lost in [writer, "credentials"] {
                world.objects.remove(lost);
                world.refs.remove(lost);
            }
            if !known {
                world.templates = vec![];
            }
            if !served {
                // It was being made.
                world.details.clear();
            }
            world.hubs = Some(vec![hub_for(backend, "hub-0")]);
            for torn_down in [false, true] {
                world.spec["tearDownCluster"] = json!(torn_down);
                world.settle();
                assert_eq!(beside(&world), before, "{at}, torn down: {torn_down}");
                assert_eq!(world.made, 1, "{at}, torn down: {torn_down}");
                if known {
                    let said = world.status["message"].as_str().unwrap_or_default();
                    assert!(
                        said.contains("no record is left of the hub that the cluster is on"),
                        "{at}: {said}"
                    );
                }
            }
        }
    }
}

#[test]
fn vanished_cluster_is_not_recreated() {
    for Made { backend, ready, .. } in BACKENDS {
        let mut world = ready();
        world.remote = None;
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 1), "{backend}");
        assert_eq!(world.condition("RemoteConsistent"), is("False", "RemoteDeleted"), "{backend}");
        assert!(world.node_pools.is_empty() || backend == "osac", "{backend}: nodes of nothing");
    }
}

#[test]
fn foreign_remote_object_is_not_taken_over() {
    for Made { backend, writer, asked, .. } in BACKENDS {
        let mut world = asked();
        world.pass();
        assert_eq!(
            world.management_policies(),
            json!(["Observe", "Create", "Delete"]),
            "{backend}: Update writes over what is there"
        );
        let mut theirs = world.objects[writer].object["spec"]["forProvider"]["manifest"].clone();
        theirs["metadata"]["uid"] = json!("somebody-elses");
        theirs["metadata"]["annotations"] = json!({});
        theirs["spec"] = json!({ "of": "theirs" });
        theirs["status"] = json!({ "phase": "Ready" });
        world.remote = Some(theirs.clone());
        world.settle();
        assert_eq!(world.remote, Some(theirs), "{backend}");
        assert_eq!(world.phase(), "Failed", "{backend}");
        assert_eq!(world.condition("RemoteConsistent"), is("False", "RemoteReplaced"), "{backend}");
        assert_eq!(world.management_policies(), json!(["Observe"]), "{backend}");
        assert!(world.status["backend"]["uid"].is_null(), "{backend}");
        let behind = |name: &&String| *name == "hosted" || name.starts_with("pool-");
        assert!(world.objects.keys().find(behind).is_none(), "{backend}: what is theirs is not looked at");
    }
}

/// An unreadable record counts as none. The primary Object's kind decides the backend.
#[test]
fn cluster_survives_lost_records() {
    for Made { backend, writer, ready, .. } in BACKENDS {
        let mut world = ready();
        let before = world.objects[writer].object["spec"]["forProvider"]["manifest"]["spec"].clone();
        world.templates.clear();
        world.drop_status();
        for name in [writer, "credentials"] {
            let annotations = &mut world.objects.get_mut(name).unwrap().object["metadata"]["annotations"];
            annotations[ours::EFFECTIVE] = json!("{\"timeouts\":{\"provision\":\"1h0m\\u0000s\"}}");
        }
        world.pass();
        assert_eq!(world.phase(), "Ready", "{backend}");
        assert_eq!(
            world.objects[writer].object["spec"]["forProvider"]["manifest"]["spec"], before,
            "{backend}"
        );
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Ready", 1), "{backend}");
        world.spec["tearDownCluster"] = json!(true);
        world.settle();
        assert!(
            world.remote.as_ref().is_none_or(|r| r["metadata"]["deletionTimestamp"].is_string()),
            "{backend}"
        );
    }
}

#[test]
fn a_hub_that_makes_no_such_clusters_is_not_chosen() {
    for Made { backend, asked, .. } in BACKENDS {
        let mut world = asked();
        let other = if backend == "hypershift" { "osac" } else { "hypershift" };
        world.hubs = Some(vec![hub_for(other, "hub-1")]);
        world.settle();
        assert_eq!(world.phase(), "Pending", "{backend}");
        let why = format!("it creates no clusters with {backend}");
        assert!(world.refusal_message().contains(&why), "{}", world.refusal_message());
    }
}

/// The hub was given up, the entry is gone, and then status too: nobody knows the backend of the cluster. Existing objects stay as they are, and
/// continue once the entry is back.
#[test]
fn credentials_outlive_all_knowledge_of_the_backend() {
    for Made { backend, writer, asked, .. } in BACKENDS {
        let mut world = asked();
        let templates = world.templates.clone();
        world.reachable = false;
        world.pass();
        world.reconcile_objects();
        world.templates.clear();
        world.advance_time(SignedDuration::from_mins(6));
        world.reconcile_objects();
        world.pass();
        assert!(!world.objects.contains_key(writer), "{backend}: the hub is given up");
        world.drop_status();
        world.pass();
        assert!(world.objects.contains_key("credentials"), "{backend}");
        assert_eq!(world.phase(), "Pending", "{backend}");
        world.templates = templates;
        world.hubs = Some(vec![hub_for(backend, "hub-2")]);
        world.reachable = true;
        world.settle();
        assert_eq!(world.made, 1, "{backend}: all goes on");
    }
}

/// Of a template's cluster everything on the hub is written by the entry and by this version. An older or newer hub that does not know a field of that
/// ends no claim: its owner could take nothing out.
#[test]
fn unknown_platform_field_is_the_administrators_problem() {
    let path = "spec.platform.newer";
    for made in BACKENDS {
        let mut world = (made.asked)();
        world.refuses = Some(format!(
            "failed to create typed patch object (ns/x; a/v1, Kind=B): .{path}: field not declared in schema"
        ));
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Pending", 0), "{}", made.backend);
        assert_eq!(world.condition("RequestAccepted"), is("False", "FieldNotDeclared"));
        assert_eq!(world.condition("RemoteConsistent"), is("False", "UnknownField"));
        let entry = world.spec["template"].as_str().unwrap().to_owned();
        for text in [&world.conditions["RequestAccepted"]["message"], &world.status["message"]] {
            let text = text.as_str().unwrap();
            assert!(text.contains(path) && text.contains(&format!("template {entry}")), "{text}");
            assert!(!text.contains("new claim"), "{text}");
        }
        // Once the entry is corrected or the hub is updated.
        world.refuses = None;
        world.settle();
        assert_eq!(world.made, 1, "{}", made.backend);
        assert_eq!(world.condition("RequestAccepted").0, "True");
        // Nor does it wait for ever.
        let mut world = (made.asked)();
        world.refuses = Some(format!("failed: .{path}: field not declared in schema"));
        world.settle();
        world.advance_time(SignedDuration::from_hours(12));
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 0), "{}", made.backend);
    }
}

/// The same of a pool's claim, which is the function's alone.
#[test]
fn unknown_field_of_a_cluster_claim_waits() {
    let mut world = World::hive_claim();
    world.refuses = Some("failed: .spec.newer: field not declared in schema".to_owned());
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Pending", 0));
    assert_eq!(world.condition("RequestAccepted"), is("False", "FieldNotDeclared"));
    world.refuses = None;
    world.settle();
    assert_eq!(world.made, 1);
}

/// A hub whose definition becomes older while a cluster is being made: its request was accepted, and stays so. Who wrote the field is no matter then.
#[test]
fn unknown_field_refuses_no_started_request() {
    for path in ["spec.newer", "spec.ciOperator.test.newer"] {
        let mut world = World::default();
        world.settle();
        assert_eq!(world.made, 1);
        for provisioning in [false, true] {
            if provisioning {
                world.report_phase("Provisioning", &[]);
                world.settle();
            }
            let words = format!("failed: .{path}: field not declared in schema");
            set_synced(&mut world.objects.get_mut("ec").unwrap().object, Some(&words));
            world.pass();
            assert_eq!(world.condition("RemoteConsistent"), is("False", "UnknownField"), "{path}");
            assert_eq!(world.condition("RequestAccepted"), is("True", "Accepted"), "{path}");
            let message = world.status["message"].as_str().unwrap();
            assert!(!message.trim().ends_with(':') && !message.contains("and not the claim"), "{message:?}");
        }
    }
}

/// A hub that is told to ends by it what nobody else ends any more.
#[test]
fn latest_end_is_after_every_permitted_lifetime() {
    for made in BACKENDS {
        let annotation = |world: &World, key: &str| {
            let manifest = &world.objects[made.writer].object["spec"]["forProvider"]["manifest"];
            manifest["metadata"]["annotations"][key].as_str().map(str::to_owned)
        };
        let mut world = (made.asked)();
        world.spec["lifetime"] = json!("3h");
        world.settle();
        let end =
            |world: &World| -> Timestamp { annotation(world, ours::LATEST_END).unwrap().parse().unwrap() };
        let span = |key: &str| annotation(&world, key).unwrap().parse::<GoDuration>().unwrap().as_signed();
        let (timeout, longest) = (span(ours::PROVISION_TIMEOUT), span(ours::MAX_LIFETIME));
        let begun = world.composite()["metadata"]["creationTimestamp"]
            .as_str()
            .unwrap()
            .parse::<Timestamp>()
            .unwrap();
        let hour = SignedDuration::from_hours(1);
        let expected = begun + timeout + longest + hour;
        assert_eq!(end(&world), expected, "{}", made.backend);

        // One that was delivered later than it may take to make it lives as long.
        let ready = begun + timeout + SignedDuration::from_hours(30);
        world.status["readyAt"] = json!(ready);
        world.settle();
        assert_eq!(end(&world), ready + longest + hour, "{}", made.backend);
        // Also after a restore without status.
        world.status = json!({});
        world.settle();
        assert_eq!(end(&world), ready + longest + hour, "{}", made.backend);

        // A claim that asks for no lifetime any more never ends by itself.
        world.spec.as_object_mut().unwrap().remove("lifetime");
        world.settle();
        if annotation(&world, ours::LIFETIME).is_none() {
            assert_eq!(annotation(&world, ours::LATEST_END), None, "{}", made.backend);
        }

        let mut endless = (made.ready)();
        if annotation(&endless, ours::MAX_LIFETIME).is_none() {
            endless.settle();
            assert_eq!(annotation(&endless, ours::LATEST_END), None, "{}", made.backend);
        }
    }
}

//! Changes of an existing cluster.

use function_model::{osac::osac_catalogue, world::World};
use serde_json::json;
use testplatform_apis::names::ours;

use crate::osac::{asked, is};

#[test]
fn nodes_come_and_go() {
    let mut world = World::order_ready();
    world.spec["nodeGroups"] = json!([
        { "name": "workers", "class": "metal", "count": 5 }, { "name": "more", "class": "large", "count": 1 },
    ]);
    world.settle();
    assert_eq!(
        asked(&world)["spec"]["nodeRequests"],
        json!([
            { "resourceClass": "fc430", "numberOfNodes": 5 }, { "resourceClass": "fc640", "numberOfNodes": 1 },
        ])
    );
    assert_eq!(world.condition("SpecApplied"), is("False", "Applying"));
    world.osac_runs("job-2");
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("False", "Applying"));
    assert_eq!(world.phase(), "Ready");
    // The job has ended, and the nodes are still the old ones.
    world.osac_job("job-2", "provision", "Succeeded", "");
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("False", "Applying"));
    assert!(world.condition_message("SpecApplied").contains("node group workers is being resized"));
    world.osac_makes();
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
    assert_eq!(world.status["nodes"]["ready"], 6);
    world.spec["nodeGroups"] = json!([{ "name": "more", "class": "large", "count": 1 }]);
    world.settle();
    assert_eq!(
        asked(&world)["spec"]["nodeRequests"],
        json!([{ "resourceClass": "fc640", "numberOfNodes": 1 }])
    );
    assert!(!world.objects.contains_key("pool-workers"));
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
}

#[test]
fn a_job_that_fails_at_a_change_leaves_the_cluster_ready() {
    let mut world = World::order_ready();
    world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "metal", "count": 3 }]);
    world.settle();
    for id in ["a", "b", "c", "d"] {
        world.report_osac("Ready", &[]);
        world.osac_job(id, "provision", "Failed", "no host is free");
        world.settle();
        assert_eq!(world.phase(), "Ready");
        assert_eq!(world.condition("SpecApplied"), is("False", "JobFailed"));
    }
    assert!(world.condition_message("SpecApplied").contains("no host is free"));
    assert_eq!(world.condition("TemplateApplied").0, "True", "what was set up stays so");
}

/// Release and parameters change only where the entry says that OSAC's template can.
#[test]
fn change_of_immutable_field_is_named_and_ignored() {
    let mut world =
        World { spec: json!({ "template": "order-fixed", "version": "4.20.3" }), ..World::osac_claim() };
    world.settle();
    world.osac_makes();
    world.publish_credentials();
    world.settle();
    let before = asked(&world)["spec"].clone();
    world.spec["version"] = json!("4.20.9");
    world.spec["parameters"] = json!({ "tier": "gold" });
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("False", "Immutable"));
    for path in ["spec.version", "spec.parameters.tier"] {
        assert!(
            world.condition_message("SpecApplied").contains(path),
            "{}",
            world.condition_message("SpecApplied")
        );
    }
    assert_eq!(asked(&world)["spec"], before);
    assert_eq!(world.phase(), "Ready");
    // Nor can it become one of another template: whose it is is fixed.
    world.spec = json!({ "template": "order-tuned" });
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("False", "Immutable"));
    assert!(
        world.condition_message("SpecApplied").contains("spec.template cannot change"),
        "{}",
        world.condition_message("SpecApplied")
    );
    assert_eq!(asked(&world)["spec"], before);
}

#[test]
fn change_waits_for_the_running_job() {
    let mut world = World::order_ready();
    world.osac_job("job-2", "provision", "Running", "");
    world.settle();
    world.spec["version"] = json!("4.20.9");
    world.spec["parameters"] = json!({ "tier": "gold" });
    world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "metal", "count": 3 }]);
    world.settle();
    let spec = &asked(&world)["spec"];
    assert_eq!(world.condition("SpecApplied"), is("False", "Queued"));
    assert_eq!(spec["releaseImage"], "quay.io/x:4.20.3-x86_64");
    assert_eq!(spec["nodeRequests"][0]["numberOfNodes"], 3, "numbers do not wait");
    world.osac_job("job-2", "provision", "Succeeded", "");
    world.settle();
    let spec = &asked(&world)["spec"];
    assert_eq!(spec["releaseImage"], "quay.io/x:4.20.9-x86_64");
    assert_eq!(spec["templateParameters"], "{\"service_tier\":\"gold\"}");
    assert_eq!(world.condition("SpecApplied"), is("False", "Applying"));
    world.osac_makes();
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
    assert_eq!(world.status["version"], "4.20.9");
}

/// The job has done its work as soon as the release is asked for, and the cluster does not have it by then.
#[test]
fn version_is_applied_once_the_cluster_reports_it() {
    let mut world = World::order_ready();
    world.spec["version"] = json!("4.20.9");
    world.settle();
    world.osac_runs("job-2");
    world.osac_job("job-2", "provision", "Succeeded", "");
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("False", "Applying"));
    assert!(world.condition_message("SpecApplied").contains("version 4.20.9 is being rolled out"));
    assert_eq!((world.phase().as_str(), &world.status["version"]), ("Ready", &json!("4.20.3")));
    world.osac_serves();
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
    assert_eq!(world.status["version"], "4.20.9");
}

#[test]
fn a_catalogue_that_changes_changes_no_cluster() {
    let mut world = World::order_ready();
    let before = asked(&world)["spec"].clone();
    let entry = world.catalogue_entry("order-tuned");
    entry["backendRef"]["templateID"] = json!("osac.templates.other");
    entry["allowedNodeClasses"]["metal"]["machine"]["resourceClass"] = json!("fc999");
    entry["releases"][0]["image"] = json!("quay.io/x:4.20.3-s390x");
    entry["parameters"]["tier"]["default"] = json!("gold");
    entry["defaultNodeGroups"] = json!([{ "name": "workers", "class": "large", "count": 9 }]);
    world.settle();
    assert_eq!(asked(&world)["spec"], before);
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
    // Also while the entry is gone.
    world.templates.clear();
    world.settle();
    assert_eq!(asked(&world)["spec"], before);
    assert_eq!(world.condition("SpecApplied"), is("False", "TemplateNotFound"));
    assert_eq!(world.status["nodes"]["pools"][0]["name"], "workers");
    world.templates = osac_catalogue();
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
}

/// The meaning of node classes at the time of the request is remembered without the primary Object, and after a class is withdrawn.
#[test]
fn nodes_of_an_order_keep_their_class() {
    let losses: [fn(&mut World); 3] = [
        |world| {
            world.objects.remove("order");
            world.refs.remove("order");
        },
        |world| {
            world.objects.get_mut("order").unwrap().object["metadata"]["annotations"][ours::NODE_CLASSES] =
                json!("{");
        },
        |world| {
            for name in ["order", "credentials"] {
                let notes = &mut world.objects.get_mut(name).unwrap().object["metadata"]["annotations"];
                notes.as_object_mut().unwrap().remove(ours::NODE_CLASSES);
            }
        },
    ];
    for (at, loss) in losses.into_iter().enumerate() {
        // Of what nobody remembers, what the catalogue says by now is all there is.
        for offered in [true, false].into_iter().filter(|offered| at < 2 || !offered) {
            let at = format!("loss {at}, offered: {offered}");
            let mut world = World::order_ready();
            let of = |world: &World| {
                let pool = &world.objects["pool-workers"].object["spec"]["forProvider"]["manifest"];
                (asked(world)["spec"].clone(), pool.clone())
            };
            let before = of(&world);
            world.drop_status();
            let classes = &mut world.catalogue_entry("order-tuned")["allowedNodeClasses"];
            if offered {
                classes["metal"]["machine"]["resourceClass"] = json!("fc999");
            } else {
                classes.as_object_mut().unwrap().remove("metal");
            }
            loss(&mut world);
            world.settle();
            assert_eq!(of(&world), before, "{at}");
            assert_eq!((world.phase().as_str(), world.made), ("Ready", 1), "{at}");
        }
    }
}

/// Also while nobody knows where the order is.
#[test]
fn node_classes_survive_a_lost_order() {
    let mut world = World::order_ready();
    let before = asked(&world)["spec"].clone();
    world.drop_status();
    world.objects.remove("order");
    world.refs.remove("order");
    let object = &mut world.objects.get_mut("credentials").unwrap().object;
    let place = object["metadata"]["annotations"].as_object_mut().unwrap().remove(ours::REMOTE).unwrap();
    world.catalogue_entry("order-tuned")["allowedNodeClasses"]["metal"]["machine"]["resourceClass"] =
        json!("fc999");
    world.settle();
    assert!(!world.objects.contains_key("order"));
    let object = &mut world.objects.get_mut("credentials").unwrap().object;
    object["metadata"]["annotations"][ours::REMOTE] = place;
    world.settle();
    assert_eq!(asked(&world)["spec"], before);
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1), "restored, it is found again");
}

#[test]
fn change_refused_by_the_hub_is_reported_without_loss() {
    let mut world = World::order_ready();
    world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "metal", "count": 3 }]);
    world.pass();
    let words = "update failed: cannot update object: admission webhook \"x\" denied the request: no";
    let object = &mut world.objects.get_mut("order").unwrap().object;
    function_model::world::set_synced(object, Some(words));
    world.pass();
    assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
    assert_eq!(world.phase(), "Ready");
}

/// Nothing of what was asked for in vain stays, and an image that is repaired is taken.
#[test]
fn refused_change_can_be_withdrawn_or_repaired() {
    let refused = || {
        let mut world = World::order_ready();
        world.fixed.insert("/releaseImage".into());
        world.spec["version"] = json!("4.20.9");
        world.spec["parameters"] = json!({ "tier": "gold" });
        world.settle();
        assert_eq!(asked(&world)["spec"]["releaseImage"], "quay.io/x:4.20.9-x86_64");
        assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
        world
    };
    for noted in [true, false] {
        let mut world = refused();
        if !noted {
            let object = &mut world.objects.get_mut("order").unwrap().object;
            object["metadata"]["annotations"].as_object_mut().unwrap().remove(ours::LAST_ACCEPTED);
        }
        world.spec["version"] = json!("4.20.3");
        world.spec["parameters"] = json!({ "tier": "silver" });
        world.settle();
        assert_eq!(asked(&world)["spec"]["releaseImage"], "quay.io/x:4.20.3-x86_64");
        assert_eq!(asked(&world)["spec"]["templateParameters"], "{\"service_tier\":\"silver\"}");
        assert_eq!(world.status["effective"]["version"], "4.20.3");
        world.osac_makes();
        world.settle();
        assert_eq!(
            world.condition("SpecApplied"),
            is("True", "UpToDate"),
            "{}",
            world.condition_message("SpecApplied")
        );
        assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
    }
    let mut world = refused();
    world.catalogue_entry("order-tuned")["releases"][1]["image"] = json!("quay.io/y:4.20.9-x86_64");
    world.settle();
    assert_eq!(asked(&world)["spec"]["releaseImage"], "quay.io/y:4.20.9-x86_64");
    world.fixed.clear();
    world.settle();
    world.osac_makes();
    world.settle();
    assert_eq!(
        world.condition("SpecApplied"),
        is("True", "UpToDate"),
        "{}",
        world.condition_message("SpecApplied")
    );
}

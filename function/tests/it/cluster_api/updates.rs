//! Changes of an existing cluster.

use function_model::world::World;
use serde_json::json;
use testplatform_apis::names::ours;

use crate::cluster_api::{group, is, of, release, topology, variable};

#[test]
fn an_upgrade_walks_from_one_minor_version_to_the_next() {
    let mut world = World::topology_ready();
    assert_eq!(release(&world), of("v1.29.4", "a10"));
    world.spec["version"] = json!("1.31");
    world.settle();
    assert_eq!(release(&world), of("v1.30.6", "a13"), "the newest between");
    assert_eq!(world.condition("SpecApplied"), is("False", "Applying"));
    assert_eq!(world.condition_message("SpecApplied"), "version 1.30.6 is being rolled out, step 1 of 2");
    assert_eq!(
        (&world.status["version"], &world.status["versionDesired"]),
        (&json!("1.29.4"), &json!("1.31.2"))
    );
    world.capi_rolls();
    world.settle();
    assert_eq!(release(&world), of("v1.30.6", "a13"));
    assert_eq!(world.condition_message("SpecApplied"), "version 1.30.6 is being rolled out, step 1 of 2");
    assert_eq!(world.phase(), "Ready");
    // Told to be done, and not all machines are.
    world.report_cluster_api(&[
        ("TopologyReconciled", "True", "Succeeded", ""),
        ("RollingOut", "True", "RollingOut", ""),
    ]);
    world.settle();
    assert_eq!(release(&world).0, "v1.30.6");
    world.report_cluster_api(&[("RollingOut", "False", "NotRollingOut", "")]);
    world.settle();
    assert_eq!(release(&world).0, "v1.30.6", "they still run the one before");
    world.capi_installs();
    world.settle();
    assert_eq!(release(&world), of("v1.31.2", "a11"));
    assert_eq!(world.condition_message("SpecApplied"), "version 1.31.2 is being rolled out, step 2 of 2");
    world.capi_rolls();
    world.settle();
    assert_eq!(world.condition_message("SpecApplied"), "version 1.31.2 is being rolled out, step 2 of 2");
    world.capi_installs();
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
    assert_eq!(world.status["version"], "1.31.2");
    let notes = &world.objects["topology"].object["metadata"]["annotations"];
    assert!(notes["testplatform.ci.openshift.org/rolls-from"].is_null(), "{notes}");
}

#[test]
fn change_under_way_comes_first() {
    let mut world = World::topology_ready();
    world.report_cluster_api(&[("RollingOut", "True", "RollingOut", "")]);
    world.settle();
    world.spec["version"] = json!("1.30");
    world.settle();
    assert_eq!(release(&world).0, "v1.29.4");
    assert_eq!(world.condition("SpecApplied"), is("False", "Queued"));
    world.report_cluster_api(&[("RollingOut", "False", "NotRollingOut", "")]);
    world.settle();
    assert_eq!(release(&world).0, "v1.30.6");
    assert_eq!(world.condition_message("SpecApplied"), "version 1.30.6 is being rolled out");
}

#[test]
fn no_way_leads_back_and_none_leaves_a_version_out() {
    for (version, part) in
        [("1.33", "the template lacks an intermediate version"), ("1.28", "is not offered by the template")]
    {
        let mut world = World::topology_ready();
        let before = topology(&world).clone();
        world.spec["version"] = json!(version);
        world.settle();
        assert_eq!(topology(&world), &before);
        assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
        assert!(
            world.condition_message("SpecApplied").contains(part),
            "{}",
            world.condition_message("SpecApplied")
        );
        assert_eq!(world.phase(), "Ready");
    }
}

/// A version by way of which it goes is not in the catalogue any more.
#[test]
fn lost_upgrade_path_is_reported_and_the_cluster_stays() {
    let mut world = World::topology_ready();
    world.report_cluster_api(&[("RollingOut", "True", "RollingOut", "")]);
    world.settle();
    world.spec["version"] = json!("1.31");
    world.settle();
    world.catalogue_entry("topology")["releases"] =
        json!([{ "version": "v1.31.2", "image": "2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a11" }]);
    world.report_cluster_api(&[("RollingOut", "False", "NotRollingOut", "")]);
    world.settle();
    assert_eq!(release(&world).0, "v1.29.4");
    assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
    assert!(
        world.condition_message("SpecApplied").contains("1.31.2 cannot be reached"),
        "{}",
        world.condition_message("SpecApplied")
    );
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn change_refused_by_the_hub_is_reported_without_loss() {
    let mut world = World::topology_ready();
    let object = &mut world.objects.get_mut("topology").unwrap().object;
    object["status"]["conditions"] = json!([{
        "type": "Synced", "status": "False", "reason": "ReconcileError",
        "message": "update failed: cannot apply object: admission webhook \"validation.cluster\" denied the request: no",
    }]);
    world.pass();
    assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
    assert_eq!(world.phase(), "Ready");
}

/// At 1.30.6, and the hub refuses the next version, whose image the class does not allow.
fn refused_at_the_next_version() -> World {
    let mut world = World::topology_ready();
    world.spec["version"] = json!("1.30");
    world.settle();
    world.capi_installs();
    world.settle();
    world.fixed.insert("/topology/version".into());
    world.spec["version"] = json!("1.31");
    world.settle();
    assert_eq!(release(&world), of("v1.31.2", "a11"), "it is asked for as long as it is meant");
    assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
    world
}

/// A change that the hub refuses leads nowhere: everything continues from the hub's state of the cluster. `noted`: earlier versions
/// recorded nothing.
#[test]
fn refused_version_can_be_withdrawn_or_replaced() {
    for noted in [true, false] {
        let mut world = refused_at_the_next_version();
        if !noted {
            let object = &mut world.objects.get_mut("topology").unwrap().object;
            object["metadata"]["annotations"].as_object_mut().unwrap().remove(ours::LAST_ACCEPTED);
        }
        world.spec["version"] = json!("1.29");
        world.settle();
        assert_eq!(release(&world), of("v1.31.2", "a11"));
        assert!(
            world.condition_message("SpecApplied").contains("a downgrade from 1.30.6"),
            "{}",
            world.condition_message("SpecApplied")
        );
        world.spec["version"] = json!("1.30");
        world.settle();
        assert_eq!(release(&world), of("v1.30.6", "a13"));
        assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
        assert_eq!(world.status["effective"]["version"], "1.30.6");
        // And what else is asked for reaches it again.
        world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "default", "count": 3 }]);
        world.settle();
        assert_eq!(world.remote.as_ref().unwrap()["spec"]["topology"], *topology(&world));
        assert_eq!(group(&world, "workers")["replicas"], 3);
        let notes = &world.objects["topology"].object["metadata"]["annotations"];
        assert!(notes[ours::LAST_ACCEPTED].is_null() && notes[ours::ROLLS_FROM].is_null(), "{notes}");
        assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
    }
}

#[test]
fn repaired_image_replaces_a_refused_one() {
    let mut at_once = refused_at_the_next_version();
    // The second of two steps.
    let mut on_the_way = World::topology_ready();
    on_the_way.spec["version"] = json!("1.31");
    on_the_way.settle();
    on_the_way.capi_installs();
    on_the_way.fixed.insert("/topology/version".into());
    on_the_way.settle();
    assert_eq!(on_the_way.condition_message("SpecApplied").split(':').next(), Some("the hub refuses it"));
    for world in [&mut at_once, &mut on_the_way] {
        let image = &mut world.catalogue_entry("topology")["releases"][3]["image"];
        assert_eq!(*image, "2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a11");
        *image = json!("2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5c11");
        world.settle();
        assert_eq!(release(world), of("v1.31.2", "c11"));
        world.fixed.clear();
        world.settle();
        world.capi_installs();
        world.settle();
        assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
        // No repair touches the release that the cluster runs.
        world.catalogue_entry("topology")["releases"][3]["image"] =
            json!("2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5d11");
        world.settle();
        assert_eq!(release(world), of("v1.31.2", "c11"));
    }
}

#[test]
fn groups_come_and_go_and_change() {
    let mut world = World::topology_ready();
    world.spec["nodeGroups"] = json!([
        { "name": "workers", "class": "default", "count": 3 },
        { "name": "more", "class": "gpu", "autoscale": { "min": 1, "max": 2 } },
    ]);
    world.settle();
    assert_eq!(group(&world, "workers")["replicas"], 3);
    assert_eq!(group(&world, "more")["class"], "gpu-worker");
    assert_eq!(world.condition("SpecApplied"), is("False", "Applying"), "nobody looked at it yet");
    world.report_cluster_api(&[("ScalingUp", "True", "ScalingUp", "")]);
    world.settle();
    assert_eq!(world.condition_message("SpecApplied"), "machines are being added");
    world.capi_installs();
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
    assert_eq!(world.status["nodes"]["ready"], 4);
    // From a number to a range and back, and to other machines of the same class of workers.
    world.spec["nodeGroups"] = json!([
        { "name": "workers", "class": "bigger", "autoscale": { "min": 1, "max": 2 } },
        { "name": "more", "class": "gpu", "count": 1 },
    ]);
    world.settle();
    let (workers, more) = (group(&world, "workers"), group(&world, "more"));
    assert!(!workers.as_object().unwrap().contains_key("replicas"));
    assert_eq!(variable(&workers["variables"]["overrides"], "flavor"), "m1.large");
    assert_eq!(more["replicas"], 1);
    assert_eq!(more["metadata"]["annotations"].as_object().unwrap().len(), 1, "{more}");
    world.spec["nodeGroups"] = json!([{ "name": "more", "class": "gpu", "count": 1 }]);
    world.settle();
    assert_eq!(topology(&world)["workers"]["machineDeployments"].as_array().unwrap().len(), 1);
    assert_eq!(world.phase(), "Ready");
    world.spec["nodeGroups"] = json!([]);
    world.settle();
    assert!(topology(&world)["workers"].is_null());
    assert_eq!(world.made, 1);
}

#[test]
fn the_control_plane_grows_and_parameters_change() {
    let mut world = World::topology_ready();
    world.spec["controlPlane"] = json!({ "replicas": 3 });
    world.spec["parameters"] = json!({ "sshKeyName": "other" });
    world.settle();
    assert_eq!(topology(&world)["controlPlane"]["replicas"], 3);
    assert_eq!(variable(&topology(&world)["variables"], "sshKeyName"), "other");
}

#[test]
fn change_of_immutable_field_is_named_and_ignored() {
    for (field, value, path) in [
        ("network", json!({ "podCIDR": "10.8.0.0/14" }), "spec.network.podCIDR"),
        ("parameters", json!({ "cni": "cilium" }), "spec.parameters.cni"),
        ("controlPlane", json!({ "class": "large" }), "spec.controlPlane.class"),
        (
            "nodeGroups",
            json!([{ "name": "workers", "class": "gpu", "count": 2 }]),
            "spec.nodeGroups[0].class",
        ),
    ] {
        let mut world = World::topology_ready();
        let before = topology(&world).clone();
        world.spec[field] = value;
        world.settle();
        assert_eq!(topology(&world), &before);
        assert_eq!(world.condition("SpecApplied"), is("False", "Immutable"));
        assert!(
            world.condition_message("SpecApplied").contains(path),
            "{}",
            world.condition_message("SpecApplied")
        );
    }
}

/// Of what class its nodes were is not to be read any more, and the catalogue describes that otherwise by now.
#[test]
fn nodes_of_a_class_that_is_forgotten_stay_as_they_are() {
    let mut world = World::topology_ready();
    let before = topology(&world).clone();
    world.catalogue_entry("topology")["allowedNodeClasses"]["default"]["machine"]["variables"] =
        json!({ "flavor": "x" });
    let asked = &mut world.objects.get_mut("topology").unwrap().object["spec"]["forProvider"]["manifest"];
    let workers = &mut asked["spec"]["topology"]["workers"]["machineDeployments"][0];
    workers["metadata"]["annotations"].as_object_mut().unwrap().remove(ours::NODE_CLASS).unwrap();
    world.settle();
    assert_eq!(topology(&world), &before);
    // A new group gets the catalogue's current values.
    world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "bigger", "count": 2 }]);
    world.settle();
    assert_eq!(variable(&group(&world, "workers")["variables"]["overrides"], "flavor"), "m1.large");
}

/// Unset fields keep their values, and a changed catalogue affects new clusters alone.
#[test]
fn a_catalogue_that_changes_changes_no_cluster() {
    for change in [
        |w: &mut World| w.templates.clear(),
        |w: &mut World| {
            w.catalogue_entry("topology")["backendRef"]["classRef"]["name"] = json!("openstack-v9");
        },
        |w: &mut World| w.catalogue_entry("topology")["backendRef"]["cluster"] = json!({}),
        |w: &mut World| {
            w.catalogue_entry("topology")["allowedNodeClasses"]["default"]["machine"] =
                json!({ "worker": "other", "variables": { "flavor": "x" } });
        },
        |w: &mut World| w.catalogue_entry("topology")["defaultControlPlaneReplicas"] = json!(3),
        |w: &mut World| {
            w.catalogue_entry("topology")["releases"] = json!([{ "version": "v1.30.2", "image": "x" }]);
        },
        |w: &mut World| w.environment = None,
        |w: &mut World| w.hubs = None,
    ] {
        let mut world = World::topology_ready();
        let before = topology(&world).clone();
        change(&mut world);
        world.settle();
        assert_eq!(topology(&world), &before);
        assert_eq!(world.phase(), "Ready");
    }
}

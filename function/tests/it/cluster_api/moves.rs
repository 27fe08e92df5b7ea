//! Moves of an existing cluster to another template.

use function_model::world::World;
use serde_json::{Value, json};
use testplatform_apis::names::ours;

use crate::cluster_api::{asked, group, is, of, release, topology, variable};

/// Class and variables are those of the template again, although that is switched off by now.
#[test]
fn refused_move_can_be_withdrawn() {
    for status in [true, false] {
        let mut world = World::topology_ready();
        let before = topology(&world).clone();
        world.fixed.insert("/topology/classRef".into());
        world.spec.as_object_mut().unwrap().remove("version");
        world.spec["template"] = json!("topology-next");
        world.settle();
        assert_eq!(topology(&world)["classRef"]["name"], "openstack-v4");
        assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
        world.catalogue_entry("topology")["enabled"] = json!(false);
        if !status {
            world.drop_status();
        }
        world.spec["template"] = json!("topology");
        world.settle();
        assert_eq!(topology(&world), &before);
        assert_eq!(
            world.condition("SpecApplied"),
            is("True", "UpToDate"),
            "{}",
            world.condition_message("SpecApplied")
        );
        assert_eq!(world.status["effective"]["template"], "topology");
        let notes = &world.objects["topology"].object["metadata"]["annotations"];
        assert!(notes[ours::LAST_ACCEPTED].is_null() && notes[ours::ROLLS_FROM].is_null(), "{notes}");
        // Once it is taken, there is no way back.
        world.fixed.clear();
        world.spec["template"] = json!("topology-next");
        world.settle();
        world.capi_installs();
        world.settle();
        world.spec["template"] = json!("topology");
        world.settle();
        assert_eq!(topology(&world)["classRef"]["name"], "openstack-v4");
        assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
    }
}

/// With another template come its class and its variables, in one change with the version; what is the claim's stays.
#[test]
fn a_cluster_moves_to_a_newer_template_in_one_change() {
    let mut world = World::topology_ready();
    world.spec.as_object_mut().unwrap().remove("version");
    world.spec["template"] = json!("topology-next");
    world.pass();
    let spec = topology(&world);
    assert_eq!(spec["classRef"], json!({ "name": "openstack-v4", "namespace": "classes" }));
    assert_eq!(release(&world), of("v1.30.9", "b19"));
    assert_eq!(variable(&spec["variables"], "region"), "east");
    assert_eq!(variable(&spec["variables"], "cni"), json!(null), "it has none");
    assert_eq!(variable(&group(&world, "workers")["variables"]["overrides"], "flavor"), "m2.small");
    world.settle();
    world.capi_installs();
    world.settle();
    assert_eq!(
        world.condition("SpecApplied"),
        is("True", "UpToDate"),
        "{}",
        world.condition_message("SpecApplied")
    );
    assert_eq!(world.phase(), "Ready");
}

/// Ready, with a variable that the webhook added: a class that does not define it is refused.
fn with_a_defaulted_variable() -> World {
    let mut world = World::cluster_api_claim();
    let default = ("openstack-v3".to_owned(), json!("enabled"));
    world.classes.defaults.insert("apiServerLoadBalancer".to_owned(), default);
    world.settle();
    world.capi_installs();
    world.hypershift_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready", "{:#?}", world.conditions);
    assert_eq!(hub_variable(&world), "enabled");
    assert_eq!(variable(&topology(&world)["variables"], "apiServerLoadBalancer"), Value::Null);
    world.spec.as_object_mut().unwrap().remove("version");
    world
}

fn hub_variable(world: &World) -> Value {
    variable(&world.remote.as_ref().unwrap()["spec"]["topology"]["variables"], "apiServerLoadBalancer")
}

fn assert_moved(world: &mut World) {
    assert_eq!(
        topology(world)["classRef"]["name"],
        "openstack-v4",
        "{}",
        world.condition_message("SpecApplied")
    );
    assert_eq!(hub_variable(world), Value::Null);
    world.capi_installs();
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
    for name in ["topology", "credentials"] {
        let notes = &world.objects[name].object["metadata"]["annotations"];
        assert!(notes[ours::ADOPTED_CLASS].is_null() && notes[ours::ROLLS_FROM].is_null(), "{name}: {notes}");
    }
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
}

#[test]
fn defaulted_variables_are_requested_before_a_class_without_them() {
    let mut world = with_a_defaulted_variable();
    world.spec["template"] = json!("topology-next");
    world.pass();
    assert_eq!(topology(&world)["classRef"]["name"], "openstack-v3");
    assert_eq!(variable(&topology(&world)["variables"], "apiServerLoadBalancer"), "enabled");
    assert_eq!(world.condition("SpecApplied"), is("False", "Applying"));
    // Two changes would arrive as one.
    world.pass();
    assert_eq!(topology(&world)["classRef"]["name"], "openstack-v3");
    world.settle();
    assert_eq!(topology(&world)["classRef"]["name"], "openstack-v3", "Cluster API has not looked at it");
    world.capi_installs();
    world.settle();
    assert_moved(&mut world);
}

/// Earlier versions requested the class at once.
#[test]
fn refused_class_is_requested_again_after_the_variables() {
    let mut moved = with_a_defaulted_variable();
    moved.spec["template"] = json!("topology-next");
    moved.settle();
    moved.capi_installs();
    moved.settle();
    let moved = asked(&moved)["spec"].clone();
    let mut world = with_a_defaulted_variable();
    world.spec["template"] = json!("topology-next");
    let object = &mut world.objects.get_mut("topology").unwrap().object;
    object["spec"]["forProvider"]["manifest"]["spec"] = moved;
    object["metadata"]["annotations"][ours::ROLLS_FROM] = json!("topology/1.29.4");
    world.reconcile_objects();
    world.pass();
    assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
    let message = world.condition_message("SpecApplied");
    assert!(message.contains("variable is not defined"), "{message}");
    world.settle();
    world.capi_installs();
    world.settle();
    assert_moved(&mut world);
}

/// The hub accepts the variables, and refuses the class of the next template for another reason.
fn refuse_the_next_class(world: &mut World) {
    world.fixed.insert("/topology/classRef".into());
    world.spec["template"] = json!("topology-next");
    world.settle();
    world.capi_installs();
    world.settle();
    assert_eq!(topology(world)["classRef"]["name"], "openstack-v4");
    assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
}

/// Its variables are requested once, and not time and again.
#[test]
fn class_that_stays_refused_is_requested_once() {
    let mut world = with_a_defaulted_variable();
    refuse_the_next_class(&mut world);
    assert_eq!(hub_variable(&world), "enabled");
    world.fixed.clear();
    world.settle();
    assert_moved(&mut world);
}

/// The same at one version, where nothing else of the rollout is left to record.
#[test]
fn class_that_stays_refused_at_the_same_version_is_requested_once() {
    let mut world = with_a_defaulted_variable();
    let (version, _) = release(&world);
    let image = variable(&topology(&world)["variables"], "imageUUID");
    let entry = world.catalogue_entry("topology-next");
    (entry["version"], entry["image"]) = (json!(version), image);
    refuse_the_next_class(&mut world);
    let requested = world.objects["topology"].object["spec"].clone();
    for _ in 0..6 {
        world.pass();
        world.reconcile_objects();
        assert_eq!(world.objects["topology"].object["spec"], requested);
    }
    assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
}

/// One that is to move to another template, and waits for what is under way.
fn waiting() -> World {
    let mut world = World::topology_ready();
    world.report_cluster_api(&[("RollingOut", "True", "RollingOut", "")]);
    world.settle();
    world.spec.as_object_mut().unwrap().remove("version");
    world.spec["template"] = json!("topology-next");
    world.settle();
    world
}

/// Which template it moves to is not forgotten while it waits.
#[test]
fn move_waits_for_the_change_under_way() {
    let mut world = waiting();
    assert_eq!(topology(&world)["classRef"]["name"], "openstack-v3");
    assert_eq!(release(&world).0, "v1.29.4");
    world.drop_status();
    world.settle();
    world.capi_installs();
    world.settle();
    assert_eq!(topology(&world)["classRef"]["name"], "openstack-v4");
    assert_eq!(release(&world), of("v1.30.9", "b19"));
    // From then on, what that template says otherwise is for new clusters.
    world.capi_installs();
    world.settle();
    let before = topology(&world).clone();
    world.catalogue_entry("topology-next")["backendRef"]["classRef"]["name"] = json!("openstack-v5");
    world.settle();
    assert_eq!(topology(&world), &before);
}

/// From which template it moves is remembered where the writer is not.
#[test]
fn a_move_that_waits_outlives_its_writer() {
    let mut world = waiting();
    world.drop_status();
    world.objects.remove("topology");
    world.refs.remove("topology");
    world.settle();
    assert_eq!(topology(&world)["classRef"]["name"], "openstack-v3");
    assert_eq!(release(&world).0, "v1.29.4");
    world.capi_installs();
    world.settle();
    assert_eq!(topology(&world)["classRef"]["name"], "openstack-v4");
    assert_eq!(release(&world), of("v1.30.9", "b19"));
    world.capi_installs();
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
    for name in ["topology", "credentials"] {
        let notes = &world.objects[name].object["metadata"]["annotations"];
        assert!(notes[ours::ROLLS_FROM].is_null(), "{name}: {notes}");
    }
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
}

/// Objects arrive one after the other, and a cache may show the one without the other.
#[test]
fn a_move_that_is_over_does_not_begin_again() {
    let mut world = waiting();
    let stale = world.objects["credentials"].object["metadata"]["annotations"][ours::ROLLS_FROM].clone();
    assert!(stale.is_string());
    world.capi_installs();
    world.settle();
    world.capi_installs();
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
    world.report_cluster_api(&[("RollingOut", "True", "RollingOut", "")]);
    world.settle();
    world.objects.get_mut("credentials").unwrap().object["metadata"]["annotations"][ours::ROLLS_FROM] = stale;
    world.pass();
    for name in ["topology", "credentials"] {
        let notes = &world.objects[name].object["metadata"]["annotations"];
        assert!(notes[ours::ROLLS_FROM].is_null(), "{name}: {notes}");
    }
}

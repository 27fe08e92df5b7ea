//! A hub that refuses, forgets, or was not heard.

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::json;
use testplatform_apis::names::ours;

use crate::recovery::{is, provisioning, told_to_end};

#[test]
fn refused_request_that_runs_is_torn_down() {
    let mut world = World::default();
    world.settle();
    let refused = ("ProwJobCreating", "False", "EphemeralClusterValidationFailure", "no such profile");
    world.report_phase("Failed", &[refused]);
    world.settle();
    is(&world, "ProwJobCompleted", "True", "NothingToTearDown");
    // The controller restarts after the ownership was corrected.
    world.report_phase(
        "Provisioning",
        &[("ProwJobCreating", "False", "ProwJob has been properly created", "")],
    );
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert!(told_to_end(&world));
    is(&world, "ProwJobCompleted", "False", "TearingDown");
}

#[test]
fn jobs_behind_a_refusal_are_torn_down() {
    let mut world = World::default();
    world.settle();
    world.report_phase("Failed", &[("ProwJobCreating", "False", "TooManyProwJobsBound", "a bug")]);
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert!(told_to_end(&world));
}

/// The hub quotes what the tenant wrote.
#[test]
fn tenant_text_is_no_loss() {
    for quoted in [
        "uid mismatch: the provided object specified uid a, and no existing object was found",
        "metadata.uid: Invalid value: \"a\": field is immutable",
    ] {
        let layers = "observe failed: cannot get desired state: cannot dry run SSA: ";
        for words in [
            format!("admission webhook \"w\" denied the request: env X: {quoted}"),
            format!(
                "EphemeralCluster.ci.openshift.io \"x\" is invalid: spec.ciOperator.test.env.X: Invalid value: {quoted:?}"
            ),
        ] {
            let mut world = World::ready();
            let status = &mut world.objects.get_mut("ec").unwrap().object["status"]["conditions"][0];
            status["status"] = json!("False");
            status["message"] = json!(format!("{layers}{words}"));
            world.pass();
            assert_eq!(world.phase(), "Ready", "{words}");
            is(&world, "RemoteConsistent", "False", "HubRefused");
            assert_eq!(world.management_policies(), json!(["*"]));
        }
    }
}

#[test]
fn ambiguous_create_is_torn_down_and_not_repeated() {
    for late in [false, true] {
        for made in [false, true] {
            let mut world = World {
                refuses: Some("Patch \"https://hub\": context deadline exceeded".into()),
                ..World::default()
            };
            world.settle();
            is(&world, "RemoteConsistent", "False", "HubUnreachable");
            if late {
                world.advance_time(SignedDuration::from_hours(5));
            } else {
                world.spec["tearDownCluster"] = json!(true);
            }
            world.pass();
            is(&world, "ProwJobCompleted", "False", "TearingDown");
            world.refuses = None;
            if made {
                world.create_remote();
            }
            world.settle();
            assert_eq!(world.made, usize::from(made));
            if made {
                assert!(told_to_end(&world));
            } else {
                is(&world, "ProwJobCompleted", "True", "NothingToTearDown");
            }
        }
    }
}

#[test]
fn cluster_ready_in_time_is_ready_when_observed_late() {
    let mut world = provisioning();
    world.advance_time(SignedDuration::from_mins(210));
    world.hub_ready();
    world.reconcile_objects();
    world.advance_time(SignedDuration::from_mins(90));
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn a_hub_that_forgot_does_not_take_a_running_cluster_away() {
    let mut world = World::ready();
    let refused = json!({ "type": "ProwJobCreating", "status": "False", "reason": "EphemeralClusterValidationFailure", "message": "m" });
    world.remote.as_mut().unwrap()["status"] = json!({ "phase": "Failed", "conditions": [refused] });
    world.settle();
    assert_eq!(world.phase(), "Degraded");
    is(&world, "ClusterReady", "True", "Degraded");
}

#[test]
fn unreadable_remote_object_counts_as_bound() {
    let mut world = World::default();
    world.settle();
    world.report_phase("Provisioning", &[]);
    world.remote.as_mut().unwrap()["status"]["conditions"] = json!([{ "type": "A", "status": 5 }]);
    world.settle();
    is(&world, "RemoteConsistent", "False", "Unreadable");
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
}

#[test]
fn hub_message_about_timeout_field_is_a_refusal() {
    let words = "EphemeralCluster.ci.openshift.io \"x\" is invalid: spec.ciOperator.test.clusterClaim.timeout: Invalid value";
    let mut world = World { refuses: Some(words.into()), ..World::default() };
    world.settle();
    is(&world, "RemoteConsistent", "False", "HubRefused");
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    is(&world, "ProwJobCompleted", "True", "NothingToTearDown");
}

#[test]
fn the_settled_say_nothing_more() {
    let mut world = World { environment: None, ..World::default() };
    world.settle();
    world.environment = Some(json!({ "clusterName": "c" }));
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.events.clear();
    for environment in [None, Some(json!({ "clusterName": "c" }))] {
        world.environment = environment;
        world.settle();
    }
    assert_eq!(world.events, Vec::<String>::new());

    let mut world = World::ready();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.events.clear();
    world.remote = None;
    world.settle();
    assert_eq!(world.events, ["TornDown"]);
}

#[test]
fn a_flapping_hub_repeats_no_advice() {
    let mut world = World::default();
    world.spec["lifetime"] = json!("4h");
    world.settle();
    world.hub_ready();
    world.settle();
    world.events.clear();
    for _ in 0..2 {
        world.report_phase("Provisioning", &[("ClusterReady", "False", "SecretsFetchFailure", "t")]);
        world.settle();
        world.hub_ready();
        world.settle();
    }
    assert!(!world.events.contains(&"RequestAdjusted".to_owned()), "{:?}", world.events);
}

#[test]
fn mirrored_conditions_of_a_replaced_object_are_unknown() {
    let mut world = World::ready();
    world.report_phase("Ready", &[("ClusterReady", "True", "", ""), ("TestCompleted", "True", "", "")]);
    world.settle();
    world.remote.as_mut().unwrap()["metadata"]["uid"] = json!("other");
    world.settle();
    is(&world, "TestCompleted", "Unknown", "NotReported");
}

#[test]
fn rewritten_conditions_do_not_keep_credentials_in_sync() {
    let mut world = World::ready();
    let of_provider =
        [("ClusterReady", "True", "", ""), ("CredentialsInSync", "True", "CredentialsPublished", "m")];
    world.report_phase("Ready", &of_provider);
    world.settle();
    is(&world, "CredentialsInSync", "True", "CredentialsPublished");

    // The upstream controller writes all conditions, and does not know this one.
    world.report_phase("Ready", &[("ClusterReady", "True", "", "")]);
    world.settle();
    is(&world, "CredentialsInSync", "Unknown", "NotReported");
    is(&world, "ClusterReady", "True", "Ready");
    assert_eq!(world.phase(), "Ready");

    world.report_phase("Ready", &of_provider);
    world.settle();
    is(&world, "CredentialsInSync", "True", "CredentialsPublished");

    // Where the provider never ran the condition does not appear.
    let mut world = World::ready();
    world.settle();
    assert_eq!(world.conditions.get("CredentialsInSync"), None);
}

#[test]
fn credentials_in_sync_appears_in_the_pass_that_reports_ready() {
    let mut world = World::default();
    world.settle();
    world.hub_ready();
    let synced =
        [("ClusterReady", "True", "", ""), ("CredentialsInSync", "True", "CredentialsPublished", "m")];
    world.report_phase("Ready", &synced);
    // Within the quiet period.
    while world.phase() != "Ready" {
        assert_eq!(world.conditions.get("CredentialsInSync"), None);
        world.pass();
        world.reconcile_objects();
    }
    is(&world, "CredentialsInSync", "True", "CredentialsPublished");
}

#[test]
fn diagnostics_of_the_hub_outlive_its_object() {
    let mut world = World::ready();
    let noted = json!({ "reason": "ProwJobFailure" }).to_string();
    world.remote.as_mut().unwrap()["metadata"]["annotations"][ours::DIAGNOSTICS] = noted.as_str().into();
    world.settle();
    assert_eq!(world.status["diagnostics"], noted);
    world.remote = None;
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(world.status["diagnostics"], noted);
}

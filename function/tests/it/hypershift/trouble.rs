//! Failures that are final, and those that are not.

use function_model::{
    hive::status_written,
    world::{World, set_synced},
};
use rstest::rstest;
use serde_json::json;

use crate::hypershift::{is, level, minutes};

#[rstest]
#[case("ValidConfiguration", "False", "InvalidConfiguration", true)]
#[case("ValidReleaseImage", "False", "InvalidImage", true)]
#[case("ValidReleaseImage", "False", "SecretNotFound", false)]
#[case("ValidReleaseImage", "False", "PayloadArchNotFound", false)]
#[case("ClusterNetworkCIDRConflict", "True", "NetworkConflict", true)]
#[case("ClusterNetworkCIDRConflict", "False", "AsExpected", false)]
#[case("SupportedVersionSkew", "False", "Unsupported", false)]
#[case("InfrastructureReady", "False", "Waiting", false)]
#[case("Degraded", "True", "Unavailable", false)]
fn only_lasting_terminal_failures_are_final(
    #[case] type_: &str,
    #[case] status: &str,
    #[case] reason: &str,
    #[case] terminal: bool,
) {
    let mut world = World::hypershift_claim();
    world.settle();
    world.report_hypershift(&[(type_, status, reason)]);
    world.reconcile_objects();
    let response = world.pass();
    assert_eq!(world.phase(), "Provisioning");
    if terminal {
        assert!(response.meta.unwrap().ttl.unwrap().seconds <= 162, "looks again when it counts");
    }
    world.advance_time(minutes(4));
    world.settle();
    assert_eq!(world.phase(), if terminal { "Failed" } else { "Provisioning" });
    if terminal {
        assert_eq!(world.status["lastError"]["terminal"], true);
        // Nothing is left that costs money.
        world.hive_is_done();
        world.settle();
        assert!(world.remote.is_none());
        assert_eq!(level(&world, "ProwJobCompleted").0, "True");
    }
}

/// The time of a condition moves with its status alone.
#[test]
fn missing_pull_secret_does_not_make_image_invalid() {
    let mut world = World::hypershift_claim();
    world.settle();
    world.report_hypershift(&[("ValidReleaseImage", "False", "SecretNotFound")]);
    world.settle();
    world.advance_time(minutes(10));
    world.hypershift_rejects_the_image();
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    world.advance_time(minutes(2));
    world.report_hypershift(&[("ValidReleaseImage", "True", "AsExpected")]);
    world.settle();
    world.hypershift_rejects_the_image();
    world.settle();
    world.advance_time(minutes(4));
    world.settle();
    assert_eq!(world.phase(), "Failed");
}

/// HyperShift asks the API server of `KubeVirt` for its version in each reconcile, and takes an error for an invalid configuration.
#[test]
fn configuration_that_cannot_be_checked_for_a_while_is_not_final() {
    let mut world = World::hypershift_claim();
    world.settle();
    let report = |world: &mut World, message: &str| {
        world.report_hypershift(&[("ValidConfiguration", "False", "InvalidConfiguration")]);
        let conditions = world.remote.as_mut().unwrap()["status"]["conditions"].as_array_mut().unwrap();
        let own = conditions.iter_mut().find(|condition| condition["type"] == "ValidConfiguration").unwrap();
        own["message"] = json!(message);
        world.settle();
    };
    report(
        &mut world,
        "unable to validate OpenShift Virtualization version due to connection error: the server is currently \
         unable to handle the request",
    );
    world.advance_time(minutes(60));
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(world.status["lastError"]["terminal"], false);
    assert_eq!(world.status["lastError"]["reason"], "ValidConfiguration");
    report(&mut world, "service network overlaps");
    world.advance_time(minutes(2));
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "the grace period begins with this message");
    world.advance_time(minutes(2));
    world.settle();
    assert_eq!(world.phase(), "Failed");
}

/// A failure of the hub's last observation may have passed.
#[test]
fn failure_does_not_become_final_unobserved() {
    let mut world = World::hypershift_claim();
    world.settle();
    world.report_hypershift(&[("ValidConfiguration", "False", "InvalidConfiguration")]);
    world.settle();
    world.reachable = false;
    world.settle();
    world.advance_time(minutes(30));
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    world.reachable = true;
    world.report_hypershift(&[("ValidConfiguration", "True", "AsExpected")]);
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    world.report_hypershift(&[("ValidConfiguration", "False", "InvalidConfiguration")]);
    world.settle();
    world.advance_time(minutes(4));
    world.settle();
    assert_eq!(world.phase(), "Failed");
    // And what was final stays so.
    world.reachable = false;
    world.settle();
    assert_eq!(world.phase(), "Failed");
    let said = world.status["message"].as_str().unwrap();
    assert!(said.contains("ValidConfiguration"), "{said}");
}

/// The same of a group of nodes, whose Object looks for itself.
#[rstest]
#[case("ValidPlatformConfig")]
#[case::of_a_newer_version("ValidArchPlatform")]
#[case::of_a_version_to_come("ValidSomethingNew")]
fn a_pool_that_is_not_seen_fails_nothing(#[case] type_: &str) {
    for seen in [true, false] {
        let mut world = World::hypershift_claim();
        world.settle();
        let now = world.now;
        for pool in world.node_pools.values_mut() {
            pool["metadata"]["managedFields"] = status_written(now);
            pool["status"] = json!({ "conditions": [
                { "type": type_, "status": "False", "reason": "InvalidPlatform", "message": "no", "lastTransitionTime": now },
            ] });
        }
        world.report_hypershift(&[("Available", "False", "Waiting")]);
        world.settle();
        world.advance_time(minutes(4));
        if !seen {
            let pool = world.objects.get_mut("pool-workers").unwrap();
            set_synced(&mut pool.object, Some("observe failed: cannot get object: dial tcp: i/o timeout"));
        }
        // In the first of them it is noted why.
        world.pass();
        world.pass();
        assert_eq!(world.phase(), if seen { "Failed" } else { "Provisioning" });
    }
}

/// NodePools say that their image cannot be used while the pull secret is awaited, in words that are final elsewhere.
#[test]
fn a_pull_secret_that_is_awaited_fails_no_pool() {
    for (reason, phase) in [("SecretNotFound", "Provisioning"), ("InvalidImage", "Failed")] {
        let mut world = World::hypershift_claim();
        world.settle();
        world.report_hypershift(&[("ValidReleaseImage", "False", reason)]);
        let now = world.now;
        for pool in world.node_pools.values_mut() {
            pool["metadata"]["managedFields"] = status_written(now);
            pool["status"] = json!({ "conditions": [
                { "type": "ValidReleaseImage", "status": "False", "reason": "ValidationFailed", "lastTransitionTime": now,
                  "message": "failed to get pull secret: not found" },
            ] });
        }
        world.settle();
        world.advance_time(minutes(10));
        world.settle();
        assert_eq!(world.phase(), phase, "{reason}");
    }
}

/// The check asks the registry; a registry that does not answer comes back.
#[test]
fn an_image_that_could_not_be_fetched_is_not_invalid() {
    let mut world = World::hypershift_claim();
    world.settle();
    world.report_hypershift(&[("ValidReleaseImage", "False", "InvalidImage")]);
    world.remote.as_mut().unwrap()["status"]["conditions"][0]["message"] =
        json!("Get https://quay.io/v2/: TLS handshake timeout");
    world.settle();
    world.advance_time(minutes(10));
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(world.status["lastError"]["reason"], "ValidReleaseImage");
    assert_eq!(world.status["lastError"]["terminal"], false);
}

#[test]
fn invalid_group_fails_the_claim_and_unscaled_one_does_not() {
    for (reason, phase) in [("ValidationFailed", "Failed"), ("AsExpected", "Provisioning")] {
        let mut world = World::hypershift_claim();
        world.settle();
        let born = world.now;
        // False from birth on, because nobody asked for it.
        world.advance_time(minutes(10));
        let now = world.now;
        for pool in world.node_pools.values_mut() {
            pool["metadata"]["managedFields"] = status_written(now);
            pool["status"] = json!({ "conditions": [
                { "type": "AutoscalingEnabled", "status": "False", "reason": reason, "message": "", "lastTransitionTime": born },
            ] });
        }
        world.report_hypershift(&[("Available", "False", "Waiting")]);
        world.settle();
        assert_eq!(world.phase(), "Provisioning", "{reason}");
        world.advance_time(minutes(4));
        world.settle();
        assert_eq!(world.phase(), phase, "{reason}");
    }
}

#[test]
fn lasting_failure_degrades_a_ready_cluster_and_never_fails_it() {
    let mut world = World::hosted_ready();
    world.advance_time(minutes(10));
    world.report_hypershift(&[("Available", "False", "Down"), ("ValidConfiguration", "False", "Bad")]);
    world.settle();
    assert_eq!(world.phase(), "Ready", "a flap is waited out");
    assert_eq!(level(&world, "ControlPlaneAvailable"), is("False", "Unavailable"));
    world.advance_time(minutes(5));
    world.settle();
    assert_eq!(world.phase(), "Degraded");
    assert_eq!(level(&world, "SpecApplied"), is("False", "Rejected"));
    assert_eq!(level(&world, "ClusterReady"), is("True", "Degraded"));
    world.report_hypershift(&[
        ("Available", "True", "AsExpected"),
        ("ValidConfiguration", "True", "AsExpected"),
    ]);
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

/// Nobody can tell whether it is down, which is no worse than that it is.
#[test]
fn a_control_plane_that_cannot_be_inspected_degrades_later_than_one_that_is_down() {
    let mut world = World::hosted_ready();
    world.advance_time(minutes(10));
    world.report_hypershift(&[("Available", "Unknown", "StatusUnknown")]);
    world.settle();
    assert_eq!(level(&world, "ControlPlaneAvailable"), is("Unknown", "Unavailable"));
    world.advance_time(minutes(4));
    world.settle();
    assert_eq!(world.phase(), "Ready");
    world.advance_time(minutes(1));
    world.settle();
    assert_eq!(world.phase(), "Degraded");
}

#[test]
fn nonsense_status_ends_no_cluster() {
    for status in [json!(7), json!({ "conditions": 7 }), json!({ "version": [], "conditions": [] })] {
        let mut world = World::hosted_ready();
        world.remote.as_mut().unwrap()["status"] = status;
        world.settle();
        assert!(matches!(world.phase().as_str(), "Ready" | "Degraded"), "{}", world.phase());
        assert_eq!(world.node_pools.len(), 1);
    }
}

/// A cloud's error may quote secrets of the request.
#[test]
fn message_of_the_hub_is_reported_without_secrets() {
    let mut world = World::hypershift_claim();
    world.settle();
    world.report_hypershift(&[
        ("InfrastructureReady", "False", "Failed"),
        ("EtcdAvailable", "False", "Failed"),
    ]);
    for condition in world.remote.as_mut().unwrap()["status"]["conditions"].as_array_mut().unwrap() {
        condition["message"] =
            json!("cloud refused: aws_secret_access_key=hunter2 token: hunter2 (key AKIAIOSFODNN7EXAMPLE)");
    }
    world.settle();
    assert_eq!(world.status["lastError"]["reason"], "InfrastructureReady");
    let told = world.status.to_string() + &level(&world, "InfrastructureReady").1;
    assert!(told.contains("cloud refused"), "{told}");
    assert!(!told.contains("hunter2") && !told.contains("AKIA"), "{told}");
}

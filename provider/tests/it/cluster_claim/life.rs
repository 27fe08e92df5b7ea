//! A cluster that sleeps, and what is told of it.

use std::time::Duration;

use provider_testplatform::{
    controllers::cluster_claim::operation::ClaimOperation, credentials::publish::reason::ClaimEventReason,
};
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_runtime::reconcile::Action;

use crate::cluster_claim::fixture::{CLUSTER, Case, born, condition, minutes, published, running};

const RESUME: &str = "/metadata/annotations/testplatform.ci.openshift.org~1resume";

/// Asleep since ten minutes after birth.
fn asleep() -> Case {
    let since = born() + minutes(10);
    let hibernating = json!({ "type": "Hibernating", "status": "True", "reason": "Hibernating",
        "lastTransitionTime": since.to_string() });
    published()
        .said("ClusterRunning", "False", "Resuming")
        .on_cluster("/spec/powerState", json!("Hibernating"))
        .on_cluster("/status/powerState", json!("Hibernating"))
        .on_cluster(
            "/status/conditions",
            json!([condition("Ready", "False", "StoppingOrHibernating"), hibernating]),
        )
        .at(20)
}

fn resumes(case: &Case) -> bool {
    case.step().actions.iter().any(|a| matches!(a, ClaimOperation::Resume { .. }))
}

/// It costs money until somebody helps.
#[test]
fn failed_destruction_is_reported_without_secrets() {
    let deleted = json!("2026-11-21T12:11:00Z");
    let failed = condition("Provisioned", "False", "DeprovisionFailed");
    let ends = |conditions: Value| {
        let case = published().deleted().on_cluster("/metadata/deletionTimestamp", deleted.clone());
        case.on_cluster("/status/conditions", conditions).settled().told().deprovision_failure
    };
    assert_eq!(ends(json!([condition("Provisioned", "False", "Deprovisioning")])), None);
    assert_eq!(ends(json!([failed])).unwrap().reason, "DeprovisionFailed");
    let mut cause = condition("DeprovisionLaunchError", "True", "AuthenticationFailed");
    cause["message"] = "the login failed: password=hunter2".into();
    let told = ends(json!([failed, cause])).unwrap();
    assert_eq!(told.reason, "AuthenticationFailed");
    assert_eq!(told.message, "the login failed: password=[…]");
    // A remaining condition of an earlier failure says nothing of a cluster that is not to be deleted.
    let lives = published().on_cluster("/status/conditions", json!([failed, cause])).settled();
    assert_eq!(lives.told().deprovision_failure, None);
}

#[test]
fn hibernating_cluster_is_resumed_and_reported_once() {
    let case = asleep();
    let resume = ClaimOperation::Resume { cluster_deployment: CLUSTER.into(), version: "9".into() };
    assert!(case.step().actions.contains(&resume));
    assert_eq!(case.events(), [ClaimEventReason::ClusterResumed.as_str()]);
    let case = case.settled();
    assert!(!resumes(&case));
    assert!(case.is_published(), "its credentials stay");
    assert_eq!(case.told().power_state.as_deref(), Some("Hibernating"));
}

/// Clouds do not like it sooner.
#[test]
fn cluster_is_not_resumed_at_once() {
    let early = asleep().at(13).settled();
    assert!(!resumes(&early));
    assert_eq!(early.step().requeue, Action::RequeueAfter(Duration::from_mins(7)));
    assert!(resumes(&asleep().at(20)) && resumes(&asleep().at(60)));
}

#[rstest]
#[case::it_does_not_want_that(asleep().on_claim(RESUME, json!("false")))]
#[case::claim_ends(asleep().deleted())]
#[case::cluster_ends(asleep().on_cluster("/metadata/deletionTimestamp", json!("2026-11-21T12:11:00Z")))]
#[case::another_claims(asleep().on_cluster("/spec/clusterPoolRef/claimName", json!("other")))]
#[case::nobodys(asleep().on_cluster("/spec/clusterPoolRef/claimName", Value::Null))]
#[case::not_served_yet(asleep().said("Pending", "True", "ClusterAssigned"))]
#[case::it_wakes_up_already(asleep().on_cluster("/spec/powerState", json!("Running")))]
#[case::it_falls_asleep(
    asleep().on_cluster("/status/conditions", json!([condition("Hibernating", "False", "Stopping")]))
)]
#[case::its_power_is_paused(
    asleep().on_cluster("/metadata/annotations", json!({ "hive.openshift.io/powerstate-pause": "true" }))
)]
fn hibernating_cluster_is_not_resumed(#[case] case: Case) {
    assert!(!resumes(&case));
}

/// Word for word; the step on the way where Hive says no more than that.
#[rstest]
#[case::said(json!("WaitingForNodes"), json!([]), Some("WaitingForNodes"))]
#[case::by_its_step(json!(""), json!([condition("Ready", "False", "StartingMachines")]), Some("StartingMachines"))]
#[case::by_its_sleep(
    json!(""),
    json!([condition("Ready", "False", "StoppingOrHibernating"), condition("Hibernating", "True", "Hibernating")]),
    Some("Hibernating")
)]
#[case::unknown(json!(""), json!([]), None)]
#[case::no_word(json!("not a word: hunter2"), json!([]), None)]
fn power(#[case] said: Value, #[case] conditions: Value, #[case] told: Option<&str>) {
    let case = running().on_cluster("/status/powerState", said).on_cluster("/status/conditions", conditions);
    assert_eq!(case.settled().told().power_state.as_deref(), told);
}

#[rstest]
#[case("https://console.c", Some("https://console.c"))]
#[case("", None)]
#[case("http://console.c", None)]
#[case("https://admin:hunter2@console.c", None)]
#[case("https://console.c\nx", None)]
#[case("javascript:alert(1)", None)]
fn only_usable_links_are_reported(#[case] url: &str, #[case] told: Option<&str>) {
    let case = running().on_cluster("/status/webConsoleURL", json!(url)).settled();
    assert_eq!(case.told().console_url.as_deref(), told);
    assert!(case.is_published(), "nobody waits for the console");
}

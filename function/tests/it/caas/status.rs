//! Meaning of each state of a ClusterTemplateInstance, row by row.

use function_model::world::{World, set_synced};
use jiff::SignedDuration;
use rstest::rstest;
use serde_json::json;

use crate::caas::{is, minutes};

type Said<'a> = &'a [(&'a str, &'a str, &'a str, &'a str)];

const INSTALLED: (&str, &str, &str, &str) = ("ClusterInstallSucceeded", "True", "ClusterInstalled", "");

/// Before it was ever ready.
#[rstest]
#[case::accepted("Pending", &[], ("InfrastructureReady", "False", "Provisioning"))]
#[case::installing("ClusterInstalling", &[("ClusterInstallSucceeded", "False", "ClusterInstalling", "waiting")],
    ("ControlPlaneAvailable", "False", "Creating"))]
#[case::degraded("ClusterInstallFailed", &[("ClusterInstallSucceeded", "False", "ApplicationDegraded", "a Job failed")],
    ("InfrastructureReady", "False", "Blocked"))]
#[case::quota("ClusterInstallFailed", &[("ClusterInstallSucceeded", "False", "ApplicationError", "exceeded quota: pods")],
    ("InfrastructureReady", "False", "QuotaExceeded"))]
#[case::undetected("ClusterInstallFailed", &[("ClusterInstallSucceeded", "False", "ClusterProviderDetectionFailed", "")],
    ("InfrastructureReady", "False", "Provisioning"))]
#[case::importing("ManagedClusterImportingPhase", &[INSTALLED], ("InfrastructureReady", "True", "Available"))]
#[case::import_failed("ManagedClusterImportFailed", &[INSTALLED], ("TemplateApplied", "False", "Running"))]
#[case::login("ClusterLoginPending", &[INSTALLED], ("ControlPlaneAvailable", "False", "Creating"))]
#[case::argo("ArgoClusterFailed", &[INSTALLED], ("ControlPlaneAvailable", "False", "Creating"))]
#[case::setup("ClusterSetupRunning", &[INSTALLED], ("TemplateApplied", "False", "Running"))]
#[case::setup_failed("ClusterSetupFailed", &[INSTALLED], ("TemplateApplied", "False", "SetupFailed"))]
#[case::credentials("CredentialsFailed", &[INSTALLED, ("ClusterSetupSucceeded", "True", "ClusterSetupSucceeded", "")],
    ("TemplateApplied", "True", "Applied"))]
#[case::ready_and_not("Ready", &[("ClusterInstallSucceeded", "False", "ClusterStatusFailed", "gone")],
    ("ControlPlaneAvailable", "False", "Creating"))]
fn before_it_is_ready(
    #[case] phase: &str,
    #[case] said: Said<'_>,
    #[case] (type_, status, reason): (&str, &str, &str),
) {
    let mut world = World::caas_claim();
    world.settle();
    world.report_caas(phase, "in words", said);
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(world.condition(type_), is(status, reason));
    let step = &world.status["progress"]["step"];
    assert!(step == phase || (phase == "Ready" && step == "Installing"), "{step}");
    // It is what the claim asks for from the moment on at which it is there.
    let there = if said.contains(&INSTALLED) { is("True", "UpToDate") } else { is("False", "Applying") };
    assert_eq!(world.condition("SpecApplied"), there);
}

/// Failures of CaaS, and the time until each becomes final, if ever: counted from the last change of its status.
#[rstest]
#[case("ClusterDefinitionFailed", "", "failed to create cluster definition - \"not found\"", Some(3))]
#[case(
    "ClusterDefinitionFailed",
    "",
    "failed to create cluster definition - \"dial tcp: i/o timeout\"",
    None
)]
#[case("ClusterInstallFailed", "ApplicationFetchFailed", "Failed to fetch", None)]
#[case("ClusterInstallFailed", "ApplicationDegraded", "Application is degraded", Some(5))]
#[case("ClusterInstallFailed", "ApplicationError", "chart not found", Some(5))]
#[case("ClusterInstallFailed", "ApplicationError", "exceeded quota: pods", None)]
#[case("ClusterInstallFailed", "ClusterProviderDetectionFailed", "Unknown cluster provider", None)]
#[case("ClusterInstallFailed", "ClusterStatusFailed", "Failed to detect cluster status", None)]
#[case("ManagedClusterFailed", "", "failed to create ManagedCluster", None)]
#[case("KlusterletCreateFailed", "", "failed to create Klusterlet", None)]
#[case("ArgoClusterFailed", "", "failed to add cluster to argo", Some(5))]
#[case("ClusterSetupCreateFailed", "", "failed to create cluster setup", Some(10))]
#[case("ClusterSetupFailed", "", "failed to reconcile cluster setup", Some(10))]
#[case("ClusterSetupDegraded", "", "Following cluster setups are in degraded state", Some(10))]
#[case("CredentialsFailed", "", "failed to reconcile cluster credentials", None)]
#[case("Failed", "", "failed to fetch ClusterTemplate", Some(3))]
fn only_lasting_failures_are_final(
    #[case] phase: &str,
    #[case] reason: &str,
    #[case] message: &str,
    #[case] grace: Option<i64>,
) {
    let mut world = World::caas_claim();
    world.settle();
    // Its conditions are False from birth on: their times say nothing.
    world.report_caas("ClusterInstalling", "", &[]);
    world.advance_time(minutes(60));
    let said = [("ClusterInstallSucceeded", "False", reason, message)];
    world.report_caas(phase, message, if reason.is_empty() { &[] } else { &said });
    world.settle();
    let early = grace.unwrap_or(60) * 60 - 1;
    world.advance_time(SignedDuration::from_secs(early));
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "it may pass");
    assert_eq!(world.status["lastError"]["terminal"], grace.is_some());
    assert!(world.status["lastError"]["message"].as_str().unwrap().contains(&message[..8]));
    world.advance_time(SignedDuration::from_secs(2));
    world.settle();
    assert_eq!(world.phase() == "Failed", grace.is_some(), "{}", world.phase());
    if grace.is_some() {
        // Nothing is left that costs money.
        world.hive_is_done();
        world.hosted = None;
        world.settle();
        assert!(world.remote.is_none());
        assert_eq!(world.condition("ProwJobCompleted").0, "True");
    }
}

/// Who does not say since when is not believed, and one that says something else begins anew.
#[test]
fn changed_failure_restarts_its_deadline() {
    let mut world = World::caas_claim();
    world.settle();
    for words in ["a", "b", "c"] {
        world.report_caas("ArgoClusterFailed", words, &[INSTALLED]);
        world.settle();
        world.advance_time(minutes(4));
        world.settle();
        assert_eq!(world.phase(), "Provisioning");
    }
    world.remote.as_mut().unwrap()["metadata"].as_object_mut().unwrap().remove("managedFields");
    world.reconcile_objects();
    world.advance_time(minutes(30));
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
}

#[test]
fn failed_setup_is_reported_with_its_message() {
    let mut world = World::caas_claim();
    world.settle();
    world.report_caas(
        "ClusterSetupFailed",
        "Following cluster setups are in error state - [a]",
        &[INSTALLED],
    );
    world.remote.as_mut().unwrap()["status"]["clusterSetup"] = json!([
        { "name": "a", "status": "ApplicationError", "message": "no such chart; token=hunter2hunter2" },
        { "name": "b", "status": "ApplicationHealthy", "message": "synced" },
    ]);
    world.settle();
    let said = world.condition_message("TemplateApplied").to_owned();
    assert!(said.contains("a: no such chart") && !said.contains("synced"), "{said}");
    assert!(!world.status.to_string().contains("hunter2"), "{}", world.status);
}

/// Argo CD's report on a chart is not final while the HostedCluster exists; that of the HostedCluster is.
#[test]
fn a_hosted_cluster_knows_better() {
    let mut world = World::chart_observed();
    world.settle();
    let said = [("ClusterInstallSucceeded", "False", "ApplicationDegraded", "Application is degraded")];
    world.report_caas("ClusterInstallFailed", "Application is degraded", &said);
    world.argo_makes();
    world.report_hosted_cluster("Available", "False", "Waiting", "");
    world.settle();
    world.advance_time(minutes(30));
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    world.report_hosted_cluster("ValidConfiguration", "False", "Invalid", "the platform lacks a subnet");
    world.settle();
    world.advance_time(minutes(4));
    let hosted = world.objects.get_mut("hosted").unwrap();
    set_synced(&mut hosted.object, Some("observe failed: cannot get object: dial tcp: i/o timeout"));
    world.pass();
    assert_eq!(world.phase(), "Provisioning", "nothing grows final while nobody sees it");
    world.settle();
    assert_eq!(world.phase(), "Failed");
    let message = world.status["message"].as_str().unwrap();
    assert!(message.contains("ValidConfiguration: the platform lacks a subnet"), "{message}");
}

/// After it was ready: how soon the phase is Degraded. CaaS says Ready all the same.
#[rstest]
#[case::by_caas(&[("ClusterInstallSucceeded", "False", "ClusterStatusFailed", "no such cluster")], None)]
#[case::by_hosted_cluster(&[], Some(("Available", "False", "KubeAPIServerDown", "")))]
fn once_it_was_ready(#[case] said: Said<'_>, #[case] hosted: Option<(&str, &str, &str, &str)>) {
    let mut world = World::chart_observed_ready();
    world.advance_time(minutes(10));
    world.report_caas("Ready", "Cluster is ready", said);
    if let Some((type_, status, reason, message)) = hosted {
        world.report_hosted_cluster(type_, status, reason, message);
    }
    world.settle();
    assert_eq!(world.phase(), "Ready", "a flap is waited out");
    world.advance_time(minutes(3));
    world.settle();
    assert_eq!(world.phase(), "Degraded");
    assert_eq!(world.condition("ClusterReady").0, "True", "it latches");
    world.caas_installs();
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn nonsense_status_ends_no_cluster() {
    for status in [
        json!(7),
        json!({ "conditions": 7 }),
        json!({ "phase": "Moody", "clusterSetup": 1, "conditions": [] }),
    ] {
        let mut world = World::chart_ready();
        world.remote.as_mut().unwrap()["status"] = status;
        world.settle();
        assert!(matches!(world.phase().as_str(), "Ready" | "Degraded"), "{}", world.phase());
        assert_eq!(world.made, 1);
    }
}

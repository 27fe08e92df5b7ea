//! Meaning of each state of an order, row by row.

use function_model::world::World;
use rstest::rstest;
use serde_json::{Value, json};

use crate::osac::{is, minutes, noted};

const MADE: [&str; 3] = ["NamespaceCreated", "ControlPlaneCreated", "ControlPlaneAvailable"];

/// Before it was ever ready, and before anything is seen behind it. Credentials are there in every row: none is Ready for them alone.
#[rstest]
#[case::job_waits("Progressing", &["Accepted"], "Pending", ("InfrastructureReady", "False", "Provisioning"), "Job")]
#[case::job_runs("Progressing", &["Accepted"], "Running", ("TemplateApplied", "False", "Running"), "Job")]
#[case::no_job("Progressing", &["Accepted"], "", ("TemplateApplied", "False", "Running"), "Job")]
#[case::namespace("Progressing", &MADE[..1], "Running", ("ControlPlaneAvailable", "False", "Creating"), "Namespace")]
#[case::control_plane("Progressing", &MADE[..2], "Running", ("ControlPlaneAvailable", "False", "Creating"), "ControlPlane")]
#[case::answers("Progressing", &MADE, "Running", ("ControlPlaneAvailable", "True", "Available"), "Job")]
#[case::infrastructure("Progressing", &MADE, "Running", ("InfrastructureReady", "True", "Available"), "Job")]
#[case::nodes_are_not_told("Progressing", &MADE, "Running", ("NodesReady", "Unknown", "NotReported"), "Job")]
#[case::waits_for_the_cluster("Ready", &MADE, "Succeeded", ("TemplateApplied", "True", "Applied"), "Cluster")]
#[case::failed("Failed", &["Accepted"], "Failed", ("TemplateApplied", "False", "JobFailed"), "JobFailed")]
#[case::canceled("Failed", &["Accepted"], "Canceled", ("SpecApplied", "False", "JobFailed"), "JobFailed")]
#[case::nonsense("Splendid", &["Accepted"], "Dancing", ("SpecApplied", "False", "Applying"), "Job")]
fn before_it_is_ready(
    #[case] phase: &str,
    #[case] conditions: &[&str],
    #[case] job: &str,
    #[case] (type_, status, reason): (&str, &str, &str),
    #[case] step: &str,
) {
    let mut world = World::osac_claim();
    world.settle();
    world.report_osac(phase, conditions);
    if !job.is_empty() {
        world.osac_job("job-1", "provision", job, "words of the job");
    }
    world.publish_credentials();
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(world.condition(type_), is(status, reason));
    assert_eq!(world.status["progress"]["step"], step);
}

/// An order that is done by hand has no jobs, and what is of no use behind it is not waited for.
#[test]
fn ready_by_hand_is_ready_also_where_nothing_may_be_watched() {
    let mut world = World::osac_claim();
    world.settle();
    world.report_osac("Ready", &MADE);
    world.report_osac("Ready", &["ClusterAvailable"]);
    world.publish_credentials();
    world.settle();
    assert_eq!(world.phase(), "Ready");
    assert!(world.status["apiServerURL"].is_null() && world.status["version"].is_null(), "nobody tells");
    assert_eq!(world.status["nodes"], json!({ "desired": 2 }));
    assert_eq!(world.condition("NodesReady"), is("Unknown", "NotReported"));
}

#[rstest]
#[case::another_spec("Succeeded", "other", "Provisioning")]
#[case::running("Running", "", "Provisioning")]
#[case::done("Succeeded", "", "Ready")]
fn job_of_the_current_spec_counts(#[case] state: &str, #[case] config: &str, #[case] phase: &str) {
    let mut world = World::osac_claim();
    world.settle();
    world.osac_makes();
    world.osac_job("job-9", "provision", state, "");
    if !config.is_empty() {
        let jobs = &mut world.remote.as_mut().unwrap()["status"]["provisioningJobs"];
        jobs.as_array_mut().unwrap().last_mut().unwrap()["configVersion"] = json!(config);
    }
    world.publish_credentials();
    world.settle();
    assert_eq!(world.phase(), phase);
}

/// OSAC tries again by itself, later each time. A job that failed five times with the same spec is final.
#[test]
fn fifth_failure_of_a_job_is_final() {
    let mut world = World::osac_claim();
    world.settle();
    for id in ["job-1", "job-2", "job-3", "job-4"] {
        world.report_osac("Failed", &["Accepted"]);
        world.osac_job(id, "provision", "Failed", "");
        world.settle();
        assert_eq!(world.phase(), "Provisioning", "{id}");
        assert_eq!(world.status["lastError"]["reason"], "ProvisioningJobFailed");
        assert_eq!(world.status["lastError"]["terminal"], false);
    }
    // The order forgets the oldest of its jobs.
    world.remote.as_mut().unwrap()["status"]["provisioningJobs"] = json!([]);
    world.settle();
    world.osac_runs("job-5");
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    world.report_osac("Failed", &[]);
    let trace = "Traceback (most recent call last):\n  File \"x.py\"\nValueError: password: hunter22222\n\n";
    // A quota that is used up, and a network that is away, are neither a fault of the request.
    for passing in ["quota of class fc430 exceeded", "the server is currently unable to handle the request"] {
        world.osac_job("job-5", "provision", "Failed", passing);
        world.settle();
        assert_eq!(world.phase(), "Provisioning", "{passing}");
    }
    world.osac_job("job-5", "provision", "Failed", trace);
    world.settle();
    assert_eq!(world.phase(), "Failed");
    let message = world.status["message"].as_str().unwrap();
    assert!(message.contains("ValueError") && !message.contains("Traceback"), "{message}");
    assert!(!message.contains("hunter22222"), "{message}");
    world.report_osac("Deleting", &[]);
    world.osac_job("job-6", "deprovision", "Running", "");
    world.settle();
    let message = world.status["message"].as_str().unwrap();
    assert!(message.contains("ValueError"), "what it was given up for stays told: {message}");
    world.hive_is_done();
    world.settle();
    assert!(world.remote.is_none());
    assert_eq!(world.condition("ProwJobCompleted").0, "True");
    let error = &world.status["lastError"];
    assert_eq!((&error["reason"], &error["terminal"]), (&json!("ProvisioningJobFailed"), &json!(true)));
}

/// A quota that was used up for long leaves the request as many tries as before.
#[test]
fn failures_for_want_of_a_quota_do_not_count() {
    let mut world = World::osac_claim();
    world.settle();
    world.report_osac("Failed", &["Accepted"]);
    for id in ["job-1", "job-2", "job-3", "job-4", "job-5", "job-6"] {
        world.osac_job(id, "provision", "Failed", "quota of class fc430 exceeded");
        world.settle();
    }
    world.osac_job("job-7", "provision", "Failed", "no such image");
    world.settle();
    assert_eq!(
        (world.phase().as_str(), &world.status["lastError"]["terminal"]),
        ("Provisioning", &json!(false))
    );
}

#[test]
fn failures_at_another_spec_are_others() {
    let mut world = World::osac_claim();
    world.settle();
    for (id, count) in [("job-1", 2), ("job-2", 2), ("job-3", 3), ("job-4", 3)] {
        world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "metal", "count": count }]);
        world.settle();
        world.report_osac("Failed", &["Accepted"]);
        world.osac_job(id, "provision", "Failed", "no host is free");
        world.settle();
        assert_eq!(world.phase(), "Provisioning", "{id}");
    }
    let noted: Vec<Value> = serde_json::from_str(noted(&world, "failed-jobs").as_str().unwrap()).unwrap();
    assert_eq!(noted[1..], [json!("job-3"), json!("job-4")]);
    world.osac_makes();
    world.publish_credentials();
    world.settle();
    assert_eq!(world.phase(), "Ready", "what was made in the end is there");
}

#[test]
fn storage_is_shown_and_not_waited_for() {
    let mut world = World::order_ready();
    assert!(!world.conditions.contains_key("StorageReady"));
    world.report_osac("Ready", &["ClusterStorageReady"]);
    world.settle();
    assert_eq!(world.condition("StorageReady"), is("True", "Done"));
    let conditions = &mut world.remote.as_mut().unwrap()["status"]["conditions"];
    conditions.as_array_mut().unwrap().retain(|c| c["type"] != "ClusterStorageReady");
    world.settle();
    assert_eq!(world.condition("StorageReady"), is("Unknown", "NotReported"));
    assert_eq!(world.phase(), "Ready");
    // Nor of one that is gone.
    world.report_osac("Ready", &["ClusterStorageReady"]);
    world.settle();
    assert_eq!(world.condition("StorageReady"), is("True", "Done"));
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(world.condition("StorageReady"), is("Unknown", "NotReported"));
}

#[rstest]
#[case("unmanaged", "Unmanaged")]
#[case("manual", "Manual")]
fn unmanaged_order_is_reported(#[case] state: &str, #[case] step: &str) {
    let mut world = World::osac_claim();
    world.settle();
    world.report_osac("Progressing", &["Accepted"]);
    // provider-kubernetes leaves alone annotations that others write on it.
    world.settle();
    let seen = world.objects.get_mut("order").unwrap();
    seen.object["status"]["atProvider"]["manifest"]["metadata"]["annotations"]["osac.openshift.io/management-state"] =
        json!(state);
    world.pass();
    assert_eq!(world.status["progress"]["step"], step);
}

#[test]
fn nonsense_status_ends_no_cluster() {
    for status in [
        json!(7),
        json!({ "conditions": 7 }),
        json!({ "phase": "Ready", "provisioningJobs": 1, "clusterReference": [] }),
        json!({ "clusterReference": { "namespace": "../x", "hostedClusterName": "Y" } }),
    ] {
        let mut world = World::order_ready();
        world.remote.as_mut().unwrap()["status"] = status;
        world.settle();
        world.advance_time(minutes(30));
        world.settle();
        assert!(matches!(world.phase().as_str(), "Ready" | "Degraded"), "{}", world.phase());
        assert_eq!(world.made, 1);
        assert!(world.objects.contains_key("hosted"), "what is watched stays so");
    }
}

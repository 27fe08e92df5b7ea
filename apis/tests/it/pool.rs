//! Pools that the schema accepts and refuses.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{
    pool::{
        ALWAYS_RUNNING, CREDENTIALS_NEEDED, EXTERNAL_EXCLUDES, ONE_PLATFORM, PLACE_IMMUTABLE, SPAN_RULE,
        TIME_OF_DAY_RULE, TIMES_DIFFER, TestPlatformClusterPoolSpec,
    },
    pool_report::{
        Artifacts, Ceiling, CredentialsRequest, PoolRequest, PoolStatus, RefreshReport, RefreshRequest,
        RotationReport,
    },
    pool_status::{PoolFailure, PoolPhase},
    xrd,
};

use super::support::admit;

fn spec() -> Value {
    json!({
        "namespace": "cluster-pools", "providerConfig": "hive-1", "size": 3, "baseDomain": "ci.example.com",
        "imageSetRef": { "name": "ocp-4.20" }, "credentialsRef": { "name": "aws-1" },
        "platform": { "aws": { "region": "us-east-1", "userTags": { "a": "b" } } },
    })
}

fn with(changes: &Value) -> Value {
    let mut spec = spec();
    for (key, value) in changes.as_object().unwrap() {
        spec[key] = value.clone();
    }
    spec
}

fn judged(new: &Value, old: Option<&Value>) -> Result<(), Vec<String>> {
    let xrd = xrd::test_platform_cluster_pool().unwrap();
    let schema = xrd.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
    admit(schema, &json!({ "spec": new }), old.map(|old| json!({ "spec": old })).as_ref())
}

fn window(changes: &Value) -> Value {
    let mut window = json!({ "name": "w", "days": ["Mon"], "start": "07:00", "end": "18:00", "size": 8 });
    for (key, value) in changes.as_object().unwrap() {
        window[key] = value.clone();
    }
    json!({ "schedule": { "timeZone": "Europe/Prague", "windows": [window] } })
}

#[rstest]
#[case(json!({}))]
#[case(json!({ "size": 0, "runningCount": 0, "maxSize": 0 }))]
#[case(json!({ "platform": { "openstack": { "cloud": "c" } }, "runningCount": 3 }))]
#[case(json!({ "platform": { "vsphere": {} }, "size": 0 }))]
#[case(json!({ "credentialsRef": null, "platform": { "aws": { "credentialsAssumeRole": { "roleARN": "r" } } } }))]
#[case(json!({ "scalingMode": "External" }))]
#[case(json!({ "refresh": { "nonce": "1", "strategy": "Recreate", "maxUnavailable": 2, "onArtifactChange": "Ignore" } }))]
#[case(json!({ "credentialsRotation": { "mode": "Drain" }, "claimLifetime": { "default": "4h" }, "hibernateAfter": "90m" }))]
#[case(window(&json!({})))]
#[case(window(&json!({ "start": "22:00", "end": "24:00", "days": [] })))]
fn valid_pool_is_accepted(#[case] changes: Value) {
    assert_eq!(judged(&with(&changes), None), Ok(()));
    serde_json::from_value::<TestPlatformClusterPoolSpec>(with(&changes)).unwrap();
}

#[rstest]
#[case(json!({ "platform": {} }), ONE_PLATFORM)]
#[case(json!({ "platform": { "aws": {}, "gcp": {} } }), ONE_PLATFORM)]
#[case(json!({ "platform": { "openstack": {} }, "runningCount": 2 }), ALWAYS_RUNNING)]
#[case(json!({ "platform": { "vsphere": {} } }), ALWAYS_RUNNING)]
#[case(json!({ "platform": { "gcp": {} }, "credentialsRef": null }), CREDENTIALS_NEEDED)]
#[case(json!({ "scalingMode": "External", "platform": { "vsphere": {} }, "runningCount": 3 }), EXTERNAL_EXCLUDES)]
#[case(json!({ "scalingMode": "External", "schedule": { "timeZone": "UTC", "windows": [] } }), EXTERNAL_EXCLUDES)]
#[case(json!({ "resumeTimeout": "20s" }), SPAN_RULE)]
#[case(json!({ "claimLifetime": { "maximum": "a day" } }), SPAN_RULE)]
#[case(window(&json!({ "start": "7:00" })), TIME_OF_DAY_RULE)]
#[case(window(&json!({ "start": "24:00" })), TIME_OF_DAY_RULE)]
#[case(window(&json!({ "end": "24:01" })), TIME_OF_DAY_RULE)]
#[case(window(&json!({ "end": "07:00" })), TIMES_DIFFER)]
#[case(window(&json!({ "days": ["Monday"] })), "is not one of")]
#[case(json!({ "size": -1 }), "minimum")]
#[case(json!({ "credentialsRotation": { "mode": "Patch" } }), "is not one of")]
#[case(json!({ "name": "x".repeat(64) }), "longer than 63")]
fn is_refused(#[case] changes: Value, #[case] words: &str) {
    let complaints = judged(&with(&changes), None).unwrap_err();
    assert!(complaints.iter().any(|c| c.contains(words)), "{complaints:?}");
}

#[test]
fn windows_of_clusters_that_cannot_hibernate_run_all_of_them() {
    let mut changes = window(&json!({ "runningCount": 8 }));
    changes["platform"] = json!({ "openstack": {} });
    changes["runningCount"] = json!(3);
    assert_eq!(judged(&with(&changes), None), Ok(()));
    changes["schedule"]["windows"][0]["runningCount"] = json!(7);
    assert!(judged(&with(&changes), None).unwrap_err()[0].contains(ALWAYS_RUNNING));
}

#[rstest]
#[case(json!({ "namespace": "elsewhere" }))]
#[case(json!({ "providerConfig": "hive-2" }))]
#[case(json!({ "name": "other" }))]
fn a_pool_does_not_move(#[case] changes: Value) {
    let complaints = judged(&with(&changes), Some(&spec())).unwrap_err();
    assert!(complaints[0].contains(PLACE_IMMUTABLE), "{complaints:?}");
    assert_eq!(judged(&with(&json!({ "size": 9, "drain": true })), Some(&spec())), Ok(()));
}

#[test]
fn the_definition_has_no_claim_and_no_credentials() {
    let xrd = xrd::test_platform_cluster_pool().unwrap();
    assert_eq!(xrd["metadata"]["name"], "xtestplatformclusterpools.ci.openshift.org");
    assert_eq!(
        xrd["spec"]["names"],
        json!({ "kind": "XTestPlatformClusterPool", "plural": "xtestplatformclusterpools" })
    );
    assert!(xrd["spec"].get("claimNames").is_none());
    assert!(xrd["spec"].get("connectionSecretKeys").is_none());
    for phase in PoolPhase::ALL {
        assert_eq!(serde_json::to_value(phase).unwrap(), phase.as_str());
    }
}

#[test]
fn annotations_round_trip_and_unreadable_fields_count_as_absent() {
    let status = PoolStatus {
        ceiling: Some(Ceiling { size: 1, running_count: Some(0) }),
        refresh: Some(RefreshReport { nonce: "1".into(), remaining: Some(2), ..RefreshReport::default() }),
        artifacts: Some(Artifacts { image_set: "a".into(), release_image: "b".into(), changed: true }),
        rotation: Some(RotationReport { name: "aws-2".into(), on_old: 3, ..RotationReport::default() }),
        claimed: Some(4),
        namesakes: vec!["elsewhere".into()],
        last_provision_failure: Some(PoolFailure { reason: "R".into(), ..PoolFailure::default() }),
        provision_failure_overcome: Some(true),
    };
    assert_eq!(PoolStatus::from_annotation(&status.to_annotation().unwrap()).unwrap(), status);
    assert_eq!(
        PoolStatus::default().to_annotation().unwrap(),
        r#"{"namesakes":[]}"#.replace(r#""namesakes":[]"#, "")
    );
    let request = PoolRequest {
        size: Some(3),
        refresh: Some(RefreshRequest { nonce: "1".into(), max_unavailable: None }),
        on_artifact_change: None,
        credentials: Some(CredentialsRequest::default()),
    };
    assert_eq!(serde_json::from_str::<PoolRequest>(&request.to_annotation().unwrap()).unwrap(), request);
    let odd = json!({ "ceiling": 5, "refresh": { "phase": "NewWord" }, "claimed": 2.0 });
    assert_eq!(
        PoolStatus::from_annotation(&odd.to_string()).unwrap(),
        PoolStatus { claimed: Some(2), ..PoolStatus::default() }
    );
    assert!(PoolStatus::from_annotation("not json").is_err());
}

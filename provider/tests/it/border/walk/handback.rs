//! The reverse takeover: the upstream controller finds what this provider left at any phase, under upstream's newest definition.
//!
//! Proven: each status that was ever stored is admitted by that definition as it is and after the API server has pruned it, decodes as
//! upstream's types (conditions of Kubernetes, with all required fields, one of each type, phases of its enumeration), and names the ProwJob that
//! carries the label by which upstream finds it. The finalizer is upstream's too.
//!
//! Not proven: decisions of the upstream program, which does not run here. It polls, so it also finds what changed before its start.

use std::{collections::BTreeSet, sync::LazyLock};

use jiff::Timestamp;
use jsonschema::Validator;
use provider_testplatform::controllers::ephemeral_cluster::conditions::ConditionReason;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    in_time,
    life::{Event, Life, PHASE, spec},
};
use crate::border::memory::Memory;

const OBJECTS: &str = "/apis/ci.openshift.io/v1/namespaces/ephemeral-cluster/ephemeralclusters/";
const JOBS: &str = "/apis/prow.k8s.io/v1/namespaces/ci/prowjobs/";
const FINALIZER: &str = "ephemeralcluster.ci.openshift.io/dependent-prowjob";

/// The schema of a status in upstream's newest definition.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let path = "../tests/crds/newest/ephemeralclusters.ci.openshift.io.yaml";
    let definition: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/status";
    definition.pointer(schema).expect("a schema of the status").clone()
});
static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| jsonschema::draft202012::new(&SCHEMA).unwrap());

/// The status as upstream's program decodes it. Fields that it does not know are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpstreamStatus {
    phase: String,
    #[serde(default)]
    prow_job_id: String,
    #[serde(default)]
    conditions: Vec<KubernetesCondition>,
}

/// A condition of Kubernetes: none of the five may be absent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KubernetesCondition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    reason: String,
    #[expect(dead_code, reason = "its presence is the requirement")]
    message: String,
    last_transition_time: Timestamp,
}

/// The status without fields that the definition lacks.
fn prune(status: &Value, schema: &Value) -> Value {
    match (status, &schema["properties"], &schema["items"]) {
        (Value::Object(fields), Value::Object(properties), _) => {
            let known =
                fields.iter().filter_map(|(key, value)| Some((key, prune(value, properties.get(key)?))));
            known.map(|(key, value)| (key.clone(), value)).collect()
        }
        (Value::Array(items), _, items_schema) => {
            items.iter().map(|item| prune(item, items_schema)).collect()
        }
        (other, ..) => other.clone(),
    }
}

/// Why upstream could not read a status.
fn find_fault(status: &Value) -> Result<UpstreamStatus, String> {
    let pruned = prune(status, &SCHEMA);
    for status in [status, &pruned] {
        VALIDATOR.validate(status).map_err(|error| format!("{error} at {}", error.instance_path()))?;
    }
    let decoded: UpstreamStatus = serde_json::from_value(pruned).map_err(|error| error.to_string())?;
    if !PHASE.contains(&&*decoded.phase) {
        return Err(format!("phase {}", decoded.phase));
    }
    let mut types = BTreeSet::new();
    for condition in &decoded.conditions {
        if !types.insert(condition.type_.clone()) {
            return Err(format!("two conditions {}", condition.type_));
        }
        if condition.last_transition_time.subsec_nanosecond() != 0 {
            return Err(format!("{} has a fraction of a second", condition.type_));
        }
    }
    Ok(decoded)
}

/// Phases, conditions with their reasons, and phases in which an object was left with a ProwJob.
type Coverage = (BTreeSet<String>, BTreeSet<String>, BTreeSet<String>);

/// Checks every status that was ever stored.
fn check_history(hub: &Memory, (phases, conditions, bound): &mut Coverage) {
    let mut labels = std::collections::BTreeMap::new();
    for change in hub.history() {
        let Some(object) = &change.after else { continue };
        if let Some(job) = change.path.strip_prefix(JOBS) {
            let label = &object["metadata"]["labels"]["ci.openshift.io/ephemeral-cluster"];
            labels.insert(job.to_owned(), label.clone());
        }
        let Some(name) = change.path.strip_prefix(OBJECTS) else { continue };
        let status = &object["status"];
        if status.is_null() {
            continue;
        }
        let decoded = find_fault(status).unwrap_or_else(|fault| panic!("{name}: {fault}: {status:#}"));
        if !decoded.prow_job_id.is_empty() {
            assert_eq!(labels.get(&decoded.prow_job_id), Some(&json!(name)), "{status:#}");
            bound.insert(decoded.phase.clone());
        }
        let finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
        assert!(finalizers.clone().all(|finalizer| finalizer == FINALIZER), "{:#}", object["metadata"]);
        for condition in decoded.conditions {
            conditions.insert(format!("{}={}/{}", condition.type_, condition.status, condition.reason));
        }
        phases.insert(decoded.phase);
    }
}

/// Lives that reach every phase by different ways.
const LIVES: [&[Event]; 6] = {
    use Event::{
        BuildAway, BuildBack, DeleteJob, Failure, Install, Namespace, Schedule, Success, TearDown, Wait,
    };
    [
        &[Schedule, Wait(60), Namespace, Wait(60), Install, Wait(60), TearDown, Wait(60), Success, Wait(60)],
        &[TearDown, Wait(600)],
        &[Schedule, Namespace, Wait(60), Failure, Wait(60)],
        &[Schedule, Namespace, Install, Wait(60), DeleteJob, Wait(600)],
        &[Schedule, Namespace, Install, Wait(60), TearDown, Wait(60), Failure, Wait(60)],
        &[
            Schedule,
            Namespace,
            Wait(60),
            BuildAway,
            Wait(600),
            TearDown,
            Wait(600),
            BuildBack,
            Wait(600),
            Success,
            Wait(60),
        ],
    ]
};

#[test]
fn every_stored_status_is_one_of_upstream() {
    let mut coverage = Coverage::default();
    for events in LIVES {
        in_time(async {
            let life = Life::begin(0).await;
            let mut refused = spec();
            refused["ciOperator"]["test"]["clusterProfile"] = json!("of-nobody");
            life.put_beside("refused", json!({ "spec": refused }));
            life.until("bound", |ec| ec["status"]["prowJobId"].is_string()).await;
            for event in events {
                life.happen(*event).await;
            }
            life.end().await;
            check_history(&life.hub, &mut coverage);
        });
    }
    let (phases, conditions, bound) = coverage;
    assert_eq!(phases, PHASE.map(str::to_owned).into());
    assert_eq!(bound, PHASE.map(str::to_owned).into(), "with a ProwJob");
    for expected in [
        "ProwJobCreating=True/Creating",
        "ProwJobCreating=False/ProwJobCreated",
        "ProwJobCreating=False/EphemeralClusterValidationFailure",
        "ClusterReady=True/CredentialsPublished",
        "ClusterReady=False/",
        "TestCompleted=True/Signalled",
        "TestCompleted=False/",
        "ProwJobCompleted=True/ProwJobCompleted",
        "ProwJobCompleted=True/DeprovisionFailed",
    ] {
        let is_there = conditions.iter().any(|found| found.starts_with(expected));
        assert!(is_there, "{expected} is not among {conditions:#?}");
    }
}

/// The check finds each fault that upstream's types do not admit.
#[test]
fn a_status_that_upstream_cannot_read_is_a_fault() {
    let condition = json!({ "type": "ClusterReady", "status": "True", "reason": "CredentialsPublished", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z" });
    let status =
        |condition: &Value| json!({ "phase": "Ready", "conditions": [condition], "observedGeneration": 1 });
    assert!(find_fault(&status(&condition)).is_ok());
    for (field, value) in [
        ("message", Value::Null),
        ("message", json!("x".repeat(32_769))),
        ("reason", json!("")),
        ("reason", json!("two words")),
        ("status", json!("true")),
        ("type", json!("Cluster Ready")),
        ("lastTransitionTime", json!("yesterday")),
        ("lastTransitionTime", json!("2026-01-01T00:00:00.5Z")),
    ] {
        let mut changed = condition.clone();
        changed[field] = value;
        assert!(find_fault(&status(&changed)).is_err(), "{changed}");
    }
    let mut absent = condition.clone();
    absent.as_object_mut().unwrap().remove("message");
    assert!(find_fault(&status(&absent)).is_err());
    assert!(find_fault(&json!({ "phase": "Ready", "conditions": [condition, condition] })).is_err());
    assert!(find_fault(&json!({ "phase": "Gone" })).is_err());
    assert!(find_fault(&json!({ "conditions": [] })).is_err());
}

#[test]
fn every_reason_has_the_form_that_upstream_admits() {
    let reason =
        jsonschema::draft202012::new(&SCHEMA["properties"]["conditions"]["items"]["properties"]["reason"])
            .unwrap();
    for known in ConditionReason::ALL {
        assert!(reason.is_valid(&json!(known.as_str())), "{}", known.as_str());
    }
}

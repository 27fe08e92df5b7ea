//! Reads a claim's cleanup settings and a run's state from raw objects. Pure.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use testplatform_apis::{cleanup, condition::ConditionType, names::ours, phase::Phase};

use super::plan::{Claim, Fate, MOST_RUNS, Run, RunKind};

/// API group of Tekton.
pub const TEKTON: &str = "tekton.dev";

/// Reads a claim or composite; None if it does not request cleanup. `body` is everything except its metadata.
pub fn read_claim(metadata: &ObjectMeta, body: &Value) -> Option<Claim> {
    let (spec, status) = (&body["spec"], &body["status"]);
    let retention = cleanup::debug_retention(spec)?.ok();
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let owners = metadata.owner_references.iter().flatten();
    let mut runs: Vec<Run> = owners
        .filter_map(|owner| {
            let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
            let run = Run {
                kind: RunKind::parse(&owner.kind).filter(|_| group == TEKTON)?,
                namespace: namespace.to_owned(),
                name: owner.name.clone(),
                uid: owner.uid.clone(),
            };
            run.is_legal().then_some(run)
        })
        .collect();
    // A claim with so many runs does not make anybody read them all.
    let retention = retention.filter(|_| runs.len() <= MOST_RUNS);
    runs.truncate(MOST_RUNS);
    let conditions = status["conditions"].as_array();
    let condition = |type_: ConditionType| conditions?.iter().find(|c| c["type"] == type_.as_str());
    let is = |phase: Phase| status["phase"] == phase.to_string();
    let completed = condition(ConditionType::ProwJobCompleted).is_some_and(|c| c["status"] == "True");
    let failed =
        is(Phase::Failed).then(|| parse_time(&condition(ConditionType::ClusterReady)?["lastTransitionTime"]));
    let over = is(Phase::Deprovisioning) || is(Phase::Deprovisioned) || (failed.is_some() && completed);
    Some(Claim {
        retention,
        namespace: namespace.to_owned(),
        runs,
        tear_down: spec["tearDownCluster"].as_bool(),
        failed,
        ends: over || metadata.deletion_timestamp.is_some(),
        note: metadata.annotations.as_ref().and_then(|notes| notes.get(ours::CLEANUP_SINCE)).cloned(),
    })
}

/// How a run is. `found`: the object of its name, if there is one.
///
/// A run is finished when Tekton calls it done: condition `Succeeded` exists and is not `Unknown`; a retried run has it `Unknown`. A run in
/// deletion is finished too: its owner needs nothing of it any more, and a finalizer of somebody else may delay the deletion.
pub fn run_fate(run: &Run, found: Option<&Value>) -> Fate {
    let Some(object) = found.filter(|object| object["metadata"]["uid"] == run.uid) else {
        return Fate::Gone;
    };
    let status = &object["status"];
    let conditions = status["conditions"].as_array();
    let succeeded = conditions.and_then(|all| all.iter().find(|c| c["type"] == "Succeeded"));
    if let Some(condition) = succeeded.filter(|c| c["status"] == "True" || c["status"] == "False") {
        return Fate::Over(
            parse_time(&status["completionTime"]).or_else(|| parse_time(&condition["lastTransitionTime"])),
        );
    }
    match &object["metadata"]["deletionTimestamp"] {
        Value::Null => Fate::Runs,
        at => Fate::Over(parse_time(at)),
    }
}

fn parse_time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

//! Parsing of a claim and of the runs that own it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use provider_testplatform::controllers::cleanup::{
    observe,
    plan::{Fate, Run, RunKind},
};
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{duration::GoDuration, names::ours};

use crate::cleanup::{at, body, claim, metadata, owner, run};

#[test]
fn only_claims_with_cleanup_are_read() {
    let claim = claim();
    assert_eq!(claim.retention, Some(GoDuration::from_mins(30)));
    let (kind, name) = (RunKind::PipelineRun, "p".to_owned());
    assert_eq!(claim.runs, [Run { kind, name, namespace: "tenant-a".into(), uid: "uid-p".into() }]);
    assert_eq!((claim.tear_down, claim.failed, claim.ends, claim.note), (None, None, false, None));
    for spec in [
        json!({}),
        json!({ "cleanup": {} }),
        json!({ "cleanup": { "onOwnerCompletion": false } }),
        json!(null),
    ] {
        assert_eq!(observe::read_claim(&metadata(), &json!({ "spec": spec })), None, "{spec}");
    }
    let alone = json!({ "spec": { "cleanup": { "onOwnerCompletion": true } } });
    assert_eq!(observe::read_claim(&metadata(), &alone).unwrap().retention, Some(GoDuration::ZERO));
    for wrong in [json!("soon"), json!("-1m"), json!(5), json!("")] {
        let mut body = body();
        body["spec"]["cleanup"]["keepForDebug"] = wrong.clone();
        assert_eq!(observe::read_claim(&metadata(), &body).unwrap().retention, None, "{wrong}");
    }
}

#[test]
fn runs_are_those_of_tekton_alone() {
    let mut metadata = metadata();
    let mut others = vec![owner("TaskRun", "t"), owner("Pipeline", "x"), owner("Snapshot", "s")];
    others.push(OwnerReference { api_version: "example.com/v1".into(), ..owner("PipelineRun", "y") });
    others.push(OwnerReference { api_version: "v1".into(), ..owner("PipelineRun", "z") });
    others.push(OwnerReference { api_version: "tekton.dev/v1beta1".into(), ..owner("PipelineRun", "old") });
    // No run has such a name, and it would go into the address of a call.
    others.extend(
        ["../../secrets/x", "x?watch=1", "a,metadata.namespace=b", "", "X"]
            .map(|name| owner("TaskRun", name)),
    );
    metadata.owner_references = Some(others);
    let runs = observe::read_claim(&metadata, &body()).unwrap().runs;
    assert_eq!(runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>(), ["t", "old"]);
}

fn object(status: &Value) -> Value {
    json!({ "metadata": { "name": "p", "uid": "uid-p" }, "status": status })
}

#[rstest]
#[case(json!(null), Fate::Runs)]
#[case(json!({ "conditions": [] }), Fate::Runs)]
#[case(json!({ "conditions": [{ "type": "Succeeded", "status": "Unknown" }] }), Fate::Runs)]
// A TaskRun that is tried again.
#[case(json!({ "completionTime": "2026-03-02T12:00:00Z", "conditions": [{ "type": "Succeeded", "status": "Unknown" }] }), Fate::Runs)]
#[case(json!({ "conditions": [{ "type": "Ready", "status": "True" }] }), Fate::Runs)]
#[case(json!({ "completionTime": "2026-03-02T12:00:00Z", "conditions": [{ "type": "Succeeded", "status": "True" }] }), Fate::Over(Some(at("12:00:00"))))]
#[case(json!({ "completionTime": "2026-03-02T12:00:00Z", "conditions": [{ "type": "Succeeded", "status": "False" }] }), Fate::Over(Some(at("12:00:00"))))]
#[case(json!({ "conditions": [{ "type": "Succeeded", "status": "False", "lastTransitionTime": "2026-03-02T12:01:00Z" }] }), Fate::Over(Some(at("12:01:00"))))]
#[case(json!({ "completionTime": "noon", "conditions": [{ "type": "Succeeded", "status": "True" }] }), Fate::Over(None))]
fn run_is_over_by_its_condition(#[case] status: Value, #[case] fate: Fate) {
    assert_eq!(observe::run_fate(&run(), Some(&object(&status))), fate, "{status}");
}

#[test]
fn deleted_run_is_over() {
    assert_eq!(observe::run_fate(&run(), None), Fate::Gone);
    let mut other = object(&json!(null));
    other["metadata"]["uid"] = "another".into();
    assert_eq!(observe::run_fate(&run(), Some(&other)), Fate::Gone, "one of its name");
    let mut going = object(&json!({ "conditions": [{ "type": "Succeeded", "status": "Unknown" }] }));
    going["metadata"]["deletionTimestamp"] = "2026-03-02T12:02:00Z".into();
    assert_eq!(observe::run_fate(&run(), Some(&going)), Fate::Over(Some(at("12:02:00"))));
}

/// A note on the object is what the constant says, because function and plugin read it there.
#[test]
fn annotation_is_read_at_its_key() {
    let notes = [(ours::CLEANUP_SINCE.to_owned(), "2026-03-02T12:00:00Z".to_owned())];
    let metadata = ObjectMeta { annotations: Some(notes.into()), ..metadata() };
    assert_eq!(observe::read_claim(&metadata, &body()).unwrap().note.unwrap(), "2026-03-02T12:00:00Z");
}

//! Request bytes → response: no panic, the same twice, and nothing of ours dropped.

use std::collections::BTreeSet;

use function_testplatform::{
    Options, Thought,
    proto::{Resource, RunFunctionRequest, RunFunctionResponse, Severity},
    run, wire,
};
use jiff::Timestamp;
use prost::{Message as _, bytes::Bytes};
use serde_json::Value;
use testplatform_apis::names::ours;

/// When every request is looked at: some deadlines of the corpus have passed by then.
const NOW: &str = "2026-11-21T10:30:00Z";
/// What a violated invariant begins with, which no request may bring about.
const VIOLATED: &str = "internal error";
/// But for this one: a kubeconfig or password that reads like something that is in every answer is found in there. The answer is a
/// FATAL, which changes nothing.
const CHANCE: &str = "a secret would leave";
/// Ours without the label.
const UNLABELLED: [&str; 2] = ["ec", "credentials"];

/// Whatever the bytes.
pub fn check(bytes: &[u8]) {
    if let Ok(request) = RunFunctionRequest::decode(bytes) {
        answered(&request);
    }
}

/// The answer to a request, if it is one that core applies.
pub fn answered(request: &RunFunctionRequest) -> Option<RunFunctionResponse> {
    let now: Timestamp = NOW.parse().expect("a time");
    let response = run(request, &Options::default(), now);
    let bytes = response.encode_to_vec();
    assert_eq!(
        bytes,
        run(request, &Options::default(), now).encode_to_vec(),
        "another answer the second time"
    );
    assert_eq!(RunFunctionResponse::decode(&bytes[..]).as_ref(), Ok(&response), "not what was sent");
    let fatal = response.results.iter().filter(|result| result.severity == i32::from(Severity::Fatal));
    let mut fatal = fatal.map(|result| result.message.as_str()).peekable();
    if fatal.peek().is_some() {
        let violated = fatal.find(|words| words.starts_with(VIOLATED) && !words.contains(CHANCE));
        assert!(violated.is_none() || garbled(request), "{violated:?}");
        return None;
    }
    let thought = Thought::about(request, now).expect("what is answered was understood");
    assert_eq!(thought.violation(&response, request), None);
    if matches!(thought, Thought::Cluster(_)) {
        kept(request, &response);
    }
    Some(response)
}

/// Whether an observed resource is none that an API server has, or none that we ever wrote: without a name, and so without the notes
/// that are needed where the writer is lost, or with a remote object of no name or namespace. What the function then lacks, its last
/// check sees, and changes nothing.
fn garbled(request: &RunFunctionRequest) -> bool {
    let observed = request.observed.iter().flat_map(|state| state.resources.values());
    observed.map(object).any(|object| {
        object.is_none_or(|object| {
            let remote = &object["spec"]["forProvider"]["manifest"]["metadata"];
            let names = [&object["metadata"]["name"], &remote["name"], &remote["namespace"]];
            !names.into_iter().all(Value::is_string)
        })
    })
}

fn object(bytes: &Bytes) -> Option<Value> {
    wire::to_value(&Resource::decode(bytes.clone()).ok()?.resource).ok()
}

/// As long as nothing ends, what was observed of ours is desired. This is the function's first invariant once more, without its code.
fn kept(request: &RunFunctionRequest, response: &RunFunctionResponse) {
    let desired = response.desired.as_ref().expect("an answer without a desired state");
    let phase = desired.composite.as_ref().and_then(|composite| {
        let composite = wire::to_value(&composite.resource).expect("a composite of ours");
        composite["status"]["phase"].as_str().map(str::to_owned)
    });
    let phase = phase.unwrap_or_default();
    if ["Deprovisioning", "Deprovisioned", "Failed"].contains(&phase.as_str()) {
        return;
    }
    let observed = request.observed.iter().flat_map(|state| &state.resources);
    let ours: BTreeSet<&str> =
        observed.filter(|(name, bytes)| is_ours(name, bytes)).map(|(name, _)| name.as_str()).collect();
    let dropped = ours.into_iter().find(|name| !desired.resources.contains_key(*name));
    assert_eq!(dropped, None, "dropped while {phase:?}");
}

fn is_ours(name: &str, bytes: &Bytes) -> bool {
    let labelled = |object: Value| object["metadata"]["labels"][ours::COMPONENT].is_string();
    UNLABELLED.contains(&name) || object(bytes).is_some_and(labelled)
}

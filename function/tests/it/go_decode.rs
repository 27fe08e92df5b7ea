//! Go sees the same as core: a Go program with Crossplane's own generated messages decodes every response.

use std::{fs, path::PathBuf, process::Command};

use function_model::{
    requests::{self, MADE, all_requests},
    view::{normalize_json, render_response},
};
use prost::Message as _;
use serde_json::{Value, json};
use testplatform_composites::{
    Options, run,
    sdk::proto::{Resource, ResponseMeta, RunFunctionResponse, State, resource::ConnectionDetailsEntry},
};
use testplatform_engines::Engines;

use crate::tools;

/// The program that decodes, from the cache of this machine.
fn decoder() -> PathBuf {
    let mut found = Engines::from_environment().unwrap().ensure(&["response-decoder"]).unwrap();
    found.remove("response-decoder").unwrap()
}

/// Each response as Go prints it.
fn decode(responses: &[RunFunctionResponse]) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0..responses.len()).map(|i| dir.path().join(i.to_string())).collect();
    for (file, response) in files.iter().zip(responses) {
        fs::write(file, response.encode_to_vec()).unwrap();
    }
    let lines = tools::output(Command::new(decoder()).args(&files)).unwrap_or_else(|why| panic!("{why}"));
    lines.lines().map(|line| normalize_json(serde_json::from_str(line).unwrap())).collect()
}

#[test]
fn go_sees_every_response_as_we_do() {
    let now = MADE.parse().unwrap();
    let cases = all_requests(now);
    assert!(cases.len() >= 30, "requests are missing");
    let responses: Vec<_> = cases.iter().map(|c| run(&c.to_request(), &Options::default(), now)).collect();
    let seen = decode(&responses);
    assert_eq!(seen.len(), cases.len());
    for ((case, response), seen) in cases.iter().zip(&responses).zip(seen) {
        let ours = normalize_json(render_response(response));
        assert_eq!(seen, ours, "{}: Go's view on the left, ours on the right", case.name);
        assert!(
            !nil_detail(&seen),
            "{}: core deletes the key of a nil connection detail: {seen:#}",
            case.name
        );
    }
}

#[test]
fn withdrawn_credentials_are_present_and_empty() {
    let now = MADE.parse().unwrap();
    let request = function_model::request_from_json(&requests::read_example("deprovisioned", now));
    let seen = decode(&[run(&request, &Options::default(), now)]).remove(0);
    let composite = &seen["desired"]["composite"];
    assert_eq!(composite["resource"]["status"]["phase"], json!("Deprovisioned"), "{seen:#}");
    assert_eq!(
        composite["connection_details"],
        json!({"kubeconfig": "", "kubeAdminPassword": ""}),
        "{seen:#}"
    );
    // Core hands the Secret to the claim only while the composite is ready.
    assert_eq!(composite["ready"], json!(1.0), "{seen:#}");
}

/// The check above would be worth nothing if Go's view were the same for both.
#[test]
fn a_missing_value_is_nil_and_an_empty_one_is_not() {
    let entry = |key: &str, value: Option<&'static [u8]>| ConnectionDetailsEntry {
        key: key.to_owned(),
        value: value.map(Into::into),
    };
    let details = vec![entry("empty", Some(b"")), entry("full", Some(b"x")), entry("missing", None)];
    let resource = Resource { connection_details: details, ..Resource::default() };
    let response = RunFunctionResponse {
        meta: Some(ResponseMeta::default()),
        desired: Some(State {
            resources: [("one".to_owned(), resource.encode_to_vec().into())].into(),
            composite: Some(resource),
        }),
        ..RunFunctionResponse::default()
    };
    let seen = decode(std::slice::from_ref(&response)).remove(0);
    let expected = json!({"connection_details": {"empty": "", "full": "eA==", "missing": null}});
    assert_eq!(seen["desired"], json!({"composite": expected, "resources": {"one": expected}}));
    assert_eq!(seen, normalize_json(render_response(&response)));
    assert!(nil_detail(&seen));
}

/// `true` if any connection detail in a view is nil.
fn nil_detail(seen: &Value) -> bool {
    let composed = seen["desired"]["resources"].as_object().into_iter().flat_map(|map| map.values());
    let mut details = composed
        .chain([&seen["desired"]["composite"]])
        .filter_map(|resource| resource["connection_details"].as_object());
    details.any(|details| details.values().any(Value::is_null))
}

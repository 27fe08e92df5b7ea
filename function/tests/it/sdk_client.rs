//! The program as a client sees it that nobody here wrote: Crossplane's SDK for Python, with its generated messages
//! and stubs, over mutual TLS.

use std::time::Duration;

use crate::sdk::{bytes, certs::Authority, sent, server::Server};
use function_model::{
    requests::{all_requests, read_example},
    view::{normalize_json, render_response},
};
use jiff::Timestamp;
use prost::Message as _;
use serde_json::{Value, json};
use testplatform_composites::{Options, run, sdk::proto::RunFunctionRequest};

/// The program has a real clock.
#[expect(clippy::disallowed_methods, reason = "requests are made to look as if they were made now")]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Expected answer, byte for byte: the function's own in this process for the same request.
pub fn expected(request: &RunFunctionRequest) -> Vec<u8> {
    run(request, &Options::default(), now()).encode_to_vec()
}

#[test]
fn both_api_versions_answer_as_in_process() {
    let authority = Authority::new("one");
    let server = Server::start(&authority, &[]);
    let now = now();
    let cases = all_requests(now);
    let requests: Vec<Value> = cases.iter().map(|case| case.form.clone()).collect();
    let seen = server.call(&authority.dial(), &requests);
    for (i, case) in cases.iter().enumerate() {
        let name = &case.name;
        for version in ["v1", "v1beta1"] {
            let result = &seen[version][i];
            assert_eq!(result["code"], "OK", "{name} {version}: {result}");
            let request = sent(result);
            let response = run(&request, &Options::default(), now);
            let later = run(&request, &Options::default(), now + Duration::from_mins(1));
            assert_eq!(later, response, "{name}: a deadline passes while this runs; give it a later one");
            assert_eq!(
                normalize_json(result["view"].clone()),
                normalize_json(render_response(&response)),
                "{name} {version}: their view"
            );
            assert_eq!(bytes(&result["response"]), response.encode_to_vec(), "{name} {version}: bytes");
            // Their reading of the request and ours are the same.
            assert_eq!(
                render_response(&run(&case.to_request(), &Options::default(), now)),
                render_response(&response),
                "{name}"
            );
        }
        assert_eq!(seen["v1"][i]["response"], seen["v1beta1"][i]["response"], "{name}");
    }
}

#[test]
fn own_requests_match_their_names() {
    let authority = Authority::new("one");
    let server = Server::start(&authority, &[]);
    let cases = [
        ("first-call", "Pending", false),
        ("create", "Pending", false),
        ("provisioning", "Provisioning", false),
        ("ready", "Ready", true),
        ("deprovisioned", "Deprovisioned", true),
    ];
    let requests: Vec<_> = cases.iter().map(|(name, ..)| read_example(name, now())).collect();
    let seen = server.call(&authority.dial(), &requests);
    for (i, (name, phase, ready)) in cases.into_iter().enumerate() {
        let view = normalize_json(seen["v1"][i]["view"].clone());
        let composite = &view["desired"]["composite"];
        assert_eq!(composite["resource"]["status"]["phase"], phase, "{name}: {composite}");
        assert_eq!(composite["ready"], if ready { 1.0 } else { 2.0 }, "{name}: {composite}");
        assert_eq!(view["meta"]["tag"], requests[i]["meta"]["tag"], "{name}");
        // Another step's resource and context come back as they were.
        let given = normalize_json(requests[i].clone());
        let notify = |of: &Value| of["desired"]["resources"]["notify"]["resource"].clone();
        assert_eq!(notify(&view), notify(&given), "{name}");
        assert_eq!(view["context"], given["context"], "{name}");
    }
    let details = |i: usize| &seen["v1"][i]["view"]["desired"]["composite"]["connection_details"];
    assert_eq!(*details(3), requests[3]["observed"]["resources"]["credentials"]["connectionDetails"]);
    assert_eq!(*details(4), json!({"kubeconfig": "", "kubeAdminPassword": ""}));
}

#[test]
fn a_hundred_calls_at_once_are_answered_each_for_itself() {
    let authority = Authority::new("one");
    let server = Server::start(&authority, &[]);
    let names = ["create", "provisioning", "ready", "deprovisioned"];
    let request = |i: usize| {
        let mut request = read_example(names[i % names.len()], now());
        request["meta"]["tag"] = json!(format!("call {i}"));
        request
    };
    let seen = server.call(&authority.dial(), &(0..100).map(request).collect::<Vec<_>>());
    for result in ["v1", "v1beta1"].iter().flat_map(|version| seen[version].as_array().unwrap()) {
        assert_eq!(result["code"], "OK", "{result}");
        assert_eq!(bytes(&result["response"]), expected(&sent(result)));
    }
}

//! Who gets in, what fits through, and how it ends.

use std::time::{Duration, Instant};

use function_model::requests::read_example;
use prost::Message as _;
use prost_types::FileDescriptorProto;
use serde_json::{Value, json};

use super::{
    bytes,
    certs::Authority,
    descriptors::{flat, ours},
    sent,
    server::Server,
};
use crate::sdk_client::{expected, now};

const SERVICES: [&str; 2] = [
    "apiextensions.fn.proto.v1.FunctionRunnerService",
    "apiextensions.fn.proto.v1beta1.FunctionRunnerService",
];

/// One call in one version.
fn call(server: &Server, tls: &Value, request: &Value) -> Value {
    server.ask(tls, json!({"do": "calls", "versions": ["v1"], "requests": [request]}))["v1"][0].take()
}

/// Refused by the server, and not because the client lost patience.
fn assert_refused(result: &Value, who: &str) {
    assert_eq!(result["code"], "UNAVAILABLE", "{who}: {result}");
    assert!(result["seconds"].as_f64().unwrap() < 5.0, "{who} is refused late: {result}");
}

fn assert_answered(result: &Value, who: &str) {
    assert_eq!(result["code"], "OK", "{who}: {}", result["details"]);
    assert!(
        bytes(&result["response"]) == expected(&sent(result)),
        "{who} gets another answer: {}",
        result["view"]
    );
}

#[test]
fn clients_without_a_good_certificate_are_refused() {
    let (authority, other) = (Authority::new("one"), Authority::new("other"));
    // Its name does not make an authority: the impostor has the same one.
    let impostor = Authority::new("one");
    let mut server = Server::start(&authority, &[]);
    let request = read_example("ready", now());
    assert_answered(&call(&server, &authority.dial(), &request), "core");
    assert_refused(&call(&server, &authority.dial_without(), &request), "a client without a certificate");
    assert_refused(&call(&server, &authority.dial_with(&other.client()), &request), "another's client");
    assert_refused(
        &call(&server, &authority.dial_with(&impostor.client()), &request),
        "an impostor's client",
    );
    assert_refused(
        &call(&server, &authority.dial_with(&authority.expired_client()), &request),
        "a client whose time is over",
    );
    assert_refused(
        &call(&server, &authority.dial_with(&authority.server()), &request),
        "a server's certificate",
    );
    assert_refused(&call(&server, &Value::Null, &request), "plain text");
    assert!(server.running());
    assert_answered(&call(&server, &authority.dial(), &request), "core, after all those");
}

#[test]
fn certificates_are_rotated_without_a_restart() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let mut server = Server::start(&old, &[]);
    let request = read_example("ready", now());
    assert_answered(&call(&server, &old.dial(), &request), "the old client");
    assert_refused(&call(&server, &old.dial_with(&new.client()), &request), "the new client before its time");

    // Both sides at once: another certificate for the server, another authority for its clients.
    server.replace_certificates("2", &new.server(), &new);
    let wait = json!({"do": "calls", "versions": ["v1"], "requests": [request], "until_ok_seconds": 20});
    let first = server.ask(&new.dial(), wait)["v1"][0].take();
    assert_answered(&first, "the new client");
    assert_refused(&call(&server, &new.dial_with(&old.client()), &request), "the old client afterwards");
    assert_refused(&call(&server, &old.dial_with(&new.client()), &request), "who trusts the old server");
    assert!(server.running());
}

#[test]
fn request_size_limit_is_exact() {
    let authority = Authority::new("one");
    let mut request = read_example("provisioning", now());
    let large = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "x".repeat(5 << 20)}});
    request["observed"]["resources"]["large"] = json!({"resource": large});

    let mut server = Server::start(&authority, &["--max-recv-message-size=4"]);
    let result = call(&server, &authority.dial(), &request);
    assert_eq!(result["code"], "RESOURCE_EXHAUSTED", "{}", result["details"]);
    assert!(server.running());
    assert_answered(
        &call(&server, &authority.dial(), &read_example("provisioning", now())),
        "a small one afterwards",
    );

    for flags in [&["--max-recv-message-size=6"][..], &[]] {
        let server = Server::start(&authority, flags);
        assert_answered(&call(&server, &authority.dial(), &request), "5 MiB");
    }
}

/// gRPC's own clients, core among them, receive 4 MiB and drop what is larger.
#[test]
fn a_response_too_large_for_the_client_becomes_a_fatal() {
    let authority = Authority::new("one");
    let server = Server::start(&authority, &[]);
    let mut request = read_example("ready", now());
    request["context"] = json!({"large": "x".repeat(5 << 20)});
    let shown =
        json!({"type": "ClusterReady", "status": "False", "reason": "Provisioning", "message": "since noon"});
    request["observed"]["composite"]["resource"]["status"]["conditions"] = json!([shown]);
    let result = call(&server, &authority.dial(), &request);
    assert_eq!(result["code"], "OK", "{}", result["details"]);
    let view = &result["view"];
    let message = view["results"][0]["message"].as_str().unwrap();
    assert_eq!((&view["results"][0]["severity"], view["results"].as_array().unwrap().len()), (&json!(1), 1));
    assert!(message.contains("4194304"), "{message}");
    // Core sets those of our conditions to Unknown that a failed pass does not repeat. This pass does not report a ready
    // cluster: its credentials were not sent either.
    let said = view["conditions"].as_array().unwrap();
    assert_eq!(said.len(), 1, "{said:?}");
    for field in ["type", "reason", "message"] {
        assert_eq!(said[0][field], shown[field], "{said:?}");
    }
    assert_eq!(said[0]["status"], 3, "STATUS_CONDITION_FALSE: {said:?}");
}

#[test]
fn health_and_reflection_know_both_services() {
    let authority = Authority::new("one");
    let server = Server::start(&authority, &[]);
    let [v1, v1beta1] = SERVICES;
    let health =
        server.ask(&authority.dial(), json!({"do": "health", "services": ["", v1, v1beta1, "nobody"]}));
    assert_eq!(health, json!({"": "SERVING", v1: "SERVING", v1beta1: "SERVING", "nobody": "NOT_FOUND"}));

    let reflection = server.ask(&authority.dial(), json!({"do": "reflection", "symbols": SERVICES}));
    for protocol in ["v1", "v1alpha"] {
        let services = reflection[protocol]["services"].as_array().unwrap();
        for service in SERVICES.into_iter().chain(["grpc.health.v1.Health"]) {
            assert!(services.iter().any(|s| s == service), "{protocol}: {service} in {services:?}");
        }
        let files = reflection[protocol]["files"].as_array().unwrap();
        assert_eq!(files.len(), 2, "{protocol}: one file for each version");
        for (file, version) in files.iter().zip(["v1", "v1beta1"]) {
            let file = FileDescriptorProto::decode(&bytes(file)[..]).unwrap();
            assert_eq!(flat(&file), flat(&ours(version)), "{protocol} {version}");
        }
    }
}

#[test]
fn sigterm_lets_a_call_in_flight_end() {
    let authority = Authority::new("one");
    let bound = Duration::from_secs(20);
    let mut server = Server::start(&authority, &["--shutdown-timeout=20s"]);
    let start = Instant::now();
    let job = json!({"do": "ending", "finish": true, "requests": [read_example("ready", now())]});
    let happened = server.ask(&authority.dial(), job);
    assert_eq!(server.ended().code(), Some(0), "{happened}");
    assert!(start.elapsed() < bound, "it waited although nobody called any more");
    let fields = &happened["fields"];
    assert_eq!((&fields[":status"], &fields["grpc-status"]), (&json!("200"), &json!("0")), "{happened}");
    assert!(bytes(&happened["response"]) == expected(&sent(&happened)), "{}", happened["view"]);
    // The client is told which calls were heard: this one, and no error.
    assert_eq!(happened["last"], json!({"stream": 1, "error": 0}), "{happened}");
}

#[test]
fn sigterm_does_not_wait_for_ever() {
    let authority = Authority::new("one");
    let mut server = Server::start(&authority, &["--shutdown-timeout=1s"]);
    let job = json!({"do": "ending", "finish": false, "requests": [read_example("ready", now())]});
    let happened = server.ask(&authority.dial(), job);
    assert_eq!(server.ended().code(), Some(0), "{happened}");
    let seconds = happened["seconds"].as_f64().unwrap();
    assert!((1.0..10.0).contains(&seconds), "a call gets its time and no more: {happened}");
    assert_eq!(happened["response"], Value::Null, "{happened}");
}

//! The corpora of `fuzz/`, replayed and changed a little. `cargo test -p function-testplatform --test corpus -- --ignored seeds` writes those files of them
//! that are made of the examples.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test that cannot go on says so"
)]

#[path = "../../fuzz/oracles/claim.rs"]
mod claim;
#[path = "../../fuzz/oracles/replay.rs"]
mod replay;
#[path = "../../fuzz/oracles/request.rs"]
mod request;
mod support;
#[path = "../../fuzz/oracles/wire.rs"]
mod wire;

use std::{fs, path::Path};

use function_testplatform::proto::RunFunctionRequest;
use jiff::Timestamp;
use prost::Message as _;
use replay::{mutate, replay};
use support::{examples, requests};

#[test]
fn requests_are_answered_soundly() {
    replay("request", request::check);
    mutate("request", 1_500, request::check);
}

#[test]
fn structs_read_as_others_read_them() {
    replay("wire", wire::check);
    mutate("wire", 20_000, wire::check);
}

#[test]
fn claims_stay_data() {
    replay("claim", claim::check);
    mutate("claim", 1_500, claim::check);
}

/// Whatever the oracles let pass, they do look: each sees what it is there for.
#[test]
fn the_oracles_see_what_they_are_there_for() {
    let now: Timestamp = requests::MADE.parse().unwrap();
    let examples: Vec<_> = examples::requests(now).into_iter().map(|(_, asked)| asked).collect();
    let answered = examples.iter().filter_map(request::answered);
    let all: Vec<_> = answered.flat_map(|response| response.desired.unwrap().resources.into_keys()).collect();
    for name in ["ec", "claim", "credentials"] {
        assert!(all.iter().any(|found| found == name), "no answer has {name}");
    }
}

#[test]
#[should_panic(expected = "wire: Test failed: ")]
fn what_a_changed_file_breaks_is_told() {
    mutate("wire", 500, |bytes| assert!(!bytes.len().is_multiple_of(7)));
}

#[test]
#[ignore = "writes the corpora"]
fn seeds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let write = |path: String, bytes: &[u8]| fs::write(corpus.join(path), bytes).unwrap();
    let now: Timestamp = requests::MADE.parse().unwrap();
    let own = ["create", "deprovisioned", "first-call", "provisioning", "ready"];
    let own = own.map(|name| (name.to_owned(), support::request(&requests::own(name, now))));
    let examples =
        examples::requests(now).into_iter().map(|(name, asked)| (format!("example-{name}"), asked));
    for (name, asked) in own.into_iter().chain(examples) {
        write(format!("request/{name}"), &asked.encode_to_vec());
        let composite = |asked: RunFunctionRequest| Some(asked.observed?.composite?.resource);
        write(format!("wire/{name}"), &composite(asked).unwrap());
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    for example in fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()) {
        if let Ok(text) = fs::read(example.join("claim.yaml")) {
            write(format!("claim/{}", example.file_name().unwrap().display()), &text);
        }
    }
}

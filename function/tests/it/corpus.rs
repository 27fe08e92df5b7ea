//! The corpora of `fuzz/`, replayed and changed a little.
//!
//! `SEEDS=overwrite cargo test -p function-testplatform --test it seed` writes the files that are made of the examples.

#[path = "../../../fuzz/oracles/claim.rs"]
mod claim;
mod finds;
#[path = "../../../fuzz/oracles/replay.rs"]
mod replay;
#[path = "../../../fuzz/oracles/request.rs"]
mod request;
mod values;
#[path = "../../../fuzz/oracles/wire.rs"]
mod wire;

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use function_model::{examples, requests, walks::bounded_cases};
use jiff::Timestamp;
use prost::Message as _;
use replay::{Trial, corpus, mutate, replay, tried};
use serde_json::{Value, json};
use testplatform_composites::sdk::wire::to_value;

#[test]
fn requests_are_answered_soundly() {
    replay("request", request::check);
    mutate("request", bounded_cases(1_000), request::check);
}

/// Of a quarter of them at least the answer is one that core applies; else nothing much is looked at here.
#[test]
fn requests_with_other_values_are_answered_soundly() {
    let (tried, applied) = (Cell::new(0_u32), Cell::new(0_u32));
    values::tried(Trial::told(bounded_cases(400)), |bytes| {
        tried.set(tried.get() + 1);
        if request::applied(bytes).is_some() {
            applied.set(applied.get() + 1);
        }
    });
    let (tried, applied) = (tried.get(), applied.get());
    assert!(applied >= tried / 4, "of {tried} only {applied} have an answer that core applies");
}

#[test]
fn structs_read_as_others_read_them() {
    replay("wire", wire::check);
    mutate("wire", bounded_cases(20_000), wire::check);
}

#[test]
fn claims_stay_data() {
    replay("claim", claim::check);
    mutate("claim", bounded_cases(1_500), claim::check);
}

/// Whatever the oracles let pass, they do look: each sees what it is there for.
#[test]
fn oracles_find_planted_errors() {
    let now: Timestamp = requests::MADE.parse().unwrap();
    let examples: Vec<_> = examples::load_examples(now).into_iter().map(|(_, asked)| asked).collect();
    let answered = examples.iter().filter_map(request::answered);
    let all: Vec<_> = answered.flat_map(|response| response.desired.unwrap().resources.into_keys()).collect();
    for name in ["ec", "claim", "credentials"] {
        assert!(all.iter().any(|found| found == name), "no answer has {name}");
    }
}

/// Manifests that the claims of the corpus send to hubs, by composition resource name. The last one of each name counts.
fn asked() -> BTreeMap<String, Value> {
    corpus("claim").iter().flat_map(|(_, bytes)| claim::asked(bytes)).collect()
}

#[test]
fn corpus_has_a_claim_for_each_kind_of_cluster() {
    let asked = asked();
    let never: Vec<_> =
        claim::ASKED.iter().map(|of| of.name).filter(|name| !asked.contains_key(*name)).collect();
    let told: Vec<_> =
        corpus("claim").iter().map(|(name, bytes)| (name.clone(), claim::told(bytes))).collect();
    assert!(never.is_empty(), "no claim asks for {never:?}: {told:#?}");
}

#[test]
fn fields_that_a_claim_must_not_decide_are_found() {
    for (name, object) in asked() {
        assert_eq!(claim::wrong(&name, &object), None, "{name}");
        let ahead = object["spec"]["forProvider"]["manifest"]["kind"] == "ConfigMap";
        let manifest = "/spec/forProvider/manifest";
        let mut changes = vec![
            ("/spec/providerConfigRef/name".to_owned(), json!("x"), "another hub"),
            (format!("{manifest}/kind"), json!("x"), "another kind"),
            (format!("{manifest}/metadata/namespace"), json!("team-a"), "another namespace"),
            (format!("{manifest}/metadata/name"), json!("x"), "another name"),
        ];
        if ahead {
            changes.push((format!("{manifest}/data/order"), json!("{}"), "another cluster"));
        } else {
            changes.push((format!("{manifest}/metadata/annotations"), json!({}), "another tenant"));
        }
        if name == "cloud-credential" {
            let order = json!({ "tenant": "team-b", "cluster": { "name": "demo-x7k2p" } }).to_string();
            changes.push((format!("{manifest}/data/order"), order.into(), "another tenant"));
        }
        for (path, value, words) in changes {
            let mut object = object.clone();
            *object.pointer_mut(&path).unwrap() = value;
            assert_eq!(claim::wrong(&name, &object), Some(words), "{name}: {path}");
        }
        assert_eq!(claim::wrong("other", &object), Some("nothing of this name"));
    }
}

/// A field of less than 128 bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[(number << 3) | 2, u8::try_from(bytes.len()).unwrap()][..], bytes].concat()
}

#[test]
fn reader_handles_repeated_unknown_and_default_fields() {
    let (key, one, two) = (field(1, b"a"), field(2, &[0x20, 1]), field(2, &[0x20, 0]));
    let entry = |parts: &[&[u8]]| field(1, &parts.concat());
    let unknown = field(9, b"x");
    let wrong = json!({ "a": "wrong" });
    for (bytes, right) in [
        ([entry(&[&key, &one]), entry(&[&key, &two])].concat(), json!({ "a": false })),
        (entry(&[&key, &field(2, &[0x20, 1, 0x20, 0])]), json!({ "a": false })),
        ([unknown.clone(), entry(&[&unknown, &key, &one])].concat(), json!({ "a": true })),
        (entry(&[&field(1, b""), &key]), json!({ "a": null })),
        (entry(&[&one, &field(1, b"b"), &key]), json!({ "a": true })),
    ] {
        assert_eq!(to_value(&bytes).unwrap(), right);
        wire::check(&bytes);
        let reader = |read: &[u8]| if read == bytes { Ok(wrong.clone()) } else { to_value(read) };
        let found = catch_unwind(AssertUnwindSafe(|| wire::compared(&bytes, reader)));
        assert!(found.is_err(), "{right}: another answer to the same bytes");
    }
    // They merge repeated messages; here the last one counts.
    let inner = |key: &[u8]| field(2, &field(5, &entry(&[&field(1, key), &one])));
    let merged = entry(&[&key, &inner(b"x"), &inner(b"y")]);
    assert_eq!(to_value(&merged).unwrap(), json!({ "a": { "y": true } }));
    wire::check(&merged);
}

#[test]
#[should_panic(expected = "wire, Trial { cases: 500, seed: 1 }: Test failed: ")]
fn changed_file_that_breaks_an_oracle_is_reported() {
    tried("wire", Trial { cases: 500, seed: 1 }, |bytes| assert!(!bytes.len().is_multiple_of(7)));
}

#[test]
fn trials_are_reproducible_by_default() {
    assert_eq!(Trial::of(20, |_| None), Trial { cases: 20, seed: 1 });
    let told = |name: &str| Some(if name == "PROPTEST_CASES" { "5000" } else { "7" }.to_owned());
    assert_eq!(Trial::of(20, told), Trial { cases: 5000, seed: 7 });
    // And another seed is another trial.
    let sizes = |seed| {
        let seen = std::cell::RefCell::new(Vec::new());
        tried("wire", Trial { cases: 50, seed }, |bytes| seen.borrow_mut().push(bytes.len()));
        seen.into_inner()
    };
    assert_eq!(sizes(1), sizes(1));
    assert_ne!(sizes(1), sizes(2));
}

/// Files of the corpora that are made of the examples, by their paths.
fn seeds() -> BTreeMap<String, Vec<u8>> {
    let mut seeds = BTreeMap::new();
    let now: Timestamp = requests::MADE.parse().unwrap();
    let own = ["create", "deprovisioned", "first-call", "provisioning", "ready"];
    let own = own
        .map(|name| (name.to_owned(), function_model::request_from_json(&requests::read_example(name, now))));
    let examples =
        examples::load_examples(now).into_iter().map(|(name, asked)| (format!("example-{name}"), asked));
    let ending = finds::ENDING.map(|(name, how)| (format!("ending-{name}"), finds::ending(name, how)));
    let placeless =
        finds::PLACELESS.map(|(name, writer)| (format!("placeless-{name}"), finds::placeless(name, writer)));
    for (name, asked) in ending.into_iter().chain(placeless) {
        seeds.insert(format!("request/{name}"), asked.encode_to_vec());
    }
    for (name, asked) in own.into_iter().chain(examples) {
        seeds.insert(format!("request/{name}"), asked.encode_to_vec());
        let composite = asked.observed.unwrap().composite.unwrap();
        seeds.insert(format!("wire/{name}"), composite.resource.to_vec());
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    for example in fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()) {
        if let Ok(text) = fs::read(example.join("claim.yaml")) {
            seeds.insert(format!("claim/{}", example.file_name().unwrap().display()), text);
        }
    }
    seeds
}

#[test]
fn every_example_has_a_seed() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let overwrite = std::env::var_os("SEEDS").is_some_and(|value| value == "overwrite");
    for (path, bytes) in seeds() {
        let file = corpus.join(path);
        if overwrite {
            fs::write(&file, &bytes).unwrap();
        }
        assert!(file.is_file(), "{} is missing; SEEDS=overwrite writes it", file.display());
    }
}

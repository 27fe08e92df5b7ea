//! A tenant's text is data: through the whole way of a call it changes the one value that it is, and nothing else.

use function_model::requests::read_example;
use serde_json::{Value, json};

use super::{certs::Authority, server::Server};
use crate::sdk_client::now;

const RUN_NAMES: [&str; 2] =
    ["ephemeralcluster.ci.openshift.io/pipeline-run-name", "ephemeralcluster.ci.openshift.io/task-run-name"];
const ENV: &str = "/spec/ciOperator/test/env";
const VARIABLE: &str = "FEATURE_SET";

/// Texts that have broken templates, parsers and terminals before.
fn hostile() -> Vec<String> {
    let short = [
        "a\nb: c",
        "a\r\n---\nkind: Secret\n",
        "---",
        "...",
        "<no value>",
        "{{ .observed }}",
        "$(rm -rf /) `id` ${HOME}",
        "\"}, \"tearDownCluster\": true, \"x\": {\"",
        "'\\\"\t",
        "größe 日本 🦀",
        "\u{202e}evil\u{0}\u{7f}",
        "007",
        "1e3",
        "12345678901234567890",
        "true",
        "null",
        "~",
        "",
        " ",
        "valid-name.of-2.labels",
        "two..dots",
        "Upper-Case",
    ];
    short.into_iter().map(str::to_owned).chain(["x".repeat(64 << 10), "é\n".repeat(16 << 10)]).collect()
}

/// An RFC 1123 subdomain of at most 63 characters: all that a run can be called.
fn is_run_name(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let label = |label: &str| {
        label.chars().all(|c| alphanumeric(c) || c == '-')
            && label.starts_with(alphanumeric)
            && label.ends_with(alphanumeric)
    };
    text.len() <= 63 && text.split('.').all(label)
}

/// Puts a text somewhere into a claim.
type Change = dyn Fn(&mut Value, &str);

fn claim(request: &mut Value) -> &mut Value {
    &mut request["observed"]["composite"]["resource"]
}

fn manifest(view: &mut Value) -> &mut Value {
    &mut view["desired"]["resources"]["ec"]["resource"]["spec"]["forProvider"]["manifest"]
}

/// Answers to each change of the same claim, after the answer to the unchanged one.
fn answers(changes: &[&Change]) -> (Value, Vec<Vec<Value>>) {
    let authority = Authority::new("one");
    let server = Server::start(&authority, &[]);
    let base = read_example("create", now());
    let mut requests = vec![base.clone()];
    for (change, text) in changes.iter().flat_map(|c| hostile().into_iter().map(move |text| (c, text))) {
        let mut request = base.clone();
        change(claim(&mut request), &text);
        requests.push(request);
    }
    let mut seen = server.call(&authority.dial(), &requests);
    assert_eq!(seen["v1"].as_array().unwrap().len(), requests.len());
    let mut views = Vec::new();
    for i in 0..requests.len() {
        assert_eq!(seen["v1"][i]["code"], "OK", "{}", seen["v1"][i]["details"]);
        assert_eq!(seen["v1"][i]["response"], seen["v1beta1"][i]["response"]);
        views.push(seen["v1"][i]["view"].take());
    }
    let base = views.remove(0);
    (base, views.chunks(hostile().len()).map(<[Value]>::to_vec).collect())
}

#[test]
fn hostile_text_in_an_environment_variable_arrives_unchanged() {
    let value = |claim: &mut Value, text: &str| claim.pointer_mut(ENV).unwrap()[VARIABLE] = json!(text);
    let name = |claim: &mut Value, text: &str| claim.pointer_mut(ENV).unwrap()[text] = json!("named");
    let (base, seen) = answers(&[&value, &name]);
    for (i, text) in hostile().iter().enumerate() {
        for (change, seen) in [&value as &Change, &name].into_iter().zip(&seen) {
            let mut expected = base.clone();
            change(manifest(&mut expected), text);
            assert_eq!(seen[i], expected, "{text:.40?}");
        }
    }
}

#[test]
fn hostile_text_in_an_annotation_stays_in_it_or_is_dropped() {
    let annotate = |key: &'static str| {
        move |claim: &mut Value, text: &str| {
            claim["metadata"]["annotations"][key] = json!(text);
        }
    };
    let [pipeline, task] = RUN_NAMES;
    let (base, seen) = answers(&[&annotate(pipeline), &annotate(task), &annotate("example.org/note")]);
    for (i, text) in hostile().iter().enumerate() {
        assert_eq!(seen[2][i], base, "an annotation that is nobody's: {text:.40?}");
        for (key, seen) in RUN_NAMES.into_iter().zip(&seen) {
            let mut seen = seen[i].clone();
            let annotations = manifest(&mut seen)["metadata"]["annotations"].as_object_mut().unwrap();
            let arrived = annotations.remove(key);
            let mut expected = base.clone();
            manifest(&mut expected)["metadata"]["annotations"].as_object_mut().unwrap().remove(key);
            if is_run_name(text) {
                assert_eq!(arrived, Some(json!(text)), "{key}");
            } else {
                assert_eq!(arrived, None, "{key} {text:.40?}");
                explained(&mut expected, &mut seen, key);
            }
            assert_eq!(seen, expected, "{key} {text:.40?}");
        }
    }
}

/// Takes out of both what says that an annotation was left out. It names the annotation and does not repeat it.
fn explained(expected: &mut Value, seen: &mut Value, key: &str) {
    let accepted = |view: &mut Value| {
        let conditions = view["conditions"].as_array_mut().unwrap();
        let at = conditions.iter().position(|c| c["type"] == "RequestAccepted").unwrap();
        conditions.remove(at)
    };
    let (before, after) = (accepted(expected), accepted(seen));
    assert_eq!(after["status"], before["status"]);
    assert_eq!(after["reason"], "AnnotationIgnored", "{after}");
    let message = after["message"].as_str().unwrap();
    assert!(message.contains(key) && message.len() < 1024, "{message}");
    assert!(message.chars().all(|c| !c.is_control()), "{message:?}");
    let events = seen.as_object_mut().unwrap().remove("results");
    for event in events.iter().flat_map(|events| events.as_array().unwrap()) {
        assert!(event["message"].as_str().is_some_and(|words| words.contains(key)), "{event}");
    }
    expected.as_object_mut().unwrap().remove("results");
}

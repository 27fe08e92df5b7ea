//! When a cluster will be ready, from what is known.

use jiff::{SignedDuration, Timestamp};
use kubectl_testplatform::{
    claim::Claim,
    estimate::{Estimate, claim_shape, extend_history},
};
use serde_json::{Value, json};

fn claim(workflow: &str, status: &Value) -> Value {
    json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster",
        "metadata": { "name": "c", "creationTimestamp": "2026-03-02T12:00:00Z" },
        "spec": { "ciOperator": { "test": { "workflow": workflow, "clusterProfile": "aws" } } },
        "status": status,
    })
}

fn ready(minutes: i64, workflow: &str) -> Value {
    let started: Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
    let ready = started + SignedDuration::from_mins(minutes);
    claim(workflow, &json!({ "startedAt": started.to_string(), "readyAt": ready.to_string() }))
}

fn asked(status: &Value) -> Claim {
    Claim::read(claim("ipi-aws", status)).unwrap()
}

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

#[test]
fn estimate_of_the_hub_comes_first() {
    let claim = asked(&json!({ "estimatedReadyAt": "2026-03-02T13:10:00Z" }));
    let estimate = Estimate::of(&claim, &[ready(40, "ipi-aws")], "").unwrap();
    assert_eq!(estimate, Estimate::FromHub(at("2026-03-02T13:10:00Z")));
    assert_eq!(estimate.words(at("2026-03-02T12:40:00Z")), "90 % of similar clusters are ready within 30m");
    assert_eq!(estimate.words(at("2026-03-02T13:10:00Z")), "slower than 90 % of similar clusters");
}

#[test]
fn else_the_median_of_its_shape() {
    let claim = asked(&json!({}));
    assert_eq!(Estimate::of(&claim, &[], ""), None);
    let beside = [ready(30, "ipi-aws"), ready(50, "ipi-aws"), ready(2, "ipi-gcp"), claim_of_now()];
    let history =
        "2026-02-01T00:00:00Z\t2400\tipi-aws/aws\nnonsense\n2026-02-01T00:00:00Z\t-4\tipi-aws/aws\n";
    let estimate = Estimate::of(&claim, &beside, history).unwrap();
    let median = SignedDuration::from_mins(40);
    assert_eq!(estimate, Estimate::FromHistory(at("2026-03-02T12:40:00Z"), median, 3));
    assert_eq!(
        estimate.words(at("2026-03-02T12:10:00Z")),
        "ready in about 30m, as 3 runs before it took 40m"
    );
    assert_eq!(estimate.words(at("2026-03-02T12:40:00Z")), "later than usual, which is 40m");
}

/// The one that is waited for was never ready.
fn claim_of_now() -> Value {
    claim("ipi-aws", &json!({}))
}

#[test]
fn a_run_that_is_remembered_and_still_there_counts_once() {
    let past = ready(30, "ipi-aws");
    let history = extend_history("", &Claim::read(past.clone()).unwrap()).unwrap();
    assert_eq!(history, "2026-03-01T10:30:00Z\t1800\tipi-aws/aws\n");
    assert_eq!(extend_history(&history, &Claim::read(past.clone()).unwrap()), None);
    let estimate = Estimate::of(&asked(&json!({})), &[past], &history).unwrap();
    assert!(matches!(estimate, Estimate::FromHistory(_, _, 1)), "{estimate:?}");
}

#[test]
fn history_is_bounded_and_drops_broken_entries() {
    let many: Vec<String> = (0..300).map(|n| format!("2026-02-01T00:00:00Z\t{n}\tx/y\n")).collect();
    let many = many.concat();
    let text = extend_history(&(many + "broken\n"), &Claim::read(ready(30, "ipi-aws")).unwrap()).unwrap();
    assert_eq!(text.lines().count(), 200);
    assert!(text.ends_with("\t1800\tipi-aws/aws\n") && !text.contains("broken"), "{text}");
    assert_eq!(extend_history("", &asked(&json!({}))), None, "it was never ready");
}

#[test]
fn shapes_are_one_line() {
    let pool =
        json!({ "spec": { "clusterClaim": { "version": "4.20", "cloud": "aws", "pool": { "name": "p" } } } });
    assert_eq!(claim_shape(&pool), "pool p/4.20/aws");
    assert_eq!(claim_shape(&json!({ "spec": { "template": "small\n\tone" } })), "template small  one");
}

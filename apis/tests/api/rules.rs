//! What is refused, with which words.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::ci_operator::PARTIAL_CLUSTER_CLAIM;
use testplatform_apis::claim::{
    BLOCK_IMMUTABLE, CI_OPERATOR_IMMUTABLE, CLUSTER_CLAIM_IMMUTABLE, EXACTLY_ONE_BLOCK, LIFETIME_RULE,
    RESERVED_LABELS, TIMEOUT_RULE, TestPlatformClusterSpec, VERSION_OR_POOL,
};

use crate::support::{all_fields, create, konflux_default, pooled, update};

#[track_caller]
fn assert_refused(answer: Result<(), Vec<String>>, path: &str, message: &str) {
    let complaints = answer.expect_err("accepted");
    let wanted = format!("{path}: {message}");
    assert!(complaints.contains(&wanted), "no complaint says {wanted:?}, but: {complaints:#?}");
}

fn with(mut spec: Value, path: &str, value: Value) -> Value {
    let (parent, key) = path.rsplit_once('/').unwrap();
    spec.pointer_mut(parent).unwrap()[key] = value;
    spec
}

#[test]
fn exactly_one_block() {
    assert_refused(create(&json!({})), "spec", EXACTLY_ONE_BLOCK);
    assert_refused(create(&json!({ "tearDownCluster": true })), "spec", EXACTLY_ONE_BLOCK);
    assert_refused(create(&json!({ "ciOperator": null })), "spec", EXACTLY_ONE_BLOCK);
    let both = json!({ "ciOperator": {}, "clusterClaim": { "version": "4.20" } });
    assert_refused(create(&both), "spec", EXACTLY_ONE_BLOCK);
}

#[test]
fn a_claim_stays_what_it_is() {
    let (built, pooled) = (konflux_default(), pooled());
    assert_refused(update(&built, &pooled), "spec", BLOCK_IMMUTABLE);
    assert_refused(update(&pooled, &built), "spec", BLOCK_IMMUTABLE);
    assert_refused(
        update(&built, &with(built.clone(), "/ciOperator/test/workflow", json!("other"))),
        "spec.ciOperator",
        CI_OPERATOR_IMMUTABLE,
    );
    // Also a field that the schema does not declare.
    assert_refused(
        update(&built, &with(built.clone(), "/ciOperator/test/brandNew", json!(1))),
        "spec.ciOperator",
        CI_OPERATOR_IMMUTABLE,
    );
    assert_refused(
        update(&pooled, &with(pooled.clone(), "/clusterClaim/version", json!("4.21"))),
        "spec.clusterClaim",
        CLUSTER_CLAIM_IMMUTABLE,
    );
}

#[test]
fn what_may_change_may_change() {
    for spec in [konflux_default(), all_fields(), pooled()] {
        assert_eq!(update(&spec, &spec), Ok(()));
        let mut next = spec.clone();
        next["tearDownCluster"] = json!(true);
        next["lifetime"] = json!("6h");
        assert_eq!(update(&spec, &next), Ok(()), "{spec}");
        // The way back is one that the function does not take; the API does not refuse it, or a task that re-applies its claim would fail.
        assert_eq!(update(&next, &spec), Ok(()), "{spec}");
    }
}

#[rstest]
#[case("5 parsecs")]
#[case("30s")]
#[case("59.999s")]
#[case("0")]
#[case("")]
#[case("2")]
#[case("1d")]
#[case("-2h")]
#[case("2h\n---\n")]
fn a_lifetime_is_at_least_a_minute(#[case] lifetime: &str) {
    let spec = json!({ "ciOperator": {}, "lifetime": lifetime });
    assert_refused(create(&spec), "spec.lifetime", LIFETIME_RULE);
    let spec = json!({ "clusterClaim": { "version": "4.20", "timeout": lifetime } });
    assert_refused(create(&spec), "spec.clusterClaim.timeout", TIMEOUT_RULE);
}

#[rstest]
#[case("1m")]
#[case("60s")]
#[case("60000ms")]
#[case("1h30m")]
#[case("1.5h")]
#[case("4h30m15s")]
#[case("720h")]
fn a_lifetime_is_a_go_duration(#[case] lifetime: &str) {
    assert_eq!(create(&json!({ "ciOperator": {}, "lifetime": lifetime })), Ok(()));
    assert_eq!(create(&json!({ "clusterClaim": { "version": "4.20", "timeout": lifetime } })), Ok(()));
}

#[test]
fn a_lifetime_beyond_all_measure_is_refused_and_does_not_panic() {
    // Go's duration() of an API server fails here, the evaluator of these tests saturates; the type refuses it in any case.
    let spec = json!({ "ciOperator": {}, "lifetime": "999999999999999h" });
    assert!(serde_json::from_value::<TestPlatformClusterSpec>(spec).is_err());
    assert!(create(&json!({ "ciOperator": {}, "lifetime": "1h".repeat(40) })).is_err());
    assert!(create(&json!({ "ciOperator": {}, "lifetime": 5 })).is_err());
}

#[rstest]
#[case(json!({ "cloud": "aws" }))]
#[case(json!({ "cloud": "aws", "owner": "dpp" }))]
#[case(json!({ "version": "4.20" }))]
#[case(json!({ "cloud": "aws", "version": "4.20", "owner": null }))]
fn a_cluster_claim_for_ci_operator_is_empty_or_complete(#[case] claim: Value) {
    let spec = json!({ "ciOperator": { "test": { "clusterClaim": claim } } });
    assert_refused(create(&spec), "spec.ciOperator.test.clusterClaim", PARTIAL_CLUSTER_CLAIM);
}

#[test]
fn a_cluster_claim_names_a_version_or_a_pool() {
    assert_refused(create(&json!({ "clusterClaim": {} })), "spec.clusterClaim", VERSION_OR_POOL);
    assert_refused(
        create(&json!({ "clusterClaim": { "cloud": "aws" } })),
        "spec.clusterClaim",
        VERSION_OR_POOL,
    );
    assert!(create(&json!({ "clusterClaim": { "pool": {} } })).is_err(), "a pool without a name");
}

#[test]
fn labels_do_not_repeat_fields() {
    for key in ["product", "version", "architecture", "cloud", "owner"] {
        let spec = json!({ "clusterClaim": { "version": "4.20", "labels": { "region": "x", key: "x" } } });
        assert_refused(create(&spec), "spec.clusterClaim.labels", RESERVED_LABELS);
    }
}

#[test]
fn wrong_types_are_refused() {
    for spec in [
        json!({ "ciOperator": [] }),
        json!({ "ciOperator": { "test": "ipi-aws" } }),
        json!({ "ciOperator": { "test": { "env": { "A": 1 } } } }),
        json!({ "ciOperator": {}, "tearDownCluster": "true" }),
    ] {
        assert!(create(&spec).is_err(), "{spec}");
    }
}

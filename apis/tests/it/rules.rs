//! Refused claims, and the words of each refusal.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::ci_operator::PARTIAL_CLUSTER_CLAIM;
use testplatform_apis::claim::{
    BLOCK_IMMUTABLE, CI_OPERATOR_IMMUTABLE, CLUSTER_CLAIM_IMMUTABLE, COMPANIONS, EXACTLY_ONE_BLOCK,
    LIFETIME_RULE, RESERVED_LABELS, TIMEOUT_RULE, TestPlatformClusterSpec, VERSION_OR_IMAGE, VERSION_OR_POOL,
};
use testplatform_apis::template::companions::{
    AUTOSCALE_RULE, COUNT_OR_AUTOSCALE, FORCE_RULE, REPLICAS_RULE, TIMEOUTS_RULE,
};

use crate::support::{all_fields, create, konflux_default, pooled, templated, update};

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
fn claim_has_exactly_one_block() {
    assert_refused(create(&json!({})), "spec", EXACTLY_ONE_BLOCK);
    assert_refused(create(&json!({ "tearDownCluster": true })), "spec", EXACTLY_ONE_BLOCK);
    assert_refused(create(&json!({ "ciOperator": null })), "spec", EXACTLY_ONE_BLOCK);
    let both = json!({ "ciOperator": {}, "clusterClaim": { "version": "4.20" } });
    assert_refused(create(&both), "spec", EXACTLY_ONE_BLOCK);
    for block in [json!({ "ciOperator": {} }), pooled()] {
        assert_refused(create(&with(block, "/template", json!("hosted"))), "spec", EXACTLY_ONE_BLOCK);
    }
    assert_eq!(create(&json!({ "template": "hosted" })), Ok(()));
    assert_eq!(create(&templated()), Ok(()));
    assert!(create(&json!({ "template": { "name": "hosted" } })).is_err());
    assert!(create(&json!({ "template": "" })).is_err());
}

/// Each of them, or a field that is new would be dropped without a word.
#[test]
fn fields_of_templates_are_refused_beside_other_blocks() {
    let whole = templated();
    let companions: Vec<&String> = whole
        .as_object()
        .unwrap()
        .keys()
        .filter(|key| !["template", "lifetime", "tearDownCluster"].contains(&key.as_str()))
        .collect();
    assert_eq!(companions.len(), 7);
    for block in [json!({ "ciOperator": {} }), pooled()] {
        for key in &companions {
            assert_refused(
                create(&with(block.clone(), &format!("/{key}"), whole[key.as_str()].clone())),
                "spec",
                COMPANIONS,
            );
            assert!(COMPANIONS.contains(key.as_str()));
        }
        assert_refused(create(&with(block, "/releaseImage", json!("x"))), "spec", COMPANIONS);
    }
}

#[rstest]
#[case("/releaseImage", json!("quay.io/x:1"), "spec", VERSION_OR_IMAGE)]
#[case("/nodeGroups/0/count", json!(null), "spec.nodeGroups[0]", COUNT_OR_AUTOSCALE)]
#[case("/nodeGroups/1/count", json!(1), "spec.nodeGroups[1]", COUNT_OR_AUTOSCALE)]
#[case("/nodeGroups/1/autoscale/min", json!(4), "spec.nodeGroups[1].autoscale", AUTOSCALE_RULE)]
#[case("/controlPlane/replicas", json!(2), "spec.controlPlane.replicas", REPLICAS_RULE)]
#[case("/hub/name", json!(null), "spec.hub", FORCE_RULE)]
#[case("/timeouts/provision", json!("5s"), "spec.timeouts.provision", TIMEOUTS_RULE)]
#[case("/timeouts/teardown", json!("soon"), "spec.timeouts.teardown", TIMEOUTS_RULE)]
fn fields_invalid_for_every_template_are_refused(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] path: &str,
    #[case] message: &str,
) {
    assert_refused(create(&with(templated(), pointer, value)), path, message);
}

#[rstest]
#[case("/nodeGroups/0/name", json!(null))]
#[case("/nodeGroups/0/class", json!(null))]
#[case("/nodeGroups/0/count", json!(-1))]
#[case("/nodeGroups/0/count", json!(1001))]
#[case("/nodeGroups/0/arch", json!("riscv"))]
#[case("/nodeGroups/1/taints", json!([{ "key": "k", "effect": "Sometimes" }]))]
#[case("/hub/affinity", json!("Near"))]
#[case("/hub/force", json!("yes"))]
#[case("/parameters", json!([]))]
#[case("/network/dnsNameservers", json!("10.0.0.1"))]
fn wrong_shapes_of_companions_are_refused(#[case] pointer: &str, #[case] value: Value) {
    assert!(create(&with(templated(), pointer, value)).is_err());
}

#[test]
fn block_of_a_claim_is_immutable() {
    let (built, pooled) = (konflux_default(), pooled());
    assert_refused(update(&built, &pooled), "spec", BLOCK_IMMUTABLE);
    assert_refused(update(&pooled, &built), "spec", BLOCK_IMMUTABLE);
    assert_refused(update(&templated(), &built), "spec", BLOCK_IMMUTABLE);
    assert_refused(update(&pooled, &templated()), "spec", BLOCK_IMMUTABLE);
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
fn mutable_fields_may_change() {
    for spec in [konflux_default(), all_fields(), pooled(), templated()] {
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

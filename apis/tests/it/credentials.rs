//! Whose credentials a claim is given: what the schema refuses, and that the function refuses the same.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::account::{ACCOUNT_ONLY, AccessRequest, CREDENTIALS_IMMUTABLE, ROLE_RULE};

use crate::support::{create, pooled, templated, update};

fn claim(credentials: &Value) -> Value {
    json!({ "ciOperator": {}, "credentials": credentials })
}

fn says(answer: Result<(), Vec<String>>, wanted: &str) {
    let complaints = answer.expect_err("accepted");
    assert!(complaints.iter().any(|c| c == wanted), "none says {wanted:?}, but: {complaints:#?}");
}

#[test]
fn every_claim_may_request_credentials() {
    for mut spec in [json!({ "ciOperator": {} }), pooled(), templated()] {
        for credentials in [
            json!({}),
            json!({ "mode": "Admin" }),
            json!({ "mode": "ServiceAccount" }),
            json!({ "mode": "ServiceAccount", "clusterRole": "system:image-puller", "generation": 0 }),
        ] {
            spec["credentials"] = credentials;
            assert_eq!(create(&spec), Ok(()), "{spec}");
            assert!(AccessRequest::from_spec(&spec["credentials"]).is_ok(), "{spec}");
        }
    }
}

/// A value that an API server refuses does not parse either, whoever wrote it.
#[rstest]
#[case(json!({ "clusterRole": "view" }), &format!("spec.credentials: {ACCOUNT_ONLY}"))]
#[case(json!({ "mode": "Admin", "generation": 1 }), &format!("spec.credentials: {ACCOUNT_ONLY}"))]
#[case(json!({ "mode": "ServiceAccount", "clusterRole": "a/b" }), &format!("spec.credentials.clusterRole: {ROLE_RULE}"))]
#[case(json!({ "mode": "ServiceAccount", "clusterRole": ".." }), &format!("spec.credentials.clusterRole: {ROLE_RULE}"))]
#[case(json!({ "mode": "ServiceAccount", "clusterRole": "a%2Fb" }), &format!("spec.credentials.clusterRole: {ROLE_RULE}"))]
fn invalid_credentials_request_is_refused(#[case] wrong: Value, #[case] words: &str) {
    says(create(&claim(&wrong)), words);
    assert!(AccessRequest::from_spec(&wrong).is_err(), "{wrong}");
}

#[rstest]
#[case(json!({ "mode": "serviceaccount" }))]
#[case(json!({ "mode": "ServiceAccount", "generation": -1 }))]
#[case(json!({ "mode": "ServiceAccount", "generation": "1" }))]
#[case(json!({ "mode": "ServiceAccount", "clusterRole": "" }))]
#[case(json!("ServiceAccount"))]
fn credentials_request_of_another_type_is_refused(#[case] wrong: Value) {
    assert!(create(&claim(&wrong)).is_err(), "{wrong}");
    assert!(AccessRequest::from_spec(&wrong).is_err(), "{wrong}");
}

#[test]
fn only_the_generation_may_change() {
    let none = json!({ "ciOperator": {} });
    let account = |role: &str, generation: u32| {
        claim(&json!({ "mode": "ServiceAccount", "clusterRole": role, "generation": generation }))
    };
    assert_eq!(update(&account("view", 1), &account("view", 2)), Ok(()));
    assert_eq!(update(&account("view", 2), &account("view", 1)), Ok(()));
    assert_eq!(update(&none, &claim(&json!({ "mode": "Admin" }))), Ok(()));
    assert_eq!(update(&claim(&json!({})), &none), Ok(()));
    let implied = claim(&json!({ "mode": "ServiceAccount" }));
    assert_eq!(update(&implied, &account("cluster-admin", 0)), Ok(()));
    for (before, after) in [
        (&none, &implied),
        (&implied, &none),
        (&implied, &claim(&json!({ "mode": "Admin" }))),
        (&account("view", 1), &account("edit", 1)),
        (&account("view", 1), &implied),
    ] {
        says(update(before, after), &format!("spec: {CREDENTIALS_IMMUTABLE}"));
    }
}

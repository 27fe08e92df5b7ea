//! Whatever stands in an EphemeralCluster: it is judged and never taken for anything but data.

use crate::support;

use proptest::prelude::*;
use provider_testplatform::{
    config::Config,
    controllers::ephemeral_cluster::{observed_state::Draft, status::Phase},
};
use serde_json::{Value, json};
use support::{HIVE, IPI, drafted, job, with, yaml};
use testplatform_apis::{crd, foreign::ephemeral_cluster::PHASES};

/// Any JSON, with the names that mean something among its keys.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let key = prop_oneof![
        prop::sample::select(vec![
            "test",
            "clusterClaim",
            "clusterProfile",
            "workflow",
            "env",
            "labels",
            "releases",
            "latest",
            "candidate",
            "version",
            "baseImages",
            "externalImages",
            "as",
            "resources",
            "buildRoot",
            "testplatform-wait-cli",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::with_cases(96) })]

    #[test]
    fn anything_is_judged(block in anything(), metadata in anything()) {
        let config = Config::default();
        drafted(&with(IPI, "/spec/ciOperator", block.clone()), &config);
        drafted(&with(HIVE, "/spec/ciOperator/test", block.clone()), &config);
        drafted(&with(IPI, "/metadata/annotations", metadata.clone()), &config);
        drafted(&json!({ "metadata": metadata, "spec": { "ciOperator": block } }), &config);
    }

    /// A tenant's text comes out of the configuration as it went in, and nowhere else.
    #[test]
    fn hostile_texts_stay_unchanged(
        env in prop::collection::btree_map("[A-Z]{1,8}", any::<String>(), 1..5),
        run in any::<String>(),
        tenant in "[a-z]{1,9}",
    ) {
        let mut object = with(IPI, "/spec/ciOperator/test/env", json!(env));
        let annotations = &mut object["metadata"]["annotations"];
        annotations["ephemeralcluster.ci.openshift.io/pipeline-run-name"] = run.clone().into();
        annotations["ephemeralcluster.ci.openshift.io/konflux-tenant"] = tenant.clone().into();
        let mut config = Config::default();
        config.ephemeral_cluster.privileged_tenants = vec![tenant];
        let manifest = job(&object, &config);
        let variables = manifest.pointer("/spec/pod_spec/containers/0/env").unwrap().as_array().unwrap();
        let text = variables.iter().find(|v| v["name"] == "UNRESOLVED_CONFIG").unwrap()["value"].as_str().unwrap();
        prop_assert_eq!(&yaml(text)["tests"][0]["steps"]["env"], &json!(env));
        let name = manifest["spec"]["job"].as_str().unwrap();
        prop_assert!(name.starts_with("ephemeralcluster-ci-") && name.len() <= 92, "{}", name);
        prop_assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b)), "{}", name);
    }
}

/// A sentence in a condition has room for 32 KiB; what a tenant sends may be a megabyte.
#[test]
fn a_refusal_is_never_long() {
    let long = "x".repeat(100_000);
    let mut object = with(IPI, "/spec/ciOperator/test/clusterProfile", json!(long));
    object["metadata"]["name"] = long.clone().into();
    object["spec"]["ciOperator"]["baseImages"] =
        (0..100).map(|n| (format!("{n}{long}"), json!({ "as": "testplatform-wait-cli" }))).collect();
    match drafted(&object, &Config::default()) {
        Draft::Refused(refusal) => assert!(refusal.message.len() < 8 * 1024, "{}", refusal.message.len()),
        other => panic!("{other:?}"),
    }
}

/// The CRD's words are those of the status that is written.
#[test]
fn the_crd_has_every_phase_that_is_written() {
    let phases =
        [Phase::Provisioning, Phase::Ready, Phase::Deprovisioning, Phase::Deprovisioned, Phase::Failed];
    assert_eq!(json!(phases), json!(PHASES));
    let crd = crd::ephemeral_cluster();
    let words =
        crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/phase/enum");
    assert_eq!(words.unwrap().as_array().unwrap()[1..], *json!(phases).as_array().unwrap());
}

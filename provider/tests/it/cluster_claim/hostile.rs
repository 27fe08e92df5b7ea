//! Whatever stands on Hive's objects: it is judged, and nothing is published of what is not certain.

use proptest::prelude::*;
use provider_testplatform::controllers::cluster_claim::operation::ClaimOperation;
use serde_json::{Value, json};

use crate::cluster_claim::fixture::{Case, NAME, NAMESPACE, POOL, running};

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec![
            NAME,
            NAMESPACE,
            POOL,
            "True",
            "False",
            "Pending",
            "ClusterRunning",
            "Hibernating"
        ])
        .prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "conditions",
        "type",
        "status",
        "reason",
        "message",
        "clusterPoolRef",
        "claimName",
        "poolName",
        "namespace",
        "installed",
        "powerState",
        "clusterMetadata",
        "adminKubeconfigSecretRef",
        "name",
        "ready",
        "inventory",
        "lastTransitionTime",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn publishes(case: &Case) -> bool {
    case.step().actions.iter().any(|a| matches!(a, ClaimOperation::Publish(_)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn anything_is_judged(spec in anything(), status in anything(), pool in anything()) {
        running().on_claim("/status", status.clone()).step();
        running().on_cluster("/status", status.clone()).step();
        running().on_pool("/spec", pool.clone()).on_pool("/status", status.clone()).step();
        let told = running().on_cluster("/status", status).settled();
        prop_assert!(told.claim["metadata"]["annotations"].to_string().len() < 64 * 1024);
        // Only one reference in a thousand million is right by chance.
        let case = running().on_cluster("/spec", spec.clone());
        let pool_ref = json!({ "namespace": NAMESPACE, "poolName": POOL, "claimName": NAME });
        prop_assert!(!publishes(&case) || spec["clusterPoolRef"] == pool_ref);
    }

    #[test]
    fn no_other_name_will_do(claim in any::<String>(), pool in any::<String>(), namespace in any::<String>()) {
        for (field, value, right) in
            [("claimName", &claim, NAME), ("poolName", &pool, POOL), ("namespace", &namespace, NAMESPACE)]
        {
            prop_assume!(value != right);
            let case = running().on_cluster(&format!("/spec/clusterPoolRef/{field}"), json!(value));
            prop_assert!(!publishes(&case));
        }
    }

    /// Whatever was stored is read or written anew, and never believed about what is published.
    #[test]
    fn stored_annotations_are_never_trusted(stored in any::<String>(), revision in any::<String>()) {
        let annotation = |key: &str| format!("/metadata/annotations/testplatform.ci.openshift.org~1{key}");
        let case = running()
            .on_cluster("/spec/clusterPoolRef/claimName", json!("other"))
            .on_claim(&annotation("status"), json!(stored))
            .on_claim(&annotation("credentials-revision"), json!(revision));
        prop_assert!(!publishes(&case));
        prop_assert!(!case.settled().is_published());
    }
}

//! Whatever stands on an object: it is judged, it comes to rest, and nothing is published of what is not certain.

use proptest::{prelude::*, test_runner::RngSeed};
use provider_testplatform::{
    controllers::template_cluster::plan::may_read,
    credentials::{
        Published,
        publish::{CredentialsOperation, CredentialsSource},
    },
};
use serde_json::{Value, json};
use testplatform_apis::{hive_status::Blocked, names::ours, template::Backend};

use crate::clusters::fixture::{CREDENTIALS, Case, credentials, minutes, running};

fn anything() -> impl Strategy<Value = Value> {
    let words =
        vec!["True", "False", "Ready", "Available", "ControlPlaneAvailable", "x", "2026-11-21T12:01:00Z"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(words).prop_map(Value::from),
    ];
    let keys = vec![
        "conditions",
        "type",
        "status",
        "lastTransitionTime",
        "phase",
        "kubeconfig",
        "kubeadminPassword",
        "adminPassword",
        "clusterReference",
        "namespace",
        "hostedClusterName",
        "name",
        "configuration",
        "oauth",
    ];
    let key = prop::sample::select(keys).prop_map(str::to_owned);
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn source() -> impl Strategy<Value = CredentialsSource> {
    prop_oneof![
        Just(CredentialsSource::Unread),
        prop::sample::select(Blocked::ALL.to_vec())
            .prop_map(|why| CredentialsSource::Blocked(why, "no".into())),
        prop::sample::select(vec!["1", "2"])
            .prop_map(|revision| CredentialsSource::Complete(credentials(revision))),
    ]
}

fn published() -> impl Strategy<Value = Published> {
    let ours = |made_from: Option<&str>| Published::Ours {
        revision: "17".into(),
        source_revision: made_from.map(str::to_owned),
    };
    prop::sample::select(vec![
        Published::Absent,
        Published::Foreign("another's".into()),
        ours(None),
        ours(Some("1")),
        ours(Some("2")),
    ])
}

prop_compose! {
    fn case()(
        backend in prop::sample::select(Backend::ALL.to_vec()),
        whole in any::<[bool; 3]>(),
        (spec, status, hosted) in (anything(), anything(), anything()),
        (source, published, lacks) in (source(), published(), any::<bool>()),
        (deleted, at) in (any::<bool>(), 0_i64..5),
    ) -> Case {
        let mut case = running(backend).source(source).at(at);
        if !whole[0] {
            case = case.on_object("/spec", spec);
        }
        if !whole[1] {
            case = case.on_object("/status", status);
        }
        if !whole[2] && case.hosted.is_some() {
            case = case.on_hosted("/status", hosted);
        }
        case.lacks = lacks.then(|| (Blocked::SecretMissing, "no password".into()));
        case.published = published;
        if deleted { case.deleted() } else { case }
    }
}

fn publishes(case: &Case) -> bool {
    case.step().actions.iter().any(|a| matches!(a, CredentialsOperation::Publish(_)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Another look at it writes nothing, and no annotation has a secret.
    #[test]
    fn reconciles_reach_a_fixed_point(case in case()) {
        let before = case.published.clone();
        let case = case.settled();
        let annotations = case.object["metadata"]["annotations"].to_string();
        prop_assert!(!annotations.contains("hunter2") && annotations.len() < 4096, "{annotations}");
        let foreign = matches!(before, Published::Foreign(_));
        prop_assert!(!foreign || case.published == before);
        let ends = case.object["metadata"]["deletionTimestamp"].is_string();
        let stays = matches!(case.published, Published::Ours { .. });
        // Of what cannot be read nothing is known, not even that.
        prop_assert!(!ends || !stays || case.step().status.is_none());
    }

    /// Not marked, and never published: nothing of it is read, written or told.
    #[test]
    fn unmarked_cluster_is_left_alone(case in case(), mark in any::<Option<String>>()) {
        let ours = matches!(case.published, Published::Ours { .. });
        prop_assume!(mark.as_deref() != Some(CREDENTIALS) && !ours);
        let annotations = mark.map_or(json!({}), |mark| json!({ ours::CREDENTIALS_NAMESPACE: mark }));
        let case = case.on_object("/metadata/annotations", annotations);
        prop_assert_eq!(case.step(), provider_testplatform::controllers::template_cluster::plan::ClusterPlan::default());
        prop_assert!(may_read(case.kind(), &case.object(), &case.world()).is_none());
    }

    /// Whatever was stored is read or written anew, and never believed about a cluster that cannot be used.
    #[test]
    fn stored_annotations_are_never_trusted(stored in any::<String>(), backend in prop::sample::select(Backend::ALL.to_vec())) {
        let annotations = json!({ ours::CREDENTIALS_NAMESPACE: CREDENTIALS, ours::STATUS: stored });
        let case = running(backend).on_object("/metadata/annotations", annotations).on_object("/status", json!({}));
        prop_assert!(!publishes(&case));
        prop_assert!(!case.settled().is_published());
    }

    /// However the clocks differ, a password is waited for within bounds.
    #[test]
    fn no_password_is_waited_for_for_ever(since in -10_000_i64..10_000) {
        let at = (crate::clusters::fixture::born() + minutes(since)).to_string();
        let condition = json!([{ "type": "ClusterInstallSucceeded", "status": "True", "lastTransitionTime": at }]);
        let case = running(Backend::Caas).on_object("/status/conditions", condition).lacking(Blocked::SecretMissing);
        prop_assert!(case.at(since.max(0) + 3).settled().is_published());
    }
}

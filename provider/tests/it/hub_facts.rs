//! A hub's report about itself: its content and times, and the count of clusters.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proptest::{prelude::*, test_runner::RngSeed};
use provider_testplatform::controllers::hub_facts::{
    AGE, FactsPlan, SOONEST, in_the_making,
    observed_state::{BackendState, HubState},
    plan,
};
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{
    hub::{BackendFacts, ClassFacts, Facts, Health},
    template::Backend,
};

const PERIOD: Duration = Duration::from_mins(1);

fn noon() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn after(seconds: i64) -> Timestamp {
    noon() + SignedDuration::from_secs(seconds)
}

fn counted(clusters: i64) -> BackendState {
    let cluster_classes = Some(vec!["classes/small".into()]);
    BackendState::Counted { clusters, provisioning: 1, versions: vec!["4.20".into()], cluster_classes }
}

fn world(clusters: i64) -> HubState {
    HubState {
        trouble: None,
        backends: [(Backend::HyperShift, counted(clusters))].into(),
        classes: [("metal".to_owned(), Some(2)), ("vm".to_owned(), None)].into(),
        api_version: None,
    }
}

fn told(world: &HubState) -> Facts {
    plan(None, world, PERIOD, noon()).write.unwrap()
}

#[test]
fn first_report_has_all_known_facts() {
    let backend = BackendFacts {
        clusters: Some(3),
        provisioning: Some(1),
        versions: vec!["4.20".into()],
        cluster_classes: Some(vec!["classes/small".into()]),
        problem: None,
    };
    let expected = Facts {
        written_at: Some(noon()),
        health: Some(Health { ready: true, since: Some(noon()), message: None }),
        backends: [("hypershift".to_owned(), backend)].into(),
        classes: [
            ("metal".to_owned(), ClassFacts { free: Some(2) }),
            ("vm".to_owned(), ClassFacts { free: None }),
        ]
        .into(),
        capi_version: None,
    };
    assert_eq!(plan(None, &world(3), PERIOD, noon()), FactsPlan { write: Some(expected), requeue: PERIOD });
}

#[test]
fn uncounted_backend_is_omitted_and_unserved_one_is_a_problem() {
    let mut world = world(3);
    world.backends.insert(Backend::ClusterApi, BackendState::NotServed("it serves no clusters".into()));
    let facts = told(&world);
    let capi = facts.backend_facts(Backend::ClusterApi).unwrap();
    assert_eq!((capi.clusters, capi.problem.as_deref()), (Some(0), Some("it serves no clusters")));
    // A missing backend does not hide the count of the others.
    assert_eq!(facts.cluster_count(), Some(3));
    world.backends.insert(Backend::Osac, BackendState::Unknown);
    let facts = told(&world);
    assert_eq!(facts.backend_facts(Backend::Osac), Some(&BackendFacts::default()));
    assert_eq!(facts.cluster_count(), None);
}

#[rstest]
#[case::at_rest(3, 60, false, 60)]
#[case::old(3, 180, true, 60)]
#[case::changed(4, 60, true, 60)]
#[case::changed_too_soon(4, 3, false, 7)]
#[case::changed_just_then(4, 10, true, 60)]
#[case::written_by_another_clock(3, -600, true, 60)]
fn facts_are_written_on_change_and_periodically(
    #[case] clusters: i64,
    #[case] seconds: i64,
    #[case] write: bool,
    #[case] requeue: u64,
) {
    let step = plan(Some(&told(&world(3))), &world(clusters), PERIOD, after(seconds));
    assert_eq!((step.write.is_some(), step.requeue), (write, Duration::from_secs(requeue)));
    assert!(step.write.is_none_or(|facts| facts.written_at == Some(after(seconds))));
}

#[test]
fn time_of_a_health_change_is_kept() {
    let well = told(&world(3));
    let ill = HubState { trouble: Some("its API server says that it is not ready".into()), ..world(3) };
    let health =
        |known: &Facts, world: &HubState, at: i64| plan(Some(known), world, PERIOD, after(at)).write.unwrap();
    let first = health(&well, &ill, 60);
    assert_eq!(
        first.health,
        Some(Health { ready: false, since: Some(after(60)), message: ill.trouble.clone() })
    );
    let second = health(&first, &HubState { backends: [].into(), ..ill.clone() }, 120);
    assert_eq!(second.health.unwrap().since, Some(after(60)));
    assert_eq!(health(&first, &world(3), 120).health.unwrap().since, Some(after(120)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Whatever changes, and whenever: never more often than every ten seconds, never older than five minutes, and what is there
    /// is at most a look behind.
    #[test]
    fn facts_are_written_within_their_bounds(counts in proptest::collection::vec(0_i64..3, 1..120), period in 10_u64..=120) {
        let period = Duration::from_secs(period);
        let (mut known, mut at, mut last): (Option<Facts>, Timestamp, Option<Timestamp>) = (None, noon(), None);
        for count in counts {
            let step = plan(known.as_ref(), &world(count), period, at);
            if let Some(facts) = step.write {
                prop_assert!(last.is_none_or(|last| at.duration_since(last) >= SOONEST));
                // Nothing is written that says nothing new, but for its age.
                let same = known.as_ref().is_some_and(|k| k.backends == facts.backends);
                prop_assert!(!same || last.is_none_or(|last| at.duration_since(last) >= AGE));
                (known, last) = (Some(facts), Some(at));
            }
            let known = known.as_ref().unwrap();
            prop_assert!(at.duration_since(last.unwrap()) <= SignedDuration::from_mins(5));
            let behind = known.cluster_count() != Some(count);
            prop_assert!(!behind || at.duration_since(last.unwrap()) < SOONEST);
            prop_assert!(step.requeue <= period && step.requeue > Duration::ZERO);
            at += step.requeue;
        }
    }
}

#[rstest]
#[case(Backend::HyperShift, json!({}), true)]
#[case(Backend::HyperShift, json!({ "conditions": [{ "type": "Available", "status": "False" }], "version": { "history": [{ "state": "Partial" }] } }), true)]
#[case(Backend::HyperShift, json!({ "conditions": [{ "type": "Available", "status": "False" }], "version": { "history": [{ "state": "Partial" }, { "state": "Completed" }] } }), false)]
#[case(Backend::HyperShift, json!({ "conditions": [{ "type": "Available", "status": "True" }] }), false)]
#[case(Backend::ClusterApi, json!({ "phase": "Provisioned", "conditions": [{ "type": "ControlPlaneInitialized", "status": "False" }] }), true)]
#[case(Backend::ClusterApi, json!({ "conditions": [{ "type": "ControlPlaneInitialized", "status": "True" }, { "type": "Available", "status": "False" }] }), false)]
#[case(Backend::Caas, json!({ "phase": "ClusterInstalling" }), true)]
#[case(Backend::Caas, json!({ "phase": "Ready" }), false)]
#[case(Backend::Osac, json!({ "phase": "Failed" }), true)]
#[case(Backend::Osac, json!({ "phase": "Ready" }), false)]
#[case(Backend::Osac, json!({ "phase": 5 }), true)]
#[case(Backend::Caas, Value::Null, true)]
fn cluster_is_provisioning_until_first_ready(
    #[case] backend: Backend,
    #[case] status: Value,
    #[case] expected: bool,
) {
    assert_eq!(in_the_making(backend, &status), expected);
}

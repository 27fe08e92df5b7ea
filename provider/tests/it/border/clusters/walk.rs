//! The whole controller in a time that stands still while anybody works.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use proptest::{prelude::*, test_runner::RngSeed};
use rstest::rstest;
use serde_json::json;
use testplatform_apis::{
    names::ours,
    template::Backend::{self, Caas, ClusterApi, HyperShift, Osac},
};

use super::life::{Event, Life, start};
use crate::border::{
    memory::{Fault, Memory},
    walk::life::begin_time,
};

pub fn in_time<T>(life: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(life)
}

async fn served(life: &mut Life) {
    life.happen(Event::Run(true)).await;
    life.until("published", |life| life.told()["credentials"].is_object()).await;
}

#[rstest]
fn a_life_without_trouble(#[values(HyperShift, ClusterApi, Caas, Osac)] backend: Backend) {
    in_time(async {
        let mut life = Life::begin(backend, 0).await;
        assert_eq!(life.told()["blockingReason"]["reason"], "NotRunning");
        served(&mut life).await;
        life.rest().await;
        for event in [Event::Rotate, Event::Tamper, Event::Unpublish, Event::Run(false), Event::Run(true)] {
            life.happen(event).await;
            life.wait(700).await;
            life.rest().await;
            assert!(life.published().is_some(), "{event:?}");
        }
        life.happen(Event::Delete).await;
        life.until("withdrawn", |life| life.published().is_none()).await;
        life.rest().await;
        life.happen(Event::Gone).await;
        assert_eq!(life.whole(), None);
        life.rest().await;
        assert_eq!(life.published(), None);
    });
}

/// CaaS says of every cluster that it has one.
#[test]
fn missing_password_is_not_waited_for_long() {
    in_time(async {
        let mut life = Life::begin(Caas, 0).await;
        life.happen(Event::Password(false)).await;
        life.happen(Event::Run(true)).await;
        life.wait(100).await;
        assert_eq!(life.published(), None, "it may still come");
        life.wait(30).await;
        assert_eq!(life.published().unwrap()["data"]["kubeAdminPassword"], "");
        life.rest().await;
        assert_eq!(life.told()["credentials"]["passwordAvailable"], false);
        life.happen(Event::Password(true)).await;
        life.rest().await;
        assert_eq!(life.told()["credentials"]["passwordAvailable"], true);
    });
}

/// Of HyperShift it is named, so it comes.
#[test]
fn a_password_that_is_named_is_waited_for() {
    in_time(async {
        let mut life = Life::begin(HyperShift, 0).await;
        life.happen(Event::Password(false)).await;
        life.happen(Event::Run(true)).await;
        life.wait(3600).await;
        assert_eq!(life.published(), None);
        assert_eq!(life.told()["blockingReason"]["reason"], "SecretMissing");
        life.happen(Event::Password(true)).await;
        life.rest().await;
        assert!(life.published().is_some());
    });
}

#[test]
fn a_plugin_is_never_published_and_does_not_unpublish() {
    in_time(async {
        let mut life = Life::begin(HyperShift, 0).await;
        served(&mut life).await;
        let before = life.published().unwrap()["data"].clone();
        life.happen(Event::Plugin).await;
        life.wait(700).await;
        assert_eq!(life.published().unwrap()["data"], before);
        assert_eq!(life.told()["blockingReason"]["reason"], "KubeconfigRejected");
        life.happen(Event::Rotate).await;
        life.rest().await;
        assert_eq!(life.told()["blockingReason"], json!(null));
    });
}

#[rstest]
fn orphaned_credentials_are_deleted_at_start(
    #[values(HyperShift, ClusterApi, Caas, Osac)] backend: Backend,
    #[values(true, false)] reborn: bool,
) {
    in_time(async {
        let mut life = Life::begin(backend, 0).await;
        served(&mut life).await;
        // Nobody watches while it goes, and another one of its name comes.
        life.hub.judge(|_| Some(Fault::Lost));
        life.happen(Event::Delete).await;
        life.happen(Event::Gone).await;
        if reborn {
            life.happen(Event::Reborn).await;
        }
        assert!(life.published().is_some());
        life.hub.judge(|_| None);
        life.happen(Event::Restart).await;
        life.wait(60).await;
        assert_eq!(life.published(), None);
        life.rest().await;
    });
}

/// The process is killed at each write, before and after it was done, and another one goes on.
#[test]
fn killed_at_every_write() {
    let mut points = 0;
    for nth in 0.. {
        let went_on = in_time(async {
            let mut life = Life::begin(HyperShift, 0).await;
            let mut count = 0;
            let fault = if nth % 2 == 0 { Fault::Lost } else { Fault::AnswerLost };
            let dead = Arc::new(AtomicBool::new(false));
            let died = Arc::clone(&dead);
            life.hub.judge(move |call| {
                if died.load(Ordering::Relaxed) {
                    return Some(Fault::Lost);
                }
                count += usize::from(call.is_write());
                (call.is_write() && count == nth / 2 + 1).then(|| {
                    died.store(true, Ordering::Relaxed);
                    fault
                })
            });
            for event in [
                Event::Run(true),
                Event::Wait(5),
                Event::Rotate,
                Event::Wait(700),
                Event::Tamper,
                Event::Wait(5),
                Event::Delete,
                Event::Wait(5),
            ] {
                life.happen(event).await;
                if dead.swap(false, Ordering::Relaxed) {
                    life.hub.judge(|_| None);
                    life.happen(Event::Restart).await;
                    life.rest().await;
                    life.happen(Event::Delete).await;
                    life.rest().await;
                    return true;
                }
            }
            false
        });
        if !went_on {
            break;
        }
        points += 1;
    }
    assert!(points > 14, "killed at {points} points only");
    println!("killed at {points} points");
}

/// A hub that serves one kind and not another: said, waited for, and served in the best version that there is.
#[test]
fn unserved_kind_does_not_disturb_others() {
    in_time(async {
        begin_time();
        let hub = Memory::new();
        hub.judge(|call| {
            (!call.path.contains("hypershift") && call.path.starts_with("/apis"))
                .then_some(Fault::Refused(404))
        });
        let mark = json!({ "metadata": { "annotations": { ours::CREDENTIALS_NAMESPACE: "credentials" } } });
        let hosted = "/apis/hypershift.openshift.io/v1beta1/namespaces/clusters/hostedclusters/demo";
        hub.put(hosted, mark.clone());
        let provider = start(&hub);
        tokio::time::sleep(std::time::Duration::from_hours(1)).await;
        let told = |path: &str| hub.get(path).unwrap()["metadata"]["annotations"][ours::STATUS].is_string();
        assert!(told(hosted));
        let asked: Vec<_> = hub
            .calls()
            .into_iter()
            .filter(|call| !call.path.contains("hypershift") && call.path.starts_with("/apis"))
            .collect();
        assert!(
            asked.iter().all(|call| !call.is_write()) && (300..600).contains(&asked.len()),
            "{}",
            asked.len()
        );
        // Only of old: a hub that was not upgraded yet.
        let (oldest, newer) = ClusterApi.cluster_kind().versions.split_last().unwrap();
        let newer: Vec<String> = newer.iter().map(|version| format!("/{version}/")).collect();
        hub.judge(move |call| {
            newer.iter().any(|version| call.path.contains(version)).then_some(Fault::Refused(404))
        });
        let old = format!("/apis/cluster.x-k8s.io/{oldest}/namespaces/clusters/clusters/demo");
        hub.put(&old, mark);
        tokio::time::sleep(std::time::Duration::from_mins(2)).await;
        assert!(told(&old));
        provider.abort();
    });
}

fn event() -> impl Strategy<Value = Event> {
    use Event::{Delete, Gone, Password, Plugin, Reborn, Restart, Rotate, Run, Tamper, Unpublish, Wait};
    prop_oneof![
        4 => Just(Run(true)),
        1 => Just(Run(false)),
        1 => Just(Rotate),
        1 => Just(Plugin),
        1 => any::<bool>().prop_map(Password),
        1 => Just(Tamper),
        1 => Just(Unpublish),
        1 => Just(Delete),
        1 => Just(Gone),
        1 => Just(Reborn),
        2 => Just(Restart),
        3 => (0_u64..900).prop_map(Wait),
    ]
}

proptest! {
    // The same walks in every run, so that CI is; other seeds and more cases find more, now and then.
    #![proptest_config(ProptestConfig { cases: crate::support::bounded(40), failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn anything_may_happen(
        backend in prop::sample::select(Backend::ALL.to_vec()),
        events in prop::collection::vec(event(), 1..16),
        seed in 1_u64..u64::MAX,
    ) {
        in_time(async {
            let mut life = Life::begin(backend, seed).await;
            for event in events {
                life.happen(event).await;
            }
            life.rest().await;
        });
    }
}

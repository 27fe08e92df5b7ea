//! The whole controller in a time that stands still while anybody works.

use proptest::prelude::*;
use serde_json::json;

use super::{
    CLAIM,
    life::{Event, Life, cluster, start},
};
use crate::border::{
    memory::{Fault, Memory},
    walk::life::begin_time,
};

fn in_time<T>(life: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(life)
}

async fn served(life: &mut Life) {
    for event in [Event::Assign(0), Event::Confirm, Event::Acknowledge, Event::Run] {
        life.happen(event).await;
    }
    life.until("published", |life| life.told()["credentials"].is_object()).await;
}

#[test]
fn a_life_without_trouble() {
    in_time(async {
        let mut life = Life::begin(0).await;
        assert_eq!(life.told()["queue"], json!({ "position": 1, "depth": 1 }));
        assert_eq!(life.told()["supply"], "Installing");
        served(&mut life).await;
        life.rest().await;
        life.happen(Event::Rotate).await;
        life.wait(700).await;
        life.rest().await;
        for event in [Event::Tamper, Event::Unpublish] {
            life.happen(event).await;
            life.rest().await;
            assert!(life.published().is_some());
        }
        life.happen(Event::Sleep).await;
        life.wait(300).await;
        let state = |life: &Life| life.hub.get(&cluster(0)).unwrap()["spec"]["powerState"].clone();
        assert_eq!(state(&life), "Hibernating", "not at once");
        life.wait(600).await;
        assert_eq!(state(&life), "Running");
        life.happen(Event::Delete).await;
        life.until("withdrawn", |life| life.published().is_none()).await;
        life.happen(Event::GiveBack).await;
        life.happen(Event::ClaimGone).await;
        assert_eq!(life.claim(), None);
        life.wait(600).await;
        assert_eq!(life.published(), None);
    });
}

#[test]
fn a_plugin_is_never_published_and_does_not_unpublish() {
    in_time(async {
        let mut life = Life::begin(0).await;
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

/// Hive lets the provider in and says so at once; the API server may learn of it a moment later.
#[test]
fn late_rights_are_tried_again_soon() {
    in_time(async {
        let mut life = Life::begin(0).await;
        life.hub.judge(|call| call.path.contains("/namespaces/c-0/secrets/").then_some(Fault::Refused(403)));
        for event in [Event::Assign(0), Event::Confirm, Event::Acknowledge, Event::Run] {
            life.happen(event).await;
        }
        life.wait(2).await;
        assert_eq!(life.told()["blockingReason"]["reason"], "SecretMissing");
        life.hub.judge(|_| None);
        life.wait(60).await;
        assert!(life.told()["credentials"].is_object(), "{:#}", life.told());
    });
}

#[test]
fn orphaned_credentials_are_deleted_at_start() {
    in_time(async {
        let mut life = Life::begin(0).await;
        served(&mut life).await;
        // Nobody watches while it goes, and another one of its name comes.
        life.hub.judge(|_| Some(Fault::Lost));
        life.hub.merge(CLAIM, &json!({ "metadata": { "finalizers": null } }));
        life.hub.delete(CLAIM);
        life.hub.put(CLAIM, json!({ "metadata": { "annotations": { "testplatform.ci.openshift.org/resume": "true" } }, "spec": { "clusterPoolName": "pool" } }));
        life.hub.judge(|_| None);
        life.restart();
        life.wait(30).await;
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
            let mut life = Life::begin(0).await;
            let mut count = 0;
            let fault = if nth % 2 == 0 { Fault::Lost } else { Fault::AnswerLost };
            let dead = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
            let died = std::sync::Arc::clone(&dead);
            life.hub.judge(move |call| {
                if died.load(std::sync::atomic::Ordering::Relaxed) {
                    return Some(Fault::Lost);
                }
                count += usize::from(call.is_write());
                (call.is_write() && count == nth / 2 + 1).then(|| {
                    died.store(true, std::sync::atomic::Ordering::Relaxed);
                    fault
                })
            });
            for event in [
                Event::Assign(0),
                Event::Confirm,
                Event::Acknowledge,
                Event::Run,
                Event::Wait(5),
                Event::Rotate,
                Event::Wait(700),
                Event::Delete,
                Event::Wait(5),
            ] {
                life.happen(event).await;
                if dead.swap(false, std::sync::atomic::Ordering::Relaxed) {
                    life.hub.judge(|_| None);
                    life.restart();
                    life.wait(30).await;
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

/// A hub without Hive: said, waited for, and served once it is there.
#[test]
fn a_hub_without_hive_is_waited_for() {
    in_time(async {
        begin_time();
        let hub = Memory::new();
        hub.judge(|call| call.path.contains("hive.openshift.io").then_some(Fault::Refused(404)));
        let provider = start(&hub);
        tokio::time::sleep(std::time::Duration::from_hours(1)).await;
        let asked = hub.calls();
        assert!(
            asked.iter().all(|call| !call.is_write()) && (100..400).contains(&asked.len()),
            "{}",
            asked.len()
        );
        hub.judge(|_| None);
        hub.put(CLAIM, json!({ "metadata": { "annotations": { "testplatform.ci.openshift.org/resume": "true" } }, "spec": { "clusterPoolName": "pool" } }));
        tokio::time::sleep(std::time::Duration::from_mins(2)).await;
        assert!(
            hub.get(CLAIM).unwrap()["metadata"]["annotations"]["testplatform.ci.openshift.org/status"]
                .is_string()
        );
        provider.abort();
    });
}

fn event() -> impl Strategy<Value = Event> {
    use Event::{
        Acknowledge, Assign, ClaimGone, Confirm, Delete, GiveBack, Lose, Misdirect, Plugin, Restart, Rotate,
        Run, Sleep, Stop, Tamper, Unpublish, Wait,
    };
    prop_oneof![
        4 => (0_usize..2).prop_map(Assign),
        4 => Just(Confirm),
        4 => Just(Acknowledge),
        4 => Just(Run),
        1 => Just(Stop),
        1 => Just(Sleep),
        1 => Just(Rotate),
        1 => Just(Plugin),
        1 => Just(Tamper),
        1 => Just(Unpublish),
        1 => (0_usize..3).prop_map(Misdirect),
        1 => Just(Delete),
        1 => Just(GiveBack),
        1 => (0_usize..2).prop_map(Lose),
        1 => Just(ClaimGone),
        2 => Just(Restart),
        3 => (0_u64..900).prop_map(Wait),
    ]
}

proptest! {
    // The same walks in every run, so that CI is; other seeds and more cases find more, now and then.
    #![proptest_config(ProptestConfig { cases: crate::support::bounded(48), failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn anything_may_happen(events in prop::collection::vec(event(), 1..16), seed in 1_u64..u64::MAX) {
        in_time(async {
            let mut life = Life::begin(seed).await;
            for event in events {
                life.happen(event).await;
            }
            life.rest().await;
        });
    }
}

//! The whole provider on API servers in memory, in a time that stands still while anybody works: lives in which anything
//! happens at any time, and calls go wrong.

mod handback;
pub(crate) mod life;
mod stale;

use std::time::Duration;

use life::{Event, Life, PHASE};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::memory::Fault;

pub(crate) fn in_time<T>(life: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(life)
}

#[test]
fn a_life_without_trouble() {
    in_time(async {
        let life = Life::ready().await;
        life.wait(60).await;

        life.hub.calls();
        life.build_cluster.calls();
        life.wait(3600).await;
        assert_eq!(life.hub.writes(), [], "at rest nothing is written");
        assert_eq!(life.build_cluster.writes(), []);

        life.happen(Event::TearDown).await;
        life.until("told", |ec| ec["status"]["phase"] == "Deprovisioning").await;
        life.happen(Event::Success).await;
        life.until("over", |ec| ec["status"]["phase"] == "Deprovisioned").await;
        life.end().await;
    });
}

/// The process is killed at each write, before and after it was done, and another one goes on.
#[test]
fn killed_at_every_write() {
    let mut nth = 0;
    loop {
        let outcome = in_time(killed_at(nth / 2, nth % 2 == 1));
        match outcome {
            Some(outcome) => assert_eq!(outcome, [PHASE[3], "1 job", "1 signal"], "killed at {nth}"),
            None => break,
        }
        nth += 1;
    }
    // Finalizer, job, status, …: fewer would mean that it was not killed at all.
    assert!(nth > 16, "{nth}");
    println!("killed at {nth} points");
}

async fn killed_at(nth: usize, after: bool) -> Option<[&'static str; 3]> {
    let mut life = Life::begin(0).await;
    let fault = if after { Fault::AnswerLost } else { Fault::Lost };
    let mut killed = life.kill_at(nth, fault);
    let script = async |life: &Life| {
        life.until("bound", |ec| ec["status"]["prowJobId"].is_string()).await;
        for event in [Event::Schedule, Event::Namespace, Event::Install] {
            life.happen(event).await;
        }
        // Or later, the second time.
        life.until("ready", |ec| PHASE[1..4].iter().any(|phase| ec["status"]["phase"] == *phase)).await;
        life.happen(Event::TearDown).await;
        life.until_signalled().await;
        life.happen(Event::Success).await;
        life.until("over", |ec| ec["status"]["phase"] == "Deprovisioned").await;
    };
    let was_killed = tokio::select! {
        () = script(&life) => false,
        _ = killed.changed() => true,
    };
    if !was_killed {
        return None;
    }
    life.restart();
    // From the beginning: what has happened already does not happen again.
    script(&life).await;
    life.wait(120).await;
    let jobs = if life.jobs_made() == 1 { "1 job" } else { "jobs" };
    let signals = if life.signals_made() == 1 { "1 signal" } else { "signals" };
    life.check();
    (life.phase() == PHASE[3]).then_some([PHASE[3], jobs, signals])
}

fn event() -> impl Strategy<Value = Event> {
    use Event::{
        BuildAway, BuildBack, Delete, DeleteJob, DeleteNamespace, Failure, Install, Namespace, Password,
        Restart, Schedule, Success, Tamper, TearDown, Unpublish, Wait,
    };
    prop_oneof![
        4 => Just(Schedule),
        4 => Just(Namespace),
        4 => Just(Install),
        2 => Just(Password),
        1 => Just(Tamper),
        1 => Just(Unpublish),
        2 => Just(TearDown),
        1 => Just(Delete),
        1 => Just(Success),
        1 => Just(Failure),
        1 => Just(DeleteJob),
        1 => Just(DeleteNamespace),
        1 => Just(BuildAway),
        2 => Just(BuildBack),
        3 => Just(Restart),
        3 => (0_u64..400).prop_map(Wait),
    ]
}

proptest! {
    // The same walks in every run, so that CI is; other seeds and more cases find more, now and then.
    #![proptest_config(ProptestConfig { cases: crate::support::bounded(64), failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn anything_may_happen(events in prop::collection::vec(event(), 1..14), seed in 1_u64..u64::MAX) {
        in_time(async {
            let mut life = Life::begin(seed).await;
            for event in events {
                if event == Event::Restart {
                    life.restart();
                } else {
                    life.happen(event).await;
                }
            }
            life.end().await;
        });
    }
}

#[test]
fn a_proxy_keeps_credentials_in_step_and_nothing_else() {
    in_time(async {
        let life = Life::beside_another_controller();
        life.wait(30).await;
        assert_eq!(life.published_password().as_deref(), Some("first"), "the other controller leaves it out");
        life.happen(Event::Password).await;
        assert_eq!(life.published_password().as_deref(), Some("second"));
        life.wait(3600).await;
        life.say(&json!({ "phase": "Deprovisioned" }));
        life.wait(30).await;
        assert_eq!(life.published_password(), None, "withdrawn at the end");
        life.happen(Event::Delete).await;
        life.wait(3600).await;

        let writes = life.hub.writes();
        let only = |call: &super::memory::Call| {
            call.path.contains("/secrets/") || call.body["metadata"]["annotations"].is_object()
        };
        assert!(writes.iter().all(only), "{writes:#?}");
        assert_eq!(life.build_cluster.writes(), []);
    });
}

#[test]
fn a_proxy_that_cannot_publish_leaves_the_status_alone() {
    in_time(async {
        let life = Life::beside_another_controller();
        life.hub.judge(|call| {
            (call.is_write() && call.path.contains("/secrets")).then_some(super::memory::Fault::Refused(422))
        });
        life.wait(30).await;
        life.happen(Event::Password).await;
        life.wait(3600).await;
        let status =
            |call: &super::memory::Call| call.path.ends_with("/status") || !call.body["status"].is_null();
        let writes = life.hub.writes();
        assert!(writes.iter().any(|call| call.path.contains("/secrets")), "it tried");
        assert!(!writes.iter().any(status), "{writes:#?}");
    });
}

/// Rights and quota answer 403, admission that does not work 500.
#[test]
fn refused_signal_blocks_nothing_for_ever() {
    for code in [403, 500] {
        in_time(async {
            let life = Life::ready().await;
            life.build_cluster.judge(move |call| call.is_write().then_some(Fault::Refused(code)));
            life.happen(Event::TearDown).await;
            let is = |ec: &Value, type_: &str, reason: &str| {
                let said = |c: &Value| c["type"] == type_ && c["status"] == "False" && c["reason"] == reason;
                ec["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(said))
            };
            life.until("told of", |ec| is(ec, "TestCompleted", "SignalFailed")).await;
            assert_eq!(life.phase(), PHASE[2]);
            life.wait(4 * 3600).await;
            life.until("overdue", |ec| is(ec, "ProwJobCompleted", "DeprovisionTimeout")).await;
            // It is tried all the time, and more and more seldom.
            let tries = life.build_cluster.writes().len();
            assert!((30..150).contains(&tries), "{tries}");
            life.happen(Event::Delete).await;
            life.wait(3 * 3600).await;
            assert_eq!(life.phase(), PHASE[2], "its job is not cut short before its time");
            life.wait(2 * 3600).await;
            assert_eq!(life.beside("ec"), Value::Null, "nor waited for for ever");
            life.check();
        });
    }
}

#[test]
fn second_job_without_signal_blocks_nothing_for_ever() {
    for code in [403, 500] {
        in_time(async {
            let life = Life::ready().await;
            life.build_cluster.judge(move |call| {
                (call.is_write() && call.path.contains("/ci-op-y/")).then_some(Fault::Refused(code))
            });
            life.one_too_many();
            life.happen(Event::Delete).await;
            life.until_signalled().await;
            life.happen(Event::Success).await;
            let state = || life.hub.get(life::ONE_TOO_MANY).unwrap()["status"]["state"].clone();
            life.wait(3 * 3600).await;
            assert_eq!(state(), "pending", "it is not cut short before its time");
            assert_ne!(life.beside("ec"), Value::Null, "it is waited for");
            life.wait(2 * 3600).await;
            assert_eq!(state(), "aborted");
            assert_eq!(life.beside("ec"), Value::Null, "but not for ever");
            life.check();
        });
    }
}

/// Another provider, or the upstream controller, may serve EphemeralClusters of another namespace with the same Prow.
#[test]
fn jobs_of_another_namespace_are_no_orphans() {
    in_time(async {
        let life = Life::begin(0).await;
        let at = "/apis/prow.k8s.io/v1/namespaces/ci/prowjobs/theirs";
        let labels = json!({
            "ci.openshift.io/ephemeral-cluster": "canary",
            "testplatform.ci.openshift.org/ephemeral-cluster-uid": "elsewhere",
            "testplatform.ci.openshift.org/ephemeral-cluster-namespace": "canaries",
        });
        let job = json!({
            "metadata": { "labels": labels }, "spec": { "cluster": "build01" }, "status": { "state": "pending" },
        });
        life.hub.put(at, job.clone());
        life.wait(7200).await;
        assert_eq!(life.hub.get(at).unwrap()["status"]["state"], "pending");
        // The same job of this namespace is one.
        let mut ours = job;
        ours["metadata"]["labels"]["testplatform.ci.openshift.org/ephemeral-cluster-namespace"] =
            json!("ephemeral-cluster");
        life.hub.put(&at.replace("theirs", "ours"), ours);
        life.wait(7200).await;
        assert_eq!(life.hub.get(&at.replace("theirs", "ours")).unwrap()["status"]["state"], "aborted");
    });
}

#[test]
fn unreadable_object_does_not_stop_others() {
    in_time(async {
        let life = Life::begin(0).await;
        life.put_beside(
            "bad",
            json!({ "spec": { "ciOperator": ["no", "object"], "tearDownCluster": "maybe" } }),
        );
        life.put_beside("worse", json!({ "spec": 7, "status": "x" }));
        life.put_beside("good", json!({ "spec": life::spec() }));
        life.wait(60).await;
        let bound = |name: &str| life.beside(name)["status"]["prowJobId"].is_string();
        assert!(bound("good") && !bound("bad") && !bound("worse"));
        tokio::time::sleep(Duration::from_secs(1)).await;
    });
}

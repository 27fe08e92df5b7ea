//! One holder at a time, on an API server.

use std::time::Duration;

use jiff::Timestamp;
use kube::Api;
use serde_json::json;
use testplatform_runtime::lease::{Election, Lost, Times};
use tokio::time::{Instant, timeout};

use super::memory::{Fault, Memory};

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/ephemeral-cluster/leases/l";

fn election(memory: &Memory, me: &str) -> Election {
    Election {
        api: Api::namespaced(memory.client(), "ephemeral-cluster"),
        name: "l".into(),
        me: me.into(),
        times: Times {
            lease: Duration::from_secs(15),
            renew: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        },
        now: || Timestamp::UNIX_EPOCH,
    }
}

fn holder(memory: &Memory) -> String {
    memory.get(LEASE).unwrap()["spec"]["holderIdentity"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn released_lease_is_acquired_by_the_next() {
    let memory = Memory::new();
    let (first, second) = (election(&memory, "first"), election(&memory, "second"));
    let acquired = first.acquire().await;
    assert_eq!(holder(&memory), "first");
    // Another holder's time in it says nothing, so it is renewed for the second to see.
    let held = async {
        tokio::select! {
            lost = first.keep_renewing(acquired) => panic!("{lost}"),
            () = tokio::time::sleep(Duration::from_mins(2)) => first.release().await,
        }
    };
    let begun = Instant::now();
    // The fake clock stands still, so each renewal has to be told apart by something else.
    let ((), ()) = tokio::join!(held, async {
        timeout(Duration::from_secs(10), second.acquire()).await.unwrap_err();
        tokio::time::sleep(Duration::from_secs(111)).await;
        second.acquire().await;
    });
    assert!(begun.elapsed() < Duration::from_secs(125), "{:?}", begun.elapsed());
    assert_eq!(holder(&memory), "second");
    assert_eq!(memory.get(LEASE).unwrap()["spec"]["leaseTransitions"], 1);
}

#[tokio::test(start_paused = true)]
async fn lease_of_a_missing_holder_is_acquired_after_its_duration() {
    let memory = Memory::new();
    election(&memory, "first").acquire().await;
    let begun = Instant::now();
    election(&memory, "second").acquire().await;
    let waited = begun.elapsed();
    assert!(waited >= Duration::from_secs(15) && waited < Duration::from_secs(18), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn holder_without_renewal_loses_before_another_acquires() {
    for fault in [Fault::Refused(500), Fault::Lost, Fault::AnswerLost] {
        let memory = Memory::new();
        let first = election(&memory, "first");
        let acquired = first.acquire().await;
        memory.judge(move |_| Some(fault));
        let begun = Instant::now();
        assert!(matches!(first.keep_renewing(acquired).await, Lost::Late(..)), "{fault:?}");
        assert!(begun.elapsed() <= Duration::from_secs(10), "{fault:?}: {:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn taken_lease_is_lost() {
    let memory = Memory::new();
    let first = election(&memory, "first");
    let acquired = first.acquire().await;
    memory.merge(LEASE, &json!({ "spec": { "holderIdentity": "thief" } }));
    assert_eq!(first.keep_renewing(acquired).await, Lost::To("thief".into()));
    first.release().await;
    assert_eq!(holder(&memory), "thief", "what is another's is not given back");
}

#[tokio::test(start_paused = true)]
async fn deleted_lease_is_recreated() {
    let memory = Memory::new();
    let first = election(&memory, "first");
    let acquired = first.acquire().await;
    let deleted = async {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(21)).await;
            memory.delete(LEASE);
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert_eq!(holder(&memory), "first");
        }
    };
    tokio::select! {
        lost = first.keep_renewing(acquired) => panic!("{lost}"),
        () = deleted => {}
    }
}

/// Nobody else has it: whoever leads takes it again, unless another one was quicker.
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_emptied_is_no_loss() {
    let memory = Memory::new();
    let first = election(&memory, "first");
    let acquired = first.acquire().await;
    let emptied = async {
        for spec in [json!({ "holderIdentity": "" }), json!({ "holderIdentity": null })] {
            tokio::time::sleep(Duration::from_secs(21)).await;
            memory.merge(LEASE, &json!({ "spec": spec }));
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert_eq!(holder(&memory), "first");
        }
    };
    tokio::select! {
        lost = first.keep_renewing(acquired) => panic!("{lost}"),
        () = emptied => {}
    }
}

/// Somebody took out, or changed, how long it counts. Whoever leads writes it down again.
#[tokio::test(start_paused = true)]
async fn changed_lease_duration_is_restored() {
    for seconds in [json!(null), json!(0), json!(1)] {
        let memory = Memory::new();
        let (first, second) = (election(&memory, "first"), election(&memory, "second"));
        let acquired = first.acquire().await;
        let changed = async {
            // The clock stands still, so that nothing else tells of a renewal: within the time for which the first one counts.
            for _ in 0..2 {
                memory.merge(LEASE, &json!({ "spec": { "leaseDurationSeconds": seconds } }));
                tokio::time::sleep(Duration::from_secs(5)).await;
                assert_eq!(memory.get(LEASE).unwrap()["spec"]["leaseDurationSeconds"], 15);
            }
        };
        tokio::select! {
            lost = first.keep_renewing(acquired) => panic!("{lost}"),
            _ = second.acquire() => panic!("two act"),
            () = changed => {}
        }
    }
}

/// Another one makes it after it was found to be gone.
#[tokio::test(start_paused = true)]
async fn deleted_lease_belongs_to_its_first_creator() {
    let memory = Memory::new();
    let first = election(&memory, "first");
    let acquired = first.acquire().await;
    let mut taken = memory.get(LEASE).unwrap();
    taken["spec"]["holderIdentity"] = json!("second");
    memory.delete(LEASE);
    let other = memory.clone();
    memory.judge(move |call| {
        if call.method == "POST" {
            other.put(LEASE, taken.clone());
        }
        None
    });
    let begun = Instant::now();
    assert_eq!(first.keep_renewing(acquired).await, Lost::To("second".into()));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(holder(&memory), "second");
}

#[tokio::test(start_paused = true)]
async fn deleted_lease_without_recreation_is_lost_in_time() {
    for fault in [Fault::Refused(403), Fault::Refused(500), Fault::Lost, Fault::AnswerLost] {
        let memory = Memory::new();
        let first = election(&memory, "first");
        let acquired = first.acquire().await;
        memory.delete(LEASE);
        memory.judge(move |call| call.is_write().then_some(fault));
        let begun = Instant::now();
        assert!(matches!(first.keep_renewing(acquired).await, Lost::Late(..)), "{fault:?}");
        assert!(begun.elapsed() <= Duration::from_secs(10), "{fault:?}: {:?}", begun.elapsed());
    }
}

/// Who held it acts until it has to know.
#[tokio::test(start_paused = true)]
async fn last_holder_of_a_deleted_lease_is_waited_for() {
    let memory = Memory::new();
    election(&memory, "first").acquire().await;
    let second = election(&memory, "second");
    let begun = Instant::now();
    let deleted = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        memory.delete(LEASE);
    };
    tokio::join!(second.acquire(), deleted);
    let waited = begun.elapsed();
    assert!(waited >= Duration::from_secs(15) && waited < Duration::from_secs(18), "{waited:?}");
    assert_eq!(holder(&memory), "second");
}

/// A 404 of something in between says nothing of the Lease.
#[tokio::test(start_paused = true)]
async fn lease_is_recreated_only_after_a_definite_404() {
    let memory = Memory::new();
    let first = election(&memory, "first");
    let acquired = first.acquire().await;
    memory.writes();
    memory.judge(|call| (!call.is_write()).then_some(Fault::Refused(404)));
    assert!(matches!(first.keep_renewing(acquired).await, Lost::Late(..)));
    assert_eq!(memory.writes(), []);
}

#[tokio::test(start_paused = true)]
async fn a_stumble_is_no_loss() {
    let memory = Memory::new();
    let first = election(&memory, "first");
    let acquired = first.acquire().await;
    let mut count = 0;
    memory.judge(move |_| {
        count += 1;
        (count % 5 < 2).then_some(Fault::Refused(503))
    });
    assert!(timeout(Duration::from_mins(10), first.keep_renewing(acquired)).await.is_err());
}

/// The answer to the write that took it was lost: it is written anew, because nobody knows when it arrived.
#[tokio::test(start_paused = true)]
async fn own_lease_is_renewed_before_it_counts() {
    let memory = Memory::new();
    let mut writes = 0;
    memory.judge(move |call| {
        writes += usize::from(call.is_write());
        (call.is_write() && writes == 1).then_some(Fault::AnswerLost)
    });
    let first = election(&memory, "first");
    first.acquire().await;
    assert_eq!(memory.writes().len(), 2, "{:#?}", memory.writes());
}

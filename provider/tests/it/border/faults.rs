//! Each failure is known by its kind, and a repetition ends well.

use provider_testplatform::controllers::ephemeral_cluster::{
    operation::{Operation, Plan},
    status::{Phase, Status},
};
use serde_json::json;
use testplatform_runtime::event::Event;

use super::{Bench, CONFIDENTIAL, JOB, OBJECT, SECRET, SIGNAL, credentials, memory::Fault, plain, tells};

#[tokio::test]
async fn every_answer_has_its_kind() {
    for (fault, kind) in [
        (Fault::Refused(401), "forbidden"),
        (Fault::Refused(403), "forbidden"),
        (Fault::Refused(404), "not_found"),
        (Fault::Refused(409), "conflict"),
        (Fault::Refused(413), "refused"),
        (Fault::Refused(422), "refused"),
        (Fault::Refused(429), "server"),
        (Fault::Refused(500), "server"),
        (Fault::Refused(503), "server"),
        (Fault::Lost, "timeout"),
        (Fault::AnswerLost, "timeout"),
    ] {
        let (bench, object) = Bench::with(plain());
        bench.hub.judge(move |_| Some(fault));
        let create = Operation::CreateProwJob(Box::new(json!({
            "apiVersion": "prow.k8s.io/v1", "kind": "ProwJob", "metadata": { "name": "job" },
        })));
        let failed = bench.act(&object, create).await.unwrap_err();
        assert_eq!(failed, format!("create_prow_job/{kind}"), "{fault:?}");
    }
}

#[tokio::test]
async fn an_answer_that_was_lost_does_no_harm() {
    let (bench, object) = Bench::with(plain());
    let mut first = true;
    bench.hub.judge(move |_| std::mem::take(&mut first).then_some(Fault::AnswerLost));
    let create = || {
        Operation::CreateProwJob(Box::new(json!({
            "apiVersion": "prow.k8s.io/v1", "kind": "ProwJob", "metadata": { "name": "job" },
        })))
    };
    assert!(bench.act(&object, create()).await.is_err());
    bench.act(&object, create()).await.unwrap();
    assert_eq!(bench.hub.list("/apis/prow.k8s.io/v1/namespaces/ci/prowjobs").len(), 1);
}

#[tokio::test]
async fn an_event_that_is_lost_ends_nothing() {
    let (bench, object) = Bench::with(plain());
    bench.hub.judge(|call| call.path.contains("events.k8s.io").then_some(Fault::Refused(403)));
    let event = Event { warning: false, reason: "Why".into(), note: "a note".into() };
    let step =
        Plan { actions: vec![Operation::EmitEvent(event), Operation::AddFinalizer], ..Plan::default() };
    let outcome = bench.executor.run(Some(object), &step).await.unwrap();
    assert_eq!(outcome.forgone.len(), 1);
    assert!(outcome.object.unwrap().metadata.finalizers.is_some());
}

/// A repeated plan emits no event again.
#[tokio::test]
async fn events_wait_for_the_status() {
    let (bench, object) = Bench::with(plain());
    let event = Event { warning: false, reason: "Why".into(), note: "a note".into() };
    let step = Plan {
        status: Some(Status { phase: Some(Phase::Deprovisioning), ..Status::default() }),
        events: vec![event],
        ..Plan::default()
    };
    let events = || bench.hub.list("/apis/events.k8s.io/v1/namespaces/ephemeral-cluster/events").len();
    for code in [409, 422] {
        bench.hub.judge(move |call| call.path.ends_with("/status").then_some(Fault::Refused(code)));
        assert!(bench.executor.run(Some(object.clone()), &step).await.is_err());
        assert_eq!(events(), 0, "{code}");
    }
    bench.hub.judge(|_| None);
    bench.executor.run(Some(object), &step).await.unwrap();
    assert_eq!(events(), 1);
}

#[tokio::test]
async fn the_first_failure_ends_a_step() {
    let (bench, object) = Bench::with(plain());
    bench.hub.judge(|call| (call.method == "POST").then_some(Fault::Refused(403)));
    let step = Plan {
        actions: vec![
            Operation::AddFinalizer,
            Operation::PublishCredentials(credentials("x")),
            Operation::RemoveFinalizer,
        ],
        ..Plan::default()
    };
    let failure = bench.executor.run(Some(object), &step).await.unwrap_err();
    assert!(matches!(failure.action, Some(Operation::PublishCredentials(_))));
    assert!(failure.object.unwrap().metadata.finalizers.is_some(), "what was done before counts");
}

/// Neither does the status wait for it, nor what else comes afterwards; of what was not done nothing is told.
#[tokio::test]
async fn later_action_fails_on_its_own() {
    let (bench, object) = Bench::with(plain());
    bench.build_cluster.judge(|call| (call.method == "POST").then_some(Fault::Refused(403)));
    let signal = Operation::SignalWaitStep { cluster: "build01".into(), namespace: "ci-op-x".into() };
    let event = |reason: &str| {
        Operation::EmitEvent(Event { warning: false, reason: reason.into(), note: "a note".into() })
    };
    let abort = Operation::AbortProwJob { name: "job".into(), description: "why".into() };
    bench.hub.put(JOB, json!({ "status": { "state": "pending" } }));
    let step = Plan {
        status: Some(Status { phase: Some(Phase::Deprovisioning), ..Status::default() }),
        afterwards: vec![signal, event("Untrue"), abort, event("True")],
        ..Plan::default()
    };
    let outcome = bench.executor.run(Some(object), &step).await.unwrap();
    let undone = outcome.undone.unwrap();
    assert_eq!((undone.action, undone.reason.as_str()), ("signal", "forbidden"));
    assert_eq!(bench.hub.get(OBJECT).unwrap()["status"]["phase"], "Deprovisioning");
    assert_eq!(bench.hub.get(JOB).unwrap()["status"]["state"], "aborted");
    let events = bench.hub.list("/apis/events.k8s.io/v1/namespaces/ephemeral-cluster/events");
    assert!(events.len() == 1 && events[0]["reason"] == "True", "{events:?}");
}

/// Nor does it wait for what fails for long itself. After a conflict all is decided anew.
#[tokio::test]
async fn later_action_runs_after_an_earlier_failure() {
    for (code, done) in [(403, true), (500, true), (409, false)] {
        for of_status in [false, true] {
            let (bench, object) = Bench::with(plain());
            bench.hub.put(JOB, json!({ "status": { "state": "pending" } }));
            bench.hub.judge(move |call| {
                let fails = if of_status { call.path.ends_with("/status") } else { call.method == "POST" };
                (fails && !call.path.contains("prowjobs")).then_some(Fault::Refused(code))
            });
            let publish = Operation::PublishCredentials(credentials("x"));
            let abort = Operation::AbortProwJob { name: "job".into(), description: "why".into() };
            let step = Plan {
                actions: if of_status { vec![] } else { vec![publish] },
                status: Some(Status { phase: Some(Phase::Deprovisioning), ..Status::default() }),
                afterwards: vec![abort],
                ..Plan::default()
            };
            let failure = bench.executor.run(Some(object), &step).await.unwrap_err();
            assert_eq!(failure.action.is_none(), of_status);
            let state = &bench.hub.get(JOB).unwrap()["status"]["state"];
            assert_eq!(state == "aborted", done, "{code}, of the status: {of_status}");
        }
    }
}

/// It is told if it can be, however late it is.
#[tokio::test(start_paused = true)]
async fn overdue_job_is_aborted_only_without_signal() {
    let always = usize::MAX;
    for (cluster, fault, times, done, state) in [
        ("build01", Fault::Lost, 0, None, "pending"),
        ("build01", Fault::Refused(403), always, None, "aborted"),
        ("build01", Fault::Refused(500), always, None, "aborted"),
        ("build01", Fault::Lost, always, None, "aborted"),
        // A transient failure is no reason, nor is an answer that was lost.
        ("build01", Fault::Refused(500), 1, None, "pending"),
        ("build01", Fault::AnswerLost, 1, None, "pending"),
        ("build99", Fault::Lost, 0, None, "aborted"),
        // Nothing is wrong: it is tried again.
        ("build01", Fault::Refused(409), always, Some("signal_or_abort/conflict"), "pending"),
    ] {
        let (bench, object) = Bench::with(plain());
        bench.hub.put(JOB, json!({ "status": { "state": "pending" } }));
        let mut left = times;
        bench.build_cluster.judge(move |_| {
            let fails = left > 0;
            left = left.saturating_sub(1);
            fails.then_some(fault)
        });
        let signal = Operation::SignalWaitStepOrAbort {
            cluster: cluster.into(),
            namespace: "ci-op-x".into(),
            name: "job".into(),
            description: "why".into(),
        };
        let failed = bench.act(&object, signal).await.err();
        assert_eq!(failed.as_deref(), done, "{cluster}, {fault:?}");
        assert_eq!(bench.hub.get(JOB).unwrap()["status"]["state"], state, "{cluster}, {fault:?}");
        let told = bench.build_cluster.get(SIGNAL).is_some();
        assert_eq!(told, state == "pending" && done.is_none(), "{cluster}, {fault:?}");
    }
}

#[tokio::test]
async fn errors_about_secrets_do_not_repeat_them() {
    let publish = || Plan {
        actions: vec![Operation::PublishCredentials(credentials(CONFIDENTIAL))],
        ..Plan::default()
    };
    // The existing object cannot be parsed.
    let (bench, object) = Bench::with(plain());
    bench.hub.put(SECRET, json!({ "data": CONFIDENTIAL }));
    let step = publish();
    let failure = bench.executor.run(Some(object), &step).await.unwrap_err();
    assert!(!tells(&format!("{} {failure:?}", failure.error)), "{failure:?}");

    // The error quotes the request.
    for (method, code) in [("POST", 422), ("POST", 500), ("PATCH", 422), ("PATCH", 500)] {
        let (bench, object) = Bench::with(plain());
        if method == "PATCH" {
            bench.act(&object, Operation::PublishCredentials(credentials("x"))).await.unwrap();
        }
        bench.hub.judge(move |call| (call.method == method).then_some(Fault::Refused(code)));
        let step = publish();
        let failure = bench.executor.run(Some(object), &step).await.unwrap_err();
        assert!(tells(&bench.hub.calls().pop().unwrap().body.to_string()), "it was not sent");
        let error = &failure.error;
        assert!(!tells(&format!("{error} {:?} {failure:?}", error.owner_message())), "{method}: {failure:?}");
    }
}

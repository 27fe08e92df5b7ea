//! Claims that are deleted or replaced during a reconcile.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
};

use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use testplatform_apis::duration::GoDuration;
use testplatform_runtime::controller::{reconcile, reconcile_queued};
use tokio::{sync::Semaphore, task::yield_now, time::sleep};

use super::*;
use crate::controllers::cleanup::plan::{Run, RunKind};

const KEY: &str = "testplatformclusters/a/one";
/// The run that owns it, which goes on.
const RUN: &str = r#"{ "apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata":
    { "name": "run", "namespace": "a", "uid": "of-the-run", "resourceVersion": "7" } }"#;
/// Response of an API server to a patch of an outdated claim.
const CONFLICT: &str = r#"{ "kind": "Status", "status": "Failure", "code": 409, "reason": "Conflict",
    "message": "the object has been modified" }"#;

fn observed_claim(version: &str) -> ObservedClaim {
    let run = Run {
        kind: RunKind::PipelineRun,
        namespace: "a".into(),
        name: "run".into(),
        uid: "of-the-run".into(),
    };
    let claim = Claim {
        retention: Some(GoDuration::from_mins(10)),
        namespace: "a".into(),
        runs: vec![run],
        tear_down: None,
        failed: None,
        ends: false,
        note: None,
    };
    let identity = Identity {
        kind: "TestPlatformCluster",
        namespace: "a".into(),
        name: "one".into(),
        uid: "of-the-claim".into(),
        version: version.into(),
    };
    ObservedClaim { claim, identity, flavour: Cleaned::Claims }
}

fn controller(client: Client, observed_claim: ObservedClaim) -> CleanupController {
    let options = Options::new(client, Cleanups::default(), || Timestamp::UNIX_EPOCH);
    let mut controller = CleanupController::new(options, Arc::default());
    // The API server answers watches of runs too, and none of their events is a part of these tests.
    let events = RequestQueue::new(SETTINGS, controller.metrics.runtime_metrics());
    controller.runs = Runs::new(controller.client.clone(), Arc::new(events));
    lock(&controller.claims).insert(KEY.to_owned(), observed_claim);
    controller
}

/// The claim, its run, and an API server that knows a newer version of it.
struct World {
    controller: CleanupController,
    /// The API server answers once this has a permit.
    answers: Arc<Semaphore>,
    /// How often the claim was to be changed.
    changes: Arc<AtomicUsize>,
}

impl World {
    fn new(permits: usize) -> Self {
        let (answers, changes) = (Arc::new(Semaphore::new(permits)), Arc::new(AtomicUsize::new(0)));
        let (waits, counted) = (Arc::clone(&answers), Arc::clone(&changes));
        let service = tower::service_fn(move |request: Request<Body>| {
            let waits = Arc::clone(&waits);
            let is_change = request.method() == Method::PATCH;
            counted.fetch_add(is_change.into(), Ordering::Relaxed);
            let (code, text) =
                if is_change { (StatusCode::CONFLICT, CONFLICT) } else { (StatusCode::OK, RUN) };
            async move {
                drop(waits.acquire().await);
                let mut answer = Response::new(Body::from(text.as_bytes().to_vec()));
                *answer.status_mut() = code;
                Ok::<_, Infallible>(answer)
            }
        });
        let controller = controller(Client::new(service, "default"), observed_claim("1"));
        Self { controller, answers, changes }
    }

    /// Action after a reconcile during which this happens.
    async fn look(&self, happens: impl FnOnce()) -> Action {
        let meanwhile = async {
            yield_now().await;
            happens();
            self.answers.add_permits(1);
        };
        let key = KEY.to_owned();
        tokio::join!(reconcile(&self.controller, &key, false), meanwhile).0.action
    }
}

#[tokio::test]
async fn runs_of_a_deleted_claim_are_not_followed() {
    let world = World::new(0);
    world.look(|| {}).await;
    assert!(world.controller.runs.is_watching(KEY));
    let world = World::new(0);
    world.look(|| world.controller.forget_claim(KEY)).await;
    assert!(!world.controller.runs.is_watching(KEY));
}

#[tokio::test]
async fn a_late_reconcile_repeats_at_once_only_for_a_newer_version() {
    let world = World::new(0);
    assert_eq!(world.look(|| {}).await, Action::RequeueAfter(RETRY));
    let world = World::new(0);
    let newer = || {
        lock(&world.controller.claims).insert(KEY.to_owned(), observed_claim("2"));
    };
    assert_eq!(world.look(newer).await, Action::RequeueAfter(DEBOUNCE));
}

/// The watch may lag behind for any time.
#[tokio::test(start_paused = true)]
async fn an_unobserved_newer_version_is_not_requested_in_a_loop() {
    let world = World::new(1);
    world.controller.queue.push(KEY);
    reconcile_queued(&world.controller, sleep(Duration::from_secs(10))).await;
    let changes = world.changes.load(Ordering::Relaxed);
    assert!((1..=2).contains(&changes), "{changes} times");
}

/// The owner gets no other message.
#[tokio::test]
async fn an_event_that_was_not_made_is_made_later_and_once() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let service = tower::service_fn(move |request: Request<Body>| {
        assert_eq!(request.method(), Method::POST, "{}", request.uri());
        let first = counted.fetch_add(1, Ordering::Relaxed) == 0;
        let (code, text) =
            if first { (StatusCode::INTERNAL_SERVER_ERROR, "no") } else { (StatusCode::CREATED, "{}") };
        async move {
            let mut answer = Response::new(Body::from(text.as_bytes().to_vec()));
            *answer.status_mut() = code;
            Ok::<_, Infallible>(answer)
        }
    });
    let mut alone = observed_claim("1");
    alone.claim.runs.clear();
    let controller = controller(Client::new(service, "default"), alone);
    let mut looks = Vec::new();
    for _ in 0..3 {
        let outcome = reconcile(&controller, &KEY.to_owned(), false).await;
        looks.push((outcome.action == Action::Backoff, tries.load(Ordering::Relaxed)));
    }
    assert_eq!(looks, [(true, 1), (false, 2), (false, 2)]);
}

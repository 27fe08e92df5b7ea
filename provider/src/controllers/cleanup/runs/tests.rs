//! How many connections runs make.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
};

use http::{Request, Response};
use kube::client::Body;
use testplatform_runtime::{metrics::RuntimeMetrics, workqueue::Settings};

use super::*;
use crate::controllers::cleanup::plan::{MOST_RUNS, RunKind};

/// Counts as long as it is there.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs on an API server on which every watch stays open, and how many are.
fn runs() -> (Runs, Arc<AtomicUsize>) {
    let open = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&open);
    let service = tower::service_fn(move |_: Request<Body>| {
        let open = Open::new(&counted);
        async move {
            std::future::pending::<()>().await;
            drop(open);
            Ok::<_, Infallible>(Response::new(Body::empty()))
        }
    });
    let queue = Arc::new(RequestQueue::new(Settings::uncached("test", 1), &RuntimeMetrics::default()));
    (Runs::new(Client::new(service, "default"), queue), open)
}

/// So many runs that own a claim.
fn of(claim: usize, count: usize) -> Vec<Run> {
    let run = |n: usize| {
        let name = format!("{claim}-{n}");
        Run { kind: RunKind::TaskRun, namespace: "a".into(), uid: name.clone(), name }
    };
    (0..count).map(run).collect()
}

/// How many are open once everything has had its time.
async fn settled(open: &AtomicUsize) -> usize {
    sleep(Duration::from_secs(1)).await;
    open.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn however_many_runs_own_claims_only_so_many_are_watched() {
    let (runs, open) = runs();
    let claims = 300;
    for claim in 0..claims {
        runs.watch_runs(&claim.to_string(), &of(claim, MOST_RUNS));
    }
    assert_eq!(settled(&open).await, 0, "of such claims none is watched");
    for claim in 0..claims {
        runs.watch_runs(&claim.to_string(), &of(claim, MOST_OF_ONE));
    }
    assert_eq!(settled(&open).await, MOST);
    // Where one goes there is room for others, and no more than it had.
    runs.watch_runs("0", &[]);
    assert_eq!(settled(&open).await, MOST - MOST_OF_ONE);
    for claim in 1..claims {
        runs.watch_runs(&claim.to_string(), &of(claim, MOST_OF_ONE));
    }
    assert_eq!(settled(&open).await, MOST);
    // Too many runs end the watch.
    runs.watch_runs("1", &of(1, MOST_OF_ONE + 1));
    assert_eq!(settled(&open).await, MOST - MOST_OF_ONE);
}

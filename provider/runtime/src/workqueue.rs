//! Work queue of the small controllers: reconciles requests by name, on events and after requeues.
//!
//! Several requests run concurrently, so that a slow hub delays nobody else's requests, and never two for the same object. Requests that took
//! long the last time get at most half of the workers: a server that accepts connections and never answers may be a tenant's, and a tenant may
//! have many. A panic ends neither the other requests nor the process: the object may be a tenant's, and would crash the next process too.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    sync::mpsc::UnboundedReceiver,
    time::{Instant, sleep_until},
};

use crate::{error::catch_panic, metrics::RuntimeMetrics, queue::backoff};

/// How many looks there are at once, and how often at most.
#[derive(Clone, Copy)]
pub struct Concurrency {
    /// At so many things at once.
    pub max_concurrent_reconciles: usize,
    /// Events for one request within this time lead to one reconcile.
    pub debounce: Duration,
}

/// Where a look is a matter of one object.
pub const DEBOUNCE: Duration = Duration::from_millis(200);
/// A reconcile that took longer than this and is requeued counts as slow.
const SLOW_RECONCILE: Duration = Duration::from_secs(5);
/// First and maximum delay after a failure or a missing dependency. The maximum is low enough for hundreds of affected requests.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(30));
/// When a look has panicked.
const PANIC_BACKOFF: Duration = Duration::from_secs(30);

/// Result of a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reconcile after the next event.
    AwaitChange,
    /// Reconcile after this time at the latest.
    RequeueAfter(Duration),
    /// A dependency is missing and no watch reports it. The request is retried with increasing delay.
    Backoff,
    /// The reconcile failed. It is retried with increasing delay.
    Failed,
}

impl From<Option<Duration>> for Action {
    fn from(after: Option<Duration>) -> Self {
        after.map_or(Self::AwaitChange, Self::RequeueAfter)
    }
}

/// Looks until `stop`, or until nothing can happen any more; what has begun is finished.
pub async fn run_queue<N: Clone + Ord + Debug, L: Future<Output = Action>>(
    mut happened: UnboundedReceiver<N>,
    Concurrency { max_concurrent_reconciles: at_once, debounce: calm }: Concurrency,
    metrics: &RuntimeMetrics,
    look: impl Fn(N) -> L,
    stop: impl Future<Output = ()>,
) {
    let mut due: BTreeMap<N, Instant> = BTreeMap::new();
    let mut busy: BTreeSet<N> = BTreeSet::new();
    let mut slow: BTreeSet<N> = BTreeSet::new();
    let mut failures: BTreeMap<N, u32> = BTreeMap::new();
    let places_of_slow = at_once.div_ceil(2);
    let mut running = FuturesUnordered::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let slow_wait = slow.intersection(&busy).count() >= places_of_slow;
        let waits = |name: &N| busy.contains(name) || (slow_wait && slow.contains(name));
        let next = due.iter().filter(|(name, _)| !waits(name)).min_by_key(|(_, at)| **at);
        let next = next.filter(|_| busy.len() < at_once).map(|(name, at)| (name.clone(), *at));
        let at = next.as_ref().map_or_else(Instant::now, |(_, at)| *at);
        let (name, after) = tokio::select! {
            () = &mut stop => break,
            name = happened.recv() => match name {
                Some(name) => (name, calm),
                None => break,
            },
            Some(Completed { name, next, long }) = running.next() => {
                busy.remove(&name);
                if long && next != Action::AwaitChange {
                    slow.insert(name.clone());
                } else {
                    slow.remove(&name);
                }
                let failed = failures.remove(&name).unwrap_or_default();
                match next {
                    Action::AwaitChange => continue,
                    Action::RequeueAfter(after) => (name, after),
                    Action::Backoff | Action::Failed => {
                        let failed = failed.saturating_add(1);
                        failures.insert(name.clone(), failed);
                        (name, backoff(failed, BACKOFF))
                    }
                }
            }
            () = sleep_until(at), if next.is_some() => {
                if let Some((name, _)) = next {
                    due.remove(&name);
                    busy.insert(name.clone());
                    running.push(reconcile_caught(metrics, look(name.clone()), name));
                }
                continue;
            }
        };
        let at = Instant::now() + after;
        due.entry(name).and_modify(|before| *before = at.min(*before)).or_insert(at);
    }
    while running.next().await.is_some() {}
}

/// A look that has ended.
struct Completed<N> {
    name: N,
    next: Action,
    /// Whether it took long.
    long: bool,
}

async fn reconcile_caught<N: Debug>(
    metrics: &RuntimeMetrics,
    look: impl Future<Output = Action>,
    name: N,
) -> Completed<N> {
    let began = Instant::now();
    let next = catch_panic(async { Ok(look.await) }).await.unwrap_or_else(|error| {
        let (reason, again_in) = (error.reason.as_str(), PANIC_BACKOFF);
        metrics.failed(error.action, reason);
        tracing::warn!(?name, %error, reason, ?again_in, "failed");
        Action::RequeueAfter(again_in)
    });
    Completed { name, next, long: began.elapsed() > SLOW_RECONCILE }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use prometheus_client::{encoding::text, registry::Registry};
    use tokio::{
        sync::mpsc::unbounded_channel,
        time::{Instant, sleep},
    };

    use super::*;

    /// Runs looks at what happens at these seconds, and returns which began when, in milliseconds.
    async fn began(
        events: &[(u64, &str)],
        at_once: usize,
        look: impl AsyncFn(&str) -> Action,
    ) -> Vec<(u128, String)> {
        counted(&RuntimeMetrics::default(), events, at_once, look).await
    }

    async fn counted(
        metrics: &RuntimeMetrics,
        events: &[(u64, &str)],
        at_once: usize,
        look: impl AsyncFn(&str) -> Action,
    ) -> Vec<(u128, String)> {
        let (sender, happened) = unbounded_channel();
        let start = Instant::now();
        let began = Mutex::new(vec![]);
        let looking = run_queue(
            happened,
            Concurrency { max_concurrent_reconciles: at_once, debounce: DEBOUNCE },
            metrics,
            async |name: String| {
                began.lock().unwrap().push((start.elapsed().as_millis(), name.clone()));
                look(&name).await
            },
            sleep(Duration::from_secs(100)),
        );
        let happening = async {
            for (at, name) in events {
                sleep_until(start + Duration::from_secs(*at)).await;
                sender.send((*name).to_owned()).unwrap();
            }
            sleep(Duration::from_secs(1000)).await;
        };
        tokio::select! {
            () = looking => {}
            () = happening => {}
        }
        began.into_inner().unwrap()
    }

    fn seen(began: &[(u128, String)]) -> Vec<(u128, &str)> {
        began.iter().map(|(at, name)| (*at, name.as_str())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_hangs_keeps_nobody_waiting() {
        let look = async |name: &str| {
            if name == "slow" {
                sleep(Duration::from_secs(30)).await;
            }
            Action::AwaitChange
        };
        let began = began(&[(0, "slow"), (1, "quick"), (2, "slow"), (3, "quick")], 8, look).await;
        // And what happened meanwhile is seen by one more look, after the first.
        assert_eq!(seen(&began), [(200, "slow"), (1200, "quick"), (3200, "quick"), (30_200, "slow")]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_than_so_many_at_once() {
        let look = async |_: &str| {
            sleep(Duration::from_secs(10)).await;
            Action::AwaitChange
        };
        let began = began(&[(0, "a"), (0, "b"), (0, "c")], 2, look).await;
        assert_eq!(seen(&began), [(200, "a"), (200, "b"), (10_200, "c")]);
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_took_long_leave_half_of_the_places() {
        let look = async |name: &str| {
            if !name.starts_with("silent") {
                return Action::AwaitChange;
            }
            sleep(Duration::from_secs(10)).await;
            Action::RequeueAfter(Duration::ZERO)
        };
        let events = [(0, "silent-1"), (0, "silent-2"), (0, "silent-3"), (15, "a"), (21, "b")];
        let began = began(&events, 2, look).await;
        let others: Vec<_> = seen(&began).into_iter().filter(|(_, name)| name.len() == 1).collect();
        // A server is not known to be unresponsive before its first reconcile.
        assert_eq!(others, [(20_200, "a"), (21_200, "b")]);
        let turns = |of: &str| began.iter().filter(|(_, name)| name == of).count();
        assert!((2..=5).contains(&turns("silent-1")), "{began:?}");
        assert!((2..=5).contains(&turns("silent-2")), "{began:?}");
        assert!((2..=5).contains(&turns("silent-3")), "{began:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_to_be_looked_at_again_is() {
        let look = async |name: &str| Action::from((name == "a").then_some(Duration::from_secs(40)));
        let began = began(&[(0, "a"), (0, "b"), (0, "a")], 2, look).await;
        assert_eq!(seen(&began), [(200, "a"), (200, "b"), (40_200, "a"), (80_200, "a")]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_is_tried_again_later_each_time_until_it_does_not() {
        let failures = Mutex::new(0);
        let look = async |_: &str| {
            let mut failures = failures.lock().unwrap();
            *failures += 1;
            // An event in the meantime does not wait, and changes nothing.
            if *failures == 7 { Action::AwaitChange } else { Action::Failed }
        };
        let began = began(&[(0, "a"), (68, "a"), (98, "a")], 8, look).await;
        let at: Vec<_> = began.iter().map(|(at, _)| *at).collect();
        assert_eq!(at, [200, 5_200, 15_200, 35_200, 65_200, 68_200, 98_200]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_not_failed_begins_anew() {
        let looked = Mutex::new(0);
        let look = async |_: &str| {
            let mut looked = looked.lock().unwrap();
            *looked += 1;
            if *looked == 3 { Action::RequeueAfter(Duration::from_secs(1)) } else { Action::Failed }
        };
        let began = began(&[(0, "a")], 8, look).await;
        let at: Vec<_> = began.iter().map(|(at, _)| *at).take(6).collect();
        assert_eq!(at, [200, 5_200, 15_200, 16_200, 21_200, 31_200]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_panics_ends_nothing_and_is_looked_at_again() {
        let metrics = RuntimeMetrics::default();
        let look = async |name: &str| {
            sleep(Duration::from_secs(5)).await;
            assert_ne!(name, "bad", "a bug");
            Action::AwaitChange
        };
        let began = counted(&metrics, &[(0, "bad"), (1, "good"), (50, "good")], 8, look).await;
        let bad = [(200, "bad"), (35_200, "bad"), (70_200, "bad")];
        let good = [(1200, "good"), (50_200, "good")];
        assert_eq!(seen(&began), [bad[0], good[0], bad[1], good[1], bad[2]]);
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut told = String::new();
        text::encode(&mut told, &registry).unwrap();
        let line = r#"provider_action_errors_total{action="look",reason="bug"} 3"#;
        assert!(told.contains(line), "{told}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_begun_is_finished() {
        let ended = Mutex::new(0);
        let look = async |_: &str| {
            sleep(Duration::from_secs(20)).await;
            *ended.lock().unwrap() += 1;
            Action::AwaitChange
        };
        let began = began(&[(90, "late")], 2, look).await;
        assert_eq!((seen(&began), *ended.lock().unwrap()), (vec![(90_200, "late")], 1));
    }
}

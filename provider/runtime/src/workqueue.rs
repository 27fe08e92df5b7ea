//! Work queue of a controller: keys of objects, when each is due, and what is remembered between its reconciles.
//!
//! A key is queued once, however many events concern it, and is never handed out while its reconcile runs. Keys whose last reconcile took long get
//! at most half of the workers: a server that accepts connections and never answers may be a tenant's, and a tenant may have many.
//!
//! **Libraries.** The backoffs of kube and backon are iterators that keep their state. A queue has thousands of keys, and a count of failures
//! is all that it stores for a key.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::{
    action::Action,
    error::Reason,
    metrics::{QueueAge, RuntimeMetrics},
};

/// Maximum number of concurrent reconciles of a controller with caches.
pub const WORKERS: usize = 16;
/// Debounce of a controller whose reconcile concerns one object.
pub const DEBOUNCE: Duration = Duration::from_millis(200);
/// Resync period of controllers with caches, as base and spread: a safety net below the watches.
const RESYNC: (Duration, Duration) = (Duration::from_mins(25), Duration::from_mins(10));
/// A reconcile that took longer than this and is requeued counts as slow.
const SLOW_RECONCILE: Duration = Duration::from_secs(5);

/// How a queue hands out its requests.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Name of the controller in log lines.
    pub controller: &'static str,
    /// Longest time of a reconcile whose calls have no time limits of their own, and its name in the metrics of failures.
    pub timeout: Option<(&'static str, Duration)>,
    /// Maximum number of reconciles that run concurrently.
    pub max_concurrent_reconciles: usize,
    /// Events for one key within this time lead to one reconcile.
    pub debounce: Duration,
    /// When a request is due without an event.
    pub retry: Retry,
    /// Whether the time from an event to its reconcile is measured.
    pub measures_wait: bool,
}

impl Settings {
    /// Settings of a reconciler that reads from the API server alone.
    pub const fn uncached(controller: &'static str, max_concurrent_reconciles: usize) -> Self {
        let (timeout, debounce, retry) = (None, DEBOUNCE, Retry::UNCACHED);
        Self { controller, timeout, max_concurrent_reconciles, debounce, retry, measures_wait: false }
    }

    /// Settings of a reconciler that reads from caches first.
    pub const fn cached(controller: &'static str, max_concurrent_reconciles: usize) -> Self {
        let (timeout, debounce, retry) = (None, Duration::ZERO, Retry::CACHED);
        Self { controller, timeout, max_concurrent_reconciles, debounce, retry, measures_wait: false }
    }

    /// The same with a time limit for a whole reconcile.
    #[must_use]
    pub const fn with_timeout(mut self, action: &'static str, timeout: Duration) -> Self {
        self.timeout = Some((action, timeout));
        self
    }
}

/// When a request is due without an event.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// First and maximum delay of [`Action::Backoff`]. Doubled each time.
    pub backoff: (Duration, Duration),
    /// Whether an object is reconciled now and then although nothing happens to it.
    pub resyncs: bool,
    /// After a write to an outdated object.
    pub conflict: Action,
    /// After an observation that was incomplete.
    pub not_yet: Action,
    /// After a panic.
    pub bug: Action,
}

impl Retry {
    /// Of reconcilers without caches. The maximum delay is low enough for hundreds of affected requests.
    pub const UNCACHED: Self = Self {
        backoff: (Duration::from_secs(5), Duration::from_secs(30)),
        resyncs: false,
        conflict: Action::RequeueAfter(DEBOUNCE),
        not_yet: Action::Backoff,
        bug: Action::RequeueAfter(Duration::from_secs(30)),
    };
    /// Of reconcilers with caches.
    pub const CACHED: Self = Self {
        backoff: (Duration::from_secs(1), Duration::from_mins(5)),
        resyncs: true,
        conflict: Action::BypassCaches,
        not_yet: Action::RequeueAfter(Duration::from_secs(1)),
        bug: Action::Backoff,
    };

    /// Action after an error for this reason.
    pub const fn after(&self, reason: Reason) -> Action {
        match reason {
            Reason::Conflict => self.conflict,
            Reason::NotYet => self.not_yet,
            Reason::Bug => self.bug,
            _ => Action::Backoff,
        }
    }
}

/// Queue of requests, by the keys of their objects.
pub struct RequestQueue<K> {
    settings: Settings,
    metrics: RuntimeMetrics,
    state: Mutex<QueueState<K>>,
    changed: Notify,
}

/// A request whose reconcile starts.
pub(crate) struct Request<K> {
    pub key: K,
    /// Time since the event that queued it, if one did.
    pub waited: Option<Duration>,
    /// Whether caches must not be relied on: they would only report the same uncertainty.
    pub bypass_caches: bool,
}

/// The next request.
enum Next<K> {
    Ready(Request<K>),
    /// No request is due before this time.
    DueAt(Instant),
    /// No request is due before an event, or before a reconcile ends.
    Idle,
}

struct QueueState<K> {
    requests: BTreeMap<K, RequestState>,
    /// Due requests that are not running, by time: quick ones, and slow ones.
    due: [BTreeSet<(Instant, K)>; 2],
    /// How many of each are running.
    running: [usize; 2],
}

/// State of a key.
#[derive(Default)]
struct RequestState {
    due: Option<Instant>,
    /// Time of the first event since the last reconcile started.
    queued_since: Option<Instant>,
    is_running: bool,
    is_slow: bool,
    /// Consecutive failures.
    failures: u32,
    bypass_caches: bool,
}

impl<K: Clone + Hash + Ord> RequestQueue<K> {
    /// An empty queue, whose reconciles are counted in these metrics.
    pub fn new(settings: Settings, metrics: &RuntimeMetrics) -> Self {
        let due = [BTreeSet::new(), BTreeSet::new()];
        let state = QueueState { requests: BTreeMap::new(), due, running: [0; 2] };
        Self { settings, metrics: metrics.clone(), state: Mutex::new(state), changed: Notify::new() }
    }

    /// Settings of the queue.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Metrics in which reconciles are counted.
    pub const fn metrics(&self) -> &RuntimeMetrics {
        &self.metrics
    }

    /// Queues a request because of an event.
    pub fn push(&self, key: impl Into<K>) {
        let (key, now) = (key.into(), Instant::now());
        let mut state = self.lock_state();
        state.schedule_request(&key, now + self.settings.debounce);
        if let Some(request) = state.requests.get_mut(&key) {
            request.queued_since.get_or_insert(now);
        }
        self.changed.notify_one();
    }

    /// How long the oldest event has waited, and how many requests wait because of one.
    pub fn age(&self) -> QueueAge {
        let state = self.lock_state();
        let waiting = state.requests.values().filter_map(|request| request.queued_since);
        let (oldest, length) = (waiting.clone().min(), waiting.count());
        let age = oldest.map(|since| since.elapsed()).unwrap_or_default();
        QueueAge { queue: self.settings.controller, age, length }
    }

    /// Starts the next request, and waits for it if none is due.
    pub(crate) async fn start_next(&self) -> Request<K> {
        loop {
            let next = self.lock_state().start_due(self.settings.max_concurrent_reconciles);
            match next {
                Next::Ready(request) => return request,
                Next::Idle => self.changed.notified().await,
                Next::DueAt(at) => {
                    tokio::select! {
                        () = self.changed.notified() => {}
                        () = sleep_until(at) => {}
                    }
                }
            }
        }
    }

    /// Ends a reconcile that took this time, and returns after which time the next one is due. After an error, failures and distrust of caches
    /// stay.
    pub(crate) fn complete_request(
        &self,
        key: &K,
        action: Action,
        is_error: bool,
        took: Duration,
    ) -> Option<Duration> {
        let Settings { retry, .. } = &self.settings;
        let mut state = self.lock_state();
        let request = state.free_worker(key)?;
        request.is_slow = took > SLOW_RECONCILE && !matches!(action, Action::AwaitChange | Action::Forget);
        if matches!(action, Action::BypassCaches | Action::Backoff) {
            request.failures = request.failures.saturating_add(1);
        } else if !is_error {
            request.failures = 0;
            request.bypass_caches = false;
        }
        let after = match action {
            Action::Forget => None,
            Action::AwaitChange => retry.resyncs.then(|| resync_period(key)),
            Action::RequeueAfter(after) if retry.resyncs => Some(after.min(resync_period(key))),
            Action::RequeueAfter(after) => Some(after),
            Action::Backoff => Some(backoff_delay(request.failures, retry.backoff)),
            Action::BypassCaches => {
                request.bypass_caches = true;
                Some(match request.failures - 1 {
                    0 => Duration::ZERO,
                    repeated => backoff_delay(repeated, retry.backoff),
                })
            }
        };
        // An event during the reconcile has its own time, which may be earlier.
        let pushed = request.due.take();
        for at in pushed.into_iter().chain(after.map(|after| Instant::now() + after)) {
            state.schedule_request(key, at);
        }
        state.forget_idle(key);
        self.changed.notify_one();
        after
    }

    fn lock_state(&self) -> MutexGuard<'_, QueueState<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Ord> QueueState<K> {
    /// Makes a request due at a time, unless it is due earlier.
    fn schedule_request(&mut self, key: &K, at: Instant) {
        let request = self.requests.entry(key.clone()).or_default();
        if request.due.is_some_and(|due| due <= at) {
            return;
        }
        let before = request.due.replace(at);
        if request.is_running {
            return;
        }
        let due = &mut self.due[usize::from(request.is_slow)];
        if let Some(before) = before {
            due.remove(&(before, key.clone()));
        }
        due.insert((at, key.clone()));
    }

    /// Starts the request that is due first, if a worker is free for it.
    fn start_due(&mut self, workers: usize) -> Next<K> {
        let [quick, slow] = self.running;
        if quick + slow >= workers {
            return Next::Idle;
        }
        let of_slow = self.due[1].first().filter(|_| slow < workers.div_ceil(2));
        let Some((at, key)) = self.due[0].first().into_iter().chain(of_slow).min().cloned() else {
            return Next::Idle;
        };
        if at > Instant::now() {
            return Next::DueAt(at);
        }
        let request = self.requests.entry(key.clone()).or_default();
        let class = usize::from(request.is_slow);
        request.due = None;
        request.is_running = true;
        let waited = request.queued_since.take().map(|since| since.elapsed());
        let bypass_caches = request.bypass_caches;
        self.running[class] += 1;
        self.due[class].remove(&(at, key.clone()));
        Next::Ready(Request { key, waited, bypass_caches })
    }

    /// Frees the worker of a request.
    fn free_worker(&mut self, key: &K) -> Option<&mut RequestState> {
        let request = self.requests.get_mut(key).filter(|request| request.is_running)?;
        request.is_running = false;
        self.running[usize::from(request.is_slow)] -= 1;
        Some(request)
    }

    /// Drops a key of which nothing has to be remembered.
    fn forget_idle(&mut self, key: &K) {
        if self.requests.get(key).is_some_and(|request| request.due.is_none()) {
            self.requests.remove(key);
        }
    }
}

/// Delay after a number of consecutive failures, between the first and the maximum delay.
fn backoff_delay(failures: u32, (first, most): (Duration, Duration)) -> Duration {
    first.saturating_mul(1 << (failures.clamp(1, 16) - 1)).min(most)
}

/// Resync period of an object. Each has its own, so that not all are reconciled at once.
fn resync_period(key: &impl Hash) -> Duration {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    RESYNC.0 + RESYNC.1.mul_f64(f64::from(u16::try_from(hasher.finish() % 1000).unwrap_or_default()) / 1000.0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const CACHED: Settings = Settings::cached("test", 4);

    /// Starts and completes a request that is due, and returns when the next one is.
    async fn pass(queue: &RequestQueue<String>, action: Action, is_error: bool) -> Option<Duration> {
        let request = queue.start_next().await;
        queue.complete_request(&request.key, action, is_error, Duration::ZERO)
    }

    #[tokio::test(start_paused = true)]
    async fn failures_back_off_and_are_forgotten_after_a_success() {
        let queue = RequestQueue::new(CACHED, &RuntimeMetrics::default());
        queue.push("a");
        let mut seconds = Vec::new();
        for _ in 0..12 {
            seconds.push(pass(&queue, Action::Backoff, true).await.unwrap().as_secs());
        }
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
        pass(&queue, Action::AwaitChange, false).await;
        assert_eq!(
            pass(&queue, Action::BypassCaches, true).await,
            Some(Duration::ZERO),
            "the first time at once"
        );
        assert_eq!(
            pass(&queue, Action::BypassCaches, true).await,
            Some(Duration::from_secs(1)),
            "but not again and again"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn age_counts_from_the_first_event() {
        let queue = RequestQueue::<String>::new(CACHED, &RuntimeMetrics::default());
        queue.push("a");
        tokio::time::advance(Duration::from_secs(2)).await;
        queue.push("a");
        assert_eq!((queue.age().age, queue.age().length), (Duration::from_secs(2), 1));
        let request = queue.start_next().await;
        assert_eq!((request.waited, queue.age().length), (Some(Duration::from_secs(2)), 0));
        queue.complete_request(&request.key, Action::BypassCaches, false, Duration::ZERO);
        let request = queue.start_next().await;
        assert_eq!((request.waited, request.bypass_caches), (None, true));
        queue.complete_request(&request.key, Action::RequeueAfter(Duration::ZERO), true, Duration::ZERO);
        let request = queue.start_next().await;
        assert!(request.bypass_caches, "the reconcile did not succeed");
        queue.complete_request(&request.key, Action::RequeueAfter(Duration::ZERO), false, Duration::ZERO);
        assert!(!queue.start_next().await.bypass_caches);
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiting_key_is_not_queued_twice() {
        let queue = RequestQueue::<String>::new(CACHED, &RuntimeMetrics::default());
        for name in ["a", "b", "a", "b", "a"] {
            queue.push(name);
        }
        let first = queue.start_next().await.key;
        // Its reconcile has started, so an event now needs another one.
        queue.push("a");
        let second = queue.start_next().await.key;
        assert_eq!((first.as_str(), second.as_str(), queue.age().length), ("a", "b", 1));
        queue.complete_request(&first, Action::Forget, false, Duration::ZERO);
        queue.complete_request(&second, Action::Forget, false, Duration::ZERO);
        assert_eq!(queue.start_next().await.key, "a");
        queue.complete_request(&first, Action::Forget, false, Duration::ZERO);
        assert!(queue.lock_state().requests.is_empty(), "nothing is remembered of what does not exist");
    }

    #[test]
    fn resync_periods_are_spread() {
        let times: HashSet<Duration> = (0..100).map(|n| resync_period(&format!("ns/name-{n}"))).collect();
        assert!(times.len() > 50);
        assert!(times.iter().all(|t| (RESYNC.0..RESYNC.0 + RESYNC.1).contains(t)));
    }
}

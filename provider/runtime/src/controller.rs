//! The scheduler under every controller: it runs a [`Reconciler`].
//!
//! It has a queue of its own instead of kube's `Controller`. That one has a single limit for all objects, so that the objects of one tenant whose
//! servers never answer would keep those of all others waiting. It ends with a panic of the reconciler, which an object of a tenant could cause
//! again after each restart. And it reconciles only what is in a cache, where most controllers cache nothing but keys.
//!
//! Reconciles of a controller are polled by one task, together with its watches. So no reconcile sees a state between two awaits of another.

use std::{pin::Pin, time::Duration};

use futures_util::{StreamExt as _, TryFutureExt as _, stream::FuturesUnordered};
use jiff::Timestamp;
use kube::Client;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tracing::{Instrument as _, Span, field::Empty};

use crate::{
    client::Trust,
    error::{Error, Reason, catch_panic},
    reconcile::{Action, ReconcileError as _, Reconciler, RequestKey as _},
    timeout::no_answer_within,
    workqueue::Request,
};

/// A controller that runs, or what it waits for to end. It does nothing before it is polled.
///
/// A single type for all controllers, so that the code of a controller is compiled once with its crate, and not again with every program and test
/// that runs it.
pub type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Dependencies that all controllers share.
pub struct Context {
    /// API server of the cluster that the program runs in.
    pub client: Client,
    /// Identity of this process.
    pub instance: String,
    /// Trust in the certificates of other API servers.
    pub trust: Trust,
    /// How long one call to the cluster may take.
    pub request_timeout: Duration,
    /// The clock.
    pub now: fn() -> Timestamp,
    /// True once they are to end.
    pub stop: watch::Receiver<bool>,
}

impl Context {
    /// Options of a controller with this section of the configuration.
    pub fn options<C>(&self, config: C) -> Options<C> {
        let Self { client, instance, trust, request_timeout, now, .. } = self;
        let (client, instance) = (client.clone(), instance.clone());
        Options { client, config, trust: *trust, instance, request_timeout: *request_timeout, now: *now }
    }

    /// Ends once they are to end.
    pub fn until_stop(&self) -> Running {
        let mut stop = self.stop.clone();
        Box::pin(async move {
            let _ = stop.wait_for(|stop| *stop).await;
        })
    }
}

/// Options of a controller.
#[derive(Clone)]
pub struct Options<C> {
    /// API server of the cluster that the program runs in.
    pub client: Client,
    /// Section of the configuration.
    pub config: C,
    /// Trust in the certificates of other API servers.
    pub trust: Trust,
    /// Identity of this process in events.
    pub instance: String,
    /// How long one call to the cluster may take.
    pub request_timeout: Duration,
    /// The clock.
    pub now: fn() -> Timestamp,
}

impl<C> Options<C> {
    /// Options of a controller that runs alone.
    pub fn new(client: Client, config: C, now: fn() -> Timestamp) -> Self {
        let (trust, instance) = (Trust::Kubeconfig, "alone".to_owned());
        Self { client, config, trust, instance, request_timeout: Duration::from_secs(10), now }
    }
}

/// Watches and reconciles until `stop`. Started reconciles are finished.
pub async fn run<R: Reconciler>(reconciler: &R, stop: impl Future<Output = ()>) {
    tokio::select! {
        () = reconciler.watch() => {}
        () = reconcile_queued(reconciler, stop) => {}
    }
}

/// Reconciles queued requests until `stop`, and finishes what has started. Watches are the caller's.
pub async fn reconcile_queued<R: Reconciler>(reconciler: &R, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    tokio::select! {
        () = &mut stop => return,
        () = reconciler.wait_for_caches() => {}
    }
    let mut running = FuturesUnordered::new();
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(()) = running.next() => {}
            request = reconciler.request_queue().start_next() => running.push(process_request(reconciler, request)),
        }
    }
    while running.next().await.is_some() {}
}

/// Reconciles one request, and schedules the next reconcile.
async fn process_request<R: Reconciler>(reconciler: &R, request: Request<R::Key>) {
    let queue = reconciler.request_queue();
    let Request { key, waited, bypass_caches } = request;
    if let Some(waited) = waited.filter(|_| queue.settings().measures_wait) {
        queue.metrics().observe_queue_wait(waited);
    }
    let began = Instant::now();
    let span = reconcile_span(reconciler, &key);
    let Outcome { action, error } = reconcile(reconciler, &key, bypass_caches).instrument(span.clone()).await;
    let _entered = span.enter();
    let delay = queue.complete_request(&key, action, error.is_some(), began.elapsed());
    let Some(Error { action, reason, message }) = error else { return };
    if reason.nothing_is_wrong() {
        tracing::debug!(
            action,
            reason = reason.as_str(),
            message,
            again_in = ?delay,
            "reconcile repeated"
        );
    } else {
        let reason = reason.as_str();
        tracing::warn!(action, reason, error = message, again_in = ?delay, "reconcile failed");
    }
}

/// Span of one reconcile. The uid follows once the object is read.
fn reconcile_span<R: Reconciler>(reconciler: &R, key: &R::Key) -> Span {
    let (namespace, name) = key.namespace_and_name();
    let controller = reconciler.request_queue().settings().controller;
    let span = tracing::info_span!(
        "reconcile",
        controller,
        kind = reconciler.kind(key),
        namespace = Empty,
        name = Empty,
        uid = Empty,
    );
    for (field, value) in [("namespace", namespace), ("name", name)] {
        if !value.is_empty() {
            span.record(field, value);
        }
    }
    span
}

/// Result of one reconcile.
#[derive(Debug)]
pub struct Outcome {
    /// Next action.
    pub action: Action,
    /// Error that led to it.
    pub error: Option<Error>,
}

/// Reconciles one key within the time limit of its controller. A panic is an error.
pub async fn reconcile<R: Reconciler>(reconciler: &R, key: &R::Key, bypass_caches: bool) -> Outcome {
    let settings = reconciler.request_queue().settings();
    let name = settings.timeout.map_or("reconcile", |(action, _)| action);
    // In a box, because each worker holds one.
    let pass = Box::pin(async {
        let Some(observed) = reconciler.observe(key, bypass_caches).await? else {
            // No event may follow: the watch may have reported the object before an outdated API server denied it.
            return Ok(if reconciler.is_cached(key) { Action::Backoff } else { Action::Forget });
        };
        if let Some(uid) = reconciler.uid(&observed) {
            Span::current().record("uid", uid);
        }
        let plan = reconciler.plan(&observed);
        reconciler.execute(key, observed, plan).await
    });
    let pass = pass.map_err(|error: R::Error| error.with_action(name));
    let limited = async {
        let Some((_, limit)) = settings.timeout else { return pass.await };
        timeout(limit, pass).await.unwrap_or_else(|_| Err(no_answer_within(limit).with_action(name)))
    };
    let result = catch_panic(limited).await;
    reconciler.forget_deleted(key);
    match result {
        Ok(action) => Outcome { action, error: None },
        Err(error) => {
            // A pending dependency is no failure, unless it is treated like one.
            let action = reconciler.error_policy(key, &error);
            if error.reason != Reason::NotYet || action == Action::Backoff {
                reconciler.request_queue().metrics().failed(error.action, error.reason.as_str());
            }
            Outcome { action, error: Some(error) }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use prometheus_client::{encoding::text, registry::Registry};
    use tokio::time::{sleep, sleep_until};

    use super::*;
    use crate::{
        error::Cause,
        metrics::RuntimeMetrics,
        workqueue::{RequestQueue, Settings},
    };

    type Result = std::result::Result<Action, Cause>;

    /// A reconciler of one name: no object is there for the first so many reads, and a cache has it until a second.
    struct Lagging {
        queue: RequestQueue<String>,
        absent_reads: usize,
        cached_until: u64,
        start: Instant,
        began: Mutex<Vec<u128>>,
    }

    impl Reconciler for Lagging {
        type Key = String;
        type Observed = ();
        type Plan = ();
        type Error = Cause;

        fn kind(&self, _key: &String) -> &'static str {
            "Lagging"
        }

        fn request_queue(&self) -> &RequestQueue<String> {
            &self.queue
        }

        async fn watch(&self) {
            self.queue.push("a");
            std::future::pending::<()>().await;
        }

        async fn observe(
            &self,
            _name: &String,
            _bypass_caches: bool,
        ) -> std::result::Result<Option<()>, Cause> {
            let mut began = self.began.lock().unwrap();
            began.push(self.start.elapsed().as_secs().into());
            Ok((began.len() > self.absent_reads).then_some(()))
        }

        fn is_cached(&self, _name: &String) -> bool {
            self.start.elapsed() < Duration::from_secs(self.cached_until)
        }

        fn plan(&self, (): &()) {}

        async fn execute(&self, _name: &String, (): (), (): ()) -> Result {
            Ok(Action::AwaitChange)
        }
    }

    /// Seconds at which reconciles begin within 100 seconds.
    async fn reconciles_of(absent_reads: usize, cached_until: u64) -> Vec<u128> {
        let queue = RequestQueue::new(Settings::cached("lagging", 1), &RuntimeMetrics::default());
        let (start, began) = (Instant::now(), Mutex::default());
        let lagging = Lagging { queue, absent_reads, cached_until, start, began };
        run(&lagging, sleep(Duration::from_secs(100))).await;
        lagging.began.into_inner().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_absent_object_is_reconciled_again_while_a_cache_has_it() {
        assert_eq!(reconciles_of(2, 100).await, [0, 1, 3], "it is there at the third read");
        assert_eq!(
            reconciles_of(99, 5).await,
            [0, 1, 3, 7],
            "the cache loses it, and the request is forgotten"
        );
        assert_eq!(reconciles_of(99, 0).await, [0]);
    }

    /// A reconciler of names, which events queue at these seconds.
    struct Probe<D, R> {
        queue: RequestQueue<String>,
        events: Vec<(u64, &'static str)>,
        /// How many seconds a reconcile of a name takes.
        duration: D,
        result: R,
        start: Instant,
        /// When a reconcile of which name began, in milliseconds.
        began: Mutex<Vec<(u128, String)>>,
    }

    impl<D: Fn(&str) -> u64 + Send + Sync, R: Fn(&str) -> Result + Send + Sync> Reconciler for Probe<D, R> {
        type Key = String;
        type Observed = ();
        type Plan = ();
        type Error = Cause;

        fn kind(&self, _key: &String) -> &'static str {
            "Probe"
        }

        fn request_queue(&self) -> &RequestQueue<String> {
            &self.queue
        }

        async fn watch(&self) {
            for (at, name) in &self.events {
                sleep_until(self.start + Duration::from_secs(*at)).await;
                self.queue.push(*name);
            }
            std::future::pending::<()>().await;
        }

        async fn observe(
            &self,
            name: &String,
            _bypass_caches: bool,
        ) -> std::result::Result<Option<()>, Cause> {
            self.began.lock().unwrap().push((self.start.elapsed().as_millis(), name.clone()));
            sleep(Duration::from_secs((self.duration)(name))).await;
            Ok(Some(()))
        }

        fn plan(&self, (): &()) {}

        async fn execute(&self, name: &String, (): (), (): ()) -> Result {
            (self.result)(name)
        }
    }

    impl<D: Fn(&str) -> u64 + Send + Sync, R: Fn(&str) -> Result + Send + Sync> Probe<D, R> {
        fn new(workers: usize, events: &[(u64, &'static str)], duration: D, result: R) -> Self {
            Self {
                queue: RequestQueue::new(Settings::uncached("probe", workers), &RuntimeMetrics::default()),
                events: events.to_vec(),
                duration,
                result,
                start: Instant::now(),
                began: Mutex::default(),
            }
        }

        /// Runs for 100 seconds, and returns which reconciles began when.
        async fn run(&self) -> Vec<(u128, String)> {
            run(self, sleep(Duration::from_secs(100))).await;
            self.began.lock().unwrap().clone()
        }
    }

    fn begun(began: &[(u128, String)]) -> Vec<(u128, &str)> {
        began.iter().map(|(at, name)| (*at, name.as_str())).collect()
    }

    const AWAIT: fn(&str) -> Result = |_| Ok(Action::AwaitChange);

    #[tokio::test(start_paused = true)]
    async fn a_slow_reconcile_delays_no_other_key() {
        let events = [(0, "slow"), (1, "quick"), (2, "slow"), (3, "quick")];
        let began = Probe::new(8, &events, |name| if name == "slow" { 30 } else { 0 }, AWAIT).run().await;
        // An event during the slow one leads to another reconcile after it.
        assert_eq!(begun(&began), [(200, "slow"), (1200, "quick"), (3200, "quick"), (30_200, "slow")]);
    }

    #[tokio::test(start_paused = true)]
    async fn reconciles_are_as_many_as_workers() {
        let began = Probe::new(2, &[(0, "a"), (0, "b"), (0, "c")], |_| 10, AWAIT).run().await;
        assert_eq!(begun(&began), [(200, "a"), (200, "b"), (10_200, "c")]);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_keys_leave_half_of_the_workers() {
        let is_silent = |name: &str| name.starts_with("silent");
        let result = |name: &str| {
            Ok(if is_silent(name) { Action::RequeueAfter(Duration::ZERO) } else { Action::AwaitChange })
        };
        let events = [(0, "silent-1"), (0, "silent-2"), (0, "silent-3"), (15, "a"), (21, "b")];
        let began = Probe::new(2, &events, |name| if is_silent(name) { 10 } else { 0 }, result).run().await;
        let others: Vec<_> = begun(&began).into_iter().filter(|(_, name)| name.len() == 1).collect();
        // A server is not known to be silent before its first reconcile.
        assert_eq!(others, [(20_200, "a"), (21_200, "b")]);
        let turns = |of: &str| began.iter().filter(|(_, name)| name == of).count();
        for silent in ["silent-1", "silent-2", "silent-3"] {
            assert!((2..=5).contains(&turns(silent)), "{began:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_requeue_comes_without_an_event() {
        let result = |name: &str| Ok(Action::from((name == "a").then_some(Duration::from_secs(40))));
        let began = Probe::new(2, &[(0, "a"), (0, "b"), (0, "a")], |_| 0, result).run().await;
        assert_eq!(begun(&began), [(200, "a"), (200, "b"), (40_200, "a"), (80_200, "a")]);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_come_later_each_time_until_a_success() {
        let failures = Mutex::new(0);
        let result = |_: &str| {
            let mut failures = failures.lock().unwrap();
            *failures += 1;
            // An event in the meantime does not wait, and changes nothing.
            if *failures == 7 { Ok(Action::AwaitChange) } else { Err(Cause::new(Reason::Server, "no")) }
        };
        let began = Probe::new(8, &[(0, "a"), (68, "a"), (98, "a")], |_| 0, result).run().await;
        let at: Vec<_> = began.iter().map(|(at, _)| *at).collect();
        assert_eq!(at, [200, 5_200, 15_200, 35_200, 65_200, 68_200, 98_200]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_delay_begins_again_after_a_success() {
        let passes = Mutex::new(0);
        let result = |_: &str| {
            let mut passes = passes.lock().unwrap();
            *passes += 1;
            Ok(if *passes == 3 { Action::RequeueAfter(Duration::from_secs(1)) } else { Action::Backoff })
        };
        let began = Probe::new(8, &[(0, "a")], |_| 0, result).run().await;
        let at: Vec<_> = began.iter().map(|(at, _)| *at).take(6).collect();
        assert_eq!(at, [200, 5_200, 15_200, 16_200, 21_200, 31_200]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_ends_nothing_and_is_retried() {
        let result = |name: &str| {
            assert_ne!(name, "bad", "a bug");
            Ok(Action::AwaitChange)
        };
        let probe = Probe::new(8, &[(0, "bad"), (1, "good"), (50, "good")], |_| 5, result);
        let began = probe.run().await;
        let bad = [(200, "bad"), (35_200, "bad"), (70_200, "bad")];
        let good = [(1200, "good"), (50_200, "good")];
        assert_eq!(begun(&began), [bad[0], good[0], bad[1], good[1], bad[2]]);
        let (mut registry, mut encoded) = (Registry::default(), String::new());
        probe.queue.metrics().register_metrics(&mut registry);
        text::encode(&mut encoded, &registry).unwrap();
        let line = r#"testplatform_provider_action_errors_total{action="look",reason="bug"} 3"#;
        assert!(encoded.contains(line), "{encoded}");
    }

    #[tokio::test(start_paused = true)]
    async fn started_reconciles_are_finished() {
        let ended = Mutex::new(0);
        let result = |_: &str| {
            *ended.lock().unwrap() += 1;
            Ok(Action::AwaitChange)
        };
        let began = Probe::new(2, &[(90, "late")], |_| 20, result).run().await;
        assert_eq!((begun(&began), *ended.lock().unwrap()), (vec![(90_200, "late")], 1));
    }
}

//! Metrics of queues, watches and leadership, and parts that metrics of controllers are made of.

pub mod bounded;
pub mod requests;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    time::Duration,
};

use jiff::Timestamp;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use crate::watch::Health;

/// From unnoticeable to worth an investigation.
const SECONDS: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FailureLabels {
    action: &'static str,
    reason: &'static str,
}

/// One label with the name of something.
macro_rules! named {
    ($($label:ident),*) => {$(
        #[expect(non_camel_case_types, reason = "the label's own name")]
        #[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
        struct $label { $label: String }
    )*};
}
named!(queue, watch, kind, cluster);

/// Metrics that every controller shares; clones share them.
#[derive(Clone)]
pub struct RuntimeMetrics {
    failures: Family<FailureLabels, Counter>,
    waiting: Histogram,
    queue_age: Family<queue, Gauge<f64, AtomicU64>>,
    queue_length: Family<queue, Gauge>,
    watch_lag: Family<watch, Gauge<f64, AtomicU64>>,
    leader: Gauge,
    undecodable: Family<kind, Gauge>,
    kubeconfig_expires: Family<cluster, Gauge<f64, AtomicU64>>,
    /// Held while gauges are read and encoded: they are emptied first, and a concurrent scrape must not see that.
    gauges: Arc<Mutex<()>>,
}

impl Default for RuntimeMetrics {
    fn default() -> Self {
        Self {
            failures: Family::default(),
            waiting: Histogram::new(SECONDS),
            queue_age: Family::default(),
            queue_length: Family::default(),
            watch_lag: Family::default(),
            leader: Gauge::default(),
            undecodable: Family::default(),
            kubeconfig_expires: Family::default(),
            gauges: Arc::default(),
        }
    }
}

impl RuntimeMetrics {
    /// Registers them.
    pub fn register_metrics(&self, registry: &mut Registry) {
        registry.register(
            "testplatform_provider_action_errors",
            "Failed actions and reads",
            self.failures.clone(),
        );
        registry.register_with_unit(
            "testplatform_provider_queue_wait",
            "Time from an event to the reconcile that it caused",
            Unit::Seconds,
            self.waiting.clone(),
        );
        registry.register_with_unit(
            "testplatform_provider_queue_age",
            "Age of the oldest event that waits for its reconcile",
            Unit::Seconds,
            self.queue_age.clone(),
        );
        registry.register(
            "testplatform_provider_queue_length",
            "Objects that wait for a reconcile",
            self.queue_length.clone(),
        );
        registry.register_with_unit(
            "testplatform_provider_watch_lag",
            "Possible age of a watch's cache; 0 while the watch runs",
            Unit::Seconds,
            self.watch_lag.clone(),
        );
        registry.register(
            "testplatform_provider_leader",
            "Whether this replica is the leader",
            self.leader.clone(),
        );
    }

    /// Registers the gauge of kubeconfigs with which this process reaches other clusters.
    pub fn register_kubeconfigs(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "testplatform_provider_kubeconfig_expires_timestamp",
            "Expiry of the token in the kubeconfig of a build cluster or a hub",
            Unit::Seconds,
            self.kubeconfig_expires.clone(),
        );
    }

    /// Registers the gauge of objects that cannot be understood.
    pub fn register_undecodable(&self, registry: &mut Registry) {
        registry.register(
            "testplatform_provider_undecodable_objects",
            "Objects with a spec or status that cannot be understood",
            self.undecodable.clone(),
        );
    }

    /// Excludes other readers and writers of gauges that are emptied first.
    pub fn lock_gauges(&self) -> MutexGuard<'_, ()> {
        self.gauges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the number of objects of a kind that cannot be understood.
    pub fn set_undecodable(&self, of_kind: &str, count: usize) {
        set_gauge(&self.undecodable, &kind { kind: of_kind.into() }, count);
    }

    /// Records when the token in the kubeconfig of a cluster expires. None: it has no token, or one that does not say.
    pub fn set_kubeconfig_expiry(&self, of_cluster: &str, expires: Option<Timestamp>) {
        let label = cluster { cluster: of_cluster.into() };
        match expires {
            Some(at) => {
                self.kubeconfig_expires.get_or_create(&label).set(at.as_duration().as_secs_f64());
            }
            None => {
                self.kubeconfig_expires.remove(&label);
            }
        }
    }

    /// This replica is the one that acts, or not.
    pub fn lead(&self, leads: bool) {
        self.leader.set(leads.into());
    }

    /// An event waited for its reconcile.
    pub fn observe_queue_wait(&self, time: Duration) {
        self.waiting.observe(time.as_secs_f64());
    }

    /// Something was not done.
    pub fn failed(&self, action: &'static str, reason: &'static str) {
        self.failures.get_or_create(&FailureLabels { action, reason }).inc();
    }

    /// Sets the gauges of these queues and watches.
    pub fn refresh_loops(&self, queues: &[QueueAge], healths: &[Health]) {
        for QueueAge { queue: name, age, length } in queues {
            let label = queue { queue: (*name).into() };
            self.queue_age.get_or_create(&label).set(age.as_secs_f64());
            set_gauge(&self.queue_length, &label, *length);
        }
        // There may be several under one name, for several places: what counts is the one that is worst.
        let mut lags: BTreeMap<&str, Duration> = BTreeMap::new();
        for health in healths {
            let lag = health.lag_reason().map_or(Duration::ZERO, |(since, _)| since);
            let worst = lags.entry(health.name()).or_default();
            *worst = lag.max(*worst);
        }
        for (name, lag) in lags {
            self.watch_lag.get_or_create(&watch { watch: name.into() }).set(lag.as_secs_f64());
        }
    }
}

/// Age of a queue: how long its oldest event has waited, and how many requests wait because of one.
#[derive(Clone, Copy, Debug)]
pub struct QueueAge {
    /// Name of the queue.
    pub queue: &'static str,
    /// Age of the oldest event.
    pub age: Duration,
    /// Number of requests.
    pub length: usize,
}

/// Metrics of one controller.
pub trait ControllerMetrics {
    /// Metrics that count failures, queues and watches in these.
    fn new(runtime: RuntimeMetrics) -> Self;

    /// Registers them.
    fn register_metrics(&self, registry: &mut Registry);

    /// Sets gauges that are read from the controller when somebody asks.
    fn refresh_gauges(&self) {}
}

/// Sets a gauge to a count.
pub fn set_gauge<L: Clone + std::hash::Hash + Eq>(family: &Family<L, Gauge>, labels: &L, value: usize) {
    family.get_or_create(labels).set(i64::try_from(value).unwrap_or(i64::MAX));
}

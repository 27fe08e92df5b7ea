//! What is counted: the metrics of the upstream controller under their names, and our own.

mod bounded;
mod clusters;
mod hub;
mod pools;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use jiff::Timestamp;
use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{
        counter::Counter,
        family::{Family, MetricConstructor},
        gauge::Gauge,
        histogram::Histogram,
        info::Info,
    },
    registry::{Registry, Unit},
};
use std::sync::atomic::AtomicU64;
use testplatform_apis::{
    foreign::ephemeral_cluster::conditions::{CLUSTER_READY, PROW_JOB_COMPLETED, TEST_COMPLETED},
    names::{
        ephemeral_cluster::{KONFLUX_CLUSTER, KONFLUX_TENANT},
        ours,
    },
};

use self::{
    bounded::{FirstCome, most_frequent},
    clusters::Clusters,
    hub::Hub,
    pools::Pools,
};
use crate::{
    claims,
    cluster_claim::object::ClusterClaim,
    controller::{Controller, queue::Queue},
    ephemeral_cluster::{
        object::EphemeralCluster,
        status::{Phase, Status},
    },
    watch::Health,
};

/// Upstream's buckets: five minutes to three hours.
const MINUTES: [f64; 9] = [300.0, 600.0, 900.0, 1800.0, 3600.0, 5400.0, 7200.0, 9000.0, 10_800.0];
/// From what nobody notices to what somebody has to look into.
const SECONDS: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0];
/// How many values a label with tenant text may have; the rest is `other`.
const MOST: usize = 100;

/// Every metric by the name under which Prometheus has it, for rules and panels; histograms without `_bucket`, `_sum` and `_count`.
pub const EXPORTED: [&str; 23] = [
    "cluster_count",
    "clusterclaim_count",
    "clusterpool_count",
    "clusterpool_events_total",
    "clusterpool_looks_total",
    "clusterpool_refresh_remaining",
    "ephemeralcluster_count",
    "ephemeralcluster_deprovisioning_duration_seconds",
    "ephemeralcluster_provisioning_duration_seconds",
    "hub_clusters",
    "hub_clusters_provisioning",
    "hub_facts_written_timestamp_seconds",
    "hub_healthy",
    "hub_looks_total",
    "provider_action_errors_total",
    "provider_build_cluster_up",
    "provider_build_info",
    "provider_leader",
    "provider_queue_age_seconds",
    "provider_queue_length",
    "provider_queue_wait_seconds",
    "provider_undecodable_objects",
    "provider_watch_lag_seconds",
];

/// Labels of upstream's gauge.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Kind {
    konflux_cluster: String,
    konflux_tenant: String,
    cluster_profile: String,
    workflow: String,
    phase: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Workflow {
    workflow: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Failure {
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
named!(queue, watch, cluster, kind);

/// Labels of the gauge of ClusterClaims. Pools are an administrator's, so there are few.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Claimed {
    pool: String,
    state: &'static str,
}

#[derive(Clone)]
struct Course;

impl MetricConstructor<Histogram> for Course {
    fn new_metric(&self) -> Histogram {
        Histogram::new(MINUTES)
    }
}

/// Handles to all metrics; clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    count: Family<Kind, Gauge>,
    claimed: Family<Claimed, Gauge>,
    provisioning: Family<Workflow, Histogram, Course>,
    deprovisioning: Family<Workflow, Histogram, Course>,
    workflows: FirstCome,
    failures: Family<Failure, Counter>,
    waiting: Histogram,
    queue_age: Family<queue, Gauge<f64, AtomicU64>>,
    queue_length: Family<queue, Gauge>,
    watch_lag: Family<watch, Gauge<f64, AtomicU64>>,
    leader: Gauge,
    up: Family<cluster, Gauge>,
    undecodable: Family<kind, Gauge>,
    pools: Pools,
    clusters: Clusters,
    hub: Hub,
    registry: Registry,
    /// What gauges are read from when somebody asks.
    source: Mutex<Weak<Controller>>,
    /// The same, for ClusterClaims.
    claims: Mutex<Weak<claims::Controller>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let count = Family::<Kind, Gauge>::default();
        let claimed = Family::<Claimed, Gauge>::default();
        let provisioning = Family::<Workflow, Histogram, Course>::new_with_constructor(Course);
        let deprovisioning = Family::<Workflow, Histogram, Course>::new_with_constructor(Course);
        let failures = Family::<Failure, Counter>::default();
        let waiting = Histogram::new(SECONDS);
        let queue_age = Family::<queue, Gauge<f64, AtomicU64>>::default();
        let queue_length = Family::<queue, Gauge>::default();
        let watch_lag = Family::<watch, Gauge<f64, AtomicU64>>::default();
        let leader = Gauge::default();
        let up = Family::<cluster, Gauge>::default();
        let undecodable = Family::<kind, Gauge>::default();
        let pools = Pools::default();
        let clusters = Clusters::default();
        let hub = Hub::default();

        registry.register("ephemeralcluster_count", "EphemeralClusters that there are", count.clone());
        registry.register("clusterclaim_count", "ClusterClaims that are served here", claimed.clone());
        pools.register(&mut registry);
        clusters.register(&mut registry);
        hub.register(&mut registry);
        for (name, help, metric) in [
            ("ephemeralcluster_provisioning_duration", "From creation to Ready", &provisioning),
            ("ephemeralcluster_deprovisioning_duration", "From the signal to the job's end", &deprovisioning),
        ] {
            registry.register_with_unit(name, help, Unit::Seconds, metric.clone());
        }
        registry.register("provider_action_errors", "Actions and reads that failed", failures.clone());
        registry.register_with_unit(
            "provider_queue_wait",
            "From an event to the look that it caused",
            Unit::Seconds,
            waiting.clone(),
        );
        registry.register_with_unit(
            "provider_queue_age",
            "How long the oldest event has been waiting for its look",
            Unit::Seconds,
            queue_age.clone(),
        );
        registry.register("provider_queue_length", "Objects that wait for a look", queue_length.clone());
        registry.register_with_unit(
            "provider_watch_lag",
            "How old the cache of a watch may be; 0 while the watch runs",
            Unit::Seconds,
            watch_lag.clone(),
        );
        registry.register("provider_leader", "Whether this replica is the one that acts", leader.clone());
        registry.register("provider_build_cluster_up", "Whether a build cluster can be watched", up.clone());
        registry.register(
            "provider_undecodable_objects",
            "Objects with a spec or status that cannot be understood",
            undecodable.clone(),
        );
        registry.register(
            "provider_build",
            "The version that is running",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        Self(Arc::new(Inner {
            count,
            claimed,
            provisioning,
            deprovisioning,
            workflows: FirstCome::new(MOST),
            failures,
            waiting,
            queue_age,
            queue_length,
            watch_lag,
            leader,
            up,
            undecodable,
            pools,
            clusters,
            hub,
            registry,
            source: Mutex::default(),
            claims: Mutex::default(),
        }))
    }
}

impl Metrics {
    /// Everything in the text format of `OpenMetrics`.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let controller = self.0.source.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(controller) = controller {
            self.refresh(&controller);
        }
        let claims = self.0.claims.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(claims) = claims {
            self.refresh_claims(&claims);
        }
        self.refresh_pools();
        self.refresh_clusters();
        let mut out = String::new();
        text::encode(&mut out, &self.0.registry)?;
        Ok(out)
    }

    /// From now on gauges are read from this controller.
    pub fn attach(&self, controller: &Arc<Controller>) {
        *self.0.source.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(controller);
    }

    /// From now on gauges of ClusterClaims are read from this controller.
    pub fn attach_claims(&self, controller: &Arc<claims::Controller>) {
        *self.0.claims.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(controller);
    }

    /// This replica is the one that acts, or not.
    pub fn lead(&self, leads: bool) {
        self.0.leader.set(leads.into());
    }

    /// An event waited for its look.
    pub fn waited(&self, time: Duration) {
        self.0.waiting.observe(time.as_secs_f64());
    }

    /// Something was not done.
    pub fn failed(&self, action: &'static str, reason: &'static str) {
        self.0.failures.get_or_create(&Failure { action, reason }).inc();
    }

    /// A status was written over that of an object. Counts what happens once in a life.
    pub fn transition(&self, object: &EphemeralCluster, status: &Status) {
        let stored = &object.status.value;
        let created = object.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let workflow = || Workflow { workflow: self.0.workflows.admit(&workflow(object)) };
        // The name of the Secret stays once it is there, so this is counted once however often it flaps.
        if stored.secret_ref.is_empty()
            && !status.secret_ref.is_empty()
            && let Some(seconds) = between(created, at(status, CLUSTER_READY))
        {
            self.0.provisioning.get_or_create(&workflow()).observe(seconds);
        }
        let signalled = at(stored, TEST_COMPLETED).or_else(|| at(status, TEST_COMPLETED));
        if stored.phase != Some(Phase::Deprovisioned)
            && status.phase == Some(Phase::Deprovisioned)
            && let Some(seconds) = between(signalled, at(status, PROW_JOB_COMPLETED))
        {
            self.0.deprovisioning.get_or_create(&workflow()).observe(seconds);
        }
    }

    /// The finalizer was taken off an object that is being deleted: its end has no status any more that would tell of it.
    pub fn let_go(&self, object: &EphemeralCluster, now: Timestamp) {
        let stored = &object.status.value;
        let over = matches!(stored.phase, Some(Phase::Deprovisioned | Phase::Failed));
        if object.is_deleted()
            && !over
            && let Some(seconds) = between(at(stored, TEST_COMPLETED), Some(now))
        {
            let workflow = Workflow { workflow: self.0.workflows.admit(&workflow(object)) };
            self.0.deprovisioning.get_or_create(&workflow).observe(seconds);
        }
    }

    fn refresh(&self, controller: &Controller) {
        let inner = &*self.0;
        let objects = controller.caches().ephemeral_clusters.state();
        let kinds: Vec<[String; 4]> = objects.iter().map(|object| kind_of(object)).collect();
        let kinds = most_frequent(kinds, MOST);
        inner.count.clear();
        for (object, [konflux_cluster, konflux_tenant, cluster_profile, workflow]) in
            objects.iter().zip(kinds)
        {
            let phase = object.status.value.phase.map(|phase| format!("{phase:?}")).unwrap_or_default();
            let kind = Kind { konflux_cluster, konflux_tenant, cluster_profile, workflow, phase };
            inner.count.get_or_create(&kind).inc();
        }
        let bad = objects.iter().filter(|o| o.spec.error.is_some() || o.status.error.is_some()).count();
        set(&inner.undecodable, &kind { kind: "EphemeralCluster".into() }, bad);
        let jobs = controller.caches().prow_jobs.state();
        let bad = jobs.iter().filter(|o| o.spec.error.is_some() || o.status.error.is_some()).count();
        set(&inner.undecodable, &kind { kind: "ProwJob".into() }, bad);
        self.refresh_loops(&controller.queues(), controller.health());
        inner.up.clear();
        for (name, error) in controller.build_clusters().states() {
            inner.up.get_or_create(&cluster { cluster: name }).set(error.is_none().into());
        }
    }

    fn refresh_claims(&self, controller: &claims::Controller) {
        let inner = &*self.0;
        let claims = controller.caches().claims.state();
        let claims: Vec<_> = claims.iter().filter(|claim| claim.is_marked()).collect();
        let pools: Vec<[String; 1]> =
            claims.iter().map(|claim| [format!("{}/{}", claim.namespace(), claim.pool())]).collect();
        inner.claimed.clear();
        for (claim, [pool]) in claims.iter().zip(most_frequent(pools, MOST)) {
            inner.claimed.get_or_create(&Claimed { pool, state: progress(claim) }).inc();
        }
        let bad = claims.iter().filter(|o| o.spec.error.is_some() || o.status.error.is_some()).count();
        set(&inner.undecodable, &kind { kind: "ClusterClaim".into() }, bad);
        self.refresh_loops(&controller.queues(), controller.health());
    }

    fn refresh_loops(&self, queues: &[(&'static str, &Queue)], healths: &[Health]) {
        let inner = &*self.0;
        for (name, waiting) in queues {
            let (age, length) = waiting.age();
            inner.queue_age.get_or_create(&queue { queue: (*name).into() }).set(age.as_secs_f64());
            set(&inner.queue_length, &queue { queue: (*name).into() }, length);
        }
        for health in healths {
            let lag = health.behind().map_or(0.0, |(since, _)| since.as_secs_f64());
            inner.watch_lag.get_or_create(&watch { watch: health.name().into() }).set(lag);
        }
    }
}

/// How far a ClusterClaim is.
fn progress(claim: &ClusterClaim) -> &'static str {
    let published = claim.annotation(ours::CREDENTIALS_REVISION).is_some();
    match (claim.is_deleted(), claim.assigned().is_some(), published) {
        (true, _, _) => "releasing",
        (false, false, _) => "queued",
        (false, true, false) => "assigned",
        (false, true, true) => "published",
    }
}

fn set<L: Clone + std::hash::Hash + Eq>(family: &Family<L, Gauge>, labels: &L, value: usize) {
    family.get_or_create(labels).set(i64::try_from(value).unwrap_or(i64::MAX));
}

/// Konflux cluster, tenant, cluster profile and workflow.
fn kind_of(object: &EphemeralCluster) -> [String; 4] {
    let annotation = |key| object.annotation(key).unwrap_or_default().to_owned();
    let profile = object.spec.value.ci_operator.test.cluster_profile.clone();
    [annotation(KONFLUX_CLUSTER), annotation(KONFLUX_TENANT), profile, workflow(object)]
}

/// As upstream names it: with the management cluster where that decides how long it takes.
fn workflow(object: &EphemeralCluster) -> String {
    let test = &object.spec.value.ci_operator.test;
    if test.workflow == "hypershift-hostedcluster-workflow" && !test.management_cluster.is_empty() {
        return format!("{}_{}", test.workflow, test.management_cluster);
    }
    test.workflow.clone()
}

/// When a condition became True.
fn at(status: &Status, type_: &str) -> Option<Timestamp> {
    let condition = status.conditions.iter().find(|c| c.type_ == type_)?;
    condition.last_transition_time.filter(|_| condition.status == "True")
}

fn between(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<f64> {
    Some(to?.duration_since(from?).as_secs_f64().max(0.0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use testplatform_apis::hub::Facts;

    use super::*;
    use crate::cluster_pool::seen::{Looked, Seen, State};

    #[test]
    fn what_is_exported_is_what_is_said_to_be() {
        let metrics = Metrics::default();
        let inner = &*metrics.0;
        // A family without a value is not exported.
        let sort = Kind {
            konflux_cluster: String::new(),
            konflux_tenant: String::new(),
            cluster_profile: String::new(),
            workflow: String::new(),
            phase: String::new(),
        };
        inner.count.get_or_create(&sort).inc();
        let workflow = Workflow { workflow: String::new() };
        inner.provisioning.get_or_create(&workflow).observe(1.0);
        inner.deprovisioning.get_or_create(&workflow).observe(1.0);
        metrics.failed("action", "reason");
        inner.claimed.get_or_create(&Claimed { pool: String::new(), state: "queued" }).inc();
        inner.clusters.count_one();
        metrics.looked_at_pool("annotated");
        metrics.told_of_pool("Refreshed");
        let seen = Arc::new(Seen::default());
        metrics.attach_pools(&seen);
        seen.saw(
            &("ns".into(), "pool".into()),
            Some(Looked { state: State::Refreshing, remaining: Some(3) }),
        );
        inner.queue_age.get_or_create(&queue { queue: String::new() }).set(0.0);
        set(&inner.queue_length, &queue { queue: String::new() }, 0);
        inner.watch_lag.get_or_create(&watch { watch: String::new() }).set(0.0);
        inner.up.get_or_create(&cluster { cluster: String::new() }).set(1);
        set(&inner.undecodable, &kind { kind: String::new() }, 0);
        metrics.looked_at_hub("told");
        let told = r#"{"writtenAt":"2026-01-01T00:00:00Z","health":{"ready":true},
            "backends":{"hypershift":{"clusters":7,"provisioning":2},"osac":{}}}"#;
        metrics.told_of_hub(Some(&Facts::read(told).unwrap()));
        let text = metrics.encode().unwrap();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let plain = |name| {
            // These end like a part of a histogram and are none.
            if ["cluster_count", "clusterclaim_count", "clusterpool_count", "ephemeralcluster_count"]
                .contains(&name)
            {
                return name;
            }
            ["_bucket", "_sum", "_count"].iter().fold(name, |n: &str, end| n.trim_end_matches(end))
        };
        let names: BTreeSet<&str> =
            samples.filter_map(|line| line.split(['{', ' ']).next()).map(plain).collect();
        assert_eq!(names, BTreeSet::from(EXPORTED), "{text}");
        for line in [
            "clusterpool_count{state=\"refreshing\"} 1",
            "clusterpool_count{state=\"steady\"} 0",
            "clusterpool_refresh_remaining{pool=\"ns/pool\"} 3",
            "hub_clusters{backend=\"hypershift\"} 7",
            "hub_clusters_provisioning{backend=\"hypershift\"} 2",
            "hub_healthy{} 1",
            "hub_facts_written_timestamp_seconds{} 1767225600.0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is missing: {text}");
        }
    }
}

//! Metrics of EphemeralClusters: those of the upstream controller, under our names and theirs.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use jiff::Timestamp;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        family::{Family, MetricConstructor},
        gauge::Gauge,
        histogram::Histogram,
    },
    registry::{Registry, Unit},
};
use testplatform_apis::{
    foreign::ephemeral_cluster::conditions::{CLUSTER_READY, PROW_JOB_COMPLETED, TEST_COMPLETED},
    names::ephemeral_cluster::{KONFLUX_CLUSTER, KONFLUX_TENANT},
};
use testplatform_runtime::metrics::{
    ControllerMetrics, RuntimeMetrics,
    bounded::{FirstCome, MOST, most_frequent},
};

use super::{
    caches::Caches,
    object::EphemeralCluster,
    prow_job::JobState,
    status::{Phase, Status},
};
use crate::build_clusters::BuildClusterSet;

/// Upstream's buckets: five minutes to three hours.
const MINUTES: [f64; 9] = [300.0, 600.0, 900.0, 1800.0, 3600.0, 5400.0, 7200.0, 9000.0, 10_800.0];

/// Labels of upstream's gauge.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct JobLabels {
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
struct BuildClusterLabel {
    cluster: String,
}

#[derive(Clone)]
struct Course;

impl MetricConstructor<Histogram> for Course {
    fn new_metric(&self) -> Histogram {
        Histogram::new(MINUTES)
    }
}

/// The metrics of EphemeralClusters and their jobs.
pub struct JobMetrics {
    runtime: RuntimeMetrics,
    count: Family<JobLabels, Gauge>,
    provisioning: Family<Workflow, Histogram, Course>,
    deprovisioning: Family<Workflow, Histogram, Course>,
    workflows: FirstCome,
    up: Family<BuildClusterLabel, Gauge>,
    /// Build clusters whose kubeconfig has a gauge.
    reported: Mutex<Vec<String>>,
    /// Sources of the gauges.
    source: Mutex<(Weak<Caches>, Weak<BuildClusterSet>)>,
}

impl Default for JobMetrics {
    fn default() -> Self {
        Self {
            runtime: RuntimeMetrics::default(),
            count: Family::default(),
            provisioning: Family::new_with_constructor(Course),
            deprovisioning: Family::new_with_constructor(Course),
            workflows: FirstCome::new(MOST),
            up: Family::default(),
            reported: Mutex::default(),
            source: Mutex::default(),
        }
    }
}

impl ControllerMetrics for JobMetrics {
    fn new(runtime: RuntimeMetrics) -> Self {
        Self { runtime, ..Self::default() }
    }

    fn register_metrics(&self, registry: &mut Registry) {
        registry.register(
            "testplatform_ephemeralclusters",
            "EphemeralClusters that there are",
            self.count.clone(),
        );
        for (name, help, metric) in [
            (
                "testplatform_ephemeralcluster_provisioning_duration",
                "From creation to Ready",
                &self.provisioning,
            ),
            (
                "testplatform_ephemeralcluster_deprovisioning_duration",
                "From the signal to the job's end",
                &self.deprovisioning,
            ),
        ] {
            registry.register_with_unit(name, help, Unit::Seconds, metric.clone());
        }
        registry.register(
            "testplatform_build_cluster_up",
            "Whether a build cluster can be watched",
            self.up.clone(),
        );
    }

    fn refresh_gauges(&self) {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (Some(caches), Some(build_clusters)) = (source.0.upgrade(), source.1.upgrade()) else { return };
        let objects = caches.ephemeral_clusters.state();
        let kinds: Vec<[String; 4]> = objects.iter().map(|object| kind_of(object)).collect();
        let kinds = most_frequent(kinds, MOST);
        self.count.clear();
        for (object, [konflux_cluster, konflux_tenant, cluster_profile, workflow]) in
            objects.iter().zip(kinds)
        {
            let phase = object.status.value.phase.map(|phase| format!("{phase:?}")).unwrap_or_default();
            let kind = JobLabels { konflux_cluster, konflux_tenant, cluster_profile, workflow, phase };
            self.count.get_or_create(&kind).inc();
        }
        let bad = objects.iter().filter(|o| o.spec.error.is_some() || o.status.error.is_some()).count();
        self.runtime.set_undecodable("EphemeralCluster", bad);
        let jobs = caches.prow_jobs.state();
        let bad = jobs.iter().filter(|o| o.spec.error.is_some() || o.status.error.is_some()).count();
        self.runtime.set_undecodable("ProwJob", bad);
        self.runtime.refresh_loops(&[caches.requests.age(), caches.orphans.age()], &caches.health);
        self.up.clear();
        let states = build_clusters.states();
        // If a cluster's kubeconfig is gone, its unfinished jobs still report it.
        for job in jobs.iter().filter(|job| !job.state().is_final() && job.state() != JobState::Scheduling) {
            let name = &job.spec.value.cluster;
            if !name.is_empty() && !states.iter().any(|(known, _)| known == name) {
                self.up.get_or_create(&BuildClusterLabel { cluster: name.clone() }).set(0);
            }
        }
        let expiries = build_clusters.token_expiries();
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let removed = reported.iter().filter(|name| !expiries.iter().any(|(known, _)| known == *name));
        removed.for_each(|name| self.runtime.set_kubeconfig_expiry(name, None));
        for (name, expires) in &expiries {
            self.runtime.set_kubeconfig_expiry(name, *expires);
        }
        *reported = expiries.into_iter().map(|(name, _)| name).collect();
        drop(reported);
        for (name, error) in states {
            self.up.get_or_create(&BuildClusterLabel { cluster: name }).set(error.is_none().into());
        }
    }
}

impl JobMetrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.runtime
    }

    #[cfg(test)]
    pub(crate) fn count_one(&self) {
        self.up.get_or_create(&BuildClusterLabel { cluster: String::new() }).set(1);
        let sort = JobLabels {
            konflux_cluster: String::new(),
            konflux_tenant: String::new(),
            cluster_profile: String::new(),
            workflow: String::new(),
            phase: String::new(),
        };
        self.count.get_or_create(&sort).inc();
        let workflow = Workflow { workflow: String::new() };
        self.provisioning.get_or_create(&workflow).observe(1.0);
        self.deprovisioning.get_or_create(&workflow).observe(1.0);
    }

    /// From now on gauges are read from there.
    pub fn attach(&self, caches: &Arc<Caches>, build_clusters: &Arc<BuildClusterSet>) {
        let sources = (Arc::downgrade(caches), Arc::downgrade(build_clusters));
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = sources;
    }

    /// A status was written over that of an object. Counts what happens once in a life.
    pub fn transition(&self, object: &EphemeralCluster, status: &Status) {
        let stored = &object.status.value;
        let created = object.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let workflow = || Workflow { workflow: self.workflows.admit(&workflow(object)) };
        // The name of the Secret stays once it is there, so this is counted once however often it flaps.
        if stored.secret_ref.is_empty()
            && !status.secret_ref.is_empty()
            && let Some(seconds) = between(created, at(status, CLUSTER_READY))
        {
            self.provisioning.get_or_create(&workflow()).observe(seconds);
        }
        let signalled = at(stored, TEST_COMPLETED).or_else(|| at(status, TEST_COMPLETED));
        if stored.phase != Some(Phase::Deprovisioned)
            && status.phase == Some(Phase::Deprovisioned)
            && let Some(seconds) = between(signalled, at(status, PROW_JOB_COMPLETED))
        {
            self.deprovisioning.get_or_create(&workflow()).observe(seconds);
        }
    }

    /// The finalizer was taken off an object that is being deleted: its end has no status any more that would tell of it.
    pub fn record_release(&self, object: &EphemeralCluster, now: Timestamp) {
        let stored = &object.status.value;
        let over = matches!(stored.phase, Some(Phase::Deprovisioned | Phase::Failed));
        if object.is_deleted()
            && !over
            && let Some(seconds) = between(at(stored, TEST_COMPLETED), Some(now))
        {
            let workflow = Workflow { workflow: self.workflows.admit(&workflow(object)) };
            self.deprovisioning.get_or_create(&workflow).observe(seconds);
        }
    }
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

//! Metrics of claims that bring their own credentials, and of the Secrets that are copied for them.

use std::sync::{Arc, Mutex, PoisonError, Weak, atomic::AtomicU64};

use jiff::Timestamp;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};
use testplatform_runtime::{
    error::Reason,
    metrics::{ControllerMetrics, RuntimeMetrics, set_gauge},
};

use super::state::{SecretSyncGauge, SecretSyncState};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SyncStateLabel {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SyncOutcomeLabel {
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SecretActionLabel {
    action: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SyncFailureLabels {
    reason: &'static str,
}

/// A family without labels: it is there once a look ended well.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct NoLabels {}

/// The metrics of the carrier. No label has a word of a tenant's.
#[derive(Default)]
pub struct SecretSyncMetrics {
    runtime: RuntimeMetrics,
    count: Family<SyncStateLabel, Gauge>,
    looks: Family<SyncOutcomeLabel, Counter>,
    secrets: Family<SecretActionLabel, Counter>,
    failures: Family<SyncFailureLabels, Counter>,
    success: Family<NoLabels, Gauge<f64, AtomicU64>>,
    /// Source of the gauges.
    source: Mutex<Weak<SecretSyncGauge>>,
}

/// Action on a Secret on a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretAction {
    /// It was written.
    Written,
    /// It was there, and was removed.
    Removed,
}

impl SecretAction {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Removed => "removed",
        }
    }
}

impl ControllerMetrics for SecretSyncMetrics {
    fn new(runtime: RuntimeMetrics) -> Self {
        Self { runtime, ..Self::default() }
    }

    fn register_metrics(&self, registry: &mut Registry) {
        registry.register(
            "testplatform_secret_sync_claims",
            "Claims with credentials of their own, by state of the copies",
            self.count.clone(),
        );
        registry.register(
            "testplatform_secret_sync_reconciles",
            "Reconciles of claims with credentials of their own",
            self.looks.clone(),
        );
        registry.register(
            "testplatform_secret_sync_secrets",
            "Secrets that were written on hubs, or removed there",
            self.secrets.clone(),
        );
        registry.register(
            "testplatform_secret_sync_failures",
            "Failed reconciles of claims with credentials of their own, by reason",
            self.failures.clone(),
        );
        registry.register_with_unit(
            "testplatform_secret_sync_success_timestamp",
            "Time of the last such reconcile without a failure",
            Unit::Seconds,
            self.success.clone(),
        );
    }

    fn refresh_gauges(&self) {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        let Some(gauge) = source else { return };
        for at in SecretSyncState::ALL {
            set_gauge(&self.count, &SyncStateLabel { state: at.as_str() }, gauge.count_in(at));
        }
        self.runtime.refresh_loops(&[], &gauge.health);
    }
}

impl SecretSyncMetrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.runtime
    }

    /// Reads the gauges of the secret sync from there. Counters start at zero, so that the first event shows as an increase.
    pub fn attach_carries(&self, gauge: &Arc<SecretSyncGauge>) {
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(gauge);
        for at in SecretSyncState::ALL {
            drop(self.looks.get_or_create(&SyncOutcomeLabel { outcome: at.as_str() }));
        }
        for action in [SecretAction::Written, SecretAction::Removed] {
            drop(self.secrets.get_or_create(&SecretActionLabel { action: action.as_str() }));
        }
    }

    /// Records a successful reconcile of a claim that brings its own credentials.
    pub fn count_sync(&self, standing: SecretSyncState, now: Timestamp) {
        self.looks.get_or_create(&SyncOutcomeLabel { outcome: standing.as_str() }).inc();
        self.success.get_or_create(&NoLabels {}).set(now.as_duration().as_secs_f64());
    }

    /// Records a failed reconcile.
    pub fn count_failed_sync(&self, reason: Reason) {
        self.looks.get_or_create(&SyncOutcomeLabel { outcome: SecretSyncState::Failing.as_str() }).inc();
        self.failures.get_or_create(&SyncFailureLabels { reason: reason.as_str() }).inc();
    }

    /// A Secret on a hub was written or removed.
    pub fn count_secret_action(&self, action: SecretAction) {
        self.secrets.get_or_create(&SecretActionLabel { action: action.as_str() }).inc();
    }
}

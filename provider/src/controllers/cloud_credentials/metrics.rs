//! Metrics of cloud credentials.

use std::sync::Arc;

use prometheus_client::registry::Registry;
use testplatform_apis::cloud::CredentialPhase;
use testplatform_runtime::metrics::{ControllerMetrics, RuntimeMetrics, requests::RequestMetrics};

use super::gauge::CredentialGauge;

/// Outcome of a cluster's credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialOutcome {
    /// The first one is published.
    Made,
    /// Another one is published in its place.
    Rotated,
    /// The working credential stays, because no other could be created.
    RotationFailed,
    /// None works, and none could be made.
    OwnerInvalid,
    /// One was deleted.
    Removed,
    /// A credential is left at the identity service: no known issuer may delete it.
    LeftBehind,
}

impl CredentialOutcome {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Made,
        Self::Rotated,
        Self::RotationFailed,
        Self::OwnerInvalid,
        Self::Removed,
        Self::LeftBehind,
    ];

    /// The reason that its event has.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Made => "CloudCredentialMade",
            Self::Rotated => "CloudCredentialRotated",
            Self::RotationFailed => "CloudCredentialRotationFailed",
            Self::OwnerInvalid => "CloudCredentialOwnerInvalid",
            Self::Removed => "CloudCredentialRemoved",
            Self::LeftBehind => "CloudCredentialLeftBehind",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Rotated => "rotated",
            Self::RotationFailed => "rotation_failed",
            Self::OwnerInvalid => "owner_invalid",
            Self::Removed => "removed",
            Self::LeftBehind => "left_behind",
        }
    }

    /// Whether somebody should worry.
    pub const fn is_warning(self) -> bool {
        match self {
            Self::Made | Self::Rotated | Self::Removed => false,
            Self::RotationFailed | Self::OwnerInvalid | Self::LeftBehind => true,
        }
    }
}

/// Label values of the states of a credential.
pub const STATES: [&str; 6] = [
    word(CredentialPhase::Valid),
    word(CredentialPhase::RotationFailed),
    word(CredentialPhase::OwnerInvalid),
    word(CredentialPhase::Unreachable),
    word(CredentialPhase::Blocked),
    word(CredentialPhase::Leaving),
];

const fn word(state: CredentialPhase) -> &'static str {
    match state {
        CredentialPhase::Valid => "valid",
        CredentialPhase::RotationFailed => "rotation_failed",
        CredentialPhase::OwnerInvalid => "owner_invalid",
        CredentialPhase::Unreachable => "unreachable",
        CredentialPhase::Blocked => "blocked",
        CredentialPhase::Leaving => "leaving",
    }
}

/// The metrics of cloud credentials.
#[derive(Default)]
pub struct CredentialMetrics {
    runtime: RuntimeMetrics,
    requests: RequestMetrics<CredentialPhase>,
}

impl ControllerMetrics for CredentialMetrics {
    fn new(runtime: RuntimeMetrics) -> Self {
        Self { runtime, ..Self::default() }
    }

    fn register_metrics(&self, registry: &mut Registry) {
        self.requests.register(
            registry,
            ["testplatform_cloud_credentials", "Clusters with a cloud credential of their own, by its state"],
            ["testplatform_cloud_credential_outcomes", "Results of cloud credentials, by result"],
        );
    }

    fn refresh_gauges(&self) {
        if let Some(gauge) = self.requests.refresh(CredentialPhase::ALL.map(|state| (state, word(state)))) {
            self.runtime.refresh_loops(&[], &gauge.health);
        }
    }
}

impl CredentialMetrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.runtime
    }

    /// From now on gauges are read from there.
    pub fn attach_cloud(&self, gauge: &Arc<CredentialGauge>) {
        self.requests.attach(gauge, CredentialOutcome::ALL.map(CredentialOutcome::word));
    }

    /// The credential of a cluster came to that.
    pub fn cloud_came_to(&self, outcome: CredentialOutcome) {
        self.requests.came_to(outcome.word());
    }
}

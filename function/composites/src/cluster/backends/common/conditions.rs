//! Conditions of each part of a cluster by template, for the conditions and status fields that only claims with a template have. A missing
//! one is shown as not observed.

use testplatform_apis::{
    condition::{
        ConditionStatus, ControlPlaneLevel, Infrastructure, NodesLevel, REFUSED, SetupLevel, SpecLevel,
    },
    redact::redact_text,
    status::{ErrorStatus, NodesStatus, ProgressStatus},
    text::bounded,
};

use crate::cluster::observed::Observed;

/// Condition of one part of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendCondition<R> {
    /// Status.
    pub status: ConditionStatus,
    /// Reason.
    pub reason: R,
    /// Message without secrets.
    pub message: String,
}

impl<R> BackendCondition<R> {
    /// Builds a condition.
    pub fn of(status: ConditionStatus, reason: R, message: impl Into<String>) -> Self {
        // Most of the message comes from the hub.
        Self { status, reason, message: redact_text(&message.into(), 1024) }
    }
}

impl BackendCondition<SpecLevel> {
    /// Condition if the hub refuses `what`.
    pub fn refused(what: &str, message: &str) -> Self {
        Self::of(ConditionStatus::False, SpecLevel::Rejected, format!("{REFUSED} {what}: {message}"))
    }
}

/// Conditions of the parts. None: not reported by the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackendConditions {
    /// `InfrastructureReady`.
    pub infrastructure: Option<BackendCondition<Infrastructure>>,
    /// `ControlPlaneAvailable`.
    pub control_plane: Option<BackendCondition<ControlPlaneLevel>>,
    /// `NodesReady`.
    pub nodes_ready: Option<BackendCondition<NodesLevel>>,
    /// `TemplateApplied`.
    pub setup: Option<BackendCondition<SetupLevel>>,
    /// `SpecApplied`, if the last change is permitted.
    pub spec: Option<BackendCondition<SpecLevel>>,
    /// `status.nodes`.
    pub nodes: Option<NodesStatus>,
    /// `status.progress`.
    pub progress: Option<ProgressStatus>,
    /// `status.lastError`.
    pub last_error: Option<ErrorStatus>,
    /// `status.appliedGeneration`.
    pub applied_generation: Option<i64>,
}

impl BackendConditions {
    /// Conditions of a backend whose templates set up nothing. `spec`: whether the cluster matches the claim, where known.
    pub(in crate::cluster::backends) fn with_spec(
        spec: Option<BackendCondition<SpecLevel>>,
        observed: &Observed,
    ) -> Self {
        let applied = spec.as_ref().is_some_and(|level| level.status == ConditionStatus::True);
        let generation = observed.composite.metadata.generation;
        let before = observed.composite.status.applied_generation;
        let message = "the template has no bundles";
        Self {
            setup: Some(BackendCondition::of(ConditionStatus::True, SetupLevel::NothingToApply, message)),
            applied_generation: Some(generation).filter(|g| applied && *g > 0).or(before),
            spec,
            ..Self::default()
        }
    }
}

/// Current step of the hub.
pub(in crate::cluster::backends) fn progress_step(step: &str, message: impl Into<String>) -> ProgressStatus {
    ProgressStatus {
        step: Some(bounded(step, 63)),
        message: Some(bounded(&redact_text(&message.into(), 512), 512)),
        percent: None,
    }
}

//! How far each part of a cluster by template is: what a backend says in the conditions and status fields that only claims with a
//! template have. What it does not say is shown as not observed.

use testplatform_apis::{
    condition::{ConditionStatus, ControlPlaneLevel, Infrastructure, NodesLevel, SetupLevel, SpecLevel},
    status::{ErrorStatus, NodesStatus, ProgressStatus},
};

/// How far one part is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level<R> {
    /// Whether it is there.
    pub status: ConditionStatus,
    /// Why, in a word.
    pub reason: R,
    /// Why, in a sentence without secrets.
    pub message: String,
}

/// How far each part is. None: the hub does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// `InfrastructureReady`.
    pub infrastructure: Option<Level<Infrastructure>>,
    /// `ControlPlaneAvailable`.
    pub control_plane: Option<Level<ControlPlaneLevel>>,
    /// `NodesReady`.
    pub nodes_ready: Option<Level<NodesLevel>>,
    /// `TemplateApplied`.
    pub setup: Option<Level<SetupLevel>>,
    /// `SpecApplied`, of a claim whose last change may be.
    pub spec: Option<Level<SpecLevel>>,
    /// `status.nodes`.
    pub nodes: Option<NodesStatus>,
    /// `status.progress`.
    pub progress: Option<ProgressStatus>,
    /// `status.lastError`.
    pub last_error: Option<ErrorStatus>,
    /// `status.appliedGeneration`.
    pub applied_generation: Option<i64>,
}

//! The backends of templates. Each has a module with its [`BackendDescriptor`] and the types of its part of an entry: source of its
//! clusters, classes of nodes, and targets of parameters. Rendering a claim so needs no further checks.
//!
//! A backend is registered here and nowhere else in this crate: [`Backend`], [`Backend::descriptor`] and
//! [`for_each_backend`](crate::for_each_backend).

mod backend;
mod caas;
mod cluster_api;
mod definition;
mod hypershift;
mod osac;
mod overlay;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::descriptor::BackendDescriptor;

pub use caas::{Caas, ChartValue, NoMachine};
pub use cluster_api::{
    ClassRef, CloudCredential, ClusterApi, ControlPlaneClasses, NetworkVariables, Variable, Worker,
};
pub(super) use definition::find_nulls;
pub use definition::{BackendDefinition, ClassNamespace, ClusterClassName};
pub use hypershift::{
    AgentMachine, AwsMachine, HyperShift, KubeVirtMachine, Machine, MachineDocument, Place, Platform,
    TargetDocument,
};
pub use osac::{Host, JobParameter, Osac};
pub use overlay::merge_overlay;

/// Backend of a template's clusters. A catalogue entry fixes it; a claim never names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// A HyperShift HostedCluster with its NodePools.
    #[serde(rename = "hypershift")]
    HyperShift,
    /// A Cluster API Cluster with a managed topology.
    ClusterApi,
    /// A ClusterTemplateInstance of the cluster-templates operator.
    Caas,
    /// An OSAC ClusterOrder.
    Osac,
}

impl Backend {
    /// Every backend.
    pub const ALL: [Self; 4] = [Self::HyperShift, Self::ClusterApi, Self::Caas, Self::Osac];

    /// Its constants.
    pub const fn descriptor(self) -> &'static BackendDescriptor {
        match self {
            Self::HyperShift => &hypershift::DESCRIPTOR,
            Self::ClusterApi => &cluster_api::DESCRIPTOR,
            Self::Caas => &caas::DESCRIPTOR,
            Self::Osac => &osac::DESCRIPTOR,
        }
    }
}

/// Calls a macro with the name of every backend, which is that of its variant of [`Backend`](crate::template::Backend) and of its type in
/// [`kind`](crate::template::kind). Types and functions that have the same line for each backend are defined by it.
#[macro_export]
macro_rules! for_each_backend {
    ($define:ident) => {
        $define! { HyperShift, ClusterApi, Caas, Osac }
    };
}

/// `backendRef` of whichever backend; only for the schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only an editor's view; values are read as their backend's")]
pub(super) enum Reference {
    HyperShift(HyperShift),
    ClusterApi(ClusterApi),
    Caas(Caas),
    Osac(Osac),
}

/// `machine` of whichever backend; only for the schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "an editor's view of what is read by the backend that the entry names")]
pub(super) enum MachineReference {
    HyperShift(MachineDocument),
    ClusterApi(Worker),
    Osac(Host),
}

//! Entries for OSAC: a ClusterOrder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BackendDefinition, definition::parse_word};
use crate::foreign::{ResourceKind, osac::ClusterOrder};
use crate::template::{
    Backend,
    capability::Capabilities,
    descriptor::{BackendDescriptor, EverReady, NameLimit, ReleaseRule, Underlying},
};

/// Constants of the backend.
pub(super) const DESCRIPTOR: BackendDescriptor = BackendDescriptor {
    name: "osac",
    title: "OSAC",
    cluster_kind: ResourceKind {
        group: "osac.openshift.io",
        versions: &["v1alpha1"],
        kind: "ClusterOrder",
        plural: "clusterorders",
    },
    dependent_kinds: &[],
    primary_resource: "order",
    default_namespace: "osac-orders",
    // The control plane is in a namespace of its own, `<namespace>-<name>-<name>`.
    name_limit: NameLimit::ControlPlaneNamespace { repetitions: 2 },
    // The HostedCluster is watched, and a NodePool.
    objects_per_cluster: 4,
    capabilities: Capabilities {
        node_groups: true,
        autoscale: false,
        min_count: 1,
        arch: false,
        failure_domain: false,
        labels: false,
        taints: false,
        control_planes: &[],
        release_image: true,
        cluster_cidrs: true,
        machine_cidr: false,
        ipv6: false,
        editable: true,
        // Its templateID is fixed.
        moves: false,
        walks: false,
    },
    has_overlay: false,
    release: ReleaseRule::OptionalImage,
    underlying: Some(Underlying::Always(Backend::HyperShift)),
    refuses_tenant_credentials: Some("it takes them as plain text in its orders alone"),
    has_cloud_credentials: false,
    ever_ready: EverReady::Phase("Ready"),
    supported_versions: None,
    cluster_class: None,
    reports_api_version: false,
};

/// Settings common to all ClusterOrders of an entry.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Osac {
    /// The template of OSAC's, such as `osac.templates.ocp_4_17_small`.
    #[serde(rename = "templateID")]
    pub template_id: String,
    /// Whether OSAC can change version and parameters of a cluster that is there. If not set, not.
    #[serde(default)]
    pub upgradeable: bool,
}

/// A class of nodes, in the words of the OSAC that runs on the hub: its ClusterOrders took `nodeRequests[].resourceClass` until August 2026,
/// and take `nodeRequests[].nodeSet` with `bareMetal.instanceType` since.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "HostFields")]
#[schemars(!try_from)]
pub enum Host {
    /// A resource class, such as fc430. Groups of one class are one to OSAC.
    ResourceClass(String),
    /// A `BareMetalInstanceType`, such as bm-standard. Each group is a node set of its own.
    InstanceType(String),
}

impl Host {
    /// The resource class, if it is one.
    pub fn resource_class(&self) -> Option<&str> {
        match self {
            Self::ResourceClass(class) => Some(class),
            Self::InstanceType(_) => None,
        }
    }
}

/// [`Host`] as it is written: serde's own message for an enum says nothing of the two.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HostFields {
    #[serde(default)]
    resource_class: Option<String>,
    #[serde(default)]
    instance_type: Option<String>,
}

impl TryFrom<HostFields> for Host {
    type Error = &'static str;

    fn try_from(fields: HostFields) -> Result<Self, Self::Error> {
        match (fields.resource_class, fields.instance_type) {
            (Some(class), None) => Ok(Self::ResourceClass(class)),
            (None, Some(kind)) => Ok(Self::InstanceType(kind)),
            (Some(_), Some(_)) | (None, None) => Err("set exactly one of resourceClass and instanceType"),
        }
    }
}

/// A member of `templateParameters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobParameter(pub String);

impl BackendDefinition for Osac {
    const BACKEND: Backend = Backend::Osac;
    type Machine = Host;
    type Object = ClusterOrder;
    type Target = JobParameter;

    fn find_flaws(&self) -> Vec<(String, String)> {
        let id = &self.template_id;
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let first = id.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let wrong = !first || !id.chars().all(legal);
        wrong
            .then(|| ("templateID".into(), "is not a name of letters, digits, _ and dots".into()))
            .into_iter()
            .collect()
    }

    fn machine_flaw(&self, machine: &Host) -> Option<String> {
        match machine {
            Host::ResourceClass(name) => name.is_empty().then(|| "has an empty resourceClass".into()),
            Host::InstanceType(name) => name.is_empty().then(|| "has an empty instanceType".into()),
        }
    }

    fn parse_target(&self, words: &str) -> Result<JobParameter, String> {
        parse_word(words).map(JobParameter)
    }

    fn node_target(&self, _: &str) -> Result<JobParameter, String> {
        Err("is not supported: a node group of OSAC has only a class and a number".into())
    }

    fn may_become(&self, old: &Host, new: &Host) -> bool {
        old == new
    }

    fn can_upgrade(&self) -> bool {
        self.upgradeable
    }

    fn can_tune_parameters(&self) -> bool {
        self.upgradeable
    }

    fn needs_image(&self) -> bool {
        true
    }
}

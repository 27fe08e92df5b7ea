//! Fields of a claim that each backend supports. An unsupported field is refused by its name, never dropped.

use super::Backend;

/// Capabilities of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a row of the matrix")]
pub struct Capabilities {
    /// `nodeGroups`.
    pub node_groups: bool,
    /// `nodeGroups[].autoscale`.
    pub autoscale: bool,
    /// The smallest `nodeGroups[].count`.
    pub min_count: u32,
    /// `nodeGroups[].arch`.
    pub arch: bool,
    /// `nodeGroups[].failureDomain`.
    pub failure_domain: bool,
    /// `nodeGroups[].labels`.
    pub labels: bool,
    /// `nodeGroups[].taints`.
    pub taints: bool,
    /// Numbers for `controlPlane.replicas`; none: the field is refused.
    pub control_planes: &'static [u32],
    /// `releaseImage`.
    pub release_image: bool,
    /// `network.podCIDR` and `network.serviceCIDR`.
    pub cluster_cidrs: bool,
    /// `network.machineCIDR`.
    pub machine_cidr: bool,
    /// IPv6 in those.
    pub ipv6: bool,
    /// Whether anything can change after the cluster was asked for.
    pub editable: bool,
    /// Whether a cluster that is there may come to belong to another template.
    pub moves: bool,
    /// Whether a version may be several minor ones ahead: the backend goes there step by step.
    pub walks: bool,
}

impl Backend {
    /// Capabilities of the backend. The catalogue entry may limit them further.
    pub const fn capabilities(self) -> Capabilities {
        match self {
            Self::HyperShift => Capabilities {
                node_groups: true,
                autoscale: true,
                min_count: 0,
                arch: true,
                failure_domain: false,
                labels: true,
                taints: true,
                control_planes: &[1, 3],
                release_image: true,
                cluster_cidrs: true,
                machine_cidr: true,
                ipv6: true,
                editable: true,
                moves: true,
                walks: false,
            },
            Self::ClusterApi => Capabilities {
                node_groups: true,
                autoscale: true,
                min_count: 0,
                // It comes with the machine image, and that with the class.
                arch: false,
                failure_domain: true,
                labels: true,
                taints: false,
                control_planes: &[1, 3, 5],
                // Of an image nobody knows the version, and the topology needs it.
                release_image: false,
                cluster_cidrs: true,
                machine_cidr: false,
                ipv6: true,
                editable: true,
                moves: true,
                walks: true,
            },
            // Everything is a parameter of the chart, and the object is immutable as a whole.
            Self::Caas => Capabilities {
                node_groups: false,
                autoscale: false,
                min_count: 0,
                arch: false,
                failure_domain: false,
                labels: false,
                taints: false,
                control_planes: &[],
                release_image: false,
                cluster_cidrs: false,
                machine_cidr: false,
                ipv6: false,
                editable: false,
                moves: false,
                walks: false,
            },
            Self::Osac => Capabilities {
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
        }
    }
}

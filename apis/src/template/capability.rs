//! Fields of a claim that each backend supports. An unsupported field is refused by its name, never dropped.

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

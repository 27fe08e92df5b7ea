//! Everything that is constant about a backend. Each backend has one [`BackendDescriptor`] in its module of
//! [`kind`](crate::template::kind), and the programs look up there what differs between backends.

use super::{Backend, capability::Capabilities};
use crate::foreign::ResourceKind;

/// The longest name of a namespace.
const NAMESPACE: usize = 63;

/// Constants of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendDescriptor {
    /// Name in catalogue entries and in labels of hubs.
    pub name: &'static str,
    /// Name in sentences.
    pub title: &'static str,
    /// The kind of which each cluster has exactly one object, and so the one that is counted.
    pub cluster_kind: ResourceKind,
    /// Kinds that are written for a cluster besides that.
    pub dependent_kinds: &'static [ResourceKind],
    /// Composition resource name of the primary Object.
    pub primary_resource: &'static str,
    /// Namespace of its objects, if neither the catalogue nor the hub has one: that of the backend's own tools.
    pub default_namespace: &'static str,
    /// Room for the names of its objects.
    pub name_limit: NameLimit,
    /// Usual number of Objects of a cluster: its primary Object, its credentials, and further ones on the hub.
    pub objects_per_cluster: u32,
    /// Fields of a claim that it supports.
    pub capabilities: Capabilities,
    /// Whether its objects are made of documents of an entry, over which an overlay can be merged.
    pub has_overlay: bool,
    /// Release of its clusters.
    pub release: ReleaseRule,
    /// Backend that makes its clusters, where it delegates to another one.
    pub underlying: Option<Underlying>,
    /// Why claims cannot bring credentials to its clusters; none: they can.
    pub refuses_tenant_credentials: Option<&'static str>,
    /// Whether its clusters can have a credential of their cloud of their own.
    pub has_cloud_credentials: bool,
    /// How an object shows that its cluster was ready once.
    pub ever_ready: EverReady,
    /// ConfigMap on the hub, and its key, that lists the versions which it can make.
    pub supported_versions: Option<&'static str>,
    /// Kind of the class of clusters that an entry names. Its objects are the platform team's; without one nothing can be made.
    pub cluster_class: Option<ResourceKind>,
    /// Whether a hub's facts have the version of its API that the hub serves.
    pub reports_api_version: bool,
}

/// Room for the name of a cluster's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameLimit {
    /// So many characters.
    Characters(usize),
    /// The control plane is in a namespace of its own, whose name is that of the object's namespace and so many times the object's own, with
    /// dashes between.
    ControlPlaneNamespace {
        /// How many times.
        repetitions: usize,
    },
}

impl NameLimit {
    /// The longest name in a namespace. None: the namespace leaves no room.
    pub const fn max_length(self, namespace: &str) -> Option<usize> {
        match self {
            Self::Characters(most) => Some(most),
            Self::ControlPlaneNamespace { repetitions } => {
                match NAMESPACE.checked_sub(namespace.len() + repetitions) {
                    Some(room) => Some(room / repetitions),
                    None => None,
                }
            }
        }
    }
}

/// Release of a backend's clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseRule {
    /// Each cluster has the image of one.
    Image,
    /// Each cluster has the version of one.
    Version,
    /// The image of one, or none: the backend has one of its own.
    OptionalImage,
    /// The entry decides.
    Free,
}

impl ReleaseRule {
    /// Whether each cluster needs one.
    pub const fn is_required(self) -> bool {
        matches!(self, Self::Image | Self::Version)
    }
}

/// Backend that makes the clusters of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Underlying {
    /// Its objects are watched for each cluster, in namespaces of their own, and have the credentials.
    Always(Backend),
    /// They are watched where the entry says so by `observes`, and go after the object of the cluster.
    Observed(Backend),
}

/// How an object shows that its cluster was ready once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EverReady {
    /// By this phase.
    Phase(&'static str),
    /// By this condition, once it is True.
    Condition(&'static str),
    /// By a version that was rolled out, or by this condition: without nodes no version is ever completed.
    VersionOrCondition(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_plane_namespace_has_room_for_itself() {
        let limit = |repetitions| NameLimit::ControlPlaneNamespace { repetitions };
        assert_eq!(limit(1).max_length("clusters"), Some(63 - "clusters-".len()));
        assert_eq!(limit(2).max_length("osac-orders"), Some(25));
        assert_eq!(limit(1).max_length(&"n".repeat(63)), None);
        assert_eq!(NameLimit::Characters(40).max_length(&"n".repeat(63)), Some(40));
    }

    #[test]
    fn names_and_resources_of_backends_are_unique() {
        for (i, backend) in Backend::ALL.into_iter().enumerate() {
            let (own, others) = (backend.descriptor(), &Backend::ALL[..i]);
            assert_eq!(serde_json::to_value(backend).unwrap(), own.name);
            for other in others.iter().map(|other| other.descriptor()) {
                assert_ne!(other.primary_resource, own.primary_resource);
                assert_ne!(other.cluster_kind, own.cluster_kind);
            }
        }
    }
}

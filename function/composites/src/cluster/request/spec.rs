//! Input of a backend, in its own terms.
//!
//! **Invariant:** it needs no further check: every name, number and path in it is one that its entry allows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use testplatform_apis::{
    collect,
    names::ObjectName,
    template::{
        companions::{Architecture, ControlPlane, HubChoice, Network, Selector, Taint, Timeouts},
        entry::{BringYourOwn, BundleDocument, Observes, Release},
        kind::{self, BackendDefinition, CloudCredential, ClusterClassName},
        version::Version,
    },
};

/// Complete input of a backend. It needs no further check.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedSpec {
    /// Release to run. Without a version or an image, the backend's own.
    pub release: SelectedRelease,
    /// The template.
    pub template: String,
    /// Previous template, if it was another one.
    pub moved_from: Option<String>,
    /// Whether the hub refuses the last request, and this is another one.
    pub is_rollback: bool,
    /// All releases of the template, for a backend that upgrades step by step.
    pub releases: Vec<Release>,
    /// Size of the control plane, if specified.
    pub control_plane: ControlPlane,
    /// Addresses and networks, if specified.
    pub network: Network,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// The claim's choice of hub.
    pub hub: HubChoice,
    /// The entry's requirements on the hub.
    pub hub_selector: Selector,
    /// Namespace on the hub in which the objects are made; none: the hub's own for the backend.
    pub namespace: Option<ObjectName>,
    /// Whether there is a password for kubeadmin.
    pub password: bool,
    /// Additional object that shows the state of the cluster, besides the backend's own.
    pub observes: Option<Observes>,
    /// Bundles to apply inside the cluster.
    pub bundles: BundleSelection,
    /// Tenant credentials of the claim that the entry accepts.
    pub tenant_credentials: Option<BroughtCredentials>,
    /// The rest, in terms of the backend.
    pub backend_spec: AnyBackendSpec,
}

/// Credentials that a tenant provides.
#[derive(Clone, Debug, PartialEq)]
pub struct BroughtCredentials {
    /// `spec.byoc`.
    pub byoc: Value,
    /// Terms of the entry for them.
    pub terms: BringYourOwn,
}

/// Bundles on the hub and inside the cluster, as the entry selects them for the claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BundleSelection {
    /// On the hub, before the request and until the cluster is gone.
    pub prerequisites: Vec<BundleDocument>,
    /// On the hub after those, once.
    pub pre_create: Vec<BundleDocument>,
    /// Inside the cluster, once it exists.
    pub post_install: Vec<BundleDocument>,
    /// Inside the cluster, before its deletion.
    pub pre_delete: Vec<BundleDocument>,
}

impl BundleSelection {
    /// Whether there is none for the hub.
    pub const fn has_no_hub_bundles(&self) -> bool {
        self.prerequisites.is_empty() && self.pre_create.is_empty()
    }

    /// Whether there is none for the cluster.
    pub const fn has_no_cluster_bundles(&self) -> bool {
        self.post_install.is_empty() && self.pre_delete.is_empty()
    }
}

/// Release to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectedRelease {
    /// The version; none: the claim has an image of its own, or the backend has a version of its own.
    pub version: Option<Version>,
    /// The image, where there is one.
    pub image: Option<String>,
    /// Why it is deprecated.
    pub deprecated: Option<String>,
}

impl From<&Release> for SelectedRelease {
    fn from(release: &Release) -> Self {
        Self {
            version: Some(release.version.clone()),
            image: release.image.clone(),
            deprecated: release.deprecated.clone(),
        }
    }
}

/// A backend, by the type of its part of a catalogue entry.
pub trait RequestedBackend: BackendDefinition {
    /// The request, if it is one for this backend.
    fn select_request(request: &AnyBackendSpec) -> Option<&BackendSpec<Self>>;
}

macro_rules! define_any_backend_spec {
    ($($backend:ident),*) => {
        /// Request in terms of its backend.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyBackendSpec {
            $(
                #[doc = concat!("For [`", stringify!($backend), "`](kind::", stringify!($backend), ").")]
                $backend(BackendSpec<kind::$backend>),
            )*
        }

        impl AnyBackendSpec {
            /// Requested nodes of each class; of an autoscaled group, the minimum.
            pub fn nodes_per_class(&self) -> BTreeMap<String, u32> {
                match self {
                    $(Self::$backend(request) => request.nodes_per_class(),)*
                }
            }

            /// Zones of the requested nodes.
            pub fn zones(&self) -> BTreeSet<String> {
                match self {
                    $(Self::$backend(request) => request.zones(),)*
                }
            }

            /// The class of clusters that the entry names.
            pub fn cluster_class(&self) -> Option<ClusterClassName> {
                match self {
                    $(Self::$backend(request) => request.base.cluster_class(),)*
                }
            }

            /// The credential of the cloud that the cluster gets for itself.
            pub fn cloud_credential(&self) -> Option<&CloudCredential> {
                match self {
                    $(Self::$backend(request) => request.base.cloud_credential(),)*
                }
            }
        }

        $(
            impl RequestedBackend for kind::$backend {
                fn select_request(request: &AnyBackendSpec) -> Option<&BackendSpec<Self>> {
                    if let AnyBackendSpec::$backend(request) = request { Some(request) } else { None }
                }
            }
        )*
    };
}

testplatform_apis::for_each_backend!(define_any_backend_spec);

impl<K: BackendDefinition> BackendSpec<K> {
    fn nodes_per_class(&self) -> BTreeMap<String, u32> {
        let mut classes = BTreeMap::new();
        for group in &self.groups {
            let count: &mut u32 = classes.entry(group.class.clone()).or_default();
            *count = count.saturating_add(group.size.min_nodes());
        }
        classes
    }

    fn zones(&self) -> BTreeSet<String> {
        collect::to_set(self.groups.iter().filter_map(|group| group.failure_domain.clone()))
    }
}

/// Request to a backend.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendSpec<K: BackendDefinition> {
    /// Common settings of all clusters of the entry.
    pub base: K,
    /// Overlay that is merged over the result.
    pub overlay: Map<String, Value>,
    /// The node groups, in the claim's order.
    pub groups: Vec<NodeGroupSpec<K>>,
    /// Parameters with a value, by name.
    pub parameters: Vec<Setting<K::Target>>,
}

/// A node group.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeGroupSpec<K: BackendDefinition> {
    /// Its name, a DNS label.
    pub name: String,
    /// Name of its class.
    pub class: String,
    /// Machine of its nodes; none: the class is no longer offered, and the nodes stay unchanged.
    pub machine: Option<K::Machine>,
    /// Desired count.
    pub size: NodeCount,
    /// Their architecture, if specified.
    pub arch: Option<Architecture>,
    /// Their failure domain, if specified.
    pub failure_domain: Option<String>,
    /// Their labels, by key.
    pub labels: Vec<(String, String)>,
    /// Their taints.
    pub taints: Vec<Taint>,
    /// Their parameters with a value, by name.
    pub parameters: Vec<Setting<K::Target>>,
}

/// Desired count of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeCount {
    /// A fixed count.
    Fixed(u32),
    /// Autoscaled between two limits.
    Between {
        /// The minimum.
        min: u32,
        /// The maximum.
        max: u32,
    },
}

impl NodeCount {
    /// The minimum.
    pub const fn min_nodes(self) -> u32 {
        match self {
            Self::Fixed(count) => count,
            Self::Between { min, .. } => min,
        }
    }
}

/// A value, and its target.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting<T> {
    /// Name of the parameter.
    pub name: String,
    /// Its target.
    pub target: T,
    /// The value.
    pub value: Value,
}

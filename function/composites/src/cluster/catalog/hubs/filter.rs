//! Filter of hubs, and the first reason against each.

use std::fmt;

use testplatform_apis::{
    hub::{Facts, Hub, NoHub, PartialVersion, Versions, cluster_class_key},
    template::{
        Backend,
        kind::{ClassNamespace, ClusterClassName},
    },
};

use super::PlacementRequest;

/// Why a hub is not taken, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Its ProviderConfig cannot be read.
    Broken(String),
    /// It does not make such clusters.
    Backend(Backend),
    /// It lacks a label.
    Label(String, String),
    /// It is not for this tenant. For whom it is is nobody's business.
    Tenant,
    /// It cannot make the version.
    Version(String),
    /// It has no nodes of a class.
    Class(String),
    /// It makes no nodes in a zone.
    Zone(String),
    /// It has no class of clusters of that name: kind and name.
    ClusterClass(&'static str, String),
    /// It was given up for this claim.
    GivenUp,
    /// It takes no new claims.
    Closed,
    /// It says that it is not healthy.
    Unwell(String),
    /// It has too few free nodes of a class.
    Free {
        /// The class.
        class: String,
        /// How many are free.
        free: i64,
        /// How many are asked for.
        asked: u32,
    },
    /// It has as many clusters as it may have.
    Full {
        /// How many it has.
        load: i64,
        /// How many it may have.
        max: u32,
        /// How many percent are kept free.
        reserved: u32,
    },
    /// It makes as many clusters as it may at a time.
    Slots {
        /// How many are in the making.
        provisioning: i64,
        /// How many may be.
        max: u32,
    },
}

impl Rejection {
    /// Reason to report if no other hub came closer.
    pub const fn reason(&self) -> NoHub {
        match self {
            Self::Broken(_)
            | Self::Backend(_)
            | Self::Label(..)
            | Self::Class(_)
            | Self::Zone(_)
            | Self::ClusterClass(..) => NoHub::NoHubMatches,
            Self::Tenant => NoHub::TenantNotAllowed,
            Self::Version(_) => NoHub::VersionUnsupported,
            Self::GivenUp
            | Self::Closed
            | Self::Unwell(_)
            | Self::Free { .. }
            | Self::Full { .. }
            | Self::Slots { .. } => NoHub::NoCapacity,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(why) => write!(f, "its ProviderConfig cannot be read: {why}"),
            Self::Backend(backend) => write!(f, "it creates no clusters with {backend}"),
            Self::Label(key, value) => write!(f, "it has no label {key}={value}"),
            Self::Tenant => f.write_str("it is not offered to this namespace"),
            Self::Version(version) => write!(f, "it cannot create version {version}"),
            Self::Class(class) => write!(f, "it has no nodes of class {class}"),
            Self::Zone(zone) => write!(f, "it creates no nodes in zone {zone}"),
            Self::ClusterClass(kind, name) => write!(f, "it has no {kind} {name}"),
            Self::GivenUp => f.write_str("it could not be reached for this claim before"),
            Self::Closed => f.write_str("it takes no new clusters"),
            Self::Unwell(why) => write!(f, "it is not healthy: {why}"),
            Self::Free { class, free, asked } => {
                write!(f, "it has {free} free nodes of class {class}, and {asked} are requested")
            }
            Self::Full { load, max, reserved: 0 } => write!(f, "it has {load} of at most {max} clusters"),
            Self::Full { load, max, reserved } => {
                write!(f, "it has {load} of at most {max} clusters, of which {reserved} % are kept free")
            }
            Self::Slots { provisioning, max } => {
                write!(f, "it is creating {provisioning} of at most {max} clusters at a time")
            }
        }
    }
}

/// First reason against a hub. Lasting reasons come first, so that the remaining ones resolve with time.
pub(super) fn find_rejection(
    request: &PlacementRequest,
    hub: &Hub,
    facts: Option<&Facts>,
) -> Option<Rejection> {
    lasting_rejection(request, hub, facts).or_else(|| transient_rejection(request, hub, facts))
}

fn lasting_rejection(request: &PlacementRequest, hub: &Hub, facts: Option<&Facts>) -> Option<Rejection> {
    if !hub.serves_backend(request.backend) {
        return Some(Rejection::Backend(request.backend));
    }
    let own = request.selector.iter().filter(|_| request.pin.is_none());
    let missing = request.required.iter().chain(own).find(|(key, value)| hub.labels.get(*key) != Some(value));
    if let Some((key, value)) = missing {
        return Some(Rejection::Label(key.clone(), value.clone()));
    }
    if !hub.tenants.accepts_tenant(request.tenant.as_deref()) {
        return Some(Rejection::Tenant);
    }
    let unknown = |class: &&String| !has_class(hub, facts, class);
    if let Some(class) = request.classes.keys().find(unknown) {
        return Some(Rejection::Class(class.clone()));
    }
    let elsewhere = |zone: &&String| hub.zones.as_ref().is_some_and(|zones| !zones.contains(*zone));
    if let Some(zone) = request.zones.iter().find(elsewhere) {
        return Some(Rejection::Zone(zone.clone()));
    }
    if let Some((kind, name)) = missing_cluster_class(request, hub, facts) {
        return Some(Rejection::ClusterClass(kind, name));
    }
    let version = request.version.as_ref().filter(|version| !can_make(hub, facts, request.backend, version));
    version.map(|version| Rejection::Version(version.clone()))
}

fn transient_rejection(request: &PlacementRequest, hub: &Hub, facts: Option<&Facts>) -> Option<Rejection> {
    if request.excluded.contains(&hub.name) && request.pin.is_none() {
        return Some(Rejection::GivenUp);
    }
    if !hub.open {
        return Some(Rejection::Closed);
    }
    if let Some(health) = facts.and_then(|f| f.health.as_ref()).filter(|health| !health.ready) {
        let why = health.message.as_deref().unwrap_or("it gives no reason");
        return Some(Rejection::Unwell(why.to_owned()));
    }
    let backend = facts.and_then(|f| f.backend_facts(request.backend));
    if let Some(problem) = backend.and_then(|b| b.problem.clone()) {
        return Some(Rejection::Unwell(problem));
    }
    if let Some(too_few) =
        request.classes.iter().find_map(|(class, asked)| free_nodes_rejection(facts, class, *asked))
    {
        return Some(too_few);
    }
    if request.pin.as_ref().is_some_and(|pin| pin.force) {
        return None;
    }
    let (load, reserved) = (cluster_count(hub, facts, request.backend), hub.reserved_percent);
    let full = |max: &u32| {
        let usable = i128::from(*max) * i128::from(100_u32.saturating_sub(reserved));
        (i128::from(load) + 1) * 100 > usable
    };
    if let Some(max) = hub.max_clusters.filter(full) {
        return Some(Rejection::Full { load, max, reserved });
    }
    let provisioning = facts.and_then(Facts::provisioning_count)?;
    let max = hub.max_provisioning.filter(|max| provisioning >= i64::from(*max))?;
    Some(Rejection::Slots { provisioning, max })
}

/// Kind and name of the class of clusters that the hub lacks. A hub that reports none may have any.
fn missing_cluster_class(
    request: &PlacementRequest,
    hub: &Hub,
    facts: Option<&Facts>,
) -> Option<(&'static str, String)> {
    let kind = request.backend.descriptor().cluster_class?.kind;
    let reported = facts?.backend_facts(request.backend)?.cluster_classes.as_ref()?;
    let ClusterClassName { namespace, name } = request.cluster_class.as_ref()?;
    let namespace = match namespace {
        ClassNamespace::None => None,
        ClassNamespace::Named(namespace) => Some(namespace.clone()),
        ClassNamespace::OfCluster => {
            let of_hub = || hub.resolve_namespace(request.backend, request.tenant.as_deref());
            match request.namespace.clone().map(Ok).or_else(of_hub) {
                Some(Ok(namespace)) => Some(namespace),
                // The placement reports it.
                Some(Err(_)) => return None,
                None => Some(request.backend.descriptor().default_namespace.to_owned()),
            }
        }
    };
    let name = cluster_class_key(namespace.as_deref(), name);
    (!reported.contains(&name)).then_some((kind, name))
}

/// How many clusters a hub has: counted there, else by the Objects that go by its ProviderConfig, else none that are known of.
pub(super) fn cluster_count(hub: &Hub, facts: Option<&Facts>, backend: Backend) -> i64 {
    let reported = facts.and_then(Facts::cluster_count);
    reported.or_else(|| hub.estimate_clusters(backend).map(i64::from)).unwrap_or(0)
}

/// A hub that says nothing of classes has any.
fn has_class(hub: &Hub, facts: Option<&Facts>, class: &str) -> bool {
    let reported = facts.map(|f| &f.classes).filter(|classes| !classes.is_empty());
    let by_annotation = hub.classes.as_ref().map(|classes| classes.contains(class));
    let by_facts = reported.map(|classes| classes.contains_key(class));
    match (by_annotation, by_facts) {
        (None, None) => true,
        (annotation, facts) => annotation == Some(true) || facts == Some(true),
    }
}

fn free_nodes_rejection(facts: Option<&Facts>, class: &str, asked: u32) -> Option<Rejection> {
    let free = facts?.classes.get(class)?.free?;
    (free < i64::from(asked)).then(|| Rejection::Free { class: class.to_owned(), free, asked })
}

/// Both have to allow it: what the administrator says, and what the backend says there.
fn can_make(hub: &Hub, facts: Option<&Facts>, backend: Backend, version: &str) -> bool {
    let reported = facts.and_then(|f| f.backend_facts(backend)).map(|b| &b.versions);
    // An unreadable report counts as no report.
    let parsed = reported.and_then(|versions| Versions::parse(&versions.join(",")).ok());
    let limits: Vec<&Versions> = hub.versions.iter().chain(&parsed).collect();
    match PartialVersion::parse(version) {
        Ok(version) => limits.iter().all(|versions| versions.contains_version(&version)),
        Err(_) => limits.is_empty(),
    }
}

//! Owners of remote objects on the Konflux cluster: composites, and the Objects by which provider-kubernetes writes.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use testplatform_apis::{
    claim::{COMPOSITE_KIND, GROUP},
    names::{crossplane, ours},
    test_cluster,
};

use super::remote::RemoteObject;
use crate::config::RemoteKind;

/// Label by which Crossplane names the composite of an Object.
const COMPOSITE: &str = "crossplane.io/composite";
/// Name prefixes of Objects of a cluster or its credentials; the name of the remote object follows.
const PREFIXES: [&str; 2] = ["managed-", "credentials-"];

/// Prefix of the finalizers of an Object that others depend on. Source: provider-kubernetes, `internal/controller/cluster/object/object.go`.
const REFERRED: &str = "kubernetes.crossplane.io/referred-by-object-";

/// Value of label [`ours::COMPONENT`] on Objects of node groups.
const NODE_GROUP: &str = "pool";

/// An owner of a remote object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteOwner {
    /// A composite that exists.
    Composite,
    /// An Object whose composite does not exist and that is not being deleted. No controller manages it, and its deletion ends the cluster.
    Object(String),
}

/// A composite: its namespace, empty for one of a claim, and its name.
type CompositeKey = (String, String);
/// Objects for one remote object.
type ObjectKeys = BTreeSet<ObjectKey>;

/// An Object that points at a remote object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ObjectKey {
    composites: BTreeSet<CompositeKey>,
    name: String,
    /// Uids of the Objects that it waits for in its deletion; none: it is not being deleted. In a deletion provider-kubernetes never applies it
    /// again.
    waits_for: Option<BTreeSet<String>>,
}

impl ObjectKey {
    fn of(metadata: &ObjectMeta) -> Self {
        Self {
            composites: composites_of(metadata),
            name: metadata.name.clone().unwrap_or_default(),
            waits_for: is_deleted(metadata).then(|| referrers(metadata)),
        }
    }
}

/// Everything on the Konflux cluster that may own a remote object.
///
/// Hubs are not compared: two ProviderConfigs may lead to one hub. Uids of composites are not compared either: a restore may give a composite
/// another uid, and the function finds its Objects by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    composites: BTreeSet<CompositeKey>,
    /// By the name of a remote object, from the metadata of Objects.
    objects: BTreeMap<String, ObjectKeys>,
    /// By kind, namespace and name of a remote object, from the manifests in Objects.
    manifests: BTreeMap<(RemoteKind, String, String), ObjectKeys>,
    /// Uids of Objects of node groups that are being deleted. The deletion of their cluster ends the nodes too.
    deleted_groups: BTreeSet<String>,
}

impl Owners {
    /// Adds a composite.
    pub fn add_composite(&mut self, metadata: &ObjectMeta) {
        self.composites.insert(key(metadata, metadata.name.clone().unwrap_or_default()));
    }

    /// Adds an Object by its metadata.
    pub fn add_object(&mut self, metadata: &ObjectMeta) {
        let object = metadata.name.clone().unwrap_or_default();
        let component = metadata.labels.as_ref().and_then(|labels| labels.get(ours::COMPONENT));
        if component.is_some_and(|component| component == NODE_GROUP) && is_deleted(metadata) {
            self.deleted_groups.extend(metadata.uid.clone());
        }
        let annotation = |key: &str| metadata.annotations.as_ref()?.get(key).map(String::as_str);
        let by_prefix = PREFIXES.iter().find_map(|prefix| object.strip_prefix(prefix));
        // `namespace/name` of a cluster by template; `ProviderConfig/namespace/name/uid` of one that was transferred.
        let by_template = annotation(ours::REMOTE).and_then(|place| place.split('/').nth(1));
        let by_transfer = annotation(ours::TRANSFERRED_FROM).and_then(|place| place.split('/').nth(2));
        let remotes: Vec<String> =
            [by_prefix, by_template, by_transfer].into_iter().flatten().map(str::to_owned).collect();
        for remote in remotes {
            self.objects.entry(remote).or_default().insert(ObjectKey::of(metadata));
        }
    }

    /// Adds an Object by the manifest that it carries.
    pub fn add_manifest(&mut self, metadata: &ObjectMeta, kind: RemoteKind, namespace: &str, name: &str) {
        let remote = (kind, namespace.to_owned(), name.to_owned());
        self.manifests.entry(remote).or_default().insert(ObjectKey::of(metadata));
    }

    /// How many composites there are.
    pub fn composites(&self) -> usize {
        self.composites.len()
    }

    /// Whether there is a composite of a claim with this name. Crossplane makes that name, so no other Konflux cluster has it.
    pub fn has_composite(&self, name: &str) -> bool {
        self.composites.contains(&(String::new(), name.to_owned()))
    }

    /// The owner of a remote object. A composite counts before an Object without one.
    pub fn owner(&self, remote: &RemoteObject) -> Option<RemoteOwner> {
        let identity = &remote.identity;
        if self.has_composite(&identity.name) {
            return Some(RemoteOwner::Composite);
        }
        let place = (identity.kind, identity.namespace.clone(), identity.name.clone());
        let objects =
            self.objects.get(&identity.name).into_iter().chain(self.manifests.get(&place)).flatten();
        let mut orphaned = None;
        for ObjectKey { composites, name, waits_for } in objects {
            // An Object that names no composite is somebody's own, and so is its decision.
            if composites.is_empty() || composites.iter().any(|key| self.composites.contains(key)) {
                return Some(RemoteOwner::Composite);
            }
            let is_released = waits_for.as_ref().is_some_and(|uids| uids.is_subset(&self.deleted_groups));
            orphaned = orphaned.or_else(|| (!is_released).then(|| RemoteOwner::Object(name.clone())));
        }
        orphaned
    }
}

fn key(metadata: &ObjectMeta, name: String) -> CompositeKey {
    (metadata.namespace.clone().unwrap_or_default(), name)
}

/// Whether an Object is being deleted. provider-kubernetes deletes its remote object, and cannot if the hub refuses the manifest: the claim was
/// deleted while a change of it was refused. A paused Object waits for its administrator.
pub(super) fn is_deleted(metadata: &ObjectMeta) -> bool {
    let paused = metadata.annotations.as_ref().and_then(|all| all.get(crossplane::PAUSED));
    metadata.deletion_timestamp.is_some() && paused.is_none_or(|value| value != "true")
}

/// Uids of the Objects that depend on an Object, and are deleted before it.
fn referrers(metadata: &ObjectMeta) -> BTreeSet<String> {
    let finalizers = metadata.finalizers.iter().flatten();
    finalizers.filter_map(|finalizer| finalizer.strip_prefix(REFERRED)).map(str::to_owned).collect()
}

/// The composites that an Object names. The label alone is not enough: where a composite is itself composed, it has the name of the outermost one.
fn composites_of(metadata: &ObjectMeta) -> BTreeSet<CompositeKey> {
    let owners = metadata.owner_references.iter().flatten();
    let owners = owners.filter(|owner| {
        let group = owner.api_version.split('/').next();
        group == Some(GROUP) && [COMPOSITE_KIND, test_cluster::KIND].contains(&owner.kind.as_str())
    });
    let label = metadata.labels.as_ref().and_then(|labels| labels.get(COMPOSITE));
    let names = owners.map(|owner| &owner.name).chain(label);
    names.map(|name| key(metadata, name.clone())).collect()
}

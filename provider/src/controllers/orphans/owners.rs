//! Owners of remote objects on the Konflux cluster: composites, and the Objects by which provider-kubernetes writes.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use testplatform_apis::{
    claim::{COMPOSITE_KIND, GROUP},
    names::ours,
    test_cluster,
};

use super::remote::RemoteObject;
use crate::config::RemoteKind;

/// Label by which Crossplane names the composite of an Object.
const COMPOSITE: &str = "crossplane.io/composite";
/// Name prefixes of Objects of a cluster or its credentials; the name of the remote object follows.
const PREFIXES: [&str; 2] = ["managed-", "credentials-"];

/// An owner of a remote object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteOwner {
    /// A composite that exists.
    Composite,
    /// An Object whose composite does not exist. No controller manages it, and its deletion ends the cluster.
    Object(String),
}

/// A composite: its namespace, empty for one of a claim, and its name.
type CompositeKey = (String, String);
/// Objects for one remote object: the composites and the name of each.
type ObjectKeys = BTreeSet<(BTreeSet<CompositeKey>, String)>;

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
}

impl Owners {
    /// Adds a composite.
    pub fn add_composite(&mut self, metadata: &ObjectMeta) {
        self.composites.insert(key(metadata, metadata.name.clone().unwrap_or_default()));
    }

    /// Adds an Object by its metadata.
    pub fn add_object(&mut self, metadata: &ObjectMeta) {
        let object = metadata.name.clone().unwrap_or_default();
        let annotation = |key: &str| metadata.annotations.as_ref()?.get(key).map(String::as_str);
        let by_prefix = PREFIXES.iter().find_map(|prefix| object.strip_prefix(prefix));
        // `namespace/name` of a cluster by template; `ProviderConfig/namespace/name/uid` of one that was transferred.
        let by_template = annotation(ours::REMOTE).and_then(|place| place.split('/').nth(1));
        let by_transfer = annotation(ours::TRANSFERRED_FROM).and_then(|place| place.split('/').nth(2));
        let remotes: Vec<String> =
            [by_prefix, by_template, by_transfer].into_iter().flatten().map(str::to_owned).collect();
        for remote in remotes {
            self.objects.entry(remote).or_default().insert((composites_of(metadata), object.clone()));
        }
    }

    /// Adds an Object by the manifest that it carries.
    pub fn add_manifest(&mut self, metadata: &ObjectMeta, kind: RemoteKind, namespace: &str, name: &str) {
        let object = metadata.name.clone().unwrap_or_default();
        let remote = (kind, namespace.to_owned(), name.to_owned());
        self.manifests.entry(remote).or_default().insert((composites_of(metadata), object));
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
        for (composites, object) in objects {
            // An Object that names no composite is somebody's own, and so is its decision.
            if composites.is_empty() || composites.iter().any(|key| self.composites.contains(key)) {
                return Some(RemoteOwner::Composite);
            }
            orphaned = orphaned.or_else(|| Some(RemoteOwner::Object(object.clone())));
        }
        orphaned
    }
}

fn key(metadata: &ObjectMeta, name: String) -> CompositeKey {
    (metadata.namespace.clone().unwrap_or_default(), name)
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

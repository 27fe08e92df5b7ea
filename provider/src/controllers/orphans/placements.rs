//! Where the Objects of this Konflux cluster keep their remote objects: a check of the namespaces that are listed. Pure.

use std::collections::BTreeSet;

use crate::{
    config::{OrphanHub, RemoteKind},
    sparse_object::PartialObject,
};

/// ProviderConfig, kind and namespace of the manifests in Objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placements(BTreeSet<(String, RemoteKind, String)>);

impl Placements {
    /// Adds an Object.
    pub fn add_object(&mut self, object: &PartialObject) {
        let text = |pointer: &str| object.body.pointer(pointer).and_then(|value| value.as_str());
        let hub = text("/spec/providerConfigRef/name").unwrap_or_default();
        let Some((kind, namespace, _)) = read_manifest(object) else { return };
        self.add_placement(hub, kind, namespace);
    }

    /// Adds an Object that keeps an object of a kind in a namespace of a hub.
    pub fn add_placement(&mut self, hub: &str, kind: RemoteKind, namespace: &str) {
        self.0.insert((hub.to_owned(), kind, namespace.to_owned()));
    }

    /// A namespace of a hub that is not listed although Objects keep objects of a listed kind there, as a sentence. Orphans in it would never
    /// be found.
    pub fn find_unlisted(&self, hub: &str, of: &OrphanHub) -> Option<String> {
        if of.namespaces.is_empty() {
            return None;
        }
        let is_unlisted = |(at, kind, namespace): &(String, RemoteKind, String)| {
            at == hub && of.kinds.contains(kind) && !of.namespaces.contains(namespace)
        };
        let (_, kind, namespace) = self.0.iter().find(|place| is_unlisted(place))?;
        let kind = kind.as_str();
        Some(format!(
            "Objects of this Konflux cluster keep {kind} objects in namespace {namespace}, which orphans.hubs.{hub}.namespaces does not name"
        ))
    }
}

/// Kind, namespace and name of the remote object in an Object's manifest.
pub fn read_manifest(object: &PartialObject) -> Option<(RemoteKind, &str, &str)> {
    let manifest = &object.body["spec"]["forProvider"]["manifest"];
    let text = |pointer: &str| manifest.pointer(pointer).and_then(|value| value.as_str()).unwrap_or_default();
    let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
    let kind = RemoteKind::parse(group, text("/kind"))?;
    Some((kind, text("/metadata/namespace"), text("/metadata/name")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_read_as_it_is_listed() {
        let object = json!({
            "metadata": { "name": "managed-a" },
            "spec": { "providerConfigRef": { "name": "hub" }, "forProvider": { "manifest": {
                "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster", "metadata": { "name": "a", "namespace": "ns" },
            } } },
        });
        let mut found = Placements::default();
        found.add_object(&serde_json::from_value(object).unwrap());
        let mut expected = Placements::default();
        expected.add_placement("hub", RemoteKind::EphemeralCluster, "ns");
        assert_eq!(found, expected);
    }
}

//! Request → [`SpaceState`]: everything that may be known of a space, decoded once. An error here is FATAL.

use std::{collections::BTreeMap, fmt};

use prost::bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use testplatform_apis::{
    collect,
    foreign::{
        meta::Metadata,
        object::{AnyRemote, Object},
    },
    names::{ShortName, ours},
    space::keys,
};

use super::{CREDENTIALS, NAMESPACE, NEWBORN, OURS, SECRET, legacy, namespace_of};
use crate::{
    objects::{SyncState, began_to_create, read_sync_state},
    sdk::{
        composite::Composite,
        proto::{RunFunctionRequest, resource::ConnectionDetailsEntry},
        request::{UnusableRequest, decode_resource, refuse_newer, unreadable_resource},
        wire,
    },
};

/// The picture of one space.
#[derive(Debug)]
pub struct SpaceState {
    /// The composite itself.
    pub composite: Composite,
    /// Content of its connection Secret.
    pub details: SpaceCredentials,
    /// The Objects of ours, by composition resource name.
    pub objects: BTreeMap<&'static str, SpaceObject>,
    /// The whole `spec` of the incumbent's Object with the token, where it carries something.
    pub secret: Option<Value>,
}

/// An observed Object.
#[derive(Debug)]
pub struct SpaceObject {
    /// The Object.
    pub object: Object<AnyRemote>,
    /// Sync state of the remote object.
    pub sync: SyncState,
    /// Content of its connection Secret.
    pub details: SpaceCredentials,
}

impl SpaceObject {
    /// The remote object as it was last observed.
    pub fn remote(&self) -> Option<&Metadata> {
        self.object.status.at_provider.manifest.as_ref().map(|m| &m.metadata)
    }

    /// Manifest of the previous request.
    pub fn manifest(&self) -> &Value {
        &self.object.spec.for_provider.manifest
    }

    /// Whether the remote object was seen on the hub and is not going.
    pub fn exists(&self) -> bool {
        self.remote().is_some_and(|m| m.deletion_timestamp.is_none())
    }

    /// Whether it exists as requested.
    pub fn is_synced(&self) -> bool {
        self.exists() && self.sync == SyncState::InSync
    }
}

/// The five keys of the credentials of a space, as far as they are known. The only place here that holds secrets; never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SpaceCredentials(BTreeMap<&'static str, Bytes>);

impl SpaceCredentials {
    /// Those of a resource on the wire. An empty value is none.
    pub fn new(entries: &[ConnectionDetailsEntry]) -> Self {
        let known = |entry: &ConnectionDetailsEntry| {
            let key = keys::EVERY.into_iter().find(|key| *key == entry.key)?;
            Some((key, entry.value.clone().filter(|value| !value.is_empty())?))
        };
        Self(collect::to_map(entries.iter().filter_map(known)))
    }

    pub(super) fn of(values: [(&'static str, Bytes); 5]) -> Self {
        Self(values.into())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Bytes> {
        self.0.get(key)
    }

    /// Whether all five are known.
    pub fn is_complete(&self) -> bool {
        self.0.len() == keys::EVERY.len()
    }

    /// On the wire, in the order of names.
    pub fn entries(&self) -> impl Iterator<Item = ConnectionDetailsEntry> {
        self.0
            .iter()
            .map(|(key, value)| ConnectionDetailsEntry { key: (*key).to_owned(), value: Some(value.clone()) })
    }
}

impl fmt::Debug for SpaceCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawObject {
    spec: Value,
}

impl SpaceState {
    /// Decodes the resources of this function. Those of other steps are ignored.
    pub fn decode(request: &RunFunctionRequest) -> Result<Self, UnusableRequest> {
        let state = request.observed.as_ref().ok_or(UnusableRequest::NoComposite)?;
        let resource = state.composite.as_ref().ok_or(UnusableRequest::NoComposite)?;
        let composite = Composite::decode(&resource.resource)?;
        let details = SpaceCredentials::new(&resource.connection_details);
        let mut observed = Self { composite, details, objects: BTreeMap::new(), secret: None };
        for (name, bytes) in &state.resources {
            let Some(own) = OURS.into_iter().find(|own| own == name) else {
                refuse_newer(name, bytes)?;
                continue;
            };
            let resource = decode_resource(name, bytes)?;
            let object: Object<AnyRemote> =
                wire::from_struct(&resource.resource).map_err(|e| unreadable_resource(name, e))?;
            if own == SECRET && legacy::carries_token(&object) {
                let raw: RawObject =
                    wire::from_struct(&resource.resource).map_err(|e| unreadable_resource(name, e))?;
                observed.secret = Some(raw.spec);
            }
            let sync =
                read_sync_state(&object, object.status.at_provider.manifest.as_ref().map(|m| &m.metadata));
            let details = SpaceCredentials::new(&resource.connection_details);
            observed.objects.insert(own, SpaceObject { object, sync, details });
        }
        Ok(observed)
    }

    /// Whether the incumbent made its token: then it is the one of the space, for as long as that lives.
    pub fn is_legacy(&self) -> bool {
        self.secret.is_some()
    }

    /// The namespace's Object.
    pub fn namespace_object(&self) -> Option<&SpaceObject> {
        self.objects.get(NAMESPACE)
    }

    /// Whether nothing shows yet that the namespace was made for this space: what is found under its name may be anybody's. Core lets tenants choose
    /// the name of a composite, and so of the namespace.
    pub fn is_ownership_unproven(&self) -> bool {
        let Some(home) = self.namespace_object() else {
            return self.objects.is_empty() && self.details.get(keys::NAMESPACE).is_none();
        };
        home.object.spec.management_policies == NEWBORN && !began_to_create(&home.object.metadata)
    }

    /// Whether the hub has a namespace of the name that was not made for this space.
    pub fn is_foreign(&self) -> bool {
        self.is_ownership_unproven() && self.namespace_object().is_some_and(|home| home.remote().is_some())
    }

    /// Name of the namespace on the hub. A space does not move: what was asked for before wins.
    pub fn namespace(&self) -> Option<String> {
        let named = |item: &SpaceObject| item.manifest()["metadata"]["name"].as_str().map(str::to_owned);
        let inside =
            |item: &SpaceObject| item.manifest()["metadata"]["namespace"].as_str().map(str::to_owned);
        let legal = |name: &String| !name.contains('.') && ShortName::try_from(name.as_str()).is_ok();
        let before = || {
            let others = self.objects.iter().filter(|(name, _)| ![NAMESPACE, CREDENTIALS].contains(name));
            others.filter_map(|(_, item)| inside(item)).find(legal)
        };
        let known = self.namespace_object().and_then(named).filter(legal).or_else(before);
        known.or_else(|| Some(namespace_of(&self.composite.metadata.name)).filter(legal))
    }

    /// Revision of the published credentials, as the hub-side provider noted it on the namespace.
    pub fn revision(&self) -> Option<&str> {
        self.namespace_object()?.remote()?.annotation(ours::CREDENTIALS_REVISION)
    }

    /// The credentials of the space, all of them or none: those that are published, those of the incumbent's token, or those that the
    /// tenant has already.
    pub fn credentials(&self, namespace: &str) -> Option<SpaceCredentials> {
        self.published(namespace)
            .cloned()
            .or_else(|| legacy::legacy_credentials(self, namespace))
            .or_else(|| Some(self.details.clone()).filter(SpaceCredentials::is_complete))
    }

    /// Content of the published Secret, if it belongs to this very namespace. provider-kubernetes writes connection details before status,
    /// so the last observed object must be the requested one.
    fn published(&self, namespace: &str) -> Option<&SpaceCredentials> {
        let item = self.objects.get(CREDENTIALS)?;
        let remote = item.remote()?;
        let is_it = item.manifest()["metadata"]["name"] == remote.name.as_str();
        let of = item.details.get(keys::NAMESPACE).is_some_and(|n| n == namespace.as_bytes());
        let owner = remote.labels.get(ours::OWNER_UID);
        let home = self.namespace_object().and_then(SpaceObject::remote).and_then(|m| m.uid.as_ref());
        // After a recreation the old credentials may still be in place.
        let same = owner.zip(home).is_none_or(|(owner, home)| owner == home.as_str());
        (is_it && of && same && item.details.is_complete()).then_some(&item.details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_never_printed() {
        let entry = |key: &str, value: &'static str| ConnectionDetailsEntry {
            key: key.into(),
            value: Some(Bytes::from_static(value.as_bytes())),
        };
        let keys =
            SpaceCredentials::new(&[entry("token", "hunter2"), entry("namespace", ""), entry("other", "x")]);
        assert_eq!(format!("{keys:?}"), r#"["token"]"#);
        assert!(!keys.is_complete() && keys.get("namespace").is_none());
    }
}

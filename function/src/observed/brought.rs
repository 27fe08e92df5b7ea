//! The Objects of a claim that brings its own credentials, as they were observed: its namespace on the hub and what is in it.

use std::collections::BTreeMap;

use serde_json::Value;
use testplatform_apis::{
    byoc::Report,
    foreign::{
        meta::Metadata,
        object::{AnyRemote, Object},
    },
    names::ours,
};

use super::{
    Unusable,
    link::{Link, link},
};
use crate::wire;

/// Composition resource name of the Object with the RoleBinding that lets the carrier in.
pub const ACCESS: &str = "byoc-access";
/// Of the one with the namespace.
pub const NAMESPACE: &str = "byoc-namespace";
/// Of the one with the ClusterPool.
pub const POOL: &str = "byoc-pool";
/// Of the one with the RoleBinding that lets the hub-side provider in, where the cluster is by template.
pub const PROVIDER: &str = "byoc-provider";
/// Of the one with the ConfigMap that says what is to be carried, and is answered in.
pub const REQUEST: &str = "byoc-request";

/// All of them, in the order of names. What another step calls so is its own: ours have our label.
pub const BROUGHT: [&str; 5] = [ACCESS, NAMESPACE, POOL, PROVIDER, REQUEST];

/// Where a claim brings its credentials to, and what is made of them. Decided once.
#[derive(Clone, Debug, PartialEq)]
pub struct Home {
    /// Name of the hub's ProviderConfig.
    pub hub: String,
    /// The namespace of the claim on that hub.
    pub namespace: String,
    /// What was asked for: `byoc` of the claim, and of the entry of the catalogue `carrier`. Of a pool `entry` too, as namespace and name with `/`
    /// between, and `image`; of a template `provider`, and `credentialsNamespace` of the hub. Null: it is not known any more.
    pub asked: Value,
}

/// An observed Object.
#[derive(Debug)]
pub struct Brought {
    /// The Object.
    pub object: Object<AnyRemote>,
    /// How the remote object stands to it.
    pub link: Link,
}

impl Brought {
    pub(super) fn decode(name: &str, bytes: &[u8]) -> Result<Self, Unusable> {
        let object: Object<AnyRemote> = wire::from_struct(bytes).map_err(|e| super::unreadable(name, e))?;
        let link = link(&object, object.status.at_provider.manifest.as_ref().map(|m| &m.metadata));
        Ok(Self { object, link })
    }

    /// What was last asked for.
    pub fn manifest(&self) -> &Value {
        &self.object.spec.for_provider.manifest
    }

    /// The remote object as it was last observed, unless it is going.
    pub fn there(&self) -> Option<&Metadata> {
        let remote = self.object.status.at_provider.manifest.as_ref().map(|m| &m.metadata);
        remote.filter(|m| m.deletion_timestamp.is_none())
    }

    /// Whether it is there as asked for.
    pub fn is_settled(&self) -> bool {
        self.there().is_some() && self.link == Link::InSync
    }
}

/// All of one claim, by composition resource name.
pub type Parts = BTreeMap<&'static str, Brought>;

/// Where it was decided that the claim brings its credentials to.
pub fn home(parts: &Parts) -> Option<Home> {
    let place = |(name, part): (&&'static str, &Brought)| {
        let key = if **name == *NAMESPACE { "name" } else { "namespace" };
        part.manifest()["metadata"][key].as_str().map(str::to_owned)
    };
    let note = |part: &Brought| serde_json::from_str(part.object.metadata.annotation(ours::BYOC)?).ok();
    Some(Home {
        hub: parts
            .values()
            .map(|part| part.object.spec.provider_config_ref.name.clone())
            .find(|hub| !hub.is_empty())?,
        namespace: parts.iter().find_map(place)?,
        asked: parts.values().find_map(note).unwrap_or_default(),
    })
}

/// What the carrier tells.
pub fn report(parts: &Parts) -> Option<Report> {
    Report::read(parts.get(REQUEST)?.there()?.annotation(ours::BYOC_REPORT)?)
}

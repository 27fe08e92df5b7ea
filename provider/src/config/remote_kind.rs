//! Kinds of the objects that are a claim's cluster on a hub.

use std::borrow::Cow;

use kube::core::{ApiResource, GroupVersionKind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use testplatform_apis::{
    foreign::{cluster_claim, ephemeral_cluster},
    template::Backend,
};

/// A kind of remote objects, of which each cluster has exactly one. It is written as the kind's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RemoteKind {
    /// Of claims with `ciOperator`.
    EphemeralCluster,
    /// Of claims with `clusterClaim`.
    ClusterClaim,
    /// Of claims with `template`.
    Template(Backend),
}

/// The request by which a remote object ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeardownMethod {
    /// `spec.tearDownCluster` is set to true; the object is deleted once its cluster is deleted.
    SetField,
    /// The object is deleted; its finalizers end the cluster.
    DeleteObject,
}

const COUNT: usize = 2 + Backend::ALL.len();

/// Names of all kinds.
const NAMES: [&str; COUNT] = {
    let mut names = [""; COUNT];
    let mut i = 0;
    while i < COUNT {
        names[i] = RemoteKind::ALL[i].as_str();
        i += 1;
    }
    names
};

impl RemoteKind {
    /// All kinds.
    pub const ALL: [Self; COUNT] = {
        let mut all = [Self::EphemeralCluster; COUNT];
        all[1] = Self::ClusterClaim;
        let mut i = 2;
        while i < COUNT {
            all[i] = Self::Template(Backend::ALL[i - 2]);
            i += 1;
        }
        all
    };

    /// The kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EphemeralCluster => "EphemeralCluster",
            Self::ClusterClaim => "ClusterClaim",
            Self::Template(backend) => backend.cluster_kind().kind,
        }
    }

    /// The kind that a manifest of this group and kind asks for.
    pub fn parse(group: &str, kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == kind && known.resource().group == group)
    }

    /// How an API server knows the kind.
    pub fn resource(self) -> ApiResource {
        let (api_version, plural) = match self {
            Self::EphemeralCluster => (ephemeral_cluster::API_VERSION.to_owned(), "ephemeralclusters"),
            Self::ClusterClaim => (cluster_claim::API_VERSION.to_owned(), "clusterclaims"),
            Self::Template(backend) => {
                let kind = backend.cluster_kind();
                (kind.api_version(), kind.plural)
            }
        };
        let (group, version) = api_version.split_once('/').unwrap_or_default();
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, self.as_str()), plural)
    }

    /// How objects of the kind end.
    pub const fn teardown_method(self) -> TeardownMethod {
        match self {
            Self::EphemeralCluster => TeardownMethod::SetField,
            Self::ClusterClaim | Self::Template(_) => TeardownMethod::DeleteObject,
        }
    }

    /// Its claims, for the schema.
    fn describe_claims(self) -> String {
        match self {
            Self::EphemeralCluster => "Of claims with `ciOperator`.".to_owned(),
            Self::ClusterClaim => "Of claims with `clusterClaim`.".to_owned(),
            Self::Template(backend) => format!("Of templates of {}.", backend.descriptor().title),
        }
    }
}

impl Serialize for RemoteKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for RemoteKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        let found = Self::ALL.into_iter().find(|known| known.as_str() == name);
        found.ok_or_else(|| D::Error::unknown_variant(&name, &NAMES))
    }
}

impl JsonSchema for RemoteKind {
    fn schema_name() -> Cow<'static, str> {
        "RemoteKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = |kind: Self| json_schema!({ "description": kind.describe_claims(), "type": "string", "const": kind.as_str() });
        json_schema!({
            "description": "A kind of remote objects, of which each cluster has exactly one.",
            "oneOf": Self::ALL.map(one),
        })
    }
}

//! Clouds for which Hive builds pools.

use std::fmt;

use kube::KubeSchema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Refusal of no platform, or of several.
pub const ONE_PLATFORM: &str = "set exactly one of aws, azure, gcp, openstack and vsphere";

/// The cloud. Its content follows Hive's schema (`ClusterPool.spec.platform`) and is passed on unchanged; only the credentials have a field
/// of their own, credentialsRef, because they are rotated.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("[has(self.aws), has(self.azure), has(self.gcp), has(self.openstack), has(self.vsphere)].filter(p, p).size() == 1").message(ONE_PLATFORM))]
pub struct PoolPlatform {
    /// Amazon: region, and userTags or credentialsAssumeRole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "open_schema")]
    pub aws: Option<Map<String, Value>>,
    /// Azure: region, and baseDomainResourceGroupName or cloudName.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "open_schema")]
    pub azure: Option<Map<String, Value>>,
    /// Google: region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "open_schema")]
    pub gcp: Option<Map<String, Value>>,
    /// OpenStack: cloud, and certificatesSecretRef or trunkSupport. Its clusters cannot hibernate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "open_schema")]
    pub openstack: Option<Map<String, Value>>,
    /// vSphere: certificatesSecretRef and infrastructure. Its clusters cannot hibernate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "open_schema")]
    pub vsphere: Option<Map<String, Value>>,
}

/// Any object.
fn open_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// Which cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlatformKind {
    /// Amazon.
    Aws,
    /// Azure.
    Azure,
    /// Google.
    Gcp,
    /// OpenStack.
    OpenStack,
    /// vSphere.
    VSphere,
}

impl PlatformKind {
    /// All that Hive builds pools for.
    pub const ALL: [Self; 5] = [Self::Aws, Self::Azure, Self::Gcp, Self::OpenStack, Self::VSphere];

    /// The key in `platform`, ours and Hive's.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Azure => "azure",
            Self::Gcp => "gcp",
            Self::OpenStack => "openstack",
            Self::VSphere => "vsphere",
        }
    }

    /// Whether its clusters cannot be stopped: Hive then does nothing at all unless runningCount equals size.
    pub const fn always_runs(self) -> bool {
        match self {
            Self::OpenStack | Self::VSphere => true,
            Self::Aws | Self::Azure | Self::Gcp => false,
        }
    }
}

impl fmt::Display for PlatformKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PoolPlatform {
    /// The one that is set; none if there is none, or more than one.
    pub fn only_platform(&self) -> Option<(PlatformKind, &Map<String, Value>)> {
        let mut set = PlatformKind::ALL.into_iter().filter_map(|kind| Some((kind, self.get_platform(kind)?)));
        match (set.next(), set.next()) {
            (Some(one), None) => Some(one),
            _ => None,
        }
    }

    fn get_platform(&self, kind: PlatformKind) -> Option<&Map<String, Value>> {
        match kind {
            PlatformKind::Aws => self.aws.as_ref(),
            PlatformKind::Azure => self.azure.as_ref(),
            PlatformKind::Gcp => self.gcp.as_ref(),
            PlatformKind::OpenStack => self.openstack.as_ref(),
            PlatformKind::VSphere => self.vsphere.as_ref(),
        }
    }
}

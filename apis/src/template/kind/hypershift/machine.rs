//! Machines of a node class: on the hub, at a cloud, or from an inventory.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::template::companions::Architecture;

/// Platform of the nodes, as `platform.type` of a HostedCluster has it.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Platform {
    /// Virtual machines on the hub.
    KubeVirt,
    /// Machines of Amazon's.
    #[serde(rename = "AWS")]
    Aws,
    /// Hosts of an inventory.
    Agent,
}

impl Platform {
    /// The word of the HostedCluster.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KubeVirt => "KubeVirt",
            Self::Aws => "AWS",
            Self::Agent => "Agent",
        }
    }
}

/// A class of nodes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "MachineDocument")]
pub enum Machine {
    /// On the hub.
    KubeVirt(KubeVirtMachine),
    /// At Amazon's.
    Aws(AwsMachine),
    /// Out of an inventory.
    Agent(AgentMachine),
}

impl Machine {
    /// Platform of the machine.
    pub const fn platform(&self) -> Platform {
        match self {
            Self::KubeVirt(_) => Platform::KubeVirt,
            Self::Aws(_) => Platform::Aws,
            Self::Agent(_) => Platform::Agent,
        }
    }

    /// Error in it, if any.
    pub(super) fn find_flaw(&self) -> Option<String> {
        match self {
            Self::KubeVirt(KubeVirtMachine { cores: 0, .. }) => Some("has no cores".into()),
            Self::KubeVirt(KubeVirtMachine { memory, root_volume, .. }) => {
                let wrong =
                    [Some(memory), root_volume.as_ref()].into_iter().flatten().find(|q| !is_quantity(q));
                wrong.map(|_| "has a size that is none, such as 16Gi".into())
            }
            Self::Aws(AwsMachine { instance_type, .. }) if instance_type.is_empty() => {
                Some("has no instanceType".into())
            }
            Self::Agent(AgentMachine { match_labels }) if match_labels.is_empty() => {
                Some("takes any host: say which by matchLabels".into())
            }
            Self::Aws(_) | Self::Agent(_) => None,
        }
    }

    /// By HyperShift's API, and its function `isArchAndPlatformSupported`. The type of an Amazon machine implies its architecture.
    pub(super) fn architectures(&self) -> &'static [Architecture] {
        use Architecture::{Amd64, Arm64, Ppc64le, S390x};
        match self {
            Self::KubeVirt(_) => &[Amd64, S390x],
            Self::Aws(machine) if machine.is_graviton() => &[Arm64],
            Self::Aws(_) => &[Amd64],
            Self::Agent(_) => &[Amd64, Arm64, Ppc64le],
        }
    }
}

/// A class of nodes as it is written.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct MachineDocument {
    /// A virtual machine on the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubevirt: Option<KubeVirtMachine>,
    /// A machine of Amazon's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsMachine>,
    /// A host of an inventory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentMachine>,
}

/// A virtual machine on the hub.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubeVirtMachine {
    /// Number of cores.
    #[schemars(range(min = 1, max = 1024))]
    pub cores: u32,
    /// Memory, such as 16Gi.
    pub memory: String,
    /// Size of its disk, such as 64Gi. If not set, HyperShift's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_volume: Option<String>,
}

/// A machine of Amazon's.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwsMachine {
    /// Such as m5.xlarge.
    pub instance_type: String,
    /// Size of its disk in GiB. If not set, HyperShift's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 8, max = 16384))]
    pub root_volume_size: Option<u32>,
}

impl AwsMachine {
    /// Whether its processor is an Arm one of Amazon's: a `g` behind the generation of the family says so, as in m6g, c7gn and im4gn. The first ones
    /// were called a1. Source: "Amazon EC2 instance type naming conventions".
    pub fn is_graviton(&self) -> bool {
        let family = self.instance_type.split('.').next().unwrap_or_default();
        let options = family
            .trim_start_matches(|c: char| !c.is_ascii_digit())
            .trim_start_matches(|c: char| c.is_ascii_digit());
        family == "a1" || options.split('-').next().unwrap_or_default().contains('g')
    }
}

/// A host of an inventory.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentMachine {
    /// Labels of the Agents that will do.
    pub match_labels: BTreeMap<String, String>,
}

impl TryFrom<MachineDocument> for Machine {
    type Error = &'static str;

    fn try_from(document: MachineDocument) -> Result<Self, Self::Error> {
        match (document.kubevirt, document.aws, document.agent) {
            (Some(machine), None, None) => Ok(Self::KubeVirt(machine)),
            (None, Some(machine), None) => Ok(Self::Aws(machine)),
            (None, None, Some(machine)) => Ok(Self::Agent(machine)),
            _ => Err("must set exactly one of kubevirt, aws and agent"),
        }
    }
}

/// A whole number of bytes with a unit of Kubernetes'.
fn is_quantity(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && ["", "Ki", "Mi", "Gi", "Ti", "k", "M", "G", "T"].contains(&&text[digits..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arm_processors_are_told_by_the_type() {
        let is_graviton =
            |text: &str| AwsMachine { instance_type: text.to_owned(), root_volume_size: None }.is_graviton();
        for arm in [
            "a1.xlarge",
            "m6g.large",
            "m6gd.4xlarge",
            "c7gn.large",
            "t4g.micro",
            "im4gn.large",
            "is4gen.large",
            "x2gd.metal",
            "g5g.xlarge",
            "hpc7g.4xlarge",
            "r8g.metal-24xl",
        ] {
            assert!(is_graviton(arm), "{arm}");
        }
        for x86 in [
            "m5.xlarge",
            "m6a.large",
            "m6i.large",
            "g4dn.xlarge",
            "g4ad.xlarge",
            "g6.xlarge",
            "gr6.4xlarge",
            "u7i-12tb.224xlarge",
            "p4de.24xlarge",
            "t3.large",
            "x2iedn.xlarge",
            "",
        ] {
            assert!(!is_graviton(x86), "{x86}");
        }
    }
}

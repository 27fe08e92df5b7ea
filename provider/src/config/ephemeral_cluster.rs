//! Section `ephemeralCluster` of the configuration.

use std::{borrow::Cow, collections::BTreeMap, path::PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use testplatform_apis::duration::GoDuration;

use crate::config::profiles::Registry;

/// Name of the wait step's image among the base images. Reserved, because the step has access to the secrets of a cluster profile: an image of
/// a tenant must not be able to replace it.
pub const WAIT_IMAGE: &str = "testplatform-wait-cli";

/// Settings for EphemeralClusters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct EphemeralClusters {
    /// Whether EphemeralClusters are fulfilled, only their credentials are kept in sync, or neither.
    pub mode: Mode,
    /// The namespace of the EphemeralClusters and of the Secrets with their credentials.
    pub namespace: String,
    /// Timeout of provisioning, if the EphemeralCluster sets none.
    pub provision_timeout: GoDuration,
    /// Lifetime from Ready on that a job's timeout allows for, if the EphemeralCluster sets none.
    pub max_lifetime: GoDuration,
    /// How long a job may wait for a build cluster.
    pub scheduling_timeout: GoDuration,
    /// Time that teardown may take, from the signal on, before it is reported as overdue. A job's timeout includes it.
    pub deprovision_timeout: GoDuration,
    /// How long a job that is to end may be without a namespace before it is aborted.
    pub abort_grace: GoDuration,
    /// For how long a status that another controller wrote keeps this one from creating anything.
    pub other_writer_respite: GoDuration,
    /// The image of the step that keeps a cluster alive. It needs bash, and oc or kubectl.
    pub wait_image: Image,
    /// The step that keeps a cluster alive until the signal.
    pub wait_step: WaitStep,
    /// `resources` of a ci-operator configuration that has none: by step name, `*` for all.
    pub resources: BTreeMap<String, Value>,
    /// Tenants that may use every cluster profile and every pool, on whichever Konflux cluster they are.
    pub privileged_tenants: Vec<String>,
    /// Where the cluster profiles and their owners are. Required in mode `fulfil`.
    pub cluster_profiles: Option<ClusterProfiles>,
    /// Owners of clusters in Hive pools. If not set, everybody may claim any; an empty list restricts them to the privileged tenants.
    pub cluster_claim_owners: Option<Vec<ClaimOwner>>,
    /// Names that no image of a tenant may have, because steps of workflows use them and would run the tenant's image.
    pub denied_image_names: Vec<String>,
    /// How long an inline ci-operator configuration may be, in bytes. The default is what Linux hands to a process
    /// in one environment variable; a job with more than that cannot start.
    #[schemars(range(min = 1024, max = 131_053))]
    pub max_config_bytes: usize,
}

/// The longest text that Linux hands to a process as `UNRESOLVED_CONFIG`: 32 pages, less the name, `=` and the final zero.
pub const MAX_CONFIG_BYTES: usize = 32 * 4096 - "UNRESOLVED_CONFIG=".len() - 1;

/// Settings for EphemeralClusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "Value")]
pub enum Mode {
    /// This provider makes them happen.
    Fulfil,
    /// Another controller makes them happen; this one keeps the published credentials equal to their source and
    /// withdraws them at the end.
    Proxy,
    /// Nothing.
    #[default]
    Off,
}

impl TryFrom<Value> for Mode {
    type Error = String;

    /// To a reader of YAML 1.1 a bare `off` is the boolean.
    fn try_from(value: Value) -> Result<Self, String> {
        match &value {
            Value::Bool(false) => Ok(Self::Off),
            Value::String(word) if word == "off" => Ok(Self::Off),
            Value::String(word) if word == "proxy" => Ok(Self::Proxy),
            Value::String(word) if word == "fulfil" => Ok(Self::Fulfil),
            _ => Err(format!("{value} is not a mode: use fulfil, proxy or off")),
        }
    }
}

impl JsonSchema for Mode {
    fn schema_name() -> Cow<'static, str> {
        "Mode".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": ["fulfil", "proxy", "off", false] })
    }
}

/// A tag of an image stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Image {
    /// Namespace of the image stream.
    pub namespace: String,
    /// Name of the image stream.
    pub name: String,
    /// The tag.
    pub tag: String,
}

/// The step that keeps a cluster alive until the signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct WaitStep {
    /// How often the step looks for the signal.
    pub poll_interval: GoDuration,
    /// How long the API server of the build cluster may go on failing before the step gives up, which ends the cluster.
    pub tolerance: GoDuration,
    /// Resources of the step.
    pub resources: Value,
}

/// Where the cluster profiles and their owners are: a file, or written down here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClusterProfiles {
    /// A file in the format of the step registry.
    pub file: Option<PathBuf>,
    /// Content of that file, inline.
    pub inline: Option<Registry>,
}

/// Owner of clusters in Hive pools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimOwner {
    /// Namespace of the claim on its Konflux cluster.
    pub tenant: String,
    /// The Konflux clusters on which it counts; none are all.
    #[serde(default)]
    pub clusters: Vec<String>,
    /// Which clusters.
    #[serde(default)]
    pub claims: ClaimPattern,
}

/// Clusters in Hive pools: those whose claim has these values. A field that is not set matches anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClaimPattern {
    /// The product, such as `ocp`.
    pub product: Option<String>,
    /// The version, such as `4.20`.
    pub version: Option<String>,
    /// The architecture, such as `amd64`.
    pub architecture: Option<String>,
    /// The cloud, such as `aws`.
    pub cloud: Option<String>,
    /// The owner of the pool.
    pub owner: Option<String>,
}

impl Default for EphemeralClusters {
    fn default() -> Self {
        Self {
            mode: Mode::Off,
            namespace: "ephemeral-cluster".into(),
            provision_timeout: GoDuration::from_hours(4),
            max_lifetime: GoDuration::from_hours(2),
            scheduling_timeout: GoDuration::from_hours(1),
            deprovision_timeout: GoDuration::from_hours(4),
            abort_grace: GoDuration::from_mins(5),
            other_writer_respite: GoDuration::from_mins(10),
            wait_image: Image::default(),
            wait_step: WaitStep::default(),
            resources: BTreeMap::from([(
                "*".into(),
                json!({ "requests": { "cpu": "200m" }, "limits": { "memory": "400Mi" } }),
            )]),
            privileged_tenants: vec![],
            cluster_profiles: None,
            cluster_claim_owners: None,
            denied_image_names: vec![],
            max_config_bytes: MAX_CONFIG_BYTES,
        }
    }
}

impl Default for Image {
    fn default() -> Self {
        Self { namespace: "ocp".into(), name: "4.21".into(), tag: "cli".into() }
    }
}

impl Default for WaitStep {
    fn default() -> Self {
        Self {
            poll_interval: GoDuration::from_secs(5),
            tolerance: GoDuration::from_mins(15),
            resources: json!({ "requests": { "cpu": "10m" }, "limits": { "memory": "100Mi" } }),
        }
    }
}

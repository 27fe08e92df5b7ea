//! Section `clusterClaim` of the configuration.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use testplatform_apis::duration::GoDuration;

/// Settings for Hive's ClusterClaims, which represent claims for a cluster out of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClusterClaims {
    /// Whether their credentials are published and their progress is reported.
    pub mode: Switch,
    /// The namespace in which credentials are published. Not that of a pool, which holds credentials of clouds.
    pub credentials_namespace: String,
    /// Poll interval of the credentials of each claimed cluster: Hive grants no watch of them.
    pub poll: GoDuration,
    /// How long a claimed cluster has to have slept before it is started again.
    pub dwell: GoDuration,
}

/// On or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "Value")]
pub enum Switch {
    /// It is done.
    On,
    /// It is not.
    #[default]
    Off,
}

impl TryFrom<Value> for Switch {
    type Error = String;

    /// To a reader of YAML 1.1 bare `on` and `off` are booleans.
    fn try_from(value: Value) -> Result<Self, String> {
        match &value {
            Value::Bool(false) => Ok(Self::Off),
            Value::Bool(true) => Ok(Self::On),
            Value::String(word) if word == "off" => Ok(Self::Off),
            Value::String(word) if word == "on" => Ok(Self::On),
            _ => Err(format!("{value} is not a mode: use on or off")),
        }
    }
}

impl JsonSchema for Switch {
    fn schema_name() -> Cow<'static, str> {
        "Switch".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": ["on", "off", true, false] })
    }
}

impl Default for ClusterClaims {
    fn default() -> Self {
        Self {
            mode: Switch::Off,
            credentials_namespace: "ephemeral-cluster".into(),
            poll: GoDuration::from_mins(10),
            dwell: GoDuration::from_mins(10),
        }
    }
}

//! Section `spaces` of the configuration.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testplatform_apis::duration::GoDuration;

use super::Switch;

/// Settings for spaces, the namespaces of Namespace claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Spaces {
    /// Whether credentials are published for them.
    pub mode: Switch,
    /// The namespace in which they are. Not one in which other secrets live.
    pub credentials_namespace: String,
    /// URL of this hub's API server as tenants reach it, such as `https://api.hub.example.com:6443`. Needed if mode is on.
    pub api_server: Option<String>,
    /// File with the certificates by which tenants trust that API server, PEM; read again now and then. If not set, those that the cluster
    /// gives to its pods, which need not be those of the API server as it is seen from outside.
    pub ca_file: Option<PathBuf>,
    /// How long a token holds, 10m or more. It is replaced when two thirds of that are over.
    pub token_lifetime: GoDuration,
}

impl Spaces {
    /// Whether anything is published.
    pub fn is_on(&self) -> bool {
        self.mode == Switch::On
    }
}

impl Default for Spaces {
    fn default() -> Self {
        Self {
            mode: Switch::Off,
            credentials_namespace: "testplatform-spaces".into(),
            api_server: None,
            ca_file: None,
            token_lifetime: GoDuration::from_hours(4),
        }
    }
}

//! The request with all defaults. Tenants read it in `status.effective`. The primary Object stores it, so that a later change of claim or
//! catalogue is detected.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Backend;
use super::companions::{ControlPlane, HubChoice, Network, NodeGroup, Timeouts, Values};
use crate::json;
use crate::lenient_serde::lenient_option;

/// The request with all defaults. Parameters that refer to Secrets are left out.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Effective {
    /// The template by which the cluster is made.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Backend, from the template.
    #[schemars(with = "Backend")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// The version that was chosen.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The image that belongs to it, or that the claim brought along.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub release_image: Option<String>,
    /// The parameters, defaults included.
    #[schemars(with = "Values")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Values>,
    /// The size of the control plane.
    #[schemars(with = "ControlPlane")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlane>,
    /// The node groups. An empty list: none.
    #[schemars(with = "Vec<NodeGroup>")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub node_groups: Option<Vec<NodeGroup>>,
    /// Addresses and networks.
    #[schemars(with = "Network")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Requirements of the claim on its hub.
    #[schemars(with = "HubChoice")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub hub: Option<HubChoice>,
    /// Timeouts of the request.
    #[schemars(with = "Timeouts")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
}

impl Effective {
    /// Reads the note on a writer; none: it is no JSON object.
    pub fn from_annotation(note: &str) -> Option<Self> {
        json::read_text(note).ok()
    }
}

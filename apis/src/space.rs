//! Spaces: a namespace on a hub with quotas, limits, network policies and an account, for tests that need no cluster of their own.
//!
//! `Namespace` claims of `eaas.konflux-ci.dev`, composite `XNamespace`. Names, kinds and keys are those of the incumbent, konflux-ci's
//! crossplane-control-plane: claims, tasks and live spaces know them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// API group of spaces.
pub const GROUP: &str = "eaas.konflux-ci.dev";
/// Version of spaces.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of spaces.
pub const API_VERSION: &str = "eaas.konflux-ci.dev/v1alpha1";
/// Kind of the composite.
pub const SPACE_KIND: &str = "XNamespace";
/// Plural of the composite.
pub const SPACE_PLURAL: &str = "xnamespaces";
/// Kind of the claim.
pub const SPACE_CLAIM_KIND: &str = "Namespace";
/// Plural of the claim.
pub const SPACE_CLAIM_PLURAL: &str = "namespaces";
/// Name of the Composition. Live composites refer to it.
pub const COMPOSITION: &str = "eaas-namespace";
/// The ServiceAccount in whose name tenants act in their space.
pub const SERVICE_ACCOUNT: &str = "namespace-manager";
/// The ClusterRole that it has there, unless the function's input says otherwise.
pub const CLUSTER_ROLE: &str = "edit";

/// Label on the namespace of a space: what kind of namespace it is.
pub const NAMESPACE_TYPE: &str = "konflux-ci.dev/namespace-type";
/// Its value.
pub const NAMESPACE_TYPE_VALUE: &str = "eaas";

/// Keys of the connection Secret, in the order of names.
pub mod keys {
    /// URL of the hub's API server.
    pub const API_SERVER: &str = "apiserver";
    /// A kubeconfig for the space.
    pub const KUBECONFIG: &str = "kubeconfig";
    /// Name of the namespace on the hub.
    pub const NAMESPACE: &str = "namespace";
    /// Name of the ServiceAccount.
    pub const SERVICE_ACCOUNT: &str = "serviceaccount";
    /// Its token.
    pub const TOKEN: &str = "token";

    /// All of them.
    pub const EVERY: [&str; 5] = [API_SERVER, KUBECONFIG, NAMESPACE, SERVICE_ACCOUNT, TOKEN];
}

/// Phase of a space.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpacePhase {
    /// It is being made.
    Pending,
    /// It is there, and so are its credentials.
    Ready,
    /// It was ready, and something is wrong with it now. The credentials stay.
    Degraded,
}

impl fmt::Display for SpacePhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Status of a space.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpaceStatus {
    /// Phase of the space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<SpacePhase>,

    /// The same in a sentence: what it waits for, or what is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// Name of the namespace on the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

//! Section `orphans` of the configuration.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testplatform_apis::duration::GoDuration;

use super::{Carried, RemoteKind};

/// Settings for remote objects of this Konflux cluster that no composite owns, as after a restore of etcd. This runs next to the claims, on a
/// Konflux cluster, and not on a hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Orphans {
    /// Whether orphans are searched for, and whether they are ended.
    pub mode: OrphanMode,
    /// Flavours of claims that are installed here. Without the definition of one of these nothing is decided. Others own their remote objects too,
    /// where they are installed.
    pub flavours: Vec<Carried>,
    /// Name of the EnvironmentConfig whose `data.clusterName` names this Konflux cluster.
    pub environment_config: String,
    /// Namespace of the report, ConfigMap `testplatform-orphans`.
    pub namespace: String,
    /// The hubs, by the names of the ProviderConfigs that lead to them. Name a hub once, also where several ProviderConfigs lead to it.
    pub hubs: BTreeMap<String, OrphanHub>,
    /// How often both sides are listed, 1m to 15m.
    pub poll: GoDuration,
    /// How long a remote object has no owner before it is an orphan, 15m to 168h.
    pub grace: GoDuration,
    /// Largest percentage, 1 to 99, of a hub's marked objects that may be without an owner for any teardown.
    pub max_unowned_percent: u8,
    /// Uids of orphans, from the report, that are ended although that percentage is exceeded or their owner was never recorded.
    pub confirmed_uids: Vec<String>,
}

/// Whether orphans are searched for, and whether they are ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OrphanMode {
    /// They are not searched for.
    #[default]
    Off,
    /// They are reported. Nothing is written on a hub.
    Report,
    /// They are reported and ended. The uid of this Konflux cluster is recorded on the remote objects that its composites own, and only those
    /// that bear it are ended without a confirmation.
    Teardown,
}

/// A hub on which orphans are searched for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OrphanHub {
    /// The Secret with its kubeconfig, usually that of the ProviderConfig. It is read again in every reconcile.
    pub kubeconfig_secret_ref: KubeconfigSecretRef,
    /// Kinds of remote objects.
    #[serde(default = "ephemeral_clusters")]
    pub kinds: Vec<RemoteKind>,
    /// Their namespaces. Without any, all namespaces are listed in one call, which takes a right in all of them. A namespace that does not exist,
    /// or that lacks where Objects of this Konflux cluster keep theirs, makes the listing incomplete.
    #[serde(default)]
    pub namespaces: Vec<String>,
}

/// A key of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubeconfigSecretRef {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Name of the Secret.
    pub name: String,
    /// Key of the kubeconfig.
    #[serde(default = "kubeconfig_key")]
    pub key: String,
}

fn ephemeral_clusters() -> Vec<RemoteKind> {
    vec![RemoteKind::EphemeralCluster]
}

fn kubeconfig_key() -> String {
    "kubeconfig".into()
}

impl Orphans {
    /// Whether orphans are searched for.
    pub fn is_on(&self) -> bool {
        self.mode != OrphanMode::Off
    }
}

impl Default for Orphans {
    fn default() -> Self {
        Self {
            mode: OrphanMode::Off,
            flavours: vec![Carried::Claims],
            environment_config: "envcfg".into(),
            namespace: "testplatform-orphans".into(),
            hubs: BTreeMap::new(),
            poll: GoDuration::from_mins(5),
            grace: GoDuration::from_hours(1),
            max_unowned_percent: 50,
            confirmed_uids: vec![],
        }
    }
}

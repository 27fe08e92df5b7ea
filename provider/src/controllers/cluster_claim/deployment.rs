//! Fields that are read of a ClusterDeployment.

use jiff::Timestamp;
use serde::Deserialize;
use testplatform_apis::foreign::meta::{ObservedCondition, find_condition};

use super::object::ClusterDeployment;

/// Parts of `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// Its pool, and its claim. The claim never changes once it is set.
    pub cluster_pool_ref: Option<PoolRef>,
    /// Installed cluster, and the location of its credentials. Present before the installation has finished.
    pub cluster_metadata: Option<ClusterMetadata>,
    /// The installation has ended well.
    pub installed: bool,
    /// Desired power state: `Running`, `Hibernating`, or empty.
    pub power_state: String,
}

/// `spec.clusterPoolRef`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolRef {
    /// Namespace of the pool, and so of its claims.
    pub namespace: String,
    /// Name of the pool.
    pub pool_name: String,
    /// Name of the claim; empty while unclaimed.
    pub claim_name: String,
}

/// `spec.clusterMetadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClusterMetadata {
    /// Secret with the kubeconfig.
    #[serde(rename = "adminKubeconfigSecretRef")]
    pub kubeconfig: SecretRef,
    /// Secret with the password. There need be none.
    #[serde(rename = "adminPasswordSecretRef")]
    pub password: Option<SecretRef>,
    /// Secret with the installer's metadata. Hive grants no access before it is named.
    #[serde(rename = "metadataJSONSecretRef")]
    pub notes: Option<SecretRef>,
}

/// A Secret in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SecretRef {
    /// Its name.
    pub name: String,
}

/// Parts of `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// URL of the API server.
    #[serde(rename = "apiURL")]
    pub api_url: String,
    /// URL of the console.
    #[serde(rename = "webConsoleURL")]
    pub console_url: String,
    /// What it does: `Running`, `Hibernating`, or the step on the way from one to the other.
    pub power_state: String,
    /// The version that was installed.
    pub install_version: String,
    /// Conditions of the object.
    pub conditions: Vec<ObservedCondition>,
}

/// Condition types, and the words of them that matter.
pub mod conditions {
    /// True: it runs. Its reason is the step on the way.
    pub const READY: &str = "Ready";
    /// True: it sleeps. Its reason is the step on the way.
    pub const HIBERNATING: &str = "Hibernating";
    /// How far its installation or its removal is.
    pub const PROVISIONED: &str = "Provisioned";
    /// Reason of that: it cannot be destroyed.
    pub const DEPROVISION_FAILED: &str = "DeprovisionFailed";
    /// True: its removal cannot even begin, and why.
    pub const DEPROVISION_LAUNCH_ERROR: &str = "DeprovisionLaunchError";
    /// True: an installation failed; it may be tried again.
    pub const PROVISION_FAILED: &str = "ProvisionFailed";
    /// True: it failed for good.
    pub const PROVISION_STOPPED: &str = "ProvisionStopped";

    /// Conditions that are kept of a cluster: each has dozens.
    pub const READ_CONDITIONS: [&str; 6] =
        [READY, HIBERNATING, PROVISIONED, DEPROVISION_LAUNCH_ERROR, PROVISION_FAILED, PROVISION_STOPPED];
}

/// Labels and annotations of Hive.
pub mod names {
    /// Annotation: `"true"` once it has been given back, and is about to be deleted.
    pub const REMOVE: &str = "hive.openshift.io/remove-cluster-from-pool";
    /// The same, from older versions.
    pub const REMOVE_CLAIMED: &str = "hive.openshift.io/remove-claimed-cluster-from-pool";
    /// Annotation: `"true"` while its power state must not be changed.
    pub const POWER_PAUSED: &str = "hive.openshift.io/powerstate-pause";
    /// Label: the version that it runs.
    pub const VERSION: &str = "hive.openshift.io/version";
    /// Label: the same, under the name that came later.
    pub const VERSION_PATCH: &str = "hive.openshift.io/version-major-minor-patch";
    /// All that are read.
    pub const READ: [&str; 5] = [REMOVE, REMOVE_CLAIMED, POWER_PAUSED, VERSION, VERSION_PATCH];
}

/// Power state of a running cluster.
pub const RUNNING: &str = "Running";
/// Power state of a hibernating cluster.
pub const HIBERNATING: &str = "Hibernating";

impl ClusterDeployment {
    /// Whether it is on its way out, or marked for it.
    pub fn is_ending(&self) -> bool {
        let marked = |key: &&str| self.annotation(key) == Some("true");
        self.is_deleted() || [names::REMOVE, names::REMOVE_CLAIMED].iter().any(marked)
    }

    /// A condition of it.
    pub fn condition(&self, type_: &str) -> Option<&ObservedCondition> {
        find_condition(&self.status.value.conditions, type_)
    }

    /// Whether it belongs to a pool and is unclaimed.
    pub fn is_unclaimed(&self) -> bool {
        self.spec.value.cluster_pool_ref.as_ref().is_some_and(|pool| pool.claim_name.is_empty())
    }

    /// Whether it is one of a pool.
    pub fn is_of(&self, namespace: &str, pool: &str) -> bool {
        let pool_ref = self.spec.value.cluster_pool_ref.as_ref();
        pool_ref.is_some_and(|of| of.namespace == namespace && of.pool_name == pool)
    }

    /// Whether its installation failed for good: the pool replaces it.
    pub fn is_broken(&self) -> bool {
        self.condition(conditions::PROVISION_STOPPED).is_some_and(ObservedCondition::is_true)
    }

    /// Power state as Hive reports it; the step of the transition where Hive reports only that. None if unknown.
    pub fn power_state(&self) -> Option<&str> {
        let reported = Some(self.status.value.power_state.as_str()).filter(|word| !word.is_empty());
        reported.or_else(|| {
            let asleep = self.condition(conditions::HIBERNATING).filter(|c| c.is_true());
            let step = asleep.or_else(|| self.condition(conditions::READY));
            step.map(|c| c.reason.as_str()).filter(|word| !word.is_empty())
        })
    }

    /// Since when it sleeps; None if it does not, or is on its way.
    pub fn asleep_since(&self) -> Option<Option<Timestamp>> {
        let asleep = self.condition(conditions::HIBERNATING).filter(|c| c.is_true())?;
        (self.spec.value.power_state == HIBERNATING).then_some(asleep.last_transition_time)
    }

    /// Whether somebody keeps everybody else's hands off its power state.
    pub fn power_is_paused(&self) -> bool {
        self.annotation(names::POWER_PAUSED).is_some_and(|word| word != "false")
    }

    /// The version that it runs.
    pub fn version(&self) -> Option<&str> {
        let label = |key| self.metadata.labels.as_ref()?.get(key).map(String::as_str);
        let installed = || Some(self.status.value.install_version.as_str());
        [label(names::VERSION), label(names::VERSION_PATCH), installed()]
            .into_iter()
            .flatten()
            .find(|version| !version.is_empty())
    }

    /// Drops unread fields.
    pub fn drop_unread_fields(&mut self) {
        for map in [&mut self.metadata.labels, &mut self.metadata.annotations].into_iter().flatten() {
            map.retain(|key, _| names::READ.contains(&key.as_str()));
        }
        let is_read = |c: &ObservedCondition| conditions::READ_CONDITIONS.contains(&c.type_.as_str());
        self.status.value.conditions.retain(is_read);
    }
}

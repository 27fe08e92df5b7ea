//! Report of the hub-side provider about a ClusterClaim, in annotation [`ours::STATUS`](crate::names::ours::STATUS): Hive owns the claim's
//! own status, and says nothing there of queues, pools, credentials or failures.
//!
//! One type for both ends: the provider writes it, the function reads it. It travels in an annotation that anybody with access to the pool's
//! namespace can read, so it never holds a secret, nor a word of a log. Reading is forgiving: a field that cannot be read counts as
//! absent, and so does a word that this version does not know. Equal values are equal text.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::account::Mode;
use crate::lenient_serde::{lenient_integer, lenient_option};

/// Report on one ClusterClaim. A field is absent until it is known or if it does not apply.
///
/// Hive's own fields of the claim (`spec.namespace`, conditions, `status.lifetime`) are not repeated here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HiveStatus {
    /// The pool that the claim names. Absent until the provider looked for it.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolReport>,

    /// Position in the pool's queue. Only while no cluster is assigned.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueReport>,

    /// Source of the next cluster for this claim. Only while it waits.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub supply: Option<Supply>,

    /// The ClusterDeployment that was assigned. Absent before.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub cluster_deployment: Option<ClusterDeploymentReport>,

    /// `status.powerState` of the ClusterDeployment, word for word, such as `Running`, `Hibernating` or `WaitingForNodes`.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub power_state: Option<String>,

    /// Whether the ClusterDeployment says that it belongs to this very claim (`spec.clusterPoolRef`). Absent before one is assigned.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub ownership: Option<Ownership>,

    /// URL of the cluster's API server.
    #[serde(rename = "apiURL", deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub api_url: Option<String>,

    /// URL of the cluster's web console. May come minutes later than the credentials, or never.
    #[serde(
        rename = "consoleURL",
        deserialize_with = "lenient_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub console_url: Option<String>,

    /// Version that the cluster runs, such as `4.20.3`.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// The published Secret. Present exactly while it is published; its revision is in annotation
    /// [`ours::CREDENTIALS_REVISION`](crate::names::ours::CREDENTIALS_REVISION) of the same object.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub credentials: Option<CredentialsReport>,

    /// Reason why the credentials are not published or not up to date. Absent if they are.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub blocking_reason: Option<BlockingReason>,

    /// The last provision of this pool that failed while the claim waited, or that of its own cluster; captured before Hive deletes the
    /// evidence.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub provision_failure: Option<ProvisionFailure>,

    /// Reason why its cluster cannot be destroyed, while Hive retries.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub deprovision_failure: Option<DeprovisionFailure>,
}

/// The pool of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolReport {
    /// Whether it exists in the claim's namespace.
    pub found: bool,
    /// Whether it is being deleted: then nothing is assigned any more.
    pub deleting: bool,
    /// Problem of it, from its conditions, shortened; absent if none is known.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Position of a claim in its pool's queue: an estimate, since Hive keeps no numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueReport {
    /// Place in the queue, from 1; among claims of the same second the last.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub position: Option<i64>,
    /// Number of waiting claims, this one included.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub depth: Option<i64>,
}

/// Source of the next cluster for a waiting claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Supply {
    /// A running cluster is there; it is a matter of seconds.
    Immediate,
    /// A hibernating cluster is being started.
    Resuming,
    /// A cluster is being installed.
    Installing,
    /// The pool is as large as it may be (`maxSize`), and every cluster is taken: one has to be given back first.
    CapacityBlocked,
    /// The pool lacks something that it needs to install clusters (`MissingDependencies`).
    PoolMisconfigured,
    /// Every entry of the pool's inventory is in use or broken.
    InventoryExhausted,
}

/// The ClusterDeployment of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterDeploymentReport {
    /// Its name, which is that of its namespace too.
    pub name: String,
}

/// Whether a ClusterDeployment belongs to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ownership {
    /// Its `spec.clusterPoolRef` names this claim, its pool and its namespace.
    Confirmed,
    /// It names this pool and no claim yet: the assignment is under way.
    Unconfirmed,
    /// It names another claim or pool. Nothing of it is published.
    Mismatch,
}

/// The published Secret of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CredentialsReport {
    /// Name of the Secret in the hub's credentials namespace: always `<name of the ClusterClaim>-credentials`. No other name is
    /// believed, since who may write here could else have another claim's Secret read.
    pub secret_name: String,
    /// Whether it holds a password that is not empty.
    pub password_available: bool,
    /// Kind of its credentials, unless they are the admin's.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

/// Reason why credentials are not published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockingReason {
    /// One word.
    pub reason: Blocked,
    /// A sentence, without anything secret.
    #[serde(default, deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The words for it; they are reasons of `CredentialsPublished=False` too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Blocked {
    /// No cluster is assigned.
    NotAssigned,
    /// The cluster has not run yet, or is being deleted.
    NotRunning,
    /// The ClusterDeployment has no `clusterMetadata`, or none of the references in it that Hive needs to let the provider in.
    MetadataMissing,
    /// A Secret that the ClusterDeployment names does not exist, or the provider may not read it.
    SecretMissing,
    /// A Secret lacks its key, or the key is empty.
    KeyMissing,
    /// The kubeconfig is none, or holds something that would run a program on the reader's machine.
    KubeconfigRejected,
    /// The ClusterDeployment does not belong to this claim, or the Secret to publish into does not.
    OwnershipMismatch,
}

impl Blocked {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::NotAssigned,
        Self::NotRunning,
        Self::MetadataMissing,
        Self::SecretMissing,
        Self::KeyMissing,
        Self::KubeconfigRejected,
        Self::OwnershipMismatch,
    ];

    /// Wire form.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotAssigned => "NotAssigned",
            Self::NotRunning => "NotRunning",
            Self::MetadataMissing => "MetadataMissing",
            Self::SecretMissing => "SecretMissing",
            Self::KeyMissing => "KeyMissing",
            Self::KubeconfigRejected => "KubeconfigRejected",
            Self::OwnershipMismatch => "OwnershipMismatch",
        }
    }
}

/// A provision that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisionFailure {
    /// The ClusterDeployment that failed.
    pub cluster_deployment: String,
    /// Hive's word, such as `InsufficientQuota`.
    pub reason: String,
    /// Hive's sentence, shortened and without secrets.
    pub message: String,
    /// When it was noticed.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
}

/// A cluster that cannot be destroyed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeprovisionFailure {
    /// Hive's word, such as `AuthenticationFailed`.
    pub reason: String,
    /// Hive's sentence, shortened and without secrets.
    pub message: String,
}

impl HiveStatus {
    /// Reads the annotation. Only a text that is not a JSON object is an error, so that it can be reported.
    pub fn from_annotation(annotation: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(annotation)
    }

    /// The text of the annotation.
    ///
    /// # Errors
    /// None that is known: every field has a form in JSON.
    pub fn to_annotation(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn full() -> HiveStatus {
        HiveStatus {
            pool: Some(PoolReport { found: true, deleting: false, message: Some("m".into()) }),
            queue: Some(QueueReport { position: Some(3), depth: Some(5) }),
            supply: Some(Supply::Installing),
            cluster_deployment: Some(ClusterDeploymentReport { name: "aws-420-x7k2p".into() }),
            power_state: Some("Running".into()),
            ownership: Some(Ownership::Confirmed),
            api_url: Some("https://api.x:6443".into()),
            console_url: Some("https://console.x".into()),
            version: Some("4.20.3".into()),
            credentials: Some(CredentialsReport {
                secret_name: "a-credentials".into(),
                password_available: true,
                mode: Some(Mode::ServiceAccount),
            }),
            blocking_reason: Some(BlockingReason { reason: Blocked::KeyMissing, message: None }),
            provision_failure: Some(ProvisionFailure {
                cluster_deployment: "aws-420-y".into(),
                reason: "InsufficientQuota".into(),
                message: "no addresses left".into(),
                time: Some(Timestamp::UNIX_EPOCH),
            }),
            deprovision_failure: Some(DeprovisionFailure {
                reason: "AuthenticationFailed".into(),
                message: "the credentials are not accepted".into(),
            }),
        }
    }

    #[test]
    fn words_are_those_on_the_wire_and_reasons_of_the_condition() {
        for blocked in Blocked::ALL {
            assert_eq!(serde_json::to_value(blocked).unwrap(), blocked.as_str());
            assert!(crate::condition::Credentials::parse(blocked.as_str()).is_some(), "{blocked:?}");
        }
    }

    #[test]
    fn annotation_round_trips() {
        for status in [full(), HiveStatus::default()] {
            assert_eq!(HiveStatus::from_annotation(&status.to_annotation().unwrap()).unwrap(), status);
        }
        assert_eq!(HiveStatus::default().to_annotation().unwrap(), "{}");
        let written = serde_json::to_value(full()).unwrap();
        let names: Vec<_> = written.as_object().unwrap().keys().cloned().collect();
        assert_eq!(
            names,
            [
                "apiURL",
                "blockingReason",
                "clusterDeployment",
                "consoleURL",
                "credentials",
                "deprovisionFailure",
                "ownership",
                "pool",
                "powerState",
                "provisionFailure",
                "queue",
                "supply",
                "version",
            ]
        );
    }

    #[test]
    fn unreadable_fields_count_as_absent() {
        let odd = json!({
            "supply": "Teleporting", "queue": { "position": 2.0, "depth": "many" }, "credentials": 5, "later": {},
            "blockingReason": { "reason": "NewWord" }, "version": "4.20.3", "pool": { "found": "yes" },
        });
        let read = HiveStatus::from_annotation(&odd.to_string()).unwrap();
        let queue = Some(QueueReport { position: Some(2), depth: None });
        assert_eq!(read, HiveStatus { queue, version: Some("4.20.3".into()), ..HiveStatus::default() });
        assert!(HiveStatus::from_annotation("not json").is_err());
    }
}

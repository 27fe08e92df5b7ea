//! The configuration file: what administrators decide.
//!
//! One YAML document. Every field has a default but the few that cannot have one; a field that is not known is an error, because
//! a misspelt one would otherwise be a decision that nobody notices is not in force. Everything that is wrong is said at once, each
//! with its line. Input: text. Output: [`Config`], or every [`ConfigProblem`]. Only [`Config::load`] touches the disk.

use std::{io, path::Path, time::Duration};

use anyhow::Context as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testplatform_apis::duration::GoDuration;

mod check;
mod cleanup;
mod cluster_claim;
mod cluster_pool;
mod clusters;
mod ephemeral_cluster;
mod hub_facts;
mod orphans;
mod prerequisites;
mod process;
pub mod profiles;
mod prow;
mod remote_kind;
mod secret_sync;
mod source;
mod spaces;

pub use cleanup::{Cleaned, Cleanups};
pub use cluster_claim::{ClusterClaims, Switch};
pub use cluster_pool::ClusterPools;
pub use clusters::{CloudCredentials, Clusters, ClustersOf};
pub use ephemeral_cluster::{
    ClaimOwner, ClaimPattern, ClusterProfiles, EphemeralClusters, Image, Mode, WAIT_IMAGE, WaitStep,
};
pub use hub_facts::{Agents, HubFacts, NodeClass};
pub use orphans::{KubeconfigSecretRef, OrphanHub, OrphanMode, Orphans};
pub use prerequisites::{AllowedResource, Prerequisites};
pub use process::{BuildClusters, Http, LeaderElection};
pub use prow::{CiOperatorPod, Prow, SecretMount};
pub use remote_kind::{RemoteKind, TeardownMethod};
pub use secret_sync::{Carried, Carry, CarryHub};
pub use source::ConfigProblem;
pub use spaces::Spaces;

/// Of the provider: its namespace, its account, and its Lease.
pub(crate) const NAME: &str = "provider-testplatform";

/// The configuration of `provider-testplatform`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(title = "Configuration of provider-testplatform")]
pub struct Config {
    /// Settings for EphemeralClusters.
    pub ephemeral_cluster: EphemeralClusters,
    /// Settings for ClusterClaims.
    pub cluster_claim: ClusterClaims,
    /// Settings for ClusterPools that Git defines.
    pub cluster_pool: ClusterPools,
    /// Settings for clusters of claims with `template`.
    pub clusters: Clusters,
    /// Facts that this hub publishes about itself.
    pub hub_facts: HubFacts,
    /// Settings for spaces, the namespaces of Namespace claims.
    pub spaces: Spaces,
    /// Settings for claims that bring their own credentials; on a Konflux cluster.
    pub carry: Carry,
    /// Settings for the cleanup of clusters that nobody needs any more; on a Konflux cluster.
    pub cleanup: Cleanups,
    /// Settings for remote objects that no composite owns; on a Konflux cluster.
    pub orphans: Orphans,
    /// How the ProwJobs are made.
    pub prow: Prow,
    /// The clusters on which the jobs run.
    pub build_clusters: BuildClusters,
    /// Which of several replicas acts.
    pub leader_election: LeaderElection,
    /// Metrics, health and readiness.
    pub http: Http,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {file}")]
    Unreadable {
        /// The file.
        file: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file has errors. One line for each problem, in the order of the file.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<ConfigProblem>),
}

impl Config {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// If it cannot be read, or with everything that is wrong in it.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&file, &text),
            Err(source) => Err(ConfigError::Unreadable { file, source }),
        }
    }

    /// Checks a text; `file` is the name by which problems call it.
    ///
    /// # Errors
    /// With everything that is wrong in it.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let (config, mut findings) = source::decode::<Self>(text);
        if let Some(config) = &config {
            findings.add_unless_covered(check::check_config(config));
        }
        match config {
            Some(config) if findings.is_empty() => Ok(config),
            _ => Err(ConfigError::Invalid(findings.into_problems(file))),
        }
    }

    /// Namespace of the Lease: a configured one, or that of the provider. In the EphemeralClusters' namespace it would be deleted with them,
    /// and nothing would end their clusters.
    pub fn lease_namespace(&self) -> &str {
        self.leader_election.namespace.as_deref().unwrap_or(NAME)
    }

    /// The JSON schema of the file, for editors.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }
}

/// A configured duration, if it is not negative.
///
/// # Errors
/// If it is negative.
pub fn std_duration(duration: GoDuration) -> anyhow::Result<Duration> {
    Duration::try_from(duration.as_signed()).context("a negative duration")
}

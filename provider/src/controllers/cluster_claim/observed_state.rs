//! Everything around one ClusterClaim that a decision depends on, as data.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::object::{ClusterDeployment, ClusterPool};
pub use crate::credentials::publish::CredentialsSource;
use crate::{config::Config, credentials::Published};

/// Observed state.
#[derive(Clone, Debug)]
pub struct ClaimState {
    /// Decisions of the administrators.
    pub settings: ClaimSettings,
    /// The pool that the claim names, in the claim's namespace. May be older than what is.
    pub pool: Option<Arc<ClusterPool>>,
    /// When each claim was made that waits for a cluster of that pool, this one included if it does. May be older than what is.
    pub queue: Vec<Option<Timestamp>>,
    /// Unclaimed clusters of that pool. May be outdated.
    pub unclaimed: Vec<Arc<ClusterDeployment>>,
    /// The cluster that Hive chose.
    pub deployment: DeploymentState,
    /// Its credentials.
    pub source: CredentialsSource,
    /// `<claim>-credentials`.
    pub published: Published,
}

/// The cluster that Hive chose for a claim.
#[derive(Clone, Debug)]
pub enum DeploymentState {
    /// It has chosen none.
    Unassigned,
    /// The API server said, after it said what the claim is, that there is none of that name.
    Gone,
    /// It was read from the API server, after the claim was.
    Here(Arc<ClusterDeployment>),
}

/// Settings of an administrator that decisions on one ClusterClaim need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimSettings {
    /// How often the credentials of a claimed cluster are read again although nothing happened: they cannot be watched.
    pub poll: SignedDuration,
    /// How long a cluster has to have slept before it is started again: clouds do not like it sooner.
    pub dwell: SignedDuration,
}

impl Default for ClaimSettings {
    fn default() -> Self {
        Self { poll: SignedDuration::from_mins(10), dwell: SignedDuration::from_mins(10) }
    }
}

impl From<&Config> for ClaimSettings {
    fn from(config: &Config) -> Self {
        Self { poll: config.cluster_claim.poll.as_signed(), dwell: config.cluster_claim.dwell.as_signed() }
    }
}

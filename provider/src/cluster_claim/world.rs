//! Everything around one ClusterClaim that a decision depends on, as data.

use std::sync::Arc;

use super::object::{ClusterDeployment, ClusterPool};
pub use crate::publish::Source;
use jiff::{SignedDuration, Timestamp};

use crate::ephemeral_cluster::credentials::Published;

/// What was observed.
#[derive(Clone, Debug)]
pub struct World {
    /// What administrators decided.
    pub settings: Settings,
    /// The pool that the claim names, in the claim's namespace. May be older than what is.
    pub pool: Option<Arc<ClusterPool>>,
    /// When each claim was made that waits for a cluster of that pool, this one included if it does. May be older than what is.
    pub queue: Vec<Option<Timestamp>>,
    /// The clusters of that pool that are nobody's yet. May be older than what is.
    pub unclaimed: Vec<Arc<ClusterDeployment>>,
    /// The cluster that Hive chose.
    pub deployment: Deployment,
    /// Its credentials.
    pub source: Source,
    /// `<claim>-credentials`.
    pub published: Published,
}

/// The cluster that Hive chose for a claim.
#[derive(Clone, Debug)]
pub enum Deployment {
    /// It has chosen none.
    Unassigned,
    /// The API server said, after it said what the claim is, that there is none of that name.
    Gone,
    /// It was read from the API server, after the claim was.
    Here(Arc<ClusterDeployment>),
}

/// Settings of an administrator that decisions on one ClusterClaim need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How often the credentials of a claimed cluster are read again although nothing happened: they cannot be watched.
    pub poll: SignedDuration,
    /// How long a cluster has to have slept before it is started again: clouds do not like it sooner.
    pub dwell: SignedDuration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { poll: SignedDuration::from_mins(10), dwell: SignedDuration::from_mins(10) }
    }
}

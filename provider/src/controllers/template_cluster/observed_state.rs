//! Everything around one cluster that a decision depends on, as data.

use std::{collections::BTreeSet, sync::Arc};

use jiff::SignedDuration;
use testplatform_apis::hive_status::Blocked;

use crate::{
    config::{Clusters, Switch},
    credentials::{Published, cluster_object::Cluster, publish::CredentialsSource},
};

/// Observed state.
#[derive(Clone, Debug)]
pub struct ClusterState {
    /// Decisions of the administrators.
    pub settings: ClusterSettings,
    /// The object that has the credentials.
    pub holder: HolderState,
    /// The credentials.
    pub source: CredentialsSource,
    /// Why a password that may be there is not among them.
    pub lacks: Option<(Blocked, String)>,
    /// `<cluster>-credentials`.
    pub published: Published,
}

/// The object that has the credentials of a cluster, as it was found.
#[derive(Clone, Debug)]
pub enum HolderState {
    /// The cluster's object itself.
    Itself,
    /// It is not named, or was not looked for.
    NotNamed,
    /// The API server said, after it said that it is named, that there is none of that name.
    Gone,
    /// It was read from the API server, after the one that names it was.
    Here(Arc<Cluster>),
}

/// Settings of an administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// Namespace of the published credentials.
    pub credentials_namespace: String,
    /// How often the credentials of a cluster are read again although nothing happened: they cannot be watched.
    pub poll: SignedDuration,
    /// The namespaces in which overdue clusters are deleted.
    pub end_overdue: BTreeSet<String>,
}

impl From<&Clusters> for ClusterSettings {
    fn from(config: &Clusters) -> Self {
        let end_overdue = match config.end_overdue {
            Switch::On => config.namespaces(),
            Switch::Off => BTreeSet::new(),
        };
        let credentials_namespace = config.credentials_namespace.clone();
        Self { credentials_namespace, poll: config.poll.as_signed(), end_overdue }
    }
}

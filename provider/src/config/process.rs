//! The sections of the configuration that are about the process and its surroundings.

use std::{
    net::{Ipv6Addr, SocketAddr},
    path::PathBuf,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testplatform_apis::duration::GoDuration;

/// The clusters on which the jobs run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BuildClusters {
    /// A directory with one kubeconfig file for each build cluster, named as Prow names the cluster (without an ending).
    /// Entries that begin with a dot are left alone. Read again when it changes. Required unless the mode is `off`.
    pub directory: Option<PathBuf>,
    /// How long one request to a build cluster may take.
    pub request_timeout: GoDuration,
}

/// Which of several replicas acts: the holder of a Lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LeaderElection {
    /// Namespace of the Lease; left out, provider-testplatform. Not that of the EphemeralClusters: it would go with them.
    pub namespace: Option<String>,
    /// Name of the Lease.
    pub name: String,
    /// How long a Lease that is not renewed counts. Longer than `renewDeadline`.
    pub lease_duration: GoDuration,
    /// How long the holder tries to renew before it gives up and ends. Longer than `retryPeriod`.
    pub renew_deadline: GoDuration,
    /// How long to wait between two tries.
    pub retry_period: GoDuration,
}

/// Metrics, health and readiness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Http {
    /// Where `/metrics`, `/healthz` and `/readyz` are served.
    #[schemars(with = "String")]
    pub address: SocketAddr,
}

impl Default for BuildClusters {
    fn default() -> Self {
        Self { directory: None, request_timeout: GoDuration::from_secs(30) }
    }
}

impl Default for LeaderElection {
    /// The times are those of Kubernetes' own components.
    fn default() -> Self {
        Self {
            namespace: None,
            name: "provider-testplatform".into(),
            lease_duration: GoDuration::from_secs(15),
            renew_deadline: GoDuration::from_secs(10),
            retry_period: GoDuration::from_secs(2),
        }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self { address: (Ipv6Addr::UNSPECIFIED, 8080).into() }
    }
}

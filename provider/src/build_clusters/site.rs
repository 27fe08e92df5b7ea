//! State of a job on its build cluster.

use crate::credentials::NamespaceCredentials;

/// Observation of the build cluster where a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobSite {
    /// No build cluster has been chosen; nothing was looked for.
    Unscheduled,
    /// There is no kubeconfig for its build cluster.
    Unknown {
        /// Name of the build cluster; empty for a deleted job while there is no kubeconfig at all.
        cluster: String,
    },
    /// The build cluster does not answer, or does not let us in.
    Unreachable {
        /// Name of the build cluster.
        cluster: String,
        /// Message of the cluster or of the network.
        error: String,
    },
    /// The build cluster has no namespace for the job.
    NoNamespace {
        /// Name of the build cluster.
        cluster: String,
    },
    /// ci-operator's namespace, the newest if there are several.
    Namespace {
        /// Name of the build cluster.
        cluster: String,
        /// Name of the namespace.
        name: String,
        /// Whether it is being deleted.
        terminating: bool,
        /// The credentials in it.
        source: NamespaceCredentials,
        /// Whether the signal to end is there.
        signalled: bool,
    },
}

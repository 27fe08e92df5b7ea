//! The credentials of a cluster, between the Secret that ci-operator fills and the one that is published.

pub mod account;
pub mod cluster_kind;
pub mod cluster_lookup;
pub mod cluster_object;
pub mod kubeconfig;
pub mod publish;
pub mod rights;
pub mod secret;

use testplatform_runtime::redacted::Redacted;

use crate::credentials::account::Issue;

/// Published credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// A kubeconfig; never empty.
    pub kubeconfig: Redacted<Vec<u8>>,
    /// The password of `kubeadmin`; may be empty.
    pub password: Redacted<Vec<u8>>,
    /// Revision of the source. It is written to the published Secret, so that a comparison needs neither content.
    pub source_revision: String,
}

/// Credentials in a ci-operator namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceCredentials {
    /// Nothing yet, or only a part. The sentence names the missing part.
    Pending(String),
    /// The kubeconfig is not one that may be handed on, for this reason.
    Rejected(String),
    /// It is in the state that was published last; not read again.
    Unchanged,
    /// Complete.
    Complete(Credentials),
    /// Complete, and the cluster answers 401 to their kubeconfig. Asked only because another one is published.
    Refused,
    /// Not those of the cluster's admin are published, but those of a ServiceAccount that he makes; it is time for a token.
    Account(Box<Issue>),
    /// It could not be read. Not the same as not being there.
    Unreadable(String),
}

/// `<ec>-credentials` as it is on the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Published {
    /// There is none.
    Absent,
    /// The EphemeralCluster controls it.
    Ours {
        /// Its resourceVersion.
        revision: String,
        /// Which state of the source it was made from; none on one that another controller made.
        source_revision: Option<String>,
    },
    /// Somebody else's Secret has the name. The sentence names its owner.
    Foreign(String),
}

/// Suffix of the name of a published Secret.
pub const SUFFIX: &str = "-credentials";

/// The name of the Secret that is published for an EphemeralCluster or a ClusterClaim.
pub fn published_name(object: &str) -> String {
    format!("{object}{SUFFIX}")
}

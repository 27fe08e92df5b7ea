//! Reasons and messages about a ClusterClaim. Those of blocked credentials are in [`Blocked`](testplatform_apis::hive_status::Blocked), because
//! the function repeats them; these are those of events.

use testplatform_apis::hive_status::Blocked;

/// Reasons of events about credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimEventReason {
    /// The credentials are there.
    CredentialsPublished,
    /// They are not there any more.
    CredentialsWithdrawn,
    /// The cluster that the claim names is another one's.
    OwnershipMismatch,
    /// Somebody else's Secret has the name of the one to publish.
    CredentialsNotOwned,
    /// The kubeconfig would run or read something where it is used, or is none.
    KubeconfigRejected,
    /// A hibernating cluster is started again.
    ClusterResumed,
    /// A cluster of the pool could not be installed while the claim waited.
    ProvisionFailed,
}

impl ClaimEventReason {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::CredentialsPublished,
        Self::CredentialsWithdrawn,
        Self::OwnershipMismatch,
        Self::CredentialsNotOwned,
        Self::KubeconfigRejected,
        Self::ClusterResumed,
        Self::ProvisionFailed,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CredentialsPublished => "CredentialsPublished",
            Self::CredentialsWithdrawn => "CredentialsWithdrawn",
            Self::OwnershipMismatch => "OwnershipMismatch",
            Self::CredentialsNotOwned => "CredentialsNotOwned",
            Self::KubeconfigRejected => "KubeconfigRejected",
            Self::ClusterResumed => "ClusterResumed",
            Self::ProvisionFailed => "ProvisionFailed",
        }
    }

    /// Whether somebody should worry.
    pub const fn is_warning(self) -> bool {
        match self {
            Self::CredentialsPublished | Self::CredentialsWithdrawn | Self::ClusterResumed => false,
            Self::OwnershipMismatch
            | Self::CredentialsNotOwned
            | Self::KubeconfigRejected
            | Self::ProvisionFailed => true,
        }
    }
}

/// The sentence for what blocks publication where nothing more particular is known. No times and nothing that changes from look to
/// look: each change would be a write.
pub const fn sentence(blocked: Blocked) -> &'static str {
    match blocked {
        Blocked::NotAssigned => "no cluster is assigned to this ClusterClaim yet",
        Blocked::NotRunning => "the cluster has not run since it was assigned",
        Blocked::MetadataMissing => "the ClusterDeployment does not name its Secrets with credentials yet",
        Blocked::SecretMissing => "a Secret that the ClusterDeployment names does not exist",
        Blocked::KeyMissing => "a Secret that the ClusterDeployment names lacks its key",
        Blocked::KubeconfigRejected => {
            "the cluster's kubeconfig contains something that must not be published"
        }
        Blocked::OwnershipMismatch => {
            "the ClusterDeployment that this ClusterClaim names belongs to another ClusterClaim, so it is not published"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_camel_case_and_differ() {
        let words: std::collections::BTreeSet<&str> =
            ClaimEventReason::ALL.iter().map(|r| r.as_str()).collect();
        assert_eq!(words.len(), ClaimEventReason::ALL.len());
        let camel = |w: &&str| {
            w.starts_with(|c: char| c.is_ascii_uppercase()) && w.chars().all(|c| c.is_ascii_alphanumeric())
        };
        assert!(words.iter().all(camel));
    }
}

//! Whether the published credentials are what the cluster has.

use super::conditions::ConditionReason;
use crate::{
    build_clusters::JobSite,
    credentials::{Credentials, NamespaceCredentials, Published, account::Issue},
};

/// Decision about `<ec>-credentials`.
#[derive(Clone, Debug, PartialEq)]
pub enum Publication {
    /// Nothing: it is what the cluster has.
    InSync,
    /// It is written.
    Publish(Credentials),
    /// A token is made, and it is written.
    Issue(Box<Issue>),
    /// Nothing can be done, and why.
    NotNow(ConditionReason, String),
    /// Nothing is published, and the kubeconfig is not one that may be handed on, for this reason.
    Rejected(String),
}

/// Compares what a job's site has with what is published.
pub fn compare(site: &JobSite, published: &Published) -> Publication {
    let not_now = |reason: ConditionReason, message: String| Publication::NotNow(reason, message);
    let source = match site {
        JobSite::Unscheduled => {
            let text = "the ProwJob waits for a build cluster";
            return not_now(ConditionReason::ProwJobScheduling, text.into());
        }
        JobSite::Unknown { cluster } => {
            return not_now(ConditionReason::BuildClusterUnknown, unknown(cluster));
        }
        JobSite::Unreachable { cluster, .. } => {
            return not_now(ConditionReason::BuildClusterUnreachable, unreachable(cluster));
        }
        JobSite::NoNamespace { cluster } => {
            return not_now(ConditionReason::NamespacePending, no_namespace(cluster));
        }
        JobSite::Namespace { cluster, name, terminating: true, .. } => {
            return not_now(ConditionReason::NamespacePending, terminating(cluster, name));
        }
        JobSite::Namespace { source, terminating: false, .. } => source,
    };
    match (source, published) {
        // Said only once the credentials are complete: before that the other reason is the news.
        (
            NamespaceCredentials::Complete(_)
            | NamespaceCredentials::Refused
            | NamespaceCredentials::Account(_)
            | NamespaceCredentials::Unchanged,
            Published::Foreign(whose),
        ) => not_now(ConditionReason::CredentialsNotOwned, whose.clone()),
        (NamespaceCredentials::Complete(found), Published::Ours { source_revision: Some(made_from), .. })
            if *made_from == found.source_revision =>
        {
            Publication::InSync
        }
        (NamespaceCredentials::Complete(found), Published::Ours { .. } | Published::Absent) => {
            Publication::Publish(found.clone())
        }
        (NamespaceCredentials::Account(issue), Published::Ours { .. } | Published::Absent) => {
            Publication::Issue(issue.clone())
        }
        (NamespaceCredentials::Unchanged, Published::Ours { .. }) => Publication::InSync,
        (NamespaceCredentials::Refused, Published::Ours { .. }) => {
            let text = "the cluster rejects its new kubeconfig (401); the published one stays";
            not_now(ConditionReason::KubeconfigRejected, text.into())
        }
        // The Secret vanished after it was compared: the next look reads the source.
        (NamespaceCredentials::Unchanged | NamespaceCredentials::Refused, Published::Absent) => not_now(
            ConditionReason::CredentialsPending,
            "the credentials are about to be published again".into(),
        ),
        (NamespaceCredentials::Rejected(why), Published::Absent) => Publication::Rejected(why.clone()),
        (NamespaceCredentials::Rejected(what) | NamespaceCredentials::Pending(what), _) => {
            not_now(ConditionReason::CredentialsPending, what.clone())
        }
        // The error goes to the log: it changes with each try, and may quote unreadable content.
        (NamespaceCredentials::Unreadable(_), _) => {
            let text = "the credentials could not be read on the build cluster; tried again";
            not_now(ConditionReason::CredentialsUnreadable, text.into())
        }
    }
}

/// Whether it changes without an event, so that it has to be polled.
pub const fn cannot_be_watched(reason: ConditionReason) -> bool {
    matches!(
        reason,
        ConditionReason::BuildClusterUnknown
            | ConditionReason::BuildClusterUnreachable
            | ConditionReason::CredentialsUnreadable
            | ConditionReason::KubeconfigRejected
    )
}

/// A sentence.
pub fn unknown(cluster: &str) -> String {
    if cluster.is_empty() {
        return "there is no kubeconfig for any build cluster; an administrator has to add them".to_owned();
    }
    format!("there is no kubeconfig for build cluster {cluster}; an administrator has to add one")
}

/// A sentence. Not what the cluster said: that changes from try to try, and each change would be a write.
pub fn unreachable(cluster: &str) -> String {
    format!("build cluster {cluster} does not answer or does not let this provider in")
}

/// A sentence.
pub fn no_namespace(cluster: &str) -> String {
    format!("build cluster {cluster} has no namespace of ci-operator for the ProwJob")
}

/// A sentence.
pub fn terminating(cluster: &str, namespace: &str) -> String {
    format!("namespace {namespace} on build cluster {cluster} is being deleted")
}

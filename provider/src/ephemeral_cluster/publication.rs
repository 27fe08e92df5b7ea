//! Whether the published credentials are what the cluster has.

use super::{
    conditions::Reason,
    credentials::{Credentials, Published, Source},
    world::Site,
};
use crate::account::Issue;

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
    NotNow(Reason, String),
}

/// Compares what a job's site has with what is published.
pub fn compare(site: &Site, published: &Published) -> Publication {
    let not_now = |reason: Reason, message: String| Publication::NotNow(reason, message);
    let source = match site {
        Site::Unscheduled => {
            let text = "the ProwJob waits for a build cluster";
            return not_now(Reason::ProwJobScheduling, text.into());
        }
        Site::Unknown { cluster } => return not_now(Reason::BuildClusterUnknown, unknown(cluster)),
        Site::Unreachable { cluster, .. } => {
            return not_now(Reason::BuildClusterUnreachable, unreachable(cluster));
        }
        Site::NoNamespace { cluster } => return not_now(Reason::NamespacePending, no_namespace(cluster)),
        Site::Namespace { cluster, name, terminating: true, .. } => {
            return not_now(Reason::NamespacePending, terminating(cluster, name));
        }
        Site::Namespace { source, terminating: false, .. } => source,
    };
    match (source, published) {
        // Said only once the credentials are complete: before that the other reason is the news.
        (
            Source::Complete(_) | Source::Refused | Source::Account(_) | Source::Unchanged,
            Published::Foreign(whose),
        ) => not_now(Reason::CredentialsNotOwned, whose.clone()),
        (Source::Complete(found), Published::Ours { source_revision: Some(made_from), .. })
            if *made_from == found.source_revision =>
        {
            Publication::InSync
        }
        (Source::Complete(found), Published::Ours { .. } | Published::Absent) => {
            Publication::Publish(found.clone())
        }
        (Source::Account(issue), Published::Ours { .. } | Published::Absent) => {
            Publication::Issue(issue.clone())
        }
        (Source::Unchanged, Published::Ours { .. }) => Publication::InSync,
        (Source::Refused, Published::Ours { .. }) => {
            let text =
                "the cluster does not take its new kubeconfig (401); the one that was published before stays";
            not_now(Reason::KubeconfigRejected, text.into())
        }
        // The Secret vanished after it was compared: the next look reads the source.
        (Source::Unchanged | Source::Refused, Published::Absent) => {
            not_now(Reason::CredentialsPending, "the credentials are about to be published again".into())
        }
        (Source::Pending(what), _) => not_now(Reason::CredentialsPending, what.clone()),
        // The error goes to the log: it changes with each try, and may quote unreadable content.
        (Source::Unreadable(_), _) => {
            let text = "the credentials could not be read on the build cluster; tried again";
            not_now(Reason::CredentialsUnreadable, text.into())
        }
    }
}

/// Whether this passes without any word of it, so that it has to be looked at again.
pub const fn cannot_be_watched(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::BuildClusterUnknown
            | Reason::BuildClusterUnreachable
            | Reason::CredentialsUnreadable
            | Reason::KubeconfigRejected
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

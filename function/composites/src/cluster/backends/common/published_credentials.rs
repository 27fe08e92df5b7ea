//! Report of the hub-side provider about credentials in annotation [`STATUS`](testplatform_apis::names::ours::STATUS). It is the same for
//! every kind for which the provider publishes them.

use testplatform_apis::{
    account::Mode,
    condition::Credentials,
    hive_status::{Blocked, BlockingReason, HiveStatus},
    names::ObjectName,
    text::bounded,
};

/// Said of credentials that are the admin's where those of a ServiceAccount were asked for.
pub(in crate::cluster::backends) const ADMIN_PUBLISHED: &str = "the hub publishes the admin's credentials in place of a \
    ServiceAccount's, so they are not read; update the hub's provider, or let it create EphemeralClusters itself";

/// Whether what is published is the admin's, where others were asked for.
pub(in crate::cluster::backends) fn is_admin_published(report: &HiveStatus, account: bool) -> bool {
    let published = report.credentials.as_ref();
    account && published.is_some_and(|published| published.mode != Some(Mode::ServiceAccount))
}

/// The published Secret, and why there is none, or why it is not being updated.
pub(in crate::cluster::backends) type PublishedCredentials =
    (Option<ObjectName>, Option<(Credentials, String)>);

/// Reads the published Secret; None: not reported. Only a Secret with this claim's own name, `own`, counts: otherwise anybody who can write
/// the claim could read another claim's Secret. `account`: a ServiceAccount's credentials were requested, and the admin's are never read
/// then.
pub(in crate::cluster::backends) fn read_published(
    report: &HiveStatus,
    own: &str,
    account: bool,
) -> Option<PublishedCredentials> {
    let missing = |message: &str| Some((None, Some((Credentials::SecretMissing, message.to_owned()))));
    match (&report.credentials, &report.blocking_reason) {
        (Some(_), _) if is_admin_published(report, account) => missing(ADMIN_PUBLISHED),
        (Some(published), why) if published.secret_name == own => {
            let secret = ObjectName::try_from(own).ok()?;
            Some((Some(secret), why.as_ref().map(blocking_message)))
        }
        (Some(_), _) => {
            missing("the hub reports a Secret that does not belong to this claim, so it is not read")
        }
        (None, Some(why)) => Some((None, Some(blocking_message(why)))),
        (None, None) => None,
    }
}

fn blocking_message(why: &BlockingReason) -> (Credentials, String) {
    let message = why.message.as_deref().filter(|m| !m.is_empty());
    (
        credentials_reason(why.reason),
        message.map_or_else(|| default_message(why.reason).into(), |m| bounded(m, 512)),
    )
}

fn credentials_reason(blocked: Blocked) -> Credentials {
    match blocked {
        Blocked::NotAssigned => Credentials::NotAssigned,
        Blocked::NotRunning => Credentials::NotRunning,
        Blocked::MetadataMissing => Credentials::MetadataMissing,
        Blocked::SecretMissing => Credentials::SecretMissing,
        Blocked::KeyMissing => Credentials::KeyMissing,
        Blocked::KubeconfigRejected => Credentials::KubeconfigRejected,
        Blocked::OwnershipMismatch => Credentials::OwnershipMismatch,
    }
}

/// Why credentials are not published, where the hub says no more than a word.
fn default_message(reason: Blocked) -> &'static str {
    match reason {
        Blocked::NotAssigned => "no cluster is assigned to this claim yet",
        Blocked::NotRunning => "the cluster does not run yet",
        Blocked::MetadataMissing => "the cluster has not reported where its credentials are yet",
        Blocked::SecretMissing => "a Secret that the cluster refers to does not exist or must not be read",
        Blocked::KeyMissing => "a Secret of the cluster lacks its key",
        Blocked::KubeconfigRejected => {
            "the cluster's kubeconfig contains something that must not be published"
        }
        Blocked::OwnershipMismatch => "the cluster that the hub assigned belongs to another claim",
    }
}

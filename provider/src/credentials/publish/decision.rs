//! Decisions and reports about the credentials of one object. Pure.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    account::Mode,
    hive_status::{Blocked, BlockingReason, CredentialsReport, HiveStatus},
};
use testplatform_runtime::event::Event;

use crate::credentials::{
    Credentials, Published,
    account::{
        Issue,
        fingerprint::TokenFingerprint,
        plan::{TokenDue, token_due},
    },
    publish::reason::ClaimEventReason,
    published_name,
};

/// Credentials of a cluster at their source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialsSource {
    /// They were not read: publishing is not allowed yet, or not any more.
    Unread,
    /// They cannot be published, and why.
    Blocked(Blocked, String),
    /// They are complete.
    Complete(Credentials),
    /// They are complete, and the cluster does not take their kubeconfig (401), which was asked because another one is published.
    Refused(Credentials),
    /// Not those of the cluster's admin are published, but those of a ServiceAccount that he makes.
    Account(Box<Issue>),
}

/// Decision about the credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialsDecision {
    /// They are written.
    Publish(Credentials),
    /// A token is made, and they are written.
    Issue(Box<Issue>),
    /// They are what the cluster has.
    InSync,
    /// Nothing is done, and why: what is published stays.
    Leave(Blocked, String),
    /// The published Secret is deleted.
    Withdraw(Blocked, String),
}

/// One write, safe to repeat.
#[derive(Clone, Debug, PartialEq)]
pub enum CredentialsOperation {
    /// Creates or updates the object's Secret, labelled as the object's. Fails on a Secret of another owner.
    Publish(Credentials),
    /// Makes a token in the cluster, and then does the same with it.
    Issue(Box<Issue>),
    /// Deletes the object's Secret, if it is labelled as the object's.
    Withdraw,
}

/// Result of following a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionOutcome {
    /// In this order.
    pub actions: Vec<CredentialsOperation>,
    /// Emitted once the report is stored.
    pub events: Vec<Event>,
    /// None: the next reconcile reports it, which the Secret's own event triggers and which knows its revision.
    pub status: Option<CredentialsStatus>,
}

/// Report about the credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialsStatus {
    /// The published Secret.
    pub report: Option<CredentialsReport>,
    /// Why there is none; or why it is not being updated.
    pub blocked: Option<BlockingReason>,
}

/// Compares the source of credentials with the published Secret. None: the source was not read.
pub fn compare(
    source: &CredentialsSource,
    published: &Published,
    now: Timestamp,
) -> Option<CredentialsDecision> {
    let verdict = match (source, published) {
        (CredentialsSource::Unread, _) => return None,
        (CredentialsSource::Blocked(reason, message), _) => {
            CredentialsDecision::Leave(*reason, message.clone())
        }
        (
            CredentialsSource::Complete(_) | CredentialsSource::Refused(_) | CredentialsSource::Account(_),
            Published::Foreign(whose),
        ) => CredentialsDecision::Leave(Blocked::OwnershipMismatch, whose.clone()),
        (
            CredentialsSource::Complete(found) | CredentialsSource::Refused(found),
            Published::Ours { source_revision: Some(made_from), .. },
        ) if *made_from == found.source_revision => CredentialsDecision::InSync,
        (CredentialsSource::Complete(found), Published::Ours { .. } | Published::Absent) => {
            CredentialsDecision::Publish(found.clone())
        }
        (CredentialsSource::Refused(found), Published::Absent) => CredentialsDecision::Publish(found.clone()),
        (CredentialsSource::Refused(found), Published::Ours { .. })
            if !replaces_other_source(found, published) =>
        {
            CredentialsDecision::Publish(found.clone())
        }
        (CredentialsSource::Refused(_), Published::Ours { .. }) => {
            CredentialsDecision::Leave(Blocked::KubeconfigRejected, REFUSED.to_owned())
        }
        (CredentialsSource::Account(issue), Published::Ours { .. } | Published::Absent) => {
            match renewal(issue, published, now) {
                TokenDue::Keep(_) => CredentialsDecision::InSync,
                TokenDue::Renew => CredentialsDecision::Issue(issue.clone()),
            }
        }
    };
    Some(verdict)
}

/// Whether to issue a token instead of the published one, or how long that one is usable.
fn renewal(issue: &Issue, published: &Published, now: Timestamp) -> TokenDue {
    token_due(published, issue.wish.generation, &issue.origin_fingerprint(), now)
}

/// Poll interval for changes without an event: whether a cluster accepts a kubeconfig that it has refused, a Secret that is missing at first,
/// and the cluster's version.
pub const SOON: SignedDuration = SignedDuration::from_secs(30);

/// Shortest poll interval for a token that is about to be renewed.
const MOMENT: SignedDuration = SignedDuration::from_secs(1);

/// Requeue for changes at the source that no event reports. `since` is the time of the cluster's last change.
pub fn recheck_after(
    source: &CredentialsSource,
    published: &Published,
    since: Option<Timestamp>,
    now: Timestamp,
) -> Option<SignedDuration> {
    match (source, published) {
        // An API server may learn of its kubeconfig later than the backend that created it.
        (CredentialsSource::Refused(_), _) => Some(SOON),
        // A token expires without an event, and may be much shorter than requested.
        (CredentialsSource::Account(issue), _) => match renewal(issue, published, now) {
            TokenDue::Keep(until) => Some(until.duration_since(now).max(MOMENT)),
            TokenDue::Renew => None,
        },
        // The object that names the Secret, or grants access, may be ahead of the Secret by a moment. The longer that lasts, the less there is
        // to wait for.
        (
            CredentialsSource::Blocked(Blocked::SecretMissing | Blocked::KeyMissing, _),
            Published::Absent | Published::Foreign(_),
        ) => Some(since.map_or(SOON, |since| now.duration_since(since).max(SOON))),
        (
            CredentialsSource::Blocked(
                Blocked::NotAssigned
                | Blocked::NotRunning
                | Blocked::MetadataMissing
                | Blocked::SecretMissing
                | Blocked::KeyMissing
                | Blocked::KubeconfigRejected
                | Blocked::OwnershipMismatch,
                _,
            )
            | CredentialsSource::Unread
            | CredentialsSource::Complete(_),
            _,
        ) => None,
    }
}

const REFUSED: &str = "the cluster rejects its new kubeconfig (401); the published one stays";

/// Whether new credentials would replace credentials made from another kubeconfig: if so, the cluster is asked whether it accepts the published
/// one. Published credentials of unknown origin are no better than new ones.
pub fn replaces_other_source(found: &Credentials, published: &Published) -> bool {
    // The kubeconfig's state comes first, then the password's.
    let kubeconfig = |revision: &str| revision.split(',').next().unwrap_or_default().to_owned();
    match published {
        Published::Ours { source_revision: Some(made_from), .. } => {
            kubeconfig(made_from) != kubeconfig(&found.source_revision)
        }
        Published::Ours { source_revision: None, .. } | Published::Absent | Published::Foreign(_) => false,
    }
}

/// Follows a verdict on an object's credentials. `stored` is the previous report.
pub fn follow(
    object: &str,
    verdict: CredentialsDecision,
    source: &CredentialsSource,
    published: &Published,
    stored: &HiveStatus,
) -> DecisionOutcome {
    let is_published = matches!(published, Published::Ours { .. });
    let (mut actions, mut events) = (vec![], vec![]);
    let mut status = CredentialsStatus {
        report: is_published.then(|| CredentialsReport {
            secret_name: published_name(object),
            password_available: match source {
                CredentialsSource::Complete(found) => !found.password.0.is_empty(),
                CredentialsSource::Account(_) => false,
                CredentialsSource::Unread
                | CredentialsSource::Blocked(..)
                | CredentialsSource::Refused(_) => {
                    stored.credentials.as_ref().is_some_and(|c| c.password_available)
                }
            },
            mode: TokenFingerprint::of(published).map(|_| Mode::ServiceAccount),
        }),
        blocked: None,
    };
    match verdict {
        CredentialsDecision::Publish(credentials) => {
            actions.push(CredentialsOperation::Publish(credentials));
            if !is_published {
                return DecisionOutcome { actions, events, status: None };
            }
        }
        CredentialsDecision::Issue(issue) => {
            actions.push(CredentialsOperation::Issue(issue));
            if !is_published {
                return DecisionOutcome { actions, events, status: None };
            }
        }
        CredentialsDecision::InSync => {
            if stored.credentials.is_none() {
                let note = format!("the credentials are in Secret {}", published_name(object));
                events.push(event(ClaimEventReason::CredentialsPublished, note));
            }
        }
        CredentialsDecision::Leave(reason, message) => {
            events.extend(warning(reason, &message, stored));
            status.blocked = Some(BlockingReason { reason, message: Some(message) });
        }
        CredentialsDecision::Withdraw(reason, message) => {
            if is_published {
                actions.push(CredentialsOperation::Withdraw);
            }
            // The Secret may be deleted by a reconcile whose report is refused. The one that stores the report emits the event.
            if is_published || stored.credentials.is_some() {
                let note = format!("the credentials were withdrawn: {message}");
                events.push(event(ClaimEventReason::CredentialsWithdrawn, note));
            }
            status = CredentialsStatus {
                report: None,
                blocked: Some(BlockingReason { reason, message: Some(message) }),
            };
        }
    }
    DecisionOutcome { actions, events, status: Some(status) }
}

/// An event with the type that its reason has.
pub fn event(reason: ClaimEventReason, note: String) -> Event {
    Event { warning: reason.is_warning(), reason: reason.as_str().into(), note }
}

/// Worries, once.
fn warning(reason: Blocked, message: &str, stored: &HiveStatus) -> Option<Event> {
    let word = match reason {
        Blocked::KubeconfigRejected => ClaimEventReason::KubeconfigRejected,
        Blocked::OwnershipMismatch => ClaimEventReason::CredentialsNotOwned,
        Blocked::NotAssigned
        | Blocked::NotRunning
        | Blocked::MetadataMissing
        | Blocked::SecretMissing
        | Blocked::KeyMissing => return None,
    };
    let is_new = stored.blocking_reason.as_ref().is_none_or(|stored| stored.reason != reason);
    is_new.then(|| event(word, message.to_owned()))
}

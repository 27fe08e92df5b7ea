//! Decisions and reports about the credentials of one object. Pure.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    account::Mode,
    hive_status::{Blocked, BlockingReason, CredentialsReport, HiveStatus},
};

use crate::{
    account::{
        Issue,
        next::{TokenDue, token_due},
        stamp::TokenFingerprint,
    },
    cluster_claim::reason::Reason,
    ephemeral_cluster::credentials::{Credentials, Published, published_name},
    step::Event,
};

/// The credentials of a cluster, where whoever made it keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// They were not looked at: nothing may be published yet, or any more.
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
pub enum Verdict {
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
pub enum Action {
    /// Creates or updates the object's Secret, labelled as the object's. Fails on a Secret of another owner.
    Publish(Credentials),
    /// Makes a token in the cluster, and then does the same with it.
    Issue(Box<Issue>),
    /// Deletes the object's Secret, if it is labelled as the object's.
    Withdraw,
    /// Tells whoever watches the object.
    Emit(Event),
}

/// Result of following a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Followed {
    /// In this order.
    pub actions: Vec<Action>,
    /// Emitted once the report is stored.
    pub events: Vec<Event>,
    /// None: it is to be told by the next pass, which comes with the Secret's own event and knows its revision.
    pub told: Option<Told>,
}

/// Report about the credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The published Secret.
    pub report: Option<CredentialsReport>,
    /// Why there is none; or why it is not brought up to date.
    pub blocked: Option<BlockingReason>,
}

/// Compares the source of credentials with the published Secret. None: the source was not read.
pub fn compare(source: &Source, published: &Published, now: Timestamp) -> Option<Verdict> {
    let verdict = match (source, published) {
        (Source::Unread, _) => return None,
        (Source::Blocked(reason, message), _) => Verdict::Leave(*reason, message.clone()),
        (Source::Complete(_) | Source::Refused(_) | Source::Account(_), Published::Foreign(whose)) => {
            Verdict::Leave(Blocked::OwnershipMismatch, whose.clone())
        }
        (
            Source::Complete(found) | Source::Refused(found),
            Published::Ours { source_revision: Some(made_from), .. },
        ) if *made_from == found.source_revision => Verdict::InSync,
        (Source::Complete(found), Published::Ours { .. } | Published::Absent) => {
            Verdict::Publish(found.clone())
        }
        (Source::Refused(found), Published::Absent) => Verdict::Publish(found.clone()),
        (Source::Refused(found), Published::Ours { .. }) if !replaces(found, published) => {
            Verdict::Publish(found.clone())
        }
        (Source::Refused(_), Published::Ours { .. }) => {
            Verdict::Leave(Blocked::KubeconfigRejected, REFUSED.to_owned())
        }
        (Source::Account(issue), Published::Ours { .. } | Published::Absent) => {
            match renewal(issue, published, now) {
                TokenDue::Keep(_) => Verdict::InSync,
                TokenDue::Renew => Verdict::Issue(issue.clone()),
            }
        }
    };
    Some(verdict)
}

/// Whether a token is made in place of what is published, or until when that is kept.
fn renewal(issue: &Issue, published: &Published, now: Timestamp) -> TokenDue {
    token_due(published, issue.wish.generation, &issue.origin(), now)
}

/// How soon is looked again for what nothing tells of: whether a cluster takes a kubeconfig that it has refused, what is not there yet at
/// first, and what a cluster has become.
pub const SOON: SignedDuration = SignedDuration::from_secs(30);

/// How soon at most is looked at a token that is about to be due.
const MOMENT: SignedDuration = SignedDuration::from_secs(1);

/// When what a cluster has is looked at again although nothing happened, other than now and then. `since`: when the cluster last became
/// another.
pub fn again(
    source: &Source,
    published: &Published,
    since: Option<Timestamp>,
    now: Timestamp,
) -> Option<SignedDuration> {
    match (source, published) {
        // An API server may learn of its kubeconfig later than whoever made it.
        (Source::Refused(_), _) => Some(SOON),
        // A token goes stale although nothing happens, and may be a much shorter one than was asked for.
        (Source::Account(issue), _) => match renewal(issue, published, now) {
            TokenDue::Keep(until) => Some(until.duration_since(now).max(MOMENT)),
            TokenDue::Renew => None,
        },
        // The object that names the Secret, or grants access, may be ahead of the Secret by a moment. The longer that lasts, the less there is
        // to wait for.
        (
            Source::Blocked(Blocked::SecretMissing | Blocked::KeyMissing, _),
            Published::Absent | Published::Foreign(_),
        ) => Some(since.map_or(SOON, |since| now.duration_since(since).max(SOON))),
        (
            Source::Blocked(
                Blocked::NotAssigned
                | Blocked::NotRunning
                | Blocked::MetadataMissing
                | Blocked::SecretMissing
                | Blocked::KeyMissing
                | Blocked::KubeconfigRejected
                | Blocked::OwnershipMismatch,
                _,
            )
            | Source::Unread
            | Source::Complete(_),
            _,
        ) => None,
    }
}

const REFUSED: &str =
    "the cluster does not take its new kubeconfig (401); the one that was published before stays";

/// Whether new credentials would replace credentials made from another kubeconfig: if so, the cluster is asked whether it accepts the published
/// one. Published credentials of unknown origin are no better than new ones.
pub fn replaces(found: &Credentials, published: &Published) -> bool {
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
    verdict: Verdict,
    source: &Source,
    published: &Published,
    stored: &HiveStatus,
) -> Followed {
    let is_published = matches!(published, Published::Ours { .. });
    let (mut actions, mut events) = (vec![], vec![]);
    let mut told = Told {
        report: is_published.then(|| CredentialsReport {
            secret_name: published_name(object),
            password_available: match source {
                Source::Complete(found) => !found.password.0.is_empty(),
                Source::Account(_) => false,
                Source::Unread | Source::Blocked(..) | Source::Refused(_) => {
                    stored.credentials.as_ref().is_some_and(|c| c.password_available)
                }
            },
            mode: TokenFingerprint::of(published).map(|_| Mode::ServiceAccount),
        }),
        blocked: None,
    };
    match verdict {
        Verdict::Publish(credentials) => {
            actions.push(Action::Publish(credentials));
            if !is_published {
                return Followed { actions, events, told: None };
            }
        }
        Verdict::Issue(issue) => {
            actions.push(Action::Issue(issue));
            if !is_published {
                return Followed { actions, events, told: None };
            }
        }
        Verdict::InSync => {
            if stored.credentials.is_none() {
                let note = format!("the credentials are in Secret {}", published_name(object));
                events.push(event(Reason::CredentialsPublished, note));
            }
        }
        Verdict::Leave(reason, message) => {
            events.extend(warning(reason, &message, stored));
            told.blocked = Some(BlockingReason { reason, message: Some(message) });
        }
        Verdict::Withdraw(reason, message) => {
            if is_published {
                actions.push(Action::Withdraw);
                let note = format!("the credentials were withdrawn: {message}");
                actions.push(Action::Emit(event(Reason::CredentialsWithdrawn, note)));
            }
            told = Told { report: None, blocked: Some(BlockingReason { reason, message: Some(message) }) };
        }
    }
    Followed { actions, events, told: Some(told) }
}

/// An event with the type that its reason has.
pub fn event(reason: Reason, note: String) -> Event {
    Event { warning: reason.is_warning(), reason: reason.as_str().into(), note }
}

/// Worries, once.
fn warning(reason: Blocked, message: &str, stored: &HiveStatus) -> Option<Event> {
    let word = match reason {
        Blocked::KubeconfigRejected => Reason::KubeconfigRejected,
        Blocked::OwnershipMismatch => Reason::CredentialsNotOwned,
        Blocked::NotAssigned
        | Blocked::NotRunning
        | Blocked::MetadataMissing
        | Blocked::SecretMissing
        | Blocked::KeyMissing => return None,
    };
    let is_new = stored.blocking_reason.as_ref().is_none_or(|stored| stored.reason != reason);
    is_new.then(|| event(word, message.to_owned()))
}

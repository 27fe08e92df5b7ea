//! One cluster.
//!
//! ```text
//!   (made) ──runs──▶ (a password is waited for) ──▶ published ──▶ withdrawn
//!      │                        │                      │             ▲
//!      │                        │                      └──(follows)  │
//!      └────────────────────────┴──────── ending, gone ──────────────┘
//! ```
//!
//! Decisions hold whatever is stale, lost or repeated around them:
//!
//! - Credentials are published only of what the function has marked for the namespace in which they are published here, only after
//!   the cluster could be used, and only on what the API server said in this pass.
//! - Once published they stay, however the cluster flaps, until it ends.
//! - The object itself is never changed but for annotations of ours, and never deleted but where its latest end has come.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    hive_status::{Blocked, BlockingReason, HiveStatus},
    names::ours,
};
use testplatform_runtime::{event::Event, reconcile::Action};

use super::{
    observed_state::{ClusterSettings, ClusterState, HolderState},
    overdue::LatestEnd,
};
use crate::credentials::{
    Published,
    cluster_kind::{self as kind, ClusterKind, CredentialsLocation, Password},
    cluster_object::Cluster,
    publish::{
        CredentialsDecision, CredentialsOperation, CredentialsSource, SOON, compare, follow, recheck_after,
    },
};

/// For how long a password is waited for that need not come.
pub const PATIENCE: SignedDuration = SignedDuration::from_mins(2);

/// Plan for one cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterPlan {
    /// In this order. Each may have been executed before, by an incomplete reconcile.
    pub actions: Vec<CredentialsOperation>,
    /// Written after the actions, if it differs from what is stored. None leaves it alone.
    pub status: Option<ClusterAnnotations>,
    /// Emitted once the notes are stored: a decision that is repeated until then emits nothing twice.
    pub events: Vec<Event>,
    /// When to look again although nothing happened.
    pub requeue: Action,
}

/// Annotations on the object, whose status belongs to another controller; they are written together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterAnnotations {
    /// Annotation `…/status`.
    pub status: HiveStatus,
    /// Annotation `…/credentials-revision`: there exactly while credentials are published.
    pub credentials_revision: Option<String>,
}

/// Plans the next step of a cluster.
pub fn plan(
    kind: &dyn ClusterKind,
    object: &Cluster,
    observed: &ClusterState,
    now: Timestamp,
) -> ClusterPlan {
    if !is_ours(object, &observed.published, &observed.settings) || !is_readable(object, &observed.holder) {
        return ClusterPlan::default();
    }
    let stored = stored(object);
    let (source, waits) = source(kind, object, observed, &stored, now);
    let (verdict, again) = evaluate_credentials(kind, object, observed, &source, now);
    let followed = follow(object.name(), verdict, &source, &observed.published, &stored);
    let mut step = ClusterPlan {
        actions: followed.actions,
        events: followed.events,
        status: None,
        requeue: waits.earlier(again),
    };
    if let Some(reported) = followed.status {
        let revision = match &observed.published {
            Published::Ours { revision, .. } => Some(revision.clone()),
            Published::Absent | Published::Foreign(_) => None,
        };
        step.status = Some(ClusterAnnotations {
            credentials_revision: revision.filter(|_| reported.report.is_some()),
            status: HiveStatus {
                credentials: reported.report,
                blocking_reason: reported.blocked,
                ..HiveStatus::default()
            },
        });
    }
    if may_read(kind, object, observed).is_some() {
        step.requeue = step.requeue.earlier(Action::requeue_after(observed.settings.poll));
    }
    if let LatestEnd::Ahead(end) = LatestEnd::of(object, &observed.settings, now) {
        step.requeue = step.requeue.earlier(end);
    }
    step
}

/// Whether a cluster concerns this provider.
pub fn is_ours(object: &Cluster, published: &Published, settings: &ClusterSettings) -> bool {
    let marked = object.is_marked_for(&settings.credentials_namespace);
    !object.uid().is_empty() && (marked || matches!(published, Published::Ours { .. }))
}

/// The object with the credentials, if its Secrets may be read and published: the safe moment. Said before they are read, so that
/// they are read for nothing else.
pub fn may_read<'a>(
    kind: &dyn ClusterKind,
    object: &'a Cluster,
    observed: &'a ClusterState,
) -> Option<&'a Cluster> {
    let holder = match &observed.holder {
        HolderState::Itself => object,
        HolderState::Here(holder) => holder,
        HolderState::NotNamed | HolderState::Gone => return None,
    };
    let ends = object.is_deleted() || holder.is_deleted();
    let runs = kind.runs(holder).is_ok() || ever_published(object, &observed.published);
    let ours =
        is_ours(object, &observed.published, &observed.settings) && is_readable(object, &observed.holder);
    (ours && runs && !ends).then_some(holder)
}

/// Its credentials were published, which they only are of what could be used. Later it may stop.
fn ever_published(object: &Cluster, published: &Published) -> bool {
    matches!(published, Published::Ours { .. }) || object.annotation(ours::CREDENTIALS_REVISION).is_some()
}

fn is_readable(object: &Cluster, holder: &HolderState) -> bool {
    let behind = match holder {
        HolderState::Here(holder) => holder.is_readable(),
        HolderState::Itself | HolderState::NotNamed | HolderState::Gone => true,
    };
    object.is_readable() && behind
}

/// Stored annotations. Unreadable ones count as missing and are written again.
fn stored(object: &Cluster) -> HiveStatus {
    let text = object.annotation(ours::STATUS);
    text.and_then(|text| HiveStatus::from_annotation(text).ok()).unwrap_or_default()
}

/// Decides about the credentials, and when the decision changes without an event.
fn evaluate_credentials(
    kind: &dyn ClusterKind,
    object: &Cluster,
    observed: &ClusterState,
    source: &CredentialsSource,
    now: Timestamp,
) -> (CredentialsDecision, Action) {
    let withdraw = |what: &str| CredentialsDecision::Withdraw(Blocked::NotRunning, what.into());
    // No event reports the change.
    let soon = Action::requeue_after(SOON);
    let leave =
        |why: Blocked, what: &str| (CredentialsDecision::Leave(why, what.to_owned()), Action::AwaitChange);
    let made = kind.backend().cluster_kind().kind;
    if object.is_deleted() {
        return (withdraw(&format!("the {made} is being deleted")), Action::AwaitChange);
    }
    match (&observed.holder, kind.holder(object)) {
        (HolderState::Gone, _) => return (withdraw("the HostedCluster that it names does not exist"), soon),
        (HolderState::Here(holder), _) if holder.is_deleted() => {
            return (withdraw("the HostedCluster that it names is being deleted"), soon);
        }
        (HolderState::NotNamed, kind::CredentialsHolder::NotNamed(why)) => {
            return leave(Blocked::NotAssigned, why);
        }
        (HolderState::NotNamed | HolderState::Itself | HolderState::Here(_), _) => {}
    }
    let Some(holder) = may_read(kind, object, observed) else {
        let why = match &observed.holder {
            HolderState::Itself => kind.runs(object),
            HolderState::Here(holder) => kind.runs(holder),
            HolderState::NotNamed | HolderState::Gone => Ok(()),
        };
        let verdict =
            CredentialsDecision::Leave(Blocked::NotRunning, why.err().unwrap_or("it was not read").into());
        let is_present = matches!(observed.holder, HolderState::Here(_));
        return (verdict, if is_present { soon } else { Action::AwaitChange });
    };
    if let Err(why) = kind.place(holder) {
        return leave(Blocked::MetadataMissing, why);
    }
    let unread = || CredentialsDecision::Leave(Blocked::NotRunning, "it was not read".to_owned());
    let changed = holder.status.value.conditions.iter().filter_map(|c| c.last_transition_time).max();
    // Not of what is only waited for.
    let recheck = recheck_after(&observed.source, &observed.published, changed, now);
    let recheck = recheck.map_or(Action::AwaitChange, Action::requeue_after);
    (compare(source, &observed.published, now).unwrap_or_else(unread), recheck)
}

/// The credentials as far as they count, and until when: while a password is waited for, they are not complete.
fn source<'a>(
    kind: &dyn ClusterKind,
    object: &Cluster,
    observed: &'a ClusterState,
    stored: &HiveStatus,
    now: Timestamp,
) -> (Cow<'a, CredentialsSource>, Action) {
    let found = (Cow::Borrowed(&observed.source), Action::AwaitChange);
    let Some((reason, message)) = &observed.lacks else { return found };
    let place = may_read(kind, object, observed).and_then(|holder| kind.place(holder).ok());
    match place.and_then(|place| password_deadline(&place, stored, now)) {
        Some(until) => (Cow::Owned(CredentialsSource::Blocked(*reason, message.clone())), until),
        None => found,
    }
}

/// Deadline of the wait for a missing password, if there is one. A published password is never withdrawn.
fn password_deadline(place: &CredentialsLocation<'_>, stored: &HiveStatus, now: Timestamp) -> Option<Action> {
    let Password::Perhaps { since, .. } = &place.password else { return None };
    if stored.credentials.as_ref().is_some_and(|reported| reported.password_available) {
        return Some(Action::AwaitChange);
    }
    // A time in the future only means that another clock wrote it.
    let over = (*since)?.min(now).saturating_add(PATIENCE).ok()?;
    (over > now).then(|| Action::requeue_after(over.duration_since(now)))
}

/// Annotations after an operation failed, if the failure concerns the owner of the cluster. `said` is a message that does not change from try
/// to try, and quotes no secret.
pub fn failed(object: &Cluster, action: &CredentialsOperation, said: &str) -> Option<ClusterAnnotations> {
    match action {
        CredentialsOperation::Publish(_) | CredentialsOperation::Issue(_) => {}
        CredentialsOperation::Withdraw => return None,
    }
    let mut status = stored(object);
    let message = format!("the credentials cannot be published: {said}");
    status.blocking_reason = Some(BlockingReason { reason: Blocked::SecretMissing, message: Some(message) });
    let credentials_revision = object.annotation(ours::CREDENTIALS_REVISION).map(str::to_owned);
    Some(ClusterAnnotations { status, credentials_revision })
}

/// Whether anything has to be read from the API server before the decision: published credentials cannot be recalled, and withdrawn ones are
/// missed.
pub fn needs_fresh_read(
    kind: &dyn ClusterKind,
    object: &Cluster,
    published: &Published,
    settings: &ClusterSettings,
) -> bool {
    let begun = match kind.holder(object) {
        kind::CredentialsHolder::Itself => kind.runs(object).is_ok(),
        kind::CredentialsHolder::NotNamed(_) => false,
        kind::CredentialsHolder::Underlying { .. } => true,
    };
    is_ours(object, published, settings) && (begun || ever_published(object, published))
}

/// Progress of a cluster, as a label value of metrics.
pub fn progress(object: &Cluster) -> &'static str {
    let blocked = stored(object).blocking_reason.is_some_and(|why| match why.reason {
        Blocked::NotAssigned | Blocked::NotRunning => false,
        Blocked::MetadataMissing
        | Blocked::SecretMissing
        | Blocked::KeyMissing
        | Blocked::KubeconfigRejected
        | Blocked::OwnershipMismatch => true,
    });
    let published = object.annotation(ours::CREDENTIALS_REVISION).is_some();
    match (object.is_deleted(), blocked, published) {
        (true, _, _) => "releasing",
        (false, true, _) => "blocked",
        (false, false, true) => "published",
        (false, false, false) => "provisioning",
    }
}

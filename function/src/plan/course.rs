//! Where the claim stands: phase, what ended it, which deadlines hold. The same for every backend.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    condition::{ConditionType, Failure, JobCompleted},
    names::ours,
    phase::Phase,
};

use crate::{
    backend::{Health, Stage, known_secret},
    observed::{Details, Link, Observed, Writer},
    validate::Validated,
};

/// How long before its end a cluster is called Expiring, at most; a tenth of its lifetime if that is less.
const EXPIRING: SignedDuration = SignedDuration::from_mins(15);

/// Where the claim stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The phase that the owner sees.
    pub phase: Phase,
    /// Why it Failed, if it did.
    pub failure: Option<Failure>,
    /// Why nothing is left that costs money, if so.
    pub over: Option<Over>,
    /// Whether it is or ever was ready.
    pub ever_ready: bool,
    /// Whether the remote object is told to end.
    pub teardown: bool,
    /// Whether that is because its lifetime is over.
    pub expired: bool,
    /// Whether the end is near.
    pub expiring: bool,
    /// Whether it is later than nine in ten of its kind.
    pub late: bool,
    /// Whether what was asked for vanished before it was taken up, and is asked for again.
    pub again: bool,
    /// What the composite's connection Secret is to hold; none: not written.
    pub details: Option<Details>,
    /// The Secret on the hub.
    pub secret: Option<String>,
    /// When the composite was made.
    pub started_at: Option<Timestamp>,
    /// When the cluster was first ready.
    pub ready_at: Option<Timestamp>,
    /// When its lifetime ends.
    pub expires_at: Option<Timestamp>,
    /// By when nine in ten of its kind are ready.
    pub estimated_ready_at: Option<Timestamp>,
    /// When it will have taken too long; none once that no longer counts.
    pub provision_deadline: Option<Timestamp>,
    /// The next point in time at which this answer changes by itself.
    pub next_deadline: Option<Timestamp>,
}

/// Why nothing is left that costs money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// Reason of `ProwJobCompleted=True`.
    pub reason: String,
    /// The hub's words, if it has any.
    pub words: String,
}

impl From<JobCompleted> for Over {
    fn from(reason: JobCompleted) -> Self {
        Self { reason: reason.as_str().to_owned(), words: String::new() }
    }
}

/// A claim that is invalid in what cannot change, and for which nothing was made.
pub(super) fn invalid(observed: &Observed) -> Course {
    Course {
        phase: Phase::Failed,
        failure: Some(Failure::InvalidClaim),
        over: Some(JobCompleted::NothingToTearDown.into()),
        ever_ready: false,
        teardown: false,
        expired: false,
        expiring: false,
        late: false,
        again: false,
        details: Some(Details::emptied()),
        secret: None,
        started_at: observed.composite.metadata.creation_timestamp,
        ready_at: None,
        expires_at: None,
        estimated_ready_at: None,
        provision_deadline: None,
        next_deadline: None,
    }
}

pub(super) fn chart(request: &Validated, observed: &Observed, health: &Health, now: Timestamp) -> Course {
    let writer = observed.writer.as_ref();
    let secret = known_secret(observed, health);
    let fresh = secret.as_deref().and_then(|name| observed.credentials.as_ref()?.of(name));
    let was_ready = observed.ever_ready();
    let ever_ready = was_ready || (health.stage == Stage::Ready && fresh.is_some());

    let started_at = observed.composite.metadata.creation_timestamp;
    let ready_at = ever_ready.then(|| ready_at(observed, health)).flatten();
    let life = request.lifetime.effective;
    let expires_at = ready_at.zip(life).and_then(|(at, life)| at.checked_add(life.get()).ok());
    let passed = |deadline: Option<Timestamp>| deadline.is_some_and(|d| d <= now);
    let expired = passed(expires_at);
    let expiring_at =
        expires_at.zip(life).and_then(|(end, life)| end.checked_sub((life.get() / 10).min(EXPIRING)).ok());
    let by_owner = request.teardown == Some(true);
    let asked = by_owner || writer.is_some_and(Writer::asks_for_teardown);
    let provision_deadline =
        started_at.filter(|_| !ever_ready).and_then(|at| at.checked_add(provision_timeout(request)).ok());
    let estimated_ready_at = started_at
        .and_then(|at| {
            let estimate = observed.environment.estimate(health.workflow.as_deref()?)?;
            at.checked_add(estimate.get()).ok()
        })
        .or(observed.composite.status.estimated_ready_at);

    let facts = Facts {
        observed,
        health,
        ever_ready,
        asked,
        by_owner,
        expired,
        timed_out: passed(provision_deadline),
    };
    let (phase, failure, again) = facts.verdict();
    let over = facts.over(phase, failure);
    let failed_by_us = failure
        .is_some_and(|f| !matches!(f, Failure::ProwJobFailed | Failure::HubRefused | Failure::InvalidClaim));
    let settled = matches!(phase, Phase::Deprovisioned | Phase::Failed);
    let waiting = matches!(phase, Phase::Pending | Phase::Provisioning);
    let deadlines = [
        provision_deadline.filter(|_| waiting),
        estimated_ready_at.filter(|_| waiting),
        expiring_at.filter(|_| !settled && !asked),
        expires_at.filter(|_| !settled && !asked),
    ];
    Course {
        phase,
        failure,
        details: details(phase, over.is_some(), ever_ready, fresh, observed),
        over,
        ever_ready,
        teardown: asked || expired || failed_by_us,
        expired,
        expiring: passed(expiring_at) && !settled,
        late: waiting && passed(estimated_ready_at),
        again,
        secret,
        started_at,
        ready_at,
        expires_at,
        estimated_ready_at,
        provision_deadline: provision_deadline.filter(|_| waiting),
        next_deadline: deadlines.into_iter().flatten().filter(|d| *d > now).min(),
    }
}

/// Once said, it stays: the upstream controller moves transition times. Without a status, the hub's own condition
/// tells it, then the time at which core first showed ours.
fn ready_at(observed: &Observed, health: &Health) -> Option<Timestamp> {
    let shown = observed.composite.shown(ConditionType::ClusterReady).filter(|c| c.is_true());
    observed
        .composite
        .status
        .ready_at
        .or(health.ready_since)
        .or_else(|| shown.and_then(|c| c.last_transition_time))
}

fn provision_timeout(request: &Validated) -> SignedDuration {
    // What the hub was told at birth holds, whatever the input says by now.
    request.lifetime.provision_timeout.unwrap_or(request.settings.default_provision_timeout).get()
}

struct Facts<'a> {
    observed: &'a Observed,
    health: &'a Health,
    ever_ready: bool,
    asked: bool,
    by_owner: bool,
    expired: bool,
    timed_out: bool,
}

impl Facts<'_> {
    /// Phase, why it Failed, and whether to ask again. Latches first: what was final stays final.
    fn verdict(&self) -> (Phase, Option<Failure>, bool) {
        let status = &self.observed.composite.status;
        let note = |key| self.observed.writer.as_ref().and_then(|w| w.object.metadata.annotation(key));
        let noted = note(ours::FAILED).map(|f| Failure::parse(f).unwrap_or(Failure::Earlier));
        if noted.is_some() || status.phase == Some(Phase::Failed) {
            let why = noted.or_else(|| self.judge().1).unwrap_or(Failure::Earlier);
            return (Phase::Failed, Some(why), false);
        }
        if note(ours::OVER).is_some() || status.phase == Some(Phase::Deprovisioned) {
            return (Phase::Deprovisioned, None, false);
        }
        self.judge()
    }

    fn judge(&self) -> (Phase, Option<Failure>, bool) {
        let failed = |why| (Phase::Failed, Some(why), false);
        let plain = |phase| (phase, None, false);
        let ending = self.asked || self.expired;
        let Some(writer) = &self.observed.writer else {
            return match (self.observed.made_before(), ending, self.timed_out) {
                (_, true, _) => plain(Phase::Deprovisioned),
                (true, false, _) => failed(Failure::WriterLost),
                (false, false, true) => failed(Failure::ProvisionTimeout),
                (false, false, false) => plain(Phase::Pending),
            };
        };
        match &writer.link {
            Link::Deleted if ending => return plain(Phase::Deprovisioned),
            Link::Deleted
                if !self.health.bound && !self.ever_ready && writer.attempt() < 2 && !self.timed_out =>
            {
                return (Phase::Pending, None, true);
            }
            Link::Deleted => return failed(Failure::RemoteDeleted),
            Link::Replaced => return failed(Failure::RemoteReplaced),
            Link::UnknownField(_) if writer.remote().is_none() && !ending => {
                return failed(Failure::UnknownField);
            }
            Link::Unknown
            | Link::InSync
            | Link::UnknownField(_)
            | Link::Refused(_)
            | Link::Unreachable(_)
            | Link::Paused => {}
        }
        match &self.health.stage {
            Stage::Ended { success: true, .. } => return plain(Phase::Deprovisioned),
            Stage::Ended { success: false, .. } => return failed(Failure::ProwJobFailed),
            Stage::Refused { .. } => return failed(Failure::HubRefused),
            Stage::Unborn | Stage::Provisioning | Stage::Ready | Stage::TearingDown | Stage::Failing(_) => {}
        }
        if ending {
            let left = writer.may_exist();
            return plain(if left { Phase::Deprovisioning } else { Phase::Deprovisioned });
        }
        if self.timed_out {
            return failed(Failure::ProvisionTimeout);
        }
        plain(match (&self.health.stage, self.ever_ready) {
            (Stage::TearingDown, _) => Phase::Deprovisioning,
            (Stage::Ready, true) => Phase::Ready,
            (_, true) => Phase::Degraded,
            (Stage::Unborn, false) => Phase::Pending,
            (_, false) => Phase::Provisioning,
        })
    }

    /// Why nothing is left that costs money, once that is so. Latched like the phase.
    fn over(&self, phase: Phase, failure: Option<Failure>) -> Option<Over> {
        if !matches!(phase, Phase::Deprovisioned | Phase::Failed) {
            return None;
        }
        let writer = self.observed.writer.as_ref();
        let ended = match &self.health.stage {
            Stage::Ended { reason, words, .. } => Some(Over {
                reason: if reason.is_empty() {
                    JobCompleted::TornDown.as_str().into()
                } else {
                    reason.clone()
                },
                words: words.clone(),
            }),
            Stage::Refused { costs: false, .. } => Some(JobCompleted::NothingToTearDown.into()),
            _ => None,
        };
        let deleted = writer.is_some_and(|w| w.link == Link::Deleted);
        let nothing = JobCompleted::NothingToTearDown.as_str();
        let noted = writer.and_then(|w| w.object.metadata.annotation(ours::OVER));
        // What turned up after nothing seemed to exist, and is gone now, was something.
        if let Some(noted) = noted.filter(|noted| !(deleted && *noted == nothing)) {
            // The hub's words are not noted; they are shown as long as they match.
            let same = ended.filter(|o| o.reason == noted);
            return Some(same.unwrap_or_else(|| Over { reason: noted.to_owned(), words: String::new() }));
        }
        let shown = self.observed.composite.shown(ConditionType::ProwJobCompleted);
        let latched = shown.filter(|c| c.is_true() && self.was_final()).map(|c| c.reason.clone());
        let gone = match writer.map(|w| &w.link) {
            Some(Link::Deleted) if phase == Phase::Deprovisioned => Some(self.ending_reason()),
            Some(Link::Deleted) => Some(JobCompleted::RemoteDeleted),
            Some(Link::Replaced) => Some(JobCompleted::RemoteReplaced),
            Some(_) => (!writer.is_some_and(Writer::may_exist)).then_some(JobCompleted::NothingToTearDown),
            None if failure == Some(Failure::WriterLost) => Some(JobCompleted::RemoteDeleted),
            None if self.observed.made_before() => Some(self.ending_reason()),
            None => Some(JobCompleted::NothingToTearDown),
        };
        ended
            .or_else(|| latched.map(|reason| Over { reason, words: String::new() }))
            .or_else(|| gone.map(Over::from))
            .or_else(
                // Deprovisioned is latched with something alive again: said once, it stays said; policies see to the rest.
                || (phase == Phase::Deprovisioned).then(|| self.ending_reason().into()),
            )
    }

    fn was_final(&self) -> bool {
        matches!(self.observed.composite.status.phase, Some(Phase::Deprovisioned | Phase::Failed))
    }

    fn ending_reason(&self) -> JobCompleted {
        if self.expired && !self.by_owner { JobCompleted::Expired } else { JobCompleted::TornDown }
    }
}

fn details(
    phase: Phase,
    over: bool,
    ever_ready: bool,
    fresh: Option<&Details>,
    observed: &Observed,
) -> Option<Details> {
    let last = || ever_ready.then(|| last(fresh, observed)).flatten();
    match phase {
        Phase::Pending | Phase::Provisioning => None,
        Phase::Ready | Phase::Degraded | Phase::Deprovisioning => last(),
        Phase::Failed if !over => last(),
        Phase::Deprovisioned | Phase::Failed => Some(Details::emptied()),
    }
}

/// The freshest that there is: once given, they are never withdrawn before the end.
fn last(fresh: Option<&Details>, observed: &Observed) -> Option<Details> {
    let credentials = observed.credentials.as_ref().map(|c| &c.details).filter(|d| d.has_kubeconfig());
    let own = Some(&observed.details).filter(|d| d.has_kubeconfig());
    fresh.or(own).or(credentials).cloned()
}

//! What the facts amount to: phase, failure, and whether anything is left that costs money.

use testplatform_apis::{
    condition::{ConditionType, Failure, JobCompleted},
    names::ours,
    phase::Phase,
};

use super::Over;
use crate::{
    backend::{Health, Stage},
    observed::{Link, Observed, Writer},
};

/// Everything that the verdict depends on.
pub(super) struct Facts<'a> {
    pub observed: &'a Observed,
    pub health: &'a Health,
    pub ever_ready: bool,
    /// The end was asked for, now or ever.
    pub asked: bool,
    /// … by the claim as it stands.
    pub by_owner: bool,
    pub expired: bool,
    pub timed_out: bool,
}

impl Facts<'_> {
    /// Phase, why it Failed, and whether to ask again. Latches first: what was final stays final.
    pub fn verdict(&self) -> (Phase, Option<Failure>, bool) {
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
    pub fn over(&self, phase: Phase, failure: Option<Failure>) -> Option<Over> {
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

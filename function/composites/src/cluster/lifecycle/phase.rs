//! Decides phase, failure, and whether anything is left that costs money.

use testplatform_apis::{
    condition::{ConditionType, Failure, JobCompleted, split_completion},
    names::ours,
    phase::Phase,
};

use super::Completion;
use crate::{
    cluster::{
        backends::{Health, Stage},
        observed::{Observed, PrimaryObject},
    },
    objects::SyncState,
};

/// Input of the phase decision.
pub(super) struct PhaseInputs<'a> {
    /// The cluster is ended by removing its primary Object.
    pub ends_by_removal: bool,
    pub observed: &'a Observed,
    pub health: &'a Health,
    pub ever_ready: bool,
    /// Teardown was requested, now or earlier.
    pub teardown_requested: bool,
    pub expired: bool,
    /// The end of its lifetime is the cause of its end.
    pub lifetime_ended: bool,
    pub timed_out: bool,
    /// The hub does not know a field that the tenant wrote.
    pub unknown_to_hub: bool,
}

impl PhaseInputs<'_> {
    /// Phase, cause of a failure, and whether to request the object again. Latches come first: a final phase stays final.
    pub fn decide_phase(&self) -> (Phase, Option<Failure>, bool) {
        let status = &self.observed.composite.status;
        let note = |key| self.observed.annotation(key);
        let recorded = note(ours::FAILED).map(|f| Failure::parse(f).unwrap_or(Failure::Earlier));
        if recorded.is_some() || status.phase == Some(Phase::Failed) {
            // Without a primary Object the cause was never recorded: it is derived again, or was reported before.
            let rederived = || self.derive_phase().1.filter(|f| *f != Failure::WriterLost);
            let why = recorded.or_else(rederived).unwrap_or(Failure::Earlier);
            return (Phase::Failed, Some(why), false);
        }
        if note(ours::OVER).is_some() || status.phase == Some(Phase::Deprovisioned) {
            return (Phase::Deprovisioned, None, false);
        }
        match self.derive_phase() {
            (Phase::Deprovisioned, None, _) if self.health.orphaned.is_some() => {
                (Phase::Deprovisioning, None, false)
            }
            evaluation => evaluation,
        }
    }

    fn derive_phase(&self) -> (Phase, Option<Failure>, bool) {
        let failed = |why| (Phase::Failed, Some(why), false);
        let plain = |phase| (phase, None, false);
        let ending = self.teardown_requested || self.expired;
        let Some(primary) = &self.observed.primary else {
            let may_exist = self.observed.cluster_may_exist();
            // The deadline applies again to a claim without a cluster, if core lost the earlier result.
            if self.timed_out && !ending && !may_exist && self.observed.was_pending() {
                return failed(Failure::ProvisionTimeout);
            }
            // Emptied keys prove an observed end.
            if self.ends_by_removal && self.observed.was_made_before() && !may_exist {
                return plain(Phase::Deprovisioned);
            }
            return match (self.observed.was_made_before(), ending, self.timed_out) {
                // The primary Object is gone; a search has to show whether the cluster is gone too.
                (true, true, _) if may_exist => plain(Phase::Deprovisioning),
                (true, false, _) if self.ever_ready => plain(Phase::Degraded),
                (true, false, _) => plain(Phase::Provisioning),
                (_, true, _) => plain(Phase::Deprovisioned),
                (false, false, true) => failed(Failure::ProvisionTimeout),
                (false, false, false) => plain(Phase::Pending),
            };
        };
        if primary.is_probing() && primary.found_nothing() {
            return if ending { plain(Phase::Deprovisioned) } else { failed(Failure::WriterLost) };
        }
        match &primary.sync {
            SyncState::Deleted if ending || self.observed.transfer.is_released() => {
                return plain(Phase::Deprovisioned);
            }
            SyncState::Deleted
                if !self.health.has_cluster
                    && !self.ever_ready
                    && self.observed.is_first_attempt(primary)
                    && !self.timed_out
                    // A cluster that was taken over had an owner already.
                    && self.observed.transfer.adopted().is_none() =>
            {
                return (Phase::Pending, None, true);
            }
            SyncState::Deleted => return failed(Failure::RemoteDeleted),
            // The name is free again, so the removed object is gone.
            SyncState::Replaced if self.is_removed() => return plain(Phase::Deprovisioned),
            SyncState::Replaced => return failed(Failure::RemoteReplaced),
            SyncState::UnknownField(_)
                if self.unknown_to_hub && primary.remote_uid().is_none() && !ending =>
            {
                return failed(Failure::UnknownField);
            }
            SyncState::Unknown
            | SyncState::InSync
            | SyncState::UnknownField(_)
            | SyncState::Refused(_)
            | SyncState::Unavailable(_)
            | SyncState::Paused => {}
        }
        match &self.health.stage {
            Stage::Ended { success: true, .. } => return plain(Phase::Deprovisioned),
            Stage::Ended { success: false, .. } => return failed(Failure::ProwJobFailed),
            Stage::Refused { .. } => return failed(Failure::HubRefused),
            Stage::Lost(_) if !ending => return failed(Failure::ClusterDeleted),
            Stage::Lost(_)
            | Stage::NotObserved
            | Stage::Queued
            | Stage::Provisioning
            | Stage::Ready
            | Stage::TearingDown
            | Stage::Failing(_) => {}
        }
        if ending {
            let may_exist = primary.remote_may_exist();
            return plain(if may_exist { Phase::Deprovisioning } else { Phase::Deprovisioned });
        }
        if self.timed_out {
            return failed(Failure::ProvisionTimeout);
        }
        plain(match (&self.health.stage, self.ever_ready) {
            (Stage::TearingDown, _) => Phase::Deprovisioning,
            (Stage::Ready, true) => Phase::Ready,
            (_, true) => Phase::Degraded,
            (Stage::NotObserved | Stage::Queued, false) => Phase::Pending,
            (_, false) => Phase::Provisioning,
        })
    }

    /// Decides the completion: the proof that nothing is left that incurs cost. It is latched like the phase.
    pub fn decide_completion(&self, phase: Phase, failure: Option<Failure>) -> Option<Completion> {
        if !matches!(phase, Phase::Deprovisioned | Phase::Failed) {
            return None;
        }
        let primary = self.observed.primary.as_ref();
        let ended = match &self.health.stage {
            Stage::Ended { reason, message: words, .. } => Some(Completion {
                reason: if reason.is_empty() {
                    JobCompleted::TornDown.as_str().into()
                } else {
                    reason.clone()
                },
                message: words.clone(),
            }),
            Stage::Refused { costs: false, .. } => Some(JobCompleted::NothingToTearDown.into()),
            _ => None,
        };
        let deleted = primary.is_some_and(|w| w.sync == SyncState::Deleted);
        let nothing = JobCompleted::NothingToTearDown.as_str();
        let running = primary.is_some_and(|w| w.remote().is_some()) && !self.health.stage.is_terminal();
        // An end is void if nothing was recorded and something turned up, or if the hub reported it and the cluster runs again. An object
        // that this function found missing is different: its observation is only the last one.
        let hubs_word = |reason: &str| JobCompleted::parse(reason).is_none();
        let is_valid = |reason: &&str| {
            if *reason == nothing { !(deleted || running) } else { !(running && hubs_word(reason)) }
        };
        let recorded = primary.and_then(|w| w.object.metadata.annotation(ours::OVER)).filter(is_valid);
        if let Some(noted) = recorded {
            // The hub's message is not recorded; it is shown as long as the reason matches.
            let same = ended.filter(|o| o.reason == noted);
            return Some(
                same.unwrap_or_else(|| Completion { reason: noted.to_owned(), message: String::new() }),
            );
        }
        let vanished = match primary.map(|w| &w.sync) {
            _ if phase == Phase::Failed && self.health.orphaned.is_some() => None,
            Some(SyncState::Deleted) if phase == Phase::Deprovisioned => Some(self.teardown_reason()),
            Some(SyncState::Replaced) if self.is_removed() => Some(self.teardown_reason()),
            Some(SyncState::Deleted) => Some(JobCompleted::RemoteDeleted),
            Some(SyncState::Replaced) => Some(JobCompleted::RemoteReplaced),
            Some(_) if primary.is_some_and(PrimaryObject::remote_may_exist) => None,
            Some(_) if matches!(failure, Some(Failure::WriterLost | Failure::RemoteDeleted)) => {
                Some(JobCompleted::RemoteDeleted)
            }
            Some(_) if self.ever_ready || self.observed.cluster_may_exist() => Some(self.teardown_reason()),
            // A search has to come first.
            None if self.observed.cluster_may_exist() => None,
            None if self.ends_by_removal
                && self.observed.was_made_before()
                && !self.observed.nothing_was_created() =>
            {
                Some(self.teardown_reason())
            }
            Some(_) | None => Some(JobCompleted::NothingToTearDown),
        };
        // Without a primary Object there is no annotation; the shown condition holds.
        let shown = self.observed.composite.shown(ConditionType::ProwJobCompleted);
        let shown = shown.filter(|c| c.is_true() && primary.is_none() && was_final(self.observed));
        let shown = shown.map(|c| Completion {
            reason: split_completion(&c.reason, &c.message).0.to_owned(),
            message: String::new(),
        });
        // A cluster that may exist has to be searched for, whatever was recorded.
        let remembered = self.observed.completion_record.as_ref().and_then(|e| e.annotation(ours::OVER));
        let remembered = remembered
            .filter(|reason| primary.is_none() && !(*reason == nothing && self.observed.cluster_may_exist()));
        let remembered = || remembered.map(|r| Completion { reason: r.to_owned(), message: String::new() });
        ended.or(shown).or_else(remembered).or_else(|| vanished.map(Completion::from))
    }

    /// Whether the primary Object was removed, which ends the cluster.
    fn is_removed(&self) -> bool {
        self.ends_by_removal && self.observed.is_teardown_recorded()
    }

    fn teardown_reason(&self) -> JobCompleted {
        let recorded = self.observed.annotation(ours::ENDING).and_then(JobCompleted::parse);
        if let Some(noted) = recorded.filter(|r| matches!(r, JobCompleted::TornDown | JobCompleted::Expired))
        {
            return noted;
        }
        if self.lifetime_ended { JobCompleted::Expired } else { JobCompleted::TornDown }
    }
}

/// Whether an earlier pass reported Failed or Deprovisioned.
pub(super) fn was_final(observed: &Observed) -> bool {
    observed.is_final()
}

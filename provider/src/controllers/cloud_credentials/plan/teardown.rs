//! Teardown: the cluster's object is deleted.

use std::collections::BTreeSet;

use jiff::Timestamp;
use testplatform_apis::cloud::CredentialPhase;
use testplatform_runtime::time::saturating_add;

use super::{
    BATCH, CredentialStep, DeletionResult, GIVE_UP, GO_ON, IdentityError, ObservedCredential, RETRY,
    StepResults, StoredSecret, UNREAD, report_state,
};
use crate::{
    controllers::cloud_credentials::record::{CredentialRecord, CredentialRef},
    manifests::requests::{GracePeriod, grace_period},
};

/// The cluster is deleted: deletes all of its credentials, then the Secret, then releases the request. `deleted` is the deletion time of the
/// request.
pub(super) fn tear_down(
    scene: &ObservedCredential,
    known: &StepResults,
    deleted: Timestamp,
    now: Timestamp,
) -> CredentialStep {
    if known.withdrawn {
        return CredentialStep::Release;
    }
    match grace_period(deleted, scene.removing, now) {
        GracePeriod::Starting => return CredentialStep::Mark(Some(now)),
        GracePeriod::Remaining(rest) => return CredentialStep::Later(rest),
        GracePeriod::Elapsed => {}
    }
    let remaining = remaining_credentials(scene, known);
    let mut silent = (scene.unread && may_have_any(scene, &remaining)).then(|| UNREAD.to_owned());
    for issuer in possible_issuers(scene).into_iter().filter(|_| !scene.unread) {
        match known.listed.get(&issuer) {
            None => return CredentialStep::List(issuer),
            Some(Err(IdentityError::Unreachable)) => silent = Some(SILENT.to_owned()),
            Some(Err(fault @ IdentityError::TooLarge)) if may_have_made(scene, &issuer) => {
                silent = Some(fault.describe_for(&issuer));
            }
            // It never blocks: who is not known, or may not, has nothing that could be deleted through them.
            Some(Ok(_) | Err(_)) => {}
        }
    }
    let mut more = false;
    for one in remaining.iter().filter(|_| !scene.unread) {
        match known.removed.get(&one.id) {
            Some(DeletionResult::Gone | DeletionResult::Left | DeletionResult::Nobody) => {}
            None if !known.is_tried(one) && known.removed.len() < BATCH => {
                return CredentialStep::Remove(one.clone());
            }
            None if !known.is_tried(one) => more = true,
            None | Some(DeletionResult::Unreachable) => silent = Some(SILENT.to_owned()),
        }
    }
    // Where none of so many may be deleted, the others may not either.
    let more = more && known.removed.values().any(|removal| *removal == DeletionResult::Gone);
    let over = scene.removing.is_some_and(|since| saturating_add(since, GIVE_UP) <= now);
    if (more || silent.is_some()) && !over {
        if scene.removing.is_none() {
            return CredentialStep::Mark(Some(now));
        }
        let record = scene.record();
        if let Some(progress) = record.map(|record| record_progress(scene, known, record.clone(), more))
            && record != Some(&progress)
        {
            return CredentialStep::Note(progress);
        }
        let current = record.and_then(|record| record.held.as_ref());
        let (why, after) = match silent {
            _ if more => {
                (format!("{} of the cluster's credentials are left to delete", remaining.len()), GO_ON)
            }
            Some(why) => {
                let hope = "the cluster's credential is deleted once that is over, or left behind after 24 h";
                (format!("{why}; {hope}"), RETRY)
            }
            None => (String::new(), RETRY),
        };
        return report_state(CredentialPhase::Leaving, why, current, after);
    }
    match scene.stored {
        StoredSecret::Ours { .. } => CredentialStep::Withdraw,
        StoredSecret::Absent | StoredSecret::Foreign => CredentialStep::Release,
    }
}

const SILENT: &str = "the identity service does not answer";

/// Issuers that may have created something: those that the record names. If the record is lost, any issuer that may issue for the request.
fn possible_issuers(scene: &ObservedCredential) -> BTreeSet<String> {
    match (scene.record(), scene.uid()) {
        // Its credentials could not be distinguished from others.
        (_, None) => BTreeSet::new(),
        (Some(record), Some(_)) => record.issuers(),
        (None, Some(_)) => scene.issuers.iter().cloned().collect(),
    }
}

/// Whether any credential may be left to delete. If the record is lost, any issuer may have created one.
fn may_have_any(scene: &ObservedCredential, remaining: &[CredentialRef]) -> bool {
    let lost = scene.record().is_none() && scene.uid().is_some();
    lost || !remaining.is_empty() || !possible_issuers(scene).is_empty()
}

/// Whether the issuer may have created an unrecorded credential.
fn may_have_made(scene: &ObservedCredential, issuer: &str) -> bool {
    scene.record().is_none_or(|record| record.open.contains(issuer))
}

/// All known credentials that are not known to be deleted, each once: those of the record, and further ones of the issuers.
pub fn remaining_credentials(scene: &ObservedCredential, known: &StepResults) -> Vec<CredentialRef> {
    let record = scene.record();
    let current = record.and_then(|record| record.held.as_ref()).map(|current| &current.one);
    let old = record.iter().flat_map(|record| &record.old).map(|old| &old.one);
    let found = known.listed.values().filter_map(|found| found.as_ref().ok()).flatten();
    let mut ids = BTreeSet::new();
    let all = current.into_iter().chain(old).chain(found);
    all.filter(|one| ids.insert(&one.id) && !known.is_done_with(one)).cloned().collect()
}

/// Progress, so that the next reconcile continues from there. `more`: some were not tried.
fn record_progress(
    scene: &ObservedCredential,
    known: &StepResults,
    mut record: CredentialRecord,
    more: bool,
) -> CredentialRecord {
    let unsettled = |issuer: &String| match known.listed.get(issuer) {
        Some(Ok(found)) => found.iter().any(|one| !known.is_done_with(one)),
        Some(Err(IdentityError::Unreachable)) | None => true,
        Some(Err(_)) => record.open.contains(issuer),
    };
    record.open = possible_issuers(scene).into_iter().filter(unsettled).collect();
    record.held = record.held.filter(|held| !known.is_done_with(&held.one));
    record.old.retain(|old| !known.is_done_with(&old.one));
    if more {
        record.old.sort_by_key(|old| known.removed.contains_key(&old.one.id));
    }
    record
}

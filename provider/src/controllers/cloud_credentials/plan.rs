//! Plans the credential of one cluster. Pure.
//!
//! ```text
//!            ┌────────────── due ◀── asked for anew, another user, half of its time over, refused by the identity service
//!            ▼                                                    ▲
//! Hold ─▶ List ─▶ Note ─▶ Mint ─▶ Verify ─▶ Publish ─▶ (held) ─▶ Probe ─▶ good ─▶ strays, old ones: List, Remove, Note
//!            ▲  the next issuer │      │                                    │
//!            └──────────────────┴──────┘                      cluster gone  ▼
//!                                                    List, Remove all ─▶ Withdraw ─▶ Release
//! ```

mod observed_state;
mod results;
mod teardown;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::cloud::{
    CloudCredentialReport, CredentialPhase, CredentialRequestSpec, credential_name_prefix,
};
use testplatform_runtime::time::saturating_add;

use super::record::{
    CredentialRecord, CredentialRef, CurrentCredential, MOST, RetiredCredential, parse_number,
};
pub use observed_state::{ClusterStage, ObservedCredential, StoredSecret};
pub use results::{CredentialCheck, DeletionResult, IdentityError, IssuedCredential, StepResults};
pub use teardown::remaining_credentials;
use teardown::tear_down;

/// How long an identity service that does not answer holds up the end of a cluster.
pub const GIVE_UP: SignedDuration = SignedDuration::from_hours(24);
/// How often something that failed is tried again.
pub const RETRY: Duration = Duration::from_mins(1);
/// Maximum number of deletions per reconcile.
pub const BATCH: usize = 128;
/// Requeue delay when deletions exceed the batch.
pub const GO_ON: Duration = Duration::from_secs(5);
/// With how many that are not deleted yet no other one is made because somebody wants one.
pub const CROWD: usize = 16;
/// Message for a missing permission to list the issuers' Secrets.
const UNREAD: &str = "the provider has no permission to list the Secrets of issuers";

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialStep {
    /// Nothing to do, ever.
    Nothing,
    /// Put the finalizer on the order.
    Hold,
    /// Record the start of the deletion on the request; None removes the annotation.
    Mark(Option<Timestamp>),
    /// Ask whether what is published works.
    Probe,
    /// Ask which of ours an issuer has.
    List(String),
    /// Write this on the Secret, which is made if there is none.
    Note(CredentialRecord),
    /// The same, and then one may be made through this issuer with this number.
    Announce(CredentialRecord, String, u32),
    /// Make one through this issuer with this number.
    Mint(String, u32),
    /// Ask whether what was made works.
    Verify,
    /// Publish it, and this with it.
    Publish(CredentialRecord),
    /// Delete one.
    Remove(CredentialRef),
    /// Delete the Secret.
    Withdraw,
    /// Take the finalizer away.
    Release,
    /// Write this report, and reconcile after this time.
    Tell(CloudCredentialReport, Duration),
    /// Look again after this time.
    Later(Duration),
}

/// Decides the next step.
pub fn next_step(scene: &ObservedCredential, known: &StepResults, now: Timestamp) -> CredentialStep {
    match (scene.stage, scene.holds) {
        (ClusterStage::Gone(_), false) => CredentialStep::Nothing,
        (ClusterStage::Gone(since), true) => tear_down(scene, known, since, now),
        // Its finalizer would never be removed.
        (ClusterStage::Here | ClusterStage::Going, false) if scene.deleted => CredentialStep::Nothing,
        (ClusterStage::Here | ClusterStage::Going, _) => keep_credential(scene, known, now),
    }
}

/// While there is a cluster that may need it.
fn keep_credential(scene: &ObservedCredential, known: &StepResults, now: Timestamp) -> CredentialStep {
    if scene.removing.is_some() {
        // The deletion starts again once the cluster is gone again.
        return CredentialStep::Mark(None);
    }
    let order = match &scene.order {
        Ok(order) => order,
        Err(why) => return report_state(CredentialPhase::Blocked, why.clone(), None, scene.probe),
    };
    if !scene.holds {
        return CredentialStep::Hold;
    }
    let (record, filled) = match &scene.stored {
        StoredSecret::Foreign => {
            let why = "the Secret of the order's name is not the provider's; delete it, or see whose it is";
            return report_state(CredentialPhase::Blocked, why.into(), None, scene.probe);
        }
        StoredSecret::Absent => (CredentialRecord::of(&order.uid), false),
        StoredSecret::Ours { record, filled } => (record.clone(), *filled),
    };
    let Some(held) = record.held.clone().filter(|_| filled) else {
        return create_credential(scene, known, order, record, now);
    };
    match known.probe {
        None => CredentialStep::Probe,
        Some(CredentialCheck::Invalid) => create_credential(scene, known, order, record, now),
        Some(CredentialCheck::Works) if held.renew.is_some_and(|renew| renew <= now) => {
            create_credential(scene, known, order, record, now)
        }
        Some(CredentialCheck::Works) => {
            let wanted = wants_another(scene, order, &held);
            if wanted && record.old.len() < CROWD {
                return create_credential(scene, known, order, record, now);
            }
            tidy_up(scene, known, order, &record, &held, wanted, now)
        }
        Some(CredentialCheck::Unknown) => {
            let why = "the identity service does not answer; the published credential stays".to_owned();
            report_state(CredentialPhase::Unreachable, why, Some(&held), RETRY.min(scene.probe))
        }
    }
}

/// Whether somebody wants another one in place of one that works.
fn wants_another(
    scene: &ObservedCredential,
    order: &CredentialRequestSpec,
    held: &CurrentCredential,
) -> bool {
    let by_another =
        held.requested_by != order.requested_by && scene.issuers.first() != Some(&held.one.issuer);
    held.generation != order.generation || by_another
}

/// Makes one, through the first issuer that can.
fn create_credential(
    scene: &ObservedCredential,
    known: &StepResults,
    order: &CredentialRequestSpec,
    record: CredentialRecord,
    now: Timestamp,
) -> CredentialStep {
    let works = known.probe == Some(CredentialCheck::Works);
    if let Some(minted) = &known.minted {
        return match known.verified {
            None => CredentialStep::Verify,
            // Any other outcome is a failure of the issuer, and nothing is known as made.
            Some(_) => CredentialStep::Publish(record_published(order, record, minted, now)),
        };
    }
    if scene.unread {
        return report_failure(scene, known, &record, works);
    }
    for issuer in &scene.issuers {
        match known.failed.get(issuer) {
            // The other issuers use the same service; there is no hurry.
            Some(IdentityError::Unreachable) if works => break,
            Some(_) => continue,
            None => {}
        }
        let Some(Ok(found)) = known.listed.get(issuer) else { return CredentialStep::List(issuer.clone()) };
        if let Some((through, with)) = &known.announced
            && through == issuer
        {
            return CredentialStep::Mint(issuer.clone(), *with);
        }
        // A record contains every credential that was ever published; without one, an unknown credential may be in use.
        let lost = record.last == 0 && record.held.is_none();
        let never = record.old.iter().filter(|old| old.since.is_none()).map(|old| &old.one);
        let mut strays = found.iter().filter(|one| !lost && !record.contains(&one.id)).chain(never);
        if known.removed.len() < BATCH
            && let Some(stray) = strays.find(|stray| !known.is_tried(stray))
        {
            return CredentialStep::Remove(stray.clone());
        }
        let highest = found.iter().filter_map(|one| parse_number(&order.uid, &one.name)).max().unwrap_or(0);
        let mut announced = record;
        announced.old.retain(|old| !known.is_done_with(&old.one));
        announced.add_strays(found.iter().filter(|one| !known.is_done_with(one)), lost.then_some(now));
        announced.open.insert(issuer.clone());
        if lost && !known.begun {
            // Any of them may have made what was written down there.
            announced.open.extend(scene.issuers.iter().cloned());
        }
        announced.last = highest.max(announced.last).saturating_add(1);
        let with = announced.last;
        return CredentialStep::Announce(announced, issuer.clone(), with);
    }
    report_failure(scene, known, &record, works)
}

fn record_published(
    order: &CredentialRequestSpec,
    mut record: CredentialRecord,
    minted: &IssuedCredential,
    now: Timestamp,
) -> CredentialRecord {
    if let Some(before) = record.held.take() {
        record.retire(before.one, now);
    }
    // The issuer's earlier credentials were listed before, and the only newer one is this; unless there were more than could be recorded.
    if record.old.len() < MOST {
        record.open.remove(&minted.one.issuer);
    }
    record.held = Some(CurrentCredential {
        one: minted.one.clone(),
        generation: order.generation,
        requested_by: order.requested_by.clone(),
        renew: minted.renew,
    });
    record
}

fn report_failure(
    scene: &ObservedCredential,
    known: &StepResults,
    record: &CredentialRecord,
    works: bool,
) -> CredentialStep {
    let last = scene.issuers.iter().filter_map(|name| Some((name, known.failed.get(name)?)));
    let mut why: Vec<String> = last.map(|(name, fault)| fault.describe_for(name)).collect();
    if why.is_empty() {
        let none = if scene.unread { UNREAD } else { "no issuer exists for this tenant and user" };
        why.push(none.to_owned());
    }
    let why = why.join("; ");
    let silent = scene.unread || known.failed.values().any(|fault| *fault == IdentityError::Unreachable);
    let after = RETRY.min(scene.probe);
    let current = record.held.as_ref();
    if works {
        return report_state(
            CredentialPhase::RotationFailed,
            format!("{why}; the published one stays in use"),
            current,
            after,
        );
    }
    if silent {
        return report_state(CredentialPhase::Unreachable, why, current, after);
    }
    let hint = "an administrator of the cloud must create or repair the issuer of the user who requested the cluster, or one of the tenant's administrator";
    report_state(CredentialPhase::OwnerInvalid, format!("{why}; {hint}"), None, after)
}

/// The published credential works: removes credentials that are not needed any more. `crowded`: another credential is wanted, and is not
/// created because there are too many.
fn tidy_up(
    scene: &ObservedCredential,
    known: &StepResults,
    order: &CredentialRequestSpec,
    record: &CredentialRecord,
    current: &CurrentCredential,
    crowded: bool,
    now: Timestamp,
) -> CredentialStep {
    let mut wanted = record.clone();
    if let Some(now_held) = wanted.held.as_mut().filter(|_| !crowded) {
        now_held.requested_by.clone_from(&order.requested_by);
    }
    for issuer in record.open.iter().filter(|_| !scene.unread) {
        match known.listed.get(issuer) {
            None => return CredentialStep::List(issuer.clone()),
            Some(Ok(found)) => {
                if wanted.add_strays(found.iter().filter(|one| !known.is_done_with(one)), None) {
                    wanted.open.remove(issuer);
                }
            }
            // Once it works again, it is asked again.
            Some(Err(_)) => {}
        }
    }
    // An expired credential is of no use.
    let grace = order.lifetime.map_or(scene.grace, |lifetime| scene.grace.min(lifetime.as_signed()));
    let end = |old: &RetiredCredential| old.since.map(|since| saturating_add(since, grace));
    let over = |old: &RetiredCredential| end(old).is_none_or(|end| end <= now);
    let rest = record.old.iter().find(|old| over(old) && !known.is_tried(&old.one));
    if let Some(old) = rest.filter(|_| known.removed.len() < BATCH && !scene.unread) {
        return CredentialStep::Remove(old.one.clone());
    }
    wanted.old.retain(|old| !known.is_done_with(&old.one));
    if rest.is_some() {
        // The next pass goes on from there.
        wanted.old.sort_by_key(|old| known.removed.contains_key(&old.one.id));
    }
    if wanted != *record {
        return CredentialStep::Note(wanted);
    }
    let ends = record.old.iter().filter_map(end).filter(|at| *at > now);
    let soonest =
        ends.chain(current.renew).min().and_then(|at| Duration::try_from(at.duration_since(now)).ok());
    let probe = match scene.stage {
        ClusterStage::Going => RETRY.min(scene.probe),
        ClusterStage::Here | ClusterStage::Gone(_) => scene.probe,
    };
    let after = soonest.map_or(probe, |soonest| probe.min(soonest.max(Duration::from_secs(1))));
    let after = if rest.is_some() { after.min(GO_ON) } else { after };
    let stuck = record.old.iter().filter(|old| known.is_tried(&old.one) && over(old)).count();
    let mut message = format!("{} works", current.one.name);
    if stuck > 0 {
        message = format!("{message}; {stuck} before it could not be deleted; the deletion is retried");
    }
    if crowded {
        let count = record.old.len();
        message = format!(
            "{message}; {count} before it are not deleted yet; the requested one is created once there are fewer than {CROWD}"
        );
        return report_state(CredentialPhase::RotationFailed, message, Some(current), after);
    }
    report_state(CredentialPhase::Valid, message, Some(current), after)
}

fn report_state(
    state: CredentialPhase,
    message: String,
    current: Option<&CurrentCredential>,
    after: Duration,
) -> CredentialStep {
    let report = CloudCredentialReport {
        state: Some(state),
        message: Some(message),
        credential: current.map(|current| current.one.name.clone()),
        generation: current.map(|current| current.generation),
        since: None,
    };
    CredentialStep::Tell(report, after)
}

/// Selects the issuer's credentials that were created for a composite.
pub fn select_ours(uid: &str, found: Vec<CredentialRef>) -> Vec<CredentialRef> {
    found
        .into_iter()
        .filter(|one| {
            one.name.starts_with(&credential_name_prefix(uid)) && parse_number(uid, &one.name).is_some()
        })
        .collect()
}

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

mod known;
mod leave;
mod scene;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::cloud::{Order, Report, State, prefix};

pub use known::{Fault, Known, Minted, Removal, Verdict};
use leave::leave;
pub use leave::remaining;
pub use scene::{Scene, Stage, Stored};

use super::record::{Held, MOST, Old, One, Record, number};
use crate::bundles::wait::saturating_add;

/// How long an identity service that does not answer holds up the end of a cluster.
pub const GIVE_UP: SignedDuration = SignedDuration::from_hours(24);
/// How often something that failed is tried again.
pub const RETRY: Duration = Duration::from_mins(1);
/// How many credentials are deleted in a pass.
pub const BATCH: usize = 128;
/// When those are deleted that were too many for a pass.
pub const GO_ON: Duration = Duration::from_secs(5);
/// With how many that are not deleted yet no other one is made because somebody wants one.
pub const CROWD: usize = 16;
/// Message for a missing permission to list the issuers' Secrets.
const UNREAD: &str = "the provider is not let in to list the Secrets of issuers";

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing is to be done about it ever.
    Nothing,
    /// Put the finalizer on the order.
    Hold,
    /// Write on the order since when what was made is being deleted; None takes away what stands there.
    Mark(Option<Timestamp>),
    /// Ask whether what is published works.
    Probe,
    /// Ask which of ours an issuer has.
    List(String),
    /// Write this on the Secret, which is made if there is none.
    Note(Record),
    /// The same, and then one may be made through this issuer with this number.
    Announce(Record, String, u32),
    /// Make one through this issuer with this number.
    Mint(String, u32),
    /// Ask whether what was made works.
    Verify,
    /// Publish it, and this with it.
    Publish(Record),
    /// Delete one.
    Remove(One),
    /// Delete the Secret.
    Withdraw,
    /// Take the finalizer away.
    Release,
    /// Say this, and look again after this time.
    Tell(Report, Duration),
    /// Look again after this time.
    Later(Duration),
}

/// What is to be done.
pub fn next(scene: &Scene, known: &Known, now: Timestamp) -> Step {
    match (scene.stage, scene.holds) {
        (Stage::Gone(_), false) => Step::Nothing,
        (Stage::Gone(since), true) => leave(scene, known, since, now),
        // It would never be let go.
        (Stage::Here | Stage::Going, false) if scene.deleted => Step::Nothing,
        (Stage::Here | Stage::Going, _) => keep(scene, known, now),
    }
}

/// While there is a cluster that may need it.
fn keep(scene: &Scene, known: &Known, now: Timestamp) -> Step {
    if scene.removing.is_some() {
        // Its time begins anew, once the cluster is gone again.
        return Step::Mark(None);
    }
    let order = match &scene.order {
        Ok(order) => order,
        Err(why) => return tell(State::Blocked, why.clone(), None, scene.probe),
    };
    if !scene.holds {
        return Step::Hold;
    }
    let (record, filled) = match &scene.stored {
        Stored::Foreign => {
            let why = "the Secret of the order's name is not the provider's; delete it, or see whose it is";
            return tell(State::Blocked, why.into(), None, scene.probe);
        }
        Stored::Absent => (Record::of(&order.uid), false),
        Stored::Ours { record, filled } => (record.clone(), *filled),
    };
    let Some(held) = record.held.clone().filter(|_| filled) else {
        return make(scene, known, order, record, now);
    };
    match known.probe {
        None => Step::Probe,
        Some(Verdict::Invalid) => make(scene, known, order, record, now),
        Some(Verdict::Works) if held.renew.is_some_and(|renew| renew <= now) => {
            make(scene, known, order, record, now)
        }
        Some(Verdict::Works) => {
            let wanted = wants_another(scene, order, &held);
            if wanted && record.old.len() < CROWD {
                return make(scene, known, order, record, now);
            }
            tidy(scene, known, order, &record, &held, wanted, now)
        }
        Some(Verdict::Unknown) => {
            let why = "the identity service does not answer; what is published stays".to_owned();
            tell(State::Unreachable, why, Some(&held), RETRY.min(scene.probe))
        }
    }
}

/// Whether somebody wants another one in place of one that works.
fn wants_another(scene: &Scene, order: &Order, held: &Held) -> bool {
    let by_another =
        held.requested_by != order.requested_by && scene.issuers.first() != Some(&held.one.issuer);
    held.generation != order.generation || by_another
}

/// Makes one, through the first issuer that can.
fn make(scene: &Scene, known: &Known, order: &Order, record: Record, now: Timestamp) -> Step {
    let works = known.probe == Some(Verdict::Works);
    if let Some(minted) = &known.minted {
        return match known.verified {
            None => Step::Verify,
            // Any other outcome is a failure of the issuer, and nothing is known as made.
            Some(_) => Step::Publish(published(order, record, minted, now)),
        };
    }
    if scene.unread {
        return failed(scene, known, &record, works);
    }
    for issuer in &scene.issuers {
        match known.failed.get(issuer) {
            // The other issuers are behind the same service; there is no haste.
            Some(Fault::Unreachable) if works => break,
            Some(_) => continue,
            None => {}
        }
        let Some(Ok(found)) = known.listed.get(issuer) else { return Step::List(issuer.clone()) };
        if let Some((through, with)) = &known.noted
            && through == issuer
        {
            return Step::Mint(issuer.clone(), *with);
        }
        // With a record, all that was ever published stands in it; without, somebody may use what is found.
        let lost = record.last == 0 && record.held.is_none();
        let never = record.old.iter().filter(|old| old.since.is_none()).map(|old| &old.one);
        let mut strays = found.iter().filter(|one| !lost && !record.knows(&one.id)).chain(never);
        if known.removed.len() < BATCH
            && let Some(stray) = strays.find(|stray| !known.is_tried(stray))
        {
            return Step::Remove(stray.clone());
        }
        let highest = found.iter().filter_map(|one| number(&order.uid, &one.name)).max().unwrap_or(0);
        let mut noted = record;
        noted.old.retain(|old| !known.is_done_with(&old.one));
        noted.add_strays(found.iter().filter(|one| !known.is_done_with(one)), lost.then_some(now));
        noted.open.insert(issuer.clone());
        if lost && !known.begun {
            // Any of them may have made what was written down there.
            noted.open.extend(scene.issuers.iter().cloned());
        }
        noted.last = highest.max(noted.last).saturating_add(1);
        let with = noted.last;
        return Step::Announce(noted, issuer.clone(), with);
    }
    failed(scene, known, &record, works)
}

fn published(order: &Order, mut record: Record, minted: &Minted, now: Timestamp) -> Record {
    if let Some(before) = record.held.take() {
        record.retire(before.one, now);
    }
    // The issuer's earlier credentials were listed before, and the only newer one is this; unless there were more than could be recorded.
    if record.old.len() < MOST {
        record.open.remove(&minted.one.issuer);
    }
    record.held = Some(Held {
        one: minted.one.clone(),
        generation: order.generation,
        requested_by: order.requested_by.clone(),
        renew: minted.renew,
    });
    record
}

fn failed(scene: &Scene, known: &Known, record: &Record, works: bool) -> Step {
    let last = scene.issuers.iter().filter_map(|name| Some((name, known.failed.get(name)?)));
    let mut why: Vec<String> = last.map(|(name, fault)| fault.about(name)).collect();
    if why.is_empty() {
        let none = if scene.unread { UNREAD } else { "no issuer is for this tenant and user" };
        why.push(none.to_owned());
    }
    let why = why.join("; ");
    let silent = scene.unread || known.failed.values().any(|fault| *fault == Fault::Unreachable);
    let after = RETRY.min(scene.probe);
    let held = record.held.as_ref();
    if works {
        return tell(
            State::RotationFailed,
            format!("{why}; what was published before stays in use"),
            held,
            after,
        );
    }
    if silent {
        return tell(State::Unreachable, why, held, after);
    }
    let hint = "an administrator of the cloud has to make or mend the issuer of the user who asked for the cluster, or one of the tenant's administrator";
    tell(State::OwnerInvalid, format!("{why}; {hint}"), None, after)
}

/// The published credential works: removes credentials that are not needed any more. `crowded`: another credential is wanted, and is not
/// created because there are too many.
fn tidy(
    scene: &Scene,
    known: &Known,
    order: &Order,
    record: &Record,
    held: &Held,
    crowded: bool,
    now: Timestamp,
) -> Step {
    let mut wanted = record.clone();
    if let Some(now_held) = wanted.held.as_mut().filter(|_| !crowded) {
        now_held.requested_by.clone_from(&order.requested_by);
    }
    for issuer in record.open.iter().filter(|_| !scene.unread) {
        match known.listed.get(issuer) {
            None => return Step::List(issuer.clone()),
            Some(Ok(found)) => {
                if wanted.add_strays(found.iter().filter(|one| !known.is_done_with(one)), None) {
                    wanted.open.remove(issuer);
                }
            }
            // Once it is known again, it is asked again.
            Some(Err(_)) => {}
        }
    }
    // An expired credential is of no use.
    let grace = order.lifetime.map_or(scene.grace, |lifetime| scene.grace.min(lifetime.get()));
    let end = |old: &Old| old.since.map(|since| saturating_add(since, grace));
    let over = |old: &Old| end(old).is_none_or(|end| end <= now);
    let rest = record.old.iter().find(|old| over(old) && !known.is_tried(&old.one));
    if let Some(old) = rest.filter(|_| known.removed.len() < BATCH && !scene.unread) {
        return Step::Remove(old.one.clone());
    }
    wanted.old.retain(|old| !known.is_done_with(&old.one));
    if rest.is_some() {
        // The next pass goes on from there.
        wanted.old.sort_by_key(|old| known.removed.contains_key(&old.one.id));
    }
    if wanted != *record {
        return Step::Note(wanted);
    }
    let ends = record.old.iter().filter_map(end).filter(|at| *at > now);
    let soonest = ends.chain(held.renew).min().and_then(|at| Duration::try_from(at.duration_since(now)).ok());
    let probe = match scene.stage {
        Stage::Going => RETRY.min(scene.probe),
        Stage::Here | Stage::Gone(_) => scene.probe,
    };
    let after = soonest.map_or(probe, |soonest| probe.min(soonest.max(Duration::from_secs(1))));
    let after = if rest.is_some() { after.min(GO_ON) } else { after };
    let stuck = record.old.iter().filter(|old| known.is_tried(&old.one) && over(old)).count();
    let mut said = format!("{} works", held.one.name);
    if stuck > 0 {
        said = format!("{said}; {stuck} before it could not be deleted, which is tried again");
    }
    if crowded {
        let count = record.old.len();
        said = format!(
            "{said}; {count} before it are not deleted yet, and the one that is wanted is made once there are fewer than {CROWD}"
        );
        return tell(State::RotationFailed, said, Some(held), after);
    }
    tell(State::Valid, said, Some(held), after)
}

fn tell(state: State, message: String, held: Option<&Held>, after: Duration) -> Step {
    let report = Report {
        state: Some(state),
        message: Some(message),
        credential: held.map(|held| held.one.name.clone()),
        generation: held.map(|held| held.generation),
        since: None,
    };
    Step::Tell(report, after)
}

/// Selects the issuer's credentials that were created for a composite.
pub fn ours(uid: &str, found: Vec<One>) -> Vec<One> {
    found
        .into_iter()
        .filter(|one| one.name.starts_with(&prefix(uid)) && number(uid, &one.name).is_some())
        .collect()
}

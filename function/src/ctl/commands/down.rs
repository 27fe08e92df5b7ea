//! `down`: asks for the end of a cluster, and waits for it.

use jiff::SignedDuration;
use serde_json::json;
use testplatform_apis::condition::ConditionType;

use super::super::{
    claim::{Claim, Said},
    exit::{Exit, Stop},
    follow::{Follower, Seen},
    screen::Screen,
    session::Session,
    wait::left_behind,
};

/// Runs it.
pub fn run(
    session: &mut Session<'_>,
    name: &str,
    wait: bool,
    delete: bool,
    timeout: Option<SignedDuration>,
) -> Result<(), Stop> {
    let claim = session.find(name)?;
    if let Some(said) = super::handed_over(&claim) {
        return without_its_cluster(session, &claim, said, wait, delete);
    }
    // Whoever deletes it at once asks for its end by that.
    if wait || !delete {
        // With its uid, so that a namesake that was made this very moment is not meant.
        let patch = json!({
            "metadata": { "uid": claim.object["metadata"]["uid"] },
            "spec": { "tearDownCluster": true },
        });
        let patch = format!("--patch={patch}");
        let arguments = ["patch", claim.flavour.resource(), claim.name(), "--type=merge", &patch, "-oname"];
        session.kubectl.run(&arguments, None)?;
    }
    if wait {
        let over = until_over(session, &claim, timeout)?;
        session.say(&over)?;
    }
    if delete {
        return deleted(session, &claim, wait, if wait { "" } else { ", and its cluster goes with it" });
    }
    if !wait {
        session.say(&format!("{} is being torn down", claim.label()))?;
        let next = session.next("down --wait", &claim);
        session.note(&format!("Wait for it: {next}"));
    }
    Ok(())
}

/// The claim can be deleted, and can end nothing.
fn without_its_cluster(
    session: &mut Session<'_>,
    claim: &Claim,
    said: Said<'_>,
    wait: bool,
    delete: bool,
) -> Result<(), Stop> {
    if !delete {
        let message = format!("{} has no cluster to give back: {}", claim.label(), said.message());
        let advice = format!("End the cluster with: {}", session.way.next("down", "testcluster/NAME"));
        return Err(Stop::new(Exit::Over, message, advice));
    }
    deleted(session, claim, wait, "; its cluster was handed over, and goes on")
}

/// Deletes the claim, and says so with what becomes of its cluster.
fn deleted(session: &mut Session<'_>, claim: &Claim, wait: bool, rest: &str) -> Result<(), Stop> {
    let end = if wait { "--wait=true" } else { "--wait=false" };
    session.kubectl.run(&["delete", claim.flavour.resource(), claim.name(), end], None)?;
    session.say(&format!("{} is deleted{rest}", claim.label()))
}

/// Waits until it is over. Returns how it ended, if that was well.
fn until_over(
    session: &mut Session<'_>,
    claim: &Claim,
    timeout: Option<SignedDuration>,
) -> Result<String, Stop> {
    let since = session.now();
    let mut screen = Screen::default();
    let mut last = claim.clone();
    let kubectl = session.kubectl.clone();
    let mut follower = Follower::new(&kubectl, session.around, claim, timeout);
    let ended = loop {
        match follower.next(session.now()) {
            Ok(Seen::There(now)) => last = now,
            Ok(Seen::Same) => {}
            Ok(Seen::Lost(why)) => {
                screen.note(session, &format!("it cannot be followed for now, trying again: {why}"));
            }
            Err(stop) => break Err(stop),
        }
        if last.holds(ConditionType::ProwJobCompleted) {
            break Ok(());
        }
        screen.show(session, &last, since, None);
    };
    screen.clear(session);
    if let Err(stop) = ended {
        return Err(match stop.exit {
            Exit::NotYet => {
                let message = format!("{} is not gone in time: {}", claim.label(), last.message());
                let more = session.next("why", claim);
                Stop::new(stop.exit, message, format!("The teardown goes on. More: {more}"))
            }
            Exit::Interrupted => {
                let message = format!("interrupted; {} is not gone yet: {}", claim.label(), last.message());
                let again = session.next("down --wait", claim);
                Stop::new(stop.exit, message, format!("The teardown goes on. Wait for it: {again}"))
            }
            _ => stop,
        });
    }
    if let Some(said) = left_behind(&last) {
        let message = format!("{} ended badly: {}: {}", claim.label(), said.reason(), said.message());
        let advice =
            format!("Look in the cloud account for what it left behind (RUNBOOK.md, {}).", said.reason());
        return Err(Stop::new(Exit::LeftBehind, message, advice));
    }
    let how = last.said(ConditionType::ProwJobCompleted).map(Said::reason).unwrap_or_default();
    Ok(format!("{} is gone ({how})", claim.label()))
}

//! `down`: asks for the end of a cluster, and waits for it.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use testplatform_apis::{
    condition::REFUSED,
    condition::{ConditionType, Remote, TemplateConditionType, split_completion},
};

use super::super::{
    claim::{Claim, ReportedCondition},
    exit::{Exit, Stop},
    follow::{Follower, Observation},
    runbook,
    screen::Screen,
    session::Session,
    wait::teardown_error,
};
use super::kubeconfig::own::forget_entry;

/// Runs it.
pub fn run(
    session: &mut Session<'_>,
    name: &str,
    wait: bool,
    delete: bool,
    timeout: Option<SignedDuration>,
) -> Result<(), Stop> {
    session.stay();
    let deadline = timeout.and_then(|timeout| session.now().checked_add(timeout).ok());
    let claim = session.find_claim(name)?;
    if let Some(condition) = super::handed_over(&claim) {
        explain_deletion(session, &claim, condition, delete)?;
        return delete_claim(
            session,
            &claim,
            wait,
            deadline,
            "; its cluster was handed over and keeps running",
        );
    }
    let stays = if delete && !wait { would_stay(&claim) } else { None };
    if let Some(why) = &stays {
        session.note(&format!(
            "note: tearing the cluster down first, because it would outlive the claim: {why}"
        ));
    }
    let ends = wait || stays.is_some();
    // Deleting it at once requests its teardown as well.
    if ends || !delete {
        // With its uid, so that a namesake that was made this very moment is not meant.
        let patch = json!({
            "metadata": { "uid": claim.uid() },
            "spec": { "tearDownCluster": true },
        });
        let patch = format!("--patch={patch}");
        let arguments = ["patch", claim.flavour.resource(), claim.name(), "--type=merge", &patch, "-oname"];
        session.kubectl.run(&arguments, None)?;
        forget_entry(session, &claim);
    }
    if ends {
        let over = wait_for_teardown(session, &claim, timeout)?;
        session.print_line(&over)?;
    }
    if delete {
        let rest = if ends { "" } else { ", and its cluster goes with it" };
        delete_claim(session, &claim, wait, deadline, rest)?;
        forget_entry(session, &claim);
        return Ok(());
    }
    if !wait {
        session.print_line(&format!("{} is being torn down", claim.label()))?;
        let next = session.next("down --wait", &claim);
        session.note(&format!("Wait for it: {next}"));
    }
    Ok(())
}

/// Why its cluster would stay if the claim was deleted now; none if it would go. Nothing is deleted of which the hub refuses what was asked for last, and
/// only at an end that a claim with a template asks for is that taken back.
fn would_stay(claim: &Claim) -> Option<String> {
    let applied = ReportedCondition::of(&claim.object, TemplateConditionType::SpecApplied.as_str())
        .filter(|s| s.is_denied())?;
    if claim.is_deleted() {
        return None;
    }
    let refuses = |condition: &ReportedCondition<'_>| {
        let reason = condition.reason();
        condition.is_denied()
            && (reason == Remote::HubRefused.as_str() || reason == Remote::UnknownField.as_str())
    };
    let words =
        claim.condition(ConditionType::RemoteConsistent).filter(refuses).map(ReportedCondition::message);
    // A node group reports this only by itself.
    words.or_else(|| Some(applied.message()).filter(|words| words.starts_with(REFUSED)))
}

/// The claim gave its cluster away: it can be deleted, and can end nothing.
fn explain_deletion(
    session: &Session<'_>,
    claim: &Claim,
    condition: ReportedCondition<'_>,
    delete: bool,
) -> Result<(), Stop> {
    if delete {
        return Ok(());
    }
    let message = format!("{} has no cluster to give back: {}", claim.label(), condition.message());
    let advice = format!("End the cluster with: {}", session.way.next("down", "testcluster/NAME"));
    Err(Stop::new(Exit::Over, message, advice))
}

/// Deletes the claim, and says so with what becomes of its cluster.
fn delete_claim(
    session: &mut Session<'_>,
    claim: &Claim,
    wait: bool,
    deadline: Option<Timestamp>,
    rest: &str,
) -> Result<(), Stop> {
    // kubectl deletes by name, and somebody may have made another by that name meanwhile.
    session.reload_claim(claim)?;
    let end = if wait { "--wait=true" } else { "--wait=false" };
    let mut arguments = vec!["delete", claim.flavour.resource(), claim.name(), end];
    // None would be a week to kubectl.
    let remaining = deadline.map(|at| at.duration_since(session.now()).as_secs().max(1));
    let remaining = remaining.map(|seconds| format!("--timeout={seconds}s"));
    arguments.extend(remaining.as_deref());
    match session.kubectl.run(&arguments, None) {
        Ok(_) => session.print_line(&format!("{} is deleted{rest}", claim.label())),
        Err(trouble) if deadline.is_some() && trouble.words().contains("timed out waiting") => {
            let message = format!("{} was deleted, but is not gone in time{rest}", claim.label());
            let more = session.next("why", claim);
            Err(Stop::new(Exit::NotYet, message, format!("The deletion continues. More: {more}")))
        }
        Err(trouble) => Err(trouble.into()),
    }
}

/// Outcome of a teardown that nobody waits for.
fn describe_outlook(claim: &Claim) -> &'static str {
    if claim.condition(ConditionType::RemoteConsistent).is_some_and(ReportedCondition::is_denied) {
        "The hub makes no progress at the moment, and the cluster incurs cost until it does."
    } else {
        "The teardown continues."
    }
}

/// Waits until it is over. Returns how it ended, if that was well.
fn wait_for_teardown(
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
            Ok(Observation::Changed(now)) => last = now,
            Ok(Observation::Unchanged) => {}
            Ok(Observation::Output(words)) => screen.note(session, &words),
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
                Stop::new(stop.exit, message, format!("{} More: {more}", describe_outlook(&last)))
            }
            Exit::Interrupted => {
                let message = format!("interrupted; {} is not gone yet: {}", claim.label(), last.message());
                let next_attempt = session.next("down --wait", claim);
                Stop::new(
                    stop.exit,
                    message,
                    format!("{} Wait for it: {next_attempt}", describe_outlook(&last)),
                )
            }
            _ => stop,
        });
    }
    if let Some(condition) = teardown_error(&last) {
        let message =
            format!("{} ended badly: {}: {}", claim.label(), condition.reason(), condition.message());
        let advice = format!(
            "Check the cloud account for leftover resources ({}).",
            runbook::entry_of(condition.reason())
        );
        return Err(Stop::new(Exit::LeftBehind, message, advice));
    }
    let how = last.condition(ConditionType::ProwJobCompleted).map(|over| {
        let message = over.message();
        split_completion(over.reason(), &message).0.to_owned()
    });
    let how = how.unwrap_or_default();
    Ok(format!("{} is gone ({how})", claim.label()))
}

//! `wait`: until a claim is in a state, as `kubectl wait` does.

use jiff::SignedDuration;

use super::super::{
    claim::{Claim, ReportedCondition, conditions},
    exit::{Exit, Stop},
    follow::{Follower, Observation},
    screen::Screen,
    session::Session,
    wait_target::{WaitTarget, condition_message, unknown_condition},
};

/// Runs it. A timeout of zero checks once.
pub fn run(
    session: &mut Session<'_>,
    name: &str,
    target: &WaitTarget,
    timeout: Option<SignedDuration>,
) -> Result<(), Stop> {
    session.stay();
    let claim = match session.find_claim(name) {
        Err(stop) if stop.exit == Exit::NotFound && *target == WaitTarget::Deleted => {
            session.note(&format!("note: {}", stop.message));
            return session.print_line(&format!("{name} deleted"));
        }
        found => found?,
    };
    let label = claim.label();
    if let Some(type_) = unknown_condition(target, &claim) {
        let known = conditions(&claim.object).map(ReportedCondition::type_);
        let known = known.filter(|type_| !type_.starts_with('_')).collect::<Vec<_>>().join(", ");
        session.note(&format!("note: {label} has no condition {type_} yet; it has {known}"));
    }
    let mut screen = Screen::default();
    let outcome = follow_until(session, &mut screen, claim, target, timeout);
    screen.clear(session);
    match outcome {
        Ok(()) => session.print_line(&format!("{label} condition met")),
        Err(stop) if stop.exit == Exit::NotFound && *target == WaitTarget::Deleted => {
            session.print_line(&format!("{label} deleted"))
        }
        Err(stop) => Err(stop),
    }
}

fn follow_until(
    session: &mut Session<'_>,
    screen: &mut Screen,
    claim: Claim,
    target: &WaitTarget,
    timeout: Option<SignedDuration>,
) -> Result<(), Stop> {
    let since = session.now();
    let kubectl = session.kubectl.clone();
    let mut follower = Follower::new(&kubectl, session.around, &claim, timeout);
    let mut last = claim;
    loop {
        if target.is_met(&last) {
            return Ok(());
        }
        if let Some(exit) = target.is_out_of_reach(&last) {
            let message = format!("{} is {}: {}", last.label(), last.phase_word(), last.message());
            return Err(Stop::new(exit, message, format!("More: {}", session.next("why", &last))));
        }
        match follower.next(session.now()) {
            Ok(Observation::Changed(now)) => last = now,
            Ok(Observation::Unchanged) => {}
            Ok(Observation::Output(text)) => screen.note(session, &text),
            Err(stop) if stop.exit == Exit::NotYet => return Err(explain_timeout(session, &last, target)),
            Err(stop) => return Err(stop),
        }
        screen.show(session, &last, since, None);
    }
}

fn explain_timeout(session: &Session<'_>, claim: &Claim, target: &WaitTarget) -> Stop {
    let state = match condition_message(target, claim) {
        empty if empty.is_empty() => claim.message(),
        message => message,
    };
    let message = format!(
        "timed out waiting for {} of {}, which is {}: {state}",
        target.describe(),
        claim.label(),
        claim.phase_word()
    );
    Stop::new(Exit::NotYet, message, format!("More: {}", session.next("why", claim)))
}

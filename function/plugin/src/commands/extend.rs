//! `extend`: another lifetime, and what became of it.

use std::{thread, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use testplatform_apis::{
    condition::{ConditionType, Request},
    duration::GoDuration,
};

use super::super::{
    args::Span,
    claim::{Claim, ClaimState, ReportedCondition, text},
    exit::{Exit, Stop},
    session::Session,
    span::human,
    trouble::Trouble,
};

/// How long the function may take to look at it.
pub(super) const SOON: SignedDuration = SignedDuration::from_secs(20);
const GLANCE: Duration = Duration::from_millis(500);
/// Ways to keep a cluster that nobody needs.
const CLEANUP_ADVICE: &str =
    "the runs that own it have finished; a longer spec.cleanup.keepForDebug keeps it";

/// Runs it.
pub fn run(session: &mut Session<'_>, name: &str, span: Span) -> Result<(), Stop> {
    session.stay();
    let claim = session.find_claim(name)?;
    if matches!(claim.state(), ClaimState::Ended | ClaimState::Failed) {
        return super::without_cluster(session, &claim).map_or(Ok(()), Err);
    }
    if let Some(condition) = super::handed_over(&claim) {
        let message = format!("{} has no cluster to keep: {}", claim.label(), condition.message());
        let advice = format!("Keep the cluster with: {}", session.way.next("extend", "testcluster/NAME"));
        return Err(Stop::new(Exit::Over, message, advice));
    }
    let lifetime = extended_lifetime(&claim, span, session.now())?;
    let patch = json!({
        "metadata": { "uid": claim.uid() },
        "spec": { "lifetime": lifetime.to_short_string() },
    });
    let patch = format!("--patch={patch}");
    let arguments = ["patch", claim.flavour.resource(), claim.name(), "--type=merge", &patch, "-oname"];
    session.kubectl.run(&arguments, None)?;
    let begun = session.now();
    loop {
        let now = session.now();
        let late = now.duration_since(begun) > SOON;
        let claim = match session.reload_claim(&claim) {
            Ok(claim) => claim,
            Err(trouble @ Trouble::NotFound(_)) => return Err(trouble.into()),
            // It is patched: an error now would have scripts add it again.
            Err(trouble) => {
                if late {
                    session.note(&format!("note: {}", trouble.words()));
                }
                claim.clone()
            }
        };
        if let Some(outcome) = describe_outcome(&claim, lifetime, late, now) {
            session.print_line(&outcome.text)?;
            return if outcome.is_shorter {
                let message =
                    format!("{} may end before {} have passed", claim.label(), lifetime.to_short_string());
                Err(Stop::new(Exit::Shorter, message, ""))
            } else {
                Ok(())
            };
        }
        thread::sleep(GLANCE);
    }
}

/// The lifetime to ask for.
pub fn extended_lifetime(claim: &Claim, span: Span, now: Timestamp) -> Result<GoDuration, Stop> {
    let effective = || {
        // An end by cleanup does not depend on the lifetime.
        let end = claim.expires_at().filter(|_| claim.cleanup_at().is_none())?;
        let age = end.duration_since(claim.ready_at()?);
        GoDuration::try_from(age).ok()
    };
    let own = || text(&claim.object, "/spec/lifetime").parse::<GoDuration>().ok();
    let lifetime = match span {
        Span::To(whole) => whole,
        Span::By(more) => {
            // A request without an answer counts as blocked too, unless it is known to exceed the maximum.
            let age = match effective() {
                Some(effective) if is_clamped(claim) => Some(effective),
                effective => effective.max(own()),
            };
            let age = age.ok_or_else(|| {
                let message = format!("{} has no lifetime to extend", claim.label());
                let hint = match claim.ready_at() {
                    // The default is not visible behind an earlier end.
                    Some(_) if claim.cleanup_at().is_some() => &format!("It ends before: {CLEANUP_ADVICE}."),
                    Some(_) => "It lives until it is torn down; --to gives it an end.",
                    // The default is not on the claim before.
                    None => "It has no spec.lifetime and is not ready yet; --to sets one.",
                };
                Stop::new(Exit::Usage, message, hint)
            })?;
            age.saturating_add(more)
        }
    };
    let end = claim.ready_at().and_then(|ready| ready.checked_add(lifetime.as_signed()).ok());
    if end.is_some_and(|end| end <= now) {
        let message =
            format!("with a lifetime of {} {} would end at once", lifetime.to_short_string(), claim.label());
        return Err(Stop::new(
            Exit::Usage,
            message,
            "The lifetime counts from when it was ready. To end it, use down.",
        ));
    }
    Ok(lifetime)
}

/// `true` if the claim's request was processed, and exceeds its limit.
fn is_clamped(claim: &Claim) -> bool {
    let condition = claim.condition(ConditionType::RequestAccepted).filter(|condition| condition.holds());
    condition.is_some_and(|condition| condition.message().contains("spec.lifetime is clamped"))
}

/// Outcome of a new lifetime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// The answer, with the earliest end first.
    pub text: String,
    /// The cluster may end before the lifetime is over.
    pub is_shorter: bool,
}

/// Outcome of the request; none while the function has not evaluated it.
pub fn describe_outcome(
    claim: &Claim,
    lifetime: GoDuration,
    late: bool,
    now: Timestamp,
) -> Option<Extension> {
    let condition = claim.condition(ConditionType::RequestAccepted).filter(|c| c.holds());
    let condition = condition.filter(|c| c.message().contains("spec.lifetime"));
    let text = new_end(claim, condition, lifetime, late, now)?;
    let is_limited = |condition: ReportedCondition<'_>| {
        let limits = [Request::LifetimeClamped, Request::LifetimeBeyondHub].map(Request::as_str);
        limits.contains(&condition.reason())
    };
    let expected = claim.ready_at().and_then(|ready| ready.checked_add(lifetime.as_signed()).ok());
    let ends_before = claim.cleanup_at().is_some() && claim.expires_at() < expected;
    Some(Extension { text, is_shorter: ends_before || condition.is_some_and(is_limited) })
}

fn new_end(
    claim: &Claim,
    condition: Option<ReportedCondition<'_>>,
    lifetime: GoDuration,
    late: bool,
    now: Timestamp,
) -> Option<String> {
    let label = claim.label();
    // The claim's own end is a later one.
    let beyond = condition.filter(|condition| condition.reason() == Request::LifetimeBeyondHub.as_str());
    let remark = condition.map(|condition| format!("\nnote: {}", condition.message())).unwrap_or_default();
    let Some(ready) = claim.ready_at() else {
        let waits = remark.is_empty() && !late;
        return (!waits).then(|| {
            format!("{label} will live {} from when it is ready{remark}", lifetime.to_short_string())
        });
    };
    let expected = ready.checked_add(lifetime.as_signed()).ok();
    let end = claim.expires_at();
    let until = |end: Timestamp| format!("ends in {}, at {end}", human(end.duration_since(now)));
    let ends = |end: Timestamp| format!("{label} {}", until(end));
    match end {
        Some(end) if claim.cleanup_at().is_some() && Some(end) <= expected => {
            Some(format!("{} nevertheless: {CLEANUP_ADVICE}{remark}", ends(end)))
        }
        Some(end) if Some(end) == expected => Some(match beyond {
            Some(condition) => {
                format!("{label} may end earlier: {}\notherwise it {}", condition.message(), until(end))
            }
            None => format!("{}{remark}", ends(end)),
        }),
        // Clamped, which may have been so before: then nothing shows that it was looked at.
        Some(end) if !remark.is_empty() && end < expected? => Some(format!("{}{remark}", ends(end))),
        Some(end) if late => {
            // As Hive does with a maximum of its own, of which nothing is told here.
            let or = if expected.is_some_and(|expected| end < expected) {
                ", or the hub ends it before"
            } else {
                ""
            };
            Some(format!(
                "{}; the new lifetime of {} is not processed yet{or}",
                ends(end),
                lifetime.to_short_string()
            ))
        }
        None if late => Some(format!("{label} has no end yet; the new lifetime is not processed yet")),
        Some(_) | None => None,
    }
}

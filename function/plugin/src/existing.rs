//! Handling of an existing claim under the name that `up` uses: it is changed, and none is created.
//!
//! Input: the existing claim, and the manifest. Output: the message before any change, and later whether the claim's status postdates the
//! change.

use jiff::Timestamp;
use testplatform_apis::{cleanup, duration::GoDuration, names::ours};

use super::{
    args::Span,
    claim::{Claim, ClaimState, ReportedCondition, text, time},
    commands::{extend::extended_lifetime, handed_over},
    exit::{Exit, Stop},
};

/// Field manager of `up`.
pub const MANAGER: &str = "kubectl-testplatform";
/// Alternatives to a change.
const INSTEAD: &str = "For another cluster give --name; to end this one, use down.";

/// Notice before a manifest is applied to an existing claim.
pub fn describe_existing(existing: &Claim) -> String {
    let made = time(&existing.object, "/metadata/creationTimestamp");
    let since = made.map_or_else(String::new, |at| format!(" (created {at})"));
    let how = match existing.state() {
        _ if existing.is_deleted() => {
            ", and is being deleted; its name is free after the deletion".to_owned()
        }
        ClaimState::Failed | ClaimState::Ended => {
            format!(", and is {}; create a claim with another name", existing.phase_word())
        }
        ClaimState::Waiting | ClaimState::Ready if is_ending(existing) => {
            ", and its teardown was requested; create a claim with another name".to_owned()
        }
        ClaimState::Waiting | ClaimState::Ready => "; updating it".to_owned(),
    };
    format!("note: {} already exists{since}{how}", existing.label())
}

fn is_ending(claim: &Claim) -> bool {
    claim.object["spec"]["tearDownCluster"] == true
}

/// Why a manifest is not applied to one that is there: its cluster would end with that, which nobody asks for by `up`, and somebody may use it.
pub fn find_refusal(existing: &Claim, manifest: &Claim, now: Timestamp) -> Option<Stop> {
    let lives = matches!(existing.state(), ClaimState::Waiting | ClaimState::Ready) && !is_ending(existing);
    if !lives || handed_over(existing).is_some() {
        return None;
    }
    if is_ending(manifest) {
        return Some(end_at_once(existing, "spec.tearDownCluster", "Remove it from the manifest."));
    }
    refuse_past_lifetime(existing, manifest, now)
        .or_else(|| refuse_dropped_lifetime(existing, manifest))
        .or_else(|| refuse_due_cleanup(existing, manifest, now))
}

fn end_at_once(existing: &Claim, with: &str, todo: &str) -> Stop {
    let message = format!("with {with} {} would end at once", existing.label());
    Stop::new(Exit::Usage, message, format!("{todo} {INSTEAD}"))
}

fn requested_lifetime(claim: &Claim) -> Option<GoDuration> {
    text(&claim.object, "/spec/lifetime").parse().ok()
}

/// Because another lifetime would be over. By the same one nothing changes, and a longer one ends nothing, whatever the clock of this machine says.
fn refuse_past_lifetime(existing: &Claim, manifest: &Claim, now: Timestamp) -> Option<Stop> {
    let wanted = requested_lifetime(manifest)
        .filter(|wanted| requested_lifetime(existing).is_none_or(|requested| *wanted < requested))?;
    let end = existing.ready_at().and_then(|ready| ready.checked_add(wanted.as_signed()).ok());
    if end.zip(existing.expires_at()).is_some_and(|(end, expires)| end >= expires) {
        return None;
    }
    let stop = extended_lifetime(existing, Span::To(wanted), now).err()?;
    let advice = format!("The lifetime counts from when it was ready: set a longer one. {INSTEAD}");
    Some(Stop { advice, ..stop })
}

/// Because the manifest says no lifetime any more where it did: the administrators' default, which nobody knows here, takes its place, and counts from
/// when it was ready too.
fn refuse_dropped_lifetime(existing: &Claim, manifest: &Claim) -> Option<Stop> {
    let was = requested_lifetime(existing)
        .filter(|_| existing.ready_at().is_some() && is_ours(existing, "f:lifetime"))?;
    let missing = manifest.object["spec"]["lifetime"].is_null();
    missing.then(|| {
        let message = format!("without a lifetime {} may end at once", existing.label());
        let advice = format!(
            "It was created with lifetime {}: set a lifetime in the manifest. {INSTEAD}",
            was.to_short_string()
        );
        Stop::new(Exit::Usage, message, advice)
    })
}

/// `true` if the next apply without a field of the spec removes it: `up` set it, and not `extend` or somebody else.
fn is_ours(existing: &Claim, field: &str) -> bool {
    let managers = existing.object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let mut ours = managers.filter(|of| of["manager"] == MANAGER && of["operation"] == "Apply");
    ours.any(|of| !of["fieldsV1"]["f:spec"][field].is_null())
}

/// Because the runs that own it have finished, and it would not be kept after them any longer.
fn refuse_due_cleanup(existing: &Claim, manifest: &Claim, now: Timestamp) -> Option<Stop> {
    let since = existing.object["metadata"]["annotations"][ours::CLEANUP_SINCE].as_str();
    let due = |claim: &Claim| cleanup::teardown_due(&claim.object["spec"], since).is_some_and(|at| at <= now);
    // An existing request for teardown does not end it again, unless the apply contains it.
    let keeps = |claim: &Claim| claim.object["spec"]["tearDownCluster"] == false;
    let stays = keeps(manifest) || (keeps(existing) && !is_ours(existing, "f:tearDownCluster"));
    let todo = "The runs that own it are over: set a longer spec.cleanup.keepForDebug.";
    (due(manifest) && (!due(existing) || keeps(existing)) && !stays)
        .then(|| end_at_once(existing, "spec.cleanup", todo))
}

/// `true` if a claim's status was written after its last change. `before`: the claim until then, if it existed. `late`: the function has
/// had the time to observe the change.
pub fn is_of_now(claim: &Claim, before: Option<&Claim>, late: bool) -> bool {
    // Core notes which generation it has looked at; old ones do not. status.appliedGeneration is none of a claim's, but of its composite, and tells
    // what the hub has: as long as that refuses a change, it stays behind, and the cluster can be used.
    let looked_at = ReportedCondition::of(&claim.object, "Synced").and_then(ReportedCondition::generation);
    let generation = claim.object["metadata"]["generation"].as_i64();
    if looked_at.zip(generation).is_some_and(|(looked_at, generation)| looked_at < generation) {
        return false;
    }
    // Core looks at a claim before the function looks at its composite, and then copies once more what that said before. Another
    // lifetime is seen by the end; one that gets no other end, as it is clamped, by nothing.
    let Some(before) = before else { return true };
    late || requested_lifetime(claim) == requested_lifetime(before) || has_moved_end(claim, before)
}

/// Whether the end of a claim moved in the direction of its new lifetime. It can also move by an earlier change, which was not processed before.
fn has_moved_end(claim: &Claim, before: &Claim) -> bool {
    let lifetimes = requested_lifetime(claim).zip(requested_lifetime(before));
    match (lifetimes, claim.expires_at().zip(before.expires_at())) {
        (Some((now, then)), Some((end, end_before))) => now.cmp(&then) == end.cmp(&end_before),
        _ => claim.expires_at() != before.expires_at(),
    }
}

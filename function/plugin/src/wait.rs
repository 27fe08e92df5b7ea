//! The single condition that a claim waits for, and advice about it.
//!
//! The condition nearest to the beginning of the chain comes first: later ones cannot progress before.

use jiff::Timestamp;
use testplatform_apis::{
    condition::{ClusterReady, ConditionType, Credentials, Remote, Request},
    phase::Phase,
};

use super::{
    advice::{self, with_entry},
    chain::{Mark, is_paused, object_label, read_synced},
    claim::{Claim, ClaimState, Flavour, ReportedCondition, text},
    command_context::CommandContext,
    commands::handed_over,
    facts::{Facts, Lookup, composite_name},
    span::human,
};

/// The answer of `why`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingStep {
    /// The awaited condition.
    pub what: String,
    /// Next action for the user.
    pub todo: String,
}

impl PendingStep {
    fn new(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { what: what.into(), todo: todo.into() }
    }
}

/// Finds the condition that a claim waits for.
pub fn find_pending_step(facts: &Facts, way: &CommandContext, now: Timestamp) -> PendingStep {
    let claim = &facts.claim;
    match (claim.state(), claim.phase()) {
        (ClaimState::Failed, _) => explain_failure(facts),
        (ClaimState::Ended, Some(Phase::Deprovisioned)) => {
            let how = describe_teardown_error(facts).unwrap_or_default();
            let down = way.about("down", claim);
            let todo = format!("nothing; `{down} --delete` deletes the claim too");
            PendingStep::new(format!("nothing: {}{how}", claim.message()), todo)
        }
        (ClaimState::Ended, _) => explain_teardown(facts),
        (ClaimState::Ready, _) => {
            explain_foreign_secret(facts).unwrap_or_else(|| explain_ready_claim(facts, way, now))
        }
        (ClaimState::Waiting, _) => {
            explain_missing_link(facts, way, now).unwrap_or_else(|| explain_provisioning(facts))
        }
    }
}

fn explain_failure(facts: &Facts) -> PendingStep {
    let claim = &facts.claim;
    let refusal = claim.condition(ConditionType::RequestAccepted).filter(|c| c.is_denied());
    if let Some((condition, reason)) = refusal.and_then(|s| Some((s, Request::parse(s.reason())?))) {
        let (words, todo) = match reason {
            Request::InvalidClaim | Request::UnknownField | Request::HubRefused => {
                (condition.message(), advice::request(reason))
            }
            // It was waited for in vain, for as long as a cluster may take.
            _ => (claim.message(), "fix the cause, and create a claim with another name"),
        };
        let what = format!("nothing, because Failed is final: {words}");
        return PendingStep::new(what, with_entry(todo, reason.as_str()));
    }
    let remaining = match claim.condition(ConditionType::ProwJobCompleted) {
        Some(condition) if condition.holds() && claim.message().contains(&condition.message()) => {
            String::new()
        }
        Some(condition) if condition.holds() => describe_teardown_error(facts).unwrap_or_default(),
        Some(condition) => format!("; {}", condition.message()),
        None => String::new(),
    };
    let what = format!("nothing, because Failed is final: {}{remaining}", claim.message());
    PendingStep::new(what, advice::cluster(ClusterReady::Failed))
}

/// How a teardown ended, where it did not end well.
fn describe_teardown_error(facts: &Facts) -> Option<String> {
    let condition = teardown_error(&facts.claim)?;
    Some(format!("; {}: {}", condition.reason(), condition.message()))
}

/// `ProwJobCompleted` of a claim whose end may have left something: its job ended badly, or nobody knows what became of it.
pub fn teardown_error(claim: &Claim) -> Option<ReportedCondition<'_>> {
    let over = claim.condition(ConditionType::ProwJobCompleted).filter(|condition| condition.holds())?;
    let badly = match over.reason() {
        "ProwJobFailure" | "DeprovisionFailed" | "RemoteReplaced" => true,
        // A job that ended well, or that was asked to, says so, too.
        "EndedWithoutSignal" | "ProwJobGone" => claim.phase() == Some(Phase::Failed),
        _ => false,
    };
    badly.then_some(over)
}

fn explain_teardown(facts: &Facts) -> PendingStep {
    let claim = &facts.claim;
    if let Some(wait) = explain_unreachable_hub(facts) {
        return wait;
    }
    let condition = claim.condition(ConditionType::ProwJobCompleted).filter(|c| !c.message().is_empty());
    let words = condition.map_or_else(|| claim.message(), ReportedCondition::message);
    let words = if words.is_empty() { String::new() } else { format!(": {words}") };
    PendingStep::new(format!("the hub to tear the cluster down{words}"), advice::teardown())
}

/// A cluster is no use to whoever cannot get its kubeconfig.
fn explain_foreign_secret(facts: &Facts) -> Option<PendingStep> {
    let whose = facts.secret_owner()?;
    let todo = with_entry(advice::foreign_secret(facts.claim.flavour), Credentials::SecretTaken.as_str());
    Some(PendingStep::new(format!("its kubeconfig: Secret {} {whose}", facts.claim.secret()), todo))
}

fn explain_ready_claim(facts: &Facts, way: &CommandContext, now: Timestamp) -> PendingStep {
    let claim = &facts.claim;
    if claim.phase() == Some(Phase::Degraded) {
        let what = format!("the hub to report the cluster healthy again: {}", claim.message());
        return PendingStep::new(what, advice::cluster(ClusterReady::Degraded));
    }
    if claim.secret().is_empty() {
        let todo = "set spec.writeConnectionSecretToRef.name";
        return PendingStep::new(
            "a name for the Secret with the kubeconfig, which the claim does not set",
            todo,
        );
    }
    if let Some(condition) =
        claim.condition(ConditionType::CredentialsPublished).filter(|_| claim.lacks_secret())
    {
        let reason = Credentials::parse(condition.reason()).unwrap_or(Credentials::SecretMissing);
        let todo = with_entry(advice::advise_undelivered(reason), reason.as_str());
        return PendingStep::new(format!("its kubeconfig: {}", condition.message()), todo);
    }
    if matches!(facts.secret, Lookup::Missing)
        || facts.secret.found().is_some_and(|secret| !secret.delivers(claim))
    {
        let what = format!("Crossplane to write the kubeconfig into Secret {}", claim.secret());
        return PendingStep::new(
            what,
            "wait a few seconds; if nothing changes, ask the administrators whether Crossplane runs",
        );
    }
    let end = match claim.expires_at() {
        Some(end) => format!("; it ends in {}", human(end.duration_since(now))),
        None if handed_over(claim).is_some() => "; it was handed over and ends with its new owner".to_owned(),
        None => "; it runs until teardown".to_owned(),
    };
    let expiring = ClusterReady::Expiring.as_str();
    let todo = if claim.cleanup_at().is_some() {
        "set a longer spec.cleanup.keepForDebug, if it is still needed: the runs that own it have finished"
            .to_owned()
    } else if claim.condition(ConditionType::ClusterReady).is_some_and(|c| c.reason() == expiring) {
        format!("`{} --by 1h`, if it is still needed", way.about("extend", claim))
    } else {
        format!("use it: `{} --merge`", way.about("kubeconfig", claim))
    };
    // It can be used all the same.
    let (but, also) = explain_unreachable_hub(facts).map_or_else(Default::default, |trouble| {
        (format!("; {}", trouble.what), format!("; and {}", trouble.todo))
    });
    PendingStep::new(format!("nothing, the cluster is ready{end}{but}"), format!("{todo}{also}"))
}

/// Breaks in the chain between the claim and the request on the hub.
fn explain_missing_link(facts: &Facts, way: &CommandContext, now: Timestamp) -> Option<PendingStep> {
    let claim = &facts.claim;
    let admin = "ask the administrators";
    if is_paused(&claim.object) {
        return Some(PendingStep::new(
            format!("annotation crossplane.io/paused to be removed from {}", claim.label()),
            way.kubectl(&format!("annotate {} crossplane.io/paused-", claim.label())),
        ));
    }
    let own = ReportedCondition::of(&claim.object, "Synced").filter(|s| s.is_denied());
    if claim.flavour == Flavour::Claim && composite_name(claim).is_empty() {
        let words = own.map_or_else(
            || "Crossplane does not run, or there is no definition or no Composition for it".to_owned(),
            ReportedCondition::message,
        );
        let todo = "wait a few seconds; if nothing changes, ask the administrators: `kubectl get xrd,composition` shows the cause";
        return Some(PendingStep::new(format!("Crossplane to create a composite: {words}"), todo));
    }
    if matches!(facts.composite, Lookup::Missing) {
        let what = format!("composite {}, which was deleted", composite_name(claim));
        return Some(PendingStep::new(
            what,
            "request a new cluster; the administrators' audit log shows who deleted it",
        ));
    }
    if let Some(composite) = facts.composite.found() {
        if is_paused(composite) {
            let what = format!("composite {}, which somebody paused", text(composite, "/metadata/name"));
            return Some(PendingStep::new(what, advice::remote(Remote::Paused)));
        }
        if let (Mark::Bad, words, _) = read_synced(composite) {
            let what = format!("Crossplane to reconcile the composite: {words}");
            return Some(PendingStep::new(what, with_entry(admin, "FunctionErrors")));
        }
    }
    let fatal = claim.condition(ConditionType::ClusterReady).filter(|c| c.reason() == "FatalError");
    if let Some(condition) = fatal.or(own) {
        let what = format!("Crossplane to reconcile the composite: {}", condition.message());
        return Some(PendingStep::new(what, with_entry(admin, "FunctionErrors")));
    }
    let refusal = claim.condition(ConditionType::RequestAccepted).filter(|c| c.is_denied());
    if let Some((condition, reason)) = refusal.and_then(|s| Some((s, Request::parse(s.reason())?))) {
        let todo = with_entry(advice::request(reason), reason.as_str());
        return Some(PendingStep::new(format!("{}: {}", reason.as_str(), condition.message()), todo));
    }
    explain_unprocessed_claim(claim, now).or_else(|| explain_unreachable_hub(facts))
}

/// Without a phase nothing was asked of the hub.
fn explain_unprocessed_claim(claim: &Claim, now: Timestamp) -> Option<PendingStep> {
    if let Some(age) = claim.unprocessed_for(now) {
        let what = format!("Crossplane, which has not processed it for {}", human(age));
        let todo = "ask the administrators whether Crossplane and the function run";
        return Some(PendingStep::new(what, with_entry(todo, "FunctionDown")));
    }
    claim.phase().is_none().then(|| {
        let todo = "wait; it usually takes a few seconds";
        PendingStep::new("Crossplane to process it for the first time", todo)
    })
}

/// Reason why the request does not reach the hub.
fn explain_unreachable_hub(facts: &Facts) -> Option<PendingStep> {
    if let Some(primary_object) = facts.primary_object() {
        let label = object_label(primary_object);
        if is_paused(primary_object) {
            let what = format!("{label}, which an administrator paused");
            return Some(PendingStep::new(what, with_entry(advice::remote(Remote::Paused), "Paused")));
        }
    }
    let condition = facts.claim.condition(ConditionType::RemoteConsistent).filter(|c| !c.holds());
    let (condition, reason) = condition.and_then(|s| Some((s, Remote::parse(s.reason())?)))?;
    if reason == Remote::NotObserved {
        return None;
    }
    let todo = with_entry(advice::remote(reason), reason.as_str());
    // The Object has the words of the hub itself.
    let words = match facts.primary_object().map(read_synced) {
        Some((Mark::Bad, words, _)) => format!("{} ({words})", condition.message()),
        _ => condition.message(),
    };
    Some(PendingStep::new(format!("{}: {words}", reason.as_str()), todo))
}

/// Current step of the hub.
fn explain_provisioning(facts: &Facts) -> PendingStep {
    let claim = &facts.claim;
    let word = claim.condition(ConditionType::ClusterReady).map_or("", ReportedCondition::reason);
    if word == ClusterReady::WaitingForCredentials.as_str() {
        let condition = claim.condition(ConditionType::CredentialsPublished);
        let reason =
            condition.and_then(|s| Credentials::parse(s.reason())).unwrap_or(Credentials::SecretMissing);
        let words = condition.map(ReportedCondition::message).unwrap_or_default();
        // Once it is read, provider-kubernetes has the words.
        let read = facts.credentials_object().filter(|o| !is_paused(o)).map(read_synced);
        let words = match read {
            Some((Mark::Bad, trouble, _)) => format!("{words} ({trouble})"),
            _ => words,
        };
        let todo = with_entry(advice::credentials(reason), reason.as_str());
        return PendingStep::new(format!("the kubeconfig: {words}"), todo);
    }
    if word == ClusterReady::SettingUp.as_str() {
        let what = format!("the setup by the template: {}", claim.message());
        return PendingStep::new(what, advice::cluster(ClusterReady::SettingUp));
    }
    if word == ClusterReady::SetupFailed.as_str() {
        let what = format!("the setup by the template: {}", claim.message());
        return PendingStep::new(what, advice::cluster(ClusterReady::SetupFailed));
    }
    let primary_object = facts.primary_object().map(read_synced);
    if let (Lookup::Found(_), Some((Mark::Waits, ..))) = (&facts.objects, &primary_object) {
        let todo =
            "wait a few seconds; if nothing changes, ask the administrators whether provider-kubernetes runs";
        return PendingStep::new("provider-kubernetes to request the cluster from the hub", todo);
    }
    let queue = claim.object["status"]["queue"]["position"].as_i64();
    match (claim.phase(), queue) {
        (Some(Phase::Pending) | None, Some(_)) => PendingStep::new(
            format!("its turn in the queue: {}", claim.message()),
            "wait, or end clusters that are no longer needed",
        ),
        (Some(Phase::Pending) | None, None) => {
            let what = format!("the hub to start provisioning: {}", claim.message());
            PendingStep::new(what, advice::cluster(ClusterReady::Pending))
        }
        _ if word == ClusterReady::Late.as_str() => {
            let what = format!("the hub to create the cluster: {}", claim.message());
            PendingStep::new(what, advice::cluster(ClusterReady::Late))
        }
        _ => PendingStep::new(
            format!("the hub to create the cluster: {}", claim.message()),
            advice::cluster(ClusterReady::Provisioning),
        ),
    }
}

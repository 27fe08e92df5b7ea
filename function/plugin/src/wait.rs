//! The single condition that a claim waits for, and advice about it.
//!
//! The condition nearest to the beginning of the chain comes first: later ones cannot progress before.

use jiff::Timestamp;
use testplatform_apis::{
    condition::{ClusterReady, ConditionType, Credentials, JobCompleted, Remote, Request},
    phase::Phase,
};

use super::{
    advice::{self, with_entry},
    chain::{Mark, object_label, paused, synced},
    claim::{Claim, Flavour, Said, Stand, text},
    commands::handed_over,
    facts::{Facts, Look, composite_name},
    span::human,
    way::Way,
};

/// The answer of `why`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The awaited condition.
    pub what: String,
    /// What to do.
    pub todo: String,
}

impl Wait {
    fn new(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { what: what.into(), todo: todo.into() }
    }
}

/// Finds the condition that a claim waits for.
pub fn wait(facts: &Facts, way: &Way, now: Timestamp) -> Wait {
    let claim = &facts.claim;
    match (claim.stand(), claim.phase()) {
        (Stand::Failed, _) => failed(facts),
        (Stand::Over, Some(Phase::Deprovisioned)) => {
            let how = end(facts).unwrap_or_default();
            let down = way.about("down", claim);
            let todo = format!("nothing; `{down} --delete` takes the claim away too");
            Wait::new(format!("nothing: {}{how}", claim.message()), todo)
        }
        (Stand::Over, _) => ending(facts),
        (Stand::Ready, _) => taken(facts).unwrap_or_else(|| ready(facts, way, now)),
        (Stand::Waiting, _) => linked(facts, way, now).unwrap_or_else(|| waiting(facts)),
    }
}

fn failed(facts: &Facts) -> Wait {
    let claim = &facts.claim;
    let refusal = claim.said(ConditionType::RequestAccepted).filter(|c| c.denied());
    if let Some((said, reason)) = refusal.and_then(|s| Some((s, Request::parse(s.reason())?))) {
        let (words, todo) = match reason {
            Request::InvalidClaim | Request::UnknownField | Request::HubRefused => {
                (said.message(), advice::request(reason))
            }
            // It was waited for in vain, for as long as a cluster may take.
            _ => (claim.message(), "have that put right, and ask for a new cluster under another name"),
        };
        let what = format!("nothing any more, Failed is final: {words}");
        return Wait::new(what, with_entry(todo, reason.as_str()));
    }
    let left = match claim.said(ConditionType::ProwJobCompleted) {
        Some(said) if said.holds() && claim.message().contains(&said.message()) => String::new(),
        Some(said) if said.holds() => end(facts).unwrap_or_default(),
        Some(said) => format!("; {}", said.message()),
        None => String::new(),
    };
    let what = format!("nothing any more, Failed is final: {}{left}", claim.message());
    Wait::new(what, with_entry("ask for a new cluster under another name", "Failed"))
}

/// How a teardown ended, where it did not end well.
fn end(facts: &Facts) -> Option<String> {
    let said = left_behind(&facts.claim)?;
    Some(format!("; {}: {}", said.reason(), said.message()))
}

/// `ProwJobCompleted` of a claim whose end may have left something: its job ended badly, or nobody knows what became of it.
pub fn left_behind(claim: &Claim) -> Option<Said<'_>> {
    let over = claim.said(ConditionType::ProwJobCompleted).filter(|said| said.holds())?;
    let badly = match over.reason() {
        "ProwJobFailure" | "DeprovisionFailed" | "RemoteReplaced" => true,
        // A job that ended well, or that was asked to, says so, too.
        "EndedWithoutSignal" | "ProwJobGone" => claim.phase() == Some(Phase::Failed),
        _ => false,
    };
    badly.then_some(over)
}

fn ending(facts: &Facts) -> Wait {
    let claim = &facts.claim;
    if let Some(wait) = unreached(facts) {
        return wait;
    }
    let said = claim.said(ConditionType::ProwJobCompleted).filter(|c| !c.message().is_empty());
    let words = said.map_or_else(|| claim.message(), Said::message);
    let words = if words.is_empty() { String::new() } else { format!(": {words}") };
    let todo = with_entry(
        "wait; it often takes longer than making the cluster did",
        JobCompleted::TearingDown.as_str(),
    );
    Wait::new(format!("the hub to tear the cluster down{words}"), todo)
}

/// A cluster is no use to whoever cannot get its kubeconfig.
fn taken(facts: &Facts) -> Option<Wait> {
    let whose = facts.taken()?;
    let todo = with_entry(advice::taken(facts.claim.flavour), Credentials::SecretTaken.as_str());
    Some(Wait::new(format!("its kubeconfig: Secret {} {whose}", facts.claim.secret()), todo))
}

fn ready(facts: &Facts, way: &Way, now: Timestamp) -> Wait {
    let claim = &facts.claim;
    if claim.phase() == Some(Phase::Degraded) {
        let todo = with_entry("wait; if it does not recover, ask for a new cluster", "Degraded");
        return Wait::new(format!("the hub to report the cluster healthy again: {}", claim.message()), todo);
    }
    if claim.secret().is_empty() {
        let todo = "set spec.writeConnectionSecretToRef.name";
        return Wait::new("a name for the Secret with the kubeconfig, which the claim does not give", todo);
    }
    if let Some(said) = claim.said(ConditionType::CredentialsPublished).filter(|_| claim.undelivered()) {
        let reason = Credentials::parse(said.reason()).unwrap_or(Credentials::SecretMissing);
        let todo = with_entry(advice::undelivered(reason), reason.as_str());
        return Wait::new(format!("its kubeconfig: {}", said.message()), todo);
    }
    if matches!(facts.secret, Look::Missing) || facts.secret.found().is_some_and(|held| !held.delivers(claim))
    {
        let what = format!("Crossplane to write the kubeconfig into Secret {}", claim.secret());
        return Wait::new(
            what,
            "wait a few seconds; if it stays, ask the administrators whether Crossplane runs",
        );
    }
    let end = match claim.expires_at() {
        Some(end) => format!("; it ends in {}", human(end.duration_since(now))),
        None if handed_over(claim).is_some() => {
            "; it was handed over, and ends with whoever has it".to_owned()
        }
        None => "; it lives until it is torn down".to_owned(),
    };
    let expiring = ClusterReady::Expiring.as_str();
    let todo = if claim.cleanup_at().is_some() {
        "set a longer spec.cleanup.keepForDebug, if it is still needed: the runs that own it are over"
            .to_owned()
    } else if claim.said(ConditionType::ClusterReady).is_some_and(|c| c.reason() == expiring) {
        format!("`{} --by 1h`, if it is still needed", way.about("extend", claim))
    } else {
        format!("use it: `{} --merge`", way.about("kubeconfig", claim))
    };
    // It can be used all the same.
    let (but, also) = unreached(facts).map_or_else(Default::default, |trouble| {
        (format!("; {}", trouble.what), format!("; and {}", trouble.todo))
    });
    Wait::new(format!("nothing, the cluster is ready{end}{but}"), format!("{todo}{also}"))
}

/// Breaks in the chain between the claim and the request on the hub.
fn linked(facts: &Facts, way: &Way, now: Timestamp) -> Option<Wait> {
    let claim = &facts.claim;
    let admin = "ask the administrators";
    if paused(&claim.object) {
        return Some(Wait::new(
            format!("annotation crossplane.io/paused to be taken away from {}", claim.label()),
            way.kubectl(&format!("annotate {} crossplane.io/paused-", claim.label())),
        ));
    }
    let own = Said::of(&claim.object, "Synced").filter(|s| s.denied());
    if claim.flavour == Flavour::Claim && composite_name(claim).is_empty() {
        let words = own.map_or_else(
            || "Crossplane does not run, or there is no definition or no Composition for it".to_owned(),
            Said::message,
        );
        let todo = "wait a few seconds; if it stays, ask the administrators, who see it in `kubectl get xrd,composition`";
        return Some(Wait::new(format!("Crossplane to make a composite: {words}"), todo));
    }
    if matches!(facts.composite, Look::Missing) {
        let what = format!("composite {}, which is gone", composite_name(claim));
        return Some(Wait::new(
            what,
            "ask for a new cluster; who deleted it, the administrators see in their audit log",
        ));
    }
    if let Some(composite) = facts.composite.found() {
        if paused(composite) {
            let what = format!("composite {}, which somebody paused", text(composite, "/metadata/name"));
            return Some(Wait::new(what, advice::remote(Remote::Paused)));
        }
        if let (Mark::Bad, words, _) = synced(composite) {
            let what = format!("Crossplane to get through a pass over the composite: {words}");
            return Some(Wait::new(what, with_entry(admin, "FunctionErrors")));
        }
    }
    let fatal = claim.said(ConditionType::ClusterReady).filter(|c| c.reason() == "FatalError");
    if let Some(said) = fatal.or(own) {
        let what = format!("Crossplane to get through a pass over the composite: {}", said.message());
        return Some(Wait::new(what, with_entry(admin, "FunctionErrors")));
    }
    let refusal = claim.said(ConditionType::RequestAccepted).filter(|c| c.denied());
    if let Some((said, reason)) = refusal.and_then(|s| Some((s, Request::parse(s.reason())?))) {
        let todo = with_entry(advice::request(reason), reason.as_str());
        return Some(Wait::new(format!("{}: {}", reason.as_str(), said.message()), todo));
    }
    unprocessed(claim, now).or_else(|| unreached(facts))
}

/// Without a phase nothing was asked of the hub.
fn unprocessed(claim: &Claim, now: Timestamp) -> Option<Wait> {
    if let Some(age) = claim.unprocessed_for(now) {
        let what = format!("Crossplane, which has not processed it for {}", human(age));
        let todo = "ask the administrators whether Crossplane and the function run";
        return Some(Wait::new(what, with_entry(todo, "FunctionDown")));
    }
    claim.phase().is_none().then(|| {
        let todo = "wait; it usually takes a few seconds";
        Wait::new("Crossplane to process it for the first time", todo)
    })
}

/// Reason why the request does not reach the hub.
fn unreached(facts: &Facts) -> Option<Wait> {
    if let Some(writer) = facts.writer() {
        let label = object_label(writer);
        if paused(writer) {
            let what = format!("{label}, which an administrator paused");
            return Some(Wait::new(what, with_entry(advice::remote(Remote::Paused), "Paused")));
        }
    }
    let said = facts.claim.said(ConditionType::RemoteConsistent).filter(|c| !c.holds());
    let (said, reason) = said.and_then(|s| Some((s, Remote::parse(s.reason())?)))?;
    if reason == Remote::NotObserved {
        return None;
    }
    let todo = with_entry(advice::remote(reason), reason.as_str());
    // The Object has the words of the hub itself.
    let words = match facts.writer().map(synced) {
        Some((Mark::Bad, words, _)) => format!("{} ({words})", said.message()),
        _ => said.message(),
    };
    Some(Wait::new(format!("{}: {words}", reason.as_str()), todo))
}

/// Current step of the hub.
fn waiting(facts: &Facts) -> Wait {
    let claim = &facts.claim;
    let word = claim.said(ConditionType::ClusterReady).map_or("", Said::reason);
    let patience = |reason: &str| with_entry("wait; nothing is wrong", reason);
    if word == ClusterReady::WaitingForCredentials.as_str() {
        let said = claim.said(ConditionType::CredentialsPublished);
        let reason = said.and_then(|s| Credentials::parse(s.reason())).unwrap_or(Credentials::SecretMissing);
        let words = said.map(Said::message).unwrap_or_default();
        // Once it is read, provider-kubernetes has the words.
        let read = facts.credentials().filter(|o| !paused(o)).map(synced);
        let words = match read {
            Some((Mark::Bad, trouble, _)) => format!("{words} ({trouble})"),
            _ => words,
        };
        let todo = with_entry(advice::credentials(reason), reason.as_str());
        return Wait::new(format!("the kubeconfig: {words}"), todo);
    }
    if word == ClusterReady::SettingUp.as_str() {
        return Wait::new(format!("what the template sets up: {}", claim.message()), patience(word));
    }
    if word == ClusterReady::SetupFailed.as_str() {
        let todo = with_entry("ask the administrators to look at it; it may still become ready", word);
        return Wait::new(format!("what the template sets up: {}", claim.message()), todo);
    }
    let writer = facts.writer().map(synced);
    if let (Look::Found(_), Some((Mark::Waits, ..))) = (&facts.objects, &writer) {
        let todo = "wait a few seconds; if it stays, ask the administrators whether provider-kubernetes runs";
        return Wait::new("provider-kubernetes to ask the hub for the cluster", todo);
    }
    let queue = claim.object["status"]["queue"]["position"].as_i64();
    match (claim.phase(), queue) {
        (Some(Phase::Pending) | None, Some(_)) => {
            Wait::new(format!("its turn: {}", claim.message()), "wait; or end clusters that nobody needs")
        }
        (Some(Phase::Pending) | None, None) => {
            let todo =
                "wait; after some minutes, ask the administrators whether the provider on the hub runs";
            let what = format!("the hub to take up the request: {}", claim.message());
            Wait::new(what, with_entry(todo, "Pending"))
        }
        _ if word == ClusterReady::Late.as_str() => {
            let todo = with_entry("look at the job; it may still become ready", word);
            Wait::new(format!("the hub to make the cluster: {}", claim.message()), todo)
        }
        _ => Wait::new(format!("the hub to make the cluster: {}", claim.message()), patience("Provisioning")),
    }
}

//! What is wrong with a ClusterTemplateInstance. CaaS tries everything again, and has no word for what will not pass: what has not
//! changed for long enough is taken for that, by the time at which its status last did.

use jiff::SignedDuration;
use testplatform_apis::{
    foreign::caas::{conditions, phases},
    redact::redacted,
};

use super::facts::Facts;
use crate::{
    backend::{
        hypershift::Behind,
        templated::{Sentence, Trouble, of_the_network},
    },
    text::bounded,
};

/// What CaaS itself could not do.
const ITS_OWN: SignedDuration = SignedDuration::from_mins(3);
/// What Argo CD could not do: it tries again by itself.
const OF_ARGO: SignedDuration = SignedDuration::from_mins(5);
/// What could not be set up in the cluster.
const OF_SETUP: SignedDuration = SignedDuration::from_mins(10);

/// Whether a sentence is one about what others may free.
pub(super) fn of_a_quota(words: &str) -> bool {
    Sentence::of(words).says(&["quota", "limit exceeded"])
}

/// After how long what the phase says is final, if ever. Where a HostedCluster is there, what Argo CD says of its chart is not.
fn patience(facts: &Facts<'_>) -> Option<SignedDuration> {
    match facts.phase() {
        phases::DEFINITION_FAILED | phases::FAILED => Some(ITS_OWN),
        phases::INSTALL_FAILED if facts.application_fails() && facts.behind.is_none() => Some(OF_ARGO),
        phases::ARGO_FAILED => Some(OF_ARGO),
        phases::SETUP_CREATE_FAILED | phases::SETUP_FAILED | phases::SETUP_DEGRADED => Some(OF_SETUP),
        _ => None,
    }
}

fn is_trouble(phase: &str) -> bool {
    let known = [
        phases::DEFINITION_FAILED,
        phases::INSTALL_FAILED,
        phases::ARGO_FAILED,
        phases::SETUP_CREATE_FAILED,
        phases::SETUP_FAILED,
        phases::SETUP_DEGRADED,
        phases::CREDENTIALS_FAILED,
        phases::FAILED,
    ];
    known.contains(&phase) || phases::REGISTRATION_FAILED.contains(&phase)
}

/// What the phase says that is wrong, and whether it is final once it has lasted.
fn said(facts: &Facts<'_>) -> Option<Trouble> {
    let phase = facts.phase();
    if !is_trouble(phase) {
        return None;
    }
    let words = words(facts);
    let passes = of_a_quota(&words) || of_the_network(&words);
    let span = patience(facts).filter(|_| !passes);
    Some(Trouble {
        reason: if of_a_quota(&words) { "QuotaExceeded".into() } else { bounded(phase, 63) },
        message: words,
        since: facts.remote.metadata.said_at,
        terminal: span.is_some(),
        span: span.unwrap_or(OF_SETUP),
    })
}

/// What is wrong in words: of what is set up, each part of its own.
pub(super) fn words(facts: &Facts<'_>) -> String {
    let setups = facts.status.cluster_setup.as_array().into_iter().flatten();
    let text = |of: &serde_json::Value, member: &str| of[member].as_str().unwrap_or_default().to_owned();
    let wrong =
        setups.filter(|s| ["ApplicationError", "ApplicationDegraded"].contains(&text(s, "status").as_str()));
    let each: Vec<String> = wrong.map(|s| format!("{}: {}", text(s, "name"), text(s, "message"))).collect();
    let of_setup = matches!(facts.phase(), phases::SETUP_FAILED | phases::SETUP_DEGRADED);
    let said = if of_setup && !each.is_empty() { each.join("; ") } else { facts.status.message.clone() };
    let line = said.lines().next().unwrap_or_default();
    bounded(&redacted(line, 768), 768)
}

/// What will not pass by itself. What a HostedCluster says comes first: it is the cause. While it is not seen nobody knows since when.
pub(super) fn terminal(facts: &Facts<'_>) -> Vec<Trouble> {
    let of_now = |wrong: Trouble| Trouble { since: wrong.since.filter(|_| facts.seen), ..wrong };
    let of_cluster = facts.behind.iter().flat_map(Behind::terminal).map(of_now);
    of_cluster.chain(said(facts).filter(|wrong| wrong.terminal)).collect()
}

/// What may pass: the weightiest first.
pub(super) fn passing(facts: &Facts<'_>) -> Vec<Trouble> {
    let of_cluster = facts.behind.iter().flat_map(Behind::passing);
    of_cluster.chain(said(facts).filter(|wrong| !wrong.terminal)).collect()
}

/// What keeps a cluster that was ready from being so. The phase says Ready all the same.
pub(super) fn degrading(facts: &Facts<'_>) -> Vec<Trouble> {
    let lost = facts.condition(conditions::INSTALLED).filter(|c| !c.is_true());
    let of_cluster = facts.behind.iter().flat_map(Behind::degrading);
    of_cluster.chain(lost.map(|c| Trouble::of(c, None, false))).collect()
}

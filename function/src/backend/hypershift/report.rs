//! What a HostedCluster and its NodePools show → [`Health`].
//!
//! **Invariant:** without published credentials nothing is Ready, whatever HyperShift says.

use jiff::Timestamp;
use testplatform_apis::{
    condition::Credentials,
    foreign::hypershift::conditions,
    names::{ObjectName, ours},
    status::ErrorStatus,
};

use super::{
    Wanted,
    facts::Facts,
    levels, rollout,
    trouble::{self, Trouble},
};
use crate::{
    backend::{Health, MAX_DIAGNOSTICS, Stage, published::published},
    observed::{Observed, Writer},
    templates::Templated,
    text::bounded,
    validate::Validated,
};

pub(super) fn health(templated: &Templated, request: &Validated, observed: &Observed) -> Health {
    let version = templated.effective.as_ref().and_then(|e| e.version.as_deref());
    let mut health = Health { version_desired: version.map(|v| bounded(v, 64)), ..Health::default() };
    let wanted = Wanted::of(templated);
    let Some(facts) = Facts::of(observed, wanted) else { return health };
    let (remote, status) = (facts.remote, facts.status);
    let (secret, blocking) = credentials(&facts);
    health.bound = !status.conditions.is_empty() || remote.status.error.is_some();
    health.teardown_arrived = remote.metadata.deletion_timestamp.is_some();
    health.ready_since = facts.up_since().filter(|_| facts.is_up());
    health.revision = remote.metadata.annotation(ours::CREDENTIALS_REVISION).map(str::to_owned);
    health.unreadable = remote.status.error.clone().or_else(|| facts.unreadable.clone());
    health.diagnostics = remote.metadata.annotation(ours::DIAGNOSTICS).map(|d| bounded(d, MAX_DIAGNOSTICS));
    health.version = rollout::completed(status).map(|update| bounded(&update.version, 64));
    let endpoint = &status.control_plane_endpoint.value;
    if !endpoint.host.is_empty() && endpoint.port != 0 {
        let url = format!("https://{}:{}", endpoint.host, endpoint.port);
        health.api_server_url = Some(bounded(&url, 2048));
    }
    health.console_url = console(&facts);

    let ever_ready = observed.ever_ready();
    let hard = trouble::terminal(&facts);
    let degrading = if ever_ready { trouble::degrading(&facts) } else { vec![] };
    let now = observed.now;
    let grown: Vec<&Trouble> = hard.iter().filter(|t| t.has_lasted(trouble::GRACE, now)).collect();
    let weigh = |all: &[Trouble], span| {
        let until = all.iter().filter_map(|t| t.until(span)).filter(|until| *until > now).min();
        until.into_iter().collect::<Vec<Timestamp>>()
    };
    let waits = if ever_ready { vec![] } else { weigh(&hard, trouble::GRACE) };
    health.changes_at = waits.into_iter().chain(weigh(&degrading, trouble::DEGRADED)).min();
    let ends = request.teardown == Some(true)
        || observed.ending()
        || observed.writer.as_ref().is_some_and(Writer::goes);
    health.stage = if remote.metadata.deletion_timestamp.is_some() {
        Stage::Failing("the HostedCluster is being deleted on the hub".into())
    } else {
        match (ever_ready, grown.first()) {
            (false, Some(wrong)) if !ends => {
                Stage::Refused { words: bounded(&wrong.said(), 512), costs: true }
            }
            (false, _) if facts.is_up() && secret.is_some() => Stage::Ready,
            (false, _) => Stage::Provisioning,
            (true, _) => running(&facts, &degrading, secret.is_some(), now),
        }
    };
    health.secret = secret;
    health.blocking = blocking;
    health.levels = levels::levels(&facts, templated, observed, &grown);
    let progress = health.levels.progress.as_ref();
    health.word = progress.and_then(|p| p.step.clone()).unwrap_or_default();
    let waiting = progress.and_then(|p| p.message.clone()).filter(|_| !facts.is_up());
    health.waiting = waiting.unwrap_or_default();
    let soft = trouble::passing(&facts);
    health.levels.last_error = hard.iter().chain(&degrading).chain(&soft).next().map(|wrong| ErrorStatus {
        reason: Some(wrong.reason.clone()),
        message: Some(wrong.message.clone()),
        since: wrong.since,
        terminal: Some(wrong.terminal),
    });
    health
}

/// Of a cluster that was ready: what flaps is waited out.
fn running(facts: &Facts<'_>, degrading: &[Trouble], published: bool, now: Timestamp) -> Stage {
    if let Some(wrong) = degrading.iter().find(|t| t.has_lasted(trouble::DEGRADED, now)) {
        return Stage::Failing(bounded(&wrong.said(), 512));
    }
    if !published {
        return Stage::Failing("the hub does not publish its credentials now".into());
    }
    // Gone without a word, such as by a restore of the hub.
    if degrading.is_empty() && !facts.answers() {
        return Stage::Failing("the hub does not say now whether its API answers".into());
    }
    Stage::Ready
}

/// The published Secret, or why there is none.
fn credentials(facts: &Facts<'_>) -> (Option<ObjectName>, Option<(Credentials, String)>) {
    let own = format!("{}-credentials", facts.remote.metadata.name);
    match published(&facts.report, &own) {
        Some(Ok(secret)) => (Some(secret), None),
        Some(Err(why)) => (None, Some(why)),
        None if !facts.answers() => {
            (None, Some((Credentials::NotRunning, "its API does not answer yet".into())))
        }
        None => (None, Some((Credentials::SecretMissing, "the hub has not published them yet".into()))),
    }
}

/// Known once the console is there. The domain is in the spec as the hub has it: where it is that of the hub, HyperShift fills it in.
fn console(facts: &Facts<'_>) -> Option<String> {
    rollout::completed(facts.status).filter(|_| facts.nodes_asked())?;
    let spec = &facts.remote.spec;
    let ingress = spec["configuration"]["ingress"]["domain"].as_str().filter(|d| !d.is_empty());
    let base = spec["dns"]["baseDomain"].as_str().filter(|d| !d.is_empty());
    let name = facts.remote.metadata.name.as_str();
    let own = |base: &str| match spec["dns"]["baseDomainPrefix"].as_str() {
        Some("") => format!("apps.{base}"),
        prefix => format!("apps.{}.{base}", prefix.unwrap_or(name)),
    };
    let domain = ingress.map(str::to_owned).or_else(|| base.map(own))?;
    Some(bounded(&format!("https://console-openshift-console.{domain}"), 2048))
}

/// The component of the control plane that is not there.
pub(super) fn component(facts: &Facts<'_>) -> Option<String> {
    let parts =
        [(conditions::ETCD_AVAILABLE, "etcd"), (conditions::KUBE_API_SERVER_AVAILABLE, "kube-apiserver")];
    parts.into_iter().find_map(|(type_, what)| {
        let lacks = facts.lacks(type_)?;
        let words = if lacks.message.is_empty() { &lacks.reason } else { &lacks.message };
        Some(if words.is_empty() { what.to_owned() } else { format!("{what}: {}", bounded(words, 256)) })
    })
}

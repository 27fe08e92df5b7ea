//! What is wrong with a ClusterOrder. A job that failed is tried again, for ever and later each time; what has failed three times at the
//! same spec is not waited for any more.

use jiff::SignedDuration;
use serde_json::{Value, json};
use testplatform_apis::{
    foreign::osac::{Job, NodeSetWorker, conditions},
    json,
    names::ours,
    redact::redacted,
};

use super::facts::{self, Facts};
use crate::{
    backend::{hypershift, templated::Trouble},
    observed::Observed,
    text::bounded,
};

/// How often the job may fail at one spec.
const TRIES: usize = 3;
/// What is noted of each id.
const ID: usize = 64;

/// The line of a job that says most: that of a stack of calls is its last.
fn line(job: &Job) -> &str {
    let mut lines = job.message.lines().map(str::trim).filter(|line| !line.is_empty());
    let stack = job.message.contains("Traceback (most recent call last)");
    if stack { lines.next_back() } else { lines.next() }.unwrap_or_default()
}

/// How a job does, in a sentence.
pub(super) fn words(job: &Job) -> String {
    let state = match job.state.as_str() {
        "Pending" | "Waiting" => "waits for its turn".to_owned(),
        "Running" => "runs".to_owned(),
        "Succeeded" => "has done its work".to_owned(),
        "Failed" => "failed and is tried again".to_owned(),
        "Canceled" => "was canceled".to_owned(),
        other => format!("is {}", bounded(other, 63)),
    };
    let said = line(job);
    if said.is_empty() { format!("its job {state}") } else { format!("its job {state}: {said}") }
}

fn trouble(job: &Job, terminal: bool) -> Trouble {
    let said = line(job);
    Trouble {
        reason: "ProvisioningJobFailed".into(),
        message: bounded(&redacted(if said.is_empty() { &job.state } else { said }, 768), 768),
        since: job.timestamp,
        terminal,
        // That it was tried so often is what had to be waited for.
        span: SignedDuration::ZERO,
    }
}

/// Whether a job was to bring a spec about, and could not.
fn is_failure(job: &Job) -> bool {
    job.type_ == Job::PROVISION && job.state == "Failed"
}

/// The jobs that failed at the spec as it is: those that the order still tells of, and those that were seen before.
fn failed(observed: &Observed) -> (String, Vec<String>) {
    let noted: Vec<String> =
        observed.note(ours::FAILED_JOBS).and_then(|note| json::read_text(note).ok()).unwrap_or_default();
    let mut noted = noted.into_iter();
    let of = noted.next().unwrap_or_default();
    let Some(status) = facts::remote(observed).map(|remote| &remote.status.value) else {
        return (of, noted.collect());
    };
    let desired = bounded(&status.desired_config_version, ID);
    let mut ids: Vec<String> = noted.filter(|_| of == desired).collect();
    let jobs = status.provisioning_jobs.value.iter();
    let jobs = jobs.filter(|job| is_failure(job));
    for job in jobs.filter(|job| job.config_version == status.desired_config_version) {
        let id = bounded(&job.id, ID);
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids.truncate(TRIES);
    (desired, ids)
}

/// Noted on the writer: the jobs that failed. An order forgets them after a while.
pub(super) fn note(observed: &Observed) -> Option<(String, Value)> {
    let (of, ids) = failed(observed);
    let all: Vec<String> = std::iter::once(of).chain(ids).collect();
    (all.len() > 1).then(|| (ours::FAILED_JOBS.to_owned(), json!(all).to_string().into()))
}

/// What will not pass by itself.
pub(super) fn terminal(facts: &Facts<'_>, observed: &Observed) -> Vec<Trouble> {
    let now = || facts.job().filter(|job| job.has_failed() && facts.status.phase == "Failed");
    // What it was given up for stays told while it goes.
    let last = || facts.status.provisioning_jobs.value.iter().rfind(|job| is_failure(job));
    let given_up = observed.note(ours::FAILED).is_some();
    let often = given_up || failed(observed).1.len() >= TRIES;
    let job = if given_up { last() } else { now() };
    job.filter(|_| often).map(|job| trouble(job, true)).into_iter().collect()
}

/// What may pass: the weightiest first.
pub(super) fn passing(facts: &Facts<'_>) -> Vec<Trouble> {
    let job = facts.job().filter(|job| job.has_failed()).map(|job| trouble(job, false));
    // What somebody would have to change is OSAC's to change.
    let behind = facts.hosted.iter().flat_map(|hosted| {
        let changes = hypershift::trouble::terminal(hosted).into_iter();
        let changes = changes.map(|wrong| Trouble { terminal: false, ..wrong });
        changes.chain(hypershift::trouble::passing(hosted))
    });
    let machines = facts.status.workers.value.iter().filter(|worker| worker.has_failed()).map(machine);
    job.into_iter().chain(machines).chain(behind).collect()
}

/// A machine that failed. OSAC tries it again.
fn machine(worker: &NodeSetWorker) -> Trouble {
    let (reason, set) = (&worker.last_failure_reason, &worker.node_set);
    let reason = if reason.is_empty() { "WorkerFailed" } else { reason };
    let words = format!("a machine of node set {set} failed: {}", worker.last_failure_message);
    Trouble {
        reason: bounded(reason, 63),
        message: bounded(&redacted(words.trim_end_matches(": "), 768), 768),
        since: worker.last_failure_time,
        terminal: false,
        span: SignedDuration::ZERO,
    }
}

/// What keeps a cluster that was ready from being so. The order's own conditions stay True whatever becomes of it.
pub(super) fn degrading(facts: &Facts<'_>) -> Vec<Trouble> {
    if let Some(hosted) = &facts.hosted {
        return hypershift::trouble::degrading(hosted);
    }
    let available = facts.condition(conditions::CONTROL_PLANE_AVAILABLE);
    available.filter(|c| c.is_false()).map(|c| Trouble::of(c, None, false)).into_iter().collect()
}

/// Why it cannot be taken down: what a failed job left behind would be paid for unseen.
pub(super) fn keeps_from_ending(facts: &Facts<'_>) -> Option<String> {
    let job = facts.last_job().filter(|job| job.has_failed() && job.block_deletion_on_failure)?;
    Some(bounded(&redacted(&format!("the job that takes it down failed: {}", line(job)), 512), 512))
}

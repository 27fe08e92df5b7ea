//! Failures of a ClusterOrder. A failed job is retried for ever, each time later. [`MAX_FAILED_JOBS`] failures at the same spec count as
//! terminal, but for those that pass with a quota or a network.

use jiff::SignedDuration;
use serde_json::{Value, json};
use testplatform_apis::{
    foreign::osac::{Job, NodeSetWorker, conditions},
    json,
    names::ours,
    redact::redact_text,
    text::bounded,
};

use super::{facts::OrderFacts, remote::observed_order};
use crate::cluster::{
    backends::{
        common::templated::{FailureCondition, is_network_error, is_quota_error},
        hosted_cluster,
    },
    observed::Observed,
};

/// How often the job may fail at one spec. OSAC waits for two minutes after the start of a failed job, and twice as long after each further one
/// (`HandleBackoff` of osac-operator), so these are half an hour: longer than its automation is away for an update.
const MAX_FAILED_JOBS: usize = 5;
/// Maximum length of a recorded job id.
const MAX_JOB_ID: usize = 64;

/// The line of a job that says most: that of a stack of calls is its last.
fn message_line(job: &Job) -> &str {
    let mut lines = job.message.lines().map(str::trim).filter(|line| !line.is_empty());
    let stack = job.message.contains("Traceback (most recent call last)");
    if stack { lines.next_back() } else { lines.next() }.unwrap_or_default()
}

/// How a job does, in a sentence.
pub(super) fn job_message(job: &Job) -> String {
    let state = match job.state.as_str() {
        "Pending" | "Waiting" => "waits for its turn".to_owned(),
        "Running" => "runs".to_owned(),
        "Succeeded" => "has done its work".to_owned(),
        "Failed" => "failed and is tried again".to_owned(),
        "Canceled" => "was canceled".to_owned(),
        other => format!("is {}", bounded(other, 63)),
    };
    let text = message_line(job);
    if text.is_empty() { format!("its job {state}") } else { format!("its job {state}: {text}") }
}

fn job_failure(job: &Job, terminal: bool) -> FailureCondition {
    let text = message_line(job);
    FailureCondition {
        reason: "ProvisioningJobFailed".into(),
        message: bounded(&redact_text(if text.is_empty() { &job.state } else { text }, 768), 768),
        since: job.timestamp,
        terminal,
        // That it was tried so often is what had to be waited for.
        grace: SignedDuration::ZERO,
    }
}

/// Whether a job was to bring a spec about, and could not.
fn is_failed_provision(job: &Job) -> bool {
    job.type_ == Job::PROVISION && job.state == "Failed"
}

/// Whether the cause of a failed job passes with a quota or a network.
fn passes(job: &Job) -> bool {
    is_quota_error(&job.message) || is_network_error(&job.message)
}

/// The jobs that failed at the spec as it is: those that the order still tells of, and those that were seen before.
fn failed_jobs(observed: &Observed) -> (String, Vec<String>) {
    let recorded: Vec<String> = observed
        .annotation(ours::FAILED_JOBS)
        .and_then(|note| json::read_text(note).ok())
        .unwrap_or_default();
    let mut recorded = recorded.into_iter();
    let of = recorded.next().unwrap_or_default();
    let Some(status) = observed_order(observed).map(|remote| &remote.status.value) else {
        return (of, recorded.collect());
    };
    let desired = bounded(&status.desired_config_version, MAX_JOB_ID);
    let mut ids: Vec<String> = recorded.filter(|_| of == desired).collect();
    let jobs = status.provisioning_jobs.value.iter();
    let jobs = jobs.filter(|job| is_failed_provision(job));
    for job in jobs.filter(|job| job.config_version == status.desired_config_version && !passes(job)) {
        let id = bounded(&job.id, MAX_JOB_ID);
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids.truncate(MAX_FAILED_JOBS);
    (desired, ids)
}

/// Noted on the writer: the jobs that failed. An order forgets them after a while.
pub(super) fn failed_jobs_annotation(observed: &Observed) -> Option<(String, Value)> {
    let (of, ids) = failed_jobs(observed);
    let all: Vec<String> = std::iter::once(of).chain(ids).collect();
    (all.len() > 1).then(|| (ours::FAILED_JOBS.to_owned(), json!(all).to_string().into()))
}

/// Failures that do not resolve by themselves.
pub(super) fn terminal_failures(facts: &OrderFacts<'_>, observed: &Observed) -> Vec<FailureCondition> {
    let now = || facts.provision_job().filter(|job| job.has_failed() && facts.status.phase == "Failed");
    // The failure for which it was given up stays visible during teardown.
    let last = || facts.status.provisioning_jobs.value.iter().rfind(|job| is_failed_provision(job));
    let given_up = observed.annotation(ours::FAILED).is_some();
    let often = given_up || failed_jobs(observed).1.len() >= MAX_FAILED_JOBS;
    let job = if given_up { last() } else { now() };
    let job = job.filter(|job| given_up || (often && !passes(job)));
    job.map(|job| job_failure(job, true)).into_iter().collect()
}

/// What may pass: the weightiest first.
pub(super) fn transient_failures(facts: &OrderFacts<'_>) -> Vec<FailureCondition> {
    let job = facts.provision_job().filter(|job| job.has_failed()).map(|job| job_failure(job, false));
    // A failure that needs a change is for OSAC to resolve.
    let behind = facts.hosted.iter().flat_map(|hosted| {
        let changes = hosted_cluster::failures::terminal_failures(hosted).into_iter();
        let changes = changes.map(|wrong| FailureCondition { terminal: false, ..wrong });
        changes.chain(hosted_cluster::failures::transient_failures(hosted))
    });
    let machines =
        facts.status.workers.value.iter().filter(|worker| worker.has_failed()).map(machine_failure);
    job.into_iter().chain(machines).chain(behind).collect()
}

/// A machine that failed. OSAC tries it again.
fn machine_failure(worker: &NodeSetWorker) -> FailureCondition {
    let (reason, set) = (&worker.last_failure_reason, &worker.node_set);
    let reason = if reason.is_empty() { "WorkerFailed" } else { reason };
    let message = format!("a machine of node set {set} failed: {}", worker.last_failure_message);
    FailureCondition {
        reason: bounded(reason, 63),
        message: bounded(&redact_text(message.trim_end_matches(": "), 768), 768),
        since: worker.last_failure_time,
        terminal: false,
        grace: SignedDuration::ZERO,
    }
}

/// Failures that degrade a cluster that was ready. The order's own conditions stay True regardless.
pub(super) fn degrading_failures(facts: &OrderFacts<'_>) -> Vec<FailureCondition> {
    if let Some(hosted) = &facts.hosted {
        return hosted_cluster::failures::degrading_failures(hosted);
    }
    let available = facts.condition(conditions::CONTROL_PLANE_AVAILABLE);
    available
        .filter(|c| !c.is_true())
        .map(|c| FailureCondition::from_condition(c, None, false))
        .into_iter()
        .collect()
}

/// Why it cannot be taken down: what a failed job left behind would be paid for unseen.
pub(super) fn teardown_failure(facts: &OrderFacts<'_>) -> Option<String> {
    let job = facts.deprovision_job().filter(|job| job.has_failed() && job.block_deletion_on_failure)?;
    Some(bounded(
        &redact_text(&format!("the job that takes it down failed: {}", message_line(job)), 512),
        512,
    ))
}

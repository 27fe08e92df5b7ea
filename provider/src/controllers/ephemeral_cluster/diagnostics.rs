//! Known facts about a failed EphemeralCluster, for later questions: the job is swept after a day, and its namespace after three. They consist
//! of our own words, names and links, and never of text that somebody else wrote, because it may quote a log, and a log may quote a secret.

use serde_json::{Map, Value, json};
pub use testplatform_runtime::diagnostics::MAX;
use testplatform_runtime::diagnostics::{entry, fit_to_size, is_word};

use super::{
    conditions::{CLUSTER_READY, ConditionReason, PROW_JOB_COMPLETED, PROW_JOB_CREATING, find},
    observed_state::Job,
    status::{Condition, Status},
};
use crate::build_clusters::JobSite;

/// Diagnostics as JSON.
pub fn of(status: &Status, job: Option<&Job>) -> String {
    let entry = |c: &Condition| entry(&c.type_, &c.status, &c.reason, c.last_transition_time);
    let timeline: Vec<Value> = status.conditions.iter().map(entry).collect();
    let (reason, _) = failure_cause(status);
    let mut summary = json!({ "reason": reason, "prowJob": prow_job(status, job) });
    if let Some(site) = job.and_then(|j| site(&j.site)) {
        summary["buildCluster"] = site.0.into();
        if let Some(namespace) = site.1 {
            summary["namespace"] = namespace.into();
        }
    }
    fit_to_size(summary, timeline)
}

/// Reason of the failure, and the type of the condition that reports it.
pub fn failure_cause(status: &Status) -> (String, &'static str) {
    let against = |type_: &str| find(&status.conditions, type_).filter(|c| c.is_false());
    let verdict = against(CLUSTER_READY).filter(|c| ConditionReason::parse_decision(&c.reason).is_some());
    let ended = find(&status.conditions, PROW_JOB_COMPLETED).filter(|c| c.is_true());
    let created = ConditionReason::ProwJobCreated.as_str();
    let refused = against(PROW_JOB_CREATING).filter(|c| c.reason != created && is_word(&c.reason));
    let (condition, type_) = match (verdict, ended, refused) {
        (Some(verdict), _, _) => (verdict, CLUSTER_READY),
        (None, Some(ended), _) => (ended, PROW_JOB_COMPLETED),
        (None, None, Some(refused)) => (refused, PROW_JOB_CREATING),
        (None, None, None) => match against(CLUSTER_READY) {
            Some(condition) => (condition, CLUSTER_READY),
            None => return ("Failed".into(), CLUSTER_READY),
        },
    };
    let word = if is_word(&condition.reason) { condition.reason.clone() } else { "Failed".into() };
    (word, type_)
}

fn prow_job(status: &Status, job: Option<&Job>) -> Value {
    let mut shown = Map::new();
    let job = job.map(|j| &j.prow_job);
    let name = job.map_or(status.prow_job_id.as_str(), |j| j.name());
    let url = job.map_or(status.prow_job_url.as_str(), |j| &j.status.value.url);
    let state = job.map_or("", |j| j.state().as_str());
    let is_link = |url: &str| url.starts_with("https://") || url.starts_with("http://");
    let texts =
        [("name", name, 253), ("state", state, 63), ("url", if is_link(url) { url } else { "" }, 2048)];
    for (key, text, max) in texts {
        if !text.is_empty() && text.len() <= max && !text.contains(char::is_control) {
            shown.insert(key.into(), text.into());
        }
    }
    shown.into()
}

fn site(site: &JobSite) -> Option<(&str, Option<&str>)> {
    match site {
        JobSite::Unscheduled => None,
        JobSite::Unknown { cluster }
        | JobSite::Unreachable { cluster, .. }
        | JobSite::NoNamespace { cluster } => Some((cluster, None)),
        JobSite::Namespace { cluster, name, .. } => Some((cluster, Some(name))),
    }
}

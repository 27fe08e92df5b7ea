//! Drafts the job of an EphemeralCluster, or the reason why there is none.

use jiff::Timestamp;
use serde_json::Value;
use testplatform_apis::{names::ours, yaml::to_yaml};

use super::{
    ci_operator_config::ci_operator_config,
    job_name::illegal_run_names,
    manifest::{JobInputs, manifest},
    observed_state::{Draft, JobRefusal},
    request::Request,
    settings::Settings,
    validation::{GENERATION, RequestProblem, Validation, validate},
};
use crate::config::{Config, profiles::Profiles};

/// How many problems are listed before the rest is only counted.
const MAX_LISTED: usize = 10;

/// Judges an EphemeralCluster, whole and as read from the API server, and makes the manifest of its ProwJob.
///
/// An annotation of the manifest, [`ours::REMARK`], names the parts of the request that were left out.
pub fn draft(object: &Value, config: &Config, profiles: &Profiles, now: Timestamp) -> Draft {
    let request = match Request::new(object) {
        Some(request) if !request.uid().is_empty() => request,
        _ => return wait_for("the EphemeralCluster cannot be read: it has no uid or no spec.ciOperator"),
    };
    let settings = &config.ephemeral_cluster;
    let Validation { mut problems, obstacle, cloud } = validate(&request, settings, profiles);
    let durations = Settings::from(config);
    let step_timeout = request.step_timeout(&durations);
    let inline = match to_yaml(&ci_operator_config(&request, settings, step_timeout)) {
        Ok(inline) => inline,
        Err(error) => return wait_for(format!("the ci-operator configuration cannot be written: {error}")),
    };
    if inline.len() > settings.max_config_bytes {
        problems.push(RequestProblem::Oversize { size: inline.len(), limit: settings.max_config_bytes });
    }
    // A request that can never be served is reported even while something else blocks it.
    if let Some(first) = problems.first() {
        return Draft::Refused(JobRefusal { reason: first.reason(), message: join_problems(&problems) });
    }
    if let Some(obstacle) = obstacle {
        return wait_for(obstacle);
    }
    let remark = remark_on_omissions(&request);
    let parts = JobInputs {
        cloud: &cloud,
        ci_operator_config: &inline,
        timeout: request.job_timeout(&durations),
        remark: remark.as_deref(),
    };
    Draft::Job(Box::new(manifest(&request, &config.prow, &parts, now)))
}

fn wait_for(message: impl Into<String>) -> Draft {
    Draft::Later(JobRefusal { reason: GENERATION, message: message.into() })
}

fn join_problems(problems: &[RequestProblem]) -> String {
    let mut texts: Vec<String> = problems.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if problems.len() > MAX_LISTED {
        texts.push(format!("and {} more", problems.len() - MAX_LISTED));
    }
    texts.join("; ")
}

/// Remark on parts that were left out. It names annotations, never their content.
fn remark_on_omissions(request: &Request<'_>) -> Option<String> {
    let mut remarks: Vec<String> = illegal_run_names(request)
        .iter()
        .map(|key| {
            format!("annotation {key} is left out of the job's name: it is not an RFC 1123 subdomain of at most 63 characters")
        })
        .collect();
    let durations = [ours::PROVISION_TIMEOUT, ours::MAX_LIFETIME];
    remarks.extend(durations.iter().filter(|key| request.duration(key).is_err()).map(|key| {
        format!("annotation {key} is not a duration such as 4h, and the hub's default counts instead")
    }));
    (!remarks.is_empty()).then(|| remarks.join("; "))
}

//! Name of a job, and values that are legal in labels.

use testplatform_apis::names::{
    ShortName,
    ephemeral_cluster::{PIPELINE_RUN_NAME, TASK_RUN_NAME},
};

use super::{prow_job, request::Request};

/// Prow places jobs whose names begin so.
const PREFIX: &str = "ephemeralcluster-ci-";
/// The longest value of a label.
const MAX_LABEL: usize = 63;

/// Name of the job: after the run that requested the cluster, else after the EphemeralCluster, and shared with no other. Prow remembers for a
/// day which build cluster it chose for a name, so a common name would put all jobs on one cluster.
pub fn job_name(request: &Request<'_>) -> String {
    let runs = [PIPELINE_RUN_NAME, TASK_RUN_NAME];
    let mut legal = runs.iter().filter_map(|key| ShortName::try_from(request.metadata.annotation(key)?).ok());
    let name = legal.next().map_or_else(|| request.metadata.name.clone(), |run| run.to_string());
    format!("{PREFIX}{name}-{:.8}", prow_job::name_for(request.uid()))
}

/// The annotations with run names that are not legal in a name. They are left out of it.
pub fn illegal_run_names(request: &Request<'_>) -> Vec<&'static str> {
    let illegal =
        |key: &&str| request.metadata.annotation(key).is_some_and(|name| ShortName::try_from(name).is_err());
    [PIPELINE_RUN_NAME, TASK_RUN_NAME].into_iter().filter(illegal).collect()
}

/// A text cut to the length of a label's value, as Prow cuts it.
pub fn cut(text: &str) -> &str {
    let end = text.floor_char_boundary(MAX_LABEL);
    text[..end].trim_end_matches(|c: char| !c.is_ascii_alphanumeric())
}

/// A text as the value of a label, if it is legal as one.
pub fn label_value(text: &str) -> Option<&str> {
    let ends = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let legal = text.len() <= MAX_LABEL
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && ends(text.as_bytes().first())
        && ends(text.as_bytes().last());
    legal.then_some(text)
}

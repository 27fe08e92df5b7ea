//! `spec.cleanup`: teardown of a cluster that is no longer needed, because the runs that own its claim have completed.
//!
//! The provider on the claims' cluster watches the runs. It records on the claim since when its cluster is not needed
//! ([`CLEANUP_SINCE`](crate::names::ours::CLEANUP_SINCE)), and sets `spec.tearDownCluster` when the time comes. The function and the plugin
//! only display that. The annotation is on the tenant's object and thus untrusted: it can make a cluster's end look earlier, never later.

use jiff::Timestamp;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::duration::{DurationError, GoDuration};

/// Refusal of an invalid duration.
pub const KEEP_RULE: &str = "keepForDebug must be a duration such as 30m or 1h30m; 0s keeps nothing";
/// Refusal of keepForDebug without onOwnerCompletion.
pub const KEEP_ALONE: &str =
    "keepForDebug belongs to onOwnerCompletion; set that too, or remove keepForDebug";

/// Cleanup of a cluster that is no longer needed.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.keepForDebug) || has(self.onOwnerCompletion)").message(KEEP_ALONE))]
pub struct Cleanup {
    /// Whether the cluster is destroyed once it is no longer needed: when every PipelineRun and TaskRun of Tekton that owns this object (by
    /// metadata.ownerReferences) has completed or is gone, or when the claim has Failed. This object is not deleted; tearDownCluster is set
    /// on it. An object with tearDownCluster: false is not changed. Without a PipelineRun or TaskRun among its owners only Failed counts.
    /// If not set, false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_owner_completion: Option<bool>,

    /// Time for which the cluster is kept after that, as a duration such as 30m, so that somebody can look at it. It extends no lifetime,
    /// and does not keep a Failed cluster, which the hub destroys by itself. May be changed at any time. If not set, 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(NOT_NEGATIVE).message(KEEP_RULE))]
    pub keep_for_debug: Option<GoDuration>,
}

/// Go's syntax first, without a sign; then `duration()` has to take it, too.
const NOT_NEGATIVE: &str = "self.matches('^(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$') && duration(self) >= duration('0s')";

/// Time for which a cluster is kept after it is no longer needed, by its claim's `spec`. None: cleanup was not requested.
///
/// # Errors If `spec.cleanup.keepForDebug` is no duration, or below zero: a file has passed no API server. Then it must not end a cluster.
pub fn debug_retention(spec: &Value) -> Option<Result<GoDuration, DurationError>> {
    let cleanup = &spec["cleanup"];
    (cleanup["onOwnerCompletion"] == true).then(|| match &cleanup["keepForDebug"] {
        Value::Null => Ok(GoDuration::ZERO),
        Value::String(text) => match text.parse()? {
            kept if kept < GoDuration::ZERO => Err(DurationError::Syntax(text.chars().take(40).collect())),
            kept => Ok(kept),
        },
        other => Err(DurationError::Syntax(other.to_string().chars().take(40).collect())),
    })
}

/// Parses the annotation. Only the form that [`format_since`] writes is accepted.
pub fn parse_since(text: &str) -> Option<Timestamp> {
    text.parse().ok().filter(|at| format_since(*at) == text)
}

/// Formats the annotation: whole seconds, as in Kubernetes.
pub fn format_since(since: Timestamp) -> String {
    Timestamp::from_second(since.as_second()).unwrap_or(since).to_string()
}

/// Time of the teardown of a cluster that is no longer needed; none while it is needed or unknown. `noted` is the annotation.
pub fn teardown_due(spec: &Value, noted: Option<&str>) -> Option<Timestamp> {
    let retention = debug_retention(spec)?.ok()?;
    parse_since(noted?)?.checked_add(retention.as_signed()).ok()
}

//! Configuration of kube-state-metrics: claims by phase, times and conditions, Objects in deletion, and the expiry of the hub's kubeconfig.

use serde_json::{Value, json};
use testplatform_apis::{claim, names::ours, phase::Phase};

/// 1 for the current phase of a claim, 0 for every other.
pub const PHASE: &str = "testplatform_cluster_phase";
/// Acceptance time of a claim.
pub const STARTED: &str = "testplatform_cluster_started_timestamp_seconds";
/// Time at which its cluster first became ready.
pub const READY: &str = "testplatform_cluster_ready_timestamp_seconds";
/// End of its lifetime.
pub const EXPIRES: &str = "testplatform_cluster_expires_timestamp_seconds";
/// Transition time of a condition of a claim; status and reason are labels.
pub const CONDITION: &str = "testplatform_cluster_condition_timestamp_seconds";
/// Expiry of the token in the kubeconfig behind a ProviderConfig, from its annotation.
pub const KUBECONFIG_EXPIRES: &str = "testplatform_provider_config_kubeconfig_expires_timestamp_seconds";
/// Deletion time of an Object that still exists. The Object outlives claim and composite, so this metric reveals orphans.
pub const OBJECT_DELETED: &str = "testplatform_object_deletion_timestamp_seconds";
/// The same for an Object in a namespace, under its own name: if two kinds share a metric name, kube-state-metrics 2.12 to 2.18 omits the
/// second.
pub const NAMESPACED_OBJECT_DELETED: &str = "testplatform_namespaced_object_deletion_timestamp_seconds";

/// Every metric that kube-state-metrics exports with this configuration.
pub const ALL: [&str; 8] = [
    PHASE,
    STARTED,
    READY,
    EXPIRES,
    CONDITION,
    KUBECONFIG_EXPIRES,
    OBJECT_DELETED,
    NAMESPACED_OBJECT_DELETED,
];

/// The file for kube-state-metrics' flag `--custom-resource-state-config-file`.
pub fn custom_resource_state() -> Value {
    let phases: Vec<&str> = Phase::ALL.iter().map(|phase| phase.as_str()).collect();
    // A path to an object would create a metric for each of its fields, so each path leads to the value itself.
    let time = |name, help, field: &str| build_metric(name, help, &json!({ "path": ["status", field] }));
    let conditions = json!({
        "path": ["status", "conditions"],
        "valueFrom": ["lastTransitionTime"],
        // Without the message: it contains names of jobs.
        "labelsFromPath": { "type": ["type"], "status": ["status"], "reason": ["reason"] },
    });
    let expires = json!({ "path": ["metadata", "annotations", ours::KUBECONFIG_EXPIRES_AT] });
    json!({
        "kind": "CustomResourceStateMetrics",
        "spec": { "resources": [
            {
                "groupVersionKind": { "group": "ci.openshift.org", "version": "v1alpha1", "kind": "TestPlatformCluster" },
                // Metric names are complete, so a search finds them where they are used.
                "metricNamePrefix": "testplatform",
                // A claim without this field is normal and not logged.
                "errorLogV": 10,
                // Not `namespace`: that label is the namespace of kube-state-metrics itself.
                "labelsFromPath": { "tenant": ["metadata", "namespace"], "claim": ["metadata", "name"] },
                "metrics": [
                    {
                        "name": metric_suffix(PHASE),
                        "help": "Where a claim's cluster stands",
                        "each": {
                            "type": "StateSet",
                            "stateSet": { "labelName": "phase", "path": ["status", "phase"], "list": phases },
                        },
                    },
                    time(STARTED, "When a claim was taken up", "startedAt"),
                    time(READY, "When a claim's cluster first became ready", "readyAt"),
                    time(EXPIRES, "When a claim's lifetime ends", "expiresAt"),
                    build_metric(CONDITION, "Since when a claim's condition says so", &conditions),
                ],
            },
            {
                "groupVersionKind": { "group": "kubernetes.crossplane.io", "version": "v1alpha1", "kind": "ProviderConfig" },
                "metricNamePrefix": "testplatform",
                "errorLogV": 10,
                "labelsFromPath": { "provider_config": ["metadata", "name"] },
                "metrics": [build_metric(
                    KUBECONFIG_EXPIRES,
                    "When the token in the kubeconfig ends, as an annotation says",
                    &expires,
                )],
            },
            object_metrics(
                OBJECT_DELETED,
                &json!({ "group": "kubernetes.crossplane.io", "version": "v1alpha2", "kind": "Object" }),
                // A composite without a claim has neither.
                &[("tenant", "crossplane.io/claim-namespace"), ("claim", "crossplane.io/claim-name")],
            ),
            object_metrics(
                NAMESPACED_OBJECT_DELETED,
                &json!({ "group": "kubernetes.m.crossplane.io", "version": "v1alpha1", "kind": "Object" }),
                &[],
            ),
        ] },
    })
}

/// Metrics of Objects, of any owner. Only Objects in deletion have a value, so there are no more series than deletions.
fn object_metrics(name: &str, kind: &Value, of_claims: &[(&str, &str)]) -> Value {
    // An Object without such an owner belongs to another composite, or to none. The owner reference survives the owner.
    let owner = format!("[apiVersion={}]", claim::API_VERSION);
    let mut labels = json!({
        "object": ["metadata", "name"],
        "tenant": ["metadata", "namespace"],
        "composite": ["metadata", "labels", "crossplane.io/composite"],
        "composite_kind": ["metadata", "ownerReferences", owner, "kind"],
    });
    for (label, of_claim) in of_claims {
        labels[*label] = json!(["metadata", "labels", of_claim]);
    }
    let deleted = json!({ "path": ["metadata", "deletionTimestamp"] });
    json!({
        "groupVersionKind": kind,
        "metricNamePrefix": "testplatform",
        // An Object without a deletion time is normal and not logged.
        "errorLogV": 10,
        "labelsFromPath": labels,
        "metrics": [build_metric(name, "Since when an Object that is not gone is to go", &deleted)],
    })
}

fn build_metric(name: &str, help: &str, gauge: &Value) -> Value {
    json!({ "name": metric_suffix(name), "help": help, "each": { "type": "Gauge", "gauge": gauge } })
}

/// A name without the prefix that kube-state-metrics adds.
fn metric_suffix(name: &str) -> &str {
    name.strip_prefix("testplatform_").unwrap_or(name)
}

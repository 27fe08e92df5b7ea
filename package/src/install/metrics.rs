//! What kube-state-metrics makes of objects: claims by phase, times and conditions, Objects that are to go, and the end of the hub's
//! kubeconfig.

use serde_json::{Value, json};
use testplatform_apis::{claim, names::ours, phase::Phase};

/// 1 for the phase in which a claim is, 0 for every other.
pub const PHASE: &str = "testplatform_cluster_phase";
/// When a claim was taken up.
pub const STARTED: &str = "testplatform_cluster_started_timestamp_seconds";
/// When its cluster first became ready.
pub const READY: &str = "testplatform_cluster_ready_timestamp_seconds";
/// When its lifetime ends.
pub const EXPIRES: &str = "testplatform_cluster_expires_timestamp_seconds";
/// Since when a condition of a claim says what it says; status and reason are labels.
pub const CONDITION: &str = "testplatform_cluster_condition_timestamp_seconds";
/// When the token in the kubeconfig behind a ProviderConfig ends, as its annotation says.
pub const KUBECONFIG_EXPIRES: &str = "testplatform_provider_config_kubeconfig_expires_timestamp_seconds";
/// Since when an Object that is not gone is to go. It outlives claim and composite, and so tells of what is left when they are gone.
pub const OBJECT_DELETED: &str = "testplatform_object_deletion_timestamp_seconds";
/// The same of one in a namespace, under a name of its own: where two kinds share a name, kube-state-metrics 2.12 to 2.18 leaves the
/// second out.
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
    // A path to an object would make one of every field in it, so paths lead to the value itself.
    let time = |name, help, field: &str| metric(name, help, &json!({ "path": ["status", field] }));
    let conditions = json!({
        "path": ["status", "conditions"],
        "valueFrom": ["lastTransitionTime"],
        // Not the message: it has names of jobs in it.
        "labelsFromPath": { "type": ["type"], "status": ["status"], "reason": ["reason"] },
    });
    let expires = json!({ "path": ["metadata", "annotations", ours::KUBECONFIG_EXPIRES_AT] });
    json!({
        "kind": "CustomResourceStateMetrics",
        "spec": { "resources": [
            {
                "groupVersionKind": { "group": "ci.openshift.org", "version": "v1alpha1", "kind": "TestPlatformCluster" },
                // Names are whole, so that they can be found where they are used.
                "metricNamePrefix": "testplatform",
                // That a claim is not ready yet is nothing to log.
                "errorLogV": 10,
                // Not `namespace`: that is where kube-state-metrics itself is.
                "labelsFromPath": { "tenant": ["metadata", "namespace"], "claim": ["metadata", "name"] },
                "metrics": [
                    {
                        "name": suffix(PHASE),
                        "help": "Where a claim's cluster stands",
                        "each": {
                            "type": "StateSet",
                            "stateSet": { "labelName": "phase", "path": ["status", "phase"], "list": phases },
                        },
                    },
                    time(STARTED, "When a claim was taken up", "startedAt"),
                    time(READY, "When a claim's cluster first became ready", "readyAt"),
                    time(EXPIRES, "When a claim's lifetime ends", "expiresAt"),
                    metric(CONDITION, "Since when a claim's condition says so", &conditions),
                ],
            },
            {
                "groupVersionKind": { "group": "kubernetes.crossplane.io", "version": "v1alpha1", "kind": "ProviderConfig" },
                "metricNamePrefix": "testplatform",
                "errorLogV": 10,
                "labelsFromPath": { "provider_config": ["metadata", "name"] },
                "metrics": [metric(
                    KUBECONFIG_EXPIRES,
                    "When the token in the kubeconfig ends, as an annotation says",
                    &expires,
                )],
            },
            objects(
                OBJECT_DELETED,
                &json!({ "group": "kubernetes.crossplane.io", "version": "v1alpha2", "kind": "Object" }),
                // A composite that nobody claimed has neither.
                &[("tenant", "crossplane.io/claim-namespace"), ("claim", "crossplane.io/claim-name")],
            ),
            objects(
                NAMESPACED_OBJECT_DELETED,
                &json!({ "group": "kubernetes.m.crossplane.io", "version": "v1alpha1", "kind": "Object" }),
                &[],
            ),
        ] },
    })
}

/// Of Objects, which may be anybody's. Only those that are to go have a value, so there are no more series than Objects being deleted.
fn objects(name: &str, kind: &Value, of_claims: &[(&str, &str)]) -> Value {
    // An Object without such an owner is of somebody else's composite, or of none. The owner is still named when it is gone.
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
        // That an Object is not to go is nothing to log.
        "errorLogV": 10,
        "labelsFromPath": labels,
        "metrics": [metric(name, "Since when an Object that is not gone is to go", &deleted)],
    })
}

fn metric(name: &str, help: &str, gauge: &Value) -> Value {
    json!({ "name": suffix(name), "help": help, "each": { "type": "Gauge", "gauge": gauge } })
}

/// A name without the prefix that kube-state-metrics puts before it.
fn suffix(name: &str) -> &str {
    name.strip_prefix("testplatform_").unwrap_or(name)
}

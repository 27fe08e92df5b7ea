//! The CRD of `EphemeralCluster`, `ephemeralclusters.ci.openshift.io`: upstream's, with what our provider adds.
//!
//! It takes the place of upstream's on a hub and goes back again without a migration: names, version and the schema of `spec` are the
//! same, every object that upstream's controller writes is valid under it, and every object of ours under upstream's, which prunes
//! what is added. Nothing of ours depends on what is added.

use serde_json::{Value, json};

use crate::ci_operator;
use crate::foreign::ephemeral_cluster::{API_VERSION, KIND, PHASES};

/// The CRD.
///
/// The conditions stay a plain list, as upstream has it, and are no map by type: two writers can put in a type twice under upstream's,
/// and under a map such an object could not be written any more, by either. Each of ours is there once because our writer sees to it.
/// The enums are over what controllers write: the phases, the empty one after a creation that failed among them.
pub fn ephemeral_cluster() -> Value {
    let (group, version) = API_VERSION.split_once('/').unwrap_or_default();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("ephemeralclusters.{group}") },
        "spec": {
            "group": group,
            "names": {
                "kind": KIND,
                "listKind": format!("{KIND}List"),
                "plural": "ephemeralclusters",
                "singular": "ephemeralcluster",
                "shortNames": ["ec"],
            },
            "scope": "Namespaced",
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "additionalPrinterColumns": [
                    { "name": "Phase", "type": "string", "jsonPath": ".status.phase" },
                    { "name": "ProwJob URL", "type": "string", "jsonPath": ".status.prowJobURL" },
                    { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
                ],
                "schema": { "openAPIV3Schema": openapi_schema() },
            }],
        },
    })
}

fn openapi_schema() -> Value {
    json!({
        "type": "object",
        "description": "A throw-away cluster of the Test Platform.",
        "required": ["metadata", "spec"],
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "metadata": { "type": "object" },
            "spec": {
                "type": "object",
                "required": ["ciOperator"],
                "properties": {
                    "ciOperator": ci_operator::upstream_schema(),
                    "tearDownCluster": {
                        "type": "boolean",
                        "description": "True requests teardown of the cluster. It cannot be undone.",
                    },
                },
            },
            "status": status_schema(),
        },
    })
}

fn status_schema() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let time =
        |description: &str| json!({ "type": "string", "format": "date-time", "description": description });
    let phases: Vec<&str> = std::iter::once("").chain(PHASES).collect();
    json!({
        "type": "object",
        "required": ["phase"],
        "properties": {
            "phase": {
                "type": "string",
                "enum": phases,
                "description": "Phase of the cluster; empty if its job could not be created.",
            },
            "conditions": {
                "type": "array",
                "description": "Conditions of the cluster, one of each type.",
                "items": {
                    "type": "object",
                    "required": ["status", "type"],
                    "properties": {
                        "type": text("Type of the condition."),
                        "status": {
                            "type": "string",
                            "enum": ["True", "False", "Unknown"],
                            "description": "True, False or Unknown.",
                        },
                        "reason": text("Reason as one word."),
                        "message": text("Reason as a sentence."),
                        "lastTransitionTime": time("When the status last changed."),
                    },
                },
            },
            "prowJobId": text("Name of the ProwJob."),
            "prowJobURL": text("Address at which the job can be watched."),
            "secretRef": text(
                "Name of the Secret with the credentials, in the same namespace: keys kubeconfig and kubeAdminPassword.",
            ),
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "Generation of the spec that was last evaluated.",
            },
            "expiresAt": time("Time at which the cluster is torn down at the latest."),
        },
    })
}

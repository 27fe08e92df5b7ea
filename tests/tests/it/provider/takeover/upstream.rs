//! The upstream controller's objects, as it writes them in its two vocabularies.

use anyhow::Context as _;
use serde_json::{Value, json};
use testplatform_tests::{cluster::at, kinds::SECRET};

use super::phase::{Condition, Phase, Stage, Teardown};
use crate::provider::hub::{
    self, CLUSTERS, Hub, JOBS, KUBECONFIG, LABEL, PROW_JOB, cluster, encoded, whole_seconds,
};

pub const FINALIZER: &str = "ephemeralcluster.ci.openshift.io/dependent-prowjob";

/// The conditions of an upstream release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vocabulary {
    /// Without reason and message where all is well, and with a sentence as a reason.
    Older,
    /// Conditions of Kubernetes, with empty messages.
    Newest,
}

/// Status, reason of either vocabulary, and message of a condition.
struct Content {
    type_: &'static str,
    status: &'static str,
    reasons: [&'static str; 2],
    message: String,
}

impl Condition {
    fn content(self) -> Content {
        let content = |type_, status, reasons: [&'static str; 2], message: &str| Content {
            type_,
            status,
            reasons,
            message: message.to_owned(),
        };
        let failed = |type_, reason, message: &str| content(type_, "False", [reason, reason], message);
        let creating = "ProwJobCreating";
        let made = "ProwJobProperlyCreated";
        match self {
            Self::Creating => content(creating, "True", ["", made], ""),
            Self::Created => content(creating, "False", ["ProwJob has been properly created", made], ""),
            Self::CreationFailed => {
                failed(creating, "CIOperatorJobsGenerateFailure", "create prowjob: etcd is full")
            }
            Self::ProfileRefused => failed(
                creating,
                "EphemeralClusterValidationFailure",
                "konflux cluster \"stone\" and tenant \"acme-tenant\" don't own the cluster profile \"aws\"",
            ),
            Self::NamespaceMissing => {
                failed("ClusterReady", "SecretsFetchFailure", "ci-operator NS not found")
            }
            Self::KubeconfigMissing => {
                failed("ClusterReady", "SecretsFetchFailure", "secrets \"cluster-provisioning\" not found")
            }
            Self::Ready => content("ClusterReady", "True", ["", "CredentialsReady"], ""),
            Self::SignalFailed => {
                failed("TestCompleted", "CreateTestCompletedSecretFailure", "ci-operator NS not found")
            }
            Self::Signalled => content("TestCompleted", "True", ["", "TestDone"], ""),
            Self::Succeeded => {
                content("ProwJobCompleted", "True", ["ProwJobCompleted"; 2], "prowjob state: success")
            }
            Self::Ended(state) => {
                let message = format!("prowjob state: {state}");
                content("ProwJobCompleted", "True", ["ProwJobFailure"; 2], &message)
            }
        }
    }
}

impl Vocabulary {
    fn condition(self, condition: Condition) -> Value {
        let Content { type_, status, reasons: [older, newest], message } = condition.content();
        let mut condition = json!({ "type": type_, "status": status, "lastTransitionTime": whole_seconds() });
        match self {
            Self::Older => {
                for (field, text) in [("reason", older), ("message", &message)] {
                    if !text.is_empty() {
                        condition[field] = text.into();
                    }
                }
            }
            Self::Newest => {
                condition["reason"] = newest.into();
                condition["message"] = message.into();
                condition["observedGeneration"] = 1.into();
            }
        }
        condition
    }
}

/// Name of the ProwJob of an EphemeralCluster. Upstream's are random.
pub fn job_name(name: &str) -> String {
    format!("6f1f-{name}")
}

/// Namespace of ci-operator for an EphemeralCluster.
pub fn namespace(name: &str) -> String {
    format!("ci-op-{name}")
}

/// Makes an EphemeralCluster of a name and all around it, as the upstream controller left it at a phase.
pub async fn leave(hub: &Hub, name: &str, phase: &Phase, vocabulary: Vocabulary) -> anyhow::Result<()> {
    let mut object = hub::ephemeral_cluster(name);
    if phase.teardown == Teardown::Field {
        object["spec"]["tearDownCluster"] = true.into();
    }
    if phase.has_finalizer {
        object["metadata"]["finalizers"] = json!([FINALIZER]);
    }
    let made = hub.hub().create(&object).await?;
    let uid = made["metadata"]["uid"].as_str().context("an EphemeralCluster without a uid")?;
    if let Some(state) = phase.job {
        job(hub, name, phase, state).await?;
    }
    if phase.is_published {
        publish(hub, name, uid).await?;
    }
    if let Some(word) = phase.reported {
        let conditions: Vec<Value> = phase.conditions.iter().map(|c| vocabulary.condition(*c)).collect();
        let mut status = json!({ "phase": word, "conditions": conditions });
        if phase.is_bound {
            status["prowJobId"] = job_name(name).into();
        }
        if phase.conditions.contains(&Condition::Ready) {
            status["secretRef"] = format!("{name}-credentials").into();
        }
        hub.hub().merge_status(&cluster(name), &status).await?;
    }
    if phase.teardown == Teardown::Deletion {
        hub.hub().delete(&cluster(name)).await?;
    }
    Ok(())
}

async fn job(hub: &Hub, name: &str, phase: &Phase, state: &str) -> anyhow::Result<()> {
    let mut job = json!({
        "apiVersion": PROW_JOB.api_version, "kind": PROW_JOB.kind,
        "metadata": { "name": job_name(name), "namespace": JOBS, "labels": { LABEL: name } },
        "spec": { "agent": "kubernetes", "cluster": "build01", "job": "ephemeralcluster-ci-a-run", "namespace": JOBS, "type": "periodic" },
        "status": { "state": state, "startTime": whole_seconds() },
    });
    match state {
        "scheduling" => {}
        "pending" => job["status"]["pendingTime"] = whole_seconds().into(),
        _ => job["status"]["completionTime"] = whole_seconds().into(),
    }
    hub.hub().create(&job).await?;
    let namespace = namespace(name);
    if phase.stage >= Stage::Namespace {
        let labels = json!({ "ci.openshift.io/jobid": job_name(name) });
        hub::namespace(hub.build(), &namespace, &labels).await?;
    }
    if phase.stage >= Stage::Installed {
        hub.install(&namespace, "").await?;
    }
    if phase.stage >= Stage::Signalled {
        let signal = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "test-done-signal", "namespace": namespace },
        });
        hub.build().create(&signal).await?;
    }
    Ok(())
}

/// The published Secret. Upstream never changes it and never takes it away.
async fn publish(hub: &Hub, name: &str, uid: &str) -> anyhow::Result<()> {
    let owner = json!({
        "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster", "name": name, "uid": uid,
        "controller": true, "blockOwnerDeletion": true,
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": format!("{name}-credentials"), "namespace": CLUSTERS, "ownerReferences": [owner] },
        "data": { "kubeconfig": encoded(KUBECONFIG), "kubeAdminPassword": "" },
    });
    hub.hub().create(&secret).await?;
    Ok(())
}

/// Where the signal to end is.
pub fn signal(name: &str) -> testplatform_tests::cluster::At {
    at(SECRET, &namespace(name), "test-done-signal")
}

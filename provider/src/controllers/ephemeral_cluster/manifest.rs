//! The manifest of a ProwJob.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use testplatform_apis::{
    duration::GoDuration,
    names::{ci_operator::TEST, ephemeral_cluster, ours},
};
use testplatform_runtime::time::truncate_to_seconds;

use super::{
    job_name::{cut, job_name, label_value},
    prow_job,
    request::Request,
};
use crate::config::{Prow, SecretMount};

/// Default time limit of a pod. Source: `plank.pod_running_timeout`, openshift/release, `core-services/prow/02_config/_config.yaml`; it is also
/// Prow's own default.
const POD_RUNNING_TIMEOUT: GoDuration = GoDuration::from_hours(48);
/// Default time after which ci-operator has its namespace deleted, whatever still runs there. Source: `cleanupDuration`, openshift/ci-tools,
/// `cmd/ci-operator/main.go`.
const NAMESPACE_LIFETIME: GoDuration = GoDuration::from_hours(72);
/// Argument that overrides it.
const DELETE_AFTER: &str = "delete-after";
/// Default grace period of ci-operator after SIGTERM.
const GRACE_PERIOD: GoDuration = GoDuration::from_hours(1);
/// Time that a pod takes in addition: it has to start, and its results are uploaded.
const AROUND: GoDuration = GoDuration::from_hours(1);

/// Inputs of a job besides the request.
pub struct JobInputs<'a> {
    /// Kind of cloud of the cluster profile; empty if there is no profile or it names none.
    pub cloud: &'a str,
    /// The inline ci-operator configuration.
    pub ci_operator_config: &'a str,
    /// How long the job may take.
    pub timeout: GoDuration,
    /// Remark on parts that were left out.
    pub remark: Option<&'a str>,
}

/// The manifest. Its name follows from the uid of the EphemeralCluster, so that a second one cannot be created.
pub fn manifest(request: &Request<'_>, prow: &Prow, parts: &JobInputs<'_>, now: Timestamp) -> Value {
    let job = job_name(request);
    json!({
        "apiVersion": "prow.k8s.io/v1",
        "kind": "ProwJob",
        "metadata": {
            "name": prow_job::name_for(request.uid()),
            "namespace": prow.namespace,
            "labels": labels(request, prow, parts, &job),
            "annotations": annotations(request, prow, parts, &job),
        },
        "spec": {
            "type": "periodic",
            "agent": "kubernetes",
            "job": job,
            "cluster": prow.cluster,
            "namespace": prow.pod_namespace,
            "decoration_config": decoration(prow, parts.timeout),
            "prowjob_defaults": { "tenant_id": prow.tenant_id },
            "pod_spec": pod_spec(request, prow, parts),
        },
        "status": { "state": "scheduling", "startTime": truncate_to_seconds(now).to_string() },
    })
}

fn labels<'a>(
    request: &'a Request<'_>,
    prow: &'a Prow,
    parts: &'a JobInputs<'_>,
    job: &'a str,
) -> BTreeMap<&'a str, &'a str> {
    let mut labels: BTreeMap<_, _> = prow.labels.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    labels.extend([
        ("created-by-prow", "true"),
        ("prow.k8s.io/type", "periodic"),
        ("prow.k8s.io/job", cut(job)),
        ("prow.k8s.io/context", ""),
        (ephemeral_cluster::LABEL, &request.metadata.name),
    ]);
    let release = request.section("releases").and_then(|r| r.get("latest")?.pointer("/candidate/version"));
    let optional = [
        (ours::EPHEMERAL_CLUSTER_UID, request.uid()),
        (ours::EPHEMERAL_CLUSTER_NAMESPACE, request.metadata.namespace.as_str()),
        ("ci-operator.openshift.io/cloud", parts.cloud),
        ("ci-operator.openshift.io/cloud-cluster-profile", request.profile().unwrap_or_default()),
        ("job-release", release.and_then(Value::as_str).unwrap_or_default()),
    ];
    labels.extend(optional.into_iter().filter_map(|(key, value)| Some((key, label_value(value)?))));
    labels
}

fn annotations<'a>(
    request: &'a Request<'_>,
    prow: &'a Prow,
    parts: &'a JobInputs<'_>,
    job: &'a str,
) -> BTreeMap<&'a str, &'a str> {
    let mut all: BTreeMap<_, _> = prow.annotations.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    all.extend([("prow.k8s.io/job", job), ("prow.k8s.io/context", "")]);
    // For whom it was made: should the annotations of the EphemeralCluster change, its credentials are not for the new ones.
    for key in [ephemeral_cluster::KONFLUX_TENANT, ephemeral_cluster::KONFLUX_CLUSTER] {
        all.extend(request.metadata.annotation(key).map(|value| (key, value)));
    }
    all.extend(parts.remark.map(|remark| (ours::REMARK, remark)));
    all
}

fn decoration(prow: &Prow, timeout: GoDuration) -> Value {
    let mut decoration = prow.decoration.clone();
    // There is no repository to clone.
    decoration.insert("skip_cloning".into(), true.into());
    decoration.insert("timeout".into(), json!(timeout));
    // After the timeout ci-operator destroys the cluster, and Prow must let it.
    decoration.entry("grace_period").or_insert_with(|| json!(GRACE_PERIOD));
    let needed = needed_timeout(prow, timeout);
    if needed > POD_RUNNING_TIMEOUT {
        decoration.entry("pod_running_timeout").or_insert_with(|| json!(needed));
    }
    decoration.into()
}

/// How long pod and namespace have to be there, at most.
fn needed_timeout(prow: &Prow, timeout: GoDuration) -> GoDuration {
    let grace = prow
        .decoration
        .get("grace_period")
        .map_or(GRACE_PERIOD, |grace| grace.as_str().and_then(|text| text.parse().ok()).unwrap_or_default());
    timeout.saturating_add(grace).saturating_add(AROUND)
}

/// Whether an argument is the flag of that name, as Go's programs read flags.
fn is_flag(argument: &str, name: &str) -> bool {
    let flag = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'));
    flag.and_then(|flag| flag.split('=').next()) == Some(name)
}

fn pod_spec(request: &Request<'_>, prow: &Prow, parts: &JobInputs<'_>) -> Value {
    let pod = &prow.ci_operator;
    let from_hive = request.claim().is_some();
    let mut arguments: Vec<String> = pod.arguments.clone();
    if from_hive {
        arguments.extend(pod.cluster_claim_arguments.iter().cloned());
    }
    let needed = needed_timeout(prow, parts.timeout);
    // With the namespace goes all that could destroy the cluster.
    if needed > NAMESPACE_LIFETIME && !arguments.iter().any(|argument| is_flag(argument, DELETE_AFTER)) {
        arguments.push(format!("--{DELETE_AFTER}={needed}"));
    }
    arguments.push(format!("--target={TEST}"));
    arguments.sort();
    // ci-operator names its namespace by a hash over its inputs, and goes into one that is there. Names come again, uids do
    // not: the next EphemeralCluster of a name must not find the signal and the kubeconfig of the one before.
    arguments.push(format!("--input-hash={}", request.metadata.name));
    arguments.push(format!("--input-hash={}", request.uid()));
    let mut mounts: Vec<&SecretMount> = pod.secrets.iter().collect();
    if from_hive {
        mounts.extend(&pod.cluster_claim_secrets);
    }
    mounts.sort_by(|a, b| a.name.cmp(&b.name));
    let mut env = pod.env.clone();
    env.push(json!({ "name": "UNRESOLVED_CONFIG", "value": parts.ci_operator_config }));
    let mut spec: Map<String, Value> = prow.pod_spec.clone();
    spec.extend([
        ("serviceAccountName".into(), json!(pod.service_account_name)),
        ("volumes".into(), mounts.iter().filter_map(|mount| volume(mount)).collect()),
        (
            "containers".into(),
            json!([{
                // Prow's own name for the one container of a job.
                "name": "test",
                "image": pod.image,
                "imagePullPolicy": pod.image_pull_policy,
                "command": pod.command,
                "args": arguments,
                "env": env,
                "ports": pod.ports,
                "resources": pod.resources,
                "volumeMounts": mounts.iter().map(|mount| volume_mount(mount)).collect::<Value>(),
            }]),
        ),
    ]);
    spec.into()
}

fn volume(mount: &SecretMount) -> Option<Value> {
    let mut secret = json!({ "secretName": mount.secret_name.as_ref()? });
    if !mount.keys.is_empty() {
        secret["items"] = mount.keys.iter().map(|key| json!({ "key": key, "path": key })).collect();
    }
    Some(json!({ "name": mount.name, "secret": secret }))
}

fn volume_mount(mount: &SecretMount) -> Value {
    json!({ "name": mount.name, "mountPath": mount.mount_path, "readOnly": true })
}

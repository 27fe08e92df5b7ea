//! Section `prow` of the configuration: how the ProwJobs are made.
//!
//! The defaults are those of the Test Platform's own controller (`spec/ephemeralcluster`, "PJ built"), so that tools see no difference between
//! the jobs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// How the ProwJobs are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Prow {
    /// The namespace of the ProwJobs.
    pub namespace: String,
    /// The namespace of their pods, on the build clusters.
    pub pod_namespace: String,
    /// Build cluster of a job until Prow's scheduler has chosen one.
    pub cluster: String,
    /// The tenant of Prow to which the jobs belong.
    pub tenant_id: String,
    /// Labels that every job gets besides those that this provider needs.
    pub labels: BTreeMap<String, String>,
    /// Annotations that every job gets besides those that this provider needs.
    pub annotations: BTreeMap<String, String>,
    /// `decoration_config` of the jobs, in Prow's format; complete, since Prow adds its defaults only to jobs from its own configuration. This
    /// provider sets `timeout` and `skip_cloning`.
    pub decoration: Map<String, Value>,
    /// The pod in which ci-operator runs.
    pub ci_operator: CiOperatorPod,
    /// Further fields of the pod, as Kubernetes has them, such as `nodeSelector`.
    pub pod_spec: Map<String, Value>,
}

/// The pod in which ci-operator runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CiOperatorPod {
    /// The image.
    pub image: String,
    /// When it is pulled.
    pub image_pull_policy: String,
    /// The program.
    pub command: Vec<String>,
    /// Its arguments, besides target, input hash and, for a job of more than three days, `--delete-after`.
    pub arguments: Vec<String>,
    /// Arguments that come with a `clusterClaim`.
    pub cluster_claim_arguments: Vec<String>,
    /// Environment variables, besides `UNRESOLVED_CONFIG`.
    pub env: Vec<Value>,
    /// Ports of the container.
    pub ports: Vec<Value>,
    /// Resources of the container.
    pub resources: Value,
    /// The ServiceAccount.
    pub service_account_name: String,
    /// Secrets that are mounted.
    pub secrets: Vec<SecretMount>,
    /// Secrets that are mounted with a `clusterClaim`.
    pub cluster_claim_secrets: Vec<SecretMount>,
}

/// A Secret that is mounted, read-only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretMount {
    /// Name of the volume.
    pub name: String,
    /// Mount path.
    pub mount_path: String,
    /// The Secret. None for a volume that Prow's decoration brings along.
    #[serde(default)]
    pub secret_name: Option<String>,
    /// The keys that are mounted; none are all.
    #[serde(default)]
    pub keys: Vec<String>,
}

impl SecretMount {
    fn new(name: &str, mount_path: &str, secret_name: Option<&str>, keys: &[&str]) -> Self {
        Self {
            name: name.into(),
            mount_path: mount_path.into(),
            secret_name: secret_name.map(Into::into),
            keys: keys.iter().map(|&key| key.into()).collect(),
        }
    }
}

impl Default for Prow {
    fn default() -> Self {
        Self {
            namespace: "ci".into(),
            pod_namespace: "ci".into(),
            cluster: "build01".into(),
            tenant_id: "GlobalDefaultID".into(),
            labels: BTreeMap::from([("pj-rehearse.openshift.io/can-be-rehearsed".into(), "true".into())]),
            annotations: BTreeMap::new(),
            decoration: decoration(),
            ci_operator: CiOperatorPod::default(),
            pod_spec: Map::new(),
        }
    }
}

impl Default for CiOperatorPod {
    fn default() -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.into()).collect();
        Self {
            image: "quay-proxy.ci.openshift.org/openshift/ci:ci_ci-operator_latest".into(),
            image_pull_policy: "Always".into(),
            command: texts(&["ci-operator"]),
            arguments: texts(&[
                "--gcs-upload-secret=/secrets/gcs/service-account.json",
                "--image-import-pull-secret=/etc/pull-secret/.dockerconfigjson",
                "--lease-server-credentials-file=/etc/boskos/credentials",
                "--report-credentials-file=/etc/report/credentials",
                "--secret-dir=/secrets/ci-pull-credentials",
            ]),
            cluster_claim_arguments: texts(&["--hive-kubeconfig=/secrets/hive-hive-credentials/kubeconfig"]),
            env: vec![json!({
                "name": "HTTP_SERVER_IP",
                "valueFrom": { "fieldRef": { "fieldPath": "status.podIP" } },
            })],
            ports: vec![json!({ "containerPort": 8080, "name": "http" })],
            resources: json!({ "requests": { "cpu": "10m" } }),
            service_account_name: "ci-operator".into(),
            secrets: vec![
                SecretMount::new("boskos", "/etc/boskos", Some("boskos-credentials"), &["credentials"]),
                SecretMount::new(
                    "ci-pull-credentials",
                    "/secrets/ci-pull-credentials",
                    Some("ci-pull-credentials"),
                    &[],
                ),
                SecretMount::new("gcs-credentials", "/secrets/gcs", None, &[]),
                SecretMount::new(
                    "manifest-tool-local-pusher",
                    "/secrets/manifest-tool",
                    Some("manifest-tool-local-pusher"),
                    &[],
                ),
                SecretMount::new("pull-secret", "/etc/pull-secret", Some("registry-pull-credentials"), &[]),
                SecretMount::new("result-aggregator", "/etc/report", Some("result-aggregator"), &[]),
            ],
            cluster_claim_secrets: vec![SecretMount::new(
                "hive-hive-credentials",
                "/secrets/hive-hive-credentials",
                Some("hive-hive-credentials"),
                &[],
            )],
        }
    }
}

/// Source: `plank.default_decoration_config_entries` for all repositories, openshift/release,
/// `core-services/prow/02_config/_config.yaml`. The tags of the images move with that file.
fn decoration() -> Map<String, Value> {
    let resources = |cpu: &str, request: &str, limit: &str| json!({ "requests": { "cpu": cpu, "memory": request }, "limits": { "memory": limit } });
    let image = |name: &str| format!("us-docker.pkg.dev/k8s-infra-prow/images/{name}:v20241116-cc8d4cf29");
    let decoration = json!({
        "censor_secrets": true,
        "gcs_configuration": {
            "bucket": "test-platform-results",
            "compress_file_types": ["txt", "log", "json", "tar", "html", "yaml"],
            "default_org": "openshift",
            "default_repo": "origin",
            "mediaTypes": { "log": "text/plain" },
            "path_strategy": "single",
        },
        "gcs_credentials_secret": "gce-sa-credentials-gcs-publisher",
        "grace_period": "1h0m0s",
        "resources": {
            "clonerefs": resources("100m", "500Mi", "3Gi"),
            "initupload": resources("100m", "50Mi", "200Mi"),
            "place_entrypoint": resources("100m", "25Mi", "100Mi"),
            "sidecar": resources("100m", "250Mi", "2Gi"),
        },
        "utility_images": {
            "clonerefs": image("clonerefs"),
            "entrypoint": image("entrypoint"),
            "initupload": image("initupload"),
            "sidecar": image("sidecar"),
        },
    });
    match decoration {
        Value::Object(decoration) => decoration,
        _ => Map::new(),
    }
}

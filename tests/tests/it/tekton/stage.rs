//! Where a run takes place: a tenant's namespace, the ServiceAccount of its pipelines, the PipelineRun that owns what is
//! made, and the tools that are in a step's image.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context as _, bail};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, api::PostParams};
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Fulfilled,
    cluster::{At, Cluster, SOON, at, at_root, has},
    control_plane::Identity,
    crossplane::Engine,
    kinds::{CRD, SECRET},
    nest::Nest,
    tenant::Tenant,
};

use super::call::Call;

const ACCOUNT: &str = "pipelines-runner";
const RBAC: &str = "rbac.authorization.k8s.io";
/// Kind of the owners.
pub use testplatform_tests::kinds::PIPELINE_RUN;
/// Tools of the scripts; nothing else is in their PATH.
const TOOLS: [&str; 16] = [
    "base64", "bash", "cat", "chmod", "cp", "date", "env", "grep", "jq", "mktemp", "mv", "rm", "sleep",
    "tail", "tee", "timeout",
];

/// Directories that are a step's PATH.
#[derive(Clone, Debug)]
pub struct Tools {
    /// With kubectl.
    pub kubectl: PathBuf,
    /// With oc, as in the image that Konflux uses.
    pub oc: PathBuf,
    /// With everything but jq.
    pub no_jq: PathBuf,
}

impl Tools {
    /// Finds them. A missing one is an error that says what to do.
    pub fn new(nest: &Nest, kubectl: &Path) -> anyhow::Result<Self> {
        let make = |name: &str, client: &str, leave_out: &str| -> anyhow::Result<PathBuf> {
            let directory = nest.directory().join(name);
            fs::create_dir_all(&directory)?;
            symlink(kubectl, directory.join(client))?;
            for tool in TOOLS.iter().filter(|tool| **tool != leave_out) {
                symlink(find(tool)?, directory.join(tool))?;
            }
            Ok(directory)
        };
        Ok(Self {
            kubectl: make("tools", "kubectl", "")?,
            oc: make("tools-with-oc", "oc", "")?,
            no_jq: make("tools-without-jq", "kubectl", "jq")?,
        })
    }
}

fn find(tool: &str) -> anyhow::Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|directory| directory.join(tool)).find(|p| p.is_file());
    found.with_context(|| {
        format!(
            "the scripts of the Tekton tasks need {tool}, and it is not in PATH; jq is in package jq, the others are \
             in bash, coreutils and grep"
        )
    })
}

/// Teaches a cluster that there are `PipelineRun`s. Tekton itself is played.
pub async fn know_pipeline_runs(konflux: &Cluster) -> anyhow::Result<()> {
    let name = "pipelineruns.tekton.dev";
    let open =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let crd = json!({
        "apiVersion": CRD.api_version, "kind": CRD.kind, "metadata": { "name": name },
        "spec": {
            "group": "tekton.dev", "scope": "Namespaced",
            "names": { "kind": PIPELINE_RUN.kind, "plural": "pipelineruns" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": open }],
        },
    });
    konflux.apply(&crd).await?;
    konflux.until_is(&at_root(CRD, name), SOON, "established", |c| has(c, "Established", "True", "")).await?;
    Ok(())
}

/// A tenant whose pipelines run.
pub struct Stage<'e> {
    /// The tenant. Its name is that of the PipelineRun, of the TaskRun that provisions, and so of the claim.
    pub tenant: Tenant<'e>,
    /// Tools of the steps.
    pub tools: Tools,
    /// Uid of the PipelineRun.
    pub owner: String,
    /// Of the ServiceAccount.
    pub kubeconfig: Value,
    token: String,
    calls: AtomicUsize,
}

impl<'e> Stage<'e> {
    /// With the rights that Konflux gives to the ServiceAccount of pipelines: everything on claims but their status,
    /// and reading Secrets.
    pub async fn new(engine: &'e Engine, tools: &Tools, scenario: &str) -> anyhow::Result<Self> {
        let tenant = Tenant::new(engine, scenario, Fulfilled::ByActorAlone).await?;
        let namespace = &tenant.namespace;
        let metadata = json!({ "name": ACCOUNT, "namespace": namespace });
        let konflux = engine.konflux.cluster();
        let manifests = [
            json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata }),
            json!({
                "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata,
                "rules": [
                    { "apiGroups": ["ci.openshift.org"], "resources": ["testplatformclusters"], "verbs": ["*"] },
                    { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"] },
                ],
            }),
            bound(namespace, ACCOUNT),
        ];
        konflux.apply_all(&manifests).await?;
        let owner = run(konflux, namespace, &tenant.name).await?;
        let accounts: Api<ServiceAccount> = Api::namespaced(konflux.client(), namespace);
        let issued =
            accounts.create_token_request(ACCOUNT, &PostParams::default(), &TokenRequest::default()).await?;
        let token = issued.status.and_then(|s| s.token).context("no token was issued")?;
        let mut kubeconfig = engine.konflux.kubeconfig_for(&Identity::Token(token.clone()));
        // In a pod the namespace is that of the pod.
        kubeconfig["contexts"][0]["context"]["namespace"] = namespace.as_str().into();
        Ok(Self { tenant, tools: tools.clone(), owner, kubeconfig, token, calls: AtomicUsize::new(0) })
    }

    /// ownerReferences of a claim that another run made. That run exists, or the claim would be collected as garbage.
    pub async fn owned_by_another(&self) -> anyhow::Result<Value> {
        let name = "another-run";
        let uid = run(self.tenant.konflux(), &self.tenant.namespace, name).await?;
        Ok(json!([{
            "apiVersion": PIPELINE_RUN.api_version, "kind": PIPELINE_RUN.kind, "name": name, "uid": uid,
        }]))
    }

    /// Lets the ServiceAccount read events, which Konflux does not.
    pub async fn let_read_events(&self) -> anyhow::Result<()> {
        let name = "events";
        let role = json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "Role",
            "metadata": { "name": name, "namespace": self.tenant.namespace },
            "rules": [{ "apiGroups": [""], "resources": ["events"], "verbs": ["get", "list"] }],
        });
        self.tenant.konflux().apply_all(&[role, bound(&self.tenant.namespace, name)]).await
    }

    /// The Secret that the provision task promises.
    pub fn secret(&self) -> At {
        at(SECRET, &self.tenant.namespace, &self.secret_name())
    }

    /// Its name.
    pub fn secret_name(&self) -> String {
        format!("{}-secret", self.tenant.name)
    }

    /// A Task of ours, to be called.
    pub fn task(&self, name: &str) -> Call<'_> {
        Call::task(self, name)
    }

    /// Provision, as the Konflux examples call it.
    pub fn provision(&self) -> Call<'_> {
        self.task("provision-ephemeral-cluster")
            .named(&self.tenant.name)
            .with("ownerName", &self.tenant.name)
            .with("ownerUid", &self.owner)
            .with("workflow", "ipi-aws")
            .with("clusterProfile", "aws")
    }

    /// Deprovision, with the claim's name as the provision task gives it.
    pub fn deprovision(&self) -> Call<'_> {
        self.about_claim("deprovision-ephemeral-cluster")
    }

    /// Collect logs.
    pub fn collect(&self) -> Call<'_> {
        self.about_claim("collect-ephemeral-cluster-logs")
    }

    fn about_claim(&self, task: &str) -> Call<'_> {
        self.task(task)
            .with("testPlatformClusterClaimName", &self.tenant.name)
            .with("testPlatformClusterClaimNamespace", &self.tenant.namespace)
    }

    /// A directory of its own for every call.
    pub fn room(&self) -> anyhow::Result<PathBuf> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let room = self.nest().directory().join(format!("{}-{call}", self.tenant.name));
        fs::create_dir_all(&room)?;
        Ok(room)
    }

    /// Where processes and files live.
    pub fn nest(&self) -> &Nest {
        self.tenant.engine.nest()
    }

    /// Texts that no log may ever show.
    pub fn secrets(&self) -> Vec<&str> {
        vec![&self.token]
    }
}

/// Makes a PipelineRun, and returns its uid.
async fn run(konflux: &Cluster, namespace: &str, name: &str) -> anyhow::Result<String> {
    let run = json!({
        "apiVersion": PIPELINE_RUN.api_version, "kind": PIPELINE_RUN.kind,
        "metadata": { "name": name, "namespace": namespace },
    });
    konflux.apply(&run).await?;
    let run = konflux.get(&at(PIPELINE_RUN, namespace, name)).await?.unwrap_or_default();
    Ok(run["metadata"]["uid"].as_str().context("a PipelineRun without a uid")?.to_owned())
}

fn bound(namespace: &str, role: &str) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding",
        "metadata": { "name": role, "namespace": namespace },
        "roleRef": { "apiGroup": RBAC, "kind": "Role", "name": role },
        "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace }],
    })
}

/// Fails unless a log says something.
pub fn says(log: &str, words: &str) -> anyhow::Result<()> {
    if log.contains(words) {
        return Ok(());
    }
    bail!("it does not say {words:?}:\n{log}")
}

//! The provider in its fourth role: beside the claims, with exactly the rights that we ship, and Tekton's kinds, whose runs it looks at.

use std::process::Command;

use serde_json::{Value, json};

use crate::{
    cluster::Cluster,
    companion::{Companion, patient},
    control_plane::ControlPlane,
    hub, manifests,
    nest::Nest,
    ports::free_ports,
    program,
};

/// Name of its ServiceAccount, of its namespace and of its process.
pub const NAME: &str = "testplatform-cleanup";

/// Installs what we ship for it, and starts it. It ends with what is returned.
pub async fn start(nest: &Nest, konflux: &ControlPlane) -> anyhow::Result<Companion> {
    let component = |file: &str| format!("install/components/cleanup/{file}.yaml");
    know_runs(konflux.cluster()).await?;
    for file in ["namespace", "rbac"] {
        konflux.cluster().apply_all(&manifests::package(&component(file))?).await?;
    }
    let here = hub::issue_in(konflux, NAME, NAME, "0").await?;
    let [http] = free_ports()?;
    // As it is shipped, but for the port and its patience.
    let mut configuration = manifests::package_one(&component("config"))?;
    configuration["http"] = json!({ "address": format!("127.0.0.1:{http}") });
    patient(&mut configuration);
    let mut command = Command::new(program::provider()?);
    command.arg("--config").arg(nest.file("cleaner.yaml", configuration.to_string())?);
    command.arg("--kubeconfig").arg(nest.file("cleaner.kubeconfig", here.kubeconfig.to_string())?);
    Companion::start(nest, NAME, command.args(["--debug", "--log-format=text"]), http).await
}

/// Teaches a cluster the runs of Tekton, as far as anybody looks at them: with a status of its own. Tekton itself is played.
pub async fn know_runs(konflux: &Cluster) -> anyhow::Result<()> {
    for (kind, plural) in [("PipelineRun", "pipelineruns"), ("TaskRun", "taskruns")] {
        hub::define(konflux, &definition(kind, plural)).await?;
    }
    Ok(())
}

fn definition(kind: &str, plural: &str) -> Value {
    let open =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.tekton.dev") },
        "spec": {
            "group": "tekton.dev", "scope": "Namespaced", "names": { "kind": kind, "plural": plural },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} }, "schema": open,
            }],
        },
    })
}

/// An owner reference to an object, as Tekton's tasks write it: neither a controller nor one that is waited for.
pub fn owned_by(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
    })
}

/// Tekton's status of a run that completed at a time, or still goes on.
pub fn run_status(completed: Option<&str>) -> Value {
    match completed {
        None => json!({ "conditions": [{ "type": "Succeeded", "status": "Unknown", "reason": "Running" }] }),
        Some(at) => json!({
            "completionTime": at,
            "conditions": [{ "type": "Succeeded", "status": "False", "reason": "Failed", "lastTransitionTime": at }],
        }),
    }
}

//! `cargo xpkg check hub` on an API server that becomes a hub step by step, asked as the identity that is shipped for it.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use serde_json::json;
use testplatform_apis::{hub::ResourceKind, template::Backend};
use testplatform_package::check;
use testplatform_tests::{
    cluster::{Cluster, SOON},
    control_plane::ControlPlane,
    hub, manifests, patience,
};

/// The tool's output, and `true` if nothing is missing.
async fn checked(kubeconfig: &str, more: &[&str]) -> anyhow::Result<(String, bool)> {
    let line = [&["hub", "--kubeconfig", kubeconfig], more].concat();
    let run =
        |arguments: &check::command::CheckArgs, out: &mut Vec<u8>| check::command::run(arguments, out, now());
    super::xpkg::<check::command::CheckArgs, _>(&line, run).await
}

pub async fn what_a_hub_lacks_is_told(plane: &ControlPlane) -> anyhow::Result<()> {
    let cluster = plane.cluster();
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("hub");
    std::fs::write(&file, super::kubeconfig::made(plane, &["--duration", "1h"]).await?)?;
    let hub = file.display().to_string();

    // With the overlay for hubs it serves EphemeralClusters, and nothing else is looked at.
    let (said, clean) = checked(&hub, &[]).await?;
    ensure!(clean && said.contains("nothing is missing"), "{said}");
    ensure!(said.contains("ok: ephemeral-cluster: may create ephemeralclusters.ci.openshift.io"), "{said}");
    ensure!(said.contains("note: hub: the token ends soon, at 20") && !said.contains("hypershift"), "{said}");
    let (said, clean) = checked(&hub, &["--namespace", "ephemeral-cluster=elsewhere"]).await?;
    ensure!(!clean && said.contains("gap: ephemeral-cluster: may not create"), "{said}");

    for backend in Backend::ALL {
        let named = ["--backend", backend.as_str()];
        let (said, clean) = checked(&hub, &named).await?;
        let ResourceKind { group, plural, .. } = backend.cluster_kind();
        ensure!(
            !clean && said.contains(&format!("gap: {backend}: {plural}.{group} is not served as")),
            "{said}"
        );
        furnish(cluster, backend).await?;
        // The authorizer hears of roles and bindings a moment after they are written.
        let heard = async {
            loop {
                let (said, clean) = checked(&hub, &named).await?;
                if clean && !said.contains(": may not ") {
                    return anyhow::Ok(());
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        patience::timeout(SOON, heard).await.with_context(|| format!("{backend} never has all"))??;
    }

    // Whoever may everything has what is needed, and more.
    let admin = plane.kubeconfig().display().to_string();
    let (said, clean) = checked(&admin, &[]).await?;
    ensure!(clean && said.contains("note: hub: may list secrets in every namespace"), "{said}");
    ensure!(said.contains("ok: hypershift: namespace clusters is there"), "{said}");
    let (said, clean) = checked(&admin, &["--backend", "osac", "--namespace", "osac=nowhere"]).await?;
    ensure!(!clean && said.contains("gap: osac: namespace nowhere is missing"), "{said}");

    let error = checked(&hub, &["--backend", "kind"]).await.err().context("no error")?;
    ensure!(format!("{error:#}").contains("expected one of ephemeral-cluster"), "{error:#}");
    Ok(())
}

/// The kinds of a backend, its namespaces, and the rights that are shipped for it.
async fn furnish(cluster: &Cluster, backend: Backend) -> anyhow::Result<()> {
    for kind in backend.written_kinds() {
        hub::define(cluster, &definition(&kind)).await?;
    }
    for name in ["clusters", "osac-orders", "testplatform-credentials"] {
        cluster
            .apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }))
            .await?;
    }
    for rights in [backend.as_str(), "hub-facts"] {
        let path = format!("install/hub/konflux-identity-{rights}-rbac.yaml");
        cluster.apply_all(&manifests::package(&path)?).await?;
    }
    Ok(())
}

fn definition(kind: &ResourceKind) -> serde_json::Value {
    let ResourceKind { group, versions, kind, plural } = kind;
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
            "versions": [{
                "name": versions[0], "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
            }],
        },
    })
}

#[expect(clippy::disallowed_methods, reason = "the token was issued by a real clock")]
fn now() -> Timestamp {
    Timestamp::now()
}

//! A node group with bounds on the real Cluster API: the autoscaler changes the `MachineDeployment` between them, and nobody changes it back.
//!
//! The autoscaler itself is not run. The scenario scales the `MachineDeployment` as the autoscaler does.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{At, SOON, at, has},
    cluster_api::topology,
    hive::objects::text,
    hypershift::CLUSTERS,
    kinds::MACHINE_DEPLOYMENT,
    tenant::Tenant,
    witness::Witness,
};

use super::{cluster_api::got, hypershift::stays_ready};

const GROUP: &str = "spare";
const MIN: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
const MAX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";

/// Node groups of the claim: one of a fixed count, and one with bounds.
fn groups(fixed: u8, min: u8, max: u8) -> Value {
    json!({ "nodeGroups": [
        { "name": "default-worker", "class": "default", "count": fixed },
        { "name": GROUP, "class": "large", "autoscale": { "min": min, "max": max } },
    ] })
}

/// Whether a `MachineDeployment` or a group of a topology has these bounds for the autoscaler.
fn has_bounds(object: &Value, min: &str, max: &str) -> bool {
    let annotations = &object["metadata"]["annotations"];
    annotations[MIN] == min && annotations[MAX] == max
}

/// The `MachineDeployment` of the group with bounds.
async fn find_deployment(tenant: &Tenant<'_>, name: &str) -> anyhow::Result<At> {
    let all = tenant.engine.hub.cluster().list(MACHINE_DEPLOYMENT).await?;
    let label = |object: &Value, key: &str| object["metadata"]["labels"][key].as_str().map(str::to_owned);
    let of_group = all.iter().find(|object| {
        label(object, "cluster.x-k8s.io/cluster-name").as_deref() == Some(name)
            && label(object, "topology.cluster.x-k8s.io/deployment-name").as_deref() == Some(GROUP)
    });
    let of_group = of_group.with_context(|| format!("Cluster {name} has no MachineDeployment of {GROUP}"))?;
    Ok(at(MACHINE_DEPLOYMENT, CLUSTERS, text(of_group, "/metadata/name")))
}

/// Waits until the claim reports this many nodes, and that its spec is applied.
async fn until_nodes(tenant: &Tenant<'_>, nodes: i64) -> anyhow::Result<()> {
    let arrived = move |claim: &Value| {
        claim["status"]["nodes"]["ready"] == nodes && has(claim, "SpecApplied", "True", "UpToDate")
    };
    tenant.until(SOON, &format!("with {nodes} nodes"), arrived).await.map(|_| ())
}

/// Scales as the autoscaler does, within the bounds. Other changes of the claim leave the number alone.
pub async fn cluster_api_autoscaled(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let name = got(tenant, &groups(1, 1, 4)).await?;
    let hub = tenant.engine.hub.cluster();
    until_nodes(tenant, 2).await?;
    let cluster = hub.get(&topology(&name)).await?.context("no Cluster")?;
    let requested = cluster["spec"]["topology"]["workers"]["machineDeployments"].as_array().cloned();
    let requested = requested.unwrap_or_default();
    let requested = requested.iter().find(|group| group["name"] == GROUP).context("no group with bounds")?;
    ensure!(has_bounds(requested, "1", "4") && requested["replicas"].is_null(), "{requested}");
    let deployment = find_deployment(tenant, &name).await?;
    let found = hub.get(&deployment).await?.context("no MachineDeployment")?;
    ensure!(has_bounds(&found, "1", "4") && found["spec"]["replicas"] == 1, "{found}");

    let ready = stays_ready(tenant).await?;
    let scale =
        async |replicas: u8| hub.merge(&deployment, &json!({ "spec": { "replicas": replicas } })).await;
    scale(3).await?;
    // From here on, a write of ours to the number would be seen, however short it lasts.
    let scaled = |deployment: Option<&Value>| deployment.is_some_and(|it| it["spec"]["replicas"] == 3);
    let untouched = Witness::of(hub, &deployment, scaled).await?;
    until_nodes(tenant, 4).await?;
    // The Cluster is written with the other group's count, and its topology is applied again.
    tenant.change(&groups(2, 1, 4)).await?;
    until_nodes(tenant, 5).await?;
    untouched.verdict().await.context("the autoscaler's number was changed")?;
    drop(untouched);
    scale(1).await?;
    until_nodes(tenant, 3).await?;

    // Cluster API passes a higher minimum on, and leaves it to the autoscaler to reach it (`--enforce-node-group-min-size`).
    tenant.change(&groups(2, 2, 4)).await?;
    let raised = |deployment: &Value| has_bounds(deployment, "2", "4");
    hub.until_is(&deployment, SOON, "with the higher minimum", raised).await?;
    scale(2).await?;
    until_nodes(tenant, 4).await?;
    ready.verdict().await?;
    ensure!(tenant.remotes_made() == 1, "another Cluster was requested");
    Ok(())
}

//! The Object that carries a cluster by template is lost, while the catalogue has moved on: the cluster is found again, as it is.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    caas,
    cluster::{At, has},
    cluster_api::{self, topology},
    hypershift::{self, hosted::Hosted},
    osac,
    tenant::Tenant,
};

use super::{hive::GONE, hypershift::stays_ready, life, templates::Entry};

/// How long a claim may be behind its Objects.
const HEARD: Duration = Duration::from_secs(5);

/// What stays as it is, of a remote object's spec.
type Asked = fn(&Value) -> Value;

/// `at`: where the remote object of a composite is. `moves`: what changes in the entry.
async fn found_again(
    tenant: &Tenant<'_>,
    example: Value,
    at: impl FnOnce(&str) -> At,
    asked: Asked,
    moves: impl FnOnce(&mut Value),
) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let mut entry = Entry::new(tenant, example, "");
    entry.offer(|_| ()).await?;
    tenant.ask(&json!({ "template": entry.name() })).await?;
    tenant.until(GONE, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    let at = at(&tenant.composite().await?);
    let before = hub.get(&at).await?.context("nothing was asked for")?;
    entry.offer(moves).await?;
    life::lose_writer(tenant, &before).await?;
    // The claim hears later than the Object that it was found: until then it was not reported ready.
    tokio::time::sleep(HEARD).await;
    tenant.nudge("heard").await?;
    let heard =
        |claim: &Value| claim["status"]["phase"] == "Ready" && has(claim, "RemoteConsistent", "True", "");
    tenant.until(GONE, "found again", heard).await?;
    let ready = stays_ready(tenant).await?;
    tenant.nudge("found").await?;
    tenant.until_condition("RemoteConsistent", "True", "").await?;
    let after = hub.get(&at).await?.context("it is gone")?;
    ensure!(after["metadata"]["uid"] == before["metadata"]["uid"], "it was replaced");
    ensure!(asked(&after) == asked(&before), "it was changed: {} into {}", before["spec"], after["spec"]);
    ready.verdict().await?;
    tenant.konflux().delete(&entry.at()).await
}

pub async fn hypershift_writer_lost(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let at = |name: &str| Hosted::new(hub, name).at();
    let asked = |cluster: &Value| cluster["spec"].clone();
    let moves = |data: &mut Value| data["backendRef"]["hostedCluster"]["pullSecret"]["name"] = "other".into();
    found_again(tenant, hypershift::template()?, at, asked, moves).await
}

pub async fn cluster_api_writer_lost(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let asked = |cluster: &Value| cluster["spec"]["topology"].clone();
    let moves = |data: &mut Value| data["backendRef"]["classRef"]["name"] = "openstack-v9".into();
    found_again(tenant, cluster_api::template()?, topology, asked, moves).await
}

pub async fn caas_writer_lost(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let asked = |instance: &Value| instance["spec"].clone();
    let moves = |data: &mut Value| data["backendRef"]["clusterTemplate"] = "other".into();
    found_again(tenant, caas::template()?, caas::instance, asked, moves).await
}

pub async fn osac_writer_lost(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let asked = |order: &Value| order["spec"].clone();
    let moves = |data: &mut Value| data["backendRef"]["templateID"] = "osac.templates.other".into();
    found_again(tenant, osac::template()?, osac::order, asked, moves).await
}

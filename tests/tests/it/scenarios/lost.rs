//! The Object that carries a cluster by template is lost, while the catalogue has moved on: the cluster is found again, as it is.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::has,
    hypershift::{self, hosted::Hosted},
    tenant::Tenant,
};

use super::{hive::GONE, hypershift::stays_ready, life, templates::Entry};

/// How long a claim may be behind its Objects.
const HEARD: Duration = Duration::from_secs(5);

pub async fn hypershift_writer_lost(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let mut entry = Entry::new(tenant, hypershift::template()?, "");
    entry.offer(|_| ()).await?;
    tenant.ask(&json!({ "template": entry.name() })).await?;
    tenant.until(GONE, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    let at = Hosted::new(hub, &tenant.composite().await?).at();
    let before = hub.get(&at).await?.context("nothing was asked for")?;
    entry.offer(|data| data["backendRef"]["hostedCluster"]["pullSecret"]["name"] = "other".into()).await?;
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
    ensure!(after["spec"] == before["spec"], "it was changed: {} into {}", before["spec"], after["spec"]);
    ready.verdict().await?;
    tenant.konflux().delete(&entry.at()).await
}

//! One life of a claim, as fast as those on the hub are.

use std::time::{Duration, Instant};

use serde_json::json;

use super::LedgerBackend;
use crate::{
    actors::Fulfilled,
    cluster::{SOON, has},
    crossplane::Engine,
    flavour::Flavour,
    tenant::{Tenant, decoded},
};

/// For the end of a cluster that core only looks at every half a minute, for five minutes.
pub const PATIENCE: Duration = Duration::from_mins(6);

/// The stages of a life, and when each was over.
pub type Stages = Vec<(&'static str, Duration)>;

/// Tenants whose backend is there.
pub async fn prepare(
    engine: &Engine,
    backend: LedgerBackend,
    flavour: Flavour,
    tenants: u32,
) -> anyhow::Result<Vec<Tenant<'_>>> {
    let mut all = Vec::new();
    for number in 1..=tenants {
        let name = format!("ledger-{}-{number}{}", backend.name(), flavour.suffix().replace('_', "-"));
        all.push(prepare_one(engine, &name, backend).await?.asking(flavour));
    }
    Ok(all)
}

/// A tenant of this name whose backend is there.
pub async fn prepare_one<'e>(
    engine: &'e Engine,
    name: &str,
    backend: LedgerBackend,
) -> anyhow::Result<Tenant<'e>> {
    Tenant::new(engine, name, backend.fulfilled()).await
}

/// From the claim to nothing.
pub async fn play(tenant: &Tenant<'_>, ready_for: Duration) -> anyhow::Result<Stages> {
    let begun = Instant::now();
    let mut stages = Stages::new();
    let played = matches!(tenant.fulfilled(), Fulfilled::ByProvider);
    let controller = if played {
        Some(tenant.ask_and_get(&json!({})).await?)
    } else {
        tenant.ask(&json!({})).await?;
        None
    };
    tenant.until(PATIENCE, "ready", |claim| has(claim, "ClusterReady", "True", "")).await?;
    stages.push(("ClusterReady", begun.elapsed()));
    let filled =
        |secret: &serde_json::Value| decoded(secret).get("kubeconfig").is_some_and(|k| !k.is_empty());
    tenant.konflux().until_is(&tenant.secret(), SOON, "filled", filled).await?;
    tokio::time::sleep(ready_for).await;
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    stages.push(("tearDownCluster", begun.elapsed()));
    if let Some(controller) = &controller {
        controller.until_told_to_end(SOON).await?;
        controller.deprovision().await?;
        tenant.until_phase("Deprovisioning").await?;
        controller.deprovisioned().await?;
    }
    tenant.until(PATIENCE, "over", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    stages.push(("Deprovisioned", begun.elapsed()));
    if let Some(controller) = &controller {
        controller.release().await?;
    }
    tenant.konflux().delete(&tenant.claim()).await?;
    tenant.konflux().until_gone(&tenant.claim(), PATIENCE).await?;
    stages.push(("gone", begun.elapsed()));
    Ok(stages)
}

//! One life of a claim, as fast as those on the hub are.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{LedgerBackend, incumbent::phase_of};
use crate::{
    actors::Fulfilled,
    cluster::has,
    crossplane::Engine,
    flavour::Flavour,
    tenant::{KUBECONFIG, PASSWORD, Tenant, decoded},
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
        // None is the beginning of another.
        let name = format!("ledger{}-{}-{number}", flavour.suffix().replace('_', "-"), backend.name());
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

/// From the claim to nothing. `composition` is that of the claim; none for ours.
pub async fn play(
    tenant: &Tenant<'_>,
    composition: Option<&str>,
    ready_for: Duration,
) -> anyhow::Result<Stages> {
    let begun = Instant::now();
    let mut stages = Stages::new();
    let asked = composition.map_or(json!({}), |name| json!({ "compositionRef": { "name": name } }));
    tenant.ask(&asked).await?;
    let until_phase = async |phase: &'static str| {
        tenant.until(PATIENCE, phase, |claim| phase_of(claim) == phase).await.map(drop)
    };
    let controller = if matches!(tenant.fulfilled(), Fulfilled::ByProvider) {
        let controller = tenant.controller().await?;
        controller.until_asked(PATIENCE).await?;
        controller.provision().await?;
        until_phase("Provisioning").await?;
        controller.ready(KUBECONFIG, PASSWORD).await?;
        stages.push(("cluster is there", begun.elapsed()));
        Some(controller)
    } else {
        None
    };
    tenant.until(PATIENCE, "ready", |claim| has(claim, "ClusterReady", "True", "")).await?;
    stages.push(("ClusterReady", begun.elapsed()));
    let filled = |secret: &Value| decoded(secret).get("kubeconfig").is_some_and(|k| !k.is_empty());
    tenant.konflux().until_is(&tenant.secret(), PATIENCE, "filled", filled).await?;
    tenant.until(PATIENCE, "ready", |claim| has(claim, "Ready", "True", "")).await?;
    stages.push(("Ready, with its Secret", begun.elapsed()));
    tokio::time::sleep(ready_for).await;
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    stages.push(("tearDownCluster", begun.elapsed()));
    if let Some(controller) = &controller {
        controller.until_told_to_end(PATIENCE).await?;
        controller.deprovision().await?;
        until_phase("Deprovisioning").await?;
        controller.deprovisioned().await?;
        stages.push(("cluster is gone", begun.elapsed()));
    }
    until_phase("Deprovisioned").await?;
    stages.push(("Deprovisioned", begun.elapsed()));
    if let Some(controller) = &controller {
        controller.release().await?;
    }
    tenant.konflux().delete(&tenant.claim()).await?;
    tenant.konflux().until_gone(&tenant.claim(), PATIENCE).await?;
    stages.push(("gone", begun.elapsed()));
    Ok(stages)
}

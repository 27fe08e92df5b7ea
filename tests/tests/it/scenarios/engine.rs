//! Parts of the engine are away for a while.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_tests::{
    cluster::{SOON, at, has},
    hub,
    kinds::SECRET,
    tenant::{KUBECONFIG, PASSWORD, Tenant},
};

use super::{
    guide::{self, Administrator},
    happy::told,
};

/// provider-kubernetes tries a hub that does not answer at most once a minute.
const BACK: Duration = Duration::from_secs(100);

pub async fn function_down_for_a_while(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    let live = tenant.another("live").await?;
    let running = live.ask_and_get(&json!({})).await?;
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;

    let writer = tenant.writer().await?;
    engine.function.stop();
    let away = async {
        controller.ready(KUBECONFIG, PASSWORD).await?;
        let seen = |writer: &Value| writer["status"]["atProvider"]["manifest"]["status"]["phase"] == "Ready";
        tenant.konflux().until_is(&writer, SOON, "what the hub has", seen).await?;
        live.change(&json!({ "lifetime": "5h" })).await
    };
    let away = away.await;
    engine.start_function()?;
    away?;
    ensure!(running.get().await?.is_some(), "a live cluster went with the function");

    tenant.until(BACK, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    tenant.until_secret(SOON, KUBECONFIG).await?;
    live.until_condition("ClusterReady", "True", "").await?;
    ensure!(!live.phases().iter().any(|p| p == "Failed"), "{:?}", live.phases());
    Ok(())
}

pub async fn hub_unreachable_then_back(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    let controller = tenant.ask_and_get(&json!({})).await?;
    let before = controller.get().await?.context("no EphemeralCluster")?;
    engine.hub.stop_api_server();
    // Something to tell the hub, so that it is noticed at once.
    tenant.change(&json!({ "lifetime": "5h" })).await?;
    let noticed = tenant.until_condition("RemoteConsistent", "False", "HubUnreachable").await;
    engine.hub.start_api_server().await?;
    let claim = noticed?;
    ensure!(claim["status"]["phase"] == "Ready", "{claim}");
    tenant.until_condition("ClusterReady", "True", "").await?;
    told(tenant, "Warning", "RemoteUnavailable").await?;
    tenant.until(BACK, "consistent again", |claim| has(claim, "RemoteConsistent", "True", "")).await?;
    let after = controller.until_asked(SOON).await?;
    ensure!(after["metadata"]["uid"] == before["metadata"]["uid"], "it was replaced");
    Ok(())
}

/// The phases, none of which comes back.
const COURSE: [&str; 5] = ["Pending", "Provisioning", "Ready", "Deprovisioning", "Deprovisioned"];

/// The Secret behind the ProviderConfig is replaced as the guide says, the old token revoked; later the new one ends too soon.
/// Claims of every phase go on by themselves.
pub async fn hub_credential_rotated(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    let name = "rotated";
    let first = hub::issue(&engine.hub, hub::IDENTITY, guide::BEFORE).await?;
    tenant.own(name, &first, &json!({})).await?;
    let ours = json!({ "compositionRef": { "name": name } });
    let provisioning = tenant.another("provisioning").await?;
    let ending = tenant.another("ending").await?;
    let pending = tenant.another("pending").await?;
    tenant.ask_and_get(&ours).await?;
    let building = provisioning.ask_and_arrive(&ours).await?;
    building.provision().await?;
    provisioning.until_phase("Provisioning").await?;
    let end = ending.ask_and_get(&ours).await?;
    ending.change(&json!({ "tearDownCluster": true })).await?;
    end.until_told_to_end(SOON).await?;
    end.deprovision().await?;
    ending.until_phase("Deprovisioning").await?;

    let said = Administrator::new(engine, name)?.follow().await?;
    ensure!(said.contains(&format!("{}: \"", ours::KUBECONFIG_EXPIRES_AT)), "no end of the token: {said}");
    for claim in [tenant, &provisioning, &ending] {
        let writer = format!("managed-{}", claim.composite().await?);
        ensure!(said.contains(&writer), "the guide's look at Objects shows no {writer}: {said}");
    }
    hub::until_refused(&first).await?;
    let fresh = tenant.another("fresh").await?;
    fresh.ask_and_get(&ours).await?;
    tenant.until_condition("RemoteConsistent", "True", "").await?;

    // No valid token exists. A change on the hub makes provider-kubernetes reconcile.
    let ticket = format!("{}-{}", hub::IDENTITY, guide::AFTER);
    engine.hub.cluster().delete(&at(SECRET, hub::NAMESPACE, &ticket)).await?;
    let unreachable = |claim: &Value| has(claim, "RemoteConsistent", "False", "HubUnreachable");
    provisioning.until(BACK, "cut off", unreachable).await?;
    building.ready(KUBECONFIG, PASSWORD).await?;
    end.deprovisioned().await?;
    // One for which the hub was never asked.
    pending.ask(&ours).await?;
    let claim = pending.until(BACK, "cut off", unreachable).await?;
    ensure!(claim["status"]["phase"] == "Pending", "{claim}");
    let third = hub::issue(&engine.hub, hub::IDENTITY, "third").await?;
    engine.use_credential(name, &third).await?;

    provisioning.until(BACK, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    provisioning.until_secret(SOON, KUBECONFIG).await?;
    ending.until(BACK, "Deprovisioned", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    tenant.until_condition("ClusterReady", "True", "").await?;
    let asked = pending.controller().await?;
    asked.until_asked(BACK).await?;
    asked.provision().await?;
    pending.until(BACK, "Provisioning", |claim| claim["status"]["phase"] == "Provisioning").await?;
    for claim in [tenant, &fresh, &provisioning, &ending, &pending] {
        let phases = claim.phases();
        ensure!(claim.remotes_made() == 1, "{} remote objects", claim.remotes_made());
        let course: Option<Vec<_>> = phases.iter().map(|p| COURSE.iter().position(|c| c == p)).collect();
        ensure!(course.is_some_and(|c| c.is_sorted()), "{}: {phases:?}", claim.name);
    }
    Ok(())
}

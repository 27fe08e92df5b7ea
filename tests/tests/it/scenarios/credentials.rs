//! The Secret on the hub comes late, half filled, or anew.

use std::time::Duration;

use anyhow::ensure;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::json;
use testplatform_apis::names::ours;
use testplatform_tests::{
    actors::{Fulfilled, condition},
    cluster::{SOON, at},
    hub,
    kinds::SECRET,
    tenant::{KUBECONFIG, PASSWORD, Tenant},
};

/// provider-kubernetes looks for what is missing at growing distances, a minute at most.
const MISSED: Duration = Duration::from_secs(75);

pub async fn secret_late(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    controller.provision().await?;
    let conditions =
        json!([condition("ProwJobCreating", "True", "", ""), condition("ClusterReady", "True", "", "")]);
    let secret = controller.secret();
    controller.status(json!({ "phase": "Ready", "secretRef": secret, "conditions": conditions })).await?;
    let claim = tenant.until_condition("ClusterReady", "False", "WaitingForCredentials").await?;
    ensure!(claim["status"]["phase"] == "Provisioning", "{claim}");
    controller.publish(KUBECONFIG, PASSWORD).await?;
    tenant.until_secret(MISSED, KUBECONFIG).await?;
    tenant.until_condition("ClusterReady", "True", "Ready").await.map(|_| ())
}

pub async fn secret_half_filled(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    controller.provision().await?;
    let half = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": controller.secret(), "namespace": hub::ACTED },
        "data": { "kubeconfig": BASE64_STANDARD.encode(KUBECONFIG) },
    });
    tenant.engine.hub.cluster().apply(&half).await?;
    let conditions =
        json!([condition("ProwJobCreating", "True", "", ""), condition("ClusterReady", "True", "", "")]);
    let secret = controller.secret();
    controller.status(json!({ "phase": "Ready", "secretRef": secret, "conditions": conditions })).await?;
    tenant.until_condition("ClusterReady", "False", "WaitingForCredentials").await?;
    controller.publish(KUBECONFIG, PASSWORD).await?;
    tenant.until_secret(MISSED, KUBECONFIG).await?;
    tenant.until_condition("CredentialsPublished", "True", "Published").await.map(|_| ())
}

pub async fn secret_rotated(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    // Core tells claims of new credentials by the second in which it published them. Two in one second would be one.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let renewed = KUBECONFIG.replace("of-a-cluster-that-an-actor-made", "the-second-one");
    let renewed = renewed.as_str();
    controller.publish(renewed, PASSWORD).await?;
    if tenant.fulfilled == Fulfilled::ByActor {
        let revision = json!({ "metadata": { "annotations": { ours::CREDENTIALS_REVISION: "2" } } });
        tenant.engine.hub.cluster().merge(&controller.at(), &revision).await?;
    }
    tenant.until_secret(SOON, renewed).await?;
    tenant.until_phase("Ready").await?;
    tenant.until_condition("ClusterReady", "True", "").await?;
    // Behind the claim and in the tenant's namespace it is the same.
    tenant
        .konflux()
        .until_is(
            &at(SECRET, &tenant.namespace, &format!("{}-kubeconfig", tenant.name)),
            SOON,
            "there",
            |_| true,
        )
        .await?;
    Ok(())
}

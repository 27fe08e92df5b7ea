//! The Secret on the hub comes late, half filled, or anew.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use testplatform_tests::{
    actors::condition,
    cluster::{At, SOON, at, has},
    hub,
    kinds::{RESOURCE_QUOTA, SECRET},
    tenant::{KUBECONFIG, PASSWORD, Tenant, decoded},
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

/// Core writes into no Secret that is another claim's, as with a manifest that was copied, and into none that somebody made. The claim says so, and
/// is delivered once nothing is in the way any more.
pub async fn secret_of_a_claim_taken(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    tenant.ask_and_get(&json!({})).await?;
    let first = tenant.konflux().get(&tenant.secret()).await?.context("no Secret")?;
    let copied = tenant.also("copied", tenant.fulfilled).await?;
    let into = |name: &str| json!({ "writeConnectionSecretToRef": { "name": name } });
    until_undelivered(&copied, &into(tenant.secret().name()), "SecretTaken").await?;
    let now = tenant.konflux().get(&tenant.secret()).await?.context("it is gone")?;
    ensure!(decoded(&now) == decoded(&first), "it was written over");
    let their_own = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "their-own", "namespace": tenant.namespace },
        "data": { "kubeconfig": BASE64_STANDARD.encode("theirs") },
    });
    tenant.konflux().apply(&their_own).await?;
    let careless = tenant.also("careless", tenant.fulfilled).await?;
    until_undelivered(&careless, &into("their-own"), "SecretTaken").await?;
    copied.change(&into(copied.secret().name())).await?;
    tenant.konflux().delete(&at(SECRET, &tenant.namespace, "their-own")).await?;
    until_delivered(&copied, &copied.secret()).await?;
    until_delivered(&careless, &at(SECRET, &tenant.namespace, "their-own")).await
}

/// A quota of Secrets that is used up is told in the API server's words.
pub async fn secret_of_a_claim_over_quota(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let none = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "no-secrets", "namespace": tenant.namespace },
        "spec": { "hard": { "count/secrets": "0" } },
    });
    tenant.konflux().apply(&none).await?;
    let quota = at(RESOURCE_QUOTA, &tenant.namespace, "no-secrets");
    // As the quota controller does, which does not run here: the API server goes by the status.
    let counted = json!({ "hard": { "count/secrets": "0" }, "used": { "count/secrets": "0" } });
    tenant.konflux().merge_status(&quota, &counted).await?;
    let claim = until_undelivered(tenant, &json!({}), "SecretMissing").await?;
    ensure!(claim.to_string().contains("exceeded quota: no-secrets"), "{claim}");
    tenant.konflux().delete(&quota).await?;
    until_delivered(tenant, &tenant.secret()).await
}

/// From the claim's making to where its cluster is there and its Secret cannot be written.
async fn until_undelivered(tenant: &Tenant<'_>, more: &Value, reason: &str) -> anyhow::Result<Value> {
    let controller = tenant.ask_and_arrive(more).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    let undelivered = |claim: &Value| {
        // Core shows a status for a moment beside the conditions of before it.
        claim["status"]["phase"] == "Ready"
            && claim["status"]["credentials"]["state"] == "Pending"
            && has(claim, "CredentialsPublished", "False", reason)
            && has(claim, "ClusterReady", "False", "WaitingForCredentials")
    };
    let claim = tenant.until(SOON, "ready and not delivered", undelivered).await?;
    ensure!(!claim.to_string().contains("theirs"), "{claim}");
    Ok(claim)
}

async fn until_delivered(tenant: &Tenant<'_>, secret: &At) -> anyhow::Result<()> {
    let has = |secret: &Value| decoded(secret).get("kubeconfig").is_some_and(|k| k == KUBECONFIG);
    // Core tries again at growing distances, a minute at most.
    tenant.konflux().until_is(secret, MISSED, "with the kubeconfig", has).await?;
    tenant.until_condition("CredentialsPublished", "True", "Published").await?;
    tenant.until_condition("ClusterReady", "True", "Ready").await.map(|_| ())
}

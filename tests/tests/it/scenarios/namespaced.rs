//! Features of TestClusters alone: a Secret of the tenant's own, which an Object in their namespace writes.

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use testplatform_apis::{
    claim::{CI_OPERATOR_IMMUTABLE, EXACTLY_ONE_BLOCK, LIFETIME_RULE},
    test_cluster::{SECRET_IMMUTABLE, SECRET_NAME},
};
use testplatform_tests::{
    cluster::SOON,
    tenant::{KUBECONFIG, PASSWORD, Tenant, decoded},
};

/// Somebody else's Secret is not touched, and what it holds is nobody's kubeconfig. Once it is out of the way, the credentials come.
pub async fn secret_taken(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let place = tenant.secret();
    let theirs = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": place.name(), "namespace": tenant.namespace },
        "data": { "kubeconfig": BASE64_STANDARD.encode("theirs") },
    });
    tenant.konflux().apply(&theirs).await?;
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    let said = tenant.until_condition("CredentialsPublished", "False", "SecretTaken").await?;
    ensure!(!said.to_string().contains("theirs"), "{said}");
    tenant.until_condition("ClusterReady", "False", "WaitingForCredentials").await?;
    let kept = tenant.konflux().get(&place).await?.context("their Secret is gone")?;
    ensure!(decoded(&kept).get("kubeconfig").is_some_and(|k| k == "theirs"), "it was written over");
    tenant.konflux().delete(&place).await?;
    // provider-kubernetes tries again at growing distances, a minute at most.
    tenant.until_secret(2 * SOON, KUBECONFIG).await?;
    tenant.until_condition("ClusterReady", "True", "Ready").await.map(|_| ())
}

/// It is the Object's, and written anew, also when it goes again before anybody knows that it came. The cluster is ready all the while.
pub async fn secret_deleted_by_the_tenant(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    tenant.ask_and_get(&json!({})).await?;
    let mut before = tenant.konflux().get(&tenant.secret()).await?.context("no Secret")?;
    let owner = &before["metadata"]["ownerReferences"][0];
    ensure!(owner["kind"] == "Object" && owner["controller"] == true, "{}", before["metadata"]);
    for words in ["written anew", "written anew once more"] {
        tenant.konflux().delete(&tenant.secret()).await?;
        let anew = |secret: &Value| {
            secret["metadata"]["uid"] != before["metadata"]["uid"]
                && decoded(secret).get("kubeconfig").is_some_and(|k| k == KUBECONFIG)
        };
        before = tenant.konflux().until_is(&tenant.secret(), 2 * SOON, words, anew).await?;
    }
    tenant.until_condition("CredentialsPublished", "True", "Published").await?;
    let composite = tenant.konflux().get(&tenant.claim()).await?.context("no TestCluster")?;
    ensure!(composite["spec"]["crossplane"].is_object(), "{composite}");
    Ok(())
}

/// The API server's rules, with the definition that core makes of ours.
pub async fn rules_hold(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let konflux = tenant.konflux();
    let refused = async |manifest: &Value, words: &str| -> anyhow::Result<()> {
        let outcome = konflux.create(manifest).await.map(|_| ());
        let said = outcome.err().map(|e| format!("{e:#}")).unwrap_or_default();
        ensure!(said.contains(words), "expected {words:?}, got {said:?}");
        Ok(())
    };
    refused(&tenant.manifest(&json!({ "template": "x" })), EXACTLY_ONE_BLOCK).await?;
    refused(&tenant.manifest(&json!({ "lifetime": "1s" })), LIFETIME_RULE).await?;
    refused(
        &tenant.manifest(&json!({ "writeConnectionSecretToRef": { "name": "Not_A_Name" } })),
        SECRET_NAME,
    )
    .await?;
    tenant.ask(&json!({})).await?;
    for (spec, words) in [
        (json!({ "writeConnectionSecretToRef": { "name": "another" } }), SECRET_IMMUTABLE),
        (json!({ "writeConnectionSecretToRef": null }), SECRET_IMMUTABLE),
        (json!({ "ciOperator": { "test": { "workflow": "another" } } }), CI_OPERATOR_IMMUTABLE),
    ] {
        let said = tenant.change(&spec).await.err().map(|e| format!("{e:#}")).unwrap_or_default();
        ensure!(said.contains(words), "expected {words:?}, got {said:?}");
    }
    let told = tenant.until_condition("RequestAccepted", "True", "").await?;
    ensure!(told["status"]["startedAt"].is_string(), "the status is pruned: {told}");
    Ok(())
}

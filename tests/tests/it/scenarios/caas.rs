//! Clusters by a template that CaaS makes: the claim becomes a ClusterTemplateInstance, of which a chart makes a HostedCluster, and the
//! kubeconfig comes back. The ClusterTemplateInstance goes before the cluster does.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    caas::{Quota, instance},
    cluster::{SOON, at, at_root, has},
    hive::{
        objects::{kubeconfig, text, token},
        offer::CREDENTIALS,
    },
    hypershift::{hosted_cluster, objects::PASSWORD},
    kinds::{COMPOSITE, OBJECT, SECRET},
    tenant::Tenant,
    witness::Witness,
};

use super::{by_template::said, hive::GONE, hypershift::stays_ready};

/// For how long something that must not happen is waited for.
const A_WHILE: Duration = Duration::from_secs(5);

/// Asks, and waits until the hub has it: name and uid of its ClusterTemplateInstance.
async fn asked(tenant: &Tenant<'_>, more: &Value) -> anyhow::Result<(String, String)> {
    tenant.ask(more).await?;
    let name = tenant.composite().await?;
    let hub = tenant.engine.hub.cluster();
    let there = hub.until_is(&instance(&name), SOON, "there", |_| true).await?;
    Ok((name, text(&there, "/metadata/uid").to_owned()))
}

/// As [`asked`], then through to Ready.
async fn got(tenant: &Tenant<'_>, more: &Value) -> anyhow::Result<(String, String)> {
    let (name, uid) = asked(tenant, more).await?;
    tenant.until_phase("Ready").await?;
    tenant.until_secret(SOON, &kubeconfig(&uid, &token(&uid))).await?;
    Ok((name, uid))
}

pub async fn caas_happy_path(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let caas = tenant.engine.instances().await?;
    let more =
        json!({ "version": "4.19", "parameters": { "instanceType": "m6g.large", "monitoring": "7d" } });
    let (name, uid) = asked(tenant, &more).await?;
    caas.hold(&uid);
    let published = at(SECRET, CREDENTIALS, &format!("{name}-credentials"));
    // The cluster answers, and what is set up in it is not created yet.
    let running = |it: &Value| it["status"]["phase"] == "ClusterSetupRunning";
    hub.until_is(&instance(&name), SOON, "being set up", running).await?;
    tenant.until_condition("ControlPlaneAvailable", "True", "Available").await?;
    tenant.until_condition("TemplateApplied", "False", "Running").await?;
    tenant.until_phase("Provisioning").await?;
    ensure!(hub.get(&published).await?.is_none(), "published before all of it is there");
    caas.let_go(&uid);

    tenant.until_phase("Ready").await?;
    let secret = tenant.until_secret(SOON, &kubeconfig(&uid, &token(&uid))).await?;
    ensure!(secret.get("kubeAdminPassword").is_some_and(|p| p == PASSWORD), "the password is missing");
    for (type_, reason) in [
        ("ClusterReady", "Ready"),
        ("InfrastructureReady", "Available"),
        ("TemplateApplied", "Applied"),
        ("SpecApplied", "UpToDate"),
        ("CredentialsPublished", "Published"),
    ] {
        tenant.until_condition(type_, "True", reason).await?;
    }
    // The HostedCluster of the chart tells what CaaS does not.
    let told =
        |claim: &Value| claim["status"]["version"] == "4.19.17" && claim["status"]["consoleURL"].is_string();
    let claim = tenant.until(SOON, "with version and console", told).await?;
    ensure!(text(&claim, "/status/consoleURL").contains(&uid), "{}", claim["status"]);
    ensure!(claim["status"]["versionDesired"] == "4.19.17", "{}", claim["status"]);

    let it = hub.get(&instance(&name)).await?.context("it is gone")?;
    let parameters = it["spec"]["parameters"].as_array().cloned().unwrap_or_default();
    let value = |name: &str| parameters.iter().find(|p| p["name"] == name).cloned().unwrap_or_default();
    ensure!(value("version")["value"] == "4.19.17", "{parameters:?}");
    ensure!(
        value("instanceType")["value"] == "m6g.large" && value("fips")["value"] == "false",
        "{parameters:?}"
    );
    ensure!(value("retention")["clusterSetup"] == "cluster-monitoring", "{parameters:?}");
    Ok(())
}

/// Nothing of it can change, neither version nor nodes nor parameters: the claim is told which field it is, and the hub is not asked.
pub async fn caas_neither_upgraded_nor_resized(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (name, uid) = got(tenant, &json!({ "version": "4.19" })).await?;
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    let ready = stays_ready(tenant).await?;
    let spec = hub.get(&instance(&name)).await?.context("it is gone")?["spec"].clone();
    let asked = {
        let (spec, uid) = (spec.clone(), uid.clone());
        move |it: Option<&Value>| {
            it.is_some_and(|it| it["spec"] == spec && it["metadata"]["uid"] == uid.as_str())
        }
    };
    let untouched = Witness::of(hub, &instance(&name), asked).await?;
    let workers = json!([{ "name": "workers", "class": "small", "count": 3 }]);
    for (change, back, reason, field) in [
        (json!({ "version": "4.20" }), json!({ "version": "4.19" }), "Immutable", "spec.version"),
        (
            json!({ "parameters": { "instanceType": "m5.xlarge" } }),
            json!({ "parameters": { "instanceType": "m5.large" } }),
            "Immutable",
            "spec.parameters.instanceType",
        ),
        (json!({ "nodeGroups": workers }), Value::Null, "Rejected", "spec.nodeGroups"),
    ] {
        tenant.change(&change).await?;
        let told = |claim: &Value| {
            has(claim, "SpecApplied", "False", reason)
                && said(claim, "SpecApplied").contains(field)
                && claim["status"]["version"] == "4.19.17"
        };
        tenant.until(SOON, &format!("told of {field}"), told).await?;
        if !back.is_null() {
            tenant.change(&back).await?;
            tenant.until_condition("SpecApplied", "True", "UpToDate").await?;
        }
    }
    let writer = konflux.get(&at_root(OBJECT, &format!("managed-{name}"))).await?.context("no Object")?;
    ensure!(has(&writer, "Synced", "True", ""), "the hub was asked: {writer}");
    untouched.verdict().await?;
    ready.verdict().await?;
    ensure!(tenant.remotes_made() == 1, "another one was asked for");
    Ok(())
}

/// A quota of CaaS' own refuses it at first. It is asked for again, and made once it may be.
pub async fn caas_refused(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let quota = Quota::set(hub, &tenant.namespace).await?;
    tenant.ask(&json!({})).await?;
    let name = tenant.composite().await?;
    let refused = |claim: &Value| text(claim, "/status/message").contains("failed quota");
    let claim = tenant.until(SOON, "refused", refused).await?;
    ensure!(claim["status"]["phase"] == "Pending", "it may be lifted: {}", claim["status"]);
    tenant.until_condition("RemoteConsistent", "False", "HubRefused").await?;
    ensure!(hub.get(&instance(&name)).await?.is_none(), "it is there all the same");
    quota.lift().await?;
    tenant.until(GONE, "ready", |claim| claim["status"]["phase"] == "Ready").await?;
    ensure!(tenant.remotes_made() == 1, "more than one was asked for");
    Ok(())
}

/// It is over when the cluster is gone, and not when what stands for it is.
pub async fn caas_torn_down(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (name, uid) = got(tenant, &json!({})).await?;
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    let caas = tenant.engine.instances().await?;
    caas.hold(&uid);
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    hub.until_gone(&instance(&name), GONE).await?;
    tenant.until_phase("Deprovisioning").await?;
    let lasts = |claim: Option<&Value>| claim.is_some_and(|c| c["status"]["phase"] == "Deprovisioning");
    let claim = Witness::of(konflux, &tenant.claim(), lasts).await?;
    let told = |claim: &Value| {
        text(claim, "/status/progress/message").contains("still exists, and its deletion has not started")
    };
    // That the instance is gone provider-kubernetes may find out only when it looks again, a minute later.
    tenant.until(GONE, "with what it waits for", told).await?;
    tokio::time::sleep(A_WHILE).await;
    claim.verdict().await.context("over while the cluster runs")?;
    drop(claim);
    ensure!(hub.get(&hosted_cluster(&uid)).await?.is_some(), "the HostedCluster was not ours to delete");
    tenant.until_condition("TearDownComplete", "False", "InProgress").await?;
    caas.let_go(&uid);
    tenant.until(GONE, "over", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    tenant.until_condition("ProwJobCompleted", "True", "TornDown").await?;
    ensure!(hub.get(&hosted_cluster(&uid)).await?.is_none(), "over before the cluster is gone");
    tenant.until_secret(SOON, "").await?;
    hub.until_gone(&at(SECRET, CREDENTIALS, &format!("{name}-credentials")), GONE).await?;
    konflux.until_gone(&at_root(OBJECT, &format!("hosted-{name}")), SOON).await?;
    konflux.delete(&tenant.claim()).await?;
    konflux.until_gone(&tenant.claim(), SOON).await?;
    konflux.until_gone(&at_root(COMPOSITE, &name), GONE).await
}

/// Somebody takes the ClusterTemplateInstance away, as CaaS itself does by its quotas: it is over once the cluster is gone too, and there is
/// never a second one.
pub async fn caas_deleted_behind_our_back(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (name, uid) = got(tenant, &json!({})).await?;
    let hub = tenant.engine.hub.cluster();
    hub.delete(&instance(&name)).await?;
    tenant.until(GONE, "Failed", |claim| claim["status"]["phase"] == "Failed").await?;
    tenant.until_condition("RemoteConsistent", "False", "RemoteDeleted").await?;
    tenant.until(GONE, "over", |claim| has(claim, "ProwJobCompleted", "True", "RemoteDeleted")).await?;
    ensure!(hub.get(&hosted_cluster(&uid)).await?.is_none(), "over before the cluster is gone");
    tenant.until_secret(SOON, "").await?;
    tenant.nudge("lost").await?;
    tokio::time::sleep(A_WHILE).await;
    ensure!(tenant.remotes_made() == 1, "a second one was asked for");
    ensure!(hub.get(&instance(&name)).await?.is_none(), "it is there again");
    Ok(())
}

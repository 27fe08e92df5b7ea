//! Clusters by a template that OSAC makes: the claim becomes a ClusterOrder, its automation makes a HostedCluster of that, and what is
//! behind the order is what tells how the cluster does.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{At, SOON, at, condition, has},
    hive::{
        objects::{kubeconfig, text, token},
        offer::CREDENTIALS,
    },
    hypershift::objects::{PASSWORD, UNAVAILABLE},
    kinds::SECRET,
    osac::{self, hosted_cluster, node_pool, order},
    tenant::Tenant,
    witness::Witness,
};

use super::{
    by_template::{degraded_and_recovered, said},
    hive::GONE,
    hypershift::stays_ready,
    templates::Entry,
};

/// Makes the claim. The name of its order, which is shorter than that of the composite may be.
async fn asked(tenant: &Tenant<'_>) -> anyhow::Result<String> {
    tenant.ask(&json!({})).await?;
    let named = |claim: &Value| claim["status"]["backend"]["name"].is_string();
    let claim = tenant.until(SOON, "asked for", named).await?;
    let name = text(&claim, "/status/backend/name").to_owned();
    ensure!(name.len() <= 25, "the namespace of its control plane cannot have a name: {name}");
    Ok(name)
}

/// Through to Ready.
async fn got(tenant: &Tenant<'_>) -> anyhow::Result<String> {
    let name = asked(tenant).await?;
    tenant.until_phase("Ready").await?;
    tenant.until_secret(SOON, &kubeconfig(&name, &token(&name))).await?;
    Ok(name)
}

fn published(name: &str) -> At {
    at(SECRET, CREDENTIALS, &format!("{name}-credentials"))
}

pub async fn osac_happy_path(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    let player = tenant.engine.orders().await?;
    player.hold(&tenant.namespace);
    let name = asked(tenant).await?;

    // Its job has ended, and nothing answers yet.
    hub.until_is(&order(&name), SOON, "Ready", |order| order["status"]["phase"] == "Ready").await?;
    tenant.until_condition("TemplateApplied", "True", "Applied").await?;
    tenant.until_condition("ControlPlaneAvailable", "False", "Creating").await?;
    tenant.until_condition("CredentialsPublished", "False", "NotRunning").await?;
    tenant.until_phase("Provisioning").await?;
    ensure!(hub.get(&published(&name)).await?.is_none(), "published before its API server answers");
    let asked = hub.get(&order(&name)).await?.context("no order")?;
    let spec = &asked["spec"];
    ensure!(spec["templateParameters"] == "{\"ingress_replicas\":1}", "{spec}");
    ensure!(spec["nodeRequests"] == json!([{ "resourceClass": "fc430", "numberOfNodes": 2 }]), "{spec}");
    let tenants = &asked["metadata"]["annotations"]["osac.openshift.io/tenant"];
    ensure!(*tenants == tenant.namespace.as_str(), "{tenants}");
    player.let_go(&tenant.namespace);

    tenant.until_phase("Ready").await?;
    let secret = tenant.until_secret(SOON, &kubeconfig(&name, &token(&name))).await?;
    ensure!(secret.get("kubeAdminPassword").is_some_and(|p| p == PASSWORD), "the password is missing");
    for (type_, reason) in [
        ("ClusterReady", "Ready"),
        ("InfrastructureReady", "Available"),
        ("ControlPlaneAvailable", "Available"),
        ("NodesReady", "AllReady"),
        ("TemplateApplied", "Applied"),
        ("SpecApplied", "UpToDate"),
        ("CredentialsPublished", "Published"),
    ] {
        tenant.until_condition(type_, "True", reason).await?;
    }
    let claim = tenant.until_phase("Ready").await?;
    let status = &claim["status"];
    ensure!(status["nodes"]["desired"] == 2 && status["nodes"]["ready"] == 2, "{}", status["nodes"]);
    ensure!(status["version"] == "4.20.3" && status["effective"]["version"] == "4.20.3", "{status}");
    for field in ["apiServerURL", "consoleURL"] {
        ensure!(text(&claim, &format!("/status/{field}")).contains(&name), "{field}: {status}");
    }

    let composite = tenant.composite_at().await?;
    player.hold(&tenant.namespace);
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    let released = |c: Option<&Value>| c.is_some_and(|c| c["metadata"]["deletionTimestamp"].is_string());
    hub.until(&order(&name), GONE, "being deleted", released).await?;
    hub.until_gone(&published(&name), SOON).await?;
    tenant.until_phase("Deprovisioning").await?;
    ensure!(hub.get(&hosted_cluster(&name)).await?.is_some(), "somebody else took it away");
    player.let_go(&tenant.namespace);
    tenant.until(GONE, "over", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    tenant.until_condition("ProwJobCompleted", "True", "TornDown").await?;
    tenant.until_secret(SOON, "").await?;
    for left in [order(&name), hosted_cluster(&name)] {
        ensure!(hub.get(&left).await?.is_none(), "{left} is still there");
    }
    ensure!(tenant.remotes_made() == 1, "a second order was made");
    konflux.delete(&tenant.claim()).await?;
    konflux.until_gone(&tenant.claim(), SOON).await?;
    konflux.until_gone(&composite, GONE).await
}

/// A job that fails is tried again; the fifth failure is final, although the order remembers but two.
pub async fn osac_job_failed(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (hub, player) = (tenant.engine.hub.cluster(), tenant.engine.orders().await?);
    player.fail(&tenant.namespace, "no host of class fc430 is free; password=hunter2");
    let name = asked(tenant).await?;
    let told = |claim: &Value| text(claim, "/status/lastError/message").contains("no host of class");
    let claim = tenant.until(SOON, "with its error", told).await?;
    ensure!(claim["status"]["lastError"]["reason"] == "ProvisioningJobFailed", "{}", claim["status"]);
    let failed = |claim: &Value| claim["status"]["phase"] == "Failed";
    let claim = tenant.until(GONE, "Failed", failed).await?;
    ensure!(!claim["status"].to_string().contains("hunter2"), "a secret is in {}", claim["status"]);
    ensure!(claim["status"]["lastError"]["terminal"] == true, "{}", claim["status"]["lastError"]);
    tenant.until_condition("TemplateApplied", "False", "JobFailed").await?;
    hub.until_gone(&order(&name), GONE).await?;
    tenant.until(GONE, "over", |claim| has(claim, "ProwJobCompleted", "True", "")).await?;
    ensure!(hub.get(&hosted_cluster(&name)).await?.is_none(), "it is paid for");
    ensure!(tenant.remotes_made() == 1, "a second order was made");
    Ok(())
}

/// A group grows, another one comes, and goes again with its nodes.
pub async fn osac_resized(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let name = got(tenant).await?;
    let hub = tenant.engine.hub.cluster();
    let served = stays_ready(tenant).await?;
    let grown = json!([
        { "name": "workers", "class": "metal", "count": 3 }, { "name": "spare", "class": "large", "count": 1 },
    ]);
    tenant.change(&json!({ "nodeGroups": grown })).await?;
    let up = |nodes: i64| {
        move |claim: &Value| {
            claim["status"]["nodes"]["ready"] == nodes && has(claim, "SpecApplied", "True", "UpToDate")
        }
    };
    tenant.until(SOON, "grown", up(4)).await?;
    let pool = hub.get(&node_pool(&name, "fc640")).await?.context("no other NodePool")?;
    ensure!(pool["spec"]["replicas"] == 1, "{pool}");
    tenant.change(&json!({ "nodeGroups": [{ "name": "workers", "class": "metal", "count": 1 }] })).await?;
    tenant.until(SOON, "shrunk", up(1)).await?;
    hub.until_gone(&node_pool(&name, "fc640"), SOON).await?;
    served.verdict().await?;
    ensure!(tenant.remotes_made() == 1, "another order was made");
    Ok(())
}

/// The version of such a cluster is fixed, unless the entry says that OSAC's template can change it. Then a job does, the nodes follow the
/// control plane, and it is not applied before it is there.
pub async fn osac_upgraded(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let mut entry = Entry::new(tenant, osac::template()?, "");
    entry.offer(|_| ()).await?;
    tenant.ask(&json!({ "template": entry.name(), "version": "4.19.17" })).await?;
    let claim = tenant.until_phase("Ready").await?;
    let name = text(&claim, "/status/backend/name").to_owned();
    let served = stays_ready(tenant).await?;
    let before = hub.get(&order(&name)).await?.context("no order")?;
    let fixed = |claim: &Value| {
        has(claim, "SpecApplied", "False", "Immutable")
            && said(claim, "SpecApplied").contains("spec.version")
            && claim["status"]["version"] == "4.19.17"
    };
    tenant.change(&json!({ "version": "4.20.3" })).await?;
    let refused = tenant.until(SOON, "fixed", fixed).await?;
    let after = hub.get(&order(&name)).await?.context("no order")?;
    ensure!(before["spec"] == after["spec"], "{} became {}", before["spec"], after["spec"]);

    // Core restates conditions of its cache now and then: one of before it was refused says nothing of this version.
    let since = |claim: &Value| {
        condition(claim, "SpecApplied")
            .and_then(|spec| spec["lastTransitionTime"].as_str())
            .map(ToOwned::to_owned)
    };
    let refused = since(&refused);
    let applied = move |claim: Option<&Value>| {
        let claim = claim.filter(|claim| has(claim, "SpecApplied", "True", "") && since(claim) >= refused);
        claim.is_none_or(|claim| claim["status"]["version"] == "4.20.3")
    };
    let honest = Witness::of(tenant.konflux(), &tenant.claim(), applied).await?;
    entry.offer(|data| data["backendRef"]["upgradeable"] = true.into()).await?;
    tenant.nudge("upgradeable").await?;
    let upgraded = |claim: &Value| {
        claim["status"]["version"] == "4.20.3" && has(claim, "SpecApplied", "True", "UpToDate")
    };
    // Core may look from before the entry was changed, and again within a minute.
    tenant.until(GONE, "upgraded", upgraded).await?;
    let followed = |pool: &Value| pool["status"]["version"] == "4.20.3";
    hub.until_is(&node_pool(&name, "fc430"), SOON, "upgraded", followed).await?;
    honest.verdict().await.context("it is said to be applied, and is not")?;
    served.verdict().await?;
    ensure!(tenant.remotes_made() == 1, "another order was made");
    tenant.konflux().delete(&entry.at()).await
}

/// The order says Ready all the while: it is what is behind it that tells.
pub async fn osac_degraded_and_recovered(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let name = got(tenant).await?;
    let player = tenant.engine.orders().await?;
    let says = |order: Option<&Value>| order.is_some_and(|order| order["status"]["phase"] == "Ready");
    let says = Witness::of(tenant.engine.hub.cluster(), &order(&name), says).await?;
    let degrade = |degraded| player.degrade(&tenant.namespace, degraded);
    degraded_and_recovered(tenant, &kubeconfig(&name, &token(&name)), UNAVAILABLE, degrade).await?;
    says.verdict().await
}

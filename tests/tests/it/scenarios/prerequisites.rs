//! Prerequisites of a template on the hub: they exist before the cluster is requested, and are deleted after it.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_apis::prerequisites;
use testplatform_tests::{
    actors::Fulfilled,
    cluster::{At, at, has},
    cluster_api::{self, topology},
    hypershift::CLUSTERS,
    kinds::CONFIG_MAP,
    tenant::Tenant,
    witness::Witness,
};

use super::{hive::GONE, templates::Entry};

/// A ConfigMap that is ready once somebody has written a key into it.
fn awaited(suffix: &str, key: &str) -> Value {
    json!({
        "object": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("{{name}}-{suffix}") },
            "data": { "of": "{tenant}", "beside": "{namespace}/{name}" },
        },
        "ready": format!("has(object.data) && '{key}' in object.data"),
    })
}

/// An entry whose clusters need settings that somebody approves, and a visit before they are asked for.
async fn entry<'t>(tenant: &'t Tenant<'t>) -> anyhow::Result<Entry<'t>> {
    let mut entry = Entry::new(tenant, cluster_api::template()?, "");
    let variable = json!({ "name": "settings", "value": "{name}-settings" });
    let mut variables = vec![variable];
    entry
        .offer(|data| {
            let fixed = &mut data["backendRef"]["cluster"]["topology"]["variables"];
            variables.extend(fixed.as_array().into_iter().flatten().cloned());
            *fixed = variables.into();
            data["parameters"]["extras"] = json!({ "type": "boolean", "default": false });
            let unwanted = json!({ "parameter": "extras", "equals": true });
            data["prerequisites"] = json!([
                { "name": "settings", "manifests": [awaited("settings", "approved")] },
                { "name": "unwanted", "when": unwanted, "manifests": [awaited("unwanted", "never")] },
            ]);
            data["preCreate"] = json!([{ "name": "visit", "manifests": [awaited("visit", "done")] }]);
        })
        .await?;
    Ok(entry)
}

fn beside(name: &str, suffix: &str) -> At {
    at(CONFIG_MAP, CLUSTERS, &format!("{name}{suffix}"))
}

/// Waits until something is made, and lets it be ready.
async fn grant(tenant: &Tenant<'_>, name: &str, suffix: &str, key: &str) -> anyhow::Result<Value> {
    let hub = tenant.engine.hub.cluster();
    let made = hub.until_is(&beside(name, suffix), GONE, "made", |_| true).await?;
    hub.merge(&beside(name, suffix), &json!({ "data": { key: "yes" } })).await?;
    Ok(made)
}

/// Waits until all that was made for a cluster is gone, the order included.
async fn nothing_left(tenant: &Tenant<'_>, name: &str) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    for suffix in ["-settings", "-visit", prerequisites::SUFFIX] {
        hub.until_gone(&beside(name, suffix), GONE).await?;
    }
    let all = hub.list(CONFIG_MAP).await?;
    let left =
        all.iter().filter_map(|map| map["metadata"]["name"].as_str()).find(|map| map.starts_with(name));
    ensure!(left.is_none(), "left on the hub: {left:?}");
    Ok(())
}

/// Keeps the end of a cluster waiting, and what was made for it has to stay meanwhile. Then it goes, and all the rest.
async fn goes_first(tenant: &Tenant<'_>, name: &str) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let going = |c: Option<&Value>| c.is_some_and(|c| c["metadata"]["deletionTimestamp"].is_string());
    hub.until(&topology(name), GONE, "being deleted", going).await?;
    let lives = |map: Option<&Value>| map.is_some_and(|map| map["metadata"]["deletionTimestamp"].is_null());
    let settings = Witness::of(hub, &beside(name, "-settings"), lives).await?;
    // Longer than the provider leaves a cluster that may be on its way.
    tokio::time::sleep(Duration::from_secs(45)).await;
    settings.verdict().await?;
    drop(settings);
    ensure!(hub.get(&topology(name)).await?.is_some(), "the cluster did not wait");
    tenant.engine.fake_cluster_api().await?.let_go(name);
    hub.until_gone(&topology(name), GONE).await?;
    nothing_left(tenant, name).await
}

pub async fn prerequisites_before_cluster(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let entry = entry(tenant).await?;
    tenant.ask(&json!({ "template": entry.name() })).await?;
    let name = tenant.composite().await?;
    let made = hub.until_is(&beside(&name, "-settings"), GONE, "made", |_| true).await?;
    ensure!(made["data"]["of"] == tenant.namespace.as_str(), "{made}");
    ensure!(made["data"]["beside"] == format!("{CLUSTERS}/{name}"), "{made}");
    let told = |claim: &Value| {
        let words = claim["status"]["conditions"].to_string();
        has(claim, "RequestAccepted", "False", "PrerequisitesNotReady")
            && has(claim, "TemplateApplied", "False", "Running")
            && words.contains("prerequisites/settings")
            && words.contains(&format!("{name}-settings"))
    };
    let claim = tenant.until(GONE, "told what it waits for", told).await?;
    ensure!(claim["status"]["phase"] == "Pending", "{claim}");
    ensure!(hub.get(&beside(&name, "-visit")).await?.is_none(), "it does not go in order");

    grant(tenant, &name, "-settings", "approved").await?;
    hub.until_is(&beside(&name, "-visit"), GONE, "made", |_| true).await?;
    ensure!(hub.get(&topology(&name)).await?.is_none(), "the cluster was asked for before all was ready");
    grant(tenant, &name, "-visit", "done").await?;
    let cluster = hub.until_is(&topology(&name), GONE, "asked for", |_| true).await?;
    let variables = cluster["spec"]["topology"]["variables"].as_array().context("no variables")?;
    let named = json!({ "name": "settings", "value": format!("{name}-settings") });
    ensure!(variables.contains(&named), "{variables:?}");
    tenant.until(GONE, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    tenant.until_condition("RequestAccepted", "True", "").await?;
    ensure!(hub.get(&beside(&name, "-unwanted")).await?.is_none(), "made what nobody asked for");

    tenant.engine.fake_cluster_api().await?.hold_end(&name, 0);
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    goes_first(tenant, &name).await?;
    tenant.until(GONE, "over", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    tenant.konflux().delete(&entry.at()).await
}

/// A claim that asks for something else before its cluster was asked for, and then thinks better of it.
pub async fn prerequisites_of_another(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let entry = entry(tenant).await?;
    tenant.ask(&json!({ "template": entry.name() })).await?;
    let name = tenant.composite().await?;
    hub.until_is(&beside(&name, "-settings"), GONE, "made", |_| true).await?;
    tenant.change(&json!({ "parameters": { "extras": true } })).await?;
    let told = |claim: &Value| {
        let words = claim["status"]["conditions"].to_string();
        has(claim, "RequestAccepted", "False", "PrerequisitesNotReady")
            && words.contains("for a different specification")
    };
    tenant.until(GONE, "told that it is for another", told).await?;
    let lives = |map: Option<&Value>| map.is_some_and(|map| map["metadata"]["deletionTimestamp"].is_null());
    let settings = Witness::of(hub, &beside(&name, "-settings"), lives).await?;
    for (suffix, key) in [("-settings", "approved"), ("-visit", "done")] {
        grant(tenant, &name, suffix, key).await?;
    }
    // As long as provider-kubernetes leaves the answer unread at most.
    tokio::time::sleep(Duration::from_secs(45)).await;
    ensure!(hub.get(&topology(&name)).await?.is_none(), "a cluster was asked for on what is for another");
    settings.verdict().await?;
    drop(settings);
    tenant.change(&json!({ "parameters": { "extras": false } })).await?;
    tenant.until(GONE, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    tenant.until(GONE, "over", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    nothing_left(tenant, &name).await?;
    tenant.konflux().delete(&entry.at()).await
}

/// The same where nobody asks the function any more, and where no cluster was asked for yet.
pub async fn prerequisites_claim_deleted(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    let entry = entry(tenant).await?;
    tenant.ask(&json!({ "template": entry.name() })).await?;
    let early = tenant.also("early", Fulfilled::ByClusterApi).await?;
    early.ask(&json!({ "template": entry.name() })).await?;
    let (name, other) = (tenant.composite().await?, early.composite().await?);
    grant(tenant, &name, "-settings", "approved").await?;
    grant(tenant, &name, "-visit", "done").await?;
    tenant.until(GONE, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    tenant.engine.fake_cluster_api().await?.hold_end(&name, 0);
    let composites = [tenant.composite_at().await?, early.composite_at().await?];
    hub.until_is(&beside(&other, "-settings"), GONE, "made", |_| true).await?;
    for claim in [tenant.claim(), early.claim()] {
        konflux.delete(&claim).await?;
    }
    goes_first(tenant, &name).await?;
    nothing_left(tenant, &other).await?;
    ensure!(hub.get(&topology(&other)).await?.is_none(), "a cluster was asked for that nobody wants");
    for composite in composites {
        konflux.until_gone(&composite, GONE).await?;
    }
    konflux.delete(&entry.at()).await
}

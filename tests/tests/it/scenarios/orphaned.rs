//! A Konflux cluster is restored to a snapshot from before a claim: its cluster runs on, and nobody owns it.
//!
//! Claim, composite and Objects are removed without their finalizers while Crossplane and provider-kubernetes hold still, as after such a
//! restore: they never existed for either. Everything else is real: the function marked the remote object, and provider-kubernetes made it.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use provider_testplatform::config::{OrphanHub, OrphanMode};
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_tests::{
    cluster::{At, Cluster, SOON, at_root, has},
    kinds::{EVENT, OBJECT},
    tenant::Tenant,
};

use crate::provider::orphans::{NAME, Search, install_rights, report};

/// Several times the interval between two listings.
const QUIET: Duration = Duration::from_secs(5);

pub async fn cluster_whose_claim_a_restore_lost(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    install_rights(konflux).await?;
    // Nothing is ended on a hub on which more than half of the objects have lost their owners.
    tenant.another("kept").await?.ask_and_get(&json!({})).await?;
    let controller = tenant.ask_and_get(&json!({})).await?;
    let remote = controller.at();
    wrong_namespaces(tenant, remote.namespace()).await.context("with wrong namespaces")?;

    let search = Search::start(&tenant.engine.konflux, OrphanMode::Teardown, |_| ()).await?;
    let is_recorded =
        |object: &Value| object["metadata"]["annotations"][ours::KONFLUX_CLUSTER_UID].is_string();
    hub.until_is(&remote, SOON, "recorded as owned", is_recorded).await?;
    lose(tenant).await?;
    let is_told = |object: &Value| object["spec"]["tearDownCluster"] == true;
    hub.until_is(&remote, SOON, "told to end", is_told).await?;
    search.until_orphans(1).await?;
    let found = report(konflux).await?;
    let row = found.orphans.iter().find(|row| row.remote.identity.name == remote.name());
    let row = row.with_context(|| format!("{found:?}"))?;
    ensure!(row.state == "Teardown" && row.remote.tenant.as_deref() == Some(&*tenant.namespace), "{row:?}");
    // The provider on the hub tears the cluster down, and the search then deletes the object.
    controller.deprovisioned().await?;
    hub.until_gone(&remote, SOON).await?;
    search.until_orphans(0).await?;
    search.end().await?;
    for reason in ["OrphanFound", "OrphanTeardown"] {
        let note = event_note(konflux, reason, remote.name()).await?;
        ensure!(note.is_some(), "no event {reason} names {}", remote.name());
    }
    Ok(())
}

/// A namespace without the remote objects lists as well as the right one. The search says so, and finds no orphan.
async fn wrong_namespaces(tenant: &Tenant<'_>, right: &str) -> anyhow::Result<()> {
    let konflux = tenant.konflux();
    let elsewhere = format!("keep EphemeralCluster objects in namespace {right}");
    for namespace in ["default", "nowhere-at-all"] {
        let change = |hub: &mut OrphanHub| hub.namespaces = vec![namespace.to_owned()];
        let search = Search::start(&tenant.engine.konflux, OrphanMode::Report, change).await?;
        // The hub's identity may not read namespaces, or may not list in this one: then the hub refuses that.
        let reasons = [elsewhere.as_str(), "does not exist there", "forbidden"];
        let error = search.until_not_listed(konflux, &reasons).await?;
        tokio::time::sleep(QUIET).await;
        search.end().await?;
        let note = event_note(konflux, "HubNotListed", &error).await?;
        ensure!(note.is_some(), "no event has: {error}");
    }
    Ok(())
}

/// The note of an event about the report.
async fn event_note(konflux: &Cluster, reason: &str, part: &str) -> anyhow::Result<Option<String>> {
    let events = konflux.list(EVENT).await?;
    let about = |event: &&Value| {
        event["reason"] == reason && event["metadata"]["namespace"] == NAME && event["type"] == "Warning"
    };
    let notes = events.iter().filter(about).filter_map(|event| event["message"].as_str());
    Ok(notes.filter(|note| note.contains(part)).map(str::to_owned).next())
}

/// Loses the claim and everything that was made of it here, and nothing on the hub.
async fn lose(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let konflux = tenant.konflux();
    let composite = tenant.composite_at().await?;
    let objects: Vec<At> = konflux
        .list(OBJECT)
        .await?
        .iter()
        .filter(|object| object["metadata"]["labels"]["crossplane.io/composite"] == composite.name())
        .map(|object| at_root(OBJECT, object["metadata"]["name"].as_str().unwrap_or_default()))
        .collect();
    ensure!(!objects.is_empty(), "{} has no Objects", composite.name());
    let claim = tenant.claim();
    let all: Vec<&At> = [&claim, &composite].into_iter().chain(&objects).collect();
    let paused = json!({ "metadata": { "annotations": { "crossplane.io/paused": "true" } } });
    let rests = |object: &Value| has(object, "Synced", "False", "ReconcilePaused");
    for at in &all {
        konflux.merge(at, &paused).await?;
        konflux.until_is(at, SOON, "paused", rests).await?;
    }
    for at in all.iter().rev() {
        konflux.merge(at, &json!({ "metadata": { "finalizers": null } })).await?;
        konflux.delete(at).await?;
        konflux.until_gone(at, SOON).await?;
    }
    Ok(())
}

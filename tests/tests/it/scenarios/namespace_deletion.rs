//! The namespace of the tenant is deleted, with the claim in it.

use std::time::Duration;

use anyhow::ensure;
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Controller,
    cluster::{At, SOON, at_root},
    hub,
    kinds::{NAMESPACE, OBJECT},
    space::{self, Space},
    tenant::Tenant,
};

use super::{cut_off, space::claim};
use crate::harness::Outcome;

/// The controller of namespaces tries again at growing distances, a minute at most.
const GONE: Duration = Duration::from_mins(4);

pub async fn namespace_deleted_while_provisioning(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    let namespace = delete(tenant).await?;
    ends(tenant, &controller, &namespace).await
}

async fn deleted_when_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    let namespace = delete(tenant).await?;
    ends(tenant, &controller, &namespace).await
}

/// The end arrives once the hub can be reached again.
async fn deleted_while_the_hub_is_away(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    let credential = hub::issue(&engine.hub, hub::IDENTITY, &tenant.name).await?;
    tenant.own(&tenant.name, &credential, &json!({})).await?;
    let own = json!({ "compositionRef": { "name": tenant.name } });
    let controller = tenant.ask_and_arrive(&own).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    hub::revoke(&engine.hub, &credential).await?;
    let namespace = delete(tenant).await?;
    tokio::time::sleep(Duration::from_secs(30)).await;
    cut_off::connect(tenant).await?;
    ends(tenant, &controller, &namespace).await
}

/// A space ends with the namespace that its claim is in, and its own namespace on the hub with it.
async fn deleted_with_a_space(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let doomed = DoomedSpace::ask(tenant).await?;
    let namespace = delete(tenant).await?;
    doomed.ends(tenant, &namespace).await
}

/// Twenty at once, as when a whole cluster is cleaned up.
pub async fn twenty_deleted_while_provisioning(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    twenty(tenant, |tenant| Box::pin(namespace_deleted_while_provisioning(tenant))).await
}

pub async fn twenty_deleted_when_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    twenty(tenant, |tenant| Box::pin(deleted_when_ready(tenant))).await
}

pub async fn twenty_deleted_while_the_hub_is_away(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    twenty(tenant, |tenant| Box::pin(deleted_while_the_hub_is_away(tenant))).await
}

pub async fn twenty_spaces_deleted(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    twenty(tenant, |tenant| Box::pin(deleted_with_a_space(tenant))).await
}

/// All spaces of a hub are behind one ProviderConfig. The end arrives once the hub can be reached again.
pub async fn twenty_spaces_deleted_while_the_hub_is_away(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (engine, tenants) = (tenant.engine, others(tenant).await?);
    let doomed = try_join_all(tenants.iter().map(DoomedSpace::ask)).await?;
    let revoked = space::issue(engine, "revoked").await?;
    space::use_credential(engine, &revoked).await?;
    hub::revoke(&engine.hub, &revoked).await?;
    let namespaces = try_join_all(tenants.iter().map(delete)).await?;
    tokio::time::sleep(Duration::from_secs(30)).await;
    space::use_credential(engine, &space::issue(engine, "good").await?).await?;
    let ends = doomed.iter().zip(&tenants).zip(&namespaces);
    try_join_all(ends.map(|((space, tenant), namespace)| space.ends(tenant, namespace))).await?;
    Ok(())
}

/// Twenty at once, as when a whole cluster is cleaned up.
async fn twenty(
    tenant: &Tenant<'_>,
    scenario: for<'t> fn(&'t Tenant<'t>) -> Outcome<'t>,
) -> anyhow::Result<()> {
    let tenants = others(tenant).await?;
    try_join_all(tenants.iter().map(scenario)).await?;
    Ok(())
}

async fn others<'e>(tenant: &Tenant<'e>) -> anyhow::Result<Vec<Tenant<'e>>> {
    let names: Vec<String> = (1..=20).map(|i| format!("n{i}")).collect();
    try_join_all(names.iter().map(|name| tenant.another(name))).await
}

/// Objects of a space whose claim's namespace is to be deleted.
struct DoomedSpace {
    on_hub: [At; 2],
    objects: Vec<At>,
}

impl DoomedSpace {
    async fn ask(tenant: &Tenant<'_>) -> anyhow::Result<Self> {
        let space = Space::ask(tenant, claim("doomed")).await?;
        space.until_given(SOON).await?;
        let objects = space.objects().await?;
        let names = objects.values().filter_map(|object| object["metadata"]["name"].as_str());
        let objects: Vec<At> = names.map(|name| at_root(OBJECT, name)).collect();
        ensure!(!objects.is_empty(), "it has no Objects");
        Ok(Self { on_hub: [space.remote().await?, space.published().await?], objects })
    }

    /// Nothing is left on either side.
    async fn ends(&self, tenant: &Tenant<'_>, namespace: &At) -> anyhow::Result<()> {
        for gone in &self.on_hub {
            tenant.engine.hub.cluster().until_gone(gone, GONE).await?;
        }
        for gone in std::iter::once(namespace).chain(&self.objects) {
            tenant.konflux().until_gone(gone, GONE).await?;
        }
        Ok(())
    }
}

async fn delete(tenant: &Tenant<'_>) -> anyhow::Result<At> {
    let namespace = at_root(NAMESPACE, &tenant.namespace);
    tenant.konflux().delete(&namespace).await?;
    Ok(namespace)
}

/// The cluster is torn down, and nothing is left on either side.
async fn ends(tenant: &Tenant<'_>, controller: &Controller, namespace: &At) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let deleted = |ec: Option<&Value>| ec.is_none_or(|ec| ec["metadata"]["deletionTimestamp"].is_string());
    hub.until(&controller.at(), GONE, "deleted", deleted).await?;
    controller.deprovisioned().await?;
    controller.release().await?;
    hub.until_gone(&controller.at(), SOON).await?;
    tenant.konflux().until_gone(namespace, GONE).await
}

//! The namespace of the tenant is deleted, with the claim in it.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Controller,
    cluster::{At, SOON, at_root},
    hub,
    kinds::{NAMESPACE, OBJECT},
    space::Space,
    tenant::Tenant,
};

use super::{cut_off, space};

/// The controller of namespaces tries again at growing distances, a minute at most.
const GONE: Duration = Duration::from_mins(4);

pub async fn namespace_deleted_while_provisioning(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    let namespace = delete(tenant).await?;
    ends(tenant, &controller, &namespace).await
}

pub async fn namespace_deleted_when_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    let namespace = delete(tenant).await?;
    ends(tenant, &controller, &namespace).await
}

/// The end arrives once the hub can be reached again.
pub async fn namespace_deleted_while_the_hub_is_away(tenant: &Tenant<'_>) -> anyhow::Result<()> {
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
pub async fn namespace_of_a_space_deleted(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let space = Space::ask(tenant, space::claim("doomed")).await?;
    space.until_given(SOON).await?;
    let objects = space.objects().await?;
    ensure!(!objects.is_empty(), "it has no Objects");
    let (remote, published) = (space.remote().await?, space.published().await?);
    let namespace = delete(tenant).await?;
    let hub = tenant.engine.hub.cluster();
    hub.until_gone(&remote, GONE).await?;
    hub.until_gone(&published, SOON).await?;
    tenant.konflux().until_gone(&namespace, GONE).await?;
    for object in objects.values().filter_map(|object| object["metadata"]["name"].as_str()) {
        tenant.konflux().until_gone(&at_root(OBJECT, object), GONE).await?;
    }
    Ok(())
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

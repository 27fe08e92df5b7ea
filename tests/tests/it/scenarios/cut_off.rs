//! A tenant whose hub cannot be reached from the beginning, because no token for it is good.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use testplatform_tests::{cluster::has, hub, tenant::Tenant};

/// provider-kubernetes tries a hub that does not answer at most once a minute.
pub const BACK: Duration = Duration::from_secs(100);

/// Makes the claim, with a ProviderConfig and a Composition of its own, and waits until it is noticed.
pub async fn ask(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    let revoked = hub::issue(&engine.hub, hub::IDENTITY, &format!("{}-revoked", tenant.name)).await?;
    hub::revoke(&engine.hub, &revoked).await?;
    tenant.own(&tenant.name, &revoked, &json!({})).await?;
    tenant.ask(&json!({ "compositionRef": { "name": tenant.name } })).await?;
    let noticed = |claim: &Value| has(claim, "RemoteConsistent", "False", "HubUnreachable");
    let claim = tenant.until(BACK, "cut off", noticed).await?;
    ensure!(claim["status"]["phase"] == "Pending", "{claim}");
    Ok(())
}

/// Puts a good token behind the ProviderConfig.
pub async fn connect(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let good = hub::issue(&tenant.engine.hub, hub::IDENTITY, &format!("{}-good", tenant.name)).await?;
    tenant.engine.use_credential(&tenant.name, &good).await
}

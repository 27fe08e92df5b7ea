//! As production seems to be: our identity on the hub may neither list nor watch, so provider-kubernetes polls.

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Controller,
    cluster::{SOON, at, has},
    hub,
    kinds::SERVICE_ACCOUNT,
    patience::longer,
    promise,
    tenant::{KUBECONFIG, PASSWORD, Tenant},
};

/// Promised period while a change is expected: 30 s and a tenth more.
pub const PERIOD: Duration = Duration::from_secs(33);
/// The way from there on, which is long where much else is done.
pub const WAY: Duration = Duration::from_secs(15);
/// Both.
pub const POLLED: Duration = PERIOD.saturating_add(WAY);
/// Promised period where no change is expected: 10 minutes, a tenth more, and the way.
const POLLED_WHEN_READY: Duration = Duration::from_secs(665);

pub async fn watches_refused(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = ready(tenant).await?;
    let begun = Instant::now();
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    controller.until_told_to_end(POLLED).await?;
    promise::due(begun, PERIOD, WAY)?;
    ended(tenant, &controller).await
}

/// Changes by the claim, and changes by time alone, reach the hub.
pub async fn watches_refused_and_lifetime_reached(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = ready(tenant).await?;
    let begun = Instant::now();
    tenant.change(&json!({ "lifetime": "1m" })).await?;
    let told = |ec: &Value| ec["metadata"]["annotations"]["testplatform.ci.openshift.org/lifetime"] == "1m0s";
    let hub = tenant.engine.hub.cluster();
    hub.until_is(&controller.at(), POLLED, "told of the lifetime", told).await?;
    promise::due(begun, PERIOD, WAY)?;
    // It counts from Ready, which was before we began.
    controller.until_told_to_end(SOON).await?;
    promise::due(begun, Duration::from_mins(1) + PERIOD, WAY)?;
    tenant.until_phase("Deprovisioning").await?;
    ended(tenant, &controller).await
}

/// Nobody here has reason to expect a change.
pub async fn watches_refused_and_the_hub_acts_alone(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = ready(tenant).await?;
    // From here on it is looked at every 10 minutes.
    let writer = tenant.writer().await?;
    let content = |writer: &Value| has(writer, "Ready", "True", "");
    tenant.konflux().until_is(&writer, POLLED, "content", content).await?;
    controller.deprovision().await?;
    let begun = Instant::now();
    let noticed = |claim: &Value| claim["status"]["phase"] == "Deprovisioning";
    tenant.until(POLLED_WHEN_READY, "Deprovisioning", noticed).await?;
    eprintln!("the hub's own end was noticed after {} s", begun.elapsed().as_secs());
    let polled = begun.elapsed() > longer(POLLED);
    ensure!(polled, "this was no poll of a ready cluster: noticed after {:?}", begun.elapsed());
    Ok(())
}

/// A claim by an identity that may not watch, through to Ready.
async fn ready(tenant: &Tenant<'_>) -> anyhow::Result<Controller> {
    let engine = tenant.engine;
    let name = &tenant.name;
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": hub::NAMESPACE },
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": name, "namespace": tenant.fulfilled.namespace() },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "testplatform-konflux" },
        "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": hub::NAMESPACE }],
    });
    let hub = engine.hub.cluster();
    hub.apply_all(&[account, binding]).await?;
    hub.until_is(&at(SERVICE_ACCOUNT, hub::NAMESPACE, name), SOON, "there", |_| true).await?;
    let credential = hub::issue(&engine.hub, name, "0").await?;
    tenant.own(name, &credential, &json!({})).await?;

    let controller = tenant.ask_and_arrive(&json!({ "compositionRef": { "name": name } })).await?;
    controller.provision().await?;
    tenant.until(POLLED, "Provisioning", |claim| claim["status"]["phase"] == "Provisioning").await?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    tenant.until_secret(POLLED, KUBECONFIG).await?;
    tenant.until_phase("Ready").await?;
    Ok(controller)
}

/// The hub tears down, and is believed.
async fn ended(tenant: &Tenant<'_>, controller: &Controller) -> anyhow::Result<()> {
    controller.deprovision().await?;
    tenant.until(POLLED, "Deprovisioning", |claim| claim["status"]["phase"] == "Deprovisioning").await?;
    controller.deprovisioned().await?;
    tenant.until(POLLED, "Deprovisioned", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    tenant.until_secret(SOON, "").await.map(|_| ())
}

//! Servers that are not the right ones: to whoever trusts another authority every server is one. Nobody says a word to it, and
//! when it is the right one all goes on.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{SOON, at, has},
    hub,
    kinds::Kind,
    patience,
    pki::Authority,
    provider,
    prow::{JOBS, Job},
    tenant::{KUBECONFIG, PASSWORD, Tenant},
};

use super::cut_off::BACK;

const LEASE: Kind = Kind { api_version: "coordination.k8s.io/v1", kind: "Lease" };
const SITE: &str = "impostor";
/// Between two tries of the provider to read its Lease are two seconds.
const TRIED: Duration = Duration::from_secs(10);

/// provider-kubernetes.
pub async fn impostor_of_the_hub(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    let right = hub::issue(&engine.hub, hub::IDENTITY, &tenant.name).await?;
    let mut wrong = right.clone();
    wrong.kubeconfig = Authority::new("nobody's")?.instead(wrong.kubeconfig);
    tenant.own(&tenant.name, &wrong, &json!({})).await?;
    tenant.ask(&json!({ "compositionRef": { "name": tenant.name } })).await?;
    let noticed = |claim: &Value| has(claim, "RemoteConsistent", "False", "HubUnreachable");
    let claim = tenant.until(BACK, "cut off", noticed).await?;
    let words = claim["status"]["message"].as_str().unwrap_or_default();
    ensure!(words.contains("its certificate is not trusted"), "the owner is not told why: {words}");
    ensure!(tenant.remotes_made() == 0, "an impostor was asked for a cluster");
    engine.use_credential(&tenant.name, &right).await?;
    tenant.controller().await?.until_asked(BACK).await?;
    Ok(())
}

/// The provider, and its hub.
pub async fn impostor_of_the_hub_to_the_provider(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    let [right, _] = engine.fulfiller.kubeconfigs()?;
    let wrong = Authority::new("nobody's")?.instead(right);
    let mut provider = engine.fulfiller.beside(engine.nest(), SITE, &wrong)?;
    let told = async {
        while !provider.tail().contains("invalid peer certificate: UnknownIssuer") {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let told = patience::timeout(SOON, told).await;
    ensure!(told.is_ok(), "it gives no reason it cannot begin:\n{}", provider.tail());
    tokio::time::sleep(TRIED).await;
    let lease = engine.hub.cluster().get(&at(LEASE, provider::NAME, SITE)).await?;
    ensure!(lease.is_none(), "it told an impostor who it is: {lease:?}");
    provider.kill();
    Ok(())
}

/// The provider, and a build cluster.
pub async fn impostor_of_a_build_cluster(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let fulfiller = &tenant.engine.fulfiller;
    let [_, right] = fulfiller.kubeconfigs()?;
    fulfiller.with(SITE, &Authority::new("nobody's")?.instead(right.clone()))?;
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    let cluster = tenant.engine.hub.cluster();
    let job = Job::of(cluster, JOBS, (SITE, cluster), &tenant.composite().await?).await?;
    job.schedule().await?;
    job.run().await?;
    job.take_namespace().await?;
    job.leave(KUBECONFIG, PASSWORD).await?;
    let away = |ec: &Value| has(ec, "ClusterReady", "False", "BuildClusterUnreachable");
    cluster.until_is(&controller.at(), BACK, "told that its build cluster is away", away).await?;
    tokio::time::sleep(TRIED).await;
    cluster.until_is(&controller.at(), SOON, "without credentials", away).await?;
    fulfiller.with(SITE, &right)?;
    tenant.until(BACK, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    tenant.until_secret(SOON, KUBECONFIG).await?;
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    job.until_signalled(SOON).await?;
    job.end("success").await?;
    tenant.until_phase("Deprovisioned").await?;
    fulfiller.without(SITE)
}

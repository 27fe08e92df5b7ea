//! A live cluster goes from a claim to a TestCluster of the same tenant.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Fulfilled,
    cluster::SOON,
    crossplane::composition,
    flavour::Flavour,
    tenant::{KUBECONFIG, Tenant, decoded},
    witness::Witness,
};

use super::hive::GONE;

/// The Composition of claims as the component has it that serves both.
const BOTH: &str = "both-flavours";

/// The same cluster all the way: it is neither told to end nor made anew, its kubeconfig is never withdrawn, and in the end it is the
/// TestCluster that ends it.
pub async fn handed_over(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    let mut both = composition()?;
    both["metadata"]["name"] = BOTH.into();
    both["spec"]["pipeline"][0]["input"] = json!({ "apiVersion": "testplatform.fn.crossplane.io/v1beta1", "kind": "Input", "bothFlavours": true });
    konflux.apply(&both).await?;
    tenant.engine.until_revised(BOTH).await?;
    let controller = tenant.ask_and_get(&json!({ "compositionRef": { "name": BOTH } })).await?;
    let composite = tenant.composite().await?;
    let remote = hub.get(&controller.at()).await?.context("no EphemeralCluster")?;
    let uid = remote["metadata"]["uid"].clone();
    let lives = move |cluster: Option<&Value>| {
        cluster.is_some_and(|cluster| {
            cluster["metadata"]["uid"] == uid
                && cluster["metadata"]["deletionTimestamp"].is_null()
                && cluster["spec"]["tearDownCluster"] != true
        })
    };
    let cluster = Witness::of(hub, &controller.at(), lives).await?;

    let heir = tenant.also("heir", Fulfilled::ByProvider).await?.asking(Flavour::TestCluster);
    let mut manifest = heir.manifest(&json!({}));
    manifest["metadata"]["annotations"] = json!({ "testplatform.ci.openshift.org/take-over": composite });
    konflux.create(&manifest).await?;
    // Nothing is taken that is not given.
    heir.until_condition("RequestAccepted", "False", "TakeOverWaits").await?;
    let asked = konflux.get(&heir.claim()).await?.context("no TestCluster")?;
    let own = asked["metadata"]["uid"].as_str().context("no uid")?;
    let to = format!("{}/{}/{own}", heir.namespace, heir.name);
    let note = json!({ "metadata": { "annotations": { "testplatform.ci.openshift.org/hand-over": to } } });
    konflux.merge(&tenant.claim(), &note).await?;
    heir.until(GONE, "taken", |asked| asked["status"]["takeOver"]["stage"] == "Taken").await?;
    heir.until_secret(GONE, KUBECONFIG).await?;
    heir.until_phase("Ready").await?;
    heir.until_condition("ClusterReady", "True", "").await?;
    tenant.until_condition("RequestAccepted", "True", "HandedOver").await?;

    // Changes of the claim no longer affect the cluster.
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    tenant.nudge("handed-over").await?;
    let kept = |secret: Option<&Value>| {
        secret.is_some_and(|secret| decoded(secret).get("kubeconfig").is_some_and(|k| k == KUBECONFIG))
    };
    let secret = Witness::of(konflux, &heir.secret(), kept).await?;
    let place = tenant.composite_at().await?;
    konflux.delete(&tenant.claim()).await?;
    konflux.until_gone(&place, GONE).await?;
    heir.nudge("left-alone").await?;
    cluster.verdict().await?;
    secret.verdict().await?;
    drop((cluster, secret));
    heir.until_phase("Ready").await?;

    heir.change(&json!({ "tearDownCluster": true })).await?;
    controller.until_told_to_end(SOON).await?;
    controller.deprovision().await?;
    controller.deprovisioned().await?;
    let asked = heir.until_phase("Deprovisioned").await?;
    ensure!(asked["status"]["backend"]["name"] == composite.as_str(), "{}", asked["status"]["backend"]);
    Ok(())
}

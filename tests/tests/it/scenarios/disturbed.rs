//! A hub that disturbs claims again and again. The events that reach a composite stay within the burst of core's circuit breaker, which is a
//! hundred and one more each second by default, so that core never stops to look at it.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use testplatform_tests::{
    actors::condition as played,
    cluster::{SOON, has},
    hub::{ACTED, own::OwnHubs},
    hypershift::hosted::Hosted,
    ledger::Observation,
    proxy::Manner,
    tenant::Tenant,
};

use super::{
    hub_away::behind_a_wire,
    hub_policy,
    hubs::{asks, hosted},
};

/// For how long the hub is there, and is away.
const FLAP: Duration = Duration::from_secs(5);
/// Three minutes of both.
const FLAPS: u32 = 18;
/// provider-kubernetes tries a refused change at growing distances, a minute at most.
const REFUSED_FOR: Duration = Duration::from_mins(4);
/// After a claim has become Ready, until the bucket of core's breaker is as good as full again.
const RESTED: Duration = Duration::from_secs(90);
const REFUSING_POLICY: &str = "refuses-every-change";

/// One cluster is ready and the other installs while the hub comes and goes. Every connection to it is cut each time.
pub async fn hub_flaps(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let there = tenant.engine.another_hub().await?;
    let hubs = OwnHubs::of(tenant, &[]);
    let wire = behind_a_wire(tenant, &hubs, "flapping").await?;
    let hub = json!({ "name": hubs.name("flapping") });
    let ready = asks(tenant, "ready", &hub, &json!({})).await?;
    let installing = asks(tenant, "installing", &hub, &json!({})).await?;
    let held = Hosted::new(there.cluster(), &installing.composite().await?);
    there.hypershift.hold(held.name());
    let cluster = hosted(&ready, there.cluster()).await?;
    ready.until_phase("Ready").await?;
    ready.until_secret(SOON, &cluster.kubeconfig()).await?;
    held.until_asked(SOON).await?;
    installing.until_phase("Provisioning").await?;
    tokio::time::sleep(RESTED).await;

    let observation = Observation::start(&ready);
    for _ in 0..FLAPS {
        wire.be(Manner::Refusing);
        wire.reset();
        tokio::time::sleep(FLAP).await;
        wire.be(Manner::Good);
        tokio::time::sleep(FLAP).await;
    }
    ensure!(wire.met().refused > 0, "nobody noticed: {:?}", wire.met());
    let observed = observation.end();
    eprintln!("hub flaps: {:?} and {:?}", observed.breaker, wire.met());
    ensure!(observed.breaker.fewest > 0.0, "core stops to look: {:?}", observed.breaker);
    ensure!(observed.withdrawals.is_empty(), "{:?}", observed.withdrawals);

    there.hypershift.let_go(held.name());
    installing.until_phase("Ready").await.map(drop)
}

/// A controller of the hub that writes its conditions anew each second, with new times. Each write is a change of the Object, which provider-kubernetes
/// reports at once, and counts twice: for longer than a hundred seconds core itself would not bear it.
pub async fn conditions_rewritten_each_second_for_a_minute(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    tokio::time::sleep(RESTED).await;
    let observation = Observation::start(tenant);
    for _ in 0..60 {
        let conditions =
            json!([played("ProwJobCreating", "True", "", ""), played("ClusterReady", "True", "", "")]);
        controller.status(json!({ "conditions": conditions })).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let observed = observation.end();
    eprintln!("conditions rewritten: {:?}", observed.breaker);
    ensure!(observed.breaker.events >= 60, "nothing changed: {:?}", observed.breaker);
    ensure!(observed.breaker.fewest > 0.0, "core stops to look: {:?}", observed.breaker);
    ensure!(observed.withdrawals.is_empty(), "{:?}", observed.withdrawals);
    Ok(())
}

/// The hub refuses each change of a ready cluster's object.
pub async fn change_refused_for_minutes(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let controller = tenant.ask_and_get(&json!({})).await?;
    let name = tenant.composite().await?;
    let lifetime = "testplatform.ci.openshift.org/lifetime";
    let expression = format!(
        "object.metadata.namespace != '{ACTED}' || object.metadata.name != '{name}' || !('{lifetime}' in object.metadata.annotations) \
         || object.metadata.annotations['{lifetime}'] != '5h0m0s'"
    );
    let resource = ["ci.openshift.io", "ephemeralclusters"];
    // Before the rest: an API server takes up a policy after some seconds.
    hub_policy::add(hub, REFUSING_POLICY, resource, &expression, "refused by a test").await?;
    tokio::time::sleep(RESTED).await;
    let observation = Observation::start(tenant);
    tenant.change(&json!({ "lifetime": "5h" })).await?;
    let refused = tenant.until_condition("RemoteConsistent", "False", "HubRefused").await;
    tokio::time::sleep(REFUSED_FOR).await;
    let observed = observation.end();
    hub_policy::remove(hub, REFUSING_POLICY).await?;
    let claim = refused?;
    ensure!(claim["status"]["phase"] == "Ready", "{}", claim["status"]);
    eprintln!("change refused: {:?}", observed.breaker);
    ensure!(observed.breaker.fewest > 0.0, "core stops to look: {:?}", observed.breaker);
    ensure!(observed.withdrawals.is_empty(), "{:?}", observed.withdrawals);
    let told =
        |ec: &Value| ec["metadata"]["annotations"]["testplatform.ci.openshift.org/lifetime"] == "5h0m0s";
    hub.until_is(&controller.at(), SOON, "changed after all", told).await?;
    tenant.until(SOON, "consistent", |claim| has(claim, "Ready", "True", "")).await.map(drop)
}

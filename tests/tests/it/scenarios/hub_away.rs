//! A hub of several that cannot be reached: whose cluster it may have goes nowhere else, and the other hubs' claims notice nothing.

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{SOON, condition, has},
    crossplane::BEHIND,
    hub::own::OwnHubs,
    hypershift::hosted::Hosted,
    proxy::{Manner, Proxy},
    tenant::Tenant,
    witness::Witness,
};

use super::hubs::{asks, hosted, placed};

/// For how long a hub must have been away before a claim of which nothing was tried is given another, and some.
const GIVEN_UP: Duration = Duration::from_mins(7);
/// Before that none is.
const BORNE: Duration = Duration::from_mins(5);
/// provider-kubernetes tries at growing distances, a minute at most.
const BACK: Duration = Duration::from_secs(100);

/// A hub of a scenario's own, behind a wire that can be bad. It is by far the heaviest, so that claims go there first.
pub(super) async fn behind_a_wire(
    tenant: &Tenant<'_>,
    hubs: &OwnHubs<'_>,
    hub: &str,
) -> anyhow::Result<Proxy> {
    let there = tenant.engine.another_hub().await?;
    let wire = Proxy::to(there.port()).await?;
    tenant.engine.use_credential(&hubs.name(hub), &there.credential.through(wire.port())).await?;
    hubs.add(hub, &hubs.name(hub), &json!({}), &json!({ "weight": "1000" })).await?;
    hubs.add("near", BEHIND, &json!({ "side": "near" }), &json!({ "weight": "1" })).await?;
    Ok(wire)
}

fn unreachable(claim: &Value) -> bool {
    has(claim, "RemoteConsistent", "False", "HubUnreachable")
}

/// Where provider-kubernetes never tried anything, another hub follows after a while, and this is told. Not for a claim that names its
/// hub: that waits for it.
pub async fn hub_away_before_first_try(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (here, there) = (tenant.engine.hub.cluster(), tenant.engine.another_hub().await?);
    let hubs = OwnHubs::of(tenant, &[]);
    let wire = behind_a_wire(tenant, &hubs, "dark").await?;
    wire.be(Manner::Refusing);
    let (dark, near) = (hubs.name("dark"), hubs.name("near"));
    let begun = Instant::now();
    let any = asks(tenant, "any", &hubs.wanted(&json!({})), &json!({})).await?;
    let pinned = asks(tenant, "pinned", &json!({ "name": dark }), &json!({})).await?;
    ensure!(placed(&any, &dark, SOON).await? == "MostRoom");
    ensure!(placed(&pinned, &dark, SOON).await? == "HubNamed");
    for claim in [&any, &pinned] {
        let told = claim.until(SOON, "cut off", unreachable).await?;
        ensure!(told["status"]["phase"] == "Pending", "{}", told["status"]);
    }

    let moved = |claim: &Value| claim["status"]["hub"]["name"] == near.as_str();
    let claim = any.until(GIVEN_UP, "on another hub", moved).await?;
    let waited = begun.elapsed();
    eprintln!("given up after {:.0} s", waited.as_secs_f32());
    ensure!(waited >= BORNE, "{waited:?} is too soon");
    let told = &claim["status"]["hub"];
    ensure!(told["excluded"] == json!([dark]) && told["reason"] == "OnlyHubWithRoom", "{told}");
    let cluster = hosted(&any, here).await?;
    any.until_phase("Ready").await?;
    any.until_secret(SOON, &cluster.kubeconfig()).await?;

    wire.be(Manner::Good);
    let waiting = Hosted::new(there.cluster(), &pinned.composite().await?);
    waiting.until_asked(BACK).await?;
    pinned.until_phase("Ready").await?;
    any.nudge("back").await?;
    let claim = any.until_phase("Ready").await?;
    ensure!(
        claim["status"]["hub"]["excluded"] == json!([dark]) && moved(&claim),
        "{}",
        claim["status"]["hub"]
    );
    ensure!(there.cluster().get(&cluster.at()).await?.is_none(), "it is on both hubs");
    Ok(())
}

/// A cluster that is there, or on its way, stays on a hub that is away for longer than that, with all that is known of it. Meanwhile
/// clusters are made on the others, and what was asked for reaches the hub once it is back.
pub async fn hub_away_when_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (here, there) = (tenant.engine.hub.cluster(), tenant.engine.another_hub().await?);
    let hubs = OwnHubs::of(tenant, &[]);
    let wire = behind_a_wire(tenant, &hubs, "far").await?;
    let far = hubs.name("far");
    let any = hubs.wanted(&json!({}));
    let ready = asks(tenant, "ready", &any, &json!({})).await?;
    let making = asks(tenant, "making", &any, &json!({})).await?;
    let made = Hosted::new(there.cluster(), &making.composite().await?);
    there.hypershift.hold(made.name());
    for claim in [&ready, &making] {
        ensure!(placed(claim, &far, SOON).await? == "MostRoom");
    }
    let cluster = hosted(&ready, there.cluster()).await?;
    let live = ready.until_phase("Ready").await?;
    ready.until_secret(SOON, &cluster.kubeconfig()).await?;
    made.until_asked(SOON).await?;
    making.until_phase("Provisioning").await?;

    wire.be(Manner::Refusing);
    wire.reset();
    let begun = Instant::now();
    // Something to tell the hub, so that it is noticed at once.
    let grown = json!([{ "name": "workers", "class": "small", "count": 3 }]);
    ready.change(&json!({ "nodeGroups": grown })).await?;
    for claim in [&ready, &making] {
        let told = claim.until(BACK, "cut off", unreachable).await?;
        let words = condition(&told, "RemoteConsistent").map(|c| c["message"].clone()).unwrap_or_default();
        ensure!(words.as_str().is_some_and(|w| w.starts_with("the hub cannot be reached: ")), "{words}");
    }
    let kept = {
        let (uid, far) = (live["status"]["backend"]["uid"].clone(), far.clone());
        move |claim: Option<&Value>| {
            claim.is_some_and(|claim| {
                let status = &claim["status"];
                let live = ["Ready", "Degraded"].iter().any(|phase| status["phase"] == *phase);
                live && status["hub"]["name"] == far.as_str() && status["backend"]["uid"] == uid
            })
        }
    };
    let stays = Witness::of(ready.konflux(), &ready.claim(), kept).await?;
    // The event on the unreachable hub stays unknown.
    there.hypershift.let_go(made.name());
    // The other hub does not hang on this one.
    let beside = asks(tenant, "beside", &hubs.wanted(&json!({ "side": "near" })), &json!({})).await?;
    placed(&beside, &hubs.name("near"), SOON).await?;
    let own = hosted(&beside, here).await?;
    beside.until_phase("Ready").await?;
    beside.until_secret(SOON, &own.kubeconfig()).await?;
    tokio::time::sleep((BORNE + Duration::from_secs(30)).saturating_sub(begun.elapsed())).await;
    for (claim, cluster) in [(&ready, &cluster), (&making, &made)] {
        claim.nudge("away").await?;
        let told = claim.until(SOON, "still cut off", unreachable).await?;
        let hub = &told["status"]["hub"];
        ensure!(hub["name"] == far.as_str() && hub["excluded"].is_null(), "it moved: {hub}");
        ensure!(here.get(&cluster.at()).await?.is_none(), "it is made on another hub too");
    }
    ready.until_secret(SOON, &cluster.kubeconfig()).await?;
    let pool = there.cluster().get(&cluster.pool("workers")).await?;
    ensure!(pool.is_some_and(|pool| pool["spec"]["replicas"] == 2), "the hub was not away");

    wire.be(Manner::Good);
    let served = |claim: &Value| {
        claim["status"]["nodes"]["ready"] == 3
            && has(claim, "SpecApplied", "True", "UpToDate")
            && has(claim, "RemoteConsistent", "True", "")
    };
    ready.until(BACK, "grown", served).await?;
    making.until(BACK, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    making.until_secret(SOON, &made.kubeconfig()).await?;
    stays.verdict().await
}

//! Several hubs, each a control plane of its own: which one a claim by a template gets and why, and what moves it, which is nothing.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use http::Request;
use serde_json::{Value, json};
use testplatform_apis::{
    hub::Facts,
    names::hub::{DEDICATED, SCHEDULABLE},
    template::Backend,
};
use testplatform_tests::{
    actors::Fulfilled,
    cluster::{Cluster, SOON, at, has},
    cluster_api::topology,
    crossplane::BEHIND,
    hive::objects::text,
    hub::{
        another::{HOSTS, HYPERSHIFT, OF_HOSTS, WEST},
        own::OwnHubs,
    },
    hypershift::{CLUSTERS, hosted::Hosted},
    kinds::{CONFIG_MAP, NODE_POOL},
    tenant::Tenant,
};

use super::{hive::GONE, hypershift::stays_ready};

/// A claim that waits is looked at once a minute, and what a hub tells of itself takes up to three quarters of one.
const LOOKED_AT: Duration = Duration::from_mins(3);
/// By then a claim has its turn on a hub that makes one cluster at a time. Other scenarios have some made there too, and each look that finds
/// one of those costs a minute.
const ITS_TURN: Duration = Duration::from_mins(6);

/// The hub that a claim has, once it has one, and why.
pub async fn placed(claim: &Tenant<'_>, hub: &str, within: Duration) -> anyhow::Result<String> {
    // Conditions come a moment after the status.
    let told =
        |claim: &Value| claim["status"]["hub"]["name"].is_string() && has(claim, "HubSelected", "True", "");
    let found = claim.until(within, "on a hub", told).await?;
    let status = &found["status"]["hub"];
    ensure!(status["name"] == hub, "{} is on {status} and not on {hub}", claim.name);
    Ok(text(&found, "/status/hub/reason").to_owned())
}

/// Makes a claim of the tenant's namespace for one of its scenario's hubs.
pub async fn asks<'t>(
    tenant: &Tenant<'t>,
    name: &str,
    hub: &Value,
    more: &Value,
) -> anyhow::Result<Tenant<'t>> {
    let claim = tenant.also(name, Fulfilled::ByHyperShift).await?;
    let mut spec = more.clone();
    spec["hub"] = hub.clone();
    claim.ask(&spec).await?;
    Ok(claim)
}

/// The hand on the HostedCluster of a claim, which is on this hub.
pub async fn hosted(claim: &Tenant<'_>, hub: &Cluster) -> anyhow::Result<Hosted> {
    let hosted = Hosted::new(hub, &claim.composite().await?);
    hosted.until_asked(SOON).await?;
    Ok(hosted)
}

/// Waits until a claim waits for a hub, and says why none takes it.
pub async fn waits(claim: &Tenant<'_>, within: Duration, reason: &str, words: &[&str]) -> anyhow::Result<()> {
    let told = |claim: &Value| {
        let accepted = claim["status"]["conditions"].as_array().into_iter().flatten();
        let mut accepted = accepted.filter(|c| c["type"] == "RequestAccepted");
        has(claim, "HubSelected", "False", reason)
            && accepted.any(|c| words.iter().all(|words| text(c, "/message").contains(words)))
    };
    let found = claim.until(within, &format!("waiting with {reason}: {words:?}"), told).await?;
    ensure!(found["status"]["phase"] == "Pending", "{}", found["status"]);
    ensure!(found["status"]["hub"].is_null(), "{}", found["status"]["hub"]);
    Ok(())
}

/// Each claim goes where labels, tenants, zones, room and liking lead it, for a reason that it tells; one for which there is no room
/// waits until there is.
pub async fn hubs_chosen_by_capacity_and_labels(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    let (here, there) = (engine.hub.cluster(), engine.another_hub().await?);
    let hubs = OwnHubs::of(tenant, &["other"]);
    let none = json!({});
    hubs.add("east", BEHIND, &json!({ "region": "east" }), &json!({ "zones": "east-1, east-2" })).await?;
    hubs.add("west", WEST, &json!({ "region": "west" }), &json!({ "zones": "west-1" })).await?;
    let (east, west) = (hubs.name("east"), hubs.name("west"));
    let any = hubs.wanted(&none);

    // By a label: made there and nowhere else, and the provider there gives the credentials.
    let labelled = asks(tenant, "labelled", &hubs.wanted(&json!({ "region": "west" })), &none).await?;
    ensure!(placed(&labelled, &west, SOON).await? == "OnlyHub");
    let cluster = hosted(&labelled, there.cluster()).await?;
    labelled.until_phase("Ready").await?;
    labelled.until_secret(SOON, &cluster.kubeconfig()).await?;
    ensure!(here.get(&cluster.at()).await?.is_none(), "it is on both hubs");
    // By a zone.
    let zoned = tenant.also("zoned", Fulfilled::ByClusterApi).await?;
    let group = json!({ "name": "a", "class": "default", "count": 1, "failureDomain": "west-1" });
    zoned.ask(&json!({ "hub": any, "nodeGroups": [group] })).await?;
    ensure!(placed(&zoned, &west, SOON).await? == "OnlyHub");
    there.cluster().until_is(&topology(&zoned.composite().await?), SOON, "asked for", |_| true).await?;

    // Where there is a choice: by liking, by weight and by load.
    hubs.until_used("west", 3).await?;
    let packed = asks(tenant, "packed", &with(&any, "affinity", "Pack"), &none).await?;
    ensure!(
        placed(&packed, &west, SOON).await? == "MostRoom",
        "east is empty, and its others are in the west"
    );
    hosted(&packed, there.cluster()).await?;
    hubs.annotate("west", &json!({ "weight": "150" })).await?;
    let spread = asks(tenant, "spread", &with(&any, "affinity", "Spread"), &none).await?;
    placed(&spread, &east, SOON).await?;
    hosted(&spread, here).await?;
    let heavy = asks(tenant, "heavy", &any, &none).await?;
    placed(&heavy, &west, SOON).await?;
    hubs.annotate("west", &json!({ "weight": null })).await?;
    hubs.until_used("west", 7).await?;
    let balanced = asks(tenant, "balanced", &any, &none).await?;
    ensure!(placed(&balanced, &east, SOON).await? == "MostRoom");

    // One that is dedicated to another tenant is not told of, and one that denies this one neither.
    let own = json!({ "pool": "own" });
    let other = tenant.another("other").await?;
    let dedicated = json!({ "pool": "own", DEDICATED: other.namespace });
    hubs.add("own", WEST, &dedicated, &none).await?;
    let denies = json!({ "tenants-deny": tenant.namespace });
    hubs.add("denying", WEST, &own, &denies).await?;
    let intruder = asks(tenant, "intruder", &hubs.wanted(&own), &none).await?;
    let refused =
        ["own", "denying"].map(|hub| format!("{}: it is not offered to this namespace", hubs.name(hub)));
    waits(&intruder, SOON, "TenantNotAllowed", &refused.each_ref().map(String::as_str)).await?;
    hubs.label("denying", &json!({ SCHEDULABLE: "false" })).await?;
    other.ask(&json!({ "hub": hubs.wanted(&own) })).await?;
    ensure!(placed(&other, &hubs.name("own"), SOON).await? == "OnlyHubWithRoom");

    full_hubs(tenant, &hubs).await
}

/// Full hubs are passed over, and a claim for which all are full waits. One that insists is taken.
async fn full_hubs(tenant: &Tenant<'_>, hubs: &OwnHubs<'_>) -> anyhow::Result<()> {
    let (none, tight) = (json!({}), json!({ "pool": "tight" }));
    hubs.add("halved", BEHIND, &tight, &json!({ "max-clusters": "2", "reserved-percent": "50" })).await?;
    hubs.add("single", WEST, &tight, &json!({ "max-clusters": "1", "weight": "1" })).await?;
    let wanted = hubs.wanted(&tight);
    let first = asks(tenant, "first", &wanted, &none).await?;
    ensure!(placed(&first, &hubs.name("halved"), SOON).await? == "MostRoom");
    hubs.until_used("halved", 1).await?;
    let second = asks(tenant, "second", &wanted, &none).await?;
    ensure!(placed(&second, &hubs.name("single"), SOON).await? == "OnlyHubWithRoom");
    hubs.until_used("single", 1).await?;
    let third = asks(tenant, "third", &wanted, &none).await?;
    let halved =
        format!("{}: it has 1 of at most 2 clusters, of which 50 % are kept free", hubs.name("halved"));
    let single = format!("{}: it has 1 of at most 1 clusters", hubs.name("single"));
    waits(&third, SOON, "NoCapacity", &[&halved, &single]).await?;
    let named = json!({ "name": hubs.name("single") });
    let polite = asks(tenant, "polite", &named, &none).await?;
    waits(&polite, SOON, "NoCapacity", &[&single]).await?;
    let insists = asks(tenant, "insists", &with(&named, "force", true), &none).await?;
    ensure!(placed(&insists, &hubs.name("single"), SOON).await? == "HubNamed");
    hosted(&insists, tenant.engine.another_hub().await?.cluster()).await?;
    // Nobody touches the claim.
    hubs.annotate("halved", &json!({ "max-clusters": "8" })).await?;
    ensure!(placed(&third, &hubs.name("halved"), LOOKED_AT).await? == "OnlyHubWithRoom");
    third.until_condition("RequestAccepted", "True", "").await.map(|_| ())
}

fn with(wanted: &Value, key: &str, value: impl Into<Value>) -> Value {
    let mut wanted = wanted.clone();
    wanted[key] = value.into();
    wanted
}

/// A hub that is added gets new claims and no old ones. One that is closed gets no new ones, and its own go on: they change, and they
/// end.
pub async fn hub_added_then_cordoned(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (here, there) = (tenant.engine.hub.cluster(), tenant.engine.another_hub().await?);
    let hubs = OwnHubs::of(tenant, &[]);
    let (none, any) = (json!({}), hubs.wanted(&json!({})));
    hubs.add("old", BEHIND, &none, &none).await?;
    let before = asks(tenant, "before", &any, &none).await?;
    ensure!(placed(&before, &hubs.name("old"), SOON).await? == "OnlyHub");
    let first = hosted(&before, here).await?;
    before.until_phase("Ready").await?;
    let table = shown(&before).await?;
    let cell = |column: &str| table.iter().find(|(name, _)| name == column).map(|(_, cell)| cell);
    ensure!(cell("HUB") == Some(&hubs.name("old").into()) && cell("NODES") == Some(&2.into()), "{table:?}");
    let stays = stays_ready(&before).await?;
    let uid = here.get(&first.at()).await?.context("it is gone")?["metadata"]["uid"].clone();

    hubs.add("new", WEST, &none, &json!({ "weight": "1000" })).await?;
    hubs.until_used("old", 1).await?;
    let after = asks(tenant, "after", &any, &none).await?;
    ensure!(placed(&after, &hubs.name("new"), SOON).await? == "MostRoom");
    let second = hosted(&after, there.cluster()).await?;
    after.until_phase("Ready").await?;
    before.nudge("added").await?;

    let closed = json!({ SCHEDULABLE: "false" });
    hubs.label("new", &closed).await?;
    let beside = asks(tenant, "beside", &any, &none).await?;
    ensure!(placed(&beside, &hubs.name("old"), SOON).await? == "OnlyHubWithRoom");
    hosted(&beside, here).await?;
    let grown = json!([{ "name": "workers", "class": "small", "count": 3 }]);
    after.change(&json!({ "nodeGroups": grown })).await?;
    let served = |claim: &Value| {
        claim["status"]["nodes"]["ready"] == 3 && has(claim, "SpecApplied", "True", "UpToDate")
    };
    after.until(SOON, "grown on a closed hub", served).await?;
    after.until_secret(SOON, &second.kubeconfig()).await?;

    hubs.label("old", &closed).await?;
    let late = asks(tenant, "late", &any, &none).await?;
    let closed = ["old", "new"].map(|hub| format!("{}: it takes no new clusters", hubs.name(hub)));
    waits(&late, SOON, "NoCapacity", &closed.each_ref().map(String::as_str)).await?;
    after.konflux().delete(&after.claim()).await?;
    there.cluster().until_gone(&second.at(), GONE).await?;
    hubs.label("new", &json!({ SCHEDULABLE: null })).await?;
    placed(&late, &hubs.name("new"), LOOKED_AT).await?;

    stays.verdict().await?;
    let claim = before.until_phase("Ready").await?;
    ensure!(claim["status"]["hub"]["name"] == hubs.name("old"), "it moved: {}", claim["status"]["hub"]);
    let cluster = here.get(&first.at()).await?.context("it is gone")?;
    ensure!(cluster["metadata"]["uid"] == uid, "it is another one");
    ensure!(there.cluster().get(&first.at()).await?.is_none(), "it is on both hubs");
    Ok(())
}

/// Cells of `kubectl get -o wide` for a claim, by their columns.
async fn shown(claim: &Tenant<'_>) -> anyhow::Result<Vec<(String, Value)>> {
    let (namespace, name) = (&claim.namespace, &claim.name);
    let path = format!("/apis/ci.openshift.org/v1alpha1/namespaces/{namespace}/testplatformclusters/{name}");
    let asked = Request::get(path).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table: Value = claim.konflux().client().request(asked.body(vec![])?).await?;
    let columns = table["columnDefinitions"].as_array().into_iter().flatten();
    let cells = table["rows"][0]["cells"].as_array().into_iter().flatten();
    Ok(columns.zip(cells).map(|(column, cell)| (text(column, "/name").to_owned(), cell.clone())).collect())
}

/// The hub's report about itself counts: its capabilities, the clusters it is making, and its free hosts.
pub async fn hub_tells_its_limits(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (konflux, there) = (tenant.konflux(), tenant.engine.another_hub().await?);
    let hubs = OwnHubs::of(tenant, &[]);
    let (none, any) = (json!({}), hubs.wanted(&json!({})));
    let versions = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "supported-versions", "namespace": HYPERSHIFT },
        "data": { "supported-versions": r#"{"versions":["4.20"]}"# },
    });
    there.cluster().apply(&versions).await?;
    host(there.cluster(), "one").await?;
    hubs.add("west", WEST, &none, &json!({ "max-provisioning": "1" })).await?;
    let mirror = hubs.mirror("west").await?;
    let told = async |what: &str, is: &(dyn Fn(&Facts) -> bool + Sync)| {
        let told = |mirror: &Value| hubs.told("west", mirror).is_some_and(|facts| is(&facts));
        konflux.until_is(&mirror, LOOKED_AT, what, told).await?;
        hubs.settled().await
    };
    let backend = Backend::HyperShift;
    told("with its versions and hosts", &|facts| {
        let free = facts.classes.get(OF_HOSTS).and_then(|class| class.free);
        facts.backend_facts(backend).is_some_and(|b| b.versions == ["4.20"]) && free == Some(1)
    })
    .await?;

    let old = asks(tenant, "old", &any, &json!({ "version": "4.19" })).await?;
    waits(&old, SOON, "VersionUnsupported", &["it cannot create version 4.19.17"]).await?;
    let first = asks(tenant, "first", &any, &none).await?;
    let made = Hosted::new(there.cluster(), &first.composite().await?);
    there.hypershift.hold(made.name());
    placed(&first, &hubs.name("west"), ITS_TURN).await?;
    made.until_asked(SOON).await?;
    told("making it", &|facts| facts.provisioning_count() >= Some(1)).await?;
    let second = asks(tenant, "second", &any, &none).await?;
    waits(&second, SOON, "NoCapacity", &["of at most 1 clusters at a time"]).await?;
    let group = json!({ "nodeGroups": [{ "name": "metal", "class": OF_HOSTS, "count": 2 }] });
    let metal = asks(tenant, "metal", &any, &group).await?;
    let words = format!("it has 1 free nodes of class {OF_HOSTS}, and 2 are requested");
    waits(&metal, SOON, "NoCapacity", &[&words]).await?;

    there.hypershift.let_go(made.name());
    first.until_phase("Ready").await?;
    placed(&second, &hubs.name("west"), ITS_TURN).await?;
    host(there.cluster(), "two").await?;
    placed(&metal, &hubs.name("west"), ITS_TURN).await?;
    let pool = at(NODE_POOL, CLUSTERS, &format!("{}-metal", metal.composite().await?));
    there.cluster().until_is(&pool, SOON, "asked for", |pool| pool["spec"]["replicas"] == 2).await?;
    // Another hub, which says nothing, can make any version.
    hubs.add("east", BEHIND, &none, &none).await?;
    ensure!(placed(&old, &hubs.name("east"), LOOKED_AT).await? == "OnlyHub");
    there.cluster().delete(&at(CONFIG_MAP, HYPERSHIFT, "supported-versions")).await
}

/// A host that is free.
async fn host(hub: &Cluster, name: &str) -> anyhow::Result<()> {
    let agent = json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent",
        "metadata": { "name": name, "namespace": HOSTS, "labels": { "size": OF_HOSTS } },
        "spec": { "approved": true },
    });
    hub.apply(&agent).await.map(|_| ())
}

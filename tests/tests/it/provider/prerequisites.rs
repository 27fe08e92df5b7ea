//! `clusters.prerequisites.mode: on` with a real API server as the hub and the real provider with exactly the rights that are made for it. The
//! function is played, and so is whoever makes clusters.
#![allow(missing_docs, reason = "a test says what it tests in its name")]

use std::time::Duration;

use super::delivered::{self, CLUSTERS, CONFIG_MAP, HOSTED, OWN};
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_apis::prerequisites::{FINALIZER, LABEL, ORDER, REPORT};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, Cluster, SOON, at},
    control_plane::ControlPlane,
    kinds::{EVENT, Kind, ROLE},
    nest::{Nest, Process},
};

const ACCOUNT: Kind = Kind { api_version: "v1", kind: "ServiceAccount" };
const POLICY: Kind = Kind { api_version: "networking.k8s.io/v1", kind: "NetworkPolicy" };
/// Nothing has happened by then that should not.
const NOTICED: Duration = Duration::from_secs(4);
/// Somebody says that it is done.
const DONE: &str = "object.data.done == 'yes'";
const HELD: &str = "test.example.com/held";

struct Bench {
    hub: ControlPlane,
    nest: Nest,
}

pub async fn what_comes_before_a_cluster_is_made_on_the_hub_and_goes_after_it() -> anyhow::Result<()> {
    let binaries = Binaries::ensure()?;
    let hub = ControlPlane::start("hub", &binaries).await?;
    let nest = Nest::new("prerequisites", None)?;
    for name in [OWN, delivered::CREDENTIALS, CLUSTERS, "ephemeral-cluster"] {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        hub.cluster().apply(&namespace).await?;
    }
    delivered::define(hub.cluster(), HOSTED).await?;
    let resources =
        ["configmaps", "serviceaccounts", "networkpolicies.networking.k8s.io", "leases.coordination.k8s.io"];
    let on = json!({ "prerequisites": { "mode": "on", "resources": resources } });
    let (mut provider, _) = delivered::start(&hub, &nest, &on).await?;
    let bench = Bench { hub, nest };
    let lived = Box::pin(bench.life(&mut provider)).await;
    provider.check()?;
    lived.with_context(|| provider.tail())?;
    provider.terminate();
    Ok(())
}

fn order_of(name: &str) -> At {
    at(CONFIG_MAP, CLUSTERS, &format!("{name}-prerequisites"))
}

/// The provider's report.
fn report(map: &Value) -> Value {
    let text = map["metadata"]["annotations"][REPORT].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

fn is(state: &str) -> impl Fn(&Value) -> bool {
    move |map| report(map)["state"] == state
}

fn bundle(name: &str, timeout: &str, manifests: &[(Value, Option<&str>)]) -> Value {
    let manifest = |(object, ready): &(Value, Option<&str>)| match ready {
        Some(ready) => json!({ "object": object, "ready": ready }),
        None => json!({ "object": object }),
    };
    let manifests: Vec<Value> = manifests.iter().map(manifest).collect();
    json!({ "name": name, "timeout": timeout, "manifests": manifests })
}

fn object(kind: Kind, name: &str) -> Value {
    json!({ "apiVersion": kind.api_version, "kind": kind.kind, "metadata": { "name": name } })
}

fn map(name: &str) -> Value {
    object(CONFIG_MAP, name)
}

fn done() -> Value {
    json!({ "data": { "done": "yes" } })
}

fn map_at(name: &str) -> At {
    at(CONFIG_MAP, CLUSTERS, name)
}

impl Bench {
    fn hub(&self) -> &Cluster {
        self.hub.cluster()
    }

    async fn life(&self, provider: &mut Process) -> anyhow::Result<()> {
        self.one_after_the_other().await.context("one after the other")?;
        self.kept(provider).await.context("kept")?;
        // Most of each is waiting.
        tokio::try_join!(
            async { self.too_late().await.context("not ready in time") },
            async { self.name_taken().await.context("an object that somebody else has made") },
            async { self.bad_orders().await.context("bad orders") },
            async { self.few_rights().await.context("a kind without a right") },
            async { self.ends(provider).await.context("the end") },
        )
        .map(drop)
    }

    /// As the function asks.
    async fn ask(&self, name: &str, prerequisites: Value, before: Value) -> anyhow::Result<()> {
        let order = json!({
            "cluster": { "group": "hypershift.openshift.io", "kind": HOSTED.kind, "name": name },
            "prerequisites": prerequisites, "preCreate": before,
        });
        self.ask_with(name, &order.to_string()).await
    }

    async fn ask_with(&self, name: &str, order: &str) -> anyhow::Result<()> {
        let metadata = json!({
            "name": format!("{name}-prerequisites"), "namespace": CLUSTERS, "labels": { LABEL: "true" },
        });
        let data = json!({ ORDER: order });
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
        self.hub().create(&map).await?;
        Ok(())
    }

    async fn told(&self, name: &str, state: &str) -> anyhow::Result<Value> {
        Ok(report(&self.hub().until_is(&order_of(name), SOON, state, is(state)).await?))
    }

    /// An event of an order, which follows what is written on it.
    async fn said(&self, name: &str, reason: &str, kind: &str) -> anyhow::Result<()> {
        let order = format!("{name}-prerequisites");
        let is = |event: &Value| {
            event["reason"] == reason
                && event["type"] == kind
                && event["involvedObject"]["name"] == order.as_str()
        };
        self.hub().until_some(EVENT, CLUSTERS, SOON, reason, is).await.map(drop)
    }

    async fn let_go(&self, name: &str) -> anyhow::Result<()> {
        self.hub().delete(&order_of(name)).await?;
        // Half a minute by itself, and meanwhile two providers are killed, after each of which the next one waits for the Lease.
        self.hub().until_gone(&order_of(name), SOON).await
    }

    async fn one_after_the_other(&self) -> anyhow::Result<()> {
        let mut policy = object(POLICY, "one-policy");
        policy["spec"] = json!({ "podSelector": {}, "policyTypes": ["Ingress"] });
        let account = bundle("account", "2m", &[(object(ACCOUNT, "one-account"), None), (policy, None)]);
        let widgets = bundle("settings", "2m", &[(map("one-settings"), Some(DONE))]);
        let before = bundle("registration", "2m", &[(map("one-registration"), Some(DONE))]);
        self.ask("one", json!([account, widgets]), json!([before])).await?;
        let hub = self.hub();
        let waits = |map: &Value| report(map)["reason"] == "NotReady";
        let order = hub.until_is(&order_of("one"), SOON, "waiting for the settings", waits).await?;
        let said = report(&order);
        ensure!(said["state"] == "Running" && said["bundle"] == "prerequisites/settings", "{said}");
        ensure!(said["object"] == "ConfigMap one-settings", "{said}");
        ensure!(order["metadata"]["finalizers"] == json!([FINALIZER]), "{order}");
        ensure!(hub.get(&map_at("one-registration")).await?.is_none(), "what comes last comes last");
        let owners = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "one-prerequisites", "uid": order["metadata"]["uid"],
        }]);
        for place in
            [at(ACCOUNT, CLUSTERS, "one-account"), at(POLICY, CLUSTERS, "one-policy"), map_at("one-settings")]
        {
            let made = hub.get(&place).await?.context("it is not there")?;
            ensure!(made["metadata"]["ownerReferences"] == owners, "{made}");
        }
        hub.merge(&map_at("one-settings"), &done()).await?;
        let waits = |map: &Value| report(map)["bundle"] == "preCreate/registration";
        hub.until_is(&order_of("one"), SOON, "waiting for the registration", waits).await?;
        hub.until_is(&map_at("one-registration"), SOON, "made", |_| true).await?;
        hub.merge(&map_at("one-registration"), &done()).await?;
        let said = self.told("one", "Applied").await?;
        ensure!(said["bundle"].is_null() && said["reason"].is_null(), "{said}");
        let settings = hub.get(&map_at("one-settings")).await?.context("the settings are gone")?;
        ensure!(settings["data"]["done"] == "yes", "what others wrote stays");
        self.said("one", "PrerequisitesApplied", "Normal").await
    }

    /// Prerequisites come back at the next look, of which there is one when the provider begins; what is done once does not.
    async fn kept(&self, provider: &mut Process) -> anyhow::Result<()> {
        let hub = self.hub();
        let account = at(ACCOUNT, CLUSTERS, "one-account");
        hub.delete(&account).await?;
        hub.delete(&map_at("one-registration")).await?;
        provider.kill();
        *provider = delivered::again(&self.nest)?;
        hub.until_is(&account, SOON, "made again", |_| true).await?;
        tokio::time::sleep(NOTICED).await;
        ensure!(hub.get(&map_at("one-registration")).await?.is_none(), "it was done twice");
        self.told("one", "Applied").await.map(drop)
    }

    async fn too_late(&self) -> anyhow::Result<()> {
        self.ask("two", json!([bundle("slow", "3s", &[(map("two-slow"), Some(DONE))])]), json!([])).await?;
        let said = self.told("two", "SetupFailed").await?;
        ensure!(said["bundle"] == "prerequisites/slow" && said["object"] == "ConfigMap two-slow", "{said}");
        ensure!(said["reason"] == "NotReady" && said["message"].is_string(), "{said}");
        let hub = self.hub();
        self.said("two", "PrerequisitesFailed", "Warning").await?;
        hub.merge(&map_at("two-slow"), &done()).await?;
        self.told("two", "Applied").await?;
        let deleted = std::time::Instant::now();
        self.let_go("two").await?;
        // The API server's clock tells whole seconds.
        ensure!(deleted.elapsed() > Duration::from_secs(28), "the cluster may have been on its way");
        ensure!(hub.get(&map_at("two-slow")).await?.is_none(), "it is left");
        Ok(())
    }

    async fn name_taken(&self) -> anyhow::Result<()> {
        let hub = self.hub();
        let mut theirs = map("three-map");
        theirs["metadata"]["namespace"] = CLUSTERS.into();
        theirs["data"] = json!({ "whose": "theirs" });
        let theirs = hub.create(&theirs).await?;
        let mut wanted = map("three-map");
        wanted["data"] = json!({ "whose": "ours" });
        self.ask("three", json!([bundle("b", "3s", &[(wanted, None)])]), json!([])).await?;
        let said = self.told("three", "SetupFailed").await?;
        ensure!(said["reason"] == "NameTaken" && said["object"] == "ConfigMap three-map", "{said}");
        let now = hub.get(&map_at("three-map")).await?.context("it was deleted")?;
        ensure!(now == theirs, "it was changed: {now}");
        // Not even when everything goes.
        self.let_go("three").await?;
        ensure!(hub.get(&map_at("three-map")).await?.as_ref() == Some(&theirs), "it was touched");
        Ok(())
    }

    async fn bad_orders(&self) -> anyhow::Result<()> {
        let cluster_role = Kind { api_version: ROLE.api_version, kind: "ClusterRole" };
        let nothing = Kind { api_version: "example.org/v1", kind: "Nothing" };
        let secret = Kind { api_version: "v1", kind: "Secret" };
        let mut elsewhere = map("four");
        elsewhere["metadata"]["namespace"] = "default".into();
        let all = [
            (map("four"), Some("object."), "InvalidExpression", ""),
            (object(secret, "four"), None, "KindNotAllowed", "Secret"),
            (elsewhere, None, "InvalidManifest", "another namespace"),
            (object(ROLE, "four"), None, "KindNotAllowed", "clusters.prerequisites.resources"),
            (object(cluster_role, "four"), None, "InvalidManifest", "in no namespace"),
            (object(nothing, "four"), None, "NoSuchKind", "does not serve"),
            (object(CONFIG_MAP, "Not_a_Name"), None, "Invalid", ""),
        ];
        for (place, (object, ready, reason, words)) in all.into_iter().enumerate() {
            let (order, named) = (format!("four-{place}"), object["metadata"]["name"].clone());
            self.ask(&order, json!([bundle("b", "2s", &[(object, ready)])]), json!([])).await?;
            let said = self.told(&order, "SetupFailed").await.with_context(|| format!("{reason} {words}"))?;
            ensure!(said["reason"] == reason && said["bundle"] == "prerequisites/b", "{reason}: {said}");
            let named = named.as_str().unwrap_or_default();
            ensure!(said["object"].as_str().is_some_and(|object| object.ends_with(named)), "{said}");
            ensure!(said["message"].as_str().is_some_and(|message| message.contains(words)), "{said}");
        }
        self.ask_with("nine", "{").await?;
        let said = self.told("nine", "SetupFailed").await?;
        ensure!(said["reason"] == "InvalidOrder", "{said}");
        let order =
            json!({ "cluster": { "group": "osac.openshift.io", "kind": "ClusterOrder", "name": "ten" } });
        self.ask_with("ten", &order.to_string()).await?;
        let said = self.told("ten", "SetupFailed").await?;
        ensure!(said["reason"] == "UnknownCluster", "{said}");
        // Where nothing was begun nothing is held.
        for name in ["four-0", "nine", "ten"] {
            let map = self.hub().get(&order_of(name)).await?.context("no order")?;
            ensure!(map["metadata"]["finalizers"].is_null(), "{map}");
        }
        Ok(())
    }

    /// It was configured, and its right was taken away.
    async fn few_rights(&self) -> anyhow::Result<()> {
        let hub = self.hub();
        let role = at(ROLE, CLUSTERS, "provider-testplatform-prerequisites");
        let mut rules = hub.get(&role).await?.context("no role")?["rules"].take();
        let all = rules.as_array_mut().context("no rules")?;
        all.retain(|rule| rule["apiGroups"] != json!(["coordination.k8s.io"]));
        hub.merge(&role, &json!({ "rules": rules })).await?;
        let lease = Kind { api_version: "coordination.k8s.io/v1", kind: "Lease" };
        self.ask("five", json!([bundle("b", "3s", &[(object(lease, "five"), None)])]), json!([])).await?;
        let said = self.told("five", "SetupFailed").await?;
        ensure!(said["reason"] == "Forbidden" && said["object"] == "Lease five", "{said}");
        ensure!(said["message"].as_str().is_some_and(|message| message.contains("leases")), "{said}");
        Ok(())
    }

    /// The cluster was asked for, and the order is deleted before it; what was done before it goes first, with another provider.
    async fn ends(&self, provider: &mut Process) -> anyhow::Result<()> {
        let hub = self.hub();
        let mut once = map("six-once");
        once["metadata"]["finalizers"] = json!([HELD]);
        let kept = json!([bundle("kept", "1m", &[(map("six-kept"), None)])]);
        self.ask("six", kept, json!([bundle("once", "1m", &[(once, None)])])).await?;
        self.told("six", "Applied").await?;
        let metadata = json!({ "name": "six", "namespace": CLUSTERS, "finalizers": [HELD] });
        let cluster = json!({ "apiVersion": HOSTED.api_version, "kind": HOSTED.kind, "metadata": metadata });
        hub.create(&cluster).await?;
        hub.delete(&order_of("six")).await?;
        hub.delete(&delivered::cluster("six")).await?;
        // Longer than what an absent cluster is waited for.
        tokio::time::sleep(Duration::from_secs(42)).await;
        ensure!(hub.get(&order_of("six")).await?.is_some(), "it was let go of before the cluster was gone");
        for name in ["six-kept", "six-once"] {
            let there = hub.get(&map_at(name)).await?.context("it is gone before the cluster")?;
            ensure!(there["metadata"]["deletionTimestamp"].is_null(), "{there}");
        }
        provider.kill();
        *provider = delivered::again(&self.nest)?;
        let free = json!({ "metadata": { "finalizers": null } });
        hub.merge(&delivered::cluster("six"), &free).await?;
        let going = |map: &Value| !map["metadata"]["deletionTimestamp"].is_null();
        hub.until_is(&map_at("six-once"), SOON, "being deleted", going).await?;
        provider.kill();
        *provider = delivered::again(&self.nest)?;
        tokio::time::sleep(NOTICED).await;
        let left = hub.get(&map_at("six-kept")).await?.context("it is gone before what came after it")?;
        ensure!(left["metadata"]["deletionTimestamp"].is_null(), "{left}");
        hub.merge(&map_at("six-once"), &free).await?;
        hub.until_gone(&order_of("six"), SOON).await?;
        for name in ["six-kept", "six-once"] {
            ensure!(hub.get(&map_at(name)).await?.is_none(), "{name} is left");
        }
        // It is said once that is done.
        self.said("six", "PrerequisitesReleased", "Normal").await
    }
}

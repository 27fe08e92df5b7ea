//! Clusters of claims with `template` on a real hub, with whoever makes them played, and the real provider with exactly the rights that
//! are made for it.
#![allow(missing_docs, reason = "a test says what it tests in its name")]

use std::{
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use provider_testplatform::{
    config::Config,
    rbac::{self, ServiceAccount},
};
use serde_json::{Value, json};
use testplatform_apis::{byoc::PUBLISHER_ROLE, names::ours};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, Cluster, SOON, at, at_root, has},
    control_plane::{ControlPlane, connect},
    hive::objects,
    hub::issue_in,
    kinds::{CRD, EVENT, Kind, SECRET},
    nest::{Nest, Process},
    ports::free_ports,
    program, promise,
};

const HOSTED: Kind = Kind { api_version: "hypershift.openshift.io/v1beta1", kind: "HostedCluster" };
const CAPI: Kind = Kind { api_version: "cluster.x-k8s.io/v1beta2", kind: "Cluster" };
const INSTANCE: Kind =
    Kind { api_version: "clustertemplate.openshift.io/v1alpha1", kind: "ClusterTemplateInstance" };
const ORDER: Kind = Kind { api_version: "osac.openshift.io/v1alpha1", kind: "ClusterOrder" };
const BINDING: Kind = Kind { api_version: "rbac.authorization.k8s.io/v1", kind: "RoleBinding" };
const ACCOUNT: &str = "provider-testplatform";
const CREDENTIALS: &str = "testplatform-credentials";
const CLUSTERS: &str = "clusters";
/// The namespace of a claim that brings its own credentials.
const OWN: &str = "byoc-0";
/// From what whoever makes it says to the Secret.
const PROMISED: Duration = Duration::from_secs(3);

struct Bench {
    plane: ControlPlane,
    nest: Nest,
    as_provider: Cluster,
}

pub async fn clusters_of_every_kind() -> anyhow::Result<()> {
    let plane = ControlPlane::start("clusters", &Binaries::ensure()?).await?;
    let hub = plane.cluster().clone();
    for name in [
        ACCOUNT,
        CREDENTIALS,
        CLUSTERS,
        OWN,
        "ephemeral-cluster",
        "elsewhere",
        "osac-orders",
        "osac-orders-three",
    ] {
        hub.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await?;
    }
    let nest = Nest::new("clusters", None)?;
    let [port] = free_ports()?;
    let here = json!({ "namespaces": [CLUSTERS] });
    let config = json!({
        "clusters": { "poll": "2s", "backends": {
            "hypershift": { "namespaces": [CLUSTERS], "byoc": "on" }, "cluster-api": here, "caas": here, "osac": { "namespaces": ["osac-orders"] },
        } },
        "http": { "address": format!("127.0.0.1:{port}") },
    });
    let config = nest.file("config.yaml", config.to_string())?;
    let rights = rbac::hub(&Config::load(&config)?, &ServiceAccount::default());
    hub.apply_all(&serde_saphyr::from_multiple::<Value>(&rights)?).await?;
    let own = issue_in(&plane, ACCOUNT, ACCOUNT, "clusters").await?.kubeconfig.to_string();
    nest.file("kubeconfig", &own)?;
    // Before any kind is there: said, and waited for.
    let mut provider = start(&nest)?;
    provider.until_says("this hub has no hostedclusters of hypershift.openshift.io", SOON).await?;
    provider.terminate();

    for kind in [HOSTED, CAPI, INSTANCE, ORDER] {
        define(&hub, kind).await?;
    }
    let mut provider = start(&nest)?;
    let as_provider = Cluster::new("hub as provider", connect(&own).await?);
    let bench = Bench { plane, nest, as_provider };
    let lived = bench.life().await;
    provider.check()?;
    lived.with_context(|| provider.tail())?;
    let mut all = provider.said()?;
    provider.terminate();
    all += &bench.orphan().await?;
    ensure!(!all.contains("p4ssw0rd") && !all.contains("token: t"), "a secret is in the log");
    Ok(())
}

fn start(nest: &Nest) -> anyhow::Result<Process> {
    let mut command = Command::new(program::provider()?);
    command.args(["--config=config.yaml", "--kubeconfig=kubeconfig", "--log-format=text", "-d"]);
    nest.spawn("provider", &mut command)
}

fn encoded(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

fn kubeconfig(token: &str) -> String {
    objects::kubeconfig("c", token)
}

fn secret(namespace: &str, name: &str, key: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": namespace },
        "data": { key: encoded(value) },
    })
}

fn published(name: &str) -> At {
    at(SECRET, CREDENTIALS, &format!("{name}-credentials"))
}

fn told(object: &Value) -> Value {
    let text = object["metadata"]["annotations"][ours::STATUS].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

fn condition(type_: &str, status: &str) -> Value {
    json!([{ "type": type_, "status": status, "reason": "x", "lastTransitionTime": "2026-01-01T00:00:00Z" }])
}

fn available(status: &str) -> Value {
    json!({
        "conditions": condition("Available", status),
        "kubeconfig": { "name": "one-admin-kubeconfig" }, "kubeadminPassword": { "name": "one-kubeadmin-password" },
    })
}

impl Bench {
    fn hub(&self) -> &Cluster {
        self.plane.cluster()
    }

    /// As the function asks.
    async fn ask(&self, kind: Kind, namespace: &str, name: &str) -> anyhow::Result<At> {
        let mark = json!({ ours::CREDENTIALS_NAMESPACE: CREDENTIALS });
        let metadata = json!({ "name": name, "namespace": namespace, "annotations": mark });
        let object = json!({ "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": { "size": 1 } });
        self.hub().create(&object).await?;
        Ok(at(kind, namespace, name))
    }

    async fn furnish(&self, namespace: &str) -> anyhow::Result<()> {
        self.hub().apply(&secret(namespace, "one-admin-kubeconfig", "kubeconfig", &kubeconfig("t0"))).await?;
        self.hub().apply(&secret(namespace, "one-kubeadmin-password", "password", "p4ssw0rd")).await?;
        Ok(())
    }

    async fn life(&self) -> anyhow::Result<()> {
        let hub = self.hub();
        self.furnish(CLUSTERS).await?;
        self.ask(HOSTED, "elsewhere", "other").await?;
        let one = self.ask(HOSTED, CLUSTERS, "one").await?;
        let asked = Instant::now();
        hub.merge_status(&one, &available("False")).await?;
        let waits = |object: &Value| told(object)["blockingReason"]["reason"] == "NotRunning";
        hub.until_is(&one, SOON, "told that it does not answer", waits).await?;
        let there = asked.elapsed();
        ensure!(hub.get(&published("one")).await?.is_none(), "published before it answers");
        hub.merge_status(&one, &available("True")).await?;
        let ran = Instant::now();
        let made = hub.until_is(&published("one"), SOON, "published", |_| true).await?;
        let took = ran.elapsed();
        println!("from Available to the Secret on the hub: {took:?}");
        promise::kept(PROMISED, there, took)?;
        ensure!(made["data"]["kubeconfig"] == encoded(&kubeconfig("t0")).as_str());
        ensure!(made["data"]["kubeAdminPassword"] == encoded("p4ssw0rd").as_str());
        let announced = |object: &Value| {
            object["metadata"]["annotations"][ours::CREDENTIALS_REVISION]
                == made["metadata"]["resourceVersion"]
                && told(object)["credentials"]["passwordAvailable"] == true
        };
        let object = hub.until_is(&one, SOON, "told", announced).await?;
        ensure!(object["spec"] == json!({ "size": 1 }), "the spec was touched");
        self.rests(&one).await?;
        self.may_do_little().await?;
        self.follows(&one).await?;
        self.others().await?;
        self.order().await?;
        self.of_a_claim().await?;
        hub.delete(&one).await?;
        hub.until_gone(&published("one"), SOON).await?;
        ensure!(hub.get(&published("other")).await?.is_none(), "of a namespace that is not served");
        let events = hub.list(EVENT).await?;
        let about = |reason: &str| {
            let is = |e: &&Value| e["reason"] == reason && e["involvedObject"]["name"] == "one";
            events.iter().filter(is).count()
        };
        ensure!((about("CredentialsPublished"), about("KubeconfigRejected")) == (1, 1), "{events:#?}");
        Ok(())
    }

    /// In the namespace of a claim it does what the function lets it do, and finds out that a cluster is gone although every right there went too.
    async fn of_a_claim(&self) -> anyhow::Result<()> {
        let hub = self.hub();
        self.furnish(OWN).await?;
        let own = self.ask(HOSTED, OWN, "own").await?;
        hub.merge_status(&own, &available("True")).await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        ensure!(hub.get(&published("own")).await?.is_none(), "nobody let it in");
        let words = self.as_provider.get(&at(SECRET, OWN, "one-admin-kubeconfig")).await.err();
        ensure!(format!("{:#}", words.context("it may read there")?).contains("forbidden"));
        let role =
            json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": PUBLISHER_ROLE });
        let subjects = json!([{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": ACCOUNT }]);
        hub.apply(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "roleRef": role, "subjects": subjects,
            "metadata": { "name": PUBLISHER_ROLE, "namespace": OWN },
        }))
        .await?;
        hub.until_is(&published("own"), SOON * 2, "published", |_| true).await?;
        hub.delete(&at(BINDING, OWN, PUBLISHER_ROLE)).await?;
        hub.delete(&own).await?;
        hub.until_gone(&published("own"), SOON).await
    }

    /// Nothing is written at rest, though the credentials are read now and then.
    async fn rests(&self, object: &At) -> anyhow::Result<()> {
        let versions = async || {
            let mut all = Vec::new();
            for at in [object, &published("one")] {
                let found = self.hub().get(at).await?.context("it is there")?;
                all.push(found["metadata"]["resourceVersion"].clone());
            }
            anyhow::Ok(all)
        };
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = versions().await?;
        tokio::time::sleep(Duration::from_secs(5)).await;
        ensure!(versions().await? == before, "something was written at rest");
        Ok(())
    }

    async fn may_do_little(&self) -> anyhow::Result<()> {
        let of = &self.as_provider;
        for place in [at(SECRET, "elsewhere", "x"), at(SECRET, ACCOUNT, "x"), at(SECRET, "osac-orders", "x")]
        {
            let words = of.get(&place).await.err().with_context(|| format!("it may read {place}"))?;
            ensure!(format!("{words:#}").contains("forbidden"), "{words:#}");
        }
        let words = of.list(SECRET).await.err().context("it may list Secrets")?;
        ensure!(format!("{words:#}").contains("forbidden"), "{words:#}");
        let own = at(SECRET, CLUSTERS, "one-admin-kubeconfig");
        let words = of.merge(&own, &json!({ "data": null })).await.err().context("it may write theirs")?;
        ensure!(words.to_string().contains("forbidden"), "{words}");
        let elsewhere = at(HOSTED, "elsewhere", "other");
        let patch = json!({ "metadata": { "labels": { "a": "b" } } });
        let words = of.merge(&elsewhere, &patch).await.err().context("it may write elsewhere")?;
        ensure!(words.to_string().contains("forbidden"), "{words}");
        let one = at(HOSTED, CLUSTERS, "one");
        let words = of.merge_status(&one, &available("True")).await.err().context("it may write a status")?;
        ensure!(words.to_string().contains("forbidden"), "{words}");
        Ok(())
    }

    async fn follows(&self, object: &At) -> anyhow::Result<()> {
        let hub = self.hub();
        let holds = |text: &str| {
            let text = encoded(text);
            move |secret: &Value| secret["data"]["kubeconfig"] == text.as_str()
        };
        let source = |text: &str| secret(CLUSTERS, "one-admin-kubeconfig", "kubeconfig", text);
        let rotated = kubeconfig("t1");
        hub.apply(&source(&rotated)).await?;
        hub.until_is(&published("one"), SOON, "rotated", holds(&rotated)).await?;
        hub.merge(&published("one"), &json!({ "data": { "kubeconfig": encoded("evil") } })).await?;
        hub.until_is(&published("one"), SOON, "repaired", holds(&rotated)).await?;
        let plugin = rotated.replace("token: t1", "exec: {apiVersion: v1, command: rm}");
        hub.apply(&source(&plugin)).await?;
        let rejected = |object: &Value| told(object)["blockingReason"]["reason"] == "KubeconfigRejected";
        hub.until_is(object, SOON, "told that it is rejected", rejected).await?;
        let stays = hub.get(&published("one")).await?.is_some_and(|s| holds(&rotated)(&s));
        ensure!(stays, "a plugin was published");
        hub.apply(&source(&rotated)).await?;
        hub.until_is(object, SOON, "well again", |o| told(o)["blockingReason"].is_null()).await?;
        // Once used, whatever it says of itself.
        hub.merge_status(object, &available("False")).await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        ensure!(hub.get(&published("one")).await?.is_some(), "its credentials stay");
        Ok(())
    }

    /// A Cluster, whose password is empty, and an instance whose password never comes.
    async fn others(&self) -> anyhow::Result<()> {
        let hub = self.hub();
        let two = self.ask(CAPI, CLUSTERS, "two").await?;
        hub.apply(&secret(CLUSTERS, "two-kubeconfig", "value", &kubeconfig("t2"))).await?;
        hub.merge_status(&two, &json!({ "conditions": condition("ControlPlaneAvailable", "True") })).await?;
        let made = hub.until_is(&published("two"), SOON, "published", |_| true).await?;
        ensure!(made["data"]["kubeAdminPassword"] == "" && made["data"]["kubeconfig"].is_string());
        let instance = self.ask(INSTANCE, CLUSTERS, "four").await?;
        let status = json!({
            "phase": "Ready", "conditions": condition("ClusterInstallSucceeded", "True"),
            "kubeconfig": { "name": "one-admin-kubeconfig" }, "adminPassword": { "name": "four-admin-password" },
        });
        hub.merge_status(&instance, &status).await?;
        let made = hub.until_is(&published("four"), SOON, "published", |_| true).await?;
        ensure!(made["data"]["kubeAdminPassword"] == "");
        for object in [two, instance] {
            hub.delete(&object).await?;
        }
        hub.until_gone(&published("two"), SOON).await?;
        hub.until_gone(&published("four"), SOON).await
    }

    /// OSAC opens each cluster to an account of its choice.
    async fn order(&self) -> anyhow::Result<()> {
        let hub = self.hub();
        let there = "osac-orders-three";
        self.furnish(there).await?;
        let hosted = json!({
            "apiVersion": HOSTED.api_version, "kind": HOSTED.kind, "metadata": { "name": "three", "namespace": there }, "spec": {},
        });
        hub.create(&hosted).await?;
        hub.merge_status(&at(HOSTED, there, "three"), &available("True")).await?;
        let three = self.ask(ORDER, "osac-orders", "three").await?;
        let named = json!({ "namespace": there, "hostedClusterName": "three" });
        hub.merge_status(&three, &json!({ "phase": "Progressing", "clusterReference": named })).await?;
        let closed = |o: &Value| {
            told(o)["blockingReason"]["message"].as_str().is_some_and(|m| m.contains("no permission"))
        };
        hub.until_is(&three, SOON, "told that it is closed", closed).await?;
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "access", "namespace": there },
            "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }],
        });
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "access", "namespace": there },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "access" },
            "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": ACCOUNT }],
        });
        hub.apply_all(&[role, binding]).await?;
        let made = hub.until_is(&published("three"), SOON, "published", |_| true).await?;
        ensure!(made["metadata"]["labels"][ours::OWNER_KIND] == ORDER.kind, "{made}");
        hub.delete(&three).await?;
        hub.until_gone(&published("three"), SOON).await
    }

    /// It is deleted while no provider runs. Returns the log of the next one.
    async fn orphan(&self) -> anyhow::Result<String> {
        let hub = self.hub();
        let mut provider = start(&self.nest)?;
        let one = self.ask(HOSTED, CLUSTERS, "one").await?;
        hub.merge_status(&one, &available("True")).await?;
        hub.until_is(&published("one"), SOON, "published", |_| true).await?;
        provider.terminate();
        hub.delete(&one).await?;
        hub.until_gone(&one, SOON).await?;
        ensure!(hub.get(&published("one")).await?.is_some(), "nobody was there");
        let mut provider = start(&self.nest)?;
        let swept = hub.until_gone(&published("one"), SOON).await;
        provider.check()?;
        swept.with_context(|| provider.tail())?;
        provider.said()
    }
}

/// A kind's definition with the parts that matter: its names, and a status subresource.
async fn define(hub: &Cluster, kind: Kind) -> anyhow::Result<()> {
    let (group, version) = kind.api_version.split_once('/').context("no group")?;
    let singular = kind.kind.to_lowercase();
    let name = format!("{singular}s.{group}");
    hub.apply(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": name },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": kind.kind, "listKind": format!("{}List", kind.kind), "plural": format!("{singular}s"), "singular": singular },
            "versions": [{
                "name": version, "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    }))
    .await?;
    hub.until_is(&at_root(CRD, &name), SOON, "established", |crd| has(crd, "Established", "True", ""))
        .await
        .map(|_| ())
}

//! `clusters.bundles: on` with a real API server as the cluster that was delivered, and the real provider with exactly the rights that are made
//! for it. Whoever made the cluster is played, and so is the function.
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
use testplatform_apis::{
    bundle::{FINALIZER, LABEL, ORDER, REPORT},
    names::ours,
};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, Cluster, SOON, at, at_root, has},
    control_plane::{ControlPlane, connect, free_ports},
    hub::issue_in,
    kinds::{CRD, EVENT, Kind, SECRET},
    nest::{Nest, Process},
    search::{Marks, unique},
};

const HOSTED: Kind = Kind { api_version: "hypershift.openshift.io/v1beta1", kind: "HostedCluster" };
const CONFIG_MAP: Kind = Kind { api_version: "v1", kind: "ConfigMap" };
const CLUSTER_ROLE: Kind = Kind { api_version: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
const WIDGET: Kind = Kind { api_version: "example.com/v1", kind: "Widget" };
const CLUSTERS: &str = "clusters";
const CREDENTIALS: &str = "testplatform-credentials";
const OWN: &str = "provider-testplatform";
/// Nothing has happened by then that should not.
const NOTICED: Duration = Duration::from_secs(4);

struct Bench {
    hub: ControlPlane,
    delivered: ControlPlane,
    admin: String,
    as_provider: Cluster,
    marks: Marks,
}

#[tokio::test(flavor = "multi_thread")]
async fn bundles_are_set_up_in_a_cluster_and_taken_down_before_it_goes() -> anyhow::Result<()> {
    let binaries = Binaries::ensure()?;
    let (hub, delivered) =
        tokio::try_join!(ControlPlane::start("hub", &binaries), ControlPlane::start("delivered", &binaries))?;
    let (admin, signature) = admin(&delivered).await?;
    let marks = Marks::new([("the admin's token", signature), ("another", unique())])?;
    let nest = Nest::new("bundles", None)?;
    furnish(hub.cluster(), &admin).await?;
    let (mut provider, own) = start(&hub, &nest).await?;
    let as_provider = Cluster::new("as the provider", connect(&own).await?);
    let bench = Bench { hub, delivered, admin, as_provider, marks };
    let lived = bench.life().await;
    provider.check()?;
    lived.with_context(|| provider.tail())?;
    provider.terminate();
    let log = std::fs::read(provider.log())?;
    ensure!(log.windows(11).any(|part| part == b"one-bundles"), "the log says nothing");
    ensure!(bench.marks.within(&log).is_empty(), "a secret is in the log");
    Ok(())
}

/// An administrator of the delivered cluster: a kubeconfig, and what of its token is nowhere else.
async fn admin(delivered: &ControlPlane) -> anyhow::Result<(String, String)> {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "admin", "namespace": "kube-system" },
    });
    let role = |name: &str, subject: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
            "subjects": [subject],
        })
    };
    let binding =
        role("admin", json!({ "kind": "ServiceAccount", "name": "admin", "namespace": "kube-system" }));
    let looker = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "looker" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"] }],
    });
    delivered.cluster().apply_all(&[account, binding, looker]).await?;
    let config = issue_in(delivered, "kube-system", "admin", "canary").await?.kubeconfig;
    let token = config["users"][0]["user"]["token"].as_str().context("no token")?;
    let signature = token.rsplit('.').next().unwrap_or_default().to_owned();
    Ok((config.to_string(), signature))
}

async fn furnish(hub: &Cluster, admin: &str) -> anyhow::Result<()> {
    for name in [OWN, CREDENTIALS, CLUSTERS, "ephemeral-cluster"] {
        hub.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await?;
    }
    define(hub, HOSTED).await?;
    source(hub, admin).await
}

/// The kubeconfig of the admin, as whoever made the clusters leaves it, with a password.
async fn source(hub: &Cluster, kubeconfig: &str) -> anyhow::Result<()> {
    let data = json!({
        "kubeconfig": BASE64_STANDARD.encode(kubeconfig), "password": BASE64_STANDARD.encode("x"),
    });
    let metadata = json!({ "name": "admin-kubeconfig", "namespace": CLUSTERS });
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data });
    hub.apply(&secret).await.map(drop)
}

/// The provider, and its own kubeconfig.
async fn start(hub: &ControlPlane, nest: &Nest) -> anyhow::Result<(Process, String)> {
    let [port] = free_ports()?;
    let config = json!({
        "clusters": { "poll": "1s", "bundles": "on", "backends": { "hypershift": { "namespaces": [CLUSTERS] } } },
        "http": { "address": format!("127.0.0.1:{port}") },
    });
    let config = nest.file("config.yaml", config.to_string())?;
    let rights = rbac::hub(&Config::load(&config)?, &ServiceAccount::default());
    hub.cluster().apply_all(&serde_saphyr::from_multiple::<Value>(&rights)?).await?;
    let own = issue_in(hub, OWN, OWN, "account").await?.kubeconfig.to_string();
    nest.file("kubeconfig", &own)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_provider-testplatform"));
    command.args(["--config=config.yaml", "--kubeconfig=kubeconfig", "--log-format=text", "-d"]);
    Ok((nest.spawn("provider", &mut command)?, own))
}

fn cluster(name: &str) -> At {
    at(HOSTED, CLUSTERS, name)
}

fn published(name: &str) -> At {
    at(SECRET, CREDENTIALS, &format!("{name}-credentials"))
}

fn order_of(name: &str) -> At {
    at(CONFIG_MAP, CLUSTERS, &format!("{name}-bundles"))
}

fn told(map: &Value) -> Value {
    let text = map["metadata"]["annotations"][REPORT].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

fn is(state: &str) -> impl Fn(&Value) -> bool {
    move |map| told(map)["state"] == state
}

fn bundle(name: &str, timeout: &str, manifests: &[(Value, Option<&str>)]) -> Value {
    let manifests: Vec<Value> = manifests
        .iter()
        .map(|(object, ready)| match ready {
            Some(ready) => json!({ "object": object, "ready": ready }),
            None => json!({ "object": object }),
        })
        .collect();
    json!({ "name": name, "timeout": timeout, "manifests": manifests })
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" } })
}

fn role(name: &str) -> Value {
    json!({
        "apiVersion": CLUSTER_ROLE.api_version, "kind": CLUSTER_ROLE.kind, "metadata": { "name": name },
        "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }],
    })
}

/// Somebody in the cluster says that it is done.
const DONE: &str = "object.data.done == 'yes'";

fn done() -> Value {
    json!({ "data": { "done": "yes" } })
}

impl Bench {
    async fn life(&self) -> anyhow::Result<()> {
        self.one_after_the_other().await.context("one after the other")?;
        self.not_again().await.context("applied is applied")?;
        self.held().await.context("held before it goes")?;
        self.too_late().await.context("not ready in time")?;
        self.refused_kubeconfig().await.context("a kubeconfig that is refused")?;
        self.of_another().await.context("credentials of another cluster")?;
        self.by_its_admin().await.context("where a ServiceAccount is published")?;
        self.bad_orders().await.context("bad orders")?;
        self.goes_by_itself().await.context("a cluster that goes by itself")?;
        self.few_rights().await.context("rights")?;
        self.unreachable().await.context("a cluster that does not answer any more")?;
        self.nowhere().await
    }

    /// As the function asks.
    async fn ask(&self, name: &str, after: Value, before: Value) -> anyhow::Result<()> {
        let order = json!({
            "cluster": { "group": "hypershift.openshift.io", "kind": "HostedCluster", "name": name },
            "postInstall": after, "preDelete": before,
        });
        self.hub.cluster().create(&asked(name, &order.to_string())).await?;
        Ok(())
    }

    /// A cluster that can be used.
    async fn make(&self, name: &str, wish: Option<&str>) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        let mut object = json!({
            "apiVersion": HOSTED.api_version, "kind": HOSTED.kind,
            "metadata": {
                "name": name, "namespace": CLUSTERS, "annotations": { ours::CREDENTIALS_NAMESPACE: CREDENTIALS },
            },
        });
        if let Some(role) = wish {
            let wish = format!(r#"{{"clusterRole":"{role}","generation":0,"mode":"ServiceAccount"}}"#);
            object["metadata"]["annotations"][ours::CREDENTIALS_WISH] = wish.into();
        }
        hub.create(&object).await?;
        let available = json!({
            "conditions": [{ "type": "Available", "status": "True", "reason": "x", "lastTransitionTime": "2026-01-01T00:00:00Z" }],
            "kubeconfig": { "name": "admin-kubeconfig" }, "kubeadminPassword": { "name": "admin-kubeconfig" },
        });
        hub.merge_status(&cluster(name), &available).await?;
        Ok(())
    }

    async fn one_after_the_other(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        let established = "object.status.conditions.exists(c, c.type == 'Established' && c.status == 'True')";
        let widget = json!({
            "apiVersion": WIDGET.api_version, "kind": WIDGET.kind, "metadata": { "name": "w", "namespace": "default" },
        });
        let after = json!([
            bundle("kinds", "2m", &[(definition(WIDGET)?, Some(established))]),
            bundle(
                "widgets",
                "2m",
                &[(role("widgets"), None), (widget, Some("object.status.phase == 'Ready'"))]
            ),
            bundle("last", "2m", &[(map("last"), None)]),
        ]);
        let before = json!([bundle("bye", "2m", &[(map("bye"), Some(DONE))])]);
        self.ask("one", after, before).await?;
        tokio::time::sleep(NOTICED).await;
        let unborn = hub.get(&order_of("one")).await?.context("the order")?;
        ensure!(
            told(&unborn).is_null() && unborn["metadata"]["finalizers"].is_null(),
            "begun before it was made"
        );
        self.make("one", None).await?;
        let waits =
            |map: &Value| told(map)["bundle"] == "postInstall/widgets" && told(map)["reason"] == "NotReady";
        let map = hub.until_is(&order_of("one"), SOON, "waiting for the widget", waits).await?;
        ensure!(told(&map)["object"] == "Widget default/w" && told(&map)["state"] == "Running", "{map}");
        ensure!(map["metadata"]["finalizers"] == json!([FINALIZER]), "{map}");
        ensure!(there.get(&at(CONFIG_MAP, "default", "last")).await?.is_none(), "the last one comes last");
        let role = there.get(&at_root(CLUSTER_ROLE, "widgets")).await?.context("the role")?;
        let by = &role["metadata"]["managedFields"][0];
        ensure!(by["manager"] == OWN && by["operation"] == "Apply", "{by}");
        there.merge_status(&at(WIDGET, "default", "w"), &json!({ "phase": "Ready" })).await?;
        let map = hub.until_is(&order_of("one"), SOON, "applied", is("Applied")).await?;
        ensure!(told(&map)["bundle"].is_null() && told(&map)["reason"].is_null(), "{map}");
        ensure!(there.get(&at(CONFIG_MAP, "default", "last")).await?.is_some(), "the last one is there");
        let events = hub.list(EVENT).await?;
        ensure!(events.iter().any(|event| event["reason"] == "BundlesApplied"), "nothing was said of it");
        Ok(())
    }

    /// What is applied is its owner's; only an order without a report is begun anew.
    async fn not_again(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        let last = at(CONFIG_MAP, "default", "last");
        there.delete(&last).await?;
        tokio::time::sleep(NOTICED).await;
        ensure!(there.get(&last).await?.is_none(), "it was applied again");
        let without = json!({ "metadata": { "annotations": { REPORT: null } } });
        hub.merge(&order_of("one"), &without).await?;
        there.until_is(&last, SOON, "applied again", |_| true).await?;
        hub.until_is(&order_of("one"), SOON, "applied", is("Applied")).await.map(drop)
    }

    async fn held(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        hub.delete(&order_of("one")).await?;
        let bye = at(CONFIG_MAP, "default", "bye");
        there.until_is(&bye, SOON, "applied before it goes", |_| true).await?;
        hub.until_is(&order_of("one"), SOON, "told", is("BeforeDeletion")).await?;
        tokio::time::sleep(NOTICED).await;
        let map = hub.get(&order_of("one")).await?.context("it was let go too early")?;
        ensure!(
            told(&map)["bundle"] == "preDelete/bye" && told(&map)["object"] == "ConfigMap default/bye",
            "{map}"
        );
        there.merge(&bye, &done()).await?;
        hub.until_gone(&order_of("one"), SOON).await?;
        hub.delete(&cluster("one")).await
    }

    async fn too_late(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        let after = json!([bundle("slow", "4s", &[(map("slow"), Some(DONE))])]);
        let before = json!([bundle("bye", "5s", &[(map("two-bye"), Some(DONE))])]);
        self.ask("two", after, before).await?;
        self.make("two", None).await?;
        let failed = hub.until_is(&order_of("two"), SOON, "failed", is("SetupFailed")).await?;
        let report = told(&failed);
        ensure!(
            report["bundle"] == "postInstall/slow" && report["object"] == "ConfigMap default/slow",
            "{report}"
        );
        ensure!(report["reason"] == "NotReady" && report["message"].is_string(), "{report}");
        // Its admin can use it all the same.
        let secret = hub.get(&published("two")).await?.context("its credentials are gone")?;
        ensure!(
            secret["data"]["kubeconfig"] == BASE64_STANDARD.encode(&self.admin),
            "something else is published"
        );
        there.merge(&at(CONFIG_MAP, "default", "slow"), &done()).await?;
        hub.until_is(&order_of("two"), SOON, "applied after all", is("Applied")).await.map(drop)
    }

    /// What the cluster does not take never takes the place of what it takes.
    async fn refused_kubeconfig(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        let mut refused: Value = serde_json::from_str(&self.admin)?;
        refused["users"][0]["user"]["token"] = "not-a-token".into();
        source(hub, &refused.to_string()).await?;
        let blocked = |object: &Value| {
            let text = object["metadata"]["annotations"][ours::STATUS].as_str().unwrap_or_default();
            serde_json::from_str::<Value>(text).unwrap_or_default()["blockingReason"].clone()
        };
        let says = |object: &Value| blocked(object)["reason"] == "KubeconfigRejected";
        hub.until_is(&cluster("two"), SOON, "told that it is refused", says).await?;
        let holds = |text: &str| {
            let text = BASE64_STANDARD.encode(text);
            move |secret: &Value| secret["data"]["kubeconfig"] == text.as_str()
        };
        tokio::time::sleep(NOTICED).await;
        let secret = hub.get(&published("two")).await?.context("it was taken away")?;
        ensure!(holds(&self.admin)(&secret), "it was published");
        // The same in another form is taken.
        let mut good: Value = serde_json::from_str(&self.admin)?;
        good["preferences"] = json!({});
        let good = good.to_string();
        source(hub, &good).await?;
        hub.until_is(&published("two"), SOON, "published", holds(&good)).await?;
        hub.until_is(&cluster("two"), SOON, "well again", |object| blocked(object).is_null()).await?;
        source(hub, &self.admin).await?;
        hub.until_is(&published("two"), SOON, "as before", holds(&self.admin)).await.map(drop)
    }

    /// Whoever took the name: nothing is done in what is published for somebody else.
    async fn of_another(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        let labels = json!({
            ours::OWNER_GROUP: "hypershift.openshift.io", ours::OWNER_KIND: "HostedCluster",
            ours::OWNER_NAMESPACE: "elsewhere", ours::OWNER_UID: "another",
        });
        let metadata = json!({ "name": "three-credentials", "namespace": CREDENTIALS, "labels": labels });
        let data = json!({ "kubeconfig": BASE64_STANDARD.encode(&self.admin) });
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data });
        hub.apply(&secret).await?;
        self.ask("three", json!([bundle("b", "1m", &[(map("three"), None)])]), json!([])).await?;
        self.make("three", None).await?;
        tokio::time::sleep(NOTICED).await;
        let map = hub.get(&order_of("three")).await?.context("the order")?;
        ensure!(told(&map).is_null(), "{map}");
        ensure!(there.get(&at(CONFIG_MAP, "default", "three")).await?.is_none(), "it was applied");
        hub.delete(&order_of("three")).await?;
        hub.until_gone(&order_of("three"), SOON).await?;
        hub.delete(&cluster("three")).await
    }

    /// A tenant's token may do little; what a template brings is the administrators'.
    async fn by_its_admin(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        self.ask("four", json!([bundle("b", "1m", &[(role("four"), None)])]), json!([])).await?;
        self.make("four", Some("looker")).await?;
        let map = hub.until_is(&order_of("four"), SOON, "applied", is("Applied")).await?;
        ensure!(map["metadata"]["finalizers"].is_null(), "nothing comes before the deletion");
        ensure!(there.get(&at_root(CLUSTER_ROLE, "four")).await?.is_some(), "it is not there");
        let secret = hub.get(&published("four")).await?.context("published")?;
        ensure!(
            secret["data"]["kubeconfig"] != BASE64_STANDARD.encode(&self.admin),
            "the admin's is published"
        );
        hub.delete(&order_of("four")).await?;
        hub.delete(&cluster("four")).await
    }

    async fn bad_orders(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        self.make("five", None).await?;
        let nameless = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {} });
        let no_kind =
            json!({ "apiVersion": "example.org/v1", "kind": "Nothing", "metadata": { "name": "x" } });
        let invalid = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "Not_a_Name", "namespace": "default" },
        });
        for (object, ready, reason) in [
            (map("five"), Some("object."), "InvalidExpression"),
            (map("six"), Some("object.metadata.name"), "InvalidExpression"),
            (nameless, None, "InvalidManifest"),
            (no_kind, None, "NoSuchKind"),
            (invalid, None, "Invalid"),
        ] {
            self.ask("five", json!([bundle("b", "3s", &[(object, ready)])]), json!([])).await?;
            let map = hub.until_is(&order_of("five"), SOON, reason, is("SetupFailed")).await?;
            ensure!(told(&map)["reason"] == reason && told(&map)["bundle"] == "postInstall/b", "{map}");
            hub.delete(&order_of("five")).await?;
            hub.until_gone(&order_of("five"), SOON).await?;
        }
        ensure!(
            there.get(&at(CONFIG_MAP, "default", "five")).await?.is_none(),
            "applied by what is no expression"
        );
        hub.create(&asked("five", "{")).await?;
        let map = hub.until_is(&order_of("five"), SOON, "told", is("SetupFailed")).await?;
        ensure!(told(&map)["reason"] == "InvalidOrder", "{map}");
        hub.delete(&order_of("five")).await?;
        hub.delete(&cluster("five")).await
    }

    /// There is nobody to wait for.
    async fn goes_by_itself(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        let before = json!([bundle("bye", "10m", &[(map("seven-bye"), Some(DONE))])]);
        self.ask("seven", json!([]), before).await?;
        self.make("seven", None).await?;
        let map = hub.until_is(&order_of("seven"), SOON, "applied", is("Applied")).await?;
        ensure!(map["metadata"]["finalizers"] == json!([FINALIZER]), "{map}");
        hub.delete(&order_of("seven")).await?;
        hub.until_is(&order_of("seven"), SOON, "held", is("BeforeDeletion")).await?;
        hub.delete(&cluster("seven")).await?;
        hub.until_gone(&order_of("seven"), SOON).await
    }

    /// It holds what it is asked to, and can neither make nor delete a ConfigMap, nor read one elsewhere.
    async fn few_rights(&self) -> anyhow::Result<()> {
        let of = &self.as_provider;
        let forbidden = |words: String| ensure_forbidden(&words);
        let made = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "namespace": CLUSTERS } });
        forbidden(of.create(&made).await.err().context("it may make one")?.to_string())?;
        forbidden(format!("{:#}", of.delete(&order_of("two")).await.err().context("it may delete one")?))?;
        let elsewhere = at(CONFIG_MAP, OWN, "kube-root-ca.crt");
        forbidden(format!("{:#}", of.get(&elsewhere).await.err().context("it may read elsewhere")?))
    }

    /// It is held for as long as it might answer again, and no longer.
    async fn unreachable(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        self.delivered.stop_api_server();
        let since = Instant::now();
        hub.delete(&order_of("two")).await?;
        let says = |map: &Value| told(map)["reason"] == "Unreachable";
        hub.until_is(&order_of("two"), SOON, "told that it cannot be reached", says).await?;
        hub.until_gone(&order_of("two"), SOON).await?;
        ensure!(since.elapsed() > Duration::from_secs(3), "it was let go after {:?}", since.elapsed());
        let events = hub.list(EVENT).await?;
        ensure!(events.iter().any(|event| event["reason"] == "BundlesGivenUp"), "nothing was said of it");
        Ok(())
    }

    /// The admin's credentials are where they were made and published, and in nothing else.
    async fn nowhere(&self) -> anyhow::Result<()> {
        for kind in [HOSTED, EVENT, CONFIG_MAP] {
            for object in self.hub.cluster().list(kind).await? {
                let found = self.marks.within(object.to_string().as_bytes());
                ensure!(found.is_empty(), "{found:?} in {} {}", kind.kind, object["metadata"]["name"]);
            }
        }
        Ok(())
    }
}

fn ensure_forbidden(words: &str) -> anyhow::Result<()> {
    ensure!(words.contains("forbidden"), "{words}");
    Ok(())
}

fn asked(name: &str, order: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": format!("{name}-bundles"), "namespace": CLUSTERS, "labels": { LABEL: "true" } },
        "data": { ORDER: order },
    })
}

/// What matters of a kind: its names, and that its status is another's.
fn definition(kind: Kind) -> anyhow::Result<Value> {
    let (group, version) = kind.api_version.split_once('/').context("no group")?;
    let singular = kind.kind.to_lowercase();
    Ok(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{singular}s.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": kind.kind, "listKind": format!("{}List", kind.kind), "plural": format!("{singular}s"), "singular": singular },
            "versions": [{
                "name": version, "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    }))
}

async fn define(hub: &Cluster, kind: Kind) -> anyhow::Result<()> {
    let crd = definition(kind)?;
    hub.apply(&crd).await?;
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    hub.until_is(&at_root(CRD, name), SOON, "established", |crd| has(crd, "Established", "True", ""))
        .await
        .map(drop)
}

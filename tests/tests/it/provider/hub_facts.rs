//! A hub's report about itself on a real API server, with exactly the rights that are made for it.
#![allow(missing_docs, reason = "a test says what it tests in its name")]

use std::{process::Command, time::Duration};

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use provider_testplatform::{
    config::{Config, HubFacts},
    controllers::hub_facts::controller::{Options, run},
    metrics::Metrics,
    rbac::{self, ServiceAccount},
};
use serde_json::{Value, json};
use testplatform_apis::{duration::GoDuration, hub::Facts, template::Backend};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, Cluster, SOON, at, at_root, has},
    control_plane::{ControlPlane, connect},
    hub::issue_in,
    kinds::{CRD, Kind},
    nest::Nest,
    ports::free_ports,
    program,
};

const CONFIG_MAP: Kind = Kind { api_version: "v1", kind: "ConfigMap" };
const HOSTED: &str = "hypershift.openshift.io/v1beta1";
const NAMESPACE: &str = "provider-testplatform";
/// Ten seconds between two writes, a look, and a machine that is busy.
const NEXT: Duration = Duration::from_secs(40);

pub async fn a_hub_tells_of_itself_in_one_config_map_alone() -> anyhow::Result<()> {
    let plane = ControlPlane::start("hub", &Binaries::ensure()?).await?;
    let hub = plane.cluster();
    define(hub, HOSTED, "HostedCluster", &["v1beta1"]).await?;
    define(hub, "cluster.x-k8s.io/", "Cluster", &["v1beta1", "v1beta2"]).await?;
    define(hub, "cluster.x-k8s.io/", "ClusterClass", &["v1beta1", "v1beta2"]).await?;
    define(hub, "agent-install.openshift.io/", "Agent", &["v1beta1"]).await?;
    for name in [NAMESPACE, "ephemeral-cluster", "hypershift", "clusters", "hosts"] {
        hub.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await?;
    }
    let text = "hubFacts:\n  mode: 'on'\n  backends: [hypershift, cluster-api, osac]\n  classes:\n    vm: {}\n    \
                metal: {agents: {namespace: hosts, matchLabels: {size: large}}}";
    let config = Config::parse("test", text)?;
    let manifests: Vec<Value> = serde_saphyr::from_multiple(&rbac::hub(&config, &ServiceAccount::default()))?;
    hub.apply_all(&manifests).await?;
    let credential = issue_in(&plane, NAMESPACE, "provider-testplatform", "facts").await?;
    let kubeconfig = credential.kubeconfig.to_string();
    let as_provider = Cluster::new("hub as provider", connect(&kubeconfig).await?);
    // More often than a configuration may say.
    let facts = HubFacts { period: GoDuration::from_secs(1), ..config.hub_facts };
    let options = Options::new(as_provider.client(), facts, now);
    furnish(hub).await?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let metrics = Metrics::default();
    let running = tokio::spawn(run(
        options,
        metrics.hub(),
        Box::pin(async {
            let _ = stopped.await;
        }),
    ));
    let lived = live(hub, &as_provider).await.and_then(|()| counted(&metrics));
    let _ = stop.send(());
    tokio::time::timeout(Duration::from_secs(5), running).await.context("it does not end")??;
    lived?;
    program(&plane, &kubeconfig, text).await
}

/// The whole program: it leads, and tells.
async fn program(plane: &ControlPlane, kubeconfig: &str, text: &str) -> anyhow::Result<()> {
    plane.cluster().delete(&here()).await?;
    let nest = Nest::new("facts", None)?;
    nest.file("kubeconfig", kubeconfig)?;
    let [port] = free_ports()?;
    nest.file("config.yaml", format!("{text}\nhttp: {{address: '127.0.0.1:{port}'}}\n"))?;
    let mut command = Command::new(program::provider()?);
    command.args(["--config=config.yaml", "--kubeconfig=kubeconfig", "--log-format=text"]);
    let mut provider = nest.spawn("provider", &mut command)?;
    let told = plane.cluster().until_is(&here(), NEXT, "told", |m| told(m).is_some()).await;
    provider.check()?;
    let told = told.with_context(|| provider.tail())?;
    provider.terminate();
    let version = told["metadata"]["managedFields"].as_array().context("no managers")?;
    ensure!(version.len() == 1, "{version:?}");
    Ok(())
}

/// More clusters than a page has, hosts of two sizes, and what HyperShift says.
async fn furnish(hub: &Cluster) -> anyhow::Result<()> {
    for i in 0..103 {
        let available = if i < 100 { "True" } else { "False" };
        let status = json!({ "conditions": [{ "type": "Available", "status": available }] });
        hosted(hub, &format!("c-{i}"), &status).await?;
    }
    let agent = |name: &str, size: &str, spec: Value| {
        json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent",
            "metadata": { "name": name, "namespace": "hosts", "labels": { "size": size } }, "spec": spec,
        })
    };
    for agent in [
        agent("free", "large", json!({ "approved": true })),
        agent("taken", "large", json!({ "approved": true, "clusterDeploymentName": { "name": "x" } })),
        agent("new", "large", json!({ "approved": false })),
        agent("small", "small", json!({ "approved": true })),
    ] {
        hub.create(&agent).await?;
    }
    for (namespace, name) in [("hosts", "large"), ("clusters", "small")] {
        hub.create(&json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass",
            "metadata": { "name": name, "namespace": namespace },
        }))
        .await?;
    }
    let versions =
        json!({ "supported-versions": r#"{"versions":["4.21","4.20"]}"#, "server-version": "abc" });
    hub.create(&map("hypershift", "supported-versions", &versions)).await?;
    Ok(())
}

fn map(namespace: &str, name: &str, data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": namespace }, "data": data })
}

async fn hosted(hub: &Cluster, name: &str, status: &Value) -> anyhow::Result<()> {
    let object = json!({
        "apiVersion": HOSTED, "kind": "HostedCluster", "metadata": { "name": name, "namespace": "clusters" },
        "spec": { "release": {} }, "status": status,
    });
    hub.create(&object).await?;
    Ok(())
}

fn here() -> At {
    at(CONFIG_MAP, NAMESPACE, "testplatform-hub")
}

fn told(map: &Value) -> Option<Facts> {
    Facts::from_json(map["data"]["facts"].as_str()?).ok()
}

async fn live(hub: &Cluster, as_provider: &Cluster) -> anyhow::Result<()> {
    let map_there = hub.until_is(&here(), SOON, "told", |m| told(m).is_some()).await?;
    let facts = told(&map_there).context("no facts")?;
    let hypershift = facts.backend_facts(Backend::HyperShift).context("no HyperShift")?;
    ensure!((hypershift.clusters, hypershift.provisioning) == (Some(103), Some(3)), "{hypershift:?}");
    ensure!(hypershift.versions == ["4.21", "4.20"], "{hypershift:?}");
    ensure!(hypershift.cluster_classes.is_none(), "{hypershift:?}");
    let capi = facts.backend_facts(Backend::ClusterApi).context("no Cluster API")?;
    let classes = ["clusters/small", "hosts/large"].map(str::to_owned);
    ensure!(capi.cluster_classes.as_deref() == Some(&classes[..]), "{capi:?}");
    let osac = facts.backend_facts(Backend::Osac).context("no OSAC")?;
    ensure!(
        osac.problem.as_deref().is_some_and(|p| p.contains("clusterorders of osac.openshift.io")),
        "{osac:?}"
    );
    ensure!(facts.capi_version.as_deref() == Some("v1beta2"), "{facts:?}");
    ensure!(facts.health.as_ref().is_some_and(|health| health.ready), "{facts:?}");
    ensure!(facts.classes["metal"].free == Some(1) && facts.classes["vm"].free.is_none(), "{facts:?}");
    ensure!(facts.cluster_count() == Some(103) && facts.provisioning_count() == Some(3), "{facts:?}");

    // A change is reported, but at least ten seconds after the last report.
    hosted(hub, "another", &json!({})).await?;
    let load = |load: i64| move |m: &Value| told(m).and_then(|f| f.cluster_count()) == Some(load);
    let later = hub.until_is(&here(), NEXT, "one more", load(104)).await?;
    let (first, second) = (facts.written_at, told(&later).and_then(|f| f.written_at));
    let between = second.zip(first).map(|(second, first)| second.duration_since(first).as_secs());
    ensure!(between.is_some_and(|seconds| seconds >= 10), "{between:?} s between two writes");

    // At rest nothing is written.
    let version = |map: &Value| map["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(Duration::from_secs(12)).await;
    let rested = hub.get(&here()).await?.context("gone")?;
    ensure!(version(&rested) == version(&later), "something was written at rest");

    // Whoever mirrors it may write it; what is told is nevertheless what is.
    hub.merge(&here(), &json!({ "data": { "facts": "{}" } })).await?;
    hub.until_is(&here(), NEXT, "repaired", load(104)).await?;
    hub.delete(&here()).await?;
    hub.until_is(&here(), NEXT, "made again", load(104)).await?;

    // No other ConfigMap, neither to read nor to write.
    let other = map(NAMESPACE, "other", &json!({}));
    let words = as_provider.apply(&other).await.err().context("it may make another ConfigMap")?;
    ensure!(format!("{words:#}").contains("forbidden"), "{words:#}");
    let words =
        as_provider.get(&at(CONFIG_MAP, "hypershift", "other")).await.err().context("it may read another")?;
    ensure!(format!("{words:#}").contains("forbidden"), "{words:#}");
    Ok(())
}

/// The metrics count this work.
fn counted(metrics: &Metrics) -> anyhow::Result<()> {
    let text = metrics.encode()?;
    for line in [
        "testplatform_hub_clusters{backend=\"hypershift\"} 104",
        "testplatform_hub_clusters_provisioning{backend=\"hypershift\"} 4",
        "testplatform_hub_clusters{backend=\"cluster-api\"} 0",
        "testplatform_hub_healthy{} 1",
    ] {
        ensure!(text.lines().any(|l| l == line), "{line} is missing: {text}");
    }
    for start in [
        "testplatform_hub_facts_written_timestamp_seconds{} ",
        "testplatform_hub_facts_reconciles_total{outcome=\"told\"} ",
    ] {
        ensure!(text.lines().any(|l| l.starts_with(start)), "{start} is missing: {text}");
    }
    ensure!(!text.contains("outcome=\"failed\""), "{text}");
    Ok(())
}

/// A kind's definition with the parts that matter: its names and versions.
async fn define(hub: &Cluster, api_version: &str, kind: &str, versions: &[&str]) -> anyhow::Result<()> {
    let (group, _) = api_version.split_once('/').context("no group")?;
    let singular = kind.to_lowercase();
    let plural = if singular.ends_with('s') { format!("{singular}es") } else { format!("{singular}s") };
    let name = format!("{plural}.{group}");
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let last = versions.last().context("no version")?;
    let version = |version: &&str| {
        json!({
            "name": version, "served": true, "storage": version == last, "schema": { "openAPIV3Schema": schema },
        })
    };
    hub.apply(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": name },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular },
            "versions": versions.iter().map(version).collect::<Vec<_>>(),
        },
    }))
    .await?;
    hub.until_is(&at_root(CRD, &name), SOON, "established", |crd| has(crd, "Established", "True", ""))
        .await
        .map(|_| ())
}

#[expect(clippy::disallowed_methods, reason = "a test that runs in real time")]
fn now() -> Timestamp {
    Timestamp::now()
}

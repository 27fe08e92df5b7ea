//! The controller of pools on a real API server, with exactly the rights that are made for it.
#![allow(missing_docs, reason = "a test says what it tests in its name")]

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use kube::{
    Client,
    config::{KubeConfigOptions, Kubeconfig},
};
use provider_testplatform::{
    config::{ClusterPools, Config},
    controllers::cluster_pool::controller::{Options, run},
    metrics::Metrics,
    rbac::{self, ServiceAccount},
};
use serde_json::{Value, json};
use testplatform_apis::{names::ours, pool_report::PoolStatus};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{Cluster, SOON, at, at_root, has},
    control_plane::ControlPlane,
    counted::until_counted,
    kinds::{CRD, Kind},
};

const POOL: Kind = Kind { api_version: "hive.openshift.io/v1", kind: "ClusterPool" };
const DEPLOYMENT: Kind = Kind { api_version: "hive.openshift.io/v1", kind: "ClusterDeployment" };
const EVENT: Kind = Kind { api_version: "events.k8s.io/v1", kind: "Event" };
const NAMESPACE: &str = "cluster-pools";

pub async fn a_pool_is_looked_after_by_one_annotation_alone() -> anyhow::Result<()> {
    let binaries = Binaries::ensure()?;
    let plane = ControlPlane::start("hub", &binaries).await?;
    let hub = plane.cluster();
    for kind in ["ClusterPool", "ClusterDeployment", "ClusterClaim", "ClusterImageSet"] {
        define(hub, kind).await?;
    }
    for name in [NAMESPACE, "elsewhere", "aws-420-abcde", "provider-testplatform", "ephemeral-cluster", "ci"]
    {
        hub.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await?;
    }
    let namespaces: BTreeSet<String> = [NAMESPACE.to_owned()].into();
    let config =
        Config { cluster_pool: ClusterPools { namespaces: namespaces.clone() }, ..Config::default() };
    let manifests: Vec<Value> = serde_saphyr::from_multiple(&rbac::hub(&config, &ServiceAccount::default()))?;
    hub.apply_all(&manifests).await?;

    let kubeconfig = Kubeconfig::read_from(plane.kubeconfig())?;
    let mut as_provider =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    as_provider.auth_info.impersonate =
        Some("system:serviceaccount:provider-testplatform:provider-testplatform".into());
    let client = Client::try_from(as_provider)?;
    let options = Options::new(client, namespaces, now);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let metrics = Metrics::default();
    let running = tokio::spawn(run(
        options,
        metrics.pools(),
        Box::pin(async {
            let _ = stopped.await;
        }),
    ));
    let lived = async {
        live(hub).await?;
        counted(&metrics).await
    };
    let lived = lived.await;
    let _ = stop.send(());
    tokio::time::timeout(Duration::from_secs(5), running).await.context("it does not end")??;
    lived
}

async fn live(hub: &Cluster) -> anyhow::Result<()> {
    hub.create(&json!({ "apiVersion": "hive.openshift.io/v1", "kind": "ClusterImageSet", "metadata": { "name": "i" }, "spec": { "releaseImage": "r1" } })).await?;
    let pool = |namespace: &str, annotations: Value| {
        json!({
            "apiVersion": "hive.openshift.io/v1", "kind": "ClusterPool",
            "metadata": { "name": "aws-420", "namespace": namespace, "annotations": annotations },
            "spec": { "size": 2, "runningCount": 1, "imageSetRef": { "name": "i" }, "platform": { "aws": { "credentialsSecretRef": { "name": "aws-1" } } } },
        })
    };
    let request = json!({ "size": 2, "credentials": { "name": "aws-1", "mode": "Replace" }, "onArtifactChange": "Report" });
    let made = hub.create(&pool(NAMESPACE, json!({ ours::POOL_REQUEST: request.to_string() }))).await?;
    let status = |pool: &Value| {
        let text = pool["metadata"]["annotations"][ours::POOL_STATUS].as_str()?;
        PoolStatus::from_annotation(text).ok()
    };
    let here = at(POOL, NAMESPACE, "aws-420");
    let seen = hub.until_is(&here, SOON, "looked at", |p| status(p).is_some()).await?;
    ensure!(seen["spec"] == made["spec"], "the spec is never written");
    let first = status(&seen).context("no annotation")?;
    ensure!(first.artifacts.is_some_and(|a| a.release_image == "r1"), "the release was read");

    // A cluster that fails: what it says is kept when it is gone.
    let labels = json!({ "hive.openshift.io/clusterpool-namespace": NAMESPACE, "hive.openshift.io/clusterpool-name": "aws-420" });
    hub.create(&json!({
        "apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment",
        "metadata": { "name": "aws-420-abcde", "namespace": "aws-420-abcde", "labels": labels },
        "spec": { "clusterPoolRef": { "namespace": NAMESPACE, "poolName": "aws-420", "claimName": "claim" } },
        "status": { "conditions": [{ "type": "ProvisionFailed", "status": "True", "reason": "AWSVPCLimitExceeded", "message": "AWS VPC limit exceeded" }] },
    }))
    .await?;
    let failed =
        |p: &Value| status(p).is_some_and(|s| s.claimed == Some(1) && s.last_provision_failure.is_some());
    hub.until_is(&here, SOON, "claimed, and failed", failed).await?;
    hub.delete(&at(DEPLOYMENT, "aws-420-abcde", "aws-420-abcde")).await?;
    let kept =
        |p: &Value| status(p).is_some_and(|s| s.claimed == Some(0) && s.last_provision_failure.is_some());
    hub.until_is(&here, SOON, "kept", kept).await?;
    let told = hub.list(EVENT).await?;
    ensure!(told.iter().filter(|e| e["reason"] == "ProvisionFailed").count() == 1, "told once");

    // A namesake that Git did not ask for is told of, and left alone.
    hub.create(&pool("elsewhere", json!({}))).await?;
    hub.until_is(&here, SOON, "a namesake", |p| status(p).is_some_and(|s| s.namesakes == ["elsewhere"]))
        .await?;
    // A refresh asks for a ceiling and writes no size.
    let asks = json!({ "size": 2, "refresh": { "nonce": "1" }, "credentials": { "name": "aws-1", "mode": "Replace" } });
    hub.create(&json!({
        "apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment",
        "metadata": { "name": "aws-420-fghij", "namespace": "aws-420-abcde", "labels": labels },
        "spec": { "installed": true, "clusterPoolRef": { "namespace": NAMESPACE, "poolName": "aws-420" } },
    }))
    .await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    hub.merge(&here, &json!({ "metadata": { "annotations": { ours::POOL_REQUEST: asks.to_string() } } }))
        .await?;
    let lowered = hub
        .until_is(&here, SOON, "lowered", |p| {
            status(p).is_some_and(|s| s.ceiling.is_some_and(|c| c.size == 0))
        })
        .await?;
    ensure!(lowered["spec"] == made["spec"], "the spec is never written");
    let elsewhere = hub.get(&at(POOL, "elsewhere", "aws-420")).await?.context("gone")?;
    ensure!(elsewhere["metadata"]["annotations"].get(ours::POOL_STATUS).is_none(), "not ours");
    Ok(())
}

/// The metrics count finished work, once it is written.
async fn counted(metrics: &Metrics) -> anyhow::Result<()> {
    let lines = [
        "testplatform_clusterpools{state=\"refreshing\"} 1",
        "testplatform_clusterpool_refresh_remaining_clusters{pool=\"cluster-pools/aws-420\"} 1",
        "testplatform_clusterpool_events_total{reason=\"ProvisionFailed\"} 1",
        "testplatform_clusterpool_events_total{reason=\"NameTaken\"} 1",
        "testplatform_clusterpool_events_total{reason=\"Refreshing\"} 1",
        "testplatform_provider_watch_lag_seconds{watch=\"pools\"} 0.0",
    ];
    let text = until_counted(|| Ok(metrics.encode()?), &lines, SOON).await?;
    let looks = "testplatform_clusterpool_reconciles_total{outcome=\"annotated\"} ";
    ensure!(text.lines().any(|line| line.starts_with(looks)), "{text}");
    Ok(())
}

/// Definition of a kind of Hive's with the parts that matter: its names and scope.
async fn define(hub: &Cluster, kind: &str) -> anyhow::Result<()> {
    let (singular, scope) =
        (kind.to_lowercase(), if kind == "ClusterImageSet" { "Cluster" } else { "Namespaced" });
    let name = format!("{singular}s.hive.openshift.io");
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    hub.apply(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": name },
        "spec": {
            "group": "hive.openshift.io", "scope": scope,
            "names": { "kind": kind, "listKind": format!("{kind}List"), "plural": format!("{singular}s"), "singular": singular },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
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

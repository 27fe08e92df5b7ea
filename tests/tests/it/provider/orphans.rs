//! The search for orphans on two real API servers, with exactly the rights that are shipped on either side.
//!
//! After a restore to an older snapshot a later composite and its Objects do not exist, and nothing ran their finalizers. So both are deleted here
//! while neither Crossplane nor provider-kubernetes runs, and the remote object stays.
#![allow(missing_docs, reason = "a test says what it tests in its name")]

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use kube::{
    Client,
    config::{KubeConfigOptions, Kubeconfig},
};
use provider_testplatform::{
    config::{Config, OrphanHub, OrphanMode, Orphans},
    controllers::orphans::{
        controller::{Options, run},
        report::{CONFIG_MAP, KEY, OrphanReport},
    },
    metrics::Metrics,
};
use serde_json::{Value, json};
use testplatform_apis::{duration::GoDuration, names::ours};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, Cluster, SOON, at, at_root},
    control_plane::ControlPlane,
    counted::until_counted,
    hub,
    kinds::{CLUSTER_ROLE, COMPOSITE, CONFIG_MAP as MAP, EPHEMERAL_CLUSTER, EVENT, Kind, OBJECT},
    manifests,
    patience::longer,
};

/// Namespace of the component, and name of its ServiceAccount.
pub const NAME: &str = "testplatform-orphans";
const HUB: &str = "testplatform-kubernetes-provider-config";
const KONFLUX: &str = "stone";
const BINDING: Kind = Kind { api_version: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding" };
/// Several times the grace period, and the interval between two listings.
const QUIET: Duration = Duration::from_secs(8);

#[expect(clippy::disallowed_methods, reason = "the clock of a test")]
fn now() -> Timestamp {
    Timestamp::now()
}

/// The search, while it runs.
pub struct Search {
    stop: tokio::sync::oneshot::Sender<()>,
    running: tokio::task::JoinHandle<()>,
    metrics: Metrics,
}

impl Search {
    /// As it is shipped, but for its mode, and for times that a configuration file could not name.
    pub async fn start(
        konflux: &ControlPlane,
        mode: OrphanMode,
        change: impl Fn(&mut OrphanHub),
    ) -> anyhow::Result<Self> {
        let shipped =
            serde_json::to_string(&manifests::package_one("install/components/orphans/config.yaml")?)?;
        let mut config = Orphans {
            mode,
            poll: GoDuration::from_secs(1),
            grace: GoDuration::from_secs(2),
            ..Config::parse("config.yaml", &shipped)?.orphans
        };
        config.hubs.values_mut().for_each(change);
        let kubeconfig = Kubeconfig::from_yaml(&std::fs::read_to_string(konflux.kubeconfig())?)?;
        let mut here =
            kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        here.auth_info.impersonate = Some(format!("system:serviceaccount:{NAME}:{NAME}"));
        let client = Client::try_from(here)?;
        let options = Options::new(client, config, now);
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let metrics = Metrics::default();
        let stop_signal = Box::pin(async {
            let _ = stopped.await;
        });
        let running = tokio::spawn(run(options, metrics.orphans(), stop_signal));
        Ok(Self { stop, running, metrics })
    }

    /// Waits until so many orphans are counted.
    pub async fn until_orphans(&self, count: usize) -> anyhow::Result<()> {
        let line = format!("testplatform_orphans{{hub=\"{HUB}\",remote_kind=\"EphemeralCluster\"}} {count}");
        until_counted(|| Ok(self.metrics.encode()?), &[line.as_str()], SOON).await.map(|_| ())
    }

    /// Waits until the report says that the hub is not listed completely for one of these reasons, and returns that. Then the metrics say it too.
    pub async fn until_not_listed(&self, konflux: &Cluster, reasons: &[&str]) -> anyhow::Result<String> {
        let failed = "provider_action_errors_total{action=\"list_hub\",reason=\"incomplete\"}";
        let begun = std::time::Instant::now();
        // The report may still be that of an earlier search.
        while !self.metrics.encode()?.contains(failed) {
            ensure!(begun.elapsed() < longer(SOON), "every hub is listed: {}", self.metrics.encode()?);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let error = |map: &Value| {
            let report = OrphanReport::parse(map["data"][KEY].as_str().unwrap_or_default());
            report.and_then(|report| report.hubs.first()?.error.clone())
        };
        let is_one =
            |map: &Value| error(map).is_some_and(|error| reasons.iter().any(|reason| error.contains(reason)));
        let map = konflux.until_is(&at(MAP, NAME, CONFIG_MAP), SOON, "not listed", is_one).await?;
        let page = self.metrics.encode()?;
        let never = format!("testplatform_orphans_listed_timestamp_seconds{{hub=\"{HUB}\"}} 0.0");
        ensure!(page.lines().any(|line| line == never), "{page}");
        Ok(error(&map).unwrap_or_default())
    }

    /// Waits until a report says that both sides were listed.
    async fn until_listed(&self, konflux: &Cluster) -> anyhow::Result<()> {
        let listed = |map: &Value| {
            let report = OrphanReport::parse(map["data"][KEY].as_str().unwrap_or_default());
            report.is_some_and(|report| report.hubs.iter().all(|hub| hub.error.is_none()))
        };
        konflux.until_is(&at(MAP, NAME, CONFIG_MAP), SOON, "listed", listed).await.map(|_| ())
    }

    pub async fn end(self) -> anyhow::Result<()> {
        let _ = self.stop.send(());
        tokio::time::timeout(Duration::from_secs(5), self.running).await.context("it does not end")??;
        Ok(())
    }
}

pub async fn orphans_are_reported_and_ended_after_a_grace_period_of_seconds() -> anyhow::Result<()> {
    let binaries = Binaries::ensure()?;
    let (konflux, hub) =
        tokio::try_join!(ControlPlane::start("konflux", &binaries), ControlPlane::start("hub", &binaries))?;
    hub::prepare(hub.cluster()).await?;
    prepare(konflux.cluster(), &hub).await?;
    for name in ["first", "second", "third", "reported", "ended"] {
        ask(konflux.cluster(), hub.cluster(), name).await?;
    }
    let untouched = others(hub.cluster()).await?;
    reported_and_not_touched(&konflux, hub.cluster()).await.context("in mode report")?;
    nothing_by_an_incomplete_listing(&konflux, hub.cluster()).await.context("without the right to list")?;
    ended(&konflux, hub.cluster()).await.context("in mode teardown")?;
    ended_beside_a_deleted_object(&konflux, hub.cluster()).await.context("with an Object that is stuck")?;
    for object in untouched {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let current = hub.cluster().get(&remote(name)).await?;
        ensure!(current.as_ref() == Some(&object), "{name} changed: {current:?}");
    }
    Ok(())
}

/// The Konflux side: definitions as Crossplane makes them, as far as it matters here, and what is shipped.
async fn prepare(konflux: &Cluster, hub: &ControlPlane) -> anyhow::Result<()> {
    for (group, version, kind, plural, short) in [
        ("ci.openshift.org", "v1alpha1", "XTestPlatformCluster", "xtestplatformclusters", "xtpc"),
        ("kubernetes.crossplane.io", "v1alpha2", "Object", "objects", "obj"),
        ("apiextensions.crossplane.io", "v1beta1", "EnvironmentConfig", "environmentconfigs", "envcfg"),
    ] {
        let schema =
            json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{group}") },
            "spec": {
                "group": group, "scope": "Cluster",
                "names": { "kind": kind, "plural": plural, "shortNames": [short] },
                "versions": [{ "name": version, "served": true, "storage": true, "schema": schema }],
            },
        });
        hub::define(konflux, &definition).await?;
    }
    let mut environment = manifests::package_one("install/overlays/crossplane/environment-config.yaml")?;
    environment["data"]["clusterName"] = KONFLUX.into();
    konflux.apply(&environment).await?;
    // The namespace of the hub's kubeconfig comes before the Role in it.
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "crossplane-system" } });
    konflux.apply(&namespace).await?;
    install_rights(konflux).await?;
    let identity = hub::issue(hub, hub::IDENTITY, "0").await?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "testplatform-appci-cluster", "namespace": "crossplane-system" },
        "stringData": { "kubeconfig": identity.kubeconfig.to_string() },
    });
    konflux.apply(&secret).await?;
    Ok(())
}

/// The namespace of the component and its rights, as they are shipped.
pub async fn install_rights(konflux: &Cluster) -> anyhow::Result<()> {
    for file in ["namespace", "rbac"] {
        let path = format!("install/components/orphans/{file}.yaml");
        konflux.apply_all(&manifests::package(&path)?).await?;
    }
    Ok(())
}

fn remote(name: &str) -> At {
    at(EPHEMERAL_CLUSTER, hub::NAMESPACE, name)
}

fn ephemeral_cluster(name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster",
        "metadata": { "name": name, "namespace": hub::NAMESPACE, "annotations": annotations },
        "spec": { "ciOperator": { "test": { "workflow": "openshift-e2e-aws" } } },
    })
}

fn marks(konflux: &str) -> Value {
    json!({
        "ephemeralcluster.ci.openshift.io/konflux-cluster": konflux,
        "ephemeralcluster.ci.openshift.io/konflux-tenant": "tenant-a",
    })
}

/// A composite, its Object, and its remote object, as the function and provider-kubernetes make them.
async fn ask(konflux: &Cluster, hub: &Cluster, name: &str) -> anyhow::Result<()> {
    let manifest = ephemeral_cluster(name, &marks(KONFLUX));
    konflux
        .create(&json!({
            "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformCluster", "metadata": { "name": name },
            "spec": { "claimRef": { "name": "demo", "namespace": "tenant-a" } },
        }))
        .await?;
    konflux
        .create(&json!({
            "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object",
            "metadata": { "name": format!("managed-{name}"), "labels": { "crossplane.io/composite": name } },
            "spec": { "forProvider": { "manifest": manifest }, "providerConfigRef": { "name": HUB } },
        }))
        .await?;
    hub.create(&manifest).await?;
    Ok(())
}

/// Loses a claim as a restore to an older snapshot does if the claim was made after it.
async fn lose(konflux: &Cluster, name: &str) -> anyhow::Result<()> {
    konflux.delete(&at_root(COMPOSITE, name)).await?;
    konflux.delete(&at_root(OBJECT, &format!("managed-{name}"))).await
}

/// Remote objects of others: without a mark, and of another Konflux cluster.
async fn others(hub: &Cluster) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    for (name, annotations) in [("unmarked", json!({})), ("neighbour", marks("other"))] {
        all.push(hub.create(&ephemeral_cluster(name, &annotations)).await?);
    }
    Ok(all)
}

/// The report.
pub async fn report(konflux: &Cluster) -> anyhow::Result<OrphanReport> {
    let map = konflux.get(&at(MAP, NAME, CONFIG_MAP)).await?.context("no report")?;
    OrphanReport::parse(map["data"][KEY].as_str().unwrap_or_default()).context("the report cannot be read")
}

/// State of each unowned remote object, by name.
async fn states(konflux: &Cluster) -> anyhow::Result<BTreeMap<String, String>> {
    let rows = report(konflux).await?.orphans;
    Ok(rows.into_iter().map(|row| (row.remote.identity.name, row.state)).collect())
}

async fn reported_and_not_touched(konflux: &ControlPlane, hub: &Cluster) -> anyhow::Result<()> {
    let before = hub.get(&remote("reported")).await?;
    let search = Search::start(konflux, OrphanMode::Report, |_| ()).await?;
    search.until_listed(konflux.cluster()).await?;
    lose(konflux.cluster(), "reported").await?;
    search.until_orphans(1).await?;
    tokio::time::sleep(QUIET).await;
    search.end().await?;
    let expected = BTreeMap::from([("reported".to_owned(), "Orphaned".to_owned())]);
    ensure!(states(konflux.cluster()).await? == expected);
    let report = report(konflux.cluster()).await?;
    let table = report.render_table(now());
    ensure!(table.contains("ephemeral-cluster/reported") && table.contains("tenant-a"), "{table}");
    ensure!((report.hubs[0].marked, report.hubs[0].unowned) == (5, 1), "{report:?}");
    let after = hub.get(&remote("reported")).await?;
    ensure!(after == before, "{after:?}");
    Ok(())
}

/// Its owner was recorded, and then it is lost; but the Konflux side cannot be listed.
async fn nothing_by_an_incomplete_listing(konflux: &ControlPlane, hub: &Cluster) -> anyhow::Result<()> {
    let search = Search::start(konflux, OrphanMode::Teardown, |_| ()).await?;
    let recorded = |object: &Value| object["metadata"]["annotations"][ours::KONFLUX_CLUSTER_UID].is_string();
    hub.until_is(&remote("ended"), SOON, "recorded", recorded).await?;
    let right = konflux.cluster().get(&at_root(BINDING, "provider-testplatform-orphans")).await?;
    ensure!(
        right.is_some()
            && konflux
                .cluster()
                .get(&at_root(CLUSTER_ROLE, "provider-testplatform-orphans"))
                .await?
                .is_some()
    );
    konflux.cluster().delete(&at_root(BINDING, "provider-testplatform-orphans")).await?;
    // RBAC is read from a cache.
    let failed = "testplatform_provider_action_errors_total{action=\"list_konflux\",reason=\"forbidden\"} 2";
    until_counted(|| Ok(search.metrics.encode()?), &[failed], SOON).await?;
    lose(konflux.cluster(), "ended").await?;
    tokio::time::sleep(QUIET).await;
    search.end().await?;
    let object = hub.get(&remote("ended")).await?.context("it is gone")?;
    ensure!(object["spec"]["tearDownCluster"].is_null(), "{object}");
    let error = report(konflux.cluster()).await?.hubs[0].error.clone().unwrap_or_default();
    ensure!(error.contains("forbidden"), "{error}");
    Ok(())
}

async fn ended(konflux: &ControlPlane, hub: &Cluster) -> anyhow::Result<()> {
    let rights = manifests::package("install/components/orphans/rbac.yaml")?;
    konflux.cluster().apply_all(&rights).await?;
    let search = Search::start(konflux, OrphanMode::Teardown, |_| ()).await?;
    let told = |object: &Value| object["spec"]["tearDownCluster"] == true;
    hub.until_is(&remote("ended"), SOON, "told to end", told).await?;
    // No owner was ever recorded on the other, which was lost while nothing was written.
    search.until_orphans(2).await?;
    let expected = [("ended", "Teardown"), ("reported", "Refused")];
    let expected = expected.map(|(name, state)| (name.to_owned(), state.to_owned()));
    ensure!(states(konflux.cluster()).await? == BTreeMap::from(expected));
    // The provider on the hub says that nothing is left, and the object goes.
    let status = json!({
        "phase": "Deprovisioned",
        "conditions": [{ "type": "ProwJobCompleted", "status": "True", "reason": "Done", "message": "",
            "lastTransitionTime": "2026-03-02T12:00:00Z" }],
    });
    hub.merge_status(&remote("ended"), &status).await?;
    hub.until_gone(&remote("ended"), SOON).await?;
    search.until_orphans(1).await?;
    search.end().await?;
    let events = konflux.cluster().list(EVENT).await?;
    let about = |event: &&Value| event["reason"] == "OrphanTeardown";
    ensure!(events.iter().filter(about).count() == 2, "{events:?}");
    for name in ["first", "second", "third", "reported"] {
        let object = hub.get(&remote(name)).await?.with_context(|| format!("{name} is gone"))?;
        ensure!(object["spec"]["tearDownCluster"].is_null(), "{object}");
    }
    Ok(())
}

/// A claim that was deleted while the hub refused a change of it: provider-kubernetes tries that change before it deletes anything, for ever.
async fn ended_beside_a_deleted_object(konflux: &ControlPlane, hub: &Cluster) -> anyhow::Result<()> {
    let search = Search::start(konflux, OrphanMode::Teardown, |_| ()).await?;
    ask(konflux.cluster(), hub, "refused").await?;
    let recorded = |object: &Value| object["metadata"]["annotations"][ours::KONFLUX_CLUSTER_UID].is_string();
    hub.until_is(&remote("refused"), SOON, "recorded", recorded).await?;
    let object = at_root(OBJECT, "managed-refused");
    let finalizers = json!(["finalizer.managedresource.crossplane.io"]);
    konflux.cluster().merge(&object, &json!({ "metadata": { "finalizers": finalizers } })).await?;
    lose(konflux.cluster(), "refused").await?;
    let told = |object: &Value| object["spec"]["tearDownCluster"] == true;
    hub.until_is(&remote("refused"), SOON, "told to end", told).await?;
    let object = konflux.cluster().get(&object).await?.context("its Object is gone")?;
    ensure!(object["metadata"]["deletionTimestamp"].is_string(), "{object}");
    search.end().await
}

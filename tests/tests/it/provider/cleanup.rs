//! The cleaner on a real API server, with exactly the rights that are made for it, for claims and for composites in namespaces.
#![allow(missing_docs, reason = "a test says what it tests in its name")]

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use jiff::{SignedDuration, Timestamp};
use kube::{
    Client,
    config::{KubeConfigOptions, Kubeconfig},
};
use provider_testplatform::{
    config::{Cleaned, Cleanups, Config, Switch},
    controllers::cleanup::controller::{Options, run},
    metrics::Metrics,
    rbac::{self, ServiceAccount},
};
use serde_json::{Value, json};
use testplatform_apis::{duration::GoDuration, names::ours};
use testplatform_tests::{
    cleaner::{NAME, know_runs, owned_by, run_status},
    cluster::{At, Cluster, SOON, at},
    control_plane::ControlPlane,
    hub::define,
    kinds::{CLAIM, CONFIG_MAP, EVENT, Kind, PIPELINE_RUN, TASK_RUN, TEST_CLUSTER},
};

const TENANT: &str = "tenant-a";
/// Long enough for anything that would be done wrongly.
const QUIET: Duration = Duration::from_secs(4);

#[expect(clippy::disallowed_methods, reason = "the clock of a test")]
fn now() -> Timestamp {
    Timestamp::now()
}

/// The cleaner, while it runs.
struct Cleaner {
    stop: tokio::sync::oneshot::Sender<()>,
    running: tokio::task::JoinHandle<()>,
    metrics: Metrics,
}

impl Cleaner {
    async fn start(plane: &ControlPlane, poll: GoDuration) -> anyhow::Result<Self> {
        let flavours = vec![Cleaned::Claims, Cleaned::TestClusters];
        let config = Cleanups { mode: Switch::On, flavours, poll };
        let options = Options::new(Client::try_from(identity(plane).await?)?, config, now);
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let metrics = Metrics::default();
        let running = tokio::spawn(run(
            options,
            metrics.cleanups(),
            Box::pin(async {
                let _ = stopped.await;
            }),
        ));
        Ok(Self { stop, running, metrics })
    }

    /// How often it was decided that a cluster is to be torn down: told to, and held.
    fn counted(&self, told: usize, held: usize) -> anyhow::Result<()> {
        let text = self.metrics.encode()?;
        for (outcome, times) in [("told", told), ("held", held)] {
            let line = format!("testplatform_cleanup_teardowns_total{{outcome=\"{outcome}\"}} {times}");
            ensure!(text.lines().any(|l| l == line), "{line} is missing: {text}");
        }
        Ok(())
    }

    async fn end(self) -> anyhow::Result<()> {
        let _ = self.stop.send(());
        tokio::time::timeout(Duration::from_secs(5), self.running).await.context("it does not end")??;
        Ok(())
    }
}

async fn identity(plane: &ControlPlane) -> anyhow::Result<kube::Config> {
    let kubeconfig = Kubeconfig::from_yaml(&std::fs::read_to_string(plane.kubeconfig())?)?;
    let mut here = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    here.auth_info.impersonate = Some(format!("system:serviceaccount:{NAME}:{NAME}"));
    Ok(here)
}

/// The rights, those to read runs apart.
fn rights() -> anyhow::Result<(Vec<Value>, Vec<Value>)> {
    let cleanup = Cleanups {
        mode: Switch::On,
        flavours: vec![Cleaned::Claims, Cleaned::TestClusters],
        ..Cleanups::default()
    };
    let mut config = Config { cleanup, ..Config::default() };
    config.leader_election.namespace = Some(NAME.into());
    let account = ServiceAccount { namespace: NAME.into(), name: NAME.into() };
    let all: Vec<Value> = serde_saphyr::from_multiple(&rbac::hub(&config, &account))?;
    let of_cleanup = |right: &Value| right["metadata"]["name"].to_string().contains("-cleanup-");
    let whole: Vec<Value> = all.into_iter().filter(of_cleanup).collect();
    let mut less = whole.clone();
    for role in less.iter_mut().filter(|role| role["kind"] == "ClusterRole") {
        let rules = role["rules"].as_array_mut().context("a role without rules")?;
        rules.retain(|rule| rule["apiGroups"][0] != "tekton.dev");
    }
    Ok((less, whole))
}

pub async fn clusters_that_nobody_needs_are_torn_down() -> anyhow::Result<()> {
    let binaries = testplatform_tests::binaries::Binaries::ensure()?;
    let plane = ControlPlane::start("konflux", &binaries).await?;
    let konflux = plane.cluster();
    for (kind, plural) in [("TestPlatformCluster", "testplatformclusters"), ("TestCluster", "testclusters")] {
        define(konflux, &definition(kind, plural)).await?;
    }
    know_runs(konflux).await?;
    for name in [TENANT, NAME] {
        konflux
            .apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }))
            .await?;
    }
    let (less, whole) = rights()?;
    ensure!(whole.len() == 6, "{whole:?}");
    konflux.apply_all(&less).await?;
    without_the_right(&plane, konflux, &whole).await.context("without the right to read runs")?;
    by_watch_and_after_a_restart(&plane, konflux).await.context("by watch, and after a restart")?;
    let cleaner = Cleaner::start(&plane, GoDuration::from_secs(2)).await?;
    let lived = async {
        against_a_no(konflux).await.context("against a no")?;
        // Once each, however often it was looked at meanwhile.
        told(konflux, "held", "CleanedUp").await?;
        cleaner.counted(1, 1)?;
        in_a_namespace(konflux).await.context("a TestCluster")?;
        left_alone(konflux).await.context("what is left alone")
    };
    let lived = lived.await;
    cleaner.end().await?;
    lived?;
    beside_what_is_nested_deep(&plane, konflux).await.context("beside what is nested deep")?;
    no_more_rights(&plane).await
}

/// As Crossplane defines it, as far as the cleaner cares.
fn definition(kind: &str, plural: &str) -> Value {
    let schema = json!({ "openAPIV3Schema": {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": { "tearDownCluster": { "type": "boolean" } },
            },
            "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        },
    } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.ci.openshift.org") },
        "spec": {
            "group": "ci.openshift.org", "scope": "Namespaced", "names": { "kind": kind, "plural": plural },
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true, "subresources": { "status": {} }, "schema": schema,
            }],
        },
    })
}

/// A run that goes on.
async fn begin(konflux: &Cluster, kind: Kind, name: &str) -> anyhow::Result<Value> {
    let made = konflux
        .create(&json!({
            "apiVersion": kind.api_version, "kind": kind.kind,
            "metadata": { "name": name, "namespace": TENANT }, "spec": {},
        }))
        .await?;
    konflux.merge_status(&at(kind, TENANT, name), &run_status(None)).await?;
    Ok(made)
}

async fn complete(konflux: &Cluster, kind: Kind, name: &str, ended: Timestamp) -> anyhow::Result<()> {
    let whole = Timestamp::from_second(ended.as_second())?.to_string();
    Ok(konflux.merge_status(&at(kind, TENANT, name), &run_status(Some(&whole))).await?)
}

async fn ask(
    konflux: &Cluster,
    kind: Kind,
    name: &str,
    owners: &[&Value],
    spec: &Value,
) -> anyhow::Result<At> {
    let owners: Vec<Value> = owners.iter().map(|owner| owned_by(owner)).collect();
    konflux
        .create(&json!({
            "apiVersion": kind.api_version, "kind": kind.kind,
            "metadata": { "name": name, "namespace": TENANT, "ownerReferences": owners }, "spec": spec,
        }))
        .await?;
    Ok(at(kind, TENANT, name))
}

fn cleanup(kept: &str) -> Value {
    json!({ "ciOperator": {}, "cleanup": { "onOwnerCompletion": true, "keepForDebug": kept } })
}

fn noted(claim: &Value) -> Option<&str> {
    let note = claim["metadata"]["annotations"][ours::CLEANUP_SINCE].as_str();
    note.filter(|note| note.starts_with("20"))
}

async fn torn_down(konflux: &Cluster, claim: &At) -> anyhow::Result<Value> {
    konflux.until_is(claim, SOON, "told to end", |claim| claim["spec"]["tearDownCluster"] == true).await
}

async fn told(konflux: &Cluster, claim: &str, reason: &str) -> anyhow::Result<()> {
    let is = |event: &Value| event["involvedObject"]["name"] == claim && event["reason"] == reason;
    konflux.until_some(EVENT, TENANT, SOON, reason, is).await.map(|_| ())
}

async fn still(konflux: &Cluster, claim: &At) -> anyhow::Result<Value> {
    tokio::time::sleep(QUIET).await;
    let claim = konflux.get(claim).await?.context("it is gone")?;
    ensure!(claim["spec"]["tearDownCluster"] != true, "{claim}");
    Ok(claim)
}

async fn without_the_right(plane: &ControlPlane, konflux: &Cluster, whole: &[Value]) -> anyhow::Result<()> {
    let cleaner = Cleaner::start(plane, GoDuration::from_secs(2)).await?;
    let run = begin(konflux, PIPELINE_RUN, "unread").await?;
    complete(konflux, PIPELINE_RUN, "unread", now()).await?;
    let claim = ask(konflux, CLAIM, "unread", &[&run], &cleanup("0s")).await?;
    told(konflux, "unread", "CleanupForbidden").await?;
    ensure!(noted(&still(konflux, &claim).await?).is_none(), "planned without a right");
    cleaner.counted(0, 0)?;
    konflux.apply_all(whole).await?;
    torn_down(konflux, &claim).await?;
    told(konflux, "unread", "CleanedUp").await?;
    cleaner.counted(1, 0)?;
    cleaner.end().await
}

/// The poll is too slow to help here.
async fn by_watch_and_after_a_restart(plane: &ControlPlane, konflux: &Cluster) -> anyhow::Result<()> {
    let cleaner = Cleaner::start(plane, GoDuration::from_hours(1)).await?;
    let first = begin(konflux, PIPELINE_RUN, "first").await?;
    let second = begin(konflux, TASK_RUN, "second").await?;
    let claim = ask(konflux, CLAIM, "demo", &[&first, &second], &cleanup("1h")).await?;
    still(konflux, &claim).await?;
    let ended = now();
    complete(konflux, PIPELINE_RUN, "first", ended - SignedDuration::from_mins(5)).await?;
    ensure!(noted(&still(konflux, &claim).await?).is_none(), "one of two runs goes on");
    complete(konflux, TASK_RUN, "second", ended).await?;
    let since = Timestamp::from_second(ended.as_second())?.to_string();
    let is_noted = |claim: &Value| noted(claim) == Some(since.as_str());
    konflux.until_is(&claim, SOON, "noted", is_noted).await?;
    told(konflux, "demo", "CleanupPlanned").await?;
    // A lie of the tenant's is put right, and ends nothing.
    let lie = json!({ "metadata": { "annotations": { ours::CLEANUP_SINCE: "2020-01-01T00:00:00Z" } } });
    konflux.merge(&claim, &lie).await?;
    konflux.until_is(&claim, SOON, "noted as it was", is_noted).await?;
    cleaner.end().await?;

    let cleaner = Cleaner::start(plane, GoDuration::from_hours(1)).await?;
    ensure!(is_noted(&still(konflux, &claim).await?), "another process decides something else");
    konflux.merge(&claim, &json!({ "spec": { "cleanup": { "keepForDebug": "0s" } } })).await?;
    let ended = torn_down(konflux, &claim).await?;
    let manager =
        |field: &&Value| field["manager"] == "provider-testplatform-cleanup" && field["operation"] == "Apply";
    let fields = ended["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    ensure!(fields.iter().find(manager).is_some(), "{fields:?}");
    ensure!(ended["metadata"]["deletionTimestamp"].is_null() && is_noted(&ended), "{ended}");
    told(konflux, "demo", "CleanedUp").await?;
    cleaner.end().await
}

async fn against_a_no(konflux: &Cluster) -> anyhow::Result<()> {
    let run = begin(konflux, PIPELINE_RUN, "held").await?;
    complete(konflux, PIPELINE_RUN, "held", now()).await?;
    let mut spec = cleanup("0s");
    spec["tearDownCluster"] = false.into();
    let claim = ask(konflux, CLAIM, "held", &[&run], &spec).await?;
    told(konflux, "held", "CleanupHeld").await?;
    let before = still(konflux, &claim).await?;
    let after = still(konflux, &claim).await?;
    ensure!(
        before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"],
        "it is fought for"
    );
    konflux.merge(&claim, &json!({ "spec": { "tearDownCluster": null } })).await?;
    torn_down(konflux, &claim).await.map(|_| ())
}

/// Its run is gone, and something else that owns it keeps it.
async fn in_a_namespace(konflux: &Cluster) -> anyhow::Result<()> {
    let run = begin(konflux, TASK_RUN, "gone").await?;
    let other = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "other", "namespace": TENANT } });
    let other = konflux.create(&other).await?;
    let claim = ask(konflux, TEST_CLUSTER, "gone", &[&run, &other], &cleanup("0s")).await?;
    still(konflux, &claim).await?;
    konflux.delete(&at(TASK_RUN, TENANT, "gone")).await?;
    torn_down(konflux, &claim).await?;
    ensure!(konflux.get(&at(CONFIG_MAP, TENANT, "other")).await?.is_some());
    // One that Failed needs no run.
    let failed = ask(konflux, TEST_CLUSTER, "failed", &[], &cleanup("0s")).await?;
    told(konflux, "failed", "CleanupWithoutOwner").await?;
    still(konflux, &failed).await?;
    konflux.merge_status(&failed, &json!({ "phase": "Failed" })).await?;
    torn_down(konflux, &failed).await.map(|_| ())
}

async fn left_alone(konflux: &Cluster) -> anyhow::Result<()> {
    let run = begin(konflux, PIPELINE_RUN, "off").await?;
    complete(konflux, PIPELINE_RUN, "off", now()).await?;
    let off = ask(konflux, CLAIM, "off", &[&run], &json!({ "ciOperator": {} })).await?;
    let going = json!({ "cleanup": { "onOwnerCompletion": true }, "ciOperator": {} });
    let over = ask(konflux, CLAIM, "over", &[&run], &going).await?;
    // A claim that is torn down already is not torn down again, before or after the first reconcile.
    konflux.merge_status(&over, &json!({ "phase": "Deprovisioned" })).await?;
    let off = still(konflux, &off).await?;
    ensure!(noted(&off).is_none(), "{off}");
    Ok(())
}

/// Whatever somebody nests in a claim, that of another is torn down, and that claim itself: when it is heard of, and when it is listed.
async fn beside_what_is_nested_deep(plane: &ControlPlane, konflux: &Cluster) -> anyhow::Result<()> {
    let run = begin(konflux, PIPELINE_RUN, "nested").await?;
    complete(konflux, PIPELINE_RUN, "nested", now()).await?;
    let cleaner = Cleaner::start(plane, GoDuration::from_secs(2)).await?;
    ask_deep(konflux, "heard", &run).await?;
    let heard = ask(konflux, CLAIM, "heard", &[&run], &cleanup("0s")).await?;
    torn_down(konflux, &heard).await?;
    torn_down_deep(konflux, "heard").await?;
    cleaner.end().await?;

    ask_deep(konflux, "listed", &run).await?;
    let listed = ask(konflux, CLAIM, "listed", &[&run], &cleanup("0s")).await?;
    let cleaner = Cleaner::start(plane, GoDuration::from_secs(2)).await?;
    torn_down(konflux, &listed).await?;
    torn_down_deep(konflux, "listed").await?;
    let text = cleaner.metrics.encode()?;
    for watch in ["cleaned-claims", "cleaned-testclusters"] {
        let line = format!("testplatform_provider_watch_lag_seconds{{watch=\"{watch}\"}} 0.0");
        ensure!(text.lines().any(|l| l == line), "{line} is missing: {text}");
    }
    cleaner.end().await
}

/// Puts a value into another one.
type Wrap = fn(Value) -> Value;

/// Names of the claims with deep nesting, and the kind of nesting.
const DEEP: [(&str, Wrap); 2] = [("lists", |inner| json!([inner])), ("maps", |inner| json!({ "a": inner }))];

/// Asks with parameters that are nested deeper than the test itself can read them in the answer.
async fn ask_deep(konflux: &Cluster, name: &str, owner: &Value) -> anyhow::Result<()> {
    for (how, wrap) in DEEP {
        let mut spec = cleanup("0s");
        spec["parameters"] = json!({ "deep": (0..200).fold(json!(1), |inner, _| wrap(inner)) });
        let asked = ask(konflux, CLAIM, &format!("{name}-{how}"), &[owner], &spec).await;
        let error = asked.err().context("this is not deep")?;
        let unread = matches!(error.downcast_ref::<kube::Error>(), Some(kube::Error::SerdeError(_)));
        ensure!(unread, "{error:#}");
    }
    Ok(())
}

/// Waits until these are told to end, which stands in their text.
async fn torn_down_deep(konflux: &Cluster, name: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    for (how, _) in DEEP {
        let claims = format!("/apis/{}/namespaces/{TENANT}/testplatformclusters", CLAIM.api_version);
        let path = format!("{claims}/{name}-{how}");
        loop {
            let request = http::Request::get(path.as_str()).body(Vec::new())?;
            if konflux.client().request_text(request).await?.contains("\"tearDownCluster\":true") {
                break;
            }
            ensure!(begun.elapsed() < SOON, "{name}-{how} is not told to end");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

/// It reads runs by their names, and neither lists them nor makes or ends a claim.
async fn no_more_rights(plane: &ControlPlane) -> anyhow::Result<()> {
    let cleaner = Cluster::new("cleaner", Client::try_from(identity(plane).await?)?);
    let forbidden = |answer: anyhow::Result<()>, what: &str| {
        let error = answer.err().with_context(|| format!("{what} is allowed"))?;
        ensure!(format!("{error:#}").contains("forbidden"), "{what}: {error:#}");
        anyhow::Ok(())
    };
    forbidden(cleaner.list(PIPELINE_RUN).await.map(|_| ()), "listing PipelineRuns")?;
    forbidden(cleaner.list(TASK_RUN).await.map(|_| ()), "listing TaskRuns")?;
    forbidden(cleaner.delete(&at(CLAIM, TENANT, "demo")).await, "deleting a claim")?;
    forbidden(cleaner.delete(&at(PIPELINE_RUN, TENANT, "first")).await, "deleting a run")?;
    forbidden(ask(&cleaner, CLAIM, "own", &[], &cleanup("0s")).await.map(|_| ()), "making a claim")?;
    let status = cleaner.merge_status(&at(CLAIM, TENANT, "demo"), &json!({ "phase": "Ready" })).await;
    forbidden(status.map_err(Into::into), "writing a status")
}

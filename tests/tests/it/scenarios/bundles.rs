//! A template's bundles: set-up of its clusters, and work in them before their teardown, with a control plane of its own as the delivered
//! cluster.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_apis::{bundle::REPORT, names::crossplane};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, at, at_root, has},
    control_plane::ControlPlane,
    hive::objects::text,
    hypershift::{self, CLUSTERS, hosted_cluster},
    kinds::{CONFIG_MAP, CRD, Kind},
    promise,
    tenant::{Tenant, decoded},
    witness::Witness,
};

use super::{service_account::admin, templates::Entry};

/// How long a step takes at most that comes about through what stands on a ConfigMap or through what holds another Object. Neither is watched by
/// provider-kubernetes: the first it reads twice a minute, of the second it asks later and later, up to once a minute, and two of them come one
/// after the other.
const GONE: Duration = Duration::from_mins(4);

/// A kind that the delivered cluster has once the first bundle is applied.
const PROBE: Kind = Kind { api_version: "probes.example.com/v1", kind: "Probe" };

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "probes.probes.example.com" },
        "spec": {
            "group": "probes.example.com", "scope": "Cluster",
            "names": { "plural": "probes", "singular": "probe", "kind": "Probe", "listKind": "ProbeList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    })
}

/// An entry whose clusters get a definition and an object of it, and have to be looked after before they go.
async fn entry<'t>(tenant: &'t Tenant<'t>) -> anyhow::Result<Entry<'t>> {
    let mut entry = Entry::new(tenant, hypershift::template()?, "");
    let probe = json!({
        "apiVersion": PROBE.api_version, "kind": PROBE.kind, "metadata": { "name": "{name}" }, "spec": { "of": "{tenant}" },
    });
    let backup = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "backup", "namespace": "default" } });
    let unwanted = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "unwanted", "namespace": "default" } });
    entry
        .offer(|data| {
            data["parameters"]["monitoring"] = json!({ "type": "boolean", "default": false, "immutable": true });
            data["postInstall"] = json!([
                { "name": "definitions", "manifests": [{ "object": definition() }] },
                {
                    "name": "monitoring", "when": { "parameter": "monitoring", "equals": true },
                    "manifests": [{ "object": unwanted }],
                },
                {
                    "name": "probes", "timeout": "5m",
                    "manifests": [{ "object": probe, "ready": "has(object.status) && object.status.well == true" }],
                },
            ]);
            data["preDelete"] = json!([{
                "name": "backup", "timeout": "5m",
                "manifests": [{ "object": backup, "ready": "has(object.data) && 'done' in object.data" }],
            }]);
        })
        .await?;
    Ok(entry)
}

/// The claim, and the cluster that is delivered for it. Its bundles are under way.
async fn begun<'t>(tenant: &'t Tenant<'t>) -> anyhow::Result<(ControlPlane, Entry<'t>, String)> {
    let delivered =
        ControlPlane::start(&format!("delivered-to-{}", tenant.name), &Binaries::ensure()?).await?;
    let (kubeconfig, _) = admin(&delivered).await?;
    let entry = entry(tenant).await?;
    tenant.ask(&json!({ "template": entry.name() })).await?;
    tenant.until_condition("ControlPlaneAvailable", "True", "").await?;
    let claim = tenant.until_phase("Provisioning").await?;
    let name = text(&claim, "/status/backend/name").to_owned();
    tenant.hypershift().await?.rotate(&name, &kubeconfig).await?;
    Ok((delivered, entry, name))
}

fn carried(name: &str) -> At {
    at(CONFIG_MAP, CLUSTERS, &format!("{name}-bundles"))
}

async fn do_backup(tenant: &Tenant<'_>, delivered: &ControlPlane, name: &str) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let backup = at(CONFIG_MAP, "default", "backup");
    delivered.cluster().until_is(&backup, GONE, "made", |_| true).await?;
    let lives = |cluster: Option<&Value>| {
        cluster.is_some_and(|cluster| cluster["metadata"]["deletionTimestamp"].is_null())
    };
    let cluster = Witness::of(hub, &hosted_cluster(name), lives).await?;
    let held = hub.get(&carried(name)).await?.context("the bundles are gone")?;
    ensure!(held["metadata"]["deletionTimestamp"].is_string(), "they are not on their way out: {held}");
    tokio::time::sleep(Duration::from_secs(3)).await;
    cluster.verdict().await?;
    drop(cluster);
    delivered.cluster().merge(&backup, &json!({ "data": { "done": "yes" } })).await?;
    hub.until_gone(&carried(name), GONE).await
}

/// As where provider-kubernetes missed to set its finalizer on what an Object depends on: it tries once, and loses that to any other write.
async fn lose_the_hold(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let held = |writer: &Value| {
        let all = writer["metadata"]["finalizers"].as_array();
        let mut all = all.into_iter().flatten().filter_map(Value::as_str);
        all.any(|finalizer| finalizer.starts_with("kubernetes.crossplane.io/referred-by-object-"))
    };
    let (konflux, writer) = (tenant.konflux(), tenant.writer().await?);
    konflux.until_is(&writer, GONE, "held", held).await?;
    konflux.merge(&writer, &json!({ "metadata": { "finalizers": [crossplane::FINALIZER] } })).await?;
    konflux.until_is(&writer, GONE, "held by our word", held).await.map(|_| ())
}

/// From the report to Ready. provider-kubernetes would read the ConfigMap half a minute later.
const PROMISED: Duration = Duration::from_secs(10);

/// Ready waits for what is set up, and the end for what comes before it, whoever said that the cluster is held.
pub async fn hypershift_bundles(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (delivered, entry, name) = begun(tenant).await?;
    let inside = delivered.cluster();
    let probe = at_root(PROBE, &name);
    let made = inside.until_is(&probe, GONE, "made", |_| true).await?;
    ensure!(made["spec"]["of"] == tenant.namespace.as_str(), "{made}");
    ensure!(
        inside.get(&at_root(CRD, "probes.probes.example.com")).await?.is_some(),
        "made without its definition"
    );
    let running = |claim: &Value| has(claim, "TemplateApplied", "False", "Running");
    let claim = tenant.until(GONE, "told that bundles are under way", running).await?;
    ensure!(claim["status"]["phase"] == "Provisioning", "{claim}");
    let claim = tenant
        .until(GONE, "with what it waits for", |claim| {
            let words = claim["status"]["conditions"].to_string();
            words.contains("postInstall/probes") && words.contains(&format!("Probe {name}"))
        })
        .await?;
    ensure!(!has(&claim, "ClusterReady", "True", ""), "{claim}");
    let secret = tenant.konflux().get(&tenant.secret()).await?;
    let given = secret
        .as_ref()
        .is_some_and(|secret| decoded(secret).get("kubeconfig").is_some_and(|k| !k.is_empty()));
    ensure!(!given, "the kubeconfig was given before everything was set up");

    lose_the_hold(tenant).await?;

    // The catalogue may change: this cluster has what it was asked for with.
    tenant.konflux().delete(&entry.at()).await?;
    inside.merge(&probe, &json!({ "status": { "well": true } })).await?;
    let applied = |map: &Value| {
        map["metadata"]["annotations"][REPORT].as_str().is_some_and(|report| report.contains("Applied"))
    };
    tenant.engine.hub.cluster().until_is(&carried(&name), GONE, "applied", applied).await?;
    let reported = Instant::now();
    tenant.until(GONE, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    let took = reported.elapsed();
    eprintln!("Ready {} ms after the report that all bundles are applied", took.as_millis());
    promise::kept(PROMISED, Duration::ZERO, took)?;
    tenant.until_condition("TemplateApplied", "True", "Applied").await?;
    tenant.until_condition("ClusterReady", "True", "Ready").await?;
    ensure!(
        inside.get(&at(CONFIG_MAP, "default", "unwanted")).await?.is_none(),
        "an add-on that nobody asked for is there"
    );

    tenant.change(&json!({ "tearDownCluster": true })).await?;
    let told = |claim: &Value| {
        claim["status"]["phase"] == "Deprovisioning"
            && claim["status"].to_string().contains("preDelete/backup")
    };
    tenant.until(GONE, "told what it waits for", told).await?;
    do_backup(tenant, &delivered, &name).await?;
    tenant.until(GONE, "over", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    let gone = tenant.engine.hub.cluster().get(&hosted_cluster(&name)).await?.is_none();
    ensure!(gone, "Deprovisioned, and the cluster is there");
    Ok(())
}

/// The work before the teardown also happens where the claim is deleted, and nobody calls the function.
pub async fn hypershift_bundles_claim_deleted(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (delivered, entry, name) = begun(tenant).await?;
    let probe = at_root(PROBE, &name);
    delivered.cluster().until_is(&probe, GONE, "made", |_| true).await?;
    delivered.cluster().merge(&probe, &json!({ "status": { "well": true } })).await?;
    tenant.until(GONE, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    lose_the_hold(tenant).await?;
    let composite = tenant.composite_at().await?;
    tenant.konflux().delete(&tenant.claim()).await?;
    do_backup(tenant, &delivered, &name).await?;
    tenant.engine.hub.cluster().until_gone(&hosted_cluster(&name), GONE).await?;
    tenant.konflux().until_gone(&composite, GONE).await?;
    tenant.konflux().delete(&entry.at()).await
}

//! Pools that a real API server accepts and refuses, with the definition that real Crossplane core makes of our XRD; and who may change a
//! pool's size.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use kube::{
    Api,
    api::{DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use testplatform_apis::pool::{
    ALWAYS_RUNNING, EXTERNAL_EXCLUDES, ONE_PLATFORM, PLACE_IMMUTABLE, SPAN_RULE, TIME_OF_DAY_RULE,
};
use testplatform_tests::{
    cluster::{Cluster, SOON, at_root, has},
    definitions::Definitions,
    kinds::{CRD, Kind, XRD, resource},
    manifests, patience, settings,
};

const POOL: Kind = Kind { api_version: "ci.openshift.org/v1alpha1", kind: "XTestPlatformClusterPool" };
const NAME: &str = "xtestplatformclusterpools.ci.openshift.org";
const HIVE: &str = "clusterpools.hive.openshift.io";

/// One control plane for all of it.
pub async fn definitions_and_pools() -> anyhow::Result<()> {
    let definitions = Definitions::start().await?;
    let konflux = definitions.konflux.cluster();
    let steps = async {
        konflux.apply(&manifests::package_one(&format!("xrds/{NAME}.yaml"))?).await?;
        konflux.apply(&manifests::package_one("compositions/testplatform-cluster-pool.yaml")?).await?;
        konflux
            .until_is(&at_root(XRD, NAME), SOON, "established", |x| has(x, "Established", "True", ""))
            .await?;
        konflux
            .until_is(&at_root(CRD, NAME), SOON, "established", |c| has(c, "Established", "True", ""))
            .await?;
        what_is_right_is_taken(konflux).await.context("taken")?;
        what_cannot_be_is_refused(konflux).await.context("refused")?;
        a_pool_does_not_move(konflux).await.context("unchangeable")?;
        the_size_changes_hands(konflux).await.context("the size")
    };
    let outcome: anyhow::Result<()> = steps.await;
    outcome.with_context(|| definitions.words())
}

fn pool(name: &str, changes: &Value) -> Value {
    let mut spec = json!({
        "namespace": "cluster-pools", "providerConfig": "hive-1", "size": 3, "baseDomain": "ci.example.com",
        "imageSetRef": { "name": "ocp-4.20" }, "credentialsRef": { "name": "aws-1" },
        "platform": { "aws": { "region": "us-east-1" } },
    });
    for (key, value) in changes.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    json!({ "apiVersion": POOL.api_version, "kind": POOL.kind, "metadata": { "name": name }, "spec": spec })
}

async fn what_is_right_is_taken(konflux: &Cluster) -> anyhow::Result<()> {
    for example in ["pool-windows", "pool-rotation"] {
        let path = settings::repository().join("examples").join(example).join("pool.yaml");
        let mut example = manifests::read(&path)?.pop().context("an empty example")?;
        // Both are states of one pool.
        example["metadata"] =
            json!({ "name": path.parent().and_then(|p| p.file_name()).map(|n| n.to_string_lossy()) });
        konflux.create(&example).await.with_context(|| format!("refused: {example}"))?;
    }
    konflux.create(&pool("plain", &json!({}))).await?;
    // The fields of a platform are Hive's, and arrive complete.
    let tagged = json!({ "platform": { "aws": { "region": "r", "userTags": { "a": "b" }, "brandNew": { "deep": 1 } } } });
    let stored = konflux.create(&pool("tagged", &tagged)).await?;
    ensure!(stored["spec"]["platform"] == tagged["platform"], "{}", stored["spec"]["platform"]);
    Ok(())
}

async fn what_cannot_be_is_refused(konflux: &Cluster) -> anyhow::Result<()> {
    let window = |start: &str| json!({ "timeZone": "UTC", "windows": [{ "name": "w", "start": start, "end": "18:00", "size": 1 }] });
    let cases = [
        (json!({ "platform": {} }), ONE_PLATFORM),
        (json!({ "platform": { "aws": {}, "gcp": {} } }), ONE_PLATFORM),
        (json!({ "platform": { "openstack": { "cloud": "c" } } }), ALWAYS_RUNNING),
        (
            json!({ "platform": { "vsphere": {} }, "runningCount": 3, "schedule": { "timeZone": "UTC", "windows": [
            { "name": "w", "start": "07:00", "end": "18:00", "size": 4, "runningCount": 3 },
        ] } }),
            ALWAYS_RUNNING,
        ),
        (json!({ "scalingMode": "External", "schedule": window("07:00") }), EXTERNAL_EXCLUDES),
        (json!({ "schedule": window("7:00") }), TIME_OF_DAY_RULE),
        (json!({ "resumeTimeout": "1s" }), SPAN_RULE),
    ];
    for (changes, words) in cases {
        let answer = konflux.create(&pool("refused", &changes)).await;
        refused(answer.map(|_| ()), words).with_context(|| changes.to_string())?;
    }
    Ok(())
}

async fn a_pool_does_not_move(konflux: &Cluster) -> anyhow::Result<()> {
    let plain = at_root(POOL, "plain");
    for change in [json!({ "namespace": "x" }), json!({ "providerConfig": "x" }), json!({ "name": "x" })] {
        refused(konflux.merge(&plain, &json!({ "spec": change })).await, PLACE_IMMUTABLE)?;
    }
    konflux.merge(&plain, &json!({ "spec": { "size": 5, "drain": true } })).await?;
    Ok(())
}

/// With server-side apply a field that its only owner leaves out is gone, and Hive requires the size. With a second owner it stays; whoever
/// scales takes it over from both.
async fn the_size_changes_hands(konflux: &Cluster) -> anyhow::Result<()> {
    konflux.apply(&manifests::foreign_crd(HIVE)?).await?;
    konflux.until_is(&at_root(CRD, HIVE), SOON, "established", |c| has(c, "Established", "True", "")).await?;
    let api: Api<DynamicObject> =
        Api::namespaced_with(konflux.client(), "default", &resource("hive.openshift.io/v1", "ClusterPool"));
    // An API server shows a definition a moment before it goes by it.
    let served = async {
        while api.list(&ListParams::default()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    patience::timeout(SOON, served).await.context("it is never served")?;
    let metadata = json!({ "name": "p", "namespace": "default" });
    let head = json!({ "apiVersion": "hive.openshift.io/v1", "kind": "ClusterPool", "metadata": metadata });
    let with = |spec: Value| {
        let mut object = head.clone();
        object["spec"] = spec;
        object
    };
    let rest = json!({ "baseDomain": "d", "imageSetRef": { "name": "i" }, "platform": { "aws": { "region": "r" } } });
    let mut whole = rest.clone();
    whole["size"] = json!(3);
    let apply = async |manager: &str, object: &Value| {
        api.patch("p", &PatchParams::apply(manager).force(), &Patch::Apply(object)).await
    };
    let (first, second) = ("provider-kubernetes/managed-p", "provider-kubernetes/size-p");
    let size = |pool: &DynamicObject| pool.data["spec"]["size"].as_i64();

    apply(first, &with(whole)).await?;
    refused(apply(first, &with(rest.clone())).await.map(|_| ()), "spec.size")
        .context("left out by its only owner")?;
    apply(second, &with(json!({ "size": 3 }))).await?;
    let pool = apply(first, &with(rest.clone())).await?;
    ensure!(size(&pool) == Some(3), "left out by the first of two: {:?}", pool.data["spec"]);
    // An autoscaler.
    let scale = json!({ "spec": { "replicas": 7 } });
    api.patch_scale("p", &PatchParams::default(), &Patch::Merge(&scale)).await?;
    let mut renewed = rest;
    renewed["imageSetRef"]["name"] = json!("j");
    let pool = apply(first, &with(renewed)).await?;
    ensure!(size(&pool) == Some(7), "what else changes takes nothing back: {:?}", pool.data["spec"]);
    ensure!(pool.data["spec"]["imageSetRef"]["name"] == "j", "and arrives");
    Ok(())
}

fn refused(answer: kube::Result<()>, words: &str) -> anyhow::Result<()> {
    match answer {
        Ok(()) => anyhow::bail!("it was accepted"),
        Err(kube::Error::Api(status)) if status.message.contains(words) => Ok(()),
        Err(other) => anyhow::bail!("it was refused with other words than {words:?}: {other}"),
    }
}

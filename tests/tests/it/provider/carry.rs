//! The carrier on a real API server, with exactly the rights that are made for it. One control plane is the tenants' side and the hub at once.
#![allow(missing_docs, reason = "a test says what it tests in its name")]

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use kube::{
    Client,
    config::{KubeConfigOptions, Kubeconfig},
};
use provider_testplatform::{
    config::{Carry, CarryHub, Config, Switch},
    controllers::secret_sync::controller::{Options, run},
    metrics::Metrics,
    rbac::{self, ServiceAccount},
};
use serde_json::{Value, json};
use testplatform_apis::{
    byoc::{self, SecretSyncReport, SecretSyncResult},
    duration::GoDuration,
    names::ours,
};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{Cluster, SOON, at, at_root},
    control_plane::ControlPlane,
    counted::until_counted,
    hub::define,
    kinds::{COMPOSITE, CONFIG_MAP, SECRET},
    manifests,
    tenant::decoded,
};

const HUB: &str = "hive-1";
const RBAC: &str = "rbac.authorization.k8s.io";

#[expect(clippy::disallowed_methods, reason = "the clock of a test")]
fn now() -> Timestamp {
    Timestamp::now()
}

pub async fn secrets_are_carried() -> anyhow::Result<()> {
    let binaries = Binaries::ensure()?;
    let plane = ControlPlane::start("hub", &binaries).await?;
    let hub = plane.cluster();
    define(hub, &definition()).await?;
    for name in [
        "tenant-a",
        "tenant-b",
        "byoc-a",
        "testplatform-carrier",
        "provider-testplatform",
        "ephemeral-cluster",
    ] {
        hub.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await?;
    }
    let carry = Carry {
        mode: Switch::On,
        hubs: BTreeMap::from([(
            HUB.to_owned(),
            CarryHub { kubeconfig: plane.nest().directory().join("carrier.kubeconfig") },
        )]),
        poll: GoDuration::from_secs(1),
        ..Carry::default()
    };
    let mut config = Config { carry: carry.clone(), ..Config::default() };
    config.leader_election.namespace = Some("testplatform-carrier".into());
    let account =
        ServiceAccount { namespace: "testplatform-carrier".into(), name: "testplatform-carrier".into() };
    let rights: Vec<Value> = serde_saphyr::from_multiple(&rbac::hub(&config, &account))?;
    let carried = |right: &&Value| right["metadata"]["name"].to_string().contains("carry");
    for right in rights.iter().filter(carried) {
        hub.apply(right).await?;
    }
    hub.apply_all(&manifests::package("install/hub/byoc-rbac.yaml")?).await?;

    let administrator = std::fs::read_to_string(plane.kubeconfig())?;
    let mut there: Value = serde_saphyr::from_str(&administrator)?;
    for user in there["users"].as_array_mut().context("no users")? {
        user["user"]["as"] = "system:serviceaccount:provider-testplatform:testplatform-carrier".into();
    }
    std::fs::write(&carry.hubs[HUB].kubeconfig, there.to_string())?;
    let kubeconfig = Kubeconfig::from_yaml(&administrator)?;
    let mut here = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    here.auth_info.impersonate =
        Some("system:serviceaccount:testplatform-carrier:testplatform-carrier".into());
    let options = Options::new(Client::try_from(here)?, carry, now);
    nested_deep(hub, "listed").await?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let metrics = Metrics::default();
    let running = tokio::spawn(run(
        options,
        metrics.carries(),
        Box::pin(async {
            let _ = stopped.await;
        }),
    ));
    let lived = live(hub, &metrics).await;
    let _ = stop.send(());
    tokio::time::timeout(Duration::from_secs(5), running).await.context("it does not end")??;
    lived
}

/// As Crossplane defines it, as far as the carrier cares.
fn definition() -> Value {
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "xtestplatformclusters.ci.openshift.org" },
        "spec": {
            "group": "ci.openshift.org", "scope": "Cluster",
            "names": { "kind": "XTestPlatformCluster", "plural": "xtestplatformclusters" },
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true, "subresources": { "status": {} }, "schema": schema,
            }],
        },
    })
}

/// A composite of a tenant, which says that its namespace on the hub is `byoc-a`.
async fn composite(hub: &Cluster, name: &str, tenant: &str) -> anyhow::Result<()> {
    hub.create(&json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformCluster", "metadata": { "name": name },
        "spec": { "byoc": asked(), "claimRef": { "name": "demo", "namespace": tenant } },
    }))
    .await?;
    let status = json!({ "phase": "Pending", "hub": { "name": HUB }, "backend": { "namespace": "byoc-a" } });
    hub.merge_status(&at_root(COMPOSITE, name), &status).await?;
    Ok(())
}

/// Composites that bring nothing, in which somebody nests more than the test itself can read in the answer.
async fn nested_deep(hub: &Cluster, name: &str) -> anyhow::Result<()> {
    type Wrap = fn(Value) -> Value;
    let ways: [(&str, Wrap); 2] =
        [("lists", |inner| json!([inner])), ("maps", |inner| json!({ "a": inner }))];
    for (how, wrap) in ways {
        let deep = (0..200).fold(json!(1), |inner, _| wrap(inner));
        let made = hub
            .create(&json!({
                "apiVersion": COMPOSITE.api_version, "kind": COMPOSITE.kind,
                "metadata": { "name": format!("{name}-{how}") }, "spec": { "parameters": { "deep": deep } },
            }))
            .await;
        ensure!(matches!(made, Err(kube::Error::SerdeError(_))), "{made:?}");
    }
    Ok(())
}

fn asked() -> Value {
    json!({ "platform": { "aws": {} }, "credentialsSecretRef": { "name": "my-aws" } })
}

/// ConfigMap that the function makes in the namespace, as provider-kubernetes would apply it.
async fn requested(hub: &Cluster) -> anyhow::Result<()> {
    let parcels = serde_json::to_string(&byoc::list_secret_copies(&asked()))?;
    hub.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": byoc::REQUEST, "namespace": "byoc-a" },
        "data": { byoc::TENANT: "tenant-a", byoc::COMPOSITE: "demo-x", byoc::PARCELS: parcels },
    }))
    .await?;
    let role = json!({ "apiGroup": RBAC, "kind": "ClusterRole", "name": byoc::CARRIER_ROLE });
    bound(hub, "byoc-a", byoc::CARRIER_ROLE, &role, "provider-testplatform").await
}

async fn bound(hub: &Cluster, namespace: &str, name: &str, role: &Value, of: &str) -> anyhow::Result<()> {
    let subject = json!({ "kind": "ServiceAccount", "name": "testplatform-carrier", "namespace": of });
    hub.apply(&json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": { "name": name, "namespace": namespace },
        "roleRef": role, "subjects": [subject],
    }))
    .await
    .map(|_| ())
}

/// The Secret of a tenant, with these keys.
async fn secret(hub: &Cluster, namespace: &str, value: &str, keys: &[&str]) -> anyhow::Result<()> {
    let data: serde_json::Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), BASE64_STANDARD.encode(value).into())).collect();
    let metadata = json!({ "name": "my-aws", "namespace": namespace });
    hub.apply(&json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data }))
        .await
        .map(|_| ())
}

/// Waits until the carrier has told this.
async fn told(hub: &Cluster, carried: bool, fate: SecretSyncResult) -> anyhow::Result<()> {
    let is = |map: &Value| {
        let report = map["metadata"]["annotations"][ours::BYOC_REPORT]
            .as_str()
            .and_then(SecretSyncReport::from_annotation);
        report.is_some_and(|r| r.carried == carried && r.secrets.get("credentialsSecretRef") == Some(&fate))
    };
    let request = at(CONFIG_MAP, "byoc-a", byoc::REQUEST);
    hub.until_is(&request, SOON, &format!("told {fate:?}"), is).await.map(|_| ())
}

/// Waits until the carrier counts this: what is on the hub is seen before the look that put it there has ended.
async fn counted(metrics: &Metrics, lines: &[&str]) -> anyhow::Result<()> {
    until_counted(|| Ok(metrics.encode()?), lines, SOON).await.map(drop)
}

/// The metrics after a Secret was removed with its claim.
async fn removal_counted(metrics: &Metrics) -> anyhow::Result<()> {
    let lines = [
        "testplatform_secret_sync_claims{state=\"removed\"} 1",
        "testplatform_secret_sync_reconciles_total{outcome=\"removed\"} 1",
        "testplatform_secret_sync_secrets_total{action=\"removed\"} 1",
        "testplatform_provider_watch_lag_seconds{watch=\"carried-claims\"} 0.0",
    ];
    counted(metrics, &lines).await?;
    let text = metrics.encode()?;
    for begin in [
        "testplatform_secret_sync_failures_total{reason=\"foreign\"} ",
        "testplatform_secret_sync_success_timestamp_seconds{} ",
    ] {
        let value = text.lines().find_map(|line| line.strip_prefix(begin)).context(begin)?;
        ensure!(value.parse::<f64>()? > 0.0, "{begin}{value}");
    }
    ensure!(!text.contains("tenant-") && !text.contains("demo"), "a tenant's word is a label: {text}");
    Ok(())
}

async fn live(hub: &Cluster, metrics: &Metrics) -> anyhow::Result<()> {
    let keys = ["aws_access_key_id", "aws_secret_access_key", "aws_config"];
    let carried = at(SECRET, "byoc-a", "byoc-credentials");
    let holds = |value: &'static str| {
        move |secret: &Value| {
            let data = decoded(secret);
            data.len() == 2 && keys[..2].iter().all(|key| data.get(*key).is_some_and(|v| v == value))
        }
    };
    // When it is heard of; when everything was listed, others were there.
    nested_deep(hub, "heard").await?;
    composite(hub, "demo-x", "tenant-a").await?;
    // Somebody else's, whose status says the same.
    composite(hub, "demo-y", "tenant-b").await?;
    secret(hub, "tenant-b", "of+another", &keys).await?;
    let role = manifests::package("install/examples/byoc-role.yaml")?;
    let open = async |namespace: &str| {
        for mut manifest in role.clone() {
            manifest["metadata"]["namespace"] = namespace.into();
            hub.apply(&manifest).await?;
        }
        anyhow::Ok(())
    };
    open("tenant-b").await?;
    counted(
        metrics,
        &[
            "testplatform_secret_sync_claims{state=\"waiting\"} 2",
            "testplatform_secret_sync_secrets_total{action=\"written\"} 0",
        ],
    )
    .await?;
    requested(hub).await?;
    told(hub, false, SecretSyncResult::Forbidden).await?;
    // The other one is told that the namespace is not its own.
    counted(
        metrics,
        &[
            "testplatform_secret_sync_claims{state=\"incomplete\"} 1",
            "testplatform_secret_sync_claims{state=\"failing\"} 1",
        ],
    )
    .await?;
    open("tenant-a").await?;
    told(hub, false, SecretSyncResult::NotFound).await?;
    secret(hub, "tenant-a", "first", &keys[..1]).await?;
    told(hub, false, SecretSyncResult::KeyMissing).await?;
    ensure!(hub.get(&carried).await?.is_none(), "half of it was carried");
    // This value would be a line of its own in a file of Hive's.
    secret(hub, "tenant-a", "first\ncredential_process = x", &keys).await?;
    hub.until_is(&at(CONFIG_MAP, "byoc-a", byoc::REQUEST), SOON, "told in words", |map| {
        let report = map["metadata"]["annotations"][ours::BYOC_REPORT].as_str().unwrap_or_default();
        report.contains("key aws_access_key_id must be of letters") && !report.contains("credential_process")
    })
    .await?;
    ensure!(hub.get(&carried).await?.is_none(), "what could run a program was carried");
    secret(hub, "tenant-a", "first", &keys).await?;
    told(hub, true, SecretSyncResult::Carried).await?;
    hub.until_is(&carried, SOON, "as it is", holds("first")).await?;
    secret(hub, "tenant-a", "second", &keys).await?;
    hub.until_is(&carried, SOON, "as it became", holds("second")).await?;
    counted(
        metrics,
        &[
            "testplatform_secret_sync_claims{state=\"carried\"} 1",
            "testplatform_secret_sync_secrets_total{action=\"written\"} 2",
        ],
    )
    .await?;
    // The copy stays when the tenant's Secret is deleted.
    hub.delete(&at(SECRET, "tenant-a", "my-aws")).await?;
    told(hub, true, SecretSyncResult::NotFound).await?;
    counted(
        metrics,
        &[
            "testplatform_secret_sync_claims{state=\"outdated\"} 1",
            "testplatform_secret_sync_claims{state=\"carried\"} 0",
        ],
    )
    .await?;
    ensure!(hub.get(&carried).await?.is_some_and(|secret| holds("second")(&secret)), "it was taken away");
    let request = hub.get(&at(CONFIG_MAP, "byoc-a", byoc::REQUEST)).await?.context("no ConfigMap")?;
    let text = request.to_string();
    ensure!(!text.contains("second") && !text.contains(&BASE64_STANDARD.encode("second")), "{request}");
    // The other's end takes nothing from this one; its own does.
    let over =
        json!({ "phase": "Deprovisioned", "conditions": [{ "type": "ProwJobCompleted", "status": "True" }] });
    hub.merge_status(&at_root(COMPOSITE, "demo-y"), &over).await?;
    tokio::time::sleep(Duration::from_secs(6)).await;
    ensure!(hub.get(&carried).await?.is_some_and(|secret| holds("second")(&secret)), "another's end took it");
    hub.merge_status(&at_root(COMPOSITE, "demo-x"), &over).await?;
    hub.until_gone(&carried, SOON).await?;
    removal_counted(metrics).await?;
    hub.delete(&at_root(COMPOSITE, "demo-x")).await?;
    counted(metrics, &["testplatform_secret_sync_claims{state=\"removed\"} 0"]).await
}

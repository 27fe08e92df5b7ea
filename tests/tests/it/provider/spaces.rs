//! The controller of spaces on a real API server, with exactly the rights that are made for it.
#![allow(missing_docs, reason = "a test says what it tests in its name")]

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use kube::{
    Client,
    config::{KubeConfigOptions, Kubeconfig},
};
use provider_testplatform::{
    config::{Config, Spaces, Switch},
    controllers::spaces::controller::{Options, run},
    metrics::Metrics,
    rbac::{self, ServiceAccount},
};
use serde_json::{Value, json};
use testplatform_apis::{names::ours, space::keys};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{Cluster, SOON, at, at_root},
    control_plane::{ControlPlane, Extras, connect},
    kinds::{CONFIG_MAP, NAMESPACE, SECRET},
    tenant::decoded,
};

const CREDENTIALS: &str = "testplatform-spaces";
/// Kubernetes' own that gives each namespace the certificates of its cluster.
const CONTROLLERS: &[&str] = &["root-ca-certificate-publisher-controller"];

pub async fn credentials_of_spaces() -> anyhow::Result<()> {
    let binaries = Binaries::ensure()?;
    let extras = Extras { controllers: CONTROLLERS, ..Extras::default() };
    let plane = ControlPlane::start_with("hub", &binaries, extras).await?;
    let hub = plane.cluster();
    for name in [CREDENTIALS, "provider-testplatform", "ephemeral-cluster"] {
        hub.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await?;
    }
    let kubeconfig = Kubeconfig::read_from(plane.kubeconfig())?;
    let mut as_provider =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let server = as_provider.cluster_url.to_string().trim_end_matches('/').to_owned();
    let spaces = Spaces { mode: Switch::On, api_server: Some(server), ..Spaces::default() };
    let config = Config { spaces: spaces.clone(), ..Config::default() };
    let manifests: Vec<Value> = serde_saphyr::from_multiple(&rbac::hub(&config, &ServiceAccount::default()))?;
    hub.apply_all(&manifests).await?;
    as_provider.auth_info.impersonate =
        Some("system:serviceaccount:provider-testplatform:provider-testplatform".into());
    let client = Client::try_from(as_provider)?;

    // Of a namespace that went while nobody watched, and its successor; and somebody else's by the name of one.
    let left = json!({ ours::OWNER_GROUP: "", ours::OWNER_KIND: "Namespace", ours::OWNER_NAMESPACE: "", ours::OWNER_UID: "of-another" });
    hub.create(&secret("again", &left)).await?;
    hub.create(&secret("gone", &left)).await?;
    hub.create(&secret("taken", &json!({}))).await?;
    for name in ["again", "taken"] {
        space(hub, name, &json!({})).await?;
    }
    let options = Options::new(client, spaces, now);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let metrics = Metrics::default();
    let running = tokio::spawn(run(
        options,
        metrics.spaces(),
        Box::pin(async {
            let _ = stopped.await;
        }),
    ));
    let lived = live(hub, &metrics).await;
    let _ = stop.send(());
    tokio::time::timeout(Duration::from_secs(5), running).await.context("it does not end")??;
    lived
}

/// A namespace with an account, and with labels of a space, some of them others.
async fn space(hub: &Cluster, name: &str, other: &Value) -> anyhow::Result<()> {
    let mut labels =
        json!({ "konflux-ci.dev/namespace-type": "eaas", ours::SPACE_ACCOUNT: "namespace-manager" });
    for (key, value) in other.as_object().into_iter().flatten() {
        labels[key] = value.clone();
    }
    let metadata = json!({ "name": name, "labels": labels });
    hub.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata })).await?;
    let metadata = json!({ "name": "namespace-manager", "namespace": name });
    hub.apply(&json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata })).await?;
    Ok(())
}

fn secret(space: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": format!("{space}-credentials"), "namespace": CREDENTIALS, "labels": labels },
        "data": { "token": "b2xk" },
    })
}

async fn live(hub: &Cluster, metrics: &Metrics) -> anyhow::Result<()> {
    let published = |space: &str| at(SECRET, CREDENTIALS, &format!("{space}-credentials"));
    let whole = |secret: &Value| decoded(secret).len() == keys::EVERY.len();
    space(hub, "new", &json!({})).await?;
    for name in ["new", "again"] {
        let secret = hub.until_is(&published(name), SOON, "published", whole).await?;
        let home = hub.get(&at_root(NAMESPACE, name)).await?.context("no namespace")?;
        ensure!(secret["metadata"]["labels"][ours::OWNER_UID] == home["metadata"]["uid"], "{secret}");
        let revision = secret["metadata"]["resourceVersion"].clone();
        let noted = |n: &Value| n["metadata"]["annotations"][ours::CREDENTIALS_REVISION] == revision;
        hub.until_is(&at_root(NAMESPACE, name), SOON, "noted", noted).await?;
        let given = decoded(&secret);
        ensure!(given[keys::NAMESPACE] == name && given[keys::KUBECONFIG].contains(&given[keys::TOKEN]));
        // By it nobody can do a thing yet, which is told by the API server and not by a certificate.
        let inside = Cluster::new("hub, as its tenant", connect(&given[keys::KUBECONFIG]).await?);
        let refused = inside.get(&at(CONFIG_MAP, name, "any")).await;
        ensure!(refused.is_err_and(|error| format!("{error:#}").contains("forbidden")), "{name}");
    }
    hub.until_gone(&published("gone"), SOON).await?;

    // Not whole, or no space at all.
    space(hub, "unfinished", &json!({ ours::SPACE_ACCOUNT: "" })).await?;
    space(hub, "other", &json!({ "konflux-ci.dev/namespace-type": "tenant" })).await?;
    space(hub, "elses", &json!({ ours::SPACE_ACCOUNT: "default" })).await?;
    // Whoever deletes what is published has it made again.
    hub.delete(&published("new")).await?;
    hub.until_is(&published("new"), SOON, "published again", whole).await?;
    for name in ["unfinished", "other", "elses"] {
        ensure!(hub.get(&published(name)).await?.is_none(), "{name} has credentials");
    }
    let taken = hub.get(&published("taken")).await?.context("it was removed")?;
    ensure!(decoded(&taken).len() == 1, "it was written: {taken}");
    // A Secret is seen before the look that made it has ended.
    for line in [
        "testplatform_spaces{state=\"published\"} 2",
        "testplatform_spaces{state=\"blocked\"} 1",
        "testplatform_spaces{state=\"failing\"} 0",
        "testplatform_space_tokens_total 3",
        "testplatform_provider_watch_lag_seconds{watch=\"spaces\"} 0.0",
    ] {
        let begun = Instant::now();
        while !metrics.encode()?.lines().any(|l| l == line) {
            ensure!(begun.elapsed() < SOON, "{line} is missing: {}", metrics.encode()?);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    hub.delete(&at_root(NAMESPACE, "new")).await?;
    hub.until_gone(&at_root(NAMESPACE, "new"), Duration::from_mins(1)).await?;
    hub.until_gone(&published("new"), SOON).await?;
    ensure!(hub.get(&published("again")).await?.is_some(), "another's was removed");
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a test that runs in real time")]
fn now() -> Timestamp {
    Timestamp::now()
}

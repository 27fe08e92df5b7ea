//! `clusters.bundles: on` with a real API server as the cluster that was delivered, and the real provider with exactly the rights that are made
//! for it. Whoever made the cluster is played, and so is the function.
#![allow(missing_docs, reason = "a test says what it tests in its name")]

mod apart;
mod end;
mod setup;

use std::time::Duration;

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use testplatform_apis::bundle::{LABEL, ORDER, REPORT};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, Cluster, at},
    control_plane::{ControlPlane, connect},
    nest::Nest,
    search::{Marks, unique},
};

use super::delivered::{self, CLUSTERS, CONFIG_MAP};

/// Nothing has happened by then that should not.
const NOTICED: Duration = Duration::from_secs(4);

/// The password of the admin; none of its letters are secret here.
const PASSWORD: &str = "x";

/// Somebody in the cluster says that it is done.
const DONE: &str = "object.data.done == 'yes'";

struct Bench {
    hub: ControlPlane,
    delivered: ControlPlane,
    admin: String,
    as_provider: Cluster,
    marks: Marks,
}

pub async fn bundles_are_set_up_in_a_cluster_and_taken_down_before_it_goes() -> anyhow::Result<()> {
    let binaries = Binaries::ensure()?;
    let (hub, delivered) =
        tokio::try_join!(ControlPlane::start("hub", &binaries), ControlPlane::start("delivered", &binaries))?;
    let (admin, signature) = delivered::admin(&delivered).await?;
    let marks = Marks::new([("the admin's token", signature), ("another", unique())])?;
    let nest = Nest::new("bundles", None)?;
    delivered::furnish(hub.cluster(), &admin, PASSWORD).await?;
    let (mut provider, own) = delivered::start(&hub, &nest, &json!({ "bundles": "on" })).await?;
    let as_provider = Cluster::new("as the provider", connect(&own).await?);
    let bench = Bench { hub, delivered, admin, as_provider, marks };
    let lived = bench.life().await;
    provider.check()?;
    lived.with_context(|| provider.tail())?;
    provider.terminate();
    let log = provider.said()?;
    ensure!(log.contains("one-bundles"), "the log says nothing");
    ensure!(bench.marks.within(log.as_bytes()).is_empty(), "a secret is in the log");
    Ok(())
}

/// `true` if a Secret holds a kubeconfig. The provider serializes it again, so its bytes differ.
fn holds(secret: &Value, kubeconfig: &str) -> bool {
    let handed = secret["data"]["kubeconfig"].as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
    let handed = handed.and_then(|bytes| serde_saphyr::from_slice::<Value>(&bytes).ok());
    handed.is_some_and(|handed| serde_json::from_str(kubeconfig).is_ok_and(|wanted: Value| handed == wanted))
}

fn order_of(name: &str) -> At {
    at(CONFIG_MAP, CLUSTERS, &format!("{name}-bundles"))
}

/// The provider's report on its bundles.
fn report(map: &Value) -> Value {
    let text = map["metadata"]["annotations"][REPORT].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

fn is(state: &str) -> impl Fn(&Value) -> bool {
    move |map| report(map)["state"] == state
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
    async fn make(&self, name: &str) -> anyhow::Result<()> {
        delivered::hosted(self.hub.cluster(), name, None).await.map(drop)
    }
}

fn asked(name: &str, order: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": format!("{name}-bundles"), "namespace": CLUSTERS, "labels": { LABEL: "true" } },
        "data": { ORDER: order },
    })
}

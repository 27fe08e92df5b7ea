//! Manifests and jobs before a cluster's teardown.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_apis::bundle::FINALIZER;
use testplatform_tests::{
    cluster::{SOON, at},
    kinds::EVENT,
};

use super::{
    Bench, DONE, NOTICED, bundle,
    delivered::{CONFIG_MAP, cluster},
    done, is, map, order_of, report,
};

impl Bench {
    pub(super) async fn held(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        hub.delete(&order_of("one")).await?;
        let bye = at(CONFIG_MAP, "default", "bye");
        there.until_is(&bye, SOON, "applied before it goes", |_| true).await?;
        hub.until_is(&order_of("one"), SOON, "told", is("BeforeDeletion")).await?;
        tokio::time::sleep(NOTICED).await;
        let map = hub.get(&order_of("one")).await?.context("it was let go too early")?;
        ensure!(
            report(&map)["bundle"] == "preDelete/bye" && report(&map)["object"] == "ConfigMap default/bye",
            "{map}"
        );
        there.merge(&bye, &done()).await?;
        hub.until_gone(&order_of("one"), SOON).await?;
        hub.delete(&cluster("one")).await
    }

    /// There is nobody to wait for.
    pub(super) async fn goes_by_itself(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        let before = json!([bundle("bye", "10m", &[(map("seven-bye"), Some(DONE))])]);
        self.ask("seven", json!([]), before).await?;
        self.make("seven").await?;
        let map = hub.until_is(&order_of("seven"), SOON, "applied", is("Applied")).await?;
        ensure!(map["metadata"]["finalizers"] == json!([FINALIZER]), "{map}");
        hub.delete(&order_of("seven")).await?;
        hub.until_is(&order_of("seven"), SOON, "held", is("BeforeDeletion")).await?;
        hub.delete(&cluster("seven")).await?;
        hub.until_gone(&order_of("seven"), SOON).await
    }

    /// It is held for as long as it might answer again, and no longer.
    pub(super) async fn unreachable(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        self.delivered.stop_api_server();
        let since = Instant::now();
        hub.delete(&order_of("two")).await?;
        let says = |map: &Value| report(map)["reason"] == "Unreachable";
        hub.until_is(&order_of("two"), SOON, "told that it cannot be reached", says).await?;
        hub.until_gone(&order_of("two"), SOON).await?;
        ensure!(since.elapsed() > Duration::from_secs(3), "it was let go after {:?}", since.elapsed());
        // It is told once it is written down.
        hub.until_some(EVENT, "", SOON, "BundlesGivenUp", |event| event["reason"] == "BundlesGivenUp")
            .await?;
        Ok(())
    }
}

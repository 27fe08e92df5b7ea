//! Prow and ci-operator of the demonstration: at a pace that can be watched, and what they deliver works.

use std::time::Duration;

use super::delivered::Delivered;
use crate::{
    actors::{Controller, Fulfilled},
    crossplane::Engine,
};

/// As long as it takes; whoever asks has deadlines.
const DAY: Duration = Duration::from_hours(24);

/// Fulfils one EphemeralCluster, from the wish to the end.
pub async fn fulfil(engine: &Engine, composite: &str, pace: Duration) -> anyhow::Result<()> {
    let controller = Controller::new(engine.hub.cluster(), composite, Fulfilled::ByProvider);
    controller.until_asked(DAY).await?;
    tokio::time::sleep(pace / 3).await;
    controller.provision().await?;
    let mut made = None;
    let end = controller.until_told_to_end(DAY);
    tokio::pin!(end);
    let built = async {
        tokio::time::sleep(pace).await;
        let cluster = Delivered::make(&engine.hub, composite).await?;
        controller.ready(&cluster.kubeconfig, &cluster.password).await?;
        made = Some(cluster);
        anyhow::Ok(())
    };
    let last = tokio::select! {
        told = &mut end => told?,
        built = built => {
            built?;
            end.await?
        }
    };
    if last.is_none_or(|ec| ec["metadata"]["deletionTimestamp"].is_string()) {
        // Deleted without a word: the job is aborted, and nobody reads a status.
        remove(engine, made).await?;
        return controller.release().await;
    }
    tokio::time::sleep(pace / 3).await;
    controller.deprovision().await?;
    remove(engine, made).await?;
    tokio::time::sleep(pace).await;
    controller.deprovisioned().await?;
    controller.release().await
}

async fn remove(engine: &Engine, made: Option<Delivered>) -> anyhow::Result<()> {
    match made {
        Some(cluster) => cluster.remove(engine.hub.cluster()).await,
        None => Ok(()),
    }
}

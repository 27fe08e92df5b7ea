//! Sees to it that an object is never other than it has to be while something happens to it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, bail};
use futures_util::{StreamExt as _, pin_mut};
use serde_json::Value;
use tokio::{sync::watch, task::JoinHandle, time::sleep};

use crate::{
    cluster::{At, Cluster, brief},
    patience,
};

/// How long a watch may lag behind what there is.
const LAG: Duration = Duration::from_secs(30);

/// Watches one object as long as it exists.
pub struct Witness {
    cluster: Cluster,
    at: At,
    /// First state that broke the rule.
    fault: Arc<Mutex<Option<String>>>,
    /// Up to which state it was seen. None: no state yet.
    seen: watch::Receiver<Option<Seen>>,
    task: JoinHandle<()>,
}

/// A state of an object: its resourceVersion, which grows; None if it is not there.
type Seen = Option<u64>;

impl Witness {
    /// Begins to watch, and has begun when it returns.
    pub async fn of(
        cluster: &Cluster,
        at: &At,
        is: impl Fn(Option<&Value>) -> bool + Send + 'static,
    ) -> anyhow::Result<Self> {
        let fault = Arc::<Mutex<Option<String>>>::default();
        let (tell, mut seen) = watch::channel(None);
        let states = cluster.states(at);
        let task = {
            let fault = Arc::clone(&fault);
            tokio::spawn(async move {
                pin_mut!(states);
                while let Some(state) = states.next().await {
                    let state = state.ok().flatten();
                    if !is(state.as_ref()) {
                        let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
                        fault.get_or_insert_with(|| brief(state.as_ref()));
                    }
                    // Nobody may be interested any more.
                    let _ = tell.send(Some(state.as_ref().and_then(version)));
                }
            })
        };
        seen.changed().await?;
        Ok(Self { cluster: cluster.clone(), at: at.clone(), fault, seen, task })
    }

    /// Fails if it ever was not as it has to be, up to now: what has happened and was not heard of yet is waited for.
    pub async fn verdict(&self) -> anyhow::Result<()> {
        patience::timeout(LAG, self.caught_up())
            .await
            .with_context(|| format!("the watch of {} lags behind", self.at))??;
        match &*self.fault.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(fault) => bail!("for a moment {} was {fault}", self.at),
        }
    }

    async fn caught_up(&self) -> anyhow::Result<()> {
        loop {
            let now = self.cluster.get(&self.at).await?.as_ref().and_then(version);
            let seen = *self.seen.borrow();
            // Of one that is gone no state comes after.
            if seen.is_some_and(|seen| seen >= now && now.is_some() == seen.is_some()) {
                return Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
}

fn version(object: &Value) -> Seen {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.task.abort();
    }
}

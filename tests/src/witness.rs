//! Sees to it that an object is never other than it has to be while something happens to it.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::bail;
use futures_util::{StreamExt as _, pin_mut};
use serde_json::Value;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::cluster::{At, Cluster, brief};

/// Watches one object as long as it exists.
pub struct Witness {
    at: At,
    /// What it was like when it was first not as it has to be.
    fault: Arc<Mutex<Option<String>>>,
    task: JoinHandle<()>,
}

impl Witness {
    /// Begins to watch, and has begun when it returns.
    pub async fn of(
        cluster: &Cluster,
        at: &At,
        is: impl Fn(Option<&Value>) -> bool + Send + 'static,
    ) -> anyhow::Result<Self> {
        let fault = Arc::<Mutex<Option<String>>>::default();
        let (begun, begins) = oneshot::channel();
        let states = cluster.states(at);
        let task = {
            let fault = Arc::clone(&fault);
            tokio::spawn(async move {
                let mut begun = Some(begun);
                pin_mut!(states);
                while let Some(state) = states.next().await {
                    let state = state.ok().flatten();
                    if !is(state.as_ref()) {
                        let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
                        fault.get_or_insert_with(|| brief(state.as_ref()));
                    }
                    begun.take().map(|begun| begun.send(()));
                }
            })
        };
        begins.await?;
        Ok(Self { at: at.clone(), fault, task })
    }

    /// Fails if it ever was not as it has to be.
    pub fn verdict(&self) -> anyhow::Result<()> {
        match &*self.fault.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(fault) => bail!("for a moment {} was {fault}", self.at),
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.task.abort();
    }
}

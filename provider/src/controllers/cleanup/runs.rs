//! Watches of the runs that claims name as their owners: each is a metadata watch by name, and nothing is cached.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::StreamExt as _;
use kube::{
    Api, Client,
    api::WatchParams,
    core::{ApiResource, GroupVersionKind},
};
use serde_json::Value;
use testplatform_runtime::{
    error::{Cause, is_forbidden, plain_message},
    lookup,
    workqueue::RequestQueue,
};
use tokio::{task::JoinSet, time::sleep};

use super::{
    observe::{TEKTON, run_fate},
    plan::{Fate, Run},
};
use crate::sparse_object::PartialObject;

/// Maximum number of watched runs, each by a connection of its own. The others are polled.
const MOST: usize = 200;
/// Maximum per claim. A pipeline has one; a claim with more is polled.
const MOST_OF_ONE: usize = 4;
/// How long a watch lasts, in seconds.
const LASTS: u32 = 290;
/// Pause between two watches of one run. The next watch reports events in between, because each starts with the run's state.
const PAUSE: Duration = Duration::from_secs(5);
/// The same when the last one failed. The poll goes on.
const PAUSE_AFTER_TROUBLE: Duration = Duration::from_secs(30);

/// Runs of a claim, and their watches, which end when this is dropped.
type Followed = (Vec<Run>, JoinSet<()>);

/// Reads runs, and follows them.
pub(super) struct Runs {
    client: Client,
    queue: Arc<RequestQueue<String>>,
    /// By claim: its runs, and the watches of them, which end when this is dropped.
    followed: Mutex<BTreeMap<String, Followed>>,
}

impl Runs {
    /// An event about a run queues the key of its claim.
    pub fn new(client: Client, queue: Arc<RequestQueue<String>>) -> Self {
        Self { client, queue, followed: Mutex::default() }
    }

    /// Reads how a run is.
    pub async fn read_fate(&self, run: &Run) -> Result<Fate, Cause> {
        match lookup::get_opt(&api(&self.client, run), &run.name).await {
            Ok(Some(PartialObject { metadata, mut body })) => {
                body["metadata"] = serde_json::to_value(&metadata).unwrap_or(Value::Null);
                Ok(run_fate(run, Some(&body)))
            }
            Ok(None) => Ok(run_fate(run, None)),
            Err(error) if is_forbidden(&error) => Ok(Fate::Forbidden),
            Err(error) => Err(error.into()),
        }
    }

    /// From now on exactly these are followed for the claim, if they are not too many.
    pub fn watch_runs(&self, key: &str, runs: &[Run]) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if followed.get(key).is_some_and(|(before, _)| before == runs) {
            return;
        }
        followed.remove(key);
        let open: usize = followed.values().map(|(runs, _)| runs.len()).sum();
        if runs.is_empty() || runs.len() > MOST_OF_ONE || open + runs.len() > MOST {
            return;
        }
        let mut watches = JoinSet::new();
        for run in runs {
            watches.spawn(watch(self.client.clone(), run.clone(), key.to_owned(), Arc::clone(&self.queue)));
        }
        followed.insert(key.to_owned(), (runs.to_vec(), watches));
    }

    /// Whether any are followed for the claim.
    #[cfg(test)]
    pub fn is_watching(&self, key: &str) -> bool {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).contains_key(key)
    }
}

/// Watches the metadata of one run, for as long as it is not dropped.
async fn watch(client: Client, run: Run, key: String, queue: Arc<RequestQueue<String>>) {
    let api = api(&client, &run);
    let params = WatchParams::default()
        .fields(&format!("metadata.name={}", run.name))
        .timeout(LASTS)
        .disable_bookmarks();
    let mut said = false;
    loop {
        let trouble = match api.watch_metadata(&params, "0").await {
            Ok(events) => {
                let mut events = std::pin::pin!(events);
                loop {
                    match events.next().await {
                        // Something happened to it, also where its managed fields are nested deeper than anybody reads.
                        Some(Ok(_) | Err(kube::Error::SerdeError(_))) => {
                            queue.push(key.clone());
                        }
                        Some(Err(error)) => break Some(error),
                        None => break None,
                    }
                }
            }
            Err(error) => Some(error),
        };
        if let Some(error) = &trouble
            && !said
        {
            tracing::warn!(
                claim = key,
                run = run.name,
                error = plain_message(error),
                "run not watched; it is polled instead"
            );
            said = true;
        }
        sleep(if trouble.is_some() { PAUSE_AFTER_TROUBLE } else { PAUSE }).await;
    }
}

fn api(client: &Client, run: &Run) -> Api<PartialObject> {
    let kind = GroupVersionKind::gvk(TEKTON, "v1", run.kind.as_str());
    let resource = ApiResource::from_gvk_with_plural(&kind, run.kind.plural());
    Api::namespaced_with(client.clone(), &run.namespace, &resource)
}

#[cfg(test)]
mod tests;

//! Controller of pools: maps events to pools, and reconciles one after the other.
//!
//! Pools and their clusters are watched for events only; each reconcile reads its input from the API server.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use jiff::Timestamp;
use kube::{
    Api, Client, ResourceExt as _,
    api::DynamicObject,
    runtime::watcher::{self, Event},
};
use testplatform_runtime::{
    error::{Cause, Error, catch_panic, plain_message},
    reconcile::Requeue,
    running::Running,
    timeout::with_timeout,
    watch::{Health, keep_watching},
    workqueue::{Action, Concurrency, run_queue},
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{
    execute::{emit, write_status},
    metrics::PoolMetrics,
    observe::{LABELS, PoolLookup, hive, observe},
    plan::plan,
    state::{PoolGauge, PoolProgress},
};

/// One after the other. A look lists what there is of a pool, and of many clusters at once much happens.
const PACE: Concurrency = Concurrency { max_concurrent_reconciles: 1, debounce: Duration::from_secs(1) };
/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// However quiet it is.
const NET: Duration = Duration::from_mins(10);

/// Options of the controller.
#[derive(Clone)]
pub struct Options {
    /// The hub.
    pub client: Client,
    /// Namespaces of the managed pools.
    pub namespaces: BTreeSet<String>,
    /// Identity of this process.
    pub instance: String,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// Namespace and name.
pub type Key = (String, String);

/// State of the controller.
struct PoolController {
    options: Options,
    gauge: Arc<PoolGauge>,
    metrics: Arc<PoolMetrics>,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<PoolMetrics>, stop: Running) -> Running {
    Box::pin(run_until(options, metrics, stop))
}

async fn run_until(options: Options, metrics: Arc<PoolMetrics>, stop: Running) {
    let gauge = Arc::new(PoolGauge::default());
    metrics.attach_pools(&gauge);
    let controller = PoolController { options, gauge, metrics };
    let (sender, happened) = unbounded_channel();
    let PoolController { options, gauge, .. } = &controller;
    let watches = async {
        tokio::join!(
            watch_pools(options, &gauge.health[0], sender.clone()),
            watch_clusters(options, &gauge.health[1], sender.clone()),
        );
    };
    let looking = run_queue(
        happened,
        PACE,
        controller.metrics.runtime(),
        async |key: Key| controller.reconcile(&key).await,
        stop,
    );
    tokio::select! {
        () = watches => {}
        () = looking => {}
    }
}

async fn watch_pools(options: &Options, health: &Health, sender: UnboundedSender<Key>) {
    let api: Api<DynamicObject> = Api::all_with(options.client.clone(), &hive("ClusterPool"));
    keep_dynamic(api, health, |pool| {
        // A namesake elsewhere concerns every pool of the name.
        for namespace in &options.namespaces {
            let _ = sender.send((namespace.clone(), pool.name_any()));
        }
    })
    .await;
}

async fn watch_clusters(options: &Options, health: &Health, sender: UnboundedSender<Key>) {
    let api: Api<DynamicObject> = Api::all_with(options.client.clone(), &hive("ClusterDeployment"));
    keep_dynamic(api, health, |cluster| {
        let label = |key| cluster.labels().get(key).cloned();
        let pool = label(LABELS[0]).zip(label(LABELS[1]));
        if let Some(key) = pool.filter(|(namespace, _)| options.namespaces.contains(namespace)) {
            let _ = sender.send(key);
        }
    })
    .await;
}

async fn keep_dynamic(api: Api<DynamicObject>, health: &Health, mut on: impl FnMut(&DynamicObject)) {
    keep_watching(api, watcher::Config::default(), health, |event| match event {
        Event::Apply(object) | Event::InitApply(object) | Event::Delete(object) => on(&object),
        Event::Init | Event::InitDone => {}
    })
    .await;
}

impl PoolController {
    /// Reconciles a pool. A pool that is deleted, or not ours, waits for a change.
    async fn reconcile(&self, key: &Key) -> Action {
        let (namespace, name) = key;
        let pass = Box::pin(async { self.reconcile_pool(key).await.map_err(Cause::from) });
        match catch_panic(with_timeout("look_at_clusterpool", PATIENCE, pass)).await {
            Ok(None) => Action::AwaitChange,
            Ok(Some(Requeue::OnChange)) => Action::RequeueAfter(NET),
            Ok(Some(Requeue::After(after))) => Action::RequeueAfter(after),
            Ok(Some(Requeue::Fresh)) => Action::RequeueAfter(PACE.debounce),
            Err(Error { action, reason, message }) => {
                self.metrics.count_pool_reconcile("failed");
                self.metrics.runtime().failed(action, reason.as_str());
                tracing::warn!(namespace, clusterpool = name, error = message, "a look failed");
                Action::Failed
            }
        }
    }

    async fn reconcile_pool(&self, key: &Key) -> kube::Result<Option<Requeue>> {
        let Options { client, instance, now, .. } = &self.options;
        let (namespace, name) = key;
        let observed = match observe(client, namespace, name).await? {
            PoolLookup::Pool(observed) => observed,
            PoolLookup::Nothing => {
                self.gauge.record(key, None);
                return Ok(None);
            }
            PoolLookup::Broken => {
                self.gauge.record(key, Some(PoolProgress::UNREADABLE));
                self.metrics.count_pool_reconcile("left_alone");
                // That it goes may be missed, too, and it would be counted for ever.
                return Ok(Some(Requeue::OnChange));
            }
        };
        let now = now();
        let step = plan(&observed.pool, &observed.clusters, now);
        let known = step.status.as_ref().or(observed.pool.known.as_ref());
        self.gauge.record(key, known.map(|known| PoolProgress::of(&observed.pool, known)));
        if let Some(status) = &step.status {
            write_status(client, &observed.object, status).await?;
            tracing::info!(namespace, clusterpool = name, ceiling = ?status.ceiling, "annotated");
        }
        self.metrics.count_pool_reconcile(if step.status.is_some() { "annotated" } else { "unchanged" });
        // After the annotation, so that a reconcile that failed before emits it once.
        for event in &step.events {
            self.metrics.count_pool_event(&event.reason);
            if let Err(error) = emit(client, &observed.object, event, instance, now).await {
                tracing::warn!(
                    namespace,
                    clusterpool = name,
                    error = plain_message(&error),
                    "an event was not made"
                );
            }
        }
        Ok(Some(step.requeue))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;
    use prometheus_client::registry::Registry;

    use super::*;

    fn encode_metrics(metrics: &PoolMetrics) -> String {
        let (mut registry, mut text) = (Registry::default(), String::new());
        metrics.register(&mut registry);
        metrics.runtime().register(&mut registry);
        metrics.refresh_pools();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        text
    }

    fn controller(client: Client) -> PoolController {
        let now = || Timestamp::UNIX_EPOCH;
        let options = Options { client, namespaces: BTreeSet::new(), instance: "me".into(), now };
        let controller =
            PoolController { options, gauge: Arc::default(), metrics: Arc::new(PoolMetrics::default()) };
        controller.metrics.attach_pools(&controller.gauge);
        controller
    }

    /// A hub on which every request panics.
    fn answer(_: &Request<Body>) -> Result<Response<Body>, Infallible> {
        panic!("a bug")
    }

    #[tokio::test]
    async fn a_bug_is_a_look_that_failed() {
        let service = tower::service_fn(|request: Request<Body>| async move { answer(&request) });
        let controller = controller(Client::new(service, "default"));
        assert_eq!(controller.reconcile(&("pools".into(), "one".into())).await, Action::Failed);
        let told = encode_metrics(&controller.metrics);
        for line in [
            r#"clusterpool_looks_total{outcome="failed"} 1"#,
            r#"provider_action_errors_total{action="look",reason="bug"} 1"#,
        ] {
            assert!(told.contains(line), "{line}: {told}");
        }
    }

    /// That it goes may be missed, and it would be counted for ever.
    #[tokio::test]
    async fn a_pool_that_cannot_be_read_is_looked_at_again_until_it_is_gone() {
        let broken = format!(
            r#"{{ "apiVersion": "hive.openshift.io/v1", "kind": "ClusterPool", "metadata": {{
                "name": "one", "namespace": "pools", "annotations": {{ "{}": "?" }} }} }}"#,
            testplatform_apis::names::ours::POOL_REQUEST
        );
        let gone = r#"{ "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
            "details": { "name": "one", "group": "hive.openshift.io", "kind": "clusterpools" } }"#;
        let nowhere = "404 page not found";
        let answers = vec![(404, gone.to_owned()), (404, nowhere.to_owned()), (200, broken)];
        let answers = Arc::new(std::sync::Mutex::new(answers));
        let service = tower::service_fn(move |_: Request<Body>| {
            let (code, text) = answers.lock().unwrap().pop().unwrap();
            let mut answer = Response::new(Body::from(text.into_bytes()));
            *answer.status_mut() = http::StatusCode::from_u16(code).unwrap();
            async move { Ok::<_, Infallible>(answer) }
        });
        let controller = controller(Client::new(service, "default"));
        let key = ("pools".into(), "one".into());
        let unreadable = r#"clusterpool_count{state="unreadable"} "#;
        let count = |expected: u64| {
            let told = encode_metrics(&controller.metrics);
            assert!(told.contains(&format!("{unreadable}{expected}")), "{expected}: {told}");
        };
        assert_eq!(controller.reconcile(&key).await, Action::RequeueAfter(NET));
        count(1);
        // That is not said of the pool.
        assert_eq!(controller.reconcile(&key).await, Action::Failed);
        count(1);
        assert_eq!(controller.reconcile(&key).await, Action::AwaitChange);
        count(0);
    }
}

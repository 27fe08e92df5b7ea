//! Controller of pools: maps events to pools, and reconciles one after the other.
//!
//! Pools and their clusters are watched for events only; each reconcile reads its input from the API server.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use kube::{
    Api, ResourceExt as _,
    api::DynamicObject,
    runtime::watcher::{self, Event},
};
use testplatform_runtime::{
    controller::{self, Running},
    error::{Error, plain_message},
    reconcile::{Action, Reconciler},
    watch::{Health, keep_watching},
    workqueue::{RequestQueue, Retry, Settings},
};

use super::{
    execute::{emit, write_status},
    metrics::PoolMetrics,
    observe::{LABELS, PoolLookup, hive, observe},
    plan::{PoolPlan, plan},
    state::{Key, PoolGauge, PoolProgress},
};

/// Time limit of a reconcile.
const RECONCILE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time between an event and its reconcile.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// However quiet it is.
const NET: Duration = Duration::from_mins(10);
/// One after the other. A reconcile lists what there is of a pool, and of many clusters at once much happens.
const SETTINGS: Settings = Settings {
    debounce: DEBOUNCE,
    retry: Retry { conflict: Action::Backoff, bug: Action::Backoff, ..Retry::UNCACHED },
    ..Settings::uncached("clusterpools", 1).with_timeout("look_at_clusterpool", RECONCILE_TIMEOUT)
};

/// Options of the controller, with the namespaces of the managed pools.
pub type Options = controller::Options<BTreeSet<String>>;

/// State of the controller.
struct PoolController {
    options: Options,
    queue: RequestQueue<Key>,
    gauge: Arc<PoolGauge>,
    metrics: Arc<PoolMetrics>,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<PoolMetrics>, stop: Running) -> Running {
    Box::pin(async move { controller::run(&PoolController::new(options, metrics), stop).await })
}

async fn keep_dynamic(api: Api<DynamicObject>, health: &Health, mut on: impl FnMut(&DynamicObject)) {
    keep_watching(api, watcher::Config::default(), health, |event| match event {
        Event::Apply(object) | Event::InitApply(object) | Event::Delete(object) => on(&object),
        Event::Init | Event::InitDone => {}
    })
    .await;
}

impl PoolController {
    fn new(options: Options, metrics: Arc<PoolMetrics>) -> Self {
        let gauge = Arc::new(PoolGauge::default());
        metrics.attach_pools(&gauge);
        Self { options, queue: RequestQueue::new(SETTINGS, metrics.runtime_metrics()), gauge, metrics }
    }

    async fn watch_pools(&self) {
        let api: Api<DynamicObject> = Api::all_with(self.options.client.clone(), &hive("ClusterPool"));
        keep_dynamic(api, &self.gauge.health[0], |pool| {
            // A namesake elsewhere concerns every pool of the name.
            for namespace in &self.options.config {
                self.queue.push((namespace.clone(), pool.name_any()));
            }
        })
        .await;
    }

    async fn watch_clusters(&self) {
        let api: Api<DynamicObject> = Api::all_with(self.options.client.clone(), &hive("ClusterDeployment"));
        keep_dynamic(api, &self.gauge.health[1], |cluster| {
            let label = |key| cluster.labels().get(key).cloned();
            let pool = label(LABELS[0]).zip(label(LABELS[1]));
            if let Some(key) = pool.filter(|(namespace, _)| self.options.config.contains(namespace)) {
                self.queue.push(key);
            }
        })
        .await;
    }
}

impl Reconciler for PoolController {
    type Key = Key;
    type Observed = PoolLookup;
    /// None: the pool cannot be read.
    type Plan = Option<PoolPlan>;
    type Error = kube::Error;

    fn kind(&self, _key: &Self::Key) -> &'static str {
        "ClusterPool"
    }

    fn uid<'o>(&self, observed: &'o PoolLookup) -> Option<&'o str> {
        match observed {
            PoolLookup::Pool(pool) => pool.object.metadata.uid.as_deref(),
            PoolLookup::Nothing | PoolLookup::Broken => None,
        }
    }

    fn request_queue(&self) -> &RequestQueue<Key> {
        &self.queue
    }

    async fn watch(&self) {
        tokio::join!(self.watch_pools(), self.watch_clusters());
    }

    async fn observe(&self, key: &Key, _bypass_caches: bool) -> kube::Result<Option<PoolLookup>> {
        let found = observe(&self.options.client, &key.0, &key.1).await?;
        if matches!(found, PoolLookup::Nothing) {
            self.gauge.record(key, None);
            return Ok(None);
        }
        Ok(Some(found))
    }

    fn plan(&self, found: &PoolLookup) -> Option<PoolPlan> {
        let PoolLookup::Pool(observed) = found else { return None };
        Some(plan(&observed.pool, &observed.clusters, (self.options.now)()))
    }

    async fn execute(&self, key: &Key, found: PoolLookup, plan: Option<PoolPlan>) -> kube::Result<Action> {
        let (PoolLookup::Pool(observed), Some(plan)) = (found, plan) else {
            self.gauge.record(key, Some(PoolProgress::UNREADABLE));
            self.metrics.count_pool_reconcile("left_alone");
            // That it goes may be missed, too, and it would be counted for ever.
            return Ok(Action::RequeueAfter(NET));
        };
        let Options { client, instance, now, .. } = &self.options;
        let (namespace, name) = key;
        let known = plan.status.as_ref().or(observed.pool.known.as_ref());
        self.gauge.record(key, known.map(|known| PoolProgress::of(&observed.pool, known)));
        if let Some(status) = &plan.status {
            write_status(client, &observed.object, status).await?;
            tracing::info!(namespace, clusterpool = name, ceiling = ?status.ceiling, "pool annotated");
        }
        self.metrics.count_pool_reconcile(if plan.status.is_some() { "annotated" } else { "unchanged" });
        // After the annotation, so that a reconcile that failed before emits it once.
        for event in &plan.events {
            self.metrics.count_pool_event(&event.reason);
            if let Err(error) = emit(client, &observed.object, event, instance, now()).await {
                let error = plain_message(&error);
                tracing::warn!(namespace, clusterpool = name, error, "event not created");
            }
        }
        Ok(plan.requeue.earlier(Action::RequeueAfter(NET)))
    }

    fn error_policy(&self, _key: &Key, error: &Error) -> Action {
        self.metrics.count_pool_reconcile("failed");
        self.queue.settings().retry.after(error.reason)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use jiff::Timestamp;
    use kube::{Client, client::Body};
    use prometheus_client::registry::Registry;
    use testplatform_runtime::metrics::ControllerMetrics as _;

    use super::*;

    fn encode_metrics(metrics: &PoolMetrics) -> String {
        let (mut registry, mut text) = (Registry::default(), String::new());
        metrics.register_metrics(&mut registry);
        metrics.runtime_metrics().register_metrics(&mut registry);
        metrics.refresh_gauges();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        text
    }

    fn controller(client: Client) -> PoolController {
        let now = || Timestamp::UNIX_EPOCH;
        let options = Options::new(client, BTreeSet::new(), now);
        PoolController::new(options, Arc::default())
    }

    async fn reconcile(controller: &PoolController) -> Action {
        controller::reconcile(controller, &("pools".into(), "one".into()), false).await.action
    }

    /// A hub on which every request panics.
    fn answer(_: &Request<Body>) -> Result<Response<Body>, Infallible> {
        panic!("a bug")
    }

    #[tokio::test]
    async fn a_bug_is_a_look_that_failed() {
        let service = tower::service_fn(|request: Request<Body>| async move { answer(&request) });
        let controller = controller(Client::new(service, "default"));
        assert_eq!(reconcile(&controller).await, Action::Backoff);
        let told = encode_metrics(&controller.metrics);
        for line in [
            r#"testplatform_clusterpool_reconciles_total{outcome="failed"} 1"#,
            r#"testplatform_provider_action_errors_total{action="look",reason="bug"} 1"#,
        ] {
            assert!(told.contains(line), "{line}: {told}");
        }
    }

    /// That it goes may be missed, and it would be counted for ever.
    #[tokio::test]
    async fn unreadable_pool_is_requeued_until_deleted() {
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
        let unreadable = r#"testplatform_clusterpools{state="unreadable"} "#;
        let count = |expected: u64| {
            let told = encode_metrics(&controller.metrics);
            assert!(told.contains(&format!("{unreadable}{expected}")), "{expected}: {told}");
        };
        assert_eq!(reconcile(&controller).await, Action::RequeueAfter(NET));
        count(1);
        // That is not said of the pool.
        assert_eq!(reconcile(&controller).await, Action::Backoff);
        count(1);
        assert_eq!(reconcile(&controller).await, Action::Forget);
        count(0);
    }
}

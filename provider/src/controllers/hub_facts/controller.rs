//! Controller of the hub's facts: observes the hub at an interval, and publishes the facts.

use std::{sync::Arc, time::Duration};

use testplatform_apis::hub::Facts;
use testplatform_runtime::{
    controller::{self, Running},
    error::Error,
    reconcile::{Action, Reconciler},
    workqueue::{RequestQueue, Settings},
};

use super::{
    execute::write,
    metrics::HubMetrics,
    observe,
    observed_state::HubState,
    plan::{FactsPlan, plan},
};
use crate::config::HubFacts;

/// Time limit of a reconcile. A thousand clusters are ten pages.
const RECONCILE_TIMEOUT: Duration = Duration::from_secs(30);
/// After a reconcile that failed.
const RETRY: Duration = Duration::from_secs(10);
const SETTINGS: Settings = Settings {
    debounce: Duration::ZERO,
    ..Settings::uncached("hub-facts", 1).with_timeout("look_at_hub", RECONCILE_TIMEOUT)
};

/// Options of the controller.
pub type Options = controller::Options<HubFacts>;

/// State of the controller. There is one hub, so its key says nothing.
struct HubController {
    options: Options,
    queue: RequestQueue<()>,
    metrics: Arc<HubMetrics>,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<HubMetrics>, stop: Running) -> Running {
    Box::pin(async move {
        // Facts that cannot be read count as old as this process, until they are known.
        metrics.set_facts_written_at((options.now)());
        // Nothing is watched: the hub is observed at an interval.
        let queue = RequestQueue::new(SETTINGS, metrics.runtime_metrics());
        queue.push(());
        controller::run(&HubController { options, queue, metrics }, stop).await;
    })
}

impl Reconciler for HubController {
    type Key = ();
    /// The published facts, and the hub as it is.
    type Observed = (Option<Facts>, HubState);
    type Plan = FactsPlan;
    type Error = kube::Error;

    fn kind(&self, _key: &Self::Key) -> &'static str {
        "ConfigMap"
    }

    fn request_queue(&self) -> &RequestQueue<()> {
        &self.queue
    }

    async fn observe(&self, (): &(), _bypass_caches: bool) -> kube::Result<Option<Self::Observed>> {
        let Options { client, config, .. } = &self.options;
        let known = observe::read_published(client, &config.namespace).await?;
        // Reported now, because the following calls may fail repeatedly.
        if let Some(at) = known.as_ref().and_then(|facts| facts.written_at) {
            self.metrics.set_facts_written_at(at);
        }
        Ok(Some((known, observe::observe_hub(client, config).await?)))
    }

    fn plan(&self, (known, observed): &Self::Observed) -> FactsPlan {
        let Options { config, now, .. } = &self.options;
        let period = Duration::try_from(config.period.as_signed()).unwrap_or(RETRY);
        plan(known.as_ref(), observed, period, now())
    }

    async fn execute(&self, (): &(), (known, _): Self::Observed, plan: FactsPlan) -> kube::Result<Action> {
        if let Some(facts) = &plan.write {
            write(&self.options.client, &self.options.config.namespace, facts).await?;
            tracing::debug!(load = ?facts.cluster_count(), "facts of the hub written");
        }
        self.metrics.count_hub_reconcile(if plan.write.is_some() { "told" } else { "unchanged" });
        self.metrics.set_hub_facts(plan.write.as_ref().or(known.as_ref()));
        Ok(Action::RequeueAfter(plan.requeue))
    }

    fn error_policy(&self, (): &(), _error: &Error) -> Action {
        self.metrics.count_hub_reconcile("failed");
        Action::RequeueAfter(RETRY)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use jiff::Timestamp;
    use kube::{Client, client::Body};
    use serde_json::json;
    use testplatform_apis::hub::{CONFIG_MAP, KEY};
    use tokio::time::sleep;

    use super::*;
    use crate::metrics::Metrics;

    /// A hub on which every request panics.
    fn answer(_: &Request<Body>) -> Result<Response<Body>, Infallible> {
        panic!("a bug")
    }

    #[tokio::test(start_paused = true)]
    async fn a_bug_does_not_end_the_looks() {
        let service = tower::service_fn(|request: Request<Body>| async move { answer(&request) });
        let client = Client::new(service, "default");
        let options = Options::new(client, HubFacts::default(), || Timestamp::UNIX_EPOCH);
        let metrics = Metrics::default();
        run(options, metrics.hub(), Box::pin(sleep(RETRY * 5 / 2))).await;
        let told = metrics.encode().unwrap();
        for line in [
            r#"testplatform_hub_facts_reconciles_total{outcome="failed"} 3"#,
            r#"testplatform_provider_action_errors_total{action="look",reason="bug"} 3"#,
            "testplatform_hub_facts_written_timestamp_seconds{} 0.0",
        ] {
            assert!(told.contains(line), "{line}: {told}");
        }
    }

    /// They were written before this process began, and nothing else can be read.
    #[tokio::test(start_paused = true)]
    async fn facts_are_as_old_as_they_are_while_looks_fail() {
        let written: Timestamp = "2026-03-02T11:00:00Z".parse().unwrap();
        let facts = Facts { written_at: Some(written), ..Facts::default() };
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": CONFIG_MAP },
            "data": { KEY: facts.to_json().unwrap() },
        });
        let map = serde_json::to_vec(&map).unwrap();
        let service = tower::service_fn(move |request: Request<Body>| {
            let path = request.uri().path().to_owned();
            let known = request.method() == http::Method::GET && path.ends_with(CONFIG_MAP);
            let (status, body) = if known { (200, map.clone()) } else { (500, b"{}".to_vec()) };
            async move { Response::builder().status(status).body(Body::from(body)) }
        });
        let client = Client::new(service, "default");
        let now = || "2026-03-02T12:00:00Z".parse().unwrap_or_default();
        let options = Options::new(client, HubFacts::default(), now);
        let metrics = Metrics::default();
        run(options, metrics.hub(), Box::pin(sleep(RETRY / 2))).await;
        let told = metrics.encode().unwrap();
        let line = format!(
            "testplatform_hub_facts_written_timestamp_seconds{{}} {:?}",
            written.as_duration().as_secs_f64()
        );
        assert!(told.contains(&line), "{line}: {told}");
        assert!(told.contains(r#"testplatform_hub_facts_reconciles_total{outcome="failed"} 1"#), "{told}");
    }
}

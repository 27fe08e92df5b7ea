//! Controller of the hub's facts: observes the hub at an interval, and publishes the facts.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use kube::Client;
use testplatform_runtime::{
    error::{Cause, Error, catch_panic},
    running::Running,
    timeout::with_timeout,
};
use tokio::time::sleep;

use super::{execute::write, metrics::HubMetrics, observe, plan::plan};
use crate::config::HubFacts;

/// How long a look may take. A thousand clusters are ten pages.
const PATIENCE: Duration = Duration::from_secs(30);
/// When a look failed.
const RETRY: Duration = Duration::from_secs(10);

/// Options of the controller.
#[derive(Clone)]
pub struct Options {
    /// The hub.
    pub client: Client,
    /// Facts to publish, and their target.
    pub config: HubFacts,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<HubMetrics>, stop: Running) -> Running {
    Box::pin(run_until(options, metrics, stop))
}

async fn run_until(options: Options, metrics: Arc<HubMetrics>, stop: Running) {
    let mut stop = std::pin::pin!(stop);
    // Facts that cannot be read count as old as this process, until they are known.
    metrics.set_facts_written_at((options.now)());
    loop {
        let look = async { reconcile(&options, &metrics).await.map_err(Cause::from) };
        let outcome = catch_panic(with_timeout("look_at_hub", PATIENCE, look)).await;
        let after = outcome.unwrap_or_else(|Error { action, reason, message }| {
            metrics.count_hub_reconcile("failed");
            metrics.runtime().failed(action, reason.as_str());
            tracing::warn!(error = message, "a look at the hub failed");
            RETRY
        });
        tokio::select! {
            () = &mut stop => return,
            () = sleep(after) => {}
        }
    }
}

async fn reconcile(options: &Options, metrics: &HubMetrics) -> kube::Result<Duration> {
    let Options { client, config, now } = options;
    let namespace = &config.namespace;
    let known = observe::read_published(client, namespace).await?;
    // Reported now, because the following calls may fail repeatedly.
    if let Some(at) = known.as_ref().and_then(|facts| facts.written_at) {
        metrics.set_facts_written_at(at);
    }
    let observed = observe::observe_hub(client, config).await?;
    let period = Duration::try_from(config.period.as_signed()).unwrap_or(RETRY);
    let step = plan(known.as_ref(), &observed, period, now());
    if let Some(facts) = &step.write {
        write(client, namespace, facts).await?;
        tracing::debug!(load = ?facts.cluster_count(), "told of the hub");
    }
    metrics.count_hub_reconcile(if step.write.is_some() { "told" } else { "unchanged" });
    metrics.set_hub_facts(step.write.as_ref().or(known.as_ref()));
    Ok(step.requeue)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use testplatform_apis::hub::{CONFIG_MAP, Facts, KEY};

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
        let options = Options { client, config: HubFacts::default(), now: || Timestamp::UNIX_EPOCH };
        let metrics = Metrics::default();
        run(options, metrics.hub(), Box::pin(sleep(RETRY * 5 / 2))).await;
        let told = metrics.encode().unwrap();
        for line in [
            r#"hub_looks_total{outcome="failed"} 3"#,
            r#"provider_action_errors_total{action="look",reason="bug"} 3"#,
            "hub_facts_written_timestamp_seconds{} 0.0",
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
        let options = Options { client, config: HubFacts::default(), now };
        let metrics = Metrics::default();
        run(options, metrics.hub(), Box::pin(sleep(RETRY / 2))).await;
        let told = metrics.encode().unwrap();
        let line =
            format!("hub_facts_written_timestamp_seconds{{}} {:?}", written.as_duration().as_secs_f64());
        assert!(told.contains(&line), "{line}: {told}");
        assert!(told.contains(r#"hub_looks_total{outcome="failed"} 1"#), "{told}");
    }
}

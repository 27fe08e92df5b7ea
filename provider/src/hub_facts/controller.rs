//! The loop: a look at the hub now and then, and what is to be told.

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::time::{sleep, timeout};

use super::{execute::write, next::next, observe};
use crate::{
    config::HubFacts,
    execute::{Cause, Reason},
    metrics::Metrics,
    running::Running,
};

/// How long a look may take. A thousand clusters are ten pages.
const PATIENCE: Duration = Duration::from_secs(30);
/// When a look failed.
const RETRY: Duration = Duration::from_secs(10);

/// What the loop needs to know.
#[derive(Clone)]
pub struct Options {
    /// The hub.
    pub client: Client,
    /// What is told, and where.
    pub config: HubFacts,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Metrics, stop: Running) -> Running {
    Box::pin(until(options, metrics, stop))
}

async fn until(options: Options, metrics: Metrics, stop: Running) {
    let mut stop = std::pin::pin!(stop);
    loop {
        let late = || Cause::new(Reason::Timeout, "no answer in time");
        let outcome = match timeout(PATIENCE, look(&options, &metrics)).await {
            Ok(outcome) => outcome.map_err(Cause::from),
            Err(_) => Err(late()),
        };
        let after = outcome.unwrap_or_else(|Cause { reason, message }| {
            metrics.looked_at_hub("failed");
            metrics.failed("look_at_hub", reason.as_str());
            tracing::warn!(error = message, "a look at the hub failed");
            RETRY
        });
        tokio::select! {
            () = &mut stop => return,
            () = sleep(after) => {}
        }
    }
}

async fn look(options: &Options, metrics: &Metrics) -> kube::Result<Duration> {
    let Options { client, config, now } = options;
    let namespace = &config.namespace;
    let known = observe::known(client, namespace).await?;
    let world = observe::world(client, config).await?;
    let period = Duration::try_from(config.period.get()).unwrap_or(RETRY);
    let step = next(known.as_ref(), &world, period, now());
    if let Some(facts) = &step.write {
        write(client, namespace, facts).await?;
        tracing::debug!(load = ?facts.load(), "told of the hub");
    }
    metrics.looked_at_hub(if step.write.is_some() { "told" } else { "unchanged" });
    metrics.told_of_hub(step.write.as_ref().or(known.as_ref()));
    Ok(step.requeue)
}

//! Publishes events on the ConfigMaps of requests.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Resource as _, ResourceExt as _};
use testplatform_runtime::{
    event::{self, Event},
    metrics::RuntimeMetrics,
    timeout::with_timeout,
};

/// Publisher of events.
pub(crate) struct EventPublisher {
    /// The hub.
    pub client: Client,
    /// How long one call to the hub may take.
    pub patience: Duration,
    /// Identity of this process.
    pub instance: String,
    /// Counts events that could not be published.
    pub metrics: RuntimeMetrics,
}

impl EventPublisher {
    /// Makes an event. Somebody may miss it, but nothing depends on it.
    pub async fn publish_event(&self, key: &str, map: &ConfigMap, event: &Event, now: Timestamp) {
        let events = Api::namespaced(self.client.clone(), &map.namespace().unwrap_or_default());
        let made = event::emit_event(&events, &self.instance, map.object_ref(&()), event, now);
        if let Err(error) = with_timeout("emit", self.patience, made).await {
            self.metrics.failed(error.action, error.reason.as_str());
            tracing::warn!(order = key, %error, "request skipped");
        }
    }
}

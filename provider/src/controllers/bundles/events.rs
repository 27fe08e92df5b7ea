//! Events about the changes of a request.

use k8s_openapi::api::core::v1::ConfigMap;
use testplatform_apis::bundle::{BundleProgress, BundleReport};
use testplatform_runtime::event::Event;

use super::{
    controller::BundleController,
    metrics::BundleOutcome,
    plan::{BundleRelease, StatusUpdate},
};

impl BundleController {
    /// Emits events about changes: once, because the state is recorded.
    pub(super) async fn emit_changes(
        &self,
        key: &str,
        map: &ConfigMap,
        before: &BundleReport,
        note: &StatusUpdate,
    ) {
        let now = &note.report;
        let (bundle, object) = (now.bundle.as_deref(), now.object.as_deref());
        let (reason, message) = (now.reason.as_deref(), now.message.as_deref());
        tracing::info!(order = key, state = ?now.state, bundle, object, reason, message, "bundle report changed");
        let passed = before.bundle.is_some() && now.bundle != before.bundle;
        if let Some(since) =
            before.since.filter(|_| passed && now.state != Some(BundleProgress::BeforeDeletion))
        {
            self.metrics.bundle_took((self.now)().duration_since(since));
        }
        if before.state == now.state {
            return;
        }
        let what = [bundle, object, reason, message].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let event = match now.state {
            Some(BundleProgress::Applied) => {
                (BundleOutcome::Applied, "all bundles of the cluster are ready".to_owned())
            }
            Some(BundleProgress::SetupFailed) => (BundleOutcome::Failed, what),
            Some(BundleProgress::Running | BundleProgress::BeforeDeletion) | None => return,
        };
        self.publish_event(key, map, event.0, event.1).await;
    }

    pub(super) async fn record_release(
        &self,
        key: &str,
        map: &ConfigMap,
        before: &BundleReport,
        how: BundleRelease,
    ) {
        let bundle = before.bundle.as_deref().unwrap_or_default();
        let (outcome, text) = match how {
            BundleRelease::Done => {
                (BundleOutcome::Released, "all bundles before the deletion have finished".to_owned())
            }
            BundleRelease::NotNeeded => (
                BundleOutcome::Released,
                "the cluster is gone or is being deleted; no bundles run before".to_owned(),
            ),
            BundleRelease::GivenUp => {
                let why = before.message.as_deref().unwrap_or("it was not ready in time");
                (BundleOutcome::GivenUp, format!("{bundle}: {why}; the cluster is deleted nevertheless"))
            }
        };
        tracing::info!(order = key, ?how, "bundle request released");
        self.publish_event(key, map, outcome, text).await;
    }

    async fn publish_event(&self, key: &str, map: &ConfigMap, outcome: BundleOutcome, note: String) {
        self.metrics.bundles_came_to(outcome);
        let event = Event { warning: outcome.is_warning(), reason: outcome.as_str().into(), note };
        self.teller.publish_event(key, map, &event, (self.now)()).await;
    }
}

//! Events about the changes of a request.

use k8s_openapi::api::core::v1::ConfigMap;
use testplatform_apis::bundle::{BundleProgress, BundleReport};
use testplatform_runtime::event::Event;

use super::{
    controller::PrerequisiteController,
    metrics::PrerequisiteOutcome,
    plan::{PrerequisiteRelease, PrerequisiteUpdate},
};

impl PrerequisiteController {
    /// Emits events about changes: once, because the state is recorded.
    pub(super) async fn emit_changes(
        &self,
        key: &str,
        map: &ConfigMap,
        before: &BundleReport,
        note: &PrerequisiteUpdate,
    ) {
        let now = &note.report;
        let (bundle, object) = (now.bundle.as_deref(), now.object.as_deref());
        let (reason, message) = (now.reason.as_deref(), now.message.as_deref());
        let removing = note.removing.is_some();
        tracing::info!(order = key, state = ?now.state, bundle, object, reason, message, removing, "prerequisite report changed");
        if before.state == now.state {
            return;
        }
        let (outcome, text) = match now.state {
            Some(BundleProgress::Applied) => {
                (PrerequisiteOutcome::Applied, "all prerequisites of the cluster are ready".to_owned())
            }
            Some(BundleProgress::SetupFailed) => {
                let words = [bundle, object, reason, message].into_iter().flatten();
                (PrerequisiteOutcome::Failed, words.collect::<Vec<_>>().join(": "))
            }
            Some(BundleProgress::Running | BundleProgress::BeforeDeletion) | None => return,
        };
        self.publish_event(key, map, outcome, text).await;
    }

    pub(super) async fn record_release(&self, key: &str, map: &ConfigMap, how: PrerequisiteRelease) {
        tracing::info!(order = key, ?how, "prerequisite request released");
        let (outcome, text) = match how {
            PrerequisiteRelease::Done => {
                (PrerequisiteOutcome::Released, "all prerequisites of the cluster are gone".to_owned())
            }
            PrerequisiteRelease::GivenUp(why) => {
                (PrerequisiteOutcome::GivenUp, format!("{why}; it is left to the garbage collector"))
            }
        };
        self.publish_event(key, map, outcome, text).await;
    }

    async fn publish_event(&self, key: &str, map: &ConfigMap, outcome: PrerequisiteOutcome, note: String) {
        self.metrics.prerequisites_came_to(outcome);
        let event = Event { warning: outcome.is_warning(), reason: outcome.as_str().into(), note };
        self.teller.publish_event(key, map, &event, (self.now)()).await;
    }
}

//! Events about claims with cleanup, each once.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Api;
use testplatform_apis::claim::API_VERSION;
use testplatform_runtime::{error::Cause, event::emit_event};

use super::{
    controller::{CleanupController, LastRemark, lock},
    execute::Identity,
    metrics::Teardown,
    plan::{CleanupPlan, Remark},
};

impl CleanupController {
    /// Emits a remark on a claim once. A plan from before this process started was reported when it was recorded.
    pub(super) async fn emit_remark(
        &self,
        key: &str,
        claim: &Identity,
        step: &CleanupPlan,
    ) -> Result<(), Cause> {
        let Some(remark) = step.remark else { return Ok(()) };
        let note = |made| {
            let last = LastRemark { uid: claim.uid.clone(), remark, made };
            lock(&self.last_remarks).insert(key.to_owned(), last);
        };
        let before = lock(&self.last_remarks).get(key).filter(|last| last.uid == claim.uid).cloned();
        let known = before.is_none() && matches!(remark, Remark::Planned(_)) && step.note.is_none();
        let before = before.filter(|last| last.remark == remark);
        if known || before.as_ref().is_some_and(|last| last.made) {
            note(true);
            return Ok(());
        }
        note(false);
        let event = remark.event();
        if before.is_none() {
            self.count_remark(remark);
            if event.warning {
                tracing::warn!(claim = key, reason = event.reason, "{}", event.note);
            } else {
                tracing::info!(claim = key, reason = event.reason, "{}", event.note);
            }
        }
        let regarding = ObjectReference {
            api_version: Some(API_VERSION.into()),
            kind: Some(claim.kind.into()),
            namespace: Some(claim.namespace.clone()),
            name: Some(claim.name.clone()),
            uid: Some(claim.uid.clone()),
            ..ObjectReference::default()
        };
        let events = Api::namespaced(self.client.clone(), &claim.namespace);
        emit_event(&events, &self.instance, regarding, &event, (self.now)()).await?;
        note(true);
        Ok(())
    }

    fn count_remark(&self, remark: Remark) {
        match remark {
            Remark::TornDown => self.metrics.decided_teardown(Teardown::Told),
            Remark::Held => self.metrics.decided_teardown(Teardown::Held),
            Remark::Forbidden | Remark::NoOwner | Remark::Unreadable | Remark::Planned(_) => {}
        }
    }
}

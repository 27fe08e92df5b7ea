//! Actions about ClusterClaims become calls. Each has a time limit and may be repeated; nothing is decided here.

use std::time::Duration;

use jiff::Timestamp;
use kube::{Resource as _, api::Patch};
use serde_json::json;
use testplatform_apis::names::ours;
use testplatform_runtime::{
    apply::patch_params,
    error::{Cause, Error, Reason, is_object_not_found},
    event,
    timeout::with_timeout,
};

use super::{
    deployment::RUNNING,
    hub::ClaimHub,
    object::ClusterClaim,
    operation::{ClaimAnnotations, ClaimOperation, ClaimPlan},
};
use crate::credentials::{
    account::{GUEST_TIMEOUT as ISSUING, guest_limiter::GuestLimiter},
    publish::write::{issue, publish, withdraw, write_annotations},
};

/// Executes plans.
pub struct ClaimExecutor {
    /// The hub.
    pub hub: ClaimHub,
    /// Identity of this process in events.
    pub instance: String,
    /// How long one action may take.
    pub patience: Duration,
    /// Leave to call clusters that were delivered.
    pub callers: GuestLimiter,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// Where a step ended too early.
#[derive(Debug)]
pub struct ClaimFailure<'a> {
    /// The action that failed; none if it was the notes.
    pub action: Option<&'a ClaimOperation>,
    /// Why.
    pub error: Error,
}

impl ClaimExecutor {
    /// Executes the operations in order, writes the annotations, and emits the events about them. The first failure ends it, except for a
    /// cluster that cannot be resumed: that is recorded nevertheless. Returns the failures that do not end the reconcile.
    pub async fn run<'a>(
        &self,
        claim: &ClusterClaim,
        step: &'a ClaimPlan,
    ) -> Result<Vec<Error>, ClaimFailure<'a>> {
        let mut late = None;
        let mut forgone = Vec::new();
        for action in &step.actions {
            // Nothing is done on top of what could not be; a cluster that sleeps could not be asked, and has to be started.
            if late.is_some() && !matches!(action, ClaimOperation::Resume { .. }) {
                continue;
            }
            if let Err(error) = self.one(claim, action).await {
                match action {
                    ClaimOperation::Issue(_) => late = Some(ClaimFailure { action: Some(action), error }),
                    ClaimOperation::Resume { .. } => {
                        late = late.or(Some(ClaimFailure { action: Some(action), error }));
                        break;
                    }
                    // Somebody may miss it, but nothing depends on it.
                    ClaimOperation::Emit(_) => forgone.push(error),
                    ClaimOperation::Publish(_) | ClaimOperation::Withdraw => {
                        return Err(ClaimFailure { action: Some(action), error });
                    }
                }
            }
        }
        let unissued =
            late.as_ref().is_some_and(|late| matches!(late.action, Some(ClaimOperation::Issue(_))));
        if let Some(notes) = step.status.as_ref().filter(|_| !unissued) {
            self.write_annotations(claim, notes)
                .await
                .map_err(|error| ClaimFailure { action: None, error })?;
        }
        for event in step.events.iter().filter(|_| !unissued) {
            forgone.extend(self.one(claim, &ClaimOperation::Emit(event.clone())).await.err());
        }
        late.map_or(Ok(forgone), Err)
    }

    async fn one(&self, claim: &ClusterClaim, action: &ClaimOperation) -> Result<(), Error> {
        let patience = if matches!(action, ClaimOperation::Issue(_)) { ISSUING } else { self.patience };
        with_timeout(operation_name(action), patience, self.act(claim, action)).await?;
        log_operation(claim, operation_name(action));
        Ok(())
    }

    async fn act(&self, claim: &ClusterClaim, action: &ClaimOperation) -> Result<(), Cause> {
        match action {
            ClaimOperation::Publish(credentials) => {
                publish(self.hub.credentials_namespace(), &claim.owner(), credentials).await
            }
            ClaimOperation::Issue(wanted) => {
                issue(self.hub.credentials_namespace(), &claim.owner(), wanted, &self.callers, (self.now)())
                    .await
            }
            ClaimOperation::Withdraw => {
                withdraw(self.hub.credentials_namespace(), &claim.owner(), &self.callers).await
            }
            ClaimOperation::Resume { cluster_deployment, version } => {
                self.resume(cluster_deployment, version).await
            }
            ClaimOperation::Emit(event) => {
                let events = self.hub.credentials_namespace().events(claim.namespace());
                event::emit_event(&events, &self.instance, claim.object_ref(&()), event, (self.now)()).await
            }
        }
    }

    async fn resume(&self, cluster_deployment: &str, version: &str) -> Result<(), Cause> {
        let patch = Patch::Merge(json!({
            "metadata": { "resourceVersion": version },
            "spec": { "powerState": RUNNING },
        }));
        let patched =
            self.hub.deployments(cluster_deployment).patch(cluster_deployment, &patch_params(), &patch).await;
        match patched {
            Err(error) if is_object_not_found(&error, cluster_deployment) => Ok(()),
            other => Ok(other.map(|_| ())?),
        }
    }

    /// Writes those annotations that are not as they should be. Carries the version that was read, so that what was decided on an
    /// old copy is refused.
    pub async fn write_annotations(
        &self,
        claim: &ClusterClaim,
        notes: &ClaimAnnotations,
    ) -> Result<(), Error> {
        with_timeout("annotate", self.patience, self.write_notes(claim, notes)).await
    }

    async fn write_notes(&self, claim: &ClusterClaim, notes: &ClaimAnnotations) -> Result<(), Cause> {
        let status =
            notes.status.to_annotation().map_err(|error| Cause::new(Reason::Bug, error.to_string()))?;
        let wanted = [
            (ours::STATUS, Some(status)),
            (ours::CREDENTIALS_REVISION, notes.credentials_revision.clone()),
            (ours::DIAGNOSTICS, notes.diagnostics.clone()),
        ];
        if write_annotations(&self.hub.claims(claim.namespace()), &claim.metadata, wanted).await? {
            log_operation(claim, "annotate");
        }
        Ok(())
    }
}

/// One line for each thing that was done. Never what was written.
fn log_operation(claim: &ClusterClaim, action: &'static str) {
    tracing::info!(namespace = claim.namespace(), clusterclaim = claim.name(), action, "action completed");
}

/// The word that logs and metrics have for an action.
pub const fn operation_name(action: &ClaimOperation) -> &'static str {
    match action {
        ClaimOperation::Publish(_) => "publish_credentials",
        ClaimOperation::Issue(_) => "issue_credentials",
        ClaimOperation::Withdraw => "withdraw_credentials",
        ClaimOperation::Resume { .. } => "resume",
        ClaimOperation::Emit(_) => "emit",
    }
}

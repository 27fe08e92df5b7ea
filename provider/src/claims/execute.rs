//! Actions about ClusterClaims become calls. Each has a time limit and may be repeated; nothing is decided here.

use std::time::Duration;

use jiff::Timestamp;
use kube::{Resource as _, api::Patch};
use serde_json::json;
use testplatform_apis::{foreign::cluster_claim::KIND, names::ours};

use super::hub::Hub;
use crate::{
    account::{GUEST_TIMEOUT as ISSUING, callers::GuestLimiter},
    cluster_claim::{
        deployment::RUNNING,
        object::{ClusterClaim, GROUP},
        step::{Action, Notes, Step},
    },
    execute::{Cause, Error, Reason, error::is_gone, event, limited},
    hub::patching,
    publish::write::{annotate, issue, publish, sweep, withdraw},
};

/// Does what a step says.
pub struct Executor {
    /// The hub.
    pub hub: Hub,
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
pub struct Failure<'a> {
    /// The action that failed; none if it was the notes.
    pub action: Option<&'a Action>,
    /// Why.
    pub error: Error,
}

impl Executor {
    /// Does the actions in their order, writes the notes, and emits the events about them. The first that fails ends it, but a cluster that
    /// cannot be started again: that is noted all the same. Returns the failures that are no reason to end the pass.
    pub async fn run<'a>(&self, claim: &ClusterClaim, step: &'a Step) -> Result<Vec<Error>, Failure<'a>> {
        let mut late = None;
        let mut forgone = Vec::new();
        for action in &step.actions {
            // Nothing is done on top of what could not be; a cluster that sleeps could not be asked, and has to be started.
            if late.is_some() && !matches!(action, Action::Resume { .. }) {
                continue;
            }
            if let Err(error) = self.one(claim, action).await {
                match action {
                    Action::Issue(_) => late = Some(Failure { action: Some(action), error }),
                    Action::Resume { .. } => {
                        late = late.or(Some(Failure { action: Some(action), error }));
                        break;
                    }
                    // Somebody may miss it, but nothing depends on it.
                    Action::Emit(_) => forgone.push(error),
                    Action::Publish(_) | Action::Withdraw => {
                        return Err(Failure { action: Some(action), error });
                    }
                }
            }
        }
        let unissued = late.as_ref().is_some_and(|late| matches!(late.action, Some(Action::Issue(_))));
        if let Some(notes) = step.status.as_ref().filter(|_| !unissued) {
            self.notes(claim, notes).await.map_err(|error| Failure { action: None, error })?;
        }
        for event in step.events.iter().filter(|_| !unissued) {
            forgone.extend(self.one(claim, &Action::Emit(event.clone())).await.err());
        }
        late.map_or(Ok(forgone), Err)
    }

    async fn one(&self, claim: &ClusterClaim, action: &Action) -> Result<(), Error> {
        let patience = if matches!(action, Action::Issue(_)) { ISSUING } else { self.patience };
        limited(name(action), patience, self.act(claim, action)).await?;
        say(claim, name(action));
        Ok(())
    }

    async fn act(&self, claim: &ClusterClaim, action: &Action) -> Result<(), Cause> {
        match action {
            Action::Publish(credentials) => publish(self.hub.vault(), &claim.owner(), credentials).await,
            Action::Issue(wanted) => {
                issue(self.hub.vault(), &claim.owner(), wanted, &self.callers, (self.now)()).await
            }
            Action::Withdraw => withdraw(self.hub.vault(), &claim.owner(), &self.callers).await,
            Action::Resume { cluster_deployment, version } => self.resume(cluster_deployment, version).await,
            Action::Emit(event) => {
                let events = self.hub.vault().events(claim.namespace());
                event::emit(&events, &self.instance, claim.object_ref(&()), event, (self.now)()).await
            }
        }
    }

    async fn resume(&self, cluster_deployment: &str, version: &str) -> Result<(), Cause> {
        let patch = Patch::Merge(json!({
            "metadata": { "resourceVersion": version },
            "spec": { "powerState": RUNNING },
        }));
        let patched =
            self.hub.deployments(cluster_deployment).patch(cluster_deployment, &patching(), &patch).await;
        match patched {
            Err(error) if is_gone(&error, cluster_deployment) => Ok(()),
            other => Ok(other.map(|_| ())?),
        }
    }

    /// Writes those annotations that are not as they should be. Carries the version that was read, so that what was decided on an
    /// old copy is refused.
    pub async fn notes(&self, claim: &ClusterClaim, notes: &Notes) -> Result<(), Error> {
        limited("annotate", self.patience, self.write_notes(claim, notes)).await
    }

    async fn write_notes(&self, claim: &ClusterClaim, notes: &Notes) -> Result<(), Cause> {
        let status = notes.status.write().map_err(|error| Cause::new(Reason::Bug, error.to_string()))?;
        let wanted = [
            (ours::STATUS, Some(status)),
            (ours::CREDENTIALS_REVISION, notes.credentials_revision.clone()),
            (ours::DIAGNOSTICS, notes.diagnostics.clone()),
        ];
        if annotate(&self.hub.claims(claim.namespace()), &claim.metadata, wanted).await? {
            say(claim, "annotate");
        }
        Ok(())
    }

    /// Deletes a published Secret whose claim is gone. `gone` is the claim's uid.
    pub async fn sweep(&self, name: &str, gone: &str) -> Result<(), Error> {
        let removed = sweep(self.hub.vault(), name, (GROUP, KIND), gone, &self.callers);
        limited("sweep_credentials", self.patience, removed).await
    }
}

/// One line for each thing that was done. Never what was written.
fn say(claim: &ClusterClaim, action: &'static str) {
    tracing::info!(namespace = claim.namespace(), clusterclaim = claim.name(), action, "done");
}

/// The word that logs and metrics have for an action.
pub const fn name(action: &Action) -> &'static str {
    match action {
        Action::Publish(_) => "publish_credentials",
        Action::Issue(_) => "issue_credentials",
        Action::Withdraw => "withdraw_credentials",
        Action::Resume { .. } => "resume",
        Action::Emit(_) => "emit",
    }
}

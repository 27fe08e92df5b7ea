//! Actions about clusters become calls. Each has a time limit and may be repeated; nothing is decided here.

use std::time::Duration;

use jiff::Timestamp;
use kube::{
    Resource as _,
    api::{DeleteParams, Preconditions},
    core::ApiResource,
};
use testplatform_apis::{names::ours, template::Backend};
use testplatform_runtime::{
    error::{Cause, Error, Reason, is_not_found},
    event::{self, Event},
    lookup,
    timeout::with_timeout,
};

use super::plan::{ClusterAnnotations, ClusterPlan};
use crate::credentials::{
    account::{GUEST_TIMEOUT as ISSUING, guest_limiter::GuestLimiter},
    cluster_kind::owner,
    cluster_lookup::api,
    cluster_object::Cluster,
    publish::{
        CredentialsNamespace, CredentialsOperation,
        write::{issue, publish, withdraw, write_annotations},
    },
};

/// Executes plans.
pub(super) struct ClusterExecutor {
    /// Backend of the clusters.
    pub backend: Backend,
    /// Their objects, as the hub serves them.
    pub resource: ApiResource,
    /// The Secrets of the hub.
    pub vault: CredentialsNamespace,
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
pub(super) struct ClusterFailure<'a> {
    /// The action that failed; none if it was the notes.
    pub action: Option<&'a CredentialsOperation>,
    /// Why.
    pub error: Error,
}

impl ClusterExecutor {
    /// Executes the operations in order, writes the annotations, and emits the events about them. The first failure of a write ends it.
    /// Returns the failures of events, which do not end the reconcile.
    pub async fn run<'a>(
        &self,
        object: &Cluster,
        step: &'a ClusterPlan,
    ) -> Result<Vec<Error>, ClusterFailure<'a>> {
        for action in &step.actions {
            let executed = self.one(object, action).await;
            executed.map_err(|error| ClusterFailure { action: Some(action), error })?;
        }
        if let Some(notes) = &step.status {
            self.write_annotations(object, notes)
                .await
                .map_err(|error| ClusterFailure { action: None, error })?;
        }
        let mut forgone = Vec::new();
        for event in &step.events {
            // Somebody may miss it, but nothing depends on it.
            forgone.extend(self.emit(object, event).await.err());
        }
        Ok(forgone)
    }

    async fn one(&self, object: &Cluster, action: &CredentialsOperation) -> Result<(), Error> {
        let patience = if matches!(action, CredentialsOperation::Issue(_)) { ISSUING } else { self.patience };
        with_timeout(name(action), patience, self.act(object, action)).await?;
        self.log_operation(object, name(action));
        Ok(())
    }

    async fn act(&self, object: &Cluster, action: &CredentialsOperation) -> Result<(), Cause> {
        let owner = owner(self.backend, object);
        match action {
            CredentialsOperation::Publish(credentials) => publish(&self.vault, &owner, credentials).await,
            CredentialsOperation::Issue(wanted) => {
                issue(&self.vault, &owner, wanted, &self.callers, (self.now)()).await
            }
            CredentialsOperation::Withdraw => withdraw(&self.vault, &owner, &self.callers).await,
        }
    }

    async fn emit(&self, object: &Cluster, event: &Event) -> Result<(), Error> {
        let events = self.vault.events(object.namespace());
        let regarding = object.object_ref(&self.resource);
        let emitted = event::emit_event(&events, &self.instance, regarding, event, (self.now)());
        with_timeout("emit", self.patience, emitted).await?;
        self.log_operation(object, "emit");
        Ok(())
    }

    /// Writes those annotations that are not as they should be.
    pub async fn write_annotations(&self, object: &Cluster, notes: &ClusterAnnotations) -> Result<(), Error> {
        let write = async {
            let status =
                notes.status.to_annotation().map_err(|error| Cause::new(Reason::Bug, error.to_string()))?;
            let wanted = [
                (ours::STATUS, Some(status)),
                (ours::CREDENTIALS_REVISION, notes.credentials_revision.clone()),
            ];
            let api = api(&self.vault.client(), object.namespace(), &self.resource);
            write_annotations(&api, &object.metadata, wanted).await
        };
        if with_timeout("annotate", self.patience, write).await? {
            self.log_operation(object, "annotate");
        }
        Ok(())
    }

    /// Deletes the object of an overdue cluster and emits the event, unless it is another object by now or has another latest end. This
    /// precedes all other work, because nothing else ends a cluster whose credentials cannot be read.
    pub async fn end_overdue(&self, object: &Cluster, event: &Event) -> Result<(), Error> {
        if !with_timeout("delete_overdue_cluster", self.patience, self.delete(object)).await? {
            return Ok(());
        }
        tracing::warn!(
            kind = self.resource.kind,
            namespace = object.namespace(),
            cluster = object.name(),
            "cluster deleted: its latest end has passed without a teardown"
        );
        self.emit(object, event).await
    }

    /// Whether the object was deleted.
    async fn delete(&self, object: &Cluster) -> Result<bool, Cause> {
        let api = api(&self.vault.client(), object.namespace(), &self.resource);
        let Some(found) = lookup::get_opt(&api, object.name()).await? else { return Ok(false) };
        let same = found.uid() == object.uid() && !found.is_deleted();
        if !same || found.annotation(ours::LATEST_END) != object.annotation(ours::LATEST_END) {
            return Ok(false);
        }
        let (uid, resource_version) = (found.metadata.uid.clone(), found.metadata.resource_version.clone());
        let preconditions = Preconditions { uid, resource_version };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
        match api.delete(object.name(), &params).await {
            Err(error) if is_not_found(&error) => Ok(false),
            other => Ok(other.map(|_| true)?),
        }
    }

    /// One line for each thing that was done. Never what was written.
    fn log_operation(&self, object: &Cluster, action: &'static str) {
        let (kind, namespace, cluster) = (&self.resource.kind, object.namespace(), object.name());
        tracing::info!(kind, namespace, cluster, action, "action completed");
    }
}

/// The word that logs and metrics have for an action.
const fn name(action: &CredentialsOperation) -> &'static str {
    match action {
        CredentialsOperation::Publish(_) => "publish_credentials",
        CredentialsOperation::Issue(_) => "issue_credentials",
        CredentialsOperation::Withdraw => "withdraw_credentials",
    }
}

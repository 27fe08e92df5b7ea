//! Actions become calls. Each has a time limit and may be repeated; nothing is decided here.

mod ephemeral_cluster;
mod prow_job;
pub mod secret;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use kube::{Api, Client, Resource as _};
use testplatform_runtime::{
    error::{Cause, Error, Reason},
    event::{self, Event},
    timeout::with_timeout,
};
use tokio::{sync::OwnedSemaphorePermit, time::sleep};

use super::{
    hub::Hub,
    object::EphemeralCluster,
    operation::{Operation, Plan},
    status::Status,
};
use crate::credentials::account::{GUEST_TIMEOUT as ISSUING, guest_limiter::GuestLimiter};

/// Returns a client for a build cluster, or the reason why there is none.
pub type Reach = Arc<dyn Fn(&str) -> Result<Reached, Cause> + Send + Sync>;

/// A client for a build cluster, and the leave to have it asked.
pub struct Reached {
    /// The client.
    pub client: Client,
    /// Given back when it is dropped; others may wait for it.
    pub leave: Option<OwnedSemaphorePermit>,
}

/// How often a signal is tried before the job is aborted.
const TRIES: u32 = 3;
/// Between two of them.
const PAUSE: Duration = Duration::from_secs(1);

/// How long one action may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// On the hub.
    pub hub: Duration,
    /// On a build cluster.
    pub build_clusters: Duration,
}

/// Executes plans.
pub struct Executor {
    hub: Hub,
    reach: Reach,
    callers: GuestLimiter,
    instance: String,
    patience: Patience,
    now: fn() -> Timestamp,
}

/// Result of executing a plan.
#[derive(Debug)]
pub struct ExecutionResult {
    /// The EphemeralCluster as it is now, as far as it was written.
    pub object: Option<EphemeralCluster>,
    /// Errors of operations that failed without ending the reconcile.
    pub forgone: Vec<Error>,
    /// Why something was not done that nothing else waits for: the first of it. It has to be tried again.
    pub undone: Option<Error>,
}

/// Where a step ended too early.
#[derive(Debug)]
pub struct ExecutionFailure<'a> {
    /// The EphemeralCluster as it is now, as far as it was written.
    pub object: Option<EphemeralCluster>,
    /// The action that failed; none if it was the status.
    pub action: Option<&'a Operation>,
    /// Why.
    pub error: Error,
}

impl Executor {
    /// An executor. `instance` is who it is in events.
    pub fn new(
        hub: Hub,
        reach: Reach,
        callers: GuestLimiter,
        instance: &str,
        patience: Patience,
        now: fn() -> Timestamp,
    ) -> Self {
        Self { hub, reach, callers, instance: instance.to_owned(), patience, now }
    }

    /// Does the actions in their order, writes the status, and emits the events about it; the first that fails ends that. Then it does
    /// what comes afterwards.
    pub async fn run<'a>(
        &self,
        object: Option<EphemeralCluster>,
        step: &'a Plan,
    ) -> Result<ExecutionResult, ExecutionFailure<'a>> {
        let mut outcome = ExecutionResult { object, forgone: Vec::new(), undone: None };
        let failed = self.before(&mut outcome, step).await.err();
        // A conflict only means that the decision used an outdated copy. Any other failure may persist.
        if failed.as_ref().is_none_or(|(_, error)| error.reason != Reason::Conflict) {
            self.afterwards(&mut outcome, step).await;
        }
        match failed {
            Some((action, error)) => Err(ExecutionFailure { object: outcome.object, action, error }),
            None => Ok(outcome),
        }
    }

    /// Does the actions and writes the status. What failed: none for the status.
    async fn before<'a>(
        &self,
        outcome: &mut ExecutionResult,
        step: &'a Plan,
    ) -> Result<(), (Option<&'a Operation>, Error)> {
        for action in &step.actions {
            self.one(outcome, action).await.map_err(|error| (Some(action), error))?;
        }
        if let Some(status) = &step.status {
            self.status(&mut outcome.object, status).await.map_err(|error| (None, error))?;
        }
        for event in &step.events {
            self.one(outcome, &Operation::EmitEvent(event.clone())).await.map_err(|error| (None, error))?;
        }
        Ok(())
    }

    /// Does what comes afterwards, each by itself.
    async fn afterwards(&self, outcome: &mut ExecutionResult, step: &Plan) {
        let mut done = true;
        for action in &step.afterwards {
            if !done && matches!(action, Operation::EmitEvent(_)) {
                continue;
            }
            let tried = self.one(outcome, action).await;
            done = tried.is_ok();
            outcome.undone = outcome.undone.take().or(tried.err());
        }
    }

    /// Does one action.
    async fn one(&self, outcome: &mut ExecutionResult, action: &Operation) -> Result<(), Error> {
        let patience = match action {
            Operation::SignalWaitStep { .. } => self.patience.build_clusters,
            // One after the other.
            Operation::SignalWaitStepOrAbort { .. } => {
                (self.patience.build_clusters + PAUSE) * TRIES + self.patience.hub
            }
            Operation::IssueCredentials(_) => ISSUING,
            _ => self.patience.hub,
        };
        let done = with_timeout(name(action), patience, self.act(&mut outcome.object, action)).await;
        match (action, done) {
            (_, Ok(())) => self.log_operation(outcome.object.as_ref(), action),
            // Somebody may miss it, but nothing depends on it.
            (Operation::EmitEvent(_), Err(error)) => outcome.forgone.push(error),
            (_, Err(error)) => return Err(error),
        }
        Ok(())
    }

    /// Writes the status of an EphemeralCluster, if it is not what is stored already.
    pub async fn status(&self, object: &mut Option<EphemeralCluster>, status: &Status) -> Result<(), Error> {
        with_timeout("write_status", self.patience.hub, self.write_status(object, status)).await
    }

    async fn act(&self, object: &mut Option<EphemeralCluster>, action: &Operation) -> Result<(), Cause> {
        match action {
            Operation::AddFinalizer => self.add_finalizer(object).await,
            Operation::RemoveFinalizer => self.remove_finalizer(object).await,
            Operation::SetAnnotations(annotations) => self.annotate(object, annotations).await,
            Operation::CreateProwJob(manifest) => self.create_prow_job(manifest).await,
            Operation::ClaimProwJob { name, labels, annotations } => {
                self.claim_prow_job(name, labels, annotations).await
            }
            Operation::AbortProwJob { name, description } => self.abort_prow_job(name, description).await,
            Operation::SignalWaitStep { cluster, namespace } => self.signal(cluster, namespace).await,
            Operation::SignalWaitStepOrAbort { cluster, namespace, name, description } => {
                self.signal_or_abort(cluster, namespace, name, description).await
            }
            Operation::PublishCredentials(credentials) => {
                self.publish(owner(object.as_ref())?, credentials).await
            }
            Operation::IssueCredentials(issue) => {
                let credentials = issue.issue_credentials(&self.callers, (self.now)()).await?;
                self.publish(owner(object.as_ref())?, &credentials).await
            }
            Operation::WithdrawCredentials => self.withdraw(owner(object.as_ref())?).await,
            Operation::EmitEvent(event) => self.emit(owner(object.as_ref())?, event).await,
        }
    }

    async fn emit(&self, object: &EphemeralCluster, event: &Event) -> Result<(), Cause> {
        let events = Api::namespaced(self.hub.client(), self.hub.namespace());
        event::emit_event(&events, &self.instance, object.object_ref(&()), event, (self.now)()).await
    }

    /// Signals a job to end, and aborts it if the signal is refused. A transient failure is left to the next try.
    async fn signal_or_abort(
        &self,
        cluster: &str,
        namespace: &str,
        name: &str,
        description: &str,
    ) -> Result<(), Cause> {
        let mut tries = 0;
        loop {
            tries += 1;
            let signal = self.signal(cluster, namespace);
            match with_timeout("signal", self.patience.build_clusters, signal).await {
                Ok(()) => return Ok(()),
                Err(Error { reason, message, .. }) if reason.nothing_is_wrong() => {
                    return Err(Cause::new(reason, message));
                }
                // It may have been done, or be done in a moment. A deprovision that has begun is not cut short.
                Err(Error { reason, .. }) if reason.may_pass() && tries < TRIES => sleep(PAUSE).await,
                Err(error) => {
                    tracing::warn!(prowjob = name, %error, "job aborted: the teardown signal failed");
                    return self.abort_prow_job(name, description).await;
                }
            }
        }
    }

    /// One line for each thing that was done. Never what was written.
    fn log_operation(&self, object: Option<&EphemeralCluster>, action: &Operation) {
        let object = object.map_or("", EphemeralCluster::name);
        let (action, namespace) = (name(action), self.hub.namespace());
        tracing::info!(namespace, ephemeralcluster = object, action, "action completed");
    }
}

/// Orphans have no EphemeralCluster, and nothing that has to do with one is done for them.
fn owner(object: Option<&EphemeralCluster>) -> Result<&EphemeralCluster, Cause> {
    object.ok_or_else(|| Cause::new(Reason::Bug, "there is no EphemeralCluster to do it for"))
}

/// The word that logs and metrics have for an action.
pub const fn name(action: &Operation) -> &'static str {
    match action {
        Operation::AddFinalizer => "add_finalizer",
        Operation::RemoveFinalizer => "remove_finalizer",
        Operation::SetAnnotations(_) => "annotate",
        Operation::CreateProwJob(_) => "create_prow_job",
        Operation::ClaimProwJob { .. } => "claim_prow_job",
        Operation::AbortProwJob { .. } => "abort_prow_job",
        Operation::SignalWaitStep { .. } => "signal",
        Operation::SignalWaitStepOrAbort { .. } => "signal_or_abort",
        Operation::PublishCredentials(_) => "publish_credentials",
        Operation::IssueCredentials(_) => "issue_credentials",
        Operation::WithdrawCredentials => "withdraw_credentials",
        Operation::EmitEvent(_) => "emit",
    }
}

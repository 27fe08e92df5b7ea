//! The interface of a controller: how it watches, observes, plans and executes.

use std::{
    fmt::Debug,
    future::{pending, ready},
    hash::Hash,
    time::Duration,
};

use jiff::SignedDuration;

use crate::{
    error::{Cause, Error},
    metrics::RuntimeMetrics,
    workqueue::RequestQueue,
};

/// A controller without its scheduling, which [`controller::run`](crate::controller::run) does.
///
/// A reconcile observes, plans and executes. Each step may be repeated, and no two reconciles of one key overlap.
pub trait Reconciler: Send + Sync {
    /// Key of a request: namespace and name of an object, or less where that identifies it.
    type Key: Clone + Debug + Hash + Ord + Send + Sync;
    /// Everything that a plan depends on.
    type Observed: Send;
    /// Decision about what is done, and when the next reconcile is due.
    type Plan: Send;
    /// Error of a reconcile.
    type Error: ReconcileError + Send;

    /// Queue of requests.
    fn queue(&self) -> &RequestQueue<Self::Key>;

    /// Metrics that every controller shares.
    fn metrics(&self) -> &RuntimeMetrics;

    /// Fills caches and queues the requests that an event concerns, until it is dropped. By default somebody else does.
    fn watch(&self) -> impl Future<Output = ()> + Send {
        pending()
    }

    /// Completes when the caches are filled. No reconcile starts before.
    fn wait_for_caches(&self) -> impl Future<Output = ()> + Send {
        ready(())
    }

    /// Reads the object and everything around it. None: there is no such object, and its request is forgotten.
    fn observe(
        &self,
        key: &Self::Key,
        bypass_caches: bool,
    ) -> impl Future<Output = Result<Option<Self::Observed>, Self::Error>> + Send;

    /// Decides. It performs no I/O.
    fn plan(&self, observed: &Self::Observed) -> Self::Plan;

    /// Executes a plan, and returns when the next reconcile is due.
    fn execute(
        &self,
        key: &Self::Key,
        observed: Self::Observed,
        plan: Self::Plan,
    ) -> impl Future<Output = Result<Action, Self::Error>> + Send;

    /// Releases what is remembered of an object that was deleted during its reconcile: no event follows.
    fn forget_deleted(&self, _key: &Self::Key) {}

    /// Next action after an error, which is logged and counted by the caller.
    fn error_policy(&self, _key: &Self::Key, error: &Error) -> Action {
        self.queue().settings().retry.after(error.reason)
    }
}

/// Error of a reconcile, with or without the action that failed.
pub trait ReconcileError {
    /// The error, which happened during this action unless it knows better.
    fn during(self, action: &'static str) -> Error;
}

impl ReconcileError for Error {
    fn during(self, _action: &'static str) -> Error {
        self
    }
}

impl ReconcileError for Cause {
    fn during(self, action: &'static str) -> Error {
        Self::during(self, action)
    }
}

impl ReconcileError for kube::Error {
    fn during(self, action: &'static str) -> Error {
        Cause::from(self).during(action)
    }
}

/// Next action on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reconcile after the next event, and at the next resync.
    AwaitChange,
    /// Reconcile after this time at the latest.
    RequeueAfter(Duration),
    /// The observation was incomplete or outdated. Reconcile without caches: immediately the first time, and then with increasing delay.
    BypassCaches,
    /// A dependency is missing and no watch reports it, or the reconcile failed. Reconcile with increasing delay.
    Backoff,
    /// The object does not exist. Reconcile after the next event about it.
    Forget,
}

impl From<Option<Duration>> for Action {
    fn from(after: Option<Duration>) -> Self {
        after.map_or(Self::AwaitChange, Self::RequeueAfter)
    }
}

/// When a plan needs the next reconcile, although nothing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Requeue {
    /// After the next event, and at the next resync.
    #[default]
    OnChange,
    /// After this time at the latest: a deadline, or something that cannot be watched.
    After(Duration),
    /// The observation was incomplete or outdated: reconcile immediately without caches.
    Fresh,
}

impl Requeue {
    /// After a time; at once if it is over.
    pub fn after(time: SignedDuration) -> Self {
        Self::After(Duration::try_from(time).unwrap_or(Duration::ZERO))
    }

    /// The same, but after this time at the latest.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        match self {
            Self::OnChange => Self::After(time),
            Self::After(earlier) => Self::After(earlier.min(time)),
            Self::Fresh => Self::Fresh,
        }
    }
}

impl From<Requeue> for Action {
    fn from(requeue: Requeue) -> Self {
        match requeue {
            Requeue::OnChange => Self::AwaitChange,
            Requeue::After(after) => Self::RequeueAfter(after),
            Requeue::Fresh => Self::BypassCaches,
        }
    }
}

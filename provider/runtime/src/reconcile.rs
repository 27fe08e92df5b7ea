//! The interface of a controller: how it watches, observes, plans and executes.

use std::{
    fmt::Debug,
    future::{pending, ready},
    hash::Hash,
};

pub use crate::action::Action;
use crate::{
    error::{Cause, Error},
    workqueue::RequestQueue,
};

/// Key of a request, as far as it names an object.
pub trait RequestKey {
    /// Namespace and name. Either is empty if the key does not have it.
    fn namespace_and_name(&self) -> (&str, &str);
}

/// `namespace/name`, or a name alone; before either, controllers of several kinds have the plural of the kind.
impl RequestKey for String {
    fn namespace_and_name(&self) -> (&str, &str) {
        let (namespace, name) = self.rsplit_once('/').unwrap_or(("", self));
        (namespace.rsplit('/').next().unwrap_or_default(), name)
    }
}

impl RequestKey for (String, String) {
    fn namespace_and_name(&self) -> (&str, &str) {
        (&self.0, &self.1)
    }
}

/// For controllers with a single request.
impl RequestKey for () {
    fn namespace_and_name(&self) -> (&str, &str) {
        ("", "")
    }
}

/// A controller without its scheduling, which [`controller::run`](crate::controller::run) does.
///
/// A reconcile observes, plans and executes. Each step may be repeated, and no two reconciles of one key overlap.
pub trait Reconciler: Send + Sync {
    /// Key of a request: namespace and name of an object, or less where that identifies it.
    type Key: RequestKey + Clone + Debug + Hash + Ord + Send + Sync;
    /// Everything that a plan depends on.
    type Observed: Send;
    /// Decision about what is done, and when the next reconcile is due.
    type Plan: Send;
    /// Error of a reconcile.
    type Error: ReconcileError + Send;

    /// Kind of the object that a request names, for spans.
    fn kind(&self, key: &Self::Key) -> &'static str;

    /// Uid of the observed object, for spans. None: there is no such object, or its uid was not read.
    fn uid<'o>(&self, _observed: &'o Self::Observed) -> Option<&'o str> {
        None
    }

    /// Queue of requests.
    fn request_queue(&self) -> &RequestQueue<Self::Key>;

    /// Fills caches and queues the requests that an event concerns, until it is dropped. By default somebody else does.
    fn watch(&self) -> impl Future<Output = ()> + Send {
        pending()
    }

    /// Completes when the caches are filled. No reconcile starts before.
    fn wait_for_caches(&self) -> impl Future<Output = ()> + Send {
        ready(())
    }

    /// Reads the object and everything around it. None: there is no such object. Its request is then forgotten, unless [`Self::is_cached`].
    fn observe(
        &self,
        key: &Self::Key,
        bypass_caches: bool,
    ) -> impl Future<Output = Result<Option<Self::Observed>, Self::Error>> + Send;

    /// Whether a cache of this controller has the object. If one does after the API server answered that there is none, either may be
    /// outdated, so the object is reconciled again. By default there is no cache.
    fn is_cached(&self, _key: &Self::Key) -> bool {
        false
    }

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
        self.request_queue().settings().retry.after(error.reason)
    }
}

/// Error of a reconcile, with or without the action that failed.
pub trait ReconcileError {
    /// The error, which happened during this action unless it knows better.
    fn with_action(self, action: &'static str) -> Error;
}

impl ReconcileError for Error {
    fn with_action(self, _action: &'static str) -> Error {
        self
    }
}

impl ReconcileError for Cause {
    fn with_action(self, action: &'static str) -> Error {
        Self::with_action(self, action)
    }
}

impl ReconcileError for kube::Error {
    fn with_action(self, action: &'static str) -> Error {
        Cause::from(self).with_action(action)
    }
}

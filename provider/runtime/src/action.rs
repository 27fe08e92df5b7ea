//! Next action after a reconcile.

use std::time::Duration;

use jiff::SignedDuration;

/// Next action on a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Reconcile after the next event, and at the next resync.
    #[default]
    AwaitChange,
    /// Reconcile after this time at the latest: at a deadline, or because of something that cannot be watched.
    RequeueAfter(Duration),
    /// The observation was incomplete or outdated. Reconcile without caches: immediately the first time, and then with increasing delay.
    BypassCaches,
    /// A dependency is missing and no watch reports it, or the reconcile failed. Reconcile with increasing delay.
    Backoff,
    /// The object does not exist. Reconcile after the next event about it.
    Forget,
}

impl Action {
    /// Reconcile after a time; at once if it is over.
    pub fn requeue_after(time: SignedDuration) -> Self {
        Self::RequeueAfter(Duration::try_from(time).unwrap_or(Duration::ZERO))
    }

    /// The earlier of two actions of one plan. `AwaitChange` gives way to every other action, and an action without a time comes before one with a time.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        match (self, other) {
            (Self::RequeueAfter(one), Self::RequeueAfter(other)) => Self::RequeueAfter(one.min(other)),
            (Self::AwaitChange | Self::RequeueAfter(_), other) if other != Self::AwaitChange => other,
            (one, _) => one,
        }
    }
}

impl From<Option<Duration>> for Action {
    fn from(after: Option<Duration>) -> Self {
        after.map_or(Self::AwaitChange, Self::RequeueAfter)
    }
}

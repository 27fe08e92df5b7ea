//! Next action after a reconcile.

use std::time::Duration;

use jiff::SignedDuration;

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

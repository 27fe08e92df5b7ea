//! End of a reconcile: when the next one is due.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt as _;
use jiff::SignedDuration;
use kube::runtime::controller::Action as Again;

use crate::{
    error::{Error, Reason},
    metrics::RuntimeMetrics,
    queue::{Queue, resync_period},
};

/// When to look again although nothing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Requeue {
    /// Whenever something changes, and now and then.
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

/// When to look again.
pub fn requeue_after(
    metrics: &RuntimeMetrics,
    queue: &Queue,
    kind: &'static str,
    name: &str,
    uid: &str,
    looked: Result<Requeue, Error>,
) -> Again {
    let net = resync_period(uid);
    match looked {
        Ok(Requeue::OnChange) => {
            queue.succeeded(name);
            Again::requeue(net)
        }
        Ok(Requeue::After(time)) => {
            queue.succeeded(name);
            Again::requeue(time.min(net))
        }
        Ok(Requeue::Fresh) => {
            queue.bypass_caches(name);
            Again::requeue(queue.failed(name, true))
        }
        Err(error) if error.reason == Reason::NotYet => Again::requeue(Duration::from_secs(1)),
        Err(error) => {
            metrics.failed(error.action, error.reason.as_str());
            let conflict = error.reason == Reason::Conflict;
            let delay = queue.failed(name, conflict);
            if conflict {
                queue.bypass_caches(name);
                tracing::debug!(kind, name, %error, "it changed meanwhile");
            } else {
                tracing::warn!(kind, name, %error, reason = error.reason.as_str(), again_in = ?delay, "failed");
            }
            Again::requeue(delay)
        }
    }
}

/// A bug in one look must not end the others.
pub async fn catch_panic<T>(look: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    AssertUnwindSafe(look).catch_unwind().await.unwrap_or_else(|_| {
        Err(Error { action: "look", reason: Reason::Bug, message: "it panicked".to_owned() })
    })
}

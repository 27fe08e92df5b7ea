//! How many wait for clusters that were delivered, and whose ServiceAccount is to end.

use std::sync::Arc;

use testplatform_runtime::{
    error::{Cause, Reason},
    workqueue::WORKERS,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// How many workers of a loop may wait for clusters that were delivered.
const AT_A_TIME: usize = WORKERS / 2;

/// Limits concurrent calls to delivered clusters, for the workers of one loop. A server that accepts connections and never answers may be a
/// tenant's, and a tenant may have many. Objects without such calls always find a free worker; the others wait for their turn.
#[derive(Clone, Debug)]
pub struct GuestLimiter {
    workers: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    ending: Arc<Accounts>,
}

/// Names of accounts that are to end, each as often as it is to.
type Accounts = watch::Sender<Vec<String>>;

impl Default for GuestLimiter {
    fn default() -> Self {
        let places = || Arc::new(Semaphore::new(AT_A_TIME));
        Self { workers: places(), turns: places(), ending: Arc::default() }
    }
}

impl GuestLimiter {
    /// Leave to call one. It is given back when it is dropped.
    ///
    /// # Errors
    /// If too many wait already; soon there is.
    pub(super) fn acquire_permit(&self) -> Result<OwnedSemaphorePermit, Cause> {
        let busy = |_| Cause::new(Reason::NotYet, "other requests wait for delivered clusters");
        Arc::clone(&self.workers).try_acquire_owned().map_err(busy)
    }

    /// Turns of those that call one while no worker waits.
    pub(super) fn teardown_permits(&self) -> Arc<Semaphore> {
        Arc::clone(&self.turns)
    }

    /// From now on a ServiceAccount is to end, until what is returned is dropped.
    pub(super) fn begin_revocation(&self, account: &str) -> AccountEnd {
        self.ending.send_modify(|names| names.push(account.to_owned()));
        AccountEnd { ending: Arc::clone(&self.ending), account: account.to_owned() }
    }

    /// Leave to make a token of a ServiceAccount.
    ///
    /// # Errors
    /// If it is to end: the token would end with it. Soon it is over with.
    pub(super) fn ensure_not_revoked(&self, account: &str) -> Result<(), Cause> {
        if self.ending.borrow().iter().any(|other| other == account) {
            return Err(Cause::new(Reason::NotYet, "the withdrawn credentials must end first"));
        }
        Ok(())
    }

    /// Waits until none is to end any more: with the process it would be forgotten, and what was withdrawn would work on.
    pub(crate) async fn wait_idle(&self) {
        // The other end is `self`, so this cannot fail.
        let _ = self.ending.subscribe().wait_for(Vec::is_empty).await;
    }
}

/// A ServiceAccount that is to end.
pub(super) struct AccountEnd {
    ending: Arc<Accounts>,
    account: String,
}

impl Drop for AccountEnd {
    fn drop(&mut self) {
        self.ending.send_modify(|names| {
            if let Some(place) = names.iter().position(|other| *other == self.account) {
                names.swap_remove(place);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn guest_clusters_occupy_half_of_the_workers() {
        let callers = GuestLimiter::default();
        let mut taken: Vec<_> = (0..WORKERS / 2).map(|_| callers.clone().acquire_permit().unwrap()).collect();
        let busy = callers.acquire_permit().unwrap_err();
        assert!(busy.reason.nothing_is_wrong(), "{busy:?}");
        taken.pop();
        assert!(callers.acquire_permit().is_ok());
    }

    #[test]
    fn of_what_is_to_end_no_token_is_made() {
        let callers = GuestLimiter::default();
        let (once, again) = (callers.begin_revocation("tpc-u"), callers.clone().begin_revocation("tpc-u"));
        for ends in [once, again] {
            let waits = callers.ensure_not_revoked("tpc-u").unwrap_err();
            assert!(waits.reason.nothing_is_wrong(), "{waits:?}");
            assert_eq!(callers.ensure_not_revoked("tpc-v"), Ok(()));
            drop(ends);
        }
        assert_eq!(callers.ensure_not_revoked("tpc-u"), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_over_when_none_is_to_end() {
        let callers = GuestLimiter::default();
        callers.wait_idle().await;
        let ends = ["tpc-u", "tpc-u", "tpc-v"].map(|account| callers.begin_revocation(account));
        for ends in ends {
            assert!(timeout(Duration::from_secs(1), callers.wait_idle()).await.is_err());
            drop(ends);
        }
        callers.wait_idle().await;
    }
}

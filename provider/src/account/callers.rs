//! How many wait for clusters that were delivered.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    controller::drive::WORKERS,
    execute::{Cause, Reason},
};

/// How many workers of a loop may wait for clusters that were delivered.
const AT_A_TIME: usize = WORKERS as usize / 2;

/// Leave to call clusters that were delivered, for the workers of one loop. One that takes connections and never answers may be a tenant's, and he
/// may have many: whoever has nothing to do with such clusters finds a worker all the same; whoever has waits for his turn.
#[derive(Clone, Debug)]
pub struct Callers {
    workers: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

impl Default for Callers {
    fn default() -> Self {
        let places = || Arc::new(Semaphore::new(AT_A_TIME));
        Self { workers: places(), turns: places() }
    }
}

impl Callers {
    /// Leave to call one. It is given back when it is dropped.
    ///
    /// # Errors
    /// If too many wait already; soon there is.
    pub(super) fn leave(&self) -> Result<OwnedSemaphorePermit, Cause> {
        let busy = |_| Cause::new(Reason::NotYet, "others wait for clusters that were delivered");
        Arc::clone(&self.workers).try_acquire_owned().map_err(busy)
    }

    /// Turns of those that call one while no worker waits.
    pub(super) fn turns(&self) -> Arc<Semaphore> {
        Arc::clone(&self.turns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_workers_wait_and_nobody_is_told_of_the_others() {
        let callers = Callers::default();
        let mut taken: Vec<_> = (0..WORKERS / 2).map(|_| callers.clone().leave().unwrap()).collect();
        let busy = callers.leave().unwrap_err();
        assert!(busy.reason.nothing_is_wrong(), "{busy:?}");
        taken.pop();
        assert!(callers.leave().is_ok());
    }
}

//! Last state of each pool, as the source of gauges.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use testplatform_apis::pool_report::{PoolStatus, RefreshPhase, RotationPhase};
use testplatform_runtime::watch::Health;

use super::pool::Pool;

/// Namespace and name.
pub type Key = (String, String);

/// State of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PoolState {
    /// Nothing is going on but what Hive does by itself.
    Steady,
    /// Its clusters are being replaced on request.
    Refreshing,
    /// They should have been, and nothing more is done about it.
    Stalled,
    /// Clusters that were made with other credentials are left.
    Rotating,
    /// It is being deleted.
    Deleting,
    /// The started refresh cannot be read, so the pool is not touched.
    Unreadable,
}

impl PoolState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Steady, Self::Refreshing, Self::Stalled, Self::Rotating, Self::Deleting, Self::Unreadable];

    /// The word that metrics have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Refreshing => "refreshing",
            Self::Stalled => "stalled",
            Self::Rotating => "rotating",
            Self::Deleting => "deleting",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Progress of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolProgress {
    /// State of the pool.
    pub state: PoolState,
    /// How many clusters its refresh has still to replace; none: no refresh is under way.
    pub remaining: Option<i64>,
}

impl PoolProgress {
    /// Progress of an unreadable pool.
    pub const UNREADABLE: Self = Self { state: PoolState::Unreadable, remaining: None };

    /// By the pool and what is known of it from now on.
    pub fn of(pool: &Pool, status: &PoolStatus) -> Self {
        let rotating = status.rotation.as_ref().is_some_and(|r| match r.phase {
            RotationPhase::Draining | RotationPhase::Switching | RotationPhase::Replacing => true,
            RotationPhase::First | RotationPhase::Done => false,
        });
        let refresh = status.refresh.as_ref().filter(|_| !pool.deleting);
        let refreshing = refresh.filter(|r| !r.phase.is_over());
        let state = if pool.deleting {
            PoolState::Deleting
        } else if refreshing.is_some() {
            PoolState::Refreshing
        } else if rotating {
            PoolState::Rotating
        } else if refresh.is_some_and(|r| r.phase == RefreshPhase::Stalled) {
            PoolState::Stalled
        } else {
            PoolState::Steady
        };
        Self { state, remaining: refreshing.map(|r| r.remaining.unwrap_or_default().max(0)) }
    }
}

/// Everything that was last seen.
pub struct PoolGauge {
    pools: Mutex<BTreeMap<Key, PoolProgress>>,
    /// Of the watches.
    pub health: [Health; 2],
}

impl Default for PoolGauge {
    fn default() -> Self {
        let health = ["pools", "pool-clusterdeployments"].map(Health::new);
        Self { pools: Mutex::default(), health }
    }
}

impl PoolGauge {
    /// Records the progress of a pool. None: it is deleted, or not ours.
    pub fn record(&self, key: &Key, looked: Option<PoolProgress>) {
        let mut pools = self.pools();
        pools.remove(key);
        pools.extend(looked.map(|looked| (key.clone(), looked)));
    }

    /// Each pool, as `namespace/name`.
    pub fn snapshot(&self) -> Vec<(String, PoolProgress)> {
        let named =
            |((namespace, name), looked): (&Key, &PoolProgress)| (format!("{namespace}/{name}"), *looked);
        self.pools().iter().map(named).collect()
    }

    fn pools(&self) -> MutexGuard<'_, BTreeMap<Key, PoolProgress>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use testplatform_apis::pool_report::{RefreshReport, RotationReport};

    use super::*;

    fn looked(
        refresh: Option<RefreshPhase>,
        rotation: Option<RotationPhase>,
        deleting: bool,
    ) -> PoolProgress {
        let status = PoolStatus {
            refresh: refresh.map(|phase| RefreshReport {
                phase,
                remaining: Some(2),
                ..RefreshReport::default()
            }),
            rotation: rotation.map(|phase| RotationReport { phase, ..RotationReport::default() }),
            ..PoolStatus::default()
        };
        PoolProgress::of(&Pool { deleting, ..Pool::default() }, &status)
    }

    #[test]
    fn a_pool_is_at_one_thing() {
        use RefreshPhase as F;
        use RotationPhase as R;
        for (refresh, rotation, deleting, state, remaining) in [
            (None, None, false, PoolState::Steady, None),
            (Some(F::Done), Some(R::Done), false, PoolState::Steady, None),
            (None, Some(R::First), false, PoolState::Steady, None),
            (Some(F::Down), None, false, PoolState::Refreshing, Some(2)),
            (Some(F::Up), Some(R::Replacing), false, PoolState::Refreshing, Some(2)),
            (Some(F::Stalled), None, false, PoolState::Stalled, None),
            (Some(F::Stalled), Some(R::Draining), false, PoolState::Rotating, None),
            (Some(F::Settling), Some(R::Draining), true, PoolState::Deleting, None),
        ] {
            let expected = PoolProgress { state, remaining };
            assert_eq!(looked(refresh, rotation, deleting), expected, "{refresh:?} {rotation:?}");
        }
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let seen = PoolGauge::default();
        let key = ("ns".to_owned(), "pool".to_owned());
        seen.record(&key, Some(PoolProgress::UNREADABLE));
        assert_eq!(seen.snapshot(), [("ns/pool".to_owned(), PoolProgress::UNREADABLE)]);
        seen.record(&key, None);
        assert_eq!(seen.snapshot(), []);
    }
}

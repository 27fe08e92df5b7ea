//! What the loop over pools last saw of each, for those who ask by metrics.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use testplatform_apis::pool_report::{PoolStatus, RefreshPhase, RotationPhase};

use super::{controller::Key, pool::Pool};
use crate::watch::Health;

/// What a pool is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing is going on but what Hive does by itself.
    Steady,
    /// Its clusters are being replaced, because it was asked for.
    Refreshing,
    /// They should have been, and nothing more is done about it.
    Stalled,
    /// Clusters that were made with other credentials are left.
    Rotating,
    /// It is being deleted.
    Deleting,
    /// What was begun with it cannot be read, so it is left alone.
    Unreadable,
}

impl State {
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

/// What was last seen of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked {
    /// What it is at.
    pub state: State,
    /// How many clusters its refresh has still to replace; none: no refresh is under way.
    pub remaining: Option<i64>,
}

impl Looked {
    /// One that cannot be read.
    pub const UNREADABLE: Self = Self { state: State::Unreadable, remaining: None };

    /// By the pool and what is known of it from now on.
    pub fn of(pool: &Pool, status: &PoolStatus) -> Self {
        let rotating = status.rotation.as_ref().is_some_and(|r| match r.phase {
            RotationPhase::Draining | RotationPhase::Switching | RotationPhase::Replacing => true,
            RotationPhase::First | RotationPhase::Done => false,
        });
        let refresh = status.refresh.as_ref().filter(|_| !pool.deleting);
        let refreshing = refresh.filter(|r| !r.phase.over());
        let state = if pool.deleting {
            State::Deleting
        } else if refreshing.is_some() {
            State::Refreshing
        } else if rotating {
            State::Rotating
        } else if refresh.is_some_and(|r| r.phase == RefreshPhase::Stalled) {
            State::Stalled
        } else {
            State::Steady
        };
        Self { state, remaining: refreshing.map(|r| r.remaining.unwrap_or_default().max(0)) }
    }
}

/// Everything that was last seen.
pub struct Seen {
    pools: Mutex<BTreeMap<Key, Looked>>,
    /// Of the watches.
    pub health: [Health; 2],
}

impl Default for Seen {
    fn default() -> Self {
        let health = ["pools", "pool-clusterdeployments"].map(Health::new);
        Self { pools: Mutex::default(), health }
    }
}

impl Seen {
    /// A pool was looked at. None: it is gone, or not ours.
    pub fn saw(&self, key: &Key, looked: Option<Looked>) {
        let mut pools = self.pools();
        pools.remove(key);
        pools.extend(looked.map(|looked| (key.clone(), looked)));
    }

    /// Each pool, as `namespace/name`.
    pub fn all(&self) -> Vec<(String, Looked)> {
        let named = |((namespace, name), looked): (&Key, &Looked)| (format!("{namespace}/{name}"), *looked);
        self.pools().iter().map(named).collect()
    }

    fn pools(&self) -> MutexGuard<'_, BTreeMap<Key, Looked>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use testplatform_apis::pool_report::{RefreshReport, RotationReport};

    use super::*;

    fn looked(refresh: Option<RefreshPhase>, rotation: Option<RotationPhase>, deleting: bool) -> Looked {
        let status = PoolStatus {
            refresh: refresh.map(|phase| RefreshReport {
                phase,
                remaining: Some(2),
                ..RefreshReport::default()
            }),
            rotation: rotation.map(|phase| RotationReport { phase, ..RotationReport::default() }),
            ..PoolStatus::default()
        };
        Looked::of(&Pool { deleting, ..Pool::default() }, &status)
    }

    #[test]
    fn a_pool_is_at_one_thing() {
        use RefreshPhase as F;
        use RotationPhase as R;
        for (refresh, rotation, deleting, state, remaining) in [
            (None, None, false, State::Steady, None),
            (Some(F::Done), Some(R::Done), false, State::Steady, None),
            (None, Some(R::First), false, State::Steady, None),
            (Some(F::Down), None, false, State::Refreshing, Some(2)),
            (Some(F::Up), Some(R::Replacing), false, State::Refreshing, Some(2)),
            (Some(F::Stalled), None, false, State::Stalled, None),
            (Some(F::Stalled), Some(R::Draining), false, State::Rotating, None),
            (Some(F::Settling), Some(R::Draining), true, State::Deleting, None),
        ] {
            let expected = Looked { state, remaining };
            assert_eq!(looked(refresh, rotation, deleting), expected, "{refresh:?} {rotation:?}");
        }
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let seen = Seen::default();
        let key = ("ns".to_owned(), "pool".to_owned());
        seen.saw(&key, Some(Looked::UNREADABLE));
        assert_eq!(seen.all(), [("ns/pool".to_owned(), Looked::UNREADABLE)]);
        seen.saw(&key, None);
        assert_eq!(seen.all(), []);
    }
}

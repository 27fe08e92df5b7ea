//! What the loop over orders last saw of each, for those who ask by metrics.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use testplatform_apis::bundle::State;

use crate::watch::Health;

/// How an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// The credentials of its cluster are not published yet.
    Waiting,
    /// It is being applied, or waited for.
    Running,
    /// All of it is there.
    Applied,
    /// A bundle was not ready in time.
    Failed,
    /// The cluster is to go, and what comes before that is being done.
    BeforeDeletion,
}

impl Standing {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Waiting, Self::Running, Self::Applied, Self::Failed, Self::BeforeDeletion];

    /// The word that metrics have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Applied => "applied",
            Self::Failed => "failed",
            Self::BeforeDeletion => "before_deletion",
        }
    }
}

impl From<Option<State>> for Standing {
    fn from(state: Option<State>) -> Self {
        match state {
            None => Self::Waiting,
            Some(State::Running) => Self::Running,
            Some(State::Applied) => Self::Applied,
            Some(State::SetupFailed) => Self::Failed,
            Some(State::BeforeDeletion) => Self::BeforeDeletion,
        }
    }
}

/// Everything that was last seen.
pub struct Seen {
    orders: Mutex<BTreeMap<String, Standing>>,
    /// Of the watches: that of what is published, and one for each namespace.
    pub health: Vec<Health>,
}

impl Seen {
    /// Nothing yet, in these namespaces.
    pub fn new(namespaces: &BTreeSet<String>) -> Self {
        let watches = namespaces.iter().map(|_| Health::new("bundles"));
        let health = [Health::new("bundles-secrets")].into_iter().chain(watches).collect();
        Self { orders: Mutex::default(), health }
    }

    /// An order was looked at. None: it is gone.
    pub fn saw(&self, key: &str, standing: Option<Standing>) {
        match standing {
            Some(standing) => self.orders().insert(key.to_owned(), standing),
            None => self.orders().remove(key),
        };
    }

    /// How many stand so.
    pub fn count(&self, standing: Standing) -> usize {
        self.orders().values().filter(|s| **s == standing).count()
    }

    fn orders(&self) -> MutexGuard<'_, BTreeMap<String, Standing>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

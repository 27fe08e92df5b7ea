//! What the loop over orders last saw of each, for those who ask by metrics.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use testplatform_apis::cloud::State;

use crate::watch::Health;

/// Everything that was last seen.
pub struct Seen {
    orders: Mutex<BTreeMap<String, State>>,
    /// Of the watches: one of orders and one of clusters for each place.
    pub health: Vec<Health>,
}

impl Seen {
    /// Nothing yet, in these namespaces and of so many kinds of clusters in them.
    pub fn new(namespaces: &BTreeSet<String>, clusters: usize) -> Self {
        let orders = namespaces.iter().map(|_| Health::new("cloud-credentials"));
        let clusters = (0..clusters).map(|_| Health::new("cloud-credentials-clusters"));
        Self { orders: Mutex::default(), health: orders.chain(clusters).collect() }
    }

    /// An order was looked at. None: it is gone.
    pub fn saw(&self, key: &str, state: Option<State>) {
        match state {
            Some(state) => self.orders().insert(key.to_owned(), state),
            None => self.orders().remove(key),
        };
    }

    /// How many stand so.
    pub fn count(&self, state: State) -> usize {
        self.orders().values().filter(|s| **s == state).count()
    }

    fn orders(&self) -> MutexGuard<'_, BTreeMap<String, State>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

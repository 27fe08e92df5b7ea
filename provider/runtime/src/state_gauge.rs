//! Last reconcile state of each object, as the source of gauges.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::watch::Health;

/// States of all objects of a controller, by key.
pub struct StateGauge<S> {
    states: Mutex<BTreeMap<String, S>>,
    /// Of the watches.
    pub health: Vec<Health>,
}

impl<S: Copy + PartialEq> StateGauge<S> {
    /// Nothing yet, by these watches.
    pub fn with_watches(watches: impl IntoIterator<Item = &'static str>) -> Self {
        Self { states: Mutex::default(), health: watches.into_iter().map(Health::new).collect() }
    }

    /// Records the state of an object. None: it is deleted, or not managed any more.
    pub fn record(&self, key: &str, standing: Option<S>) {
        match standing {
            Some(standing) => self.lock_states().insert(key.to_owned(), standing),
            None => self.lock_states().remove(key),
        };
    }

    /// Number of objects in a state.
    pub fn count_in(&self, standing: S) -> usize {
        self.lock_states().values().filter(|s| **s == standing).count()
    }

    fn lock_states(&self) -> MutexGuard<'_, BTreeMap<String, S>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

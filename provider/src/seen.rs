//! What loops last saw of each object that they look after, for those who ask by metrics.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::watch::Health;

/// Everything that was last seen: `S` is how an object stands.
pub struct Seen<S> {
    standings: Mutex<BTreeMap<String, S>>,
    /// Of the watches.
    pub health: Vec<Health>,
}

impl<S: Copy + PartialEq> Seen<S> {
    /// Nothing yet, by these watches.
    pub fn by(watches: impl IntoIterator<Item = &'static str>) -> Self {
        Self { standings: Mutex::default(), health: watches.into_iter().map(Health::new).collect() }
    }

    /// An object was looked at. None: it is gone, or nothing to look after any more.
    pub fn saw(&self, key: &str, standing: Option<S>) {
        match standing {
            Some(standing) => self.standings().insert(key.to_owned(), standing),
            None => self.standings().remove(key),
        };
    }

    /// How many stand so.
    pub fn count(&self, standing: S) -> usize {
        self.standings().values().filter(|s| **s == standing).count()
    }

    fn standings(&self) -> MutexGuard<'_, BTreeMap<String, S>> {
        self.standings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

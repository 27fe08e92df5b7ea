//! What the loop over spaces last saw of each, for those who ask by metrics.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::watch::Health;

/// How the credentials of a space stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Published, and not to be replaced yet.
    Published,
    /// Not published yet.
    Waiting,
    /// They were to be published or replaced, and could not be.
    Failing,
    /// Somebody else's Secret has their name.
    Blocked,
}

impl Standing {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Published, Self::Waiting, Self::Failing, Self::Blocked];

    /// The word that metrics have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Waiting => "waiting",
            Self::Failing => "failing",
            Self::Blocked => "blocked",
        }
    }
}

/// Everything that was last seen.
pub struct Seen {
    spaces: Mutex<BTreeMap<String, Standing>>,
    /// Of the watches.
    pub health: [Health; 2],
}

impl Default for Seen {
    fn default() -> Self {
        Self { spaces: Mutex::default(), health: ["spaces", "space-secrets"].map(Health::new) }
    }
}

impl Seen {
    /// A space was looked at. None: it is gone, or none.
    pub fn saw(&self, name: &str, standing: Option<Standing>) {
        match standing {
            Some(standing) => self.spaces().insert(name.to_owned(), standing),
            None => self.spaces().remove(name),
        };
    }

    /// How many stand so.
    pub fn count(&self, standing: Standing) -> usize {
        self.spaces().values().filter(|s| **s == standing).count()
    }

    fn spaces(&self) -> MutexGuard<'_, BTreeMap<String, Standing>> {
        self.spaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Breadth first through everything that can happen.
//!
//! Made here because the one crate for it, stateright, always brings its web server along (`tiny_http`, besides crates
//! that nobody maintains any more), and because its liveness check is documented to miss cycles and joined paths. Here
//! liveness is a check on every single state: from it, left alone, all ends well.

use std::{
    collections::{HashSet, VecDeque},
    fmt::Debug,
    hash::{DefaultHasher, Hash, Hasher},
};

/// Something that happens, state by state.
pub trait Model {
    /// A state.
    type State: Clone + Hash;
    /// Event between two states.
    type Event: Clone + Debug;
    /// Possible events, and the state after each. An error is a broken promise.
    fn successors(&self, state: &Self::State) -> Vec<Next<Self::State, Self::Event>>;
    /// Invariants of every state.
    fn check(&self, state: &Self::State) -> Result<(), String>;
}

/// Event, and the state after it.
pub type Next<S, E> = (E, Result<S, String>);

/// Totals of an exploration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Different states.
    pub states: usize,
    /// Ways between them.
    pub transitions: usize,
    /// The longest of the shortest paths.
    pub depth: usize,
}

/// Visits every state that can be reached. Panics with the shortest path to a broken promise.
pub fn explore<M: Model>(model: &M, initial: M::State) -> Seen {
    let mut seen = Seen::default();
    let mut known = HashSet::from([fingerprint(&initial)]);
    // Where each state came from, for the path.
    let mut origins: Vec<(usize, Option<M::Event>)> = vec![(0, None)];
    let mut queue = VecDeque::from([(0, 0, initial)]);
    while let Some((index, depth, state)) = queue.pop_front() {
        seen.states += 1;
        seen.depth = seen.depth.max(depth);
        if let Err(broken) = model.check(&state) {
            panic!("{broken}\nafter {:#?}", path(&origins, index));
        }
        for (event, next) in model.successors(&state) {
            seen.transitions += 1;
            let next = match next {
                Ok(next) => next,
                Err(broken) => {
                    let mut path = path(&origins, index);
                    path.push(format!("{event:?}"));
                    panic!("{broken}\nafter {path:#?}");
                }
            };
            if known.insert(fingerprint(&next)) {
                origins.push((index, Some(event)));
                queue.push_back((origins.len() - 1, depth + 1, next));
            }
        }
    }
    seen
}

fn path<E: Debug>(origins: &[(usize, Option<E>)], mut index: usize) -> Vec<String> {
    let mut events = Vec::new();
    while let (origin, Some(event)) = &origins[index] {
        events.push(format!("{event:?}"));
        index = *origin;
    }
    events.reverse();
    events
}

/// Identity of a state.
pub type Fingerprint = (u64, u64);

/// 128 bits: two of ten million states share one with a probability of 10⁻²⁵.
pub fn fingerprint(state: &impl Hash) -> Fingerprint {
    let mut bytes = Bytes(Vec::with_capacity(1024));
    state.hash(&mut bytes);
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(salt);
        hasher.write(&bytes.0);
        hasher.finish()
    };
    (half(0), half(1))
}

/// Hashed bytes in one piece: field by field, hashing took half of all the time.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Nobody asks for it.
    fn finish(&self) -> u64 {
        0
    }
}

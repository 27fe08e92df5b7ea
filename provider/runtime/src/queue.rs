//! Queued requests, their age, and their consecutive failures.

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{Stream, stream};
use kube::{Resource, runtime::reflector::ObjectRef};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::Instant,
};

/// After the first error, and at most. Doubled each time.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));
/// Resync period, as base and spread: a safety net below the watches.
const NET: (Duration, Duration) = (Duration::from_mins(25), Duration::from_mins(10));

/// A queue of names of objects: in one namespace, or with the namespace before the name.
pub struct Queue {
    sender: UnboundedSender<String>,
    queued: Queued,
    state: Mutex<QueueState>,
}

/// The other end of a queue.
pub struct Receiver {
    receiver: UnboundedReceiver<String>,
    queued: Queued,
}

/// Names between the two ends: there is no more in a queue than there are objects, however often something happens to them.
type Queued = Arc<Mutex<HashSet<String>>>;

#[derive(Default)]
struct QueueState {
    /// Queued names, and since when. Names with a delayed requeue are not included.
    waiting: HashMap<String, Instant>,
    /// Consecutive failures.
    failures: HashMap<String, u32>,
    /// Names whose looks must not rely on caches until one has succeeded.
    anew: HashSet<String>,
}

impl Queue {
    /// A queue and its other end.
    pub fn new() -> (Self, Receiver) {
        let (sender, receiver) = unbounded_channel();
        let queued = Queued::default();
        let receiver = Receiver { receiver, queued: Arc::clone(&queued) };
        (Self { sender, queued, state: Mutex::default() }, receiver)
    }

    /// Queues an object. A name that is still queued is not queued twice.
    pub fn push(&self, name: impl Into<String>) {
        let name = name.into();
        self.lock_state().waiting.entry(name.clone()).or_insert_with(Instant::now);
        if lock_unpoisoned(&self.queued).insert(name.clone()) {
            // There is no receiver while the process ends.
            let _ = self.sender.send(name);
        }
    }

    /// Starts a reconcile. Returns how long the name waited, if an event queued it, and whether to bypass caches.
    pub fn begin(&self, name: &str) -> (Option<Duration>, bool) {
        let mut state = self.lock_state();
        let waited = state.waiting.remove(name).map(|since| since.elapsed());
        (waited, state.anew.contains(name))
    }

    /// Bypasses caches until a reconcile has succeeded: after a failure or a wait, a cache would only report the same uncertainty.
    pub fn bypass_caches(&self, name: &str) {
        self.lock_state().anew.insert(name.to_owned());
    }

    /// The look succeeded.
    pub fn succeeded(&self, name: &str) {
        let mut state = self.lock_state();
        state.failures.remove(name);
        state.anew.remove(name);
    }

    /// The look failed, or led nowhere: how long to wait for the next one. The first repetition may be at once.
    pub fn failed(&self, name: &str, at_once: bool) -> Duration {
        let mut state = self.lock_state();
        let failures = state.failures.entry(name.to_owned()).or_default();
        *failures = failures.saturating_add(1);
        match (*failures, at_once) {
            (1, true) => Duration::ZERO,
            (n, true) => backoff(n - 1, BACKOFF),
            (n, false) => backoff(n, BACKOFF),
        }
    }

    /// Forgets a deleted object.
    pub fn forget(&self, name: &str) {
        let mut state = self.lock_state();
        state.waiting.remove(name);
        state.failures.remove(name);
        state.anew.remove(name);
    }

    /// How long the oldest has waited, and how many wait.
    pub fn age(&self) -> (Duration, usize) {
        let state = self.lock_state();
        let oldest = state.waiting.values().map(Instant::elapsed).max().unwrap_or_default();
        (oldest, state.waiting.len())
    }

    fn lock_state(&self) -> MutexGuard<'_, QueueState> {
        lock_unpoisoned(&self.state)
    }
}

impl Receiver {
    /// Takes the next name, and waits for one if there is none. None: nothing more will happen.
    pub async fn recv(&mut self) -> Option<String> {
        let name = self.receiver.recv().await?;
        // The reconcile for this request is still to come, and sees everything until now. Later events queue the name again.
        lock_unpoisoned(&self.queued).remove(&name);
        Some(name)
    }
}

fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long to wait after the n-th failure in a row: at first, and at most.
pub(crate) fn backoff(failures: u32, (first, most): (Duration, Duration)) -> Duration {
    first.saturating_mul(1 << (failures.clamp(1, 16) - 1)).min(most)
}

/// Resync period of an object. Each has its own, so that not all are reconciled at once.
pub fn resync_period(uid: &str) -> Duration {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    NET.0 + NET.1.mul_f64(f64::from(u16::try_from(hasher.finish() % 1000).unwrap_or_default()) / 1000.0)
}

/// The names as references to objects; `of` knows where those are.
pub fn requests<K>(
    receiver: Receiver,
    of: impl Fn(&str) -> ObjectRef<K>,
) -> impl Stream<Item = Result<ObjectRef<K>, Infallible>>
where
    K: Resource,
{
    stream::unfold((receiver, of), async |(mut receiver, of)| {
        let name = receiver.recv().await?;
        Some((Ok(of(&name)), (receiver, of)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_back_off_and_are_forgotten() {
        let (queue, _receiver) = Queue::new();
        let seconds: Vec<u64> = (0..12).map(|_| queue.failed("a", false).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
        queue.succeeded("a");
        assert_eq!(queue.failed("a", true), Duration::ZERO, "the first time at once");
        assert_eq!(queue.failed("a", true), Duration::from_secs(1), "but not again and again");
    }

    #[tokio::test(start_paused = true)]
    async fn age_counts_from_the_first_event() {
        let (queue, mut receiver) = Queue::new();
        queue.push("a");
        tokio::time::advance(Duration::from_secs(2)).await;
        queue.push("a");
        assert_eq!(queue.age(), (Duration::from_secs(2), 1));
        queue.bypass_caches("a");
        assert_eq!(queue.begin("a"), (Some(Duration::from_secs(2)), true));
        assert_eq!(queue.begin("a"), (None, true), "the look did not succeed");
        queue.succeeded("a");
        assert_eq!(queue.begin("a"), (None, false));
        assert_eq!((receiver.recv().await.as_deref(), queue.age().1), (Some("a"), 0));
    }

    #[tokio::test]
    async fn what_waits_is_not_queued_twice() {
        let (queue, mut receiver) = Queue::new();
        for name in ["a", "b", "a", "b", "a"] {
            queue.push(name);
        }
        assert_eq!(receiver.recv().await.as_deref(), Some("a"));
        // It was taken, so what happens now needs another look. The other one still waits, whatever came of it meanwhile.
        queue.push("a");
        queue.begin("b");
        queue.forget("b");
        queue.push("b");
        queue.push("a");
        drop(queue);
        let mut left = vec![];
        while let Some(name) = receiver.recv().await {
            left.push(name);
        }
        assert_eq!(left, ["b", "a"]);
    }

    #[test]
    fn the_net_is_spread() {
        let times: HashSet<Duration> = (0..100).map(|n| resync_period(&format!("uid-{n}"))).collect();
        assert!(times.len() > 50);
        assert!(times.iter().all(|t| (NET.0..NET.0 + NET.1).contains(t)));
    }
}

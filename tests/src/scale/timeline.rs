//! When what was first seen of which claim.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Moments in a claim's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// It was made.
    Asked,
    /// Its object is on the hub.
    Remote,
    /// It says Provisioning.
    Provisioning,
    /// The steps of its job left credentials.
    Left,
    /// The hub's Secret has a kubeconfig.
    Published,
    /// The tenant's Secret has one.
    Delivered,
    /// It says Ready.
    Ready,
    /// It was told to end.
    Told,
    /// It says Deprovisioned.
    Over,
}

/// Moments by claim.
#[derive(Clone, Default)]
pub struct Timeline(Arc<Mutex<BTreeMap<String, BTreeMap<Moment, Instant>>>>);

impl Timeline {
    /// Notes that something is seen now, unless it was seen before.
    pub fn note(&self, claim: &str, moment: Moment) {
        self.lock().entry(claim.to_owned()).or_default().entry(moment).or_insert_with(Instant::now);
    }

    /// Of how many claims something was seen.
    pub fn count(&self, moment: Moment) -> usize {
        self.lock().values().filter(|moments| moments.contains_key(&moment)).count()
    }

    /// How long it took from one moment to another, of every claim that had both, shortest first.
    pub fn between(&self, from: Moment, to: Moment) -> Vec<Duration> {
        let both =
            |m: &BTreeMap<Moment, Instant>| Some(m.get(&to)?.saturating_duration_since(*m.get(&from)?));
        let mut took: Vec<_> = self.lock().values().filter_map(both).collect();
        took.sort_unstable();
        took
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, BTreeMap<Moment, Instant>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// That of which so many in a hundred are not longer. None of nothing.
pub fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_what_was_seen() {
        let took: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&took, 50), Some(Duration::from_millis(100)));
        assert_eq!(percentile(&took, 99), Some(Duration::from_millis(198)));
        assert_eq!(percentile(&took[..1], 99), Some(Duration::from_millis(1)));
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn only_the_first_time_counts() {
        let timeline = Timeline::default();
        timeline.note("a", Moment::Asked);
        timeline.note("a", Moment::Ready);
        let took = timeline.between(Moment::Asked, Moment::Ready);
        timeline.note("a", Moment::Ready);
        timeline.note("b", Moment::Asked);
        assert_eq!(timeline.between(Moment::Asked, Moment::Ready), took);
        assert_eq!((timeline.count(Moment::Asked), timeline.count(Moment::Ready)), (2, 1));
    }
}

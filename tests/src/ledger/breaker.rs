//! Core's circuit breaker, as Crossplane v2.3.4 counts (`internal/circuit`): each composite has a bucket of 100 tokens, which gains one a
//! second. Every event takes one. Its handler maps an update twice, the old object and the new one; an object that is being deleted is not
//! counted.

use std::{collections::BTreeMap, time::Duration};

use super::change::Change;

/// The tokens of a full bucket.
const BURST: f64 = 100.0;
/// Tokens gained in a second.
const REFILL: f64 = 1.0;

/// The bucket of one composite over its life.
#[derive(Clone, Debug, PartialEq)]
pub struct Breaker {
    /// Events that core counted.
    pub events: u32,
    /// The fewest tokens that were ever left; below zero, the breaker was open.
    pub fewest: f64,
}

impl Breaker {
    /// The one that came nearest to opening, of all composites, and the most events of one. Changes are in the order of their times.
    pub fn fullest(changes: &[Change]) -> Self {
        let mut by_composite: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
        for change in changes {
            by_composite.entry(&change.composite).or_default().push(change);
        }
        let breakers = by_composite.into_values().map(Self::after);
        let worse = |one: Self, other: Self| Self {
            events: one.events.max(other.events),
            fewest: one.fewest.min(other.fewest),
        };
        breakers.fold(Self { events: 0, fewest: BURST }, worse)
    }

    fn after(changes: Vec<&Change>) -> Self {
        let mut last = Duration::ZERO;
        let (mut tokens, mut breaker) = (BURST, Self { events: 0, fewest: BURST });
        for change in changes.into_iter().filter(|change| change.events > 0) {
            tokens = (tokens + REFILL * change.at.saturating_sub(last).as_secs_f64()).min(BURST);
            last = change.at;
            tokens -= f64::from(change.events);
            breaker.events += change.events;
            breaker.fewest = breaker.fewest.min(tokens);
        }
        breaker
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at: u64, events: u32) -> Change {
        Change { at: Duration::from_secs(at), events, ..Change::default() }
    }

    #[test]
    fn bucket_refills_by_one_token_a_second() {
        let breaker = Breaker::fullest(&[change(50, 90), change(60, 15), change(60, 0)]);
        assert_eq!(breaker, Breaker { events: 105, fewest: 5.0 });
        assert!(Breaker::fullest(&[change(0, 60), change(1, 60)]).fewest < 0.0);
        let of = |composite: &str| Change { composite: composite.into(), ..change(0, 60) };
        assert_eq!(Breaker::fullest(&[of("one"), of("other")]).events, 60);
    }
}

//! Times that are promised, on a machine of which nobody knows how fast it is and what else it does.

use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::patience::longer;

/// By how much the way back may be longer than the way there.
const MARGIN: u32 = 4;
/// The most that the way back may take wherever it is: a poll would be as fast.
const POLLED: Duration = Duration::from_secs(8);

/// Checks that the way back from the hub took no longer than promised. Where others load the machine, the limit is four times
/// the way from the claim to the hub just before, by the same programs.
///
/// # Errors
///
/// If it took longer than either, or as long as polling would.
pub fn kept(promised: Duration, there: Duration, back: Duration) -> anyhow::Result<()> {
    ensure!(
        back <= promised.max((MARGIN * there).min(POLLED)),
        "it took {back:?}, where {promised:?} is promised, and the way there took {there:?}"
    );
    Ok(())
}

/// Checks that an event came when it was due. Only the way after that time depends on the machine.
///
/// # Errors
///
/// If it came later.
pub fn due(begun: Instant, after: Duration, way: Duration) -> anyhow::Result<()> {
    let (took, way) = (begun.elapsed(), longer(way));
    ensure!(took <= after + way, "it took {took:?}, and was due after {after:?}, with {way:?} for the way");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_machine_that_is_slow_both_ways_breaks_no_promise() {
        assert!(kept(seconds(2), seconds(0), seconds(2)).is_ok());
        assert!(kept(seconds(2), seconds(1), seconds(4)).is_ok());
        assert!(kept(seconds(2), seconds(1), seconds(5)).is_err());
        assert!(kept(seconds(2), seconds(3), seconds(8)).is_ok());
        assert!(kept(seconds(2), seconds(9), seconds(9)).is_err(), "nobody tells that from a poll");
    }

    #[test]
    fn what_is_due_comes_no_later_than_that_and_the_way() {
        let begun = Instant::now().checked_sub(seconds(40)).unwrap();
        assert!(due(begun, seconds(30), seconds(15)).is_ok());
        assert!(due(begun, seconds(1), seconds(2)).is_err());
    }
}

//! Times that are promised.

use std::time::Duration;

use anyhow::ensure;

/// By how much the way back may be longer than the way there.
const MARGIN: u32 = 2;

/// Whether what came back from the hub came in time: within what is promised where nothing else runs, or, where others have the machine,
/// within twice what it took from the claim to the hub just before. Both ways go through the same programs, and none of those that poll
/// does it as often.
///
/// # Errors
///
/// If it took longer than either.
pub fn kept(promised: Duration, there: Duration, back: Duration) -> anyhow::Result<()> {
    ensure!(
        back <= promised.max(MARGIN * there),
        "it took {back:?}, where {promised:?} is promised, and the way there took {there:?}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_slow_both_ways_breaks_no_promise() {
        let seconds = Duration::from_secs;
        assert!(kept(seconds(2), seconds(0), seconds(2)).is_ok());
        assert!(kept(seconds(2), seconds(1), seconds(3)).is_err());
        assert!(kept(seconds(2), seconds(3), seconds(6)).is_ok());
        assert!(kept(seconds(2), seconds(3), seconds(7)).is_err());
    }
}

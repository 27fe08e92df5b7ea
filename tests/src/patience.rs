//! How long is waited for what has to come, on a machine of which nobody knows how fast it is and what else it does.
//!
//! What is given is what a fast machine needs that does nothing else, with much to spare. Where a time itself is promised,
//! [`crate::promise`] holds it against what the machine does.

use std::{sync::LazyLock, time::Duration};

use tokio::time::error::Elapsed;

use crate::{actors::now, settings};

/// How many times as long it may take.
static TIMES: LazyLock<u32> = LazyLock::new(settings::patience);

/// As long as something may take here that elsewhere may take this long.
#[must_use]
pub fn longer(within: Duration) -> Duration {
    within.saturating_mul(*TIMES)
}

/// What a future comes to, unless it takes [`longer`].
///
/// # Errors
///
/// If it does.
pub async fn timeout<F: Future>(within: Duration, future: F) -> Result<F::Output, Elapsed> {
    tokio::time::timeout(longer(within), future).await
}

/// Whether the time is over in which what others show nearly as well may still begin.
#[must_use]
pub fn is_late() -> bool {
    settings::until().is_some_and(|until| now() >= until)
}

//! Limits of waiting, on a machine whose speed and other load are unknown.
//!
//! Callers give the time that a fast, idle machine needs, with much to spare. Where a time itself is promised,
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

/// Output of a future, unless it takes [`longer`].
///
/// # Errors
///
/// If it takes longer.
pub async fn timeout<F: Future>(within: Duration, future: F) -> Result<F::Output, Elapsed> {
    tokio::time::timeout(longer(within), future).await
}

/// `true` once it is too late to begin a test whose subject others cover nearly as well.
#[must_use]
pub fn is_late() -> bool {
    settings::until().is_some_and(|until| now() >= until)
}

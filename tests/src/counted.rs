//! A program's counters, as Prometheus would read them.

use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::patience::longer;

/// How often a page is read.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Waits until every one of these lines is on the page, and returns that: what was done is seen before it is counted.
pub async fn until_counted(
    page: impl Fn() -> anyhow::Result<String>,
    lines: &[&str],
    within: Duration,
) -> anyhow::Result<String> {
    let (begun, within) = (Instant::now(), longer(within));
    loop {
        let text = page()?;
        let missing = lines.iter().find(|line| !text.lines().any(|l| l == **line));
        let Some(missing) = missing else { return Ok(text) };
        ensure!(begun.elapsed() < within, "{missing} is missing: {text}");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

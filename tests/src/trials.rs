//! Trials on one engine: what is the same around all of them, whatever is tried.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use anyhow::{anyhow, ensure};

use crate::patience::longer;

/// After how many failures nothing is begun any more: what all have in common they have told by then, and each further one may take as long as
/// the longest.
const ENOUGH: usize = 8;

/// How they went.
#[derive(Default)]
pub struct Trials {
    failures: AtomicUsize,
}

impl Trials {
    /// Runs one, for as long as it may take, or [`longer`]. How it went is said at once: what is told at the end nobody hears of a run that is
    /// ended before that.
    ///
    /// # Errors
    ///
    /// If it fails, does not end, or is not begun because too many have failed.
    pub async fn run(
        &self,
        name: &str,
        patience: Duration,
        tried: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<()> {
        self.check()?;
        let begun = Instant::now();
        let patience = longer(patience);
        // One that panics is dropped.
        let mut failed = Failed { failures: &self.failures, counts: true };
        let outcome = tokio::time::timeout(patience, tried).await;
        let outcome = outcome.unwrap_or_else(|_| Err(anyhow!("it did not end within {patience:?}")));
        failed.counts = outcome.is_err();
        report(name, begun.elapsed(), &outcome);
        outcome
    }
}

impl Trials {
    /// As [`Self::run`], for a function that blocks. Nothing ends it if it hangs.
    ///
    /// # Errors
    ///
    /// If it fails, or is not begun because too many have failed.
    pub fn run_blocking(&self, name: &str, run: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.check()?;
        let mut failed = Failed { failures: &self.failures, counts: true };
        let begun = Instant::now();
        let outcome = run();
        failed.counts = outcome.is_err();
        report(name, begun.elapsed(), &outcome);
        outcome
    }

    fn check(&self) -> anyhow::Result<()> {
        ensure!(
            self.failures.load(Ordering::Relaxed) < ENOUGH,
            "it was not begun, because {ENOUGH} others failed"
        );
        Ok(())
    }
}

fn report(name: &str, took: Duration, outcome: &anyhow::Result<()>) {
    let took = took.as_secs_f32();
    match outcome {
        Ok(()) => eprintln!("{name}: {took:.1} s"),
        Err(error) => eprintln!("{name}: failed after {took:.1} s: {error:#}"),
    }
}

/// One that has failed, unless something else is said before it is dropped.
struct Failed<'t> {
    failures: &'t AtomicUsize,
    counts: bool,
}

impl Drop for Failed<'_> {
    fn drop(&mut self) {
        self.failures.fetch_add(usize::from(self.counts), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use anyhow::bail;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn after_enough_failures_nothing_is_begun() {
        let trials = Trials::default();
        for _ in 0..ENOUGH {
            trials.run("good", PATIENCE, async { Ok(()) }).await.unwrap();
            trials.run("bad", PATIENCE, async { bail!("bad") }).await.unwrap_err();
        }
        let told = trials.run("good", PATIENCE, async { Ok(()) }).await.unwrap_err();
        assert!(told.to_string().contains("not begun"), "{told}");
    }

    #[tokio::test]
    async fn what_panics_and_what_hangs_have_failed() {
        let trials = Arc::new(Trials::default());
        let hangs = trials.run("hangs", Duration::from_millis(10), std::future::pending()).await;
        assert!(hangs.unwrap_err().to_string().contains("did not end within"));
        let shared = Arc::clone(&trials);
        let panics = async move { shared.run("panics", PATIENCE, async { panic!("bad") }).await };
        tokio::spawn(panics).await.unwrap_err();
        assert_eq!(trials.failures.load(Ordering::Relaxed), 2);
    }
}

//! The time of a run. A fault that comes late, because the one before it took longer than planned, makes everything after it late: what
//! is planned to meet does, however slow the machine is.

use std::{sync::Mutex, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::field::lock;

/// When what a plan has is due.
pub struct Pace {
    begun: Instant,
    /// How late everything is.
    late: Mutex<Duration>,
}

impl Pace {
    /// Of a run that begins.
    pub fn new(begun: Instant) -> Self {
        Self { begun, late: Mutex::default() }
    }

    /// Waits until what is planned for then is due. It may become late meanwhile.
    pub async fn until(&self, at: Duration) {
        loop {
            let due = self.due(at);
            if Instant::now() >= due {
                return;
            }
            sleep_until(due).await;
        }
    }

    /// A fault that is planned for then comes now.
    pub fn comes(&self, at: Duration) {
        let late = self.begun.elapsed().saturating_sub(at);
        let mut all = lock(&self.late);
        *all = late.max(*all);
    }

    fn due(&self, at: Duration) -> Instant {
        self.begun + at + *lock(&self.late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_late_makes_all_later() {
        let second = Duration::from_secs(1);
        let begun = Instant::now().checked_sub(50 * second).unwrap();
        let pace = Pace::new(begun);
        // Nothing comes early.
        pace.comes(1000 * second);
        assert_eq!(pace.due(second), begun + second);
        pace.comes(20 * second);
        let late = pace.due(second);
        assert!(late >= begun + 31 * second, "{:?}", late.duration_since(begun));
        pace.comes(40 * second);
        assert_eq!(pace.due(second), late, "who is less late does not make up for it");
    }

    #[tokio::test]
    async fn who_waits_already_waits_longer() {
        let (moment, at) = (Duration::from_millis(100), Duration::from_secs(50));
        let begun = Instant::now().checked_sub(at).unwrap();
        let pace = Pace::new(begun);
        let earlier = at.saturating_sub(2 * moment);
        tokio::join!(pace.until(at + moment), async { pace.comes(earlier) });
        assert!(begun.elapsed() >= at + 3 * moment, "{:?}", begun.elapsed());
    }
}

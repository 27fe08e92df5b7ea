//! Lifetime of a token, independent of its owner.

use jiff::{SignedDuration, Timestamp};

/// The shortest life that an API server gives (`expirationSeconds`, authentication.k8s.io/v1).
const SHORTEST: SignedDuration = SignedDuration::from_mins(10);

/// The time of a token, by two clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenLifetime {
    /// Time of the request, by our clock.
    pub issued: Timestamp,
    /// When it ends, by that of the API server.
    pub expires: Timestamp,
    /// Requested lifetime.
    pub longest: SignedDuration,
}

impl TokenLifetime {
    /// Time to replace the token: two thirds of its lifetime have passed. The rest is for outages, and for readers of the old token. If clocks
    /// differ, the lifetime is still neither shorter than any API server would grant nor longer than requested: otherwise every new token could
    /// count as expired.
    pub fn renew_at(self) -> Timestamp {
        let life = self.expires.duration_since(self.issued).min(self.longest).max(SHORTEST);
        self.issued.checked_add(life / 3 * 2).unwrap_or(self.expires)
    }

    /// End of the token's use; None if it must be replaced now. An issue time in the future is from another clock: it tells nothing about the
    /// end.
    pub fn usable_until(self, now: Timestamp) -> Option<Timestamp> {
        let due = self.renew_at();
        (self.issued <= now && due > now).then_some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_due_at_two_thirds_whatever_the_clocks_say() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let issued = at("2026-03-02T11:00:00Z");
        for (expires, due) in [
            ("2026-03-02T23:00:00Z", "2026-03-02T19:00:00Z"),
            ("2026-03-02T12:00:00Z", "2026-03-02T11:40:00Z"),
            // The API server's clock is behind, or ahead.
            ("2026-03-02T11:00:00Z", "2026-03-02T11:06:40Z"),
            ("2026-03-02T05:00:00Z", "2026-03-02T11:06:40Z"),
            ("2027-03-02T05:00:00Z", "2026-03-02T19:00:00Z"),
        ] {
            let term =
                TokenLifetime { issued, expires: at(expires), longest: SignedDuration::from_hours(12) };
            let due = at(due);
            assert_eq!(term.renew_at(), due, "{expires}");
            assert_eq!(term.usable_until(issued), Some(due), "{expires}: it is not made anew at once");
            assert_eq!(term.usable_until(due), None, "{expires}");
            let before = issued.checked_sub(SignedDuration::from_secs(1)).unwrap();
            assert_eq!(term.usable_until(before), None, "{expires}");
        }
    }
}

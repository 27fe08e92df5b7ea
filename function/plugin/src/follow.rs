//! The edge: a claim, followed over watches that end.

use std::{thread, time::Duration};

use jiff::{SignedDuration, Timestamp};

use super::{
    claim::{Claim, Flavour},
    exit::{Exit, Stop},
    kubectl::{Kubectl, Watch, WatchEvent},
    session::Surroundings,
    trouble::Trouble,
};

/// How often a person sees that time goes on.
const TICK: Duration = Duration::from_millis(500);
/// How often in a row the right to watch may be denied: an API server that just came up does not know yet who may what.
const PATIENCE: u8 = 3;

/// Observed state of a claim.
pub enum Observation {
    /// It changed, or is seen for the first time.
    Changed(Claim),
    /// Nothing new.
    Unchanged,
    /// Nothing new of it; but kubectl said something, such as how to log in.
    Output(String),
    /// It cannot be followed for now, and why.
    Interrupted(String),
}

/// A claim that is followed.
pub struct Follower<'k> {
    kubectl: &'k Kubectl,
    flavour: Flavour,
    name: String,
    uid: String,
    watch: Option<Watch>,
    /// When to give up.
    deadline: Option<Timestamp>,
    /// When to look again.
    next_attempt: Timestamp,
    pause: i64,
    refused: u8,
    interrupted: fn() -> bool,
}

impl<'k> Follower<'k> {
    /// Follows a claim, for as long as is said.
    pub fn new(
        kubectl: &'k Kubectl,
        around: Surroundings,
        claim: &Claim,
        timeout: Option<SignedDuration>,
    ) -> Self {
        let now = (around.now)();
        let deadline = timeout.and_then(|t| now.checked_add(t).ok());
        let name = claim.name().to_owned();
        let uid = claim.uid().to_owned();
        let flavour = claim.flavour;
        let interrupted = around.interrupted;
        let (watch, next_attempt, pause, refused) = (None, now, 1, 0);
        Self { kubectl, flavour, name, uid, watch, deadline, next_attempt, pause, refused, interrupted }
    }

    /// Waits a moment for what comes next. An error ends it: the time is over, somebody does not want to wait any more, the claim is gone,
    /// or out of reach for good.
    pub fn next(&mut self, now: Timestamp) -> Result<Observation, Stop> {
        let observed = self.observe_claim(now);
        // Ctrl-C ends kubectl too, which is no news then.
        if (self.interrupted)() {
            return Err(Stop::new(Exit::Interrupted, "interrupted", ""));
        }
        observed
    }

    fn observe_claim(&mut self, now: Timestamp) -> Result<Observation, Stop> {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Err(Stop::new(Exit::NotYet, "the time is over", ""));
        }
        let Some(watch) = &mut self.watch else {
            if now < self.next_attempt {
                thread::sleep(TICK);
                return Ok(Observation::Unchanged);
            }
            let arguments =
                ["get", self.flavour.resource(), &self.name, "--watch", "--output-watch-events", "-ojson"];
            self.watch = Some(self.kubectl.watch(&arguments)?);
            return Ok(Observation::Unchanged);
        };
        match watch.next(TICK) {
            WatchEvent::Nothing => Ok(Observation::Unchanged),
            WatchEvent::Output(words) => Ok(Observation::Output(words.trim_end().to_owned())),
            WatchEvent::Object(object) => {
                (self.pause, self.refused) = (1, 0);
                match Claim::read(object) {
                    // Made anew under its name, while nobody watched.
                    Some(claim) if claim.uid() != self.uid => Err(self.report_absence()),
                    Some(claim) => Ok(Observation::Changed(claim)),
                    None => Ok(Observation::Unchanged),
                }
            }
            WatchEvent::Deleted => Err(self.report_absence()),
            WatchEvent::Ended(text) => self.end_watch(&text, now),
        }
    }

    fn end_watch(&mut self, text: &str, now: Timestamp) -> Result<Observation, Stop> {
        self.watch = None;
        self.next_attempt = now + SignedDuration::from_secs(self.pause);
        // Each that told something begins anew; an end after that is no news.
        let quiet = self.pause == 1 && (text.is_empty() || text.contains("Client.Timeout"));
        self.pause = (self.pause * 2).min(15);
        match Trouble::of(text, Some(&self.name)) {
            Trouble::NotFound(_) => Err(self.report_absence()),
            trouble @ (Trouble::Forbidden(_) | Trouble::NoKind(_)) => {
                self.refused += 1;
                if self.refused >= PATIENCE { Err(trouble.into()) } else { Ok(Observation::Unchanged) }
            }
            _ if quiet => Ok(Observation::Unchanged),
            other => Ok(Observation::Interrupted(other.words().to_owned())),
        }
    }

    fn report_absence(&self) -> Stop {
        let message =
            format!("{}/{} was deleted, and its cluster goes with it", self.flavour.word(), self.name);
        Stop::new(Exit::NotFound, message, "")
    }
}

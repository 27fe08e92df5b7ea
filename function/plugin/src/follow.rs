//! The edge: a claim, followed over watches that end.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    claim::{Claim, Flavour},
    exit::{Exit, Stop},
    kubectl::Kubectl,
    session::Surroundings,
    steady_watch::{SteadyWatch, WatchStep},
    trouble::Trouble,
};

/// How often a person sees that time goes on.
pub const TICK: Duration = Duration::from_millis(500);

/// Observed state of a claim.
pub enum Observation {
    /// It changed, or is seen for the first time.
    Changed(Claim),
    /// Nothing new.
    Unchanged,
    /// Nothing new of it; but kubectl said something, such as how to log in, or it cannot be followed for now.
    Output(String),
}

/// A claim that is followed.
pub struct Follower<'k> {
    watch: SteadyWatch<'k>,
    flavour: Flavour,
    name: String,
    uid: String,
    /// When to give up.
    deadline: Option<Timestamp>,
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
        Self {
            watch: SteadyWatch::new(kubectl, claim.flavour.resource(), Some(claim.name()), &[], now),
            flavour: claim.flavour,
            name: claim.name().to_owned(),
            uid: claim.uid().to_owned(),
            deadline: timeout.and_then(|t| now.checked_add(t).ok()),
            interrupted: around.interrupted,
        }
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
        match self.watch.next(now, TICK) {
            Ok(WatchStep::Nothing | WatchStep::Restarted) => Ok(Observation::Unchanged),
            Ok(WatchStep::Output(text)) => Ok(Observation::Output(text)),
            Ok(WatchStep::Object(object)) => self.accept_object(object),
            Ok(WatchStep::Deleted(_)) | Err(Trouble::NotFound(_)) => Err(self.report_absence()),
            Err(trouble) => Err(trouble.into()),
        }
    }

    fn accept_object(&self, object: Value) -> Result<Observation, Stop> {
        match Claim::read(object) {
            // Made anew under its name, while nobody watched.
            Some(claim) if claim.uid() != self.uid => Err(self.report_absence()),
            Some(claim) => Ok(Observation::Changed(claim)),
            None => Ok(Observation::Unchanged),
        }
    }

    fn report_absence(&self) -> Stop {
        let message =
            format!("{}/{} was deleted, and its cluster goes with it", self.flavour.word(), self.name);
        Stop::new(Exit::NotFound, message, "")
    }
}

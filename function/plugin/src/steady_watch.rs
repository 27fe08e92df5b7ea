//! The edge: a watch of kubectl that is started again whenever it ends.

use std::{thread, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    kubectl::{Kubectl, Watch, WatchEvent},
    trouble::Trouble,
};

/// How often in a row the right to watch may be denied: an API server that just came up does not know yet who may what.
const MAX_REFUSALS: u8 = 3;
/// The longest pause between two attempts, in seconds.
const MAX_PAUSE: i64 = 15;
/// A watch that lasted for so long was ended by its time limit, which is about five minutes in kubectl, and not by a fault.
const SOUND: SignedDuration = SignedDuration::from_mins(1);

/// Result of one step.
pub enum WatchStep {
    /// An object is new or has changed.
    Object(Value),
    /// An object was deleted; its last state.
    Deleted(Value),
    /// The watch runs again after a gap, in which deletions are not reported.
    Restarted,
    /// Nothing new.
    Nothing,
    /// kubectl said something, such as how to log in, or the watch is interrupted.
    Output(String),
}

/// A watch that lasts. After each start, objects that exist are reported again.
pub struct SteadyWatch<'k> {
    kubectl: &'k Kubectl,
    arguments: Vec<String>,
    /// Name of the only object; none if the watch is about many.
    name: Option<String>,
    watch: Option<Watch>,
    /// When the last watch was started; none before the first.
    started: Option<Timestamp>,
    next_attempt: Timestamp,
    pause: i64,
    refusals: u8,
}

impl<'k> SteadyWatch<'k> {
    /// A watch over a resource: one object, or all that the options select.
    pub fn new(
        kubectl: &'k Kubectl,
        resource: &str,
        name: Option<&str>,
        options: &[&str],
        now: Timestamp,
    ) -> Self {
        let mut arguments = vec!["get", resource];
        arguments.extend(name);
        arguments.extend(options);
        arguments.extend(["--watch", "--output-watch-events", "-ojson"]);
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        let name = name.map(str::to_owned);
        Self {
            kubectl,
            arguments,
            name,
            watch: None,
            started: None,
            next_attempt: now,
            pause: 1,
            refusals: 0,
        }
    }

    /// Waits a moment for the next event.
    ///
    /// # Errors
    /// If the only object does not exist, or kubectl cannot be run, or the caller may not watch.
    pub fn next(&mut self, now: Timestamp, within: Duration) -> Result<WatchStep, Trouble> {
        let Some(watch) = &mut self.watch else {
            if now < self.next_attempt {
                thread::sleep(within);
            } else {
                let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
                self.watch = Some(self.kubectl.watch(&arguments)?);
                if self.started.replace(now).is_some() {
                    return Ok(WatchStep::Restarted);
                }
            }
            return Ok(WatchStep::Nothing);
        };
        match watch.next(within) {
            WatchEvent::Nothing => Ok(WatchStep::Nothing),
            WatchEvent::Output(text) => Ok(WatchStep::Output(text.trim_end().to_owned())),
            WatchEvent::Object(object) => {
                (self.pause, self.refusals) = (1, 0);
                Ok(WatchStep::Object(object))
            }
            WatchEvent::Deleted(object) => Ok(WatchStep::Deleted(object)),
            WatchEvent::Ended(text) => self.end_watch(&text, now),
        }
    }

    fn end_watch(&mut self, text: &str, now: Timestamp) -> Result<WatchStep, Trouble> {
        self.watch = None;
        if self.started.is_some_and(|started| now.duration_since(started) >= SOUND) {
            self.pause = 1;
        }
        self.next_attempt = now + SignedDuration::from_secs(self.pause);
        // After an event, or a long time without any, the pause is one second again; the end of such a watch is no news.
        let quiet = self.pause == 1 && (text.is_empty() || text.contains("Client.Timeout"));
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        match Trouble::of(text, self.name.as_deref()) {
            trouble @ Trouble::NotFound(_) if self.name.is_some() => Err(trouble),
            trouble @ (Trouble::Forbidden(_) | Trouble::NoKind(_)) => {
                self.refusals += 1;
                if self.refusals >= MAX_REFUSALS { Err(trouble) } else { Ok(WatchStep::Nothing) }
            }
            _ if quiet => Ok(WatchStep::Nothing),
            other => {
                let text = format!("note: the watch is interrupted, trying again: {}", other.words());
                Ok(WatchStep::Output(text))
            }
        }
    }
}

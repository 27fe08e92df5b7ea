//! A failure of a cluster, and its start.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{foreign::meta::ObservedCondition, redact::redact_text, text::bounded};

use super::sentence::Sentence;

/// How long something has to be wrong for good, by its own transition time, before it is believed.
const GRACE: SignedDuration = SignedDuration::from_mins(3);
/// How long something of a cluster that was ready has to be wrong before it counts.
const DEGRADED: SignedDuration = SignedDuration::from_mins(2);

/// The same where nobody can tell whether it is wrong: an API that restarts cannot be inspected.
const UNKNOWN: SignedDuration = SignedDuration::from_mins(5);

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cluster::backends) struct FailureCondition {
    /// As one word: the type of the condition, or what it is about.
    pub reason: String,
    /// In the hub's words, without what may be a secret.
    pub message: String,
    pub since: Option<Timestamp>,
    /// Whether it can only pass if somebody changes something.
    pub terminal: bool,
    /// How long it has to last before it counts.
    pub grace: SignedDuration,
}

impl FailureCondition {
    /// Failure that a condition reports; `of_group`: the node group, if it is not the whole cluster.
    pub fn from_condition(condition: &ObservedCondition, of_group: Option<&str>, terminal: bool) -> Self {
        let whose = of_group.map(|group| format!("node group {group}: ")).unwrap_or_default();
        let text = if condition.message.is_empty() { &condition.reason } else { &condition.message };
        // The first line: what follows is for developers of the backend.
        let line = text.lines().next().unwrap_or_default();
        let grace = match (terminal, condition.status.as_str()) {
            (true, _) => GRACE,
            (false, "Unknown") => UNKNOWN,
            (false, _) => DEGRADED,
        };
        Self {
            reason: bounded(&condition.type_, 63),
            message: bounded(&redact_text(&format!("{whose}{line}"), 768), 768),
            since: condition.last_transition_time,
            terminal,
            grace,
        }
    }

    /// The same, told by words that may have come later than the status of the condition, with whose change alone its time moves. `said_at`: when
    /// all that is said was last changed. Where nobody notes that, it is not known since when.
    pub fn since_message(self, said_at: Option<Timestamp>) -> Self {
        let since = self.since.zip(said_at).map(|(since, said_at)| since.max(said_at));
        Self { since, ..self }
    }

    /// Word and sentence.
    pub fn text(&self) -> String {
        if self.message.is_empty() {
            self.reason.clone()
        } else {
            format!("{}: {}", self.reason, self.message)
        }
    }

    /// Whether it has lasted long enough to count. A failure without a start does not count, unless it counts at once.
    pub fn is_persistent(&self, now: Timestamp) -> bool {
        self.grace.is_zero() || self.persistent_at().is_some_and(|until| until <= now)
    }

    /// When it will have lasted so long.
    pub fn persistent_at(&self) -> Option<Timestamp> {
        self.since?.checked_add(self.grace).ok()
    }
}

/// Whether a sentence is one about a quota or a limit, which others free again.
pub(in crate::cluster::backends) fn is_quota_error(message: &str) -> bool {
    Sentence::parse(message).contains_any(&["quota", "limit exceeded"])
}

/// Whether a sentence is one about the way to a server, which heals.
pub(in crate::cluster::backends) fn is_network_error(message: &str) -> bool {
    Sentence::parse(message).is_network_error()
}

//! History of a claim, in the order of time.

use jiff::Timestamp;
use testplatform_apis::text::bounded;

use super::super::{
    claim::{conditions, time},
    facts::Facts,
};

/// The longest text of an entry, in bytes.
const TEXT: usize = 600;

/// Something that happened to a claim, or that is going to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEntry {
    /// When.
    pub at: Timestamp,
    /// Origin: the claim, one of its conditions, or an event.
    pub source: String,
    /// Description.
    pub text: String,
    /// It needs attention.
    pub is_warning: bool,
}

/// Everything about a claim that has a time, the oldest first. Only the last change of a condition is known.
pub fn build_timeline(facts: &Facts) -> Vec<TimelineEntry> {
    let object = &facts.claim.object;
    let of_claim = [
        ("/metadata/creationTimestamp", "created"),
        ("/status/readyAt", "the cluster was first ready"),
        ("/status/estimatedReadyAt", "nine of ten similar clusters are ready"),
        ("/metadata/deletionTimestamp", "deletion requested"),
        ("/status/expiresAt", "end of the lifetime"),
    ];
    let times = of_claim.into_iter().filter_map(|(pointer, text)| {
        let (at, source) = (time(object, pointer)?, "claim".to_owned());
        Some(TimelineEntry { at, source, text: text.to_owned(), is_warning: false })
    });
    let changes = conditions(object).filter_map(|condition| {
        let (at, message) = (condition.since()?, condition.message());
        let text = format!("{} {}: {message}", condition.status(), condition.reason());
        let source = bounded(condition.type_(), TEXT);
        Some(TimelineEntry { at, source, text: bounded(&text, TEXT), is_warning: false })
    });
    let events = facts.events.iter().filter_map(|event| {
        let times = if event.count > 1 { format!(" ({} times)", event.count) } else { String::new() };
        Some(TimelineEntry {
            at: event.last?,
            source: bounded(&format!("event {}", event.reason), TEXT),
            text: bounded(&format!("{}{times}", event.message), TEXT),
            is_warning: event.warning,
        })
    });
    let mut entries: Vec<TimelineEntry> = times.chain(changes).chain(events).collect();
    entries.sort_by(|a, b| (a.at, &a.source).cmp(&(b.at, &b.source)));
    entries
}

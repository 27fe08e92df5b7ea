//! Events about a claim: which warnings are about the present, and how old each one is.
//!
//! Input: events as the API server lists them. Output: lines. Ages and counts read as in `kubectl describe`.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use testplatform_apis::{
    collect,
    condition::{EventReason, Request},
    text::bounded,
};

use super::{
    claim::{Claim, text, time},
    span::{ago, human},
};

/// The most warnings that are shown.
const SHOWN: usize = 3;
/// By how much the event of a transition may be older than the transition's time in the condition: Crossplane writes the two one after the other.
const SAME_TRANSITION: SignedDuration = SignedDuration::from_secs(10);

/// An event about a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimEvent {
    /// The event needs attention.
    pub warning: bool,
    /// `CamelCase` reason.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// How often it happened.
    pub count: u64,
    /// When it happened first.
    pub first: Option<Timestamp>,
    /// When it happened last.
    pub last: Option<Timestamp>,
}

/// The subject of an event. A later event about the same subject supersedes it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EventSubject<'a> {
    Request,
    Job,
    Cluster,
    Credentials,
    Remote,
    /// A step of Crossplane's: its events have the same reason whether it succeeds or fails.
    Other(&'a str),
}

impl<'a> EventSubject<'a> {
    fn of_reason(reason: &'a str) -> Self {
        use EventReason as R;
        match EventReason::parse(reason) {
            Some(R::ValidationFailed | R::RequestAccepted | R::RequestAdjusted) => Self::Request,
            Some(R::ProwJobCreated) => Self::Job,
            Some(
                R::Provisioning
                | R::ProvisioningLate
                | R::ProvisioningFailed
                | R::ClusterReady
                | R::ClusterDegraded
                | R::Expiring
                | R::Expired
                | R::TearingDown
                | R::TornDown
                | R::ClusterFailed
                | R::ClusterLost,
            ) => Self::Cluster,
            Some(R::CredentialsPublished | R::CredentialsNotDelivered) => Self::Credentials,
            Some(R::RemoteUnavailable | R::RemoteAvailable) => Self::Remote,
            None if Request::parse(reason).is_some() => Self::Request,
            None => Self::Other(reason),
        }
    }
}

impl ClaimEvent {
    /// The events of a claim, the newest first. Events of an earlier claim with its name are left out.
    pub fn of_claim(claim: &Claim, events: &[Value]) -> Vec<Self> {
        let own = |event: &&Value| {
            let uid = text(event, "/involvedObject/uid");
            !uid.is_empty() && uid == claim.uid()
        };
        let mut events: Vec<Self> = events.iter().filter(own).map(Self::read_event).collect();
        collect::sort_few(&mut events, |a, b| b.last.cmp(&a.last));
        events
    }

    /// Reads one in either form: with first and last time, or with an event time and a series.
    fn read_event(event: &Value) -> Self {
        let at = |pointer| time(event, pointer);
        let created = at("/metadata/creationTimestamp");
        let first = at("/firstTimestamp").or_else(|| at("/eventTime")).or(created);
        let last = at("/series/lastObservedTime").or_else(|| at("/lastTimestamp")).or(first);
        let count = event.pointer("/series/count").or_else(|| event.get("count")).and_then(Value::as_u64);
        Self {
            warning: text(event, "/type") == "Warning",
            reason: text(event, "/reason").to_owned(),
            message: text(event, "/message").to_owned(),
            count: count.unwrap_or(1),
            first,
            last,
        }
    }
}

/// A warning that `why` shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The event.
    pub event: ClaimEvent,
    /// It is about the present phase, and no later event is about its subject.
    pub is_current: bool,
}

impl Warning {
    /// The warning as a line, with its age.
    pub fn format_line(&self, now: Timestamp) -> String {
        let event = &self.event;
        let label = if self.is_current { "Warning" } else { "Earlier" };
        let times = match (event.first.zip(event.last), event.count) {
            (_, ..=1) | (None, _) => String::new(),
            (Some((first, last)), count) => format!(", x{count} over {}", human(last.duration_since(first))),
        };
        let age = match ago(event.last, now) {
            unknown if unknown.is_empty() => unknown,
            age => format!(" ({age} ago{times})"),
        };
        format!("{label:<9}  {}{age}", bounded(&format!("{}: {}", event.reason, event.message), 400))
    }

    /// The warning for programs.
    pub fn to_json(&self) -> Value {
        json!({
            "reason": self.event.reason,
            "message": bounded(&self.event.message, 400),
            "count": self.event.count,
            "last": self.event.last.map(|at| at.to_string()),
            "current": self.is_current,
        })
    }
}

/// The warnings to show among a claim's events, which are ordered from the newest on. `since`: when the claim's present phase began.
///
/// A warning is current if it is of the present phase and no later event is about its subject. Without a current one the newest earlier
/// warning is shown.
pub fn select_warnings(events: &[ClaimEvent], since: Option<Timestamp>) -> Vec<Warning> {
    let begin = since.and_then(|since| since.checked_sub(SAME_TRANSITION).ok());
    let mut subjects = Vec::new();
    let mut current = Vec::new();
    for event in events {
        let subject = EventSubject::of_reason(&event.reason);
        if subjects.contains(&subject) {
            continue;
        }
        subjects.push(subject);
        let of_phase = event.last.is_some_and(|last| begin.is_none_or(|begin| last >= begin));
        if event.warning && of_phase {
            current.push(Warning { event: event.clone(), is_current: true });
        }
    }
    if current.is_empty() {
        let earlier = events.iter().find(|event| event.warning);
        return earlier
            .map(|event| Warning { event: event.clone(), is_current: false })
            .into_iter()
            .collect();
    }
    current.truncate(SHOWN);
    current
}

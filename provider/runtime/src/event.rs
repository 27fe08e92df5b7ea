//! Events about what is served. Each is made once, because they are about transitions; so there is nothing to count up.

use jiff::Timestamp;
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event as Made},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, api::PostParams};

use crate::{
    apply::MANAGER,
    error::{Cause, already_exists},
};

/// The longest note and the longest other text that an API server takes.
const LONGEST: (usize, usize) = (1024, 128);

/// An event about an object. Made on transitions only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether somebody should worry.
    pub warning: bool,
    /// A CamelCase word.
    pub reason: String,
    /// A sentence.
    pub note: String,
}

/// Makes an event about an object, in the namespace of the object.
pub async fn emit_event(
    events: &Api<Made>,
    instance: &str,
    regarding: ObjectReference,
    event: &Event,
    now: Timestamp,
) -> Result<(), Cause> {
    let name = format!(
        "{}.{:x}",
        truncate_text(regarding.name.as_deref().unwrap_or_default(), 200),
        now.as_nanosecond()
    );
    let made = Made {
        metadata: ObjectMeta { name: Some(name), ..ObjectMeta::default() },
        event_time: Some(MicroTime(now)),
        type_: Some(if event.warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(truncate_text(&event.reason, LONGEST.1)),
        note: Some(truncate_text(&event.note, LONGEST.0)),
        action: Some("Reconcile".to_owned()),
        regarding: Some(regarding),
        reporting_controller: Some(MANAGER.to_owned()),
        reporting_instance: Some(truncate_text(instance, LONGEST.1)),
        ..Made::default()
    };
    match events.create(&PostParams::default(), &made).await {
        Err(error) if already_exists(&error) => Ok(()),
        other => Ok(other.map(|_| ())?),
    }
}

/// At most so many bytes, cut between characters.
pub fn truncate_text(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

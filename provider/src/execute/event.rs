//! Events about what is served. Each is made once, because they are about transitions; so there is nothing to count up.

use jiff::Timestamp;
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event as Made},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, Resource as _, api::PostParams};

use super::{Cause, Executor, error::already_exists};
use crate::{
    ephemeral_cluster::object::{EphemeralCluster, MANAGER},
    plan::Event,
};

/// The longest note and the longest other text that an API server takes.
const LONGEST: (usize, usize) = (1024, 128);

impl Executor {
    pub(super) async fn emit(&self, object: &EphemeralCluster, event: &Event) -> Result<(), Cause> {
        let events = Api::namespaced(self.hub.client(), self.hub.namespace());
        emit(&events, &self.instance, object.object_ref(&()), event, (self.now)()).await
    }
}

/// Makes an event about an object, in the namespace of the object.
pub(crate) async fn emit(
    events: &Api<Made>,
    instance: &str,
    regarding: ObjectReference,
    event: &Event,
    now: Timestamp,
) -> Result<(), Cause> {
    let name =
        format!("{}.{:x}", cut(regarding.name.as_deref().unwrap_or_default(), 200), now.as_nanosecond());
    let made = Made {
        metadata: ObjectMeta { name: Some(name), ..ObjectMeta::default() },
        event_time: Some(MicroTime(now)),
        type_: Some(if event.warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(cut(&event.reason, LONGEST.1)),
        note: Some(cut(&event.note, LONGEST.0)),
        action: Some("Reconcile".to_owned()),
        regarding: Some(regarding),
        reporting_controller: Some(MANAGER.to_owned()),
        reporting_instance: Some(cut(instance, LONGEST.1)),
        ..Made::default()
    };
    match events.create(&PostParams::default(), &made).await {
        Err(error) if already_exists(&error) => Ok(()),
        other => Ok(other.map(|_| ())?),
    }
}

/// At most so many bytes, cut between characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

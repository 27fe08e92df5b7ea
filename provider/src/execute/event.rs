//! Events about EphemeralClusters. Each is made once, because they are about transitions; so there is nothing to count up.

use k8s_openapi::{
    api::events::v1::Event as Made,
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, Resource as _, api::PostParams};

use super::{Cause, Executor, error::already_exists};
use crate::{
    ephemeral_cluster::object::{EphemeralCluster, MANAGER},
    step::Event,
};

/// The longest note and the longest other text that an API server takes.
const LONGEST: (usize, usize) = (1024, 128);

impl Executor {
    pub(super) async fn emit(&self, object: &EphemeralCluster, event: &Event) -> Result<(), Cause> {
        let now = (self.now)();
        let name = format!("{}.{:x}", cut(object.name(), 200), now.as_nanosecond());
        let made = Made {
            metadata: ObjectMeta { name: Some(name), ..ObjectMeta::default() },
            event_time: Some(MicroTime(now)),
            type_: Some(if event.warning { "Warning" } else { "Normal" }.to_owned()),
            reason: Some(cut(&event.reason, LONGEST.1)),
            note: Some(cut(&event.note, LONGEST.0)),
            action: Some("Reconcile".to_owned()),
            regarding: Some(object.object_ref(&())),
            reporting_controller: Some(MANAGER.to_owned()),
            reporting_instance: Some(cut(&self.instance, LONGEST.1)),
            ..Made::default()
        };
        let events: Api<Made> = Api::namespaced(self.hub.client(), self.hub.namespace());
        match events.create(&PostParams::default(), &made).await {
            Err(error) if already_exists(&error) => Ok(()),
            other => Ok(other.map(|_| ())?),
        }
    }
}

fn cut(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

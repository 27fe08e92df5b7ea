//! The latest end of a cluster: the time after which its claim should have ended it, and did not, because the claim, the function or
//! Crossplane is lost or cannot reach the hub. Pure.
//!
//! The function writes the latest end on the object. It is acted on only where `clusters.endOverdue` is on, and only in the namespaces that
//! the configuration names, because it takes the right to delete.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::names::ours;
use testplatform_runtime::{event::Event, reconcile::Action};

use super::observed_state::ClusterSettings;
use crate::credentials::cluster_object::Cluster;

/// A latest end.
#[derive(Clone, Debug, PartialEq)]
pub enum LatestEnd {
    /// The object has none, or it is not acted on.
    None,
    /// It is in the future: when to look again.
    Ahead(Action),
    /// It has passed: the event to emit once the object is deleted.
    Overdue(Event),
}

impl LatestEnd {
    /// The latest end of a cluster. A text that is no time counts as none.
    pub fn of(object: &Cluster, settings: &ClusterSettings, now: Timestamp) -> Self {
        let acted_on = settings.end_overdue.contains(object.namespace())
            && object.is_marked_for(&settings.credentials_namespace)
            && !object.is_deleted();
        let end = object.annotation(ours::LATEST_END).filter(|_| acted_on);
        let Some(end) = end.and_then(|text| text.parse::<Timestamp>().ok()) else { return Self::None };
        let remaining = end.duration_since(now);
        if remaining > SignedDuration::ZERO {
            return Self::Ahead(Action::requeue_after(remaining));
        }
        Self::Overdue(Event {
            warning: true,
            reason: "ClusterOverdue".into(),
            note: format!("deleted after its latest end {end}, because its claim did not end it"),
        })
    }
}

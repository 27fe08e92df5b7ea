//! Clusters whose latest end has come, which nobody ends any more: the claim, the function or Crossplane is lost, or does not get through. Pure.
//!
//! The function writes the latest end on the object, behind all that a claim may ever ask for, so that the claim's own end always comes first.
//! Only where an administrator has switched that on, and only in the namespaces that the configuration names: it takes the right to delete.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::names::ours;

use super::{object::Cluster, world::Settings};
use crate::step::{Event, Requeue};

/// A latest end.
#[derive(Clone, Debug, PartialEq)]
pub enum LatestEnd {
    /// None is known, or none is acted on.
    None,
    /// It is to come.
    Ahead(Requeue),
    /// It has come.
    Overdue(Event),
}

impl LatestEnd {
    /// That of a cluster. One that cannot be read as a time is none.
    pub fn of(object: &Cluster, settings: &Settings, now: Timestamp) -> Self {
        let acted_on = settings.end_overdue.contains(object.namespace())
            && object.is_marked_for(&settings.credentials_namespace)
            && !object.is_deleted();
        let end = object.annotation(ours::LATEST_END).filter(|_| acted_on);
        let Some(end) = end.and_then(|text| text.parse::<Timestamp>().ok()) else { return Self::None };
        let remaining = end.duration_since(now);
        if remaining > SignedDuration::ZERO {
            return Self::Ahead(Requeue::after(remaining));
        }
        Self::Overdue(Event {
            warning: true,
            reason: "ClusterOverdue".into(),
            note: format!("its latest end was {end}, and nobody has ended it: it is deleted"),
        })
    }
}

//! The Object that observes the credentials.

use jiff::Timestamp;
use testplatform_apis::{
    foreign::{
        meta::{ObservedCondition, condition},
        object::{AnyRemote, Object, is_anothers},
    },
    names::{crossplane, ours},
};

use super::Details;

/// The observed `credentials` Object.
#[derive(Debug)]
pub struct Credentials {
    /// The Object.
    pub object: Object<AnyRemote>,
    /// Content of its connection Secret.
    pub details: Details,
}

impl Credentials {
    /// The Secret that it observes or would observe.
    pub fn secret_name(&self) -> &str {
        self.object.spec.for_provider.manifest["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Whether it is paused by annotation.
    pub fn is_paused(&self) -> bool {
        self.object.metadata.annotation(crossplane::PAUSED) == Some("true")
    }

    /// Whether it was ever reconciled far enough to have its finalizer; a paused one could then never be deleted.
    pub fn has_finalizer(&self) -> bool {
        self.object.metadata.finalizers.iter().any(|f| f == crossplane::FINALIZER)
    }

    /// Condition that shows the loss of its connection Secret, if it is lost: provider-kubernetes writes the Secret before it reports
    /// Synced.
    pub fn loss_condition(&self) -> Option<&ObservedCondition> {
        let read = self.details.has_kubeconfig_key() && self.object.status.at_provider.manifest.is_some();
        condition(&self.object.status.conditions, "Synced").filter(|synced| synced.is_true() && !read)
    }

    /// Whether it is lost because that Secret is gone. If the Secret exists only the observation was dropped, and a status reports the next
    /// one.
    pub fn is_secret_deleted(&self) -> bool {
        self.loss_condition().is_some() && !self.details.has_kubeconfig_key()
    }

    /// Whether provider-kubernetes looked at the Secret `name` and found no kubeconfig, or has nowhere to write it.
    pub fn read_without_kubeconfig(&self, name: &str) -> bool {
        let Some(synced) = condition(&self.object.status.conditions, "Synced") else { return false };
        let missing =
            ["does not exist", "not found", "no such field"].iter().any(|w| synced.message.contains(w));
        self.secret_name() == name
            && !self.details.has_kubeconfig()
            && self.loss_condition().is_none()
            && (synced.is_true() || missing || self.is_target_foreign())
    }

    /// Since when the kubeconfig of the Secret `name` cannot get here because the hub does not let it be read, or a right, a quota or a webhook
    /// keeps it from being written. That passes once somebody mends it, or never.
    pub fn withheld_since(&self, name: &str) -> Option<Timestamp> {
        self.withheld_or_unknown_since(name).filter(|_| self.is_withheld())
    }

    /// The same, also while something else is said, such as that the hub does not answer: whether it was mended nobody sees then. It is noted,
    /// because Synced has another time with everything that it says in other words.
    pub fn withheld_or_unknown_since(&self, name: &str) -> Option<Timestamp> {
        let synced =
            condition(&self.object.status.conditions, "Synced").filter(|synced| synced.is_false())?;
        let now = synced.last_transition_time.filter(|_| self.is_withheld());
        let annotation = self.object.metadata.annotation(ours::WITHHELD_SINCE);
        let recorded = annotation.and_then(|at| at.parse::<Timestamp>().ok());
        let is_unread = self.secret_name() == name && !self.details.has_kubeconfig();
        recorded.into_iter().chain(now).min().filter(|_| is_unread)
    }

    fn is_withheld(&self) -> bool {
        self.is_unreadable() || self.is_unwritable()
    }

    /// Since when the Secret is read and written here without a word of trouble.
    pub fn read_since(&self) -> Option<Timestamp> {
        let synced = condition(&self.object.status.conditions, "Synced").filter(|synced| synced.is_true());
        synced?.last_transition_time
    }

    /// Whether the hub does not let it be read as it is now.
    pub fn is_unreadable(&self) -> bool {
        self.sync_error().starts_with("observe failed: ") && self.sync_error().contains("is forbidden")
    }

    /// Whether it is read, and the connection Secret cannot be written: that is no matter of the hub's.
    pub fn is_unwritable(&self) -> bool {
        self.sync_error().starts_with("cannot create or update connection secret")
    }

    /// Error message of provider-kubernetes; empty without an error.
    pub fn sync_error(&self) -> &str {
        let synced = condition(&self.object.status.conditions, "Synced");
        synced.filter(|synced| synced.is_false()).map_or("", |synced| synced.message.as_str())
    }

    /// Whether the Secret into which it is to write is something else's.
    pub fn is_target_foreign(&self) -> bool {
        is_anothers(self.sync_error())
    }

    /// The kubeconfig and password of the Secret `name`, once they are really that Secret's: provider-kubernetes
    /// writes connection details before status, so what it last observed must be this Secret.
    pub fn details_of(&self, name: &str) -> Option<&Details> {
        let observed = self.object.status.at_provider.manifest.as_ref()?;
        let is_its =
            self.secret_name() == name && observed.metadata.name == name && self.details.has_kubeconfig();
        // Also where the connection Secret is something else's, the observation is stored.
        (is_its && !self.is_target_foreign()).then_some(&self.details)
    }
}

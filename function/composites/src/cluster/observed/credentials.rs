//! The Object that observes the credentials.

use jiff::Timestamp;
use testplatform_apis::{
    foreign::{
        meta::{ObservedCondition, find_condition},
        object::{AnyRemote, Object, is_owned_by_another},
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
    /// Secret that it observes or would observe.
    pub fn secret_name(&self) -> &str {
        self.object.spec.for_provider.manifest["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Whether it is paused by annotation.
    pub fn is_paused(&self) -> bool {
        self.object.metadata.annotation(crossplane::PAUSED) == Some("true")
    }

    /// Whether it was reconciled far enough to have its finalizer; it could never be deleted while paused then.
    pub fn has_finalizer(&self) -> bool {
        self.object.metadata.finalizers.iter().any(|f| f == crossplane::FINALIZER)
    }

    /// Condition that shows the loss of its connection Secret, if it is lost: provider-kubernetes writes the Secret before it reports
    /// Synced.
    pub fn loss_condition(&self) -> Option<&ObservedCondition> {
        let read = self.details.has_kubeconfig_key() && self.object.status.at_provider.manifest.is_some();
        find_condition(&self.object.status.conditions, "Synced").filter(|synced| synced.is_true() && !read)
    }

    /// Whether it is lost because that Secret is gone. If the Secret exists only the observation was dropped, and a status reports the next
    /// one.
    pub fn is_secret_deleted(&self) -> bool {
        self.loss_condition().is_some() && !self.details.has_kubeconfig_key()
    }

    /// Whether provider-kubernetes read the Secret `name` and found no kubeconfig, or cannot write it anywhere.
    pub fn read_without_kubeconfig(&self, name: &str) -> bool {
        let Some(synced) = find_condition(&self.object.status.conditions, "Synced") else { return false };
        let missing =
            ["does not exist", "not found", "no such field"].iter().any(|w| synced.message.contains(w));
        self.secret_name() == name
            && !self.details.has_kubeconfig()
            && self.loss_condition().is_none()
            && (synced.is_true() || missing || self.is_target_foreign())
    }

    /// Time since which the kubeconfig of the Secret `name` is withheld: the hub forbids reading it, or a right, a quota or a webhook
    /// prevents the write. It lasts until somebody fixes it.
    pub fn withheld_since(&self, name: &str) -> Option<Timestamp> {
        self.withheld_or_unknown_since(name).filter(|_| self.is_withheld())
    }

    /// The same, but also while Synced reports something else, such as an unreachable hub, because a fix is not visible then. It is
    /// recorded, because every new message moves the transition time of Synced.
    pub fn withheld_or_unknown_since(&self, name: &str) -> Option<Timestamp> {
        let synced =
            find_condition(&self.object.status.conditions, "Synced").filter(|synced| synced.is_false())?;
        let now = synced.last_transition_time.filter(|_| self.is_withheld());
        let annotation = self.object.metadata.annotation(ours::WITHHELD_SINCE);
        let recorded = annotation.and_then(|at| at.parse::<Timestamp>().ok());
        let is_unread = self.secret_name() == name && !self.details.has_kubeconfig();
        recorded.into_iter().chain(now).min().filter(|_| is_unread)
    }

    fn is_withheld(&self) -> bool {
        self.is_unreadable() || self.is_unwritable()
    }

    /// Time since which the Secret is read and written here without errors.
    pub fn read_since(&self) -> Option<Timestamp> {
        let synced =
            find_condition(&self.object.status.conditions, "Synced").filter(|synced| synced.is_true());
        synced?.last_transition_time
    }

    /// Whether the hub forbids reading it now.
    pub fn is_unreadable(&self) -> bool {
        self.sync_error().starts_with("observe failed: ") && self.sync_error().contains("is forbidden")
    }

    /// Whether it is read, but the connection Secret cannot be written: that is not a problem of the hub.
    pub fn is_unwritable(&self) -> bool {
        self.sync_error().starts_with("cannot create or update connection secret")
    }

    /// Error message of provider-kubernetes; empty without an error.
    pub fn sync_error(&self) -> &str {
        let synced = find_condition(&self.object.status.conditions, "Synced");
        synced.filter(|synced| synced.is_false()).map_or("", |synced| synced.message.as_str())
    }

    /// Whether its target Secret belongs to another owner.
    pub fn is_target_foreign(&self) -> bool {
        is_owned_by_another(self.sync_error())
    }

    /// `resourceVersion` of the Secret when it was last read.
    pub fn read_revision(&self) -> Option<&str> {
        self.object.status.at_provider.manifest.as_ref()?.metadata.resource_version.as_deref()
    }

    /// Kubeconfig and password of the Secret `name`, once they really belong to it: provider-kubernetes writes connection details before
    /// status, so the last observed object must be this Secret.
    pub fn details_of(&self, name: &str) -> Option<&Details> {
        let observed = self.object.status.at_provider.manifest.as_ref()?;
        let is_its =
            self.secret_name() == name && observed.metadata.name == name && self.details.has_kubeconfig();
        // The observation is stored even if the connection Secret belongs to another owner.
        (is_its && !self.is_target_foreign()).then_some(&self.details)
    }
}

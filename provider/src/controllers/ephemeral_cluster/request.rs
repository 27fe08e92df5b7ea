//! The parts of an EphemeralCluster's spec from which a job is made.

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Map, Value};
use testplatform_apis::{
    duration::GoDuration,
    foreign::meta::Metadata,
    names::{Uid, ephemeral_cluster, ours},
};

use super::settings::{MARGIN, Settings};

/// An EphemeralCluster, whole.
#[derive(Debug)]
pub struct Request<'a> {
    /// Its metadata.
    pub metadata: Metadata,
    /// `spec.ciOperator`.
    pub block: &'a Map<String, Value>,
}

impl<'a> Request<'a> {
    /// Reads an object. None if it is none that an API server stores.
    pub fn new(object: &'a Value) -> Option<Self> {
        let metadata = Metadata::deserialize(object.get("metadata")?).ok()?;
        let block = object.pointer("/spec/ciOperator")?.as_object()?;
        Some(Self { metadata, block })
    }

    /// Its uid; empty on what is no object of an API server.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_ref().map(Uid::as_str).unwrap_or_default()
    }

    /// A part of the block that is an object with something in it.
    pub fn section(&self, name: &str) -> Option<&'a Map<String, Value>> {
        self.block.get(name)?.as_object().filter(|section| !section.is_empty())
    }

    /// The test.
    pub fn test(&self) -> Option<&'a Map<String, Value>> {
        self.section("test")
    }

    /// A text of the test, unless it is empty.
    pub fn test_text(&self, name: &str) -> Option<&'a str> {
        self.test()?.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// The cluster profile.
    pub fn profile(&self) -> Option<&'a str> {
        self.test_text("clusterProfile")
    }

    /// The claim of a cluster from a Hive pool. Also an empty one counts, as it does for everybody who reads it.
    pub fn claim(&self) -> Option<&'a Value> {
        self.test()?.get("clusterClaim").filter(|claim| !claim.is_null())
    }

    /// A text of the claim, unless it is empty.
    pub fn claim_text(&self, name: &str) -> Option<&'a str> {
        self.claim()?.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// The tenant; empty if there is none.
    pub fn tenant(&self) -> &str {
        self.metadata.annotation(ephemeral_cluster::KONFLUX_TENANT).unwrap_or_default()
    }

    /// The Konflux cluster; empty if there is none.
    pub fn cluster(&self) -> &str {
        self.metadata.annotation(ephemeral_cluster::KONFLUX_CLUSTER).unwrap_or_default()
    }

    /// How long the wait step may take: as long as the cluster may ever be wanted, so that a longer lifetime needs nothing
    /// new here. An annotation that is no duration counts as none. Provisioning is over when the step begins, but it may
    /// take as long until the cluster is seen to be ready, which is where the lifetime counts from.
    pub fn step_timeout(&self, settings: &Settings) -> GoDuration {
        let lifetime = self.given(ours::MAX_LIFETIME).unwrap_or(settings.max_lifetime);
        to_go_duration(self.provision_timeout(settings).saturating_add(lifetime).saturating_add(MARGIN))
    }

    /// How long the job may take: the cluster is made before the wait step begins, and destroyed after it. So the step ends
    /// first. At the end of the job's own time ci-operator would have no more than the grace period to destroy it in.
    pub fn job_timeout(&self, settings: &Settings) -> GoDuration {
        let around = self.provision_timeout(settings).saturating_add(settings.deprovision_timeout);
        to_go_duration(self.step_timeout(settings).as_signed().saturating_add(around))
    }

    fn provision_timeout(&self, settings: &Settings) -> SignedDuration {
        self.given(ours::PROVISION_TIMEOUT).unwrap_or(settings.provision_timeout)
    }

    fn given(&self, key: &str) -> Option<SignedDuration> {
        self.duration(key).ok().flatten()
    }

    /// A duration in an annotation.
    ///
    /// # Errors
    /// If there is one that is no time to wait.
    pub fn duration(&self, key: &str) -> Result<Option<SignedDuration>, ()> {
        let Some(text) = self.metadata.annotation(key) else { return Ok(None) };
        match text.parse::<GoDuration>() {
            Ok(duration) if duration > GoDuration::ZERO => Ok(Some(duration.as_signed())),
            _ => Err(()),
        }
    }
}

/// The longest that can be written, if it is longer than that.
fn to_go_duration(sum: SignedDuration) -> GoDuration {
    GoDuration::try_from(sum).unwrap_or(GoDuration::from_secs(i64::MAX))
}

//! The ProwJob as it is cached.

use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, core::NamespaceResourceScope};
use serde::{Deserialize, Deserializer};
use testplatform_apis::{
    foreign::meta::{Lenient, lenient_time},
    names::{ephemeral_cluster, ours},
};
use uuid::Uuid;

use super::object::RawObject;

/// A ProwJob, without its pod.
#[derive(Clone, Debug, Default)]
pub struct ProwJob {
    /// Metadata, without managedFields.
    pub metadata: ObjectMeta,
    /// Parts of the spec.
    pub spec: Lenient<Spec>,
    /// Parts of the status.
    pub status: Lenient<Status>,
}

/// Parts of `spec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Spec {
    /// Build cluster; a placeholder until the job is scheduled.
    pub cluster: String,
}

/// Parts of `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Status {
    /// How far it is.
    pub state: JobState,
    /// URL of the job's page.
    pub url: String,
    /// Why it is in that state.
    pub description: String,
    /// When its pod was made.
    #[serde(rename = "pendingTime", deserialize_with = "lenient_time")]
    pub pending_time: Option<Timestamp>,
}

/// State of a ProwJob. Source: the ProwJob CRD, `prow.k8s.io/v1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// No build cluster has been chosen; `spec.cluster` is a placeholder.
    Scheduling,
    /// A build cluster has been chosen, there is no pod yet.
    Triggered,
    /// There is a pod.
    Pending,
    /// It ended well.
    Success,
    /// It ended badly.
    Failure,
    /// Somebody ended it.
    Aborted,
    /// It could not be run.
    Error,
    /// Empty or unknown: counts as not finished.
    #[default]
    #[serde(other)]
    Unknown,
}

impl JobState {
    /// Whether it will never change again.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Success | Self::Failure | Self::Aborted | Self::Error => true,
            Self::Scheduling | Self::Triggered | Self::Pending | Self::Unknown => false,
        }
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduling => "scheduling",
            Self::Triggered => "triggered",
            Self::Pending => "pending",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Aborted => "aborted",
            Self::Error => "error",
            Self::Unknown => "unknown",
        }
    }
}

/// The UUID namespace of job names. Never changes: a job is found again by it.
const NAMESPACE: Uuid = Uuid::from_u128(0x2f0c_6a5e_91d7_4d0b_8a53_7be4_16c9_d3f2);

/// The name of the one ProwJob that is ever made for the EphemeralCluster of a uid.
pub fn name_for(uid: &str) -> String {
    Uuid::new_v5(&NAMESPACE, uid.as_bytes()).to_string()
}

impl ProwJob {
    /// Its name; empty on what is no object of an API server.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// How far it is.
    pub fn state(&self) -> JobState {
        self.status.value.state
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(key).map(String::as_str)
    }

    /// Whether its EphemeralCluster is in a namespace. A job without that label belongs to the upstream controller.
    pub fn is_of_namespace(&self, namespace: &str) -> bool {
        self.label(ours::EPHEMERAL_CLUSTER_NAMESPACE).unwrap_or(ephemeral_cluster::UPSTREAM_NAMESPACE)
            == namespace
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }
}

impl<'de> Deserialize<'de> for ProwJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RawObject { mut metadata, spec, status } = RawObject::deserialize(deserializer)?;
        metadata.managed_fields = None;
        Ok(Self { metadata, spec, status })
    }
}

impl Resource for ProwJob {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(&(): &()) -> Cow<'_, str> {
        "ProwJob".into()
    }

    fn group(&(): &()) -> Cow<'_, str> {
        "prow.k8s.io".into()
    }

    fn version(&(): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural(&(): &()) -> Cow<'_, str> {
        "prowjobs".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

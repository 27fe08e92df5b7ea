//! The EphemeralCluster as it is cached: what decisions need, and no more, because there may be thousands.

use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube::{Resource, core::NamespaceResourceScope};
use serde::{Deserialize, Deserializer};
use testplatform_apis::{
    foreign::{
        ephemeral_cluster::{API_VERSION, KIND},
        meta::Lenient,
    },
    names::ours,
};
use testplatform_runtime::apply::MANAGER;

use super::{
    conditions::{TEST_COMPLETED, find},
    status::{Phase, Status},
};
use crate::credentials::published_name;

/// An EphemeralCluster. The contents of its spec, its diagnostics and its managedFields are dropped while it is read.
#[derive(Clone, Debug, Default)]
pub struct EphemeralCluster {
    /// Metadata, without managedFields; of the diagnostics only that there are any.
    pub metadata: ObjectMeta,
    /// Parts of the spec that every reconcile needs.
    pub spec: Lenient<Spec>,
    /// Status.
    pub status: Lenient<Status>,
    /// The manager other than ours that wrote the status last.
    pub other_writer: Option<OtherWriter>,
}

/// Parts of `spec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// Request to tear down the cluster.
    pub tear_down_cluster: bool,
    /// The ci-operator part.
    pub ci_operator: CiOperator,
}

/// Parts of `spec.ciOperator`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CiOperator {
    /// The test.
    pub test: Test,
}

/// Parts of `spec.ciOperator.test`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Test {
    /// Whether there is a `clusterClaim`: the cluster then comes from a Hive pool, and its credentials lie elsewhere.
    #[serde(rename = "clusterClaim", deserialize_with = "is_present")]
    pub from_hive: bool,
    /// The workflow, for metrics. Tenant text.
    #[serde(deserialize_with = "text")]
    pub workflow: String,
    /// The cluster profile, for metrics. Tenant text.
    #[serde(deserialize_with = "text")]
    pub cluster_profile: String,
    /// Of `env` the management cluster of a workflow for hosted clusters, for metrics. Tenant text.
    #[serde(rename = "env", deserialize_with = "management_cluster")]
    pub management_cluster: String,
}

/// A manager other than ours that wrote the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherWriter {
    /// Its field manager.
    pub manager: String,
    /// When it last wrote.
    pub at: Timestamp,
}

impl EphemeralCluster {
    /// Its name; empty on what is no object of an API server.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Its uid; empty on what is no object of an API server.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Name of the Secret in which its credentials are published.
    pub fn secret_name(&self) -> String {
        published_name(self.name())
    }

    /// Whether it is being deleted.
    pub fn is_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Whether its end was requested. The request is remembered, so withdrawing it changes nothing.
    pub fn is_teardown_requested(&self) -> bool {
        let status = &self.status.value;
        self.is_deleted()
            || self.spec.value.tear_down_cluster
            || status.phase == Some(Phase::Deprovisioning)
            || find(&status.conditions, TEST_COMPLETED).is_some()
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Whether it has a finalizer.
    pub fn has_finalizer(&self, name: &str) -> bool {
        self.metadata.finalizers.iter().flatten().any(|f| f == name)
    }
}

/// An object as the API server sends it, before what is not needed of it is dropped.
#[derive(Deserialize)]
#[serde(bound = "S: serde::de::DeserializeOwned + Default, T: serde::de::DeserializeOwned + Default")]
pub(super) struct RawObject<S, T> {
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: Lenient<S>,
    #[serde(default)]
    pub status: Lenient<T>,
}

impl<'de> Deserialize<'de> for EphemeralCluster {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RawObject { mut metadata, spec, status } = RawObject::deserialize(deserializer)?;
        let other_writer = other_writer(&metadata.managed_fields.take().unwrap_or_default());
        if let Some(diagnostics) = metadata.annotations.as_mut().and_then(|a| a.get_mut(ours::DIAGNOSTICS)) {
            *diagnostics = String::new();
        }
        Ok(Self { metadata, spec, status, other_writer })
    }
}

impl Resource for EphemeralCluster {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(&(): &()) -> Cow<'_, str> {
        KIND.into()
    }

    fn group(&(): &()) -> Cow<'_, str> {
        API_VERSION.split('/').next().unwrap_or_default().into()
    }

    fn version(&(): &()) -> Cow<'_, str> {
        API_VERSION.split('/').nth(1).unwrap_or_default().into()
    }

    fn plural(&(): &()) -> Cow<'_, str> {
        "ephemeralclusters".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// The status is written through its subresource, or with the whole object by controllers that do not know of it.
fn other_writer(managed: &[ManagedFieldsEntry]) -> Option<OtherWriter> {
    let writes_status = |entry: &&ManagedFieldsEntry| {
        entry.subresource.as_deref() == Some("status")
            || entry.fields_v1.as_ref().is_some_and(|fields| fields.0.get("f:status").is_some())
    };
    managed
        .iter()
        .filter(writes_status)
        .filter_map(|entry| Some(OtherWriter { manager: entry.manager.clone()?, at: entry.time.as_ref()?.0 }))
        .filter(|writer| writer.manager != MANAGER)
        .max_by_key(|writer| writer.at)
}

fn is_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<serde::de::IgnoredAny>::deserialize(deserializer)?.is_some())
}

/// An unreadable field that only metrics need must not make the rest unreadable.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}

fn management_cluster<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let env = serde_json::Value::deserialize(deserializer)?;
    Ok(env["HOSTED_MANAGEMENT_CLUSTER"].as_str().unwrap_or_default().to_owned())
}

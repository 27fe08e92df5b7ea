//! provider-kubernetes `Object`: `kubernetes.crossplane.io/v1alpha2`, cluster-scoped, and `kubernetes.m.crossplane.io/v1alpha1`, in the
//! namespace of its composite. What is read of them is the same.

use serde::Deserialize;
use serde_json::Value;

use super::meta::{Metadata, ObservedCondition};

/// apiVersion of the Objects that claims compose.
pub const API_VERSION: &str = "kubernetes.crossplane.io/v1alpha2";
/// Kind.
pub const KIND: &str = "Object";
/// apiVersion of the Objects that composites in a namespace compose.
pub const NAMESPACED_API_VERSION: &str = "kubernetes.m.crossplane.io/v1alpha1";

/// What is read of an observed Object. `R` is what is read of the object that it observes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "R: Default + Deserialize<'de>"))]
pub struct Object<R> {
    /// Its own metadata.
    pub metadata: Metadata,
    /// What was asked for.
    pub spec: ObjectSpec,
    /// What was found.
    pub status: ObjectStatus<R>,
}

impl<R> Object<R> {
    /// The same Object around the remote object in another form.
    pub fn map<S>(self, form: impl FnOnce(R) -> S) -> Object<S> {
        let manifest = self.status.at_provider.manifest.map(form);
        Object {
            metadata: self.metadata,
            spec: self.spec,
            status: ObjectStatus { at_provider: AtProvider { manifest }, conditions: self.status.conditions },
        }
    }
}

/// Parts of `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectSpec {
    /// Holds the manifest.
    pub for_provider: ForProvider,
    /// What may be done to the remote object; `*` is everything.
    pub management_policies: Vec<String>,
    /// Which hub.
    pub provider_config_ref: NameRef,
    /// Whether a change of the remote object makes it look at once.
    pub watch: bool,
    /// The Objects that it depends on.
    pub references: Value,
    /// The Secret into which connection details are written.
    pub write_connection_secret_to_ref: NameRef,
}

/// `spec.forProvider`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ForProvider {
    /// What is applied on the hub, whole.
    pub manifest: Value,
}

/// A reference by name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NameRef {
    /// The name.
    pub name: String,
}

/// Parts of `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, bound(deserialize = "R: Default + Deserialize<'de>"))]
pub struct ObjectStatus<R> {
    /// Holds what was last observed.
    pub at_provider: AtProvider<R>,
    /// `Synced` and `Ready`.
    pub conditions: Vec<ObservedCondition>,
}

/// `status.atProvider`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "R: Default + Deserialize<'de>"))]
pub struct AtProvider<R> {
    /// The remote object as it was last observed. Stale when it is gone or the hub cannot be reached.
    pub manifest: Option<R>,
}

/// Any remote object of which only the metadata matters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AnyRemote {
    /// Its metadata.
    pub metadata: Metadata,
}

//! provider-kubernetes `Object`: `kubernetes.crossplane.io/v1alpha2`, cluster-scoped, and `kubernetes.m.crossplane.io/v1alpha1`, in the
//! namespace of its composite. The part that is read is the same for both.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};
use serde_json::Value;

use super::meta::{Metadata, ObservedCondition};

/// apiVersion of the Objects that claims compose.
pub const API_VERSION: &str = "kubernetes.crossplane.io/v1alpha2";
/// Kind.
pub const KIND: &str = "Object";
/// apiVersion of the Objects that composites in a namespace compose.
pub const NAMESPACED_API_VERSION: &str = "kubernetes.m.crossplane.io/v1alpha1";

/// Whether a Secret cannot be written because another object owns it, by the messages of crossplane-runtime's
/// `ConnectionSecretMustBeControllableBy`.
pub fn is_owned_by_another(words: &str) -> bool {
    ["refusing to modify uncontrolled secret", "existing secret is not controlled by"]
        .iter()
        .any(|w| words.contains(w))
}

/// The fields of an observed Object that we read; `R` is the view of the object that it observes. No other kind parses as one: Crossplane
/// passes on everything that a composite refers to, and tenants can write both in a namespace of their own. Such objects are untrusted.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "R: Default + Deserialize<'de>"))]
pub struct Object<R> {
    /// Version of one of the two groups.
    pub api_version: ProviderApiVersion,
    /// `Object`.
    pub kind: ObjectKind,
    /// Its own metadata.
    #[serde(default)]
    pub metadata: Metadata,
    /// Desired state.
    #[serde(default)]
    pub spec: ObjectSpec,
    /// Observed state.
    #[serde(default)]
    pub status: ObjectStatus<R>,
}

/// An apiVersion of provider-kubernetes, whichever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderApiVersion;

impl<'de> Deserialize<'de> for ProviderApiVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ExpectedText("an apiVersion of provider-kubernetes", |text| {
            let group = |text: &'static str| text.split_once('/').map(|(group, _)| group);
            let of = text.split_once('/').map(|(group, _)| group);
            of == group(API_VERSION) || of == group(NAMESPACED_API_VERSION)
        }))?;
        Ok(Self)
    }
}

/// The kind of an Object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectKind;

impl<'de> Deserialize<'de> for ObjectKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_str(ExpectedText("kind Object of provider-kubernetes", |text| text == KIND))?;
        Ok(Self)
    }
}

/// Accepts one of some texts, and stores nothing.
struct ExpectedText(&'static str, fn(&str) -> bool);

impl Visitor<'_> for ExpectedText {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if (self.1)(text) { Ok(()) } else { Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)) }
    }
}

impl<R> Object<R> {
    /// The same Object around the remote object in another form.
    pub fn map_remote<S>(self, form: impl FnOnce(R) -> S) -> Object<S> {
        let manifest = self.status.at_provider.manifest.map(form);
        Object {
            api_version: self.api_version,
            kind: self.kind,
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
    /// Allowed operations on the remote object; `*` is everything.
    pub management_policies: Vec<String>,
    /// ProviderConfig of the hub.
    pub provider_config_ref: NameRef,
    /// Whether a change of the remote object makes it look at once.
    pub watch: bool,
    /// Readiness policy.
    pub readiness: Readiness,
    /// The Objects that it depends on.
    pub references: Value,
    /// The Secret into which connection details are written.
    pub write_connection_secret_to_ref: NameRef,
}

/// Parts of `spec.readiness`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Readiness {
    /// Whether its expression is [`NEVER`].
    #[serde(rename = "celQuery", deserialize_with = "is_never")]
    pub never: bool,
}

/// The expression of an Object that is never ready, by which provider-kubernetes looks at it every 30 s.
pub const NEVER: &str = "false";

fn is_never<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    deserializer.deserialize_any(Never)
}

/// Whether it is [`NEVER`], without keeping it.
struct Never;

impl Visitor<'_> for Never {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an expression")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<bool, E> {
        Ok(text == NEVER)
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }
}

/// `spec.forProvider`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ForProvider {
    /// The complete manifest that is applied on the hub.
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

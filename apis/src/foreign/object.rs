//! provider-kubernetes `Object`: `kubernetes.crossplane.io/v1alpha2`, cluster-scoped, and `kubernetes.m.crossplane.io/v1alpha1`, in the
//! namespace of its composite. What is read of them is the same.

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

/// Whether a Secret cannot be written because it is something else's: crossplane-runtime's words, of `ConnectionSecretMustBeControllableBy`.
pub fn is_anothers(words: &str) -> bool {
    ["refusing to modify uncontrolled secret", "existing secret is not controlled by"]
        .iter()
        .any(|w| words.contains(w))
}

/// What is read of an observed Object. `R` is what is read of the object that it observes. Nothing else can be read as one: core shows whatever a
/// composite refers to under the name that it bears, and in a namespace of their own tenants can write both. What they say there of a cluster is not to be believed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "R: Default + Deserialize<'de>"))]
pub struct Object<R> {
    /// Of one of the two groups.
    pub api_version: OfProvider,
    /// `Object`.
    pub kind: IsObject,
    /// Its own metadata.
    #[serde(default)]
    pub metadata: Metadata,
    /// What was asked for.
    #[serde(default)]
    pub spec: ObjectSpec,
    /// What was found.
    #[serde(default)]
    pub status: ObjectStatus<R>,
}

/// An apiVersion of provider-kubernetes, whichever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfProvider;

impl<'de> Deserialize<'de> for OfProvider {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Word("an apiVersion of provider-kubernetes", |text| {
            let group = |text: &'static str| text.split_once('/').map(|(group, _)| group);
            let of = text.split_once('/').map(|(group, _)| group);
            of == group(API_VERSION) || of == group(NAMESPACED_API_VERSION)
        }))?;
        Ok(Self)
    }
}

/// The kind of an Object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsObject;

impl<'de> Deserialize<'de> for IsObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Word("kind Object of provider-kubernetes", |text| text == KIND))?;
        Ok(Self)
    }
}

/// One of some texts, of which nothing is kept.
struct Word(&'static str, fn(&str) -> bool);

impl Visitor<'_> for Word {
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
    pub fn map<S>(self, form: impl FnOnce(R) -> S) -> Object<S> {
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
    /// What may be done to the remote object; `*` is everything.
    pub management_policies: Vec<String>,
    /// Which hub.
    pub provider_config_ref: NameRef,
    /// Whether a change of the remote object makes it look at once.
    pub watch: bool,
    /// When it counts as ready.
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

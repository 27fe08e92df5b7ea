//! The composite as it is observed: identity, spec, and the status that we wrote in an earlier pass.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, json};
use testplatform_apis::{
    claim::{COMPOSITE_KIND, TestPlatformClusterStatus},
    condition::{ConditionType, TemplateConditionType},
    foreign::meta::{Lenient, Metadata, ObservedCondition, find_condition},
    test_cluster,
};

use super::{request::UnusableRequest, wire};

/// The observed composite.
#[derive(Clone, Debug)]
pub struct Composite {
    /// apiVersion, repeated in the response.
    pub api_version: String,
    /// kind, repeated in the response.
    pub kind: String,
    /// Metadata.
    pub metadata: Metadata,
    /// The claim that it belongs to; none for a composite that an administrator made, and for one in a namespace.
    pub claim: Option<ClaimRef>,
    /// Its home, and so its tenant.
    pub flavour: Flavour,
    /// The spec, not judged yet.
    pub spec: Value,
    /// Status that an earlier pass wrote; empty after a restore.
    pub status: TestPlatformClusterStatus,
    /// All conditions, core's included.
    pub conditions: Vec<ObservedCondition>,
}

/// Problem with a field that cannot change any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// Path of the field.
    pub field: String,
    /// A sentence without its end.
    pub sentence: String,
}

/// Which of the two ways in a composite came by. They differ in where its Objects live, and in how credentials reach its owner;
/// nothing else asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Flavour {
    /// Of an XRD of scope `LegacyCluster`: behind a claim, or an administrator's.
    #[default]
    Claimed,
    /// Of an XRD of scope `Namespaced`: in this namespace, which is the tenant's.
    Namespaced(String),
    /// Of an XRD of scope `Cluster`, which has neither claim nor namespace: nothing that we ship.
    Homeless,
}

/// `spec.claimRef`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClaimRef {
    /// Name of the claim.
    pub name: String,
    /// Namespace of the claim: the tenant.
    pub namespace: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawComposite {
    api_version: String,
    kind: String,
    metadata: Metadata,
    spec: Readable,
    status: Readable,
}

/// Stands in the spec for a field that cannot be read. Only objects and lists can be nested too deep, and none of them is a text, so it is judged as
/// every other value of a wrong type: it changes nothing of a cluster that is there, and makes none.
pub const UNREADABLE: &str = "(cannot be read)";

/// An object whose fields are read one by one, so that one unreadable field does not hide those that decide about a cluster's end. A field
/// is unreadable if it is nested deeper than [`wire::MAX_DEPTH`] allows.
#[derive(Default)]
struct Readable(Map<String, Value>);

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FieldByField)
    }
}

struct FieldByField;

impl<'de> Visitor<'de> for FieldByField {
    type Value = Readable;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<Readable, E> {
        Ok(Readable::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Readable, A::Error> {
        let mut read = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            read.insert(name, fields.next_value().unwrap_or_else(|_| UNREADABLE.into()));
        }
        Ok(Readable(read))
    }
}

impl Composite {
    /// The composite of an answer, with this status, for the version that the answer is for.
    ///
    /// Core applies the status together with the conditions of its cached copy (crossplane/crossplane#7062). Where that copy is behind, it
    /// would write old conditions over newer ones, such as `Ready` False after True, and with each turn wake itself again. Core keeps the
    /// version of an answer, so the API server refuses such a status as a conflict; core then asks again, without an error.
    pub(crate) fn status_body(&self, status: Value) -> Value {
        let mut body = json!({ "apiVersion": self.api_version, "kind": self.kind });
        body["status"] = status;
        self.require_version(&mut body);
        body
    }

    /// Writes down the version that an answer is for.
    pub(crate) fn require_version(&self, body: &mut Value) {
        if let Some(version) = &self.metadata.resource_version {
            body["metadata"]["resourceVersion"] = version.as_str().into();
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, UnusableRequest> {
        let raw: RawComposite = wire::from_struct(bytes).map_err(|e| UnusableRequest::Unreadable {
            part: "the observed composite".into(),
            why: e.to_string(),
        })?;
        if raw.metadata.name.is_empty() {
            return Err(UnusableRequest::NoComposite);
        }
        let (spec, mut status) = (Value::Object(raw.spec.0), raw.status.0);
        let conditions = status.get_mut("conditions").map(Value::take).unwrap_or_default();
        // Status is a copy: what cannot be read of it is as good as dropped.
        let conditions: Lenient<Vec<ObservedCondition>> = Lenient::from_value(conditions);
        let claim: Lenient<Option<ClaimRef>> = Lenient::from_value(spec["claimRef"].clone());
        // Core writes spec.crossplane of composites that are not legacy before it first calls us.
        let flavour = match (raw.metadata.namespace.as_str(), spec["crossplane"].is_null()) {
            ("", true) => Flavour::Claimed,
            ("", false) => Flavour::Homeless,
            (namespace, _) => Flavour::Namespaced(namespace.to_owned()),
        };
        Ok(Self {
            api_version: raw.api_version,
            kind: raw.kind,
            metadata: raw.metadata,
            claim: claim.value.filter(|c| !c.namespace.is_empty() && flavour == Flavour::Claimed),
            flavour,
            spec,
            status: TestPlatformClusterStatus::from_value(Value::Object(status)),
            conditions: conditions.value,
        })
    }

    /// The tenant; none: an administrator's.
    pub fn tenant(&self) -> Option<&str> {
        match &self.flavour {
            Flavour::Claimed => Some(self.claim.as_ref()?.namespace.as_str()),
            Flavour::Namespaced(namespace) => Some(namespace),
            Flavour::Homeless => None,
        }
    }

    /// Whether it has no claim and no Secret for its connection details. Core gives one that has a claim a Secret of its own.
    pub(crate) fn names_no_secret(&self) -> bool {
        self.flavour == Flavour::Claimed
            && self.claim.is_none()
            && self.spec["writeConnectionSecretToRef"]["name"].as_str().is_none()
    }

    /// Kind of composites of its flavour, and of the other.
    pub fn kinds(&self) -> (&'static str, &'static str) {
        match &self.flavour {
            Flavour::Claimed | Flavour::Homeless => (COMPOSITE_KIND, test_cluster::KIND),
            Flavour::Namespaced(_) => (test_cluster::KIND, COMPOSITE_KIND),
        }
    }

    /// By what it comes before others of the same age: its name, with its namespace where it has one.
    pub fn ordinal(&self) -> String {
        match &self.flavour {
            Flavour::Claimed | Flavour::Homeless => self.metadata.name.clone(),
            Flavour::Namespaced(namespace) => format!("{namespace}/{}", self.metadata.name),
        }
    }

    /// Whether it is the same composite as another. Only of those in namespaces several have one name.
    pub fn is(&self, other: &Metadata) -> bool {
        (&self.metadata.namespace, &self.metadata.name) == (&other.namespace, &other.name)
    }

    /// Whether core last called it Ready.
    pub fn is_ready(&self) -> bool {
        find_condition(&self.conditions, "Ready").is_some_and(ObservedCondition::is_true)
    }

    /// A condition of ours as it was last shown. After a failed pass core sets it Unknown/FatalError, which says nothing.
    pub fn shown(&self, type_: ConditionType) -> Option<&ObservedCondition> {
        find_condition(&self.conditions, type_.as_str())
            .filter(|c| c.status != "Unknown" || c.reason != "FatalError")
    }

    /// The same of those that only claims with a template have.
    pub fn of_template(&self, type_: TemplateConditionType) -> Option<&ObservedCondition> {
        find_condition(&self.conditions, type_.as_str())
    }
}

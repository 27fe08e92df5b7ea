//! The composite as it is observed: identity, spec, and the status that we wrote in an earlier pass.

use serde::Deserialize;
use serde_json::Value;
use testplatform_apis::{
    claim::TestPlatformClusterStatus,
    condition::ConditionType,
    foreign::meta::{Lenient, Metadata, ObservedCondition, condition},
};

use super::Unusable;
use crate::wire;

/// The observed composite.
#[derive(Clone, Debug)]
pub struct Composite {
    /// apiVersion, repeated in the response.
    pub api_version: String,
    /// kind, repeated in the response.
    pub kind: String,
    /// Metadata.
    pub metadata: Metadata,
    /// The claim that it belongs to; none for a composite that an administrator made.
    pub claim: Option<ClaimRef>,
    /// The spec, not judged yet.
    pub spec: Value,
    /// What an earlier pass of ours wrote; empty after a restore.
    pub status: TestPlatformClusterStatus,
    /// All conditions, core's included.
    pub conditions: Vec<ObservedCondition>,
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
struct Raw {
    api_version: String,
    kind: String,
    metadata: Metadata,
    spec: Value,
    status: Value,
}

impl Composite {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Unusable> {
        let mut raw: Raw = wire::from_struct(bytes).map_err(|e| Unusable::Unreadable {
            part: "the observed composite".into(),
            why: e.to_string(),
        })?;
        if raw.metadata.name.is_empty() {
            return Err(Unusable::NoComposite);
        }
        let conditions = raw.status.get_mut("conditions").map(Value::take).unwrap_or_default();
        // Status is a copy: what cannot be read of it is as good as dropped.
        let conditions: Lenient<Vec<ObservedCondition>> = Lenient::read(conditions);
        let claim: Lenient<Option<ClaimRef>> = Lenient::read(raw.spec["claimRef"].clone());
        Ok(Self {
            api_version: raw.api_version,
            kind: raw.kind,
            metadata: raw.metadata,
            claim: claim.value.filter(|c| !c.namespace.is_empty()),
            spec: raw.spec,
            status: TestPlatformClusterStatus::read(raw.status),
            conditions: conditions.value,
        })
    }

    /// Whether core last called it Ready.
    pub fn is_ready(&self) -> bool {
        condition(&self.conditions, "Ready").is_some_and(ObservedCondition::is_true)
    }

    /// A condition of ours as it was last shown. After a failed pass core sets it Unknown/FatalError, which says nothing.
    pub fn shown(&self, type_: ConditionType) -> Option<&ObservedCondition> {
        condition(&self.conditions, type_.as_str())
            .filter(|c| c.status != "Unknown" || c.reason != "FatalError")
    }
}

//! Section `spaces` of the input: where spaces are made, and what is allowed in them.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::name_or_default;
use crate::{collect, space::CLUSTER_ROLE};

/// Amounts of resources, by the names that a `ResourceQuota` or `LimitRange` has for them.
pub type Amounts = BTreeMap<String, Amount>;

/// An amount as Kubernetes writes it, such as 30, 1750m or 32Gi. Never negative.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct Amount(String);

impl Amount {
    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<Value> for Amount {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let text = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => String::new(),
        };
        if is_amount(&text) { Ok(Self(text)) } else { Err("not an amount such as 30, 1750m or 32Gi") }
    }
}

/// Digits, perhaps with a fraction, and a suffix of Kubernetes' quantities or an exponent.
fn is_amount(text: &str) -> bool {
    const SUFFIXES: [&str; 16] =
        ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_number = match number.split_once('.') {
        None => digits(number),
        Some((whole, part)) => digits(whole) && digits(part),
    };
    let exponent = suffix.strip_prefix(['e', 'E']).map(|e| e.trim_start_matches(['+', '-']));
    is_number && (SUFFIXES.contains(&suffix) || exponent.is_some_and(digits))
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "x-kubernetes-int-or-string": true })
    }
}

/// Settings of spaces, those of Namespace claims. Changes reach live spaces, unless stated otherwise.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spaces {
    /// Name of the ProviderConfig of provider-kubernetes that leads to the hub of new spaces. If not set, eaas-kubernetes-provider-config.
    #[schemars(length(max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<String>,

    /// Namespace on that hub in which the hub-side provider publishes the credentials of spaces. If not set, testplatform-spaces.
    #[schemars(length(max = 63))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_namespace: Option<String>,

    /// Name of the ClusterRole on the hub that the account of a new space has in its namespace. A live space keeps the one that it was made
    /// with. If not set, edit.
    #[schemars(length(max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_role: Option<String>,

    /// The most that a space may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quotas: Option<Quotas>,

    /// Defaults for containers without limits of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<ContainerLimits>,
}

/// Quotas of a space. A value here replaces the whole default; an empty one is not created, and an existing one stays as it is.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Quotas {
    /// Of everything, such as count/pods. If not set: 50Gi of storage and of ephemeral storage, 150 pods, 100 ConfigMaps and Secrets, 12
    /// volumes and 5 ClusterTemplateInstances; 30 Services and 30 of each kind of workload; no Ingresses, Routes and `BuildConfigs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<Amounts>,

    /// Of containers that run without an end. If not set, requests of 1750m CPU and 32Gi memory, limits of 20 CPU and 32Gi memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_terminating: Option<Amounts>,

    /// Of containers that end by themselves, such as builds. If not set, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminating: Option<Amounts>,
}

/// Defaults for containers without limits of their own. A value here replaces the whole default.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerLimits {
    /// Limits. If not set, 2000m CPU and 2Gi memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Amounts>,

    /// Requests. If not set, 10m CPU and 256Mi memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_request: Option<Amounts>,
}

/// The most of everything, as the incumbent has it.
const TOTAL: [(&str, &str); 20] = [
    ("count/buildconfigs.build.openshift.io", "0"),
    ("count/clustertemplateinstances.clustertemplate.openshift.io", "5"),
    ("count/configmaps", "100"),
    ("count/cronjobs.batch", "30"),
    ("count/daemonsets.apps", "30"),
    ("count/deploymentconfigs.apps", "30"),
    ("count/deployments.apps", "30"),
    ("count/ingresses.extensions", "0"),
    ("count/jobs.batch", "30"),
    ("count/persistentvolumeclaims", "12"),
    ("count/pods", "150"),
    ("count/replicasets.apps", "30"),
    ("count/replicationcontrollers", "30"),
    ("count/routes.route.openshift.io", "0"),
    ("count/secrets", "100"),
    ("count/services", "30"),
    ("count/statefulsets.apps", "30"),
    ("limits.ephemeral-storage", "50Gi"),
    ("requests.ephemeral-storage", "50Gi"),
    ("requests.storage", "50Gi"),
];
/// Of containers that run without an end.
const NOT_TERMINATING: [(&str, &str); 4] =
    [("limits.cpu", "20"), ("limits.memory", "32Gi"), ("requests.cpu", "1750m"), ("requests.memory", "32Gi")];
/// Of containers that end by themselves.
const TERMINATING: [(&str, &str); 3] = [("cpu", "0"), ("memory", "0"), ("pods", "0")];
/// Limits of containers.
const DEFAULT: [(&str, &str); 2] = [("cpu", "2000m"), ("memory", "2Gi")];
/// Requests of containers.
const DEFAULT_REQUEST: [(&str, &str); 2] = [("cpu", "10m"), ("memory", "256Mi")];

impl Spaces {
    /// Name of the ProviderConfig that leads to the hub.
    pub fn provider_config(&self) -> String {
        name_or_default(self.provider_config.as_ref(), "eaas-kubernetes-provider-config")
    }

    /// Namespace of published credentials on the hub.
    pub fn credentials_namespace(&self) -> String {
        name_or_default(self.credentials_namespace.as_ref(), "testplatform-spaces")
    }

    /// Name of the ClusterRole.
    pub fn cluster_role(&self) -> String {
        name_or_default(self.cluster_role.as_ref(), CLUSTER_ROLE)
    }

    /// The most of everything. Empty: no quota.
    pub fn total_quota(&self) -> Value {
        merge_amounts(self.quotas.as_ref().and_then(|q| q.all.as_ref()), &TOTAL)
    }

    /// The most of what runs without an end. Empty: no quota.
    pub fn not_terminating_quota(&self) -> Value {
        merge_amounts(self.quotas.as_ref().and_then(|q| q.not_terminating.as_ref()), &NOT_TERMINATING)
    }

    /// The most of what ends by itself. Empty: no quota.
    pub fn terminating_quota(&self) -> Value {
        merge_amounts(self.quotas.as_ref().and_then(|q| q.terminating.as_ref()), &TERMINATING)
    }

    /// Limits of containers that say nothing. Empty: none.
    pub fn default_limits(&self) -> Value {
        merge_amounts(self.limits.as_ref().and_then(|l| l.default.as_ref()), &DEFAULT)
    }

    /// Requests of containers that say nothing. Empty: none.
    pub fn default_requests(&self) -> Value {
        merge_amounts(self.limits.as_ref().and_then(|l| l.default_request.as_ref()), &DEFAULT_REQUEST)
    }
}

fn merge_amounts(given: Option<&Amounts>, otherwise: &[(&str, &str)]) -> Value {
    let text = |(key, amount): (&str, &str)| (key.to_owned(), Value::from(amount));
    Value::Object(match given {
        Some(given) => collect::to_object(given.iter().map(|(key, amount)| text((key, amount.as_str())))),
        None => collect::to_object(otherwise.iter().copied().map(text)),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_are_those_of_kubernetes() {
        for good in ["0", "30", "1750m", "32Gi", "0.5", "1e3", "1E-3", "2k", "3E"] {
            assert!(is_amount(good), "{good}");
        }
        for bad in ["", "-1", "+1", "Gi", "1.", ".5", "1GiB", "1 Gi", "1K", "1e", "ten", "1\n"] {
            assert!(!is_amount(bad), "{bad}");
        }
        assert_eq!(Amount::try_from(json!(150)).map(|a| a.as_str().to_owned()), Ok("150".into()));
        assert!(Amount::try_from(json!(-1)).is_err() && Amount::try_from(json!({})).is_err());
    }

    #[test]
    fn set_fields_replace_the_whole_default() {
        let given: Spaces = serde_json::from_value(json!({
            "providerConfig": " ", "clusterRole": "view",
            "quotas": { "all": { "count/pods": 5 }, "terminating": {} },
        }))
        .unwrap();
        assert_eq!(given.total_quota(), json!({ "count/pods": "5" }));
        assert_eq!(given.terminating_quota(), json!({}));
        assert_eq!(given.not_terminating_quota(), Spaces::default().not_terminating_quota());
        assert_eq!(given.provider_config(), "eaas-kubernetes-provider-config");
        assert_eq!(given.cluster_role(), "view");
    }
}

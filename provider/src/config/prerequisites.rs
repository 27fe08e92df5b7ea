//! `clusters.prerequisites` of the configuration.

use std::{collections::BTreeSet, fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Switch;

/// Objects that templates create on the hub before a cluster, in the namespace of the cluster's object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Prerequisites {
    /// On: they are created, kept while the cluster's object exists, and deleted after that. This needs permission to get, create, patch and
    /// delete the following resources in the namespaces of the clusters.
    pub mode: Switch,
    /// Allowed resources, by resource and API group, such as `configmaps` or `networkpolicies.networking.k8s.io`. Never Secrets. Required if
    /// mode is on.
    pub resources: Vec<String>,
}

impl Prerequisites {
    /// Allowed resources.
    pub fn allowed(&self) -> BTreeSet<AllowedResource> {
        self.resources.iter().filter_map(|text| text.parse().ok()).collect()
    }
}

/// A resource that may be made on the hub, as `kubectl` writes it: `resource` or `resource.group`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowedResource {
    group: String,
    plural: String,
}

impl AllowedResource {
    /// One of an API group, which is empty for the core.
    pub fn new(group: &str, plural: &str) -> Self {
        Self { group: group.to_owned(), plural: plural.to_owned() }
    }

    /// Its API group; empty for the core.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Its name there.
    pub fn plural(&self) -> &str {
        &self.plural
    }
}

impl fmt::Display for AllowedResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.group {
            "" => f.write_str(&self.plural),
            group => write!(f, "{}.{group}", self.plural),
        }
    }
}

impl FromStr for AllowedResource {
    /// A sentence about it.
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let word = |part: &str| {
            let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            !part.is_empty() && part.len() <= 63 && part.bytes().all(inner)
        };
        if text.contains('*') {
            return Err("must name one resource: what may be made is said one by one");
        }
        if text.contains('/') {
            return Err("must not be a subresource: none is made");
        }
        let (plural, group) = text.split_once('.').unwrap_or((text, ""));
        if !word(plural) || (text.contains('.') && !(group.len() <= 253 && group.split('.').all(word))) {
            return Err("must be a resource and its API group, such as configmaps or jobs.batch");
        }
        if (group, plural) == ("", "secrets") {
            return Err("must not be secrets: orders are ConfigMaps, which are no place for what is secret");
        }
        Ok(Self::new(group, plural))
    }
}

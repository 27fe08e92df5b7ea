//! The EnvironmentConfig that names this Konflux cluster.

use std::collections::BTreeMap;

use serde::Deserialize;
use testplatform_apis::{collect, duration::GoDuration, foreign::meta::Lenient};

use super::required::ENVIRONMENT;
use crate::sdk::{
    proto::{Resources, RunFunctionRequest},
    request::UnusableRequest,
    requirements::fetched_resources,
    wire,
};

/// State of the EnvironmentConfig.
#[derive(Clone, Debug, PartialEq)]
pub enum Environment {
    /// It was not fetched yet; this answer is not the last.
    NotFetched,
    /// It does not exist.
    Missing,
    /// It exists and cannot be used: why.
    Invalid(String),
    /// It exists.
    Found(EnvironmentConfig),
}

/// Part of it that is read.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentConfig {
    /// Name of this Konflux cluster.
    pub cluster_name: String,
    /// By workflow: how long nine in ten take from the claim to Ready.
    pub provision_p90: BTreeMap<String, GoDuration>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawEnvironmentConfig {
    data: Data,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Data {
    cluster_name: Lenient<Option<String>>,
    // A broken estimate must not cost anybody a cluster.
    provision_p90: Lenient<BTreeMap<String, Lenient<Option<GoDuration>>>>,
}

impl Environment {
    pub(super) fn decode(request: &RunFunctionRequest, name: &str) -> Result<Self, UnusableRequest> {
        let Some(Resources { items }) = fetched_resources(request, &ENVIRONMENT) else {
            return Ok(Self::NotFetched);
        };
        let Some(item) = items.first() else { return Ok(Self::Missing) };
        let raw: RawEnvironmentConfig = wire::from_struct(&item.resource).map_err(|e| {
            UnusableRequest::Unreadable { part: format!("EnvironmentConfig {name}"), why: e.to_string() }
        })?;
        let estimates = raw.data.provision_p90.value.into_iter();
        let provision_p90 = collect::to_map(estimates.filter_map(|(workflow, d)| Some((workflow, d.value?))));
        Ok(match raw.data.cluster_name.value {
            Some(cluster_name) if !cluster_name.is_empty() => {
                Self::Found(EnvironmentConfig { cluster_name, provision_p90 })
            }
            _ => Self::Invalid(format!("EnvironmentConfig {name} has no data.clusterName that is a text")),
        })
    }

    /// The name of this Konflux cluster, if it is known.
    pub fn cluster_name(&self) -> Option<&str> {
        match self {
            Self::Found(config) => Some(&config.cluster_name),
            Self::NotFetched | Self::Missing | Self::Invalid(_) => None,
        }
    }

    /// How long nine in ten of a workflow take.
    pub fn estimate(&self, workflow: &str) -> Option<GoDuration> {
        match self {
            Self::Found(config) => config.provision_p90.get(workflow).copied(),
            Self::NotFetched | Self::Missing | Self::Invalid(_) => None,
        }
    }
}

//! The catalogue of pools as it was fetched.

use serde::Deserialize;
use serde_json::Value;
use testplatform_apis::catalogue::{Catalogue, CatalogueFlaw};

use super::required::POOLS;
use crate::sdk::{
    proto::{Resources, RunFunctionRequest},
    requirements::fetched_resources,
    wire,
};

/// State of the pool catalogue. An error in it never fails the pass: live claims do not need it.
#[derive(Clone, Debug, PartialEq)]
pub enum Pools {
    /// It was not fetched; while a claim needs it, this answer is not the last.
    NotFetched,
    /// It does not exist.
    Missing,
    /// It exists and cannot be used at all: why.
    Invalid(String),
    /// It exists: what can be used of it, and the entries that cannot.
    Found(Catalogue, Vec<CatalogueFlaw>),
}

#[derive(Deserialize)]
struct RawPoolCatalogue {
    #[serde(default)]
    data: Value,
}

impl Pools {
    pub(super) fn decode(request: &RunFunctionRequest, name: &str) -> Self {
        let Some(Resources { items }) = fetched_resources(request, &POOLS) else { return Self::NotFetched };
        let Some(item) = items.first() else { return Self::Missing };
        let read = wire::from_struct::<RawPoolCatalogue>(&item.resource)
            .map_err(|e| e.to_string())
            .and_then(|raw| Catalogue::from_data(&raw.data));
        match read {
            Ok((catalogue, flaws)) => Self::Found(catalogue, flaws),
            Err(why) => Self::Invalid(format!("EnvironmentConfig {name}: {why}")),
        }
    }
}

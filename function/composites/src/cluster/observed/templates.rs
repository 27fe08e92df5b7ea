//! The catalogue of templates as it was fetched: every entry as it is written, since only the one that a claim names is read.

use serde::Deserialize;
use serde_json::Value;
use testplatform_apis::{collect, foreign::meta::Metadata};

use super::required::TEMPLATES;
use crate::sdk::{proto::RunFunctionRequest, requirements::fetched_resources, wire};

/// State of the template catalogue. An error in it never fails the pass: live clusters do not need it.
#[derive(Clone, Debug, PartialEq)]
pub enum Templates {
    /// It was not fetched; while a claim needs it, this answer is not the last.
    NotFetched,
    /// Its entries, by name.
    Found(Vec<TemplateEntry>),
}

/// An entry as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateEntry {
    /// Name of the EnvironmentConfig, and so of the template.
    pub name: String,
    /// Its `data`.
    pub data: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawTemplateEntry {
    metadata: Metadata,
    data: Value,
}

impl Templates {
    pub(super) fn decode(request: &RunFunctionRequest) -> Self {
        let Some(found) = fetched_resources(request, &TEMPLATES) else { return Self::NotFetched };
        // An unreadable entry does not affect the others.
        let read =
            found.items.iter().filter_map(|item| wire::from_struct::<RawTemplateEntry>(&item.resource).ok());
        let mut listed: Vec<TemplateEntry> =
            read.map(|raw| TemplateEntry { name: raw.metadata.name, data: raw.data }).collect();
        collect::sort_few(&mut listed, |a, b| a.name.cmp(&b.name));
        Self::Found(listed)
    }
}

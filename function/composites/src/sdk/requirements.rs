//! Resources that core fetches for this function: names, selectors, and what was fetched.

use std::collections::BTreeMap;

use super::proto::{Requirements, ResourceSelector, Resources, RunFunctionRequest, resource_selector::Match};

/// The names of something that is fetched.
pub(crate) struct RequirementNames {
    /// Our name for it when we ask.
    dynamic: &'static str,
    /// Name under which our Composition fetches it before the first call. It is not requested again: core ≤ 2.3 would make a second round
    /// trip.
    bootstrap: Option<&'static str>,
}

impl RequirementNames {
    /// Of something.
    pub(crate) const fn new(dynamic: &'static str, bootstrap: Option<&'static str>) -> Self {
        Self { dynamic, bootstrap }
    }

    /// Name under which our Composition fetches it.
    pub(crate) const fn bootstrap(&self) -> Option<&'static str> {
        self.bootstrap
    }

    /// Our name for it when we ask.
    pub(crate) const fn dynamic(&self) -> &'static str {
        self.dynamic
    }
}

/// Fetched resources. None: not fetched yet, and this response is not the last one.
pub(crate) fn fetched_resources<'a>(
    request: &'a RunFunctionRequest,
    names: &RequirementNames,
) -> Option<&'a Resources> {
    names
        .bootstrap
        .and_then(|name| request.required_resources.get(name))
        .or_else(|| request.required_resources.get(names.dynamic))
        .or_else(|| request.extra_resources.get(names.dynamic))
}

/// Whether core announces its capabilities, as 2.2 and later do.
pub(crate) fn announces_capabilities(request: &RunFunctionRequest) -> bool {
    request.meta.as_ref().is_some_and(|m| !m.capabilities.is_empty())
}

impl Requirements {
    /// For these. Cores that announce no capabilities may be so old that they know only the old map.
    pub(crate) fn asking(request: &RunFunctionRequest, map: BTreeMap<String, ResourceSelector>) -> Self {
        Self {
            extra_resources: if announces_capabilities(request) { BTreeMap::new() } else { map.clone() },
            resources: map,
            schemas: BTreeMap::new(),
        }
    }
}

pub(crate) fn selector(api_version: &str, kind: &str, matching: Match) -> ResourceSelector {
    ResourceSelector {
        api_version: api_version.into(),
        kind: kind.into(),
        namespace: None,
        r#match: Some(matching),
    }
}

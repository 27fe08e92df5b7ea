//! The Object with the bundle request of a cluster, and the observer of its deletion.

use serde::{Deserialize, de::IgnoredAny};
use testplatform_apis::{
    bundle::{self, BundleProgress, BundleReport},
    foreign::meta::{Metadata, ObservedCondition, find_condition},
    json,
    names::ours,
    text::bounded,
};

use super::tenant_credentials::ObservedObject;
use crate::objects::found_none;

/// Composition resource name of the Object with the request to the hub-side provider.
pub const BUNDLES: &str = "bundles";
/// Composition resource name of the observer of that ConfigMap's deletion: core does not show undesired Objects.
pub const BUNDLES_OBSERVER: &str = "bundles-undone";

/// Request and observer.
#[derive(Debug, Default)]
pub struct BundleObjects {
    /// Object with the request.
    pub request: Option<ObservedObject>,
    /// Observer of its deletion.
    pub observer: Option<ObservedObject>,
    /// Copy of the report on the cluster's object, which is watched.
    pub copy: Option<BundleReport>,
}

/// Lists of a request: bundles after the installation, and before the deletion.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BundleRequestSummary {
    post_install: Vec<IgnoredAny>,
    pre_delete: Vec<IgnoredAny>,
}

impl BundleObjects {
    /// Whether there are bundles to set up.
    pub fn has_post_install(&self) -> bool {
        self.request_matches(|order| !order.post_install.is_empty())
    }

    /// Whether there are bundles before the deletion that the hub knows of.
    pub fn has_pre_delete(&self) -> bool {
        self.request.as_ref().and_then(metadata).is_some()
            && self.request_matches(|order| !order.pre_delete.is_empty())
    }

    fn request_matches(&self, what: impl FnOnce(BundleRequestSummary) -> bool) -> bool {
        let order = self.request.as_ref().and_then(|order| order.manifest()["data"][bundle::ORDER].as_str());
        // The hub may understand a request that this version does not.
        order.is_some_and(|text| serde_json::from_str(text).map_or(true, what))
    }

    /// Report of the hub-side provider. None: nothing yet.
    pub fn report(&self) -> Option<BundleReport> {
        let report_of = |part: &Option<ObservedObject>| part.as_ref().and_then(metadata).and_then(report);
        let is_last = |report: &BundleReport| report.state == Some(BundleProgress::BeforeDeletion);
        // Once the ConfigMap is deleted, nothing is done before the deletion any more.
        if self.is_ending() && !self.is_deleted() {
            let reports = [report_of(&self.observer), self.copy.clone()].into_iter().flatten();
            if let Some(report) = reports.filter(is_last).max_by_key(|report| report.since) {
                return Some(report);
            }
        }
        let (request, copy) = (report_of(&self.request), self.copy.clone().filter(|copy| !is_last(copy)));
        match (request, copy) {
            (Some(request), Some(copy)) if is_later(&request, &copy) => Some(request),
            (request, copy) => copy.or(request),
        }
    }

    /// Whether the request is removed, or soon will be.
    fn is_ending(&self) -> bool {
        let is_removed = |request: &ObservedObject| {
            request.object.metadata.deletion_timestamp.is_some()
                || metadata(request).is_some_and(|remote| remote.deletion_timestamp.is_some())
        };
        self.observer.is_some() || self.request.as_ref().is_none_or(is_removed)
    }

    /// Reads the copy of the report on the cluster's object.
    pub(super) fn read_copy(&mut self, cluster: &Metadata) {
        self.copy = report(cluster);
    }

    /// Whether the ConfigMap ever existed: if the hub never accepted it, nothing is done inside the cluster. The observer records it.
    pub fn was_created(&self) -> bool {
        let has_remote = |part: &Option<ObservedObject>| part.as_ref().and_then(metadata).is_some();
        let observer = self.observer.as_ref().map(|undone| &undone.object.metadata);
        has_remote(&self.request)
            || has_remote(&self.observer)
            || observer.is_some_and(|noted| noted.annotation(ours::BUNDLES_REQUESTED).is_some())
    }

    /// Whether the ConfigMap is deleted.
    pub fn is_deleted(&self) -> bool {
        self.last_observation().is_some_and(found_none)
    }

    /// Whether it was searched, with any result.
    pub fn has_observation(&self) -> bool {
        self.last_observation().is_some()
    }

    /// Last result of the observer in its current generation.
    fn last_observation(&self) -> Option<&ObservedCondition> {
        let object = &self.observer.as_ref()?.object;
        let synced = find_condition(&object.status.conditions, "Synced")?;
        synced.observed_generation.is_none_or(|seen| seen == object.metadata.generation).then_some(synced)
    }
}

/// Whether the report on the request is later than its copy, which the provider may not be able to write any more.
fn is_later(request: &BundleReport, copy: &BundleReport) -> bool {
    match request.state {
        Some(BundleProgress::Applied) => true,
        // Another bundle begins later.
        Some(BundleProgress::SetupFailed) => {
            copy.state == Some(BundleProgress::Running) && copy.since <= request.since
        }
        Some(BundleProgress::Running | BundleProgress::BeforeDeletion) | None => false,
    }
}

fn metadata(part: &ObservedObject) -> Option<&Metadata> {
    part.object.status.at_provider.manifest.as_ref().map(|remote| &remote.metadata)
}

fn report(metadata: &Metadata) -> Option<BundleReport> {
    json::read_text(metadata.annotation(bundle::REPORT)?).ok()
}

/// Bundle, object, reason and message of a report, as far as it has them.
pub(crate) fn report_text(report: &BundleReport) -> String {
    let parts = [&report.bundle, &report.object, &report.reason, &report.message];
    let parts: Vec<String> = parts.into_iter().flatten().map(|part| bounded(part, 256)).collect();
    parts.join(": ")
}

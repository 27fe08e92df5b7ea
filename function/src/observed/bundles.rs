//! The Object with what is done inside a cluster, and the one that looks on while that is undone.

use serde::{Deserialize, de::IgnoredAny};
use testplatform_apis::{
    bundle::{self, Report, State},
    foreign::meta::{Metadata, ObservedCondition, condition},
    json,
    names::ours,
};

use super::{found_none, tenant_credentials::ObservedObject};

/// Composition resource name of the Object with the ConfigMap that tells the hub-side provider.
pub const BUNDLES: &str = "bundles";
/// Of the one that looks at that ConfigMap while it goes: core shows nothing of what is not desired any more.
pub const BUNDLES_OBSERVER: &str = "bundles-undone";

/// Both of them.
#[derive(Debug, Default)]
pub struct BundleObjects {
    /// The one that tells.
    pub request: Option<ObservedObject>,
    /// The one that looks on.
    pub observer: Option<ObservedObject>,
}

/// Of an order, whether there is anything after the installation, and before the end.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BundleRequestSummary {
    post_install: Vec<IgnoredAny>,
    pre_delete: Vec<IgnoredAny>,
}

impl BundleObjects {
    /// Whether there is something to be set up.
    pub fn has_post_install(&self) -> bool {
        self.request_matches(|order| !order.post_install.is_empty())
    }

    /// Whether there is something to be done before the cluster goes, of which the hub was told.
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
    pub fn report(&self) -> Option<Report> {
        let report_of = |part: &Option<ObservedObject>| part.as_ref().and_then(metadata).and_then(report);
        let (order, undone) = (report_of(&self.request), report_of(&self.observer));
        // The one that looks sees more of the end.
        undone.filter(|report| report.state == Some(State::BeforeDeletion)).or(order)
    }

    /// Whether the ConfigMap was ever there: where the hub never took it, nothing is done inside the cluster. The one that looks remembers.
    pub fn was_created(&self) -> bool {
        let has_remote = |part: &Option<ObservedObject>| part.as_ref().and_then(metadata).is_some();
        let observer = self.observer.as_ref().map(|undone| &undone.object.metadata);
        has_remote(&self.request)
            || has_remote(&self.observer)
            || observer.is_some_and(|noted| noted.annotation(ours::BUNDLES_ASKED).is_some())
    }

    /// Whether there is no such ConfigMap any more.
    pub fn is_deleted(&self) -> bool {
        self.last_observation().is_some_and(found_none)
    }

    /// Whether it was looked for, whatever came of it.
    pub fn has_observation(&self) -> bool {
        self.last_observation().is_some()
    }

    /// Last result of the observer in its current generation.
    fn last_observation(&self) -> Option<&ObservedCondition> {
        let object = &self.observer.as_ref()?.object;
        let synced = condition(&object.status.conditions, "Synced")?;
        synced.observed_generation.is_none_or(|seen| seen == object.metadata.generation).then_some(synced)
    }
}

fn metadata(part: &ObservedObject) -> Option<&Metadata> {
    part.object.status.at_provider.manifest.as_ref().map(|remote| &remote.metadata)
}

fn report(metadata: &Metadata) -> Option<Report> {
    json::read_text(metadata.annotation(bundle::REPORT)?).ok()
}

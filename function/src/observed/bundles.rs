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
        // What is not understood here may be by the hub.
        order.is_some_and(|text| serde_json::from_str(text).map_or(true, what))
    }

    /// What the hub-side provider tells. None: nothing yet.
    pub fn report(&self) -> Option<Report> {
        let seen = |part: &Option<ObservedObject>| part.as_ref().and_then(metadata).and_then(report);
        let (order, undone) = (seen(&self.request), seen(&self.observer));
        // The one that looks sees more of the end.
        undone.filter(|report| report.state == Some(State::BeforeDeletion)).or(order)
    }

    /// Whether the ConfigMap was ever there: where the hub never took it, nothing is done inside the cluster. The one that looks remembers.
    pub fn was_created(&self) -> bool {
        let seen = |part: &Option<ObservedObject>| part.as_ref().and_then(metadata).is_some();
        let noted = self.observer.as_ref().map(|undone| &undone.object.metadata);
        seen(&self.request)
            || seen(&self.observer)
            || noted.is_some_and(|noted| noted.annotation(ours::BUNDLES_ASKED).is_some())
    }

    /// Whether there is no such ConfigMap any more.
    pub fn is_deleted(&self) -> bool {
        self.last_observation().is_some_and(found_none)
    }

    /// Whether it was looked for, whatever came of it.
    pub fn has_observation(&self) -> bool {
        self.last_observation().is_some()
    }

    /// What came of the last look, of the one that looks as it is now.
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

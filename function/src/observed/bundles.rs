//! The Object with what is done inside a cluster, and the one that looks on while that is undone.

use serde::{Deserialize, de::IgnoredAny};
use testplatform_apis::{
    bundle::{self, Report, State},
    foreign::meta::{Metadata, ObservedCondition, condition},
    json,
    names::ours,
};

use super::{brought::Brought, found_none};

/// Composition resource name of the Object with the ConfigMap that tells the hub-side provider.
pub const BUNDLES: &str = "bundles";
/// Of the one that looks at that ConfigMap while it goes: core shows nothing of what is not desired any more.
pub const UNDONE: &str = "bundles-undone";

/// Both of them.
#[derive(Debug, Default)]
pub struct Bundles {
    /// The one that tells.
    pub order: Option<Brought>,
    /// The one that looks on.
    pub undone: Option<Brought>,
}

/// Of an order, whether there is anything after the installation, and before the end.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Order {
    post_install: Vec<IgnoredAny>,
    pre_delete: Vec<IgnoredAny>,
}

impl Bundles {
    /// Whether there is something to be set up.
    pub fn sets_up(&self) -> bool {
        self.orders(|order| !order.post_install.is_empty())
    }

    /// Whether there is something to be done before the cluster goes, of which the hub was told.
    pub fn precedes(&self) -> bool {
        self.order.as_ref().and_then(metadata).is_some() && self.orders(|order| !order.pre_delete.is_empty())
    }

    fn orders(&self, what: impl FnOnce(Order) -> bool) -> bool {
        let order = self.order.as_ref().and_then(|order| order.manifest()["data"][bundle::ORDER].as_str());
        // What is not understood here may be by the hub.
        order.is_some_and(|text| serde_json::from_str(text).map_or(true, what))
    }

    /// What the hub-side provider tells. None: nothing yet.
    pub fn report(&self) -> Option<Report> {
        let seen = |part: &Option<Brought>| part.as_ref().and_then(metadata).and_then(report);
        let (order, undone) = (seen(&self.order), seen(&self.undone));
        // The one that looks sees more of the end.
        undone.filter(|report| report.state == Some(State::BeforeDeletion)).or(order)
    }

    /// Whether the ConfigMap was ever there: where the hub never took it, nothing is done inside the cluster. The one that looks remembers.
    pub fn was_there(&self) -> bool {
        let seen = |part: &Option<Brought>| part.as_ref().and_then(metadata).is_some();
        let noted = self.undone.as_ref().map(|undone| &undone.object.metadata);
        seen(&self.order)
            || seen(&self.undone)
            || noted.is_some_and(|noted| noted.annotation(ours::BUNDLES_ASKED).is_some())
    }

    /// Whether there is no such ConfigMap any more.
    pub fn is_gone(&self) -> bool {
        self.last_look().is_some_and(found_none)
    }

    /// Whether it was looked for, whatever came of it.
    pub fn is_looked_for(&self) -> bool {
        self.last_look().is_some()
    }

    /// What came of the last look, of the one that looks as it is now.
    fn last_look(&self) -> Option<&ObservedCondition> {
        let object = &self.undone.as_ref()?.object;
        let synced = condition(&object.status.conditions, "Synced")?;
        synced.observed_generation.is_none_or(|seen| seen == object.metadata.generation).then_some(synced)
    }
}

fn metadata(part: &Brought) -> Option<&Metadata> {
    part.object.status.at_provider.manifest.as_ref().map(|remote| &remote.metadata)
}

fn report(metadata: &Metadata) -> Option<Report> {
    json::read_text(metadata.annotation(bundle::REPORT)?).ok()
}

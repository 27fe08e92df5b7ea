//! Transport of facts to the function: one Observe-only Object for each hub, which is never ready and therefore read again every 30 s.
//!
//! **Invariant:** facts that are missing, old or cannot be read are unknown. They never mean that a hub is not well.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::facts::{CONFIG_MAP, Facts, KEY};
use crate::collect;
use crate::foreign::{
    meta::{Metadata, ObservedCondition, find_condition},
    object::Object,
};

/// Validity of facts before and after their timestamp: clocks differ.
pub const GOOD_FOR: SignedDuration = SignedDuration::from_mins(10);

/// The Object that mirrors a hub's facts.
pub type Mirror = Object<ConfigMap>;

/// A ConfigMap, as far as it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ConfigMap {
    /// Its metadata.
    pub metadata: Metadata,
    /// Its texts.
    pub data: BTreeMap<String, String>,
}

/// Facts about a hub, if they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// Facts written within [`GOOD_FOR`].
    Facts(Box<Facts>),
    /// Nothing: why, as a part of a sentence.
    Unknown(&'static str),
}

impl Known {
    /// The facts, if they are known.
    pub fn facts(&self) -> Option<&Facts> {
        match self {
            Self::Facts(facts) => Some(facts),
            Self::Unknown(_) => None,
        }
    }
}

/// Facts about a hub from its mirrors, by the name of its ProviderConfig. The newest facts of several mirrors count.
pub fn known_facts<'a>(hub: &str, mirrors: impl IntoIterator<Item = &'a Mirror>, now: Timestamp) -> Known {
    let of_hub = mirrors.into_iter().filter(|mirror| mirror.spec.provider_config_ref.name == hub);
    let mut of_hub: Vec<&Mirror> = of_hub.collect();
    // Of equals the last, in whichever order they came.
    collect::sort_few(&mut of_hub, |a, b| a.metadata.name.cmp(&b.metadata.name));
    let read = of_hub.into_iter().map(|mirror| read_mirror(mirror, now));
    let newest = read.max_by_key(|known| known.facts().map(|facts| facts.written_at));
    newest.unwrap_or(Known::Unknown("no Object mirrors its facts"))
}

/// The observed manifest stays when the hub is unreachable or the ConfigMap is gone, so Synced is checked first.
fn read_mirror(mirror: &Mirror, now: Timestamp) -> Known {
    let synced = find_condition(&mirror.status.conditions, "Synced");
    if !synced.is_some_and(ObservedCondition::is_true) {
        return Known::Unknown("the Object that mirrors its facts is not in sync");
    }
    let of_hub = |map: &&ConfigMap| map.metadata.name == CONFIG_MAP;
    let Some(text) = mirror.status.at_provider.manifest.as_ref().filter(of_hub).and_then(|m| m.data.get(KEY))
    else {
        return Known::Unknown("it tells no facts");
    };
    let Ok(facts) = Facts::from_json(text) else { return Known::Unknown("its facts cannot be read") };
    match facts.written_at {
        None => Known::Unknown("its facts have no time"),
        Some(at) if now.duration_since(at).abs() > GOOD_FOR => Known::Unknown("its facts are too old"),
        Some(_) => Known::Facts(Box::new(facts)),
    }
}

//! On which hub a claim with `template` is made: a function of the claim, the hubs and what they tell of themselves.
//!
//! ```text
//! Wish × Hubs × now ──choose──▶ Choice { hub, reason } | Refusal { reason, a sentence for each hub }
//! ```
//!
//! A choice is made once: [`kept`] says from what is observed that it was, and nothing here is asked again. Only where
//! provider-kubernetes never tried to make anything may another hub follow ([`failover`]).
//!
//! **Invariant:** no randomness. The same claim ranks equal hubs alike on every machine, and a hub that comes or goes moves no claim
//! that has one. **Invariant:** what is not known of a hub never speaks against it.

mod failover;
mod filter;
mod required;
mod score;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use testplatform_apis::{
    gather,
    hub::{Hub, Known, NoHub, Selected, known},
    template::Backend,
};

pub use failover::{
    FAILOVER_DELAY, Failover, MAX_EXCLUDED, decide_failover, excluded_annotation, read_excluded,
};
pub use filter::Rejection;
pub(crate) use required::NEIGHBOUR_NAMES;
pub use required::{Hubs, hub_requirements};

use crate::text::bounded;

/// The most hubs of which a refusal tells.
const MAX_LISTED: usize = 10;

/// Requirements of a claim on its hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementRequest {
    /// Backend of its cluster, from the catalogue entry.
    pub backend: Backend,
    /// Namespace of the claim; none: an administrator's composite.
    pub tenant: Option<String>,
    /// Uid of the composite.
    pub uid: String,
    /// The hub that the claim names.
    pub pin: Option<HubPin>,
    /// Labels that the catalogue entry asks for. Naming a hub does not set them aside.
    pub required: BTreeMap<String, String>,
    /// Labels that the claim asks for. Of no account where it names the hub.
    pub selector: BTreeMap<String, String>,
    /// Whether it likes to be where other claims of its tenant are.
    pub affinity: Option<Affinity>,
    /// The version that it asks for, once resolved; none: whatever the template says.
    pub version: Option<String>,
    /// How many nodes of each class it asks for; of a group that scales, the least.
    pub classes: BTreeMap<String, u32>,
    /// Zones in which it asks for nodes.
    pub zones: BTreeSet<String>,
    /// Hubs that were given up for it.
    pub excluded: BTreeSet<String>,
}

/// A hub that a claim names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubPin {
    /// Name of its ProviderConfig.
    pub name: String,
    /// Whether it is taken even if it is full.
    pub force: bool,
}

/// Where a claim likes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// Where its tenant has clusters.
    Pack,
    /// Where its tenant has none.
    Spread,
}

/// The hub of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice<'a> {
    /// The hub, with the namespaces that it says.
    pub hub: &'a Hub,
    /// Why this one.
    pub reason: Selected,
    /// The hub's own report.
    pub known: Known,
}

/// Why a claim has no hub yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRefusal {
    /// As one word.
    pub reason: NoHub,
    /// The hub that the claim names, if it names one.
    pub pinned: Option<String>,
    /// A sentence for each hub, those first that came nearest; at most ten lines.
    pub digest: Vec<String>,
}

impl std::fmt::Display for HubRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pinned = self.pinned.as_deref().unwrap_or_default();
        f.write_str(match self.reason {
            NoHub::HubsNotRead => "the hubs were not read yet",
            NoHub::PinnedHubMissing => {
                return write!(f, "there is no hub {}, which spec.hub.name asks for", bounded(pinned, 253));
            }
            NoHub::NoHubMatches => "no hub has what this claim asks for",
            NoHub::TenantNotAllowed => "no hub that fits is offered to this namespace",
            NoHub::VersionUnsupported => "no hub that fits can make this version",
            NoHub::NoCapacity => {
                "no hub that fits takes a new cluster now; this claim is served once one does"
            }
        })?;
        self.digest.iter().try_for_each(|line| write!(f, "\n{line}"))
    }
}

/// The hub that a claim has, of which nothing is asked again: that of its writer, as observed, else that of an earlier answer, unless
/// it was given up.
pub fn recorded_hub<'a>(
    primary: Option<&'a str>,
    status: Option<&'a str>,
    excluded: &BTreeSet<String>,
) -> Option<&'a str> {
    let named = |name: &&str| !name.is_empty();
    primary.filter(named).or_else(|| status.filter(named).filter(|name| !excluded.contains(*name)))
}

/// The hub for a claim that has none.
///
/// # Errors
/// If none fits or takes a new cluster now; never for good, since an administrator or time can lift it.
pub fn choose_hub<'a>(
    request: &PlacementRequest,
    hubs: Option<&'a Hubs>,
    now: Timestamp,
) -> Result<Choice<'a>, HubRefusal> {
    let Some(hubs) = hubs else {
        return Err(HubRefusal { reason: NoHub::HubsNotRead, pinned: None, digest: vec![] });
    };
    let mut fit = Vec::new();
    let mut rejected: Vec<(&str, Rejection)> = Vec::new();
    let is_candidate = |name: &str| request.pin.as_ref().is_none_or(|pin| pin.name == name);
    for flaw in hubs.flaws.iter().filter(|flaw| is_candidate(&flaw.hub)) {
        rejected.push((&flaw.hub, Rejection::Broken(flaw.why.clone())));
    }
    for hub in hubs.hubs.iter().filter(|hub| is_candidate(&hub.name)) {
        let known = known(&hub.name, &hubs.mirrors, now);
        match filter::find_rejection(request, hub, known.facts()) {
            Some(rejection) => rejected.push((&hub.name, rejection)),
            None => fit.push(Candidate { hub, known }),
        }
    }
    let reason = match (&request.pin, fit.len()) {
        (Some(_), _) => Selected::HubNamed,
        (None, 1) if rejected.iter().any(|(_, r)| r.reason() == NoHub::NoCapacity) => {
            Selected::OnlyHubWithRoom
        }
        (None, 1) => Selected::OnlyHub,
        (None, _) => Selected::MostRoom,
    };
    let all: Vec<&Candidate<'a>> = fit.iter().collect();
    match score::best_candidate(request, &all, &hubs.neighbours) {
        Some(Candidate { hub, known }) => Ok(Choice { hub, reason, known: known.clone() }),
        None => Err(build_refusal(request, rejected)),
    }
}

/// A hub that fits.
struct Candidate<'a> {
    hub: &'a Hub,
    known: Known,
}

fn build_refusal(request: &PlacementRequest, mut rejected: Vec<(&str, Rejection)>) -> HubRefusal {
    gather::sort_few(&mut rejected, |(a, x), (b, y)| y.reason().cmp(&x.reason()).then(a.cmp(b)));
    let missing = if request.pin.is_some() { NoHub::PinnedHubMissing } else { NoHub::NoHubMatches };
    let reason = rejected.first().map_or(missing, |(_, nearest)| nearest.reason());
    let shown = if rejected.len() > MAX_LISTED { MAX_LISTED - 1 } else { MAX_LISTED };
    let mut digest: Vec<String> =
        rejected.iter().take(shown).map(|(hub, why)| bounded(&format!("{hub}: {why}"), 256)).collect();
    if rejected.len() > shown {
        digest.push(format!("and {} hubs more", rejected.len() - shown));
    }
    HubRefusal { reason, pinned: request.pin.as_ref().map(|pin| pin.name.clone()), digest }
}

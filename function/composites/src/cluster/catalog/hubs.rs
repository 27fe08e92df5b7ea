//! Choice of a hub for a claim with `template`: a function of the claim, the hubs and their own reports.
//!
//! ```text
//! PlacementRequest × Hubs × now ──choose_hub──▶ Choice { hub, reason } | HubRefusal { reason, a sentence for each hub }
//! ```
//!
//! The choice is made once: [`recorded_hub`] reads it from observed state, and it is not repeated. Another hub may follow only if
//! provider-kubernetes never tried to create anything ([`decide_failover`]).
//!
//! **Invariant:** no randomness. The same claim ranks equal hubs alike on every machine, and an added or removed hub moves no claim that
//! has one.
//!
//! **Invariant:** unknown properties of a hub never count against it.

mod failover;
mod filter;
mod score;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use testplatform_apis::{
    collect,
    hub::{Hub, Known, NoHub, Selected, known_facts},
    template::{Backend, kind::ClusterClassName},
    text::bounded,
};

pub use failover::{FAILOVER_DELAY, Failover, MAX_EXCLUDED, decide_failover, excluded_annotation};
pub use filter::Rejection;

use crate::cluster::observed::Hubs;

/// Maximum number of hubs in a refusal.
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
    /// Labels that the catalogue entry requires, even if the claim names its hub.
    pub required: BTreeMap<String, String>,
    /// Labels that the claim requires; ignored if it names its hub.
    pub selector: BTreeMap<String, String>,
    /// Affinity to other claims of its tenant.
    pub affinity: Option<Affinity>,
    /// Requested version, once resolved; none: the template's.
    pub version: Option<String>,
    /// Requested nodes of each class; of an autoscaled group, the minimum.
    pub classes: BTreeMap<String, u32>,
    /// Zones of the requested nodes.
    pub zones: BTreeSet<String>,
    /// Class of clusters that the catalogue entry names.
    pub cluster_class: Option<ClusterClassName>,
    /// Namespace of its cluster; none: the hub's for the backend.
    pub namespace: Option<String>,
    /// Hubs that were given up for it.
    pub excluded: BTreeSet<String>,
}

/// A hub that a claim names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubPin {
    /// Name of its ProviderConfig.
    pub name: String,
    /// Whether it is used even if it is full.
    pub force: bool,
}

/// Affinity of a claim.
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
    /// The hub, with its namespaces.
    pub hub: &'a Hub,
    /// Reason for the choice.
    pub reason: Selected,
    /// The hub's own report.
    pub known: Known,
}

/// Reason for which a claim has no hub yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRefusal {
    /// As one word.
    pub reason: NoHub,
    /// The hub that the claim names, if it names one.
    pub pinned: Option<String>,
    /// A sentence for each hub, closest matches first; at most ten lines.
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
            NoHub::NoHubMatches => "no hub matches this claim",
            NoHub::TenantNotAllowed => "no matching hub is offered to this namespace",
            NoHub::VersionUnsupported => "no matching hub can create this version",
            NoHub::NoCapacity => {
                "no matching hub accepts a new cluster now; the claim is queued until one does"
            }
        })?;
        self.digest.iter().try_for_each(|line| write!(f, "\n{line}"))
    }
}

/// Recorded hub of a claim: that of its observed primary Object, else that of an earlier response, unless it was given up.
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
        let known = known_facts(&hub.name, &hubs.mirrors, now);
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
    collect::sort_few(&mut rejected, |(a, x), (b, y)| y.reason().cmp(&x.reason()).then(a.cmp(b)));
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

//! An overview of all claims that the caller may list, and of the hubs: how many in which phase, who waits, and which of them need attention.
//!
//! Input: claims, offers and mirrored hub facts, as the API server lists them. Output: lines; pages are in [`page`].

mod concern;
mod hub;
pub mod page;
mod timeline;

use jiff::Timestamp;
use serde_json::Value;
use testplatform_apis::{hub::Mirror, phase::Phase};

pub use self::{
    concern::{Concern, find_concern, find_queue},
    hub::{FleetHub, HEADS, HubHealth},
    timeline::{TimelineEntry, build_timeline},
};
use super::{
    claim::{Claim, text},
    command_context::CommandContext,
    explanation::break_line,
    facts::Facts,
    span::{ago, human},
    table::align_columns,
    wait::{PendingStep, find_pending_step},
};

/// A claim in the overview.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetClaim {
    /// The claim.
    pub claim: Claim,
    /// The condition that it waits for, and what to do, as far as the claim alone tells.
    pub pending: PendingStep,
    /// Why somebody should look at it.
    pub concern: Option<Concern>,
    /// Why it waits until other clusters end.
    pub queue: Option<String>,
    /// How much it counts for in the budget of its namespace, where an offer or the claim tells.
    pub cost: Option<u64>,
}

impl FleetClaim {
    /// Whether its cluster exists, or is being created or removed.
    pub fn is_alive(&self) -> bool {
        !matches!(self.claim.phase(), Some(Phase::Deprovisioned | Phase::Failed))
    }
}

/// How many claims are in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseCount {
    /// The phase.
    pub phase: Phase,
    /// Number of claims.
    pub claims: usize,
    /// When the oldest of them was created.
    pub oldest: Option<Timestamp>,
}

/// Answers of the API server from which the overview is made.
#[derive(Debug, Default)]
pub struct FleetFacts {
    /// Claims of both kinds.
    pub claims: Vec<Claim>,
    /// Published offers, as far as they may be read.
    pub offers: Vec<Value>,
    /// Mirrors of hub facts, as far as they may be read.
    pub mirrors: Vec<Mirror>,
}

/// The overview at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Fleet {
    /// When it was read.
    pub at: Timestamp,
    /// All claims, by namespace and name.
    pub claims: Vec<FleetClaim>,
    /// All known hubs, by name.
    pub hubs: Vec<FleetHub>,
}

impl Fleet {
    /// Makes the overview. `way`: how suggested commands get to a claim.
    pub fn new(facts: FleetFacts, way: &CommandContext, now: Timestamp) -> Self {
        let FleetFacts { claims, offers, mirrors } = facts;
        let describe = |claim: Claim| {
            let way = way.in_namespace_of(&claim);
            FleetClaim {
                pending: find_pending_step(&Facts::new(claim.clone()), &way, now),
                concern: find_concern(&claim, now),
                queue: find_queue(&claim),
                cost: find_cost(&claim, &offers),
                claim,
            }
        };
        let mut claims: Vec<FleetClaim> = claims.into_iter().map(describe).collect();
        claims.sort_by(|a, b| sort_key(&a.claim).cmp(&sort_key(&b.claim)));
        let hubs = hub::list_hubs(&claims, &mirrors, now);
        Self { at: now, claims, hubs }
    }

    /// Whether another overview differs in more than the time at which it was read.
    pub fn differs_from(&self, other: &Self) -> bool {
        let shown = |of: &FleetClaim| (of.concern, of.cost);
        let is_same = |(a, b): (&FleetClaim, &FleetClaim)| a.claim == b.claim && shown(a) == shown(b);
        self.hubs != other.hubs
            || self.claims.len() != other.claims.len()
            || !self.claims.iter().zip(&other.claims).all(is_same)
    }

    /// Claims by phase, without phases that no claim has.
    pub fn count_phases(&self) -> Vec<PhaseCount> {
        let count = |phase: Phase| {
            let of_phase =
                || self.claims.iter().filter(move |of| of.claim.phase().unwrap_or(Phase::Pending) == phase);
            PhaseCount {
                phase,
                claims: of_phase().count(),
                oldest: of_phase().filter_map(|of| of.claim.started()).min(),
            }
        };
        Phase::ALL.into_iter().map(count).filter(|of| of.claims > 0).collect()
    }

    /// Claims that somebody should look at, the most pressing first.
    pub fn list_concerns(&self) -> Vec<(&FleetClaim, Concern)> {
        let mut found: Vec<_> =
            self.claims.iter().filter_map(|claim| Some((claim, claim.concern?))).collect();
        found.sort_by_key(|(_, concern)| *concern);
        found
    }

    /// Claims that wait until other clusters end, the oldest first.
    pub fn list_queue(&self) -> Vec<(&FleetClaim, &str)> {
        let mut found: Vec<_> =
            self.claims.iter().filter_map(|claim| Some((claim, claim.queue.as_deref()?))).collect();
        found.sort_by_key(|(of, _)| of.claim.started());
        found
    }

    /// The costs of all living claims whose cost is known, and the number of those whose cost is not.
    pub fn sum_costs(&self) -> (u64, usize) {
        let alive = || self.claims.iter().filter(|claim| claim.is_alive());
        (alive().filter_map(|claim| claim.cost).sum(), alive().filter(|claim| claim.cost.is_none()).count())
    }

    /// The overview for a terminal. `room`: its width.
    pub fn lines(&self, room: Option<usize>) -> Vec<String> {
        let now = self.at;
        let (cost, unknown) = self.sum_costs();
        let alive = self.claims.iter().filter(|claim| claim.is_alive()).count();
        let claims = if self.claims.len() == 1 {
            "1 claim".to_owned()
        } else {
            format!("{} claims", self.claims.len())
        };
        let mut lines = vec![format!("{claims}, {alive} not over")];
        if cost > 0 {
            let rest = if unknown == 0 { String::new() } else { format!(", and {unknown} of unknown cost") };
            lines.push(format!("Cost: {cost} units of the namespaces' budgets{rest}"));
        }
        let phases = self
            .count_phases()
            .into_iter()
            .map(|of| [of.phase.as_str().to_owned(), of.claims.to_string(), ago(of.oldest, now)]);
        lines.extend(format_table(&["PHASE", "CLAIMS", "OLDEST"], phases.collect(), room));
        let hubs = self.hubs.iter().map(FleetHub::format_cells).collect();
        lines.extend(format_table(&HEADS.map(str::to_uppercase), hubs, room));
        let queue = self
            .list_queue()
            .into_iter()
            .map(|(of, why)| [name_claim(&of.claim), why.to_owned(), ago(of.claim.started(), now)]);
        lines.extend(format_table(&["QUEUE", "WAITS FOR", "SINCE"], queue.collect(), room));
        for (of, concern) in self.list_concerns() {
            lines.push(String::new());
            lines.push(format!("{}: {}", name_claim(&of.claim), concern.words()));
            lines.push(break_line(&format!("  Waits for  {}", of.pending.what), room, LABEL));
            lines.push(break_line(&format!("  To do      {}", of.pending.todo), room, LABEL));
        }
        lines
    }
}

/// Columns of a label below a claim, with its indent.
const LABEL: usize = 13;

/// An empty line and a table, or nothing without rows. The last cell can be a sentence, which is broken where the terminal ends.
fn format_table<const N: usize>(
    heads: &[impl ToString; N],
    rows: Vec<[String; N]>,
    room: Option<usize>,
) -> Vec<String> {
    if rows.is_empty() {
        return vec![];
    }
    let table = align_columns(&[vec![heads.each_ref().map(ToString::to_string)], rows].concat());
    let last = heads[N - 1].to_string();
    let indent = table[0].strip_suffix(&last).map_or(0, |before| before.chars().count());
    let lines = table.iter().map(|line| break_line(line, room, indent));
    std::iter::once(String::new()).chain(lines).collect()
}

/// Namespace, name and kind, by which claims are sorted.
fn sort_key(claim: &Claim) -> (&str, &str, &str) {
    (claim.namespace(), claim.name(), claim.flavour.word())
}

/// Namespace and name of a claim.
pub fn name_claim(claim: &Claim) -> String {
    format!("{}/{}", claim.namespace(), claim.name())
}

/// In how long the cluster of a claim ends; empty if nothing says so, or if it is gone.
pub fn format_end(of: &FleetClaim, now: Timestamp) -> String {
    let end = of.claim.expires_at().filter(|_| of.is_alive());
    end.map_or_else(String::new, |end| human(end.duration_since(now)))
}

/// The cost that a claim reports, else that of its offer.
fn find_cost(claim: &Claim, offers: &[Value]) -> Option<u64> {
    if let Some(own) = claim.object.pointer("/status/template/cost").and_then(Value::as_u64) {
        return Some(own);
    }
    let named = [("template", "/spec/template"), ("clusterClaim", "/spec/clusterClaim/pool/name")];
    let wanted = named.into_iter().find(|(_, pointer)| !text(&claim.object, pointer).is_empty());
    let (block, pointer) = wanted?;
    let is_wanted = |offer: &&Value| {
        text(offer, "/block") == block && text(offer, "/name") == text(&claim.object, pointer)
    };
    offers.iter().find(is_wanted)?["cost"].as_u64()
}

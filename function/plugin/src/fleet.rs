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
        let objects = |of: &Self| -> Vec<(Claim, Option<Concern>)> {
            of.claims.iter().map(|of| (of.claim.clone(), of.concern)).collect()
        };
        self.hubs != other.hubs || objects(self) != objects(other)
    }

    /// Claims by phase, without phases that no claim has.
    pub fn phases(&self) -> Vec<PhaseCount> {
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
    pub fn concerns(&self) -> Vec<(&FleetClaim, Concern)> {
        let mut found: Vec<_> =
            self.claims.iter().filter_map(|claim| Some((claim, claim.concern?))).collect();
        found.sort_by_key(|(_, concern)| *concern);
        found
    }

    /// Claims that wait until other clusters end, the oldest first.
    pub fn queue(&self) -> Vec<(&FleetClaim, &str)> {
        let mut found: Vec<_> =
            self.claims.iter().filter_map(|claim| Some((claim, claim.queue.as_deref()?))).collect();
        found.sort_by_key(|(of, _)| of.claim.started());
        found
    }

    /// The costs of all living claims whose cost is known, and the number of those whose cost is not.
    pub fn cost(&self) -> (u64, usize) {
        let alive = || self.claims.iter().filter(|claim| claim.is_alive());
        (alive().filter_map(|claim| claim.cost).sum(), alive().filter(|claim| claim.cost.is_none()).count())
    }

    /// The overview for a terminal. `room`: its width.
    pub fn lines(&self, room: Option<usize>) -> Vec<String> {
        let now = self.at;
        let (cost, unknown) = self.cost();
        let alive = self.claims.iter().filter(|claim| claim.is_alive()).count();
        let mut lines = vec![format!("{} claims, {alive} of them not over", self.claims.len())];
        if cost > 0 {
            let rest = if unknown == 0 { String::new() } else { format!(", and {unknown} of unknown cost") };
            lines.push(format!("Cost: {cost} units of the namespaces' budgets{rest}"));
        }
        let mut rows = vec![["PHASE", "CLAIMS", "OLDEST"].map(str::to_owned)];
        rows.extend(
            self.phases()
                .iter()
                .map(|of| [of.phase.as_str().to_owned(), of.claims.to_string(), ago(of.oldest, now)]),
        );
        if rows.len() > 1 {
            lines.push(String::new());
            lines.extend(align_columns(&rows));
        }
        let mut rows = vec![HEADS.map(str::to_uppercase)];
        rows.extend(self.hubs.iter().map(FleetHub::cells));
        if rows.len() > 1 {
            lines.push(String::new());
            let table = align_columns(&rows);
            // The state is last, and can be a sentence.
            let indent = table[0].rfind(' ').map_or(0, |gap| gap + 1);
            lines.extend(table.iter().map(|line| break_line(line, room, indent)));
        }
        let mut rows = vec![["QUEUE", "WAITS FOR", "SINCE"].map(str::to_owned)];
        rows.extend(
            self.queue()
                .into_iter()
                .map(|(of, why)| [name_claim(&of.claim), why.to_owned(), ago(of.claim.started(), now)]),
        );
        if rows.len() > 1 {
            lines.push(String::new());
            lines.extend(align_columns(&rows));
        }
        for (of, concern) in self.concerns() {
            lines.push(String::new());
            lines.push(format!("{}: {}", name_claim(&of.claim), concern.words()));
            lines.push(break_line(&format!("  Waits for  {}", of.pending.what), room, 13));
            lines.push(break_line(&format!("  To do      {}", of.pending.todo), room, 13));
        }
        lines
    }
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

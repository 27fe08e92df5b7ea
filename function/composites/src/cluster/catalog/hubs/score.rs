//! Ranking of matching hubs: the most room for its weight wins, and the claim draws among equals.

use std::collections::BTreeSet;

use testplatform_apis::hub::Hub;

use super::{Affinity, Candidate, PlacementRequest, filter::cluster_count};
use testplatform_apis::rendezvous::{self, draw_number};

/// Score of an empty hub of weight 1.
const EMPTY_HUB_SCORE: i128 = 1_000_000_000;
/// How many clusters a hub without a limit has when it is as busy as one that is half full.
const HALF_FULL_LOAD: i128 = 100;

/// The hub to take. Those of weight 0 only where there is no other.
pub(super) fn best_candidate<'a, 'h>(
    request: &PlacementRequest,
    fit: &[&'a Candidate<'h>],
    neighbours: &BTreeSet<String>,
) -> Option<&'a Candidate<'h>> {
    let weighty: Vec<&Candidate<'_>> = fit.iter().copied().filter(|c| c.hub.weight > 0).collect();
    let open = if weighty.is_empty() { fit } else { &weighty };
    let score = |candidate: &Candidate<'_>| score_candidate(request, candidate, neighbours);
    let highest = open.iter().map(|candidate| score(candidate)).max()?;
    let equal: Vec<&Candidate<'_>> = open.iter().copied().filter(|c| score(c) == highest).collect();
    rendezvous::choose_highest(&equal, |candidate| Some(draw_number(&[&request.uid, &candidate.hub.name], 0)))
}

fn score_candidate(
    request: &PlacementRequest,
    candidate: &Candidate<'_>,
    neighbours: &BTreeSet<String>,
) -> i128 {
    let hub = candidate.hub;
    let weight = i128::from(hub.weight.max(1));
    let room = free_share(hub, cluster_count(hub, candidate.known.facts(), request.backend));
    let likes = match (request.affinity, neighbours.contains(&hub.name)) {
        (Some(Affinity::Pack), true) => EMPTY_HUB_SCORE / 2,
        (Some(Affinity::Spread), true) => -EMPTY_HUB_SCORE / 2,
        (None, _) | (_, false) => 0,
    };
    (room + likes) * weight
}

/// How empty it is. A hub without a limit is never full, and one that is busier is always less empty.
fn free_share(hub: &Hub, load: i64) -> i128 {
    let load = i128::from(round_load(load.max(0)));
    match hub.max_clusters.map(i128::from) {
        Some(max) => EMPTY_HUB_SCORE * (max - load).max(0) / max.max(1),
        None => EMPTY_HUB_SCORE * HALF_FULL_LOAD / (HALF_FULL_LOAD + load),
    }
}

/// To about two in a hundred. A count is a minute old: taken to the letter, all claims of that minute would go to one hub; so
/// hubs that differ by little are equals, among which each claim draws.
fn round_load(load: i64) -> i64 {
    let step = load / 50;
    if step < 2 { load } else { load - load % (1 << step.ilog2()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rough_counts_keep_their_order_and_are_nearly_right() {
        let mut before = 0;
        for load in 0..20_000 {
            let rough = round_load(load);
            assert!(before <= rough && rough <= load && (load - rough) * 50 <= load, "{load}: {rough}");
            before = rough;
        }
        assert_eq!((round_load(99), round_load(1023)), (99, 1008));
    }
}

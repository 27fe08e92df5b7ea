//! Anything may happen on the way, in any order, with caches that lag: [`Pair`] checks after each step that at most one may end the cluster
//! and that there is no second one. At the end of each walk somebody can end it, or the hub will.

use function_model::walks::run_walk;
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;
use testplatform_apis::names::ours;

use crate::handover::pair::{Pair, Side};

#[derive(Clone, Copy, Debug)]
enum Happens {
    Pass(Side),
    Provider(Side),
    Sees(Side),
    Round(Side),
    HandOver,
    Withdrawn,
    Deleted(Side),
    TearDown(Side),
    StatusDropped(Side),
    CredentialsLost(Side),
    Restored,
    HubGone,
    HubBack,
    Minutes(i64),
}

fn happens() -> impl Strategy<Value = Happens> {
    use Happens as H;
    let side = prop_oneof![Just(Side::Giver), Just(Side::Taker)];
    prop_oneof![
        8 => side.clone().prop_map(H::Pass),
        8 => side.clone().prop_map(H::Provider),
        8 => side.clone().prop_map(H::Sees),
        14 => side.clone().prop_map(H::Round),
        8 => Just(H::HandOver),
        1 => Just(H::Withdrawn),
        2 => side.clone().prop_map(H::Deleted),
        2 => side.clone().prop_map(H::TearDown),
        1 => side.clone().prop_map(H::StatusDropped),
        1 => side.prop_map(H::CredentialsLost),
        1 => Just(H::Restored),
        1 => Just(H::HubGone),
        2 => Just(H::HubBack),
        2 => (1i64..90).prop_map(H::Minutes),
    ]
}

fn happen(what: Happens, pair: &mut Pair) {
    use Happens as H;
    match what {
        H::Pass(side) => pair.pass(side),
        H::Provider(side) => pair.provider(side),
        H::Sees(side) => pair.sees(side),
        H::Round(side) => {
            pair.sees(side);
            pair.pass(side);
            pair.provider(side);
        }
        H::HandOver => pair.hand_over(),
        H::Withdrawn => pair.giver.annotations = json!({ ours::HAND_OVER: "" }),
        H::Deleted(side) => pair.delete(side),
        H::TearDown(side) => pair.of(side).spec["tearDownCluster"] = json!(true),
        H::StatusDropped(side) => pair.of(side).drop_status(),
        H::CredentialsLost(side) => drop(pair.of(side).objects.remove("credentials")),
        H::Restored => pair.restore(),
        H::HubGone => (pair.giver.reachable, pair.taker.reachable) = (false, false),
        H::HubBack => (pair.giver.reachable, pair.taker.reachable) = (true, true),
        H::Minutes(minutes) => {
            pair.giver.advance_time(SignedDuration::from_mins(minutes));
            pair.taker.advance_time(SignedDuration::from_mins(minutes));
        }
    }
}

fn ends(mut pair: Pair) -> Result<Pair, TestCaseError> {
    (pair.giver.reachable, pair.taker.reachable) = (true, true);
    for side in [Side::Giver, Side::Taker] {
        pair.of(side).spec["tearDownCluster"] = json!(true);
    }
    pair.settle();
    let Some(remote) = pair.remote() else { return Ok(pair) };
    let told = remote["spec"]["tearDownCluster"] == true;
    // With both gone at the moment between, nobody here knows of it any more. The hub was told at birth when to end it at the latest.
    let nobody = pair.is_gone(Side::Giver) && pair.is_gone(Side::Taker);
    let bounded = remote["metadata"]["annotations"][ours::MAX_LIFETIME].is_string();
    prop_assert!(told || (nobody && bounded), "it runs on: {pair:#?}");
    Ok(pair)
}

#[test]
fn exactly_one_side_may_tear_down_at_every_moment() {
    run_walk(20_261_123, happens(), |taken| {
        let mut pair = Pair::ready();
        for what in taken {
            happen(what, &mut pair);
        }
        ends(pair).map(drop)
    });
}

/// Walks that begin where the cluster is about to go.
#[test]
fn exactly_one_side_may_tear_down_during_a_transfer() {
    run_walk(20_261_124, (0usize..30, happens()), |taken| {
        let mut pair = Pair::ready();
        pair.settle();
        pair.hand_over();
        for (rounds, what) in taken.into_iter().take(8) {
            for round in 0..rounds % 7 {
                happen(Happens::Round(if round % 2 == 0 { Side::Taker } else { Side::Giver }), &mut pair);
            }
            happen(what, &mut pair);
        }
        ends(pair).map(drop)
    });
}

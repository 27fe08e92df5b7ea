//! Placements that no change of hubs moves, and how evenly hubs fill.

use std::collections::BTreeMap;

use proptest::{prelude::*, test_runner::RngSeed};
use serde_json::Value;
use testplatform_apis::hub::{Hub, NoHub};
use testplatform_composites::cluster::{
    catalog::hubs::{HubPin, PlacementRequest, choose_hub, recorded_hub},
    observed::Hubs,
};

use crate::hubs::{config, known, loaded, mirror, now, wish};

fn seeded(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    }
}

fn claim(number: u32) -> PlacementRequest {
    PlacementRequest { uid: format!("uid-{number}"), ..wish() }
}

/// Where a claim goes: what it has, else what is chosen.
fn place(claim: &PlacementRequest, writer: Option<&str>, hubs: &Hubs) -> Option<String> {
    let kept = recorded_hub(writer, None, &claim.excluded).map(str::to_owned);
    kept.or_else(|| choose_hub(claim, Some(hubs), now()).ok().map(|choice| choice.hub.name.clone()))
}

/// Hubs with what their facts say, by their names.
#[derive(Clone, Debug)]
struct Fleet(BTreeMap<String, (Option<u32>, u32, u32)>);

impl Fleet {
    fn any(most: usize) -> impl Strategy<Value = Self> {
        let hub = (proptest::option::of(0_u32..200), 0_u32..300, 0_u32..220);
        proptest::collection::btree_map("[a-z]{1,6}", hub, 1..=most).prop_map(Self)
    }

    fn hubs(&self) -> Hubs {
        let one = |(name, (max, weight, load)): (&String, &(Option<u32>, u32, u32))| {
            let (max, weight) = (max.map(|max| max.to_string()), weight.to_string());
            let max = max.as_deref().map(|max| ("max-clusters", max));
            let annotations: Vec<_> = [("weight", weight.as_str())].into_iter().chain(max).collect();
            (config(name, &[], &annotations), mirror(name, &loaded(*load)))
        };
        let (configs, mirrors): (Vec<Value>, Vec<Value>) = self.0.iter().map(one).unzip();
        known(&configs, &mirrors)
    }
}

proptest! {
    #![proptest_config(seeded(128))]

    /// Whatever is added, taken away, closed or filled: who has a hub stays on it.
    #[test]
    fn no_change_of_hubs_moves_a_live_claim(before in Fleet::any(6), after in Fleet::any(8), number in 0_u32..1000) {
        let claim = claim(number);
        if let Some(hub) = place(&claim, None, &before.hubs()) {
            prop_assert_eq!(place(&claim, Some(&hub), &after.hubs()), Some(hub));
        }
    }

    /// A hub that is added wins claims that have none yet, and moves none of them between the others.
    #[test]
    fn another_hub_wins_claims_and_moves_none_between_others(
        mut fleet in Fleet::any(6), load in 0_u32..220, number in 0_u32..1000,
    ) {
        let claim = claim(number);
        let before = place(&claim, None, &fleet.hubs());
        fleet.0.insert("another".into(), (None, 100, load));
        let after = place(&claim, None, &fleet.hubs());
        // One of weight 0 was the last resort.
        let weighty = |name: &Option<String>| name.as_ref().is_none_or(|name| fleet.0[name].1 > 0);
        prop_assert!(after == before || after.as_deref() == Some("another"), "{:?} {:?}", before, after);
        prop_assert!(weighty(&after));
    }

    /// A claim that names its hub gets that one or none. One that insists gets it however full it is.
    #[test]
    fn chosen_hub_is_a_named_one_and_existing_clusters_keep_theirs(
        fleet in Fleet::any(6), which in 0_usize..6, number in 0_u32..1000,
    ) {
        let hubs = fleet.hubs();
        let name = fleet.0.keys().nth(which % fleet.0.len()).unwrap().clone();
        let named = |force| PlacementRequest { pin: Some(HubPin { name: name.clone(), force }), ..claim(number) };
        prop_assert_eq!(place(&named(true), None, &hubs), Some(name.clone()));
        match choose_hub(&named(false), Some(&hubs), now()) {
            Ok(choice) => prop_assert_eq!(&choice.hub.name, &name),
            Err(refusal) => prop_assert_eq!(refusal.reason, NoHub::NoCapacity),
        }
    }

    /// Hubs that were given up are as good as gone, whatever there is beside them.
    #[test]
    fn hubs_that_were_given_up_are_as_good_as_gone(
        fleet in Fleet::any(8), kept in proptest::collection::vec(proptest::bool::ANY, 8), number in 0_u32..1000,
    ) {
        let (mut hubs, mut wish) = (fleet.hubs(), claim(number));
        let given_up = fleet.0.keys().zip(&kept).filter(|(_, kept)| !**kept).map(|(name, _)| name.clone());
        wish.excluded = given_up.collect();
        let place_beside = place(&wish, None, &hubs);
        prop_assert!(place_beside.as_ref().is_none_or(|name| !wish.excluded.contains(name)));
        hubs.hubs.retain(|hub| !wish.excluded.contains(&hub.name));
        prop_assert_eq!(place_beside, place(&claim(number), None, &hubs));
    }

    /// The order in which hubs and mirrors come, and how often it is asked, changes nothing.
    #[test]
    fn the_same_claim_always_ranks_alike(fleet in Fleet::any(8), number in 0_u32..1000, turn in 0_usize..8) {
        let (mut all, claim) = (fleet.hubs(), claim(number));
        // The whole ranking: the best, then the best of the rest.
        let ranking = |hubs: &Hubs| {
            let mut left = hubs.clone();
            let mut ranked = Vec::new();
            while let Some(best) = place(&claim, None, &left) {
                left.hubs.retain(|hub: &Hub| hub.name != best);
                ranked.push(best);
            }
            ranked
        };
        let first = ranking(&all);
        let turn = turn % all.hubs.len();
        all.hubs.rotate_left(turn);
        all.mirrors.reverse();
        prop_assert_eq!(&ranking(&all), &first);
        // Whoever is taken away leaves the order of the others as it was.
        if let Some(gone) = first.get(turn) {
            all.hubs.retain(|hub| hub.name != *gone);
            let rest: Vec<_> = first.iter().filter(|name| *name != gone).cloned().collect();
            prop_assert_eq!(ranking(&all), rest);
        }
    }
}

/// Ten thousand claims, one after the other; hubs tell of their load after so many each. Returns the load by hub.
fn simulated(maxima: &BTreeMap<String, Option<u32>>, told_after: u32) -> BTreeMap<String, u32> {
    let configs: Vec<Value> = maxima
        .iter()
        .map(|(name, max)| {
            let max = max.map(|max| max.to_string());
            let annotations: Vec<_> = max.as_deref().map(|max| ("max-clusters", max)).into_iter().collect();
            config(name, &[], &annotations)
        })
        .collect();
    let mut loads: BTreeMap<String, u32> = maxima.keys().map(|name| (name.clone(), 0)).collect();
    let mut hubs = known(&configs, &[]);
    for number in 0..10_000 {
        if number % told_after == 0 {
            let mirrors: Vec<Value> = loads.iter().map(|(name, load)| mirror(name, &loaded(*load))).collect();
            hubs = known(&configs, &mirrors);
        }
        let hub = place(&claim(number), None, &hubs).unwrap();
        *loads.get_mut(&hub).unwrap() += 1;
    }
    loads
}

fn assert_even(loads: &BTreeMap<String, u32>, ideal: impl Fn(&str) -> f64) {
    for (name, load) in loads {
        let ideal = ideal(name);
        let off = (f64::from(*load) - ideal).abs() / ideal;
        assert!(off <= 0.1, "{name} has {load} where {ideal} were ideal: {loads:?}");
    }
}

proptest! {
    #![proptest_config(seeded(4))]

    #[test]
    fn load_spreads_within_ten_percent_of_ideal(
        sizes in proptest::collection::vec(1500_u32..6000, 2..7), told_after in 20_u32..60,
    ) {
        // As many places as make ten thousand claims three quarters of them.
        let sum: u32 = sizes.iter().sum();
        let maxima: BTreeMap<String, Option<u32>> = sizes.iter().enumerate()
            .map(|(i, size)| (format!("hub-{i}"), Some(size * 13_334 / sum + 1))).collect();
        let all: u32 = maxima.values().flatten().sum();
        let loads = simulated(&maxima, told_after);
        assert_even(&loads, |name| 10_000.0 * f64::from(maxima[name].unwrap()) / f64::from(all));
    }
}

#[test]
fn load_spreads_evenly_over_hubs_without_a_limit_or_facts() {
    let maxima: BTreeMap<String, Option<u32>> = (0..5).map(|i| (format!("hub-{i}"), None)).collect();
    for told_after in [50, 10_000] {
        assert_even(&simulated(&maxima, told_after), |_| 2000.0);
    }
}

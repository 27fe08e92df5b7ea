//! The model check: a small world, explored to its end. In it the real `next` runs in one or two providers that lag
//! behind, crash between any two writes, and do not learn what came of a write; and around them everything happens that
//! the specifications of the neighbours allow.
//!
//! In every state: at most one ProwJob is ever made by us for a uid; no ProwJob of ours runs without a finalizer on its
//! EphemeralCluster; Ready regresses only for its own reasons; Failed is never left; nobody gets the credentials of
//! another. From every state, left alone: there is rest, without a write; and a deletion, or a request to end, ends.

mod environment;
pub mod explore;
mod lab;
mod neighbours;
mod promises;
mod provider;
mod rest;
mod world;

use std::cell::Cell;

use explore::Model as _;
use jiff::SignedDuration;
use lab::{Lab, TICK};
use proptest::{
    prelude::any,
    sample::Index,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};
use provider_testplatform::controllers::ephemeral_cluster::settings::Settings;
use world::{Budget, Process, State};

fn lab() -> Lab {
    let settings = Settings {
        provision_timeout: TICK * 2,
        scheduling_timeout: TICK * 2,
        deprovision_timeout: TICK * 2,
        abort_grace: TICK,
        other_writer_respite: TICK,
        max_lifetime: SignedDuration::from_hours(2),
    };
    Lab { settings: settings.into(), ..Lab::default() }
}

fn start(lab: &Lab, processes: usize, budget: Budget) -> State {
    State {
        now: 0,
        ec: Some(lab.newborn(1, (0, 0))),
        jobs: vec![],
        published: None,
        away: false,
        deaf: false,
        processes: vec![Process::default(); processes],
        made: [0; 3],
        budget,
        births: 1,
        upstream: None,
    }
}

fn explored(name: &str, lab: &Lab, processes: usize, budget: Budget, at_least: usize) {
    let seen = explore::explore(lab, start(lab, processes, budget));
    println!(
        "{name}: {} states, {} transitions, depth {}, {} steps decided, {} states left alone",
        seen.states,
        seen.transitions,
        seen.depth,
        lab.decided.borrow().len(),
        lab.judged.borrow().len(),
    );
    assert!(seen.states >= at_least, "{name} has become empty: {seen:?}");
}

#[test]
fn whole_life_with_a_crash_and_a_lag() {
    let budget = Budget { ticks: 1, faults: 1, lags: 1, teardown: 1, deletion: 1, ..Budget::NOTHING };
    explored("a whole life", &lab(), 1, budget, 250_000);
}

#[test]
fn deadlines_that_pass_one_by_one() {
    let budget = Budget { ticks: 5, faults: 1, ..Budget::NOTHING };
    explored("deadlines", &lab(), 1, budget, 60_000);
}

#[test]
fn a_lifetime_that_ends_under_a_crd_that_drops_fields() {
    let budget = Budget { ticks: 4, faults: 1, ..Budget::NOTHING };
    let lab = Lab { lifetime: Some("15m"), prunes: true, ..lab() };
    explored("a lifetime", &lab, 1, budget, 30_000);
}

#[test]
#[ignore = "whole tier: explores states for half a minute"]
fn a_lifetime_that_is_extended_behind_a_cache() {
    let budget = Budget { ticks: 4, lags: 1, extensions: 1, ..Budget::NOTHING };
    let lab = Lab { lifetime: Some("15m"), ..lab() };
    explored("extensions", &lab, 1, budget, 20_000);
}

#[test]
#[ignore = "whole tier: explores states for half a minute"]
fn a_build_cluster_that_takes_no_signal() {
    let budget = Budget { ticks: 3, refusals: 1, teardown: 1, deletion: 1, ..Budget::NOTHING };
    explored("refusals", &lab(), 1, budget, 20_000);
}

/// While something else is lost, or the upstream controller has made a job too many.
#[test]
#[ignore = "whole tier: explores states for half a minute"]
fn a_build_cluster_that_takes_no_signal_among_other_troubles() {
    let refusals = Budget { refusals: 1, deletion: 1, ..Budget::NOTHING };
    for (name, budget, at_least) in [
        ("refusals, upstream", Budget { upstream_jobs: 1, ..refusals }, 120_000),
        ("refusals, namespaces", Budget { ticks: 1, namespace_losses: 1, ..refusals }, 60_000),
        ("refusals, deleted jobs", Budget { ticks: 1, job_deletions: 1, ..refusals }, 20_000),
    ] {
        explored(name, &lab(), 1, budget, at_least);
    }
}

#[test]
fn jobs_that_end_and_vanish_at_any_moment() {
    let budget = Budget {
        ticks: 1,
        faults: 1,
        endings: 1,
        sweeps: 1,
        job_deletions: 1,
        teardown: 1,
        ..Budget::NOTHING
    };
    explored("endings", &lab(), 1, budget, 40_000);
}

#[test]
#[ignore = "whole tier: explores states for half a minute"]
fn a_build_cluster_that_goes_away_and_comes_back() {
    let budget = Budget { ticks: 3, outages: 1, teardown: 1, ..Budget::NOTHING };
    explored("outages", &lab(), 1, budget, 100_000);
}

#[test]
fn namespaces_that_are_lost_and_secrets_that_change() {
    let budget = Budget { ticks: 1, lags: 1, rotations: 1, namespace_losses: 1, ..Budget::NOTHING };
    explored("namespaces", &lab(), 1, budget, 60_000);
}

#[test]
fn another_object_of_the_same_name() {
    let budget = Budget { deletion: 1, rebirth: 1, upstream_jobs: 1, ..Budget::NOTHING };
    explored("rebirth", &lab(), 1, budget, 45_000);
}

#[test]
fn another_object_of_the_same_name_behind_a_cache() {
    let budget = Budget { lags: 1, deletion: 1, rebirth: 1, endings: 1, ..Budget::NOTHING };
    explored("rebirth behind a cache", &lab(), 1, budget, 40_000);
}

#[test]
fn annotations_that_name_another_tenant() {
    let budget = Budget { lags: 1, renamings: 2, teardown: 1, endings: 1, ..Budget::NOTHING };
    explored("tenants", &lab(), 1, budget, 150_000);
}

#[test]
fn the_upstream_controller_at_the_same_time() {
    let budget = Budget { ticks: 1, upstream_jobs: 1, ..Budget::NOTHING };
    explored("upstream", &lab(), 1, budget, 40_000);
}

#[test]
fn a_status_that_others_write() {
    let budget = Budget { ticks: 1, faults: 1, endings: 1, other_writes: 2, ..Budget::NOTHING };
    explored("others", &lab(), 1, budget, 100_000);
}

#[test]
fn two_providers_at_once() {
    let budget = Budget { faults: 1, teardown: 1, ..Budget::NOTHING };
    explored("two providers", &lab(), 2, budget, 65_000);
}

#[test]
fn two_providers_at_once_and_a_deletion() {
    let budget = Budget { lags: 1, deletion: 1, ..Budget::NOTHING };
    explored("two providers, deletion", &lab(), 2, budget, 300_000);
}

/// A late creation for one that is gone, in the face of its successor.
#[test]
fn two_providers_at_once_and_another_object_of_the_same_name() {
    let budget = Budget { deletion: 1, rebirth: 1, ..Budget::NOTHING };
    explored("two providers, rebirth", &lab(), 2, budget, 100_000);
}

/// Further than exploring gets: everything at once and several times, on a way of chance. The chance is the same in
/// every run.
#[test]
fn long_walks_through_everything_at_once() {
    let budget = Budget {
        ticks: 8,
        faults: 6,
        lags: 6,
        teardown: 1,
        deletion: 2,
        rebirth: 1,
        endings: 2,
        sweeps: 1,
        job_deletions: 1,
        outages: 3,
        rotations: 1,
        namespace_losses: 2,
        upstream_jobs: 2,
        other_writes: 2,
        renamings: 2,
        extensions: 1,
        // A build cluster that takes no signal is explored by itself, see above.
        refusals: 0,
    };
    let config = Config { cases: 3000, failure_persistence: None, ..Config::default() };
    let chance = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let steps = proptest::collection::vec(any::<Index>(), 1..400);
    let labs = [lab(), Lab { lifetime: Some("15m"), prunes: true, ..lab() }];
    let taken = Cell::new(0);
    let walk = |(steps, pruned, processes): (Vec<Index>, bool, usize)| {
        let lab = &labs[usize::from(pruned)];
        let mut state = start(lab, processes, budget);
        let mut path = Vec::new();
        for step in steps {
            let mut successors = lab.successors(&state);
            if successors.is_empty() {
                break;
            }
            let (event, next) = successors.swap_remove(step.index(successors.len()));
            path.push(event);
            let failed = |broken| TestCaseError::fail(format!("{broken}\nafter {path:?}"));
            state = next.map_err(failed)?;
            lab.check(&state).map_err(failed)?;
            taken.set(taken.get() + 1);
        }
        Ok(())
    };
    TestRunner::new_with_rng(config, chance).run(&(steps, any::<bool>(), 1..3_usize), walk).unwrap();
    println!("walks: {} steps", taken.get());
    assert!(taken.get() > 50_000);
}

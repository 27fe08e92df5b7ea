//! The model check: two claims, two clusters, one pool. The real `next` decides in a provider that reads piece by piece, crashes
//! between any two writes, and does not learn what came of one; Hive does what it does in any order, and somebody writes on claims
//! what he likes.
//!
//! The provider looks at the first claim only: looks at different ones share nothing but what they read, and the second one is
//! there to be in the way.

mod look;
mod moves;
mod objects;

use look::left_alone;
use moves::{hive, newborn, others, provider};

use crate::model::explore::{Model, Next, explore};

const NAMES: [&str; 2] = ["one", "two"];
/// The claim that the provider looks at.
const LOOKED_AT: usize = 0;
const CLUSTERS: [&str; 2] = ["cluster-a", "cluster-b"];

#[derive(Clone, Debug, Hash)]
struct State {
    claims: [Option<Claim>; 2],
    clusters: [Option<Cluster>; 2],
    /// Published for the first claim.
    secret: Option<Secret>,
    looking: Option<Look>,
    /// The first claim has changed since it was read.
    changed: bool,
    budget: Budget,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Claim {
    uid: u8,
    assigned: Option<usize>,
    /// Hive has acknowledged: Pending is False.
    served: bool,
    runs: bool,
    /// It was served and ran at the same time, with the cluster that it has: the safe moment has come.
    has_run: bool,
    deleted: bool,
    /// Our annotations: status, credentials-revision.
    notes: (Option<String>, Option<String>),
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Cluster {
    claim: Option<usize>,
    ending: bool,
    /// Which kubeconfig it has.
    kubeconfig: u8,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Secret {
    uid: u8,
    cluster: usize,
    kubeconfig: u8,
    version: u8,
}

/// A look at a claim that is under way.
#[derive(Clone, Debug, Hash)]
enum Look {
    /// The claim was read.
    Claim(Claim),
    /// It was decided what to do.
    Writes(Claim, Vec<Write>),
}

#[derive(Clone, Debug, Hash)]
enum Write {
    Publish { cluster: usize, kubeconfig: u8 },
    Withdraw,
    Note(Option<String>, Option<String>),
}

/// Remaining events of each kind.
#[derive(Clone, Copy, Debug, Hash, Default)]
struct Budget {
    faults: u8,
    tampers: u8,
    rotations: u8,
    flaps: u8,
    deletions: u8,
    births: u8,
    losses: u8,
}

#[derive(Clone, Debug)]
#[allow(dead_code, reason = "read by whoever reads a path")]
enum Event {
    Looks,
    Reads,
    Writes,
    WriteAnswerLost,
    Crashes,
    Sweeps,
    Assigns(usize, usize),
    Acknowledges(usize),
    TakesBack(usize),
    Confirms(usize),
    Runs(usize),
    Stops(usize),
    Rotates(usize),
    Tampers(usize, usize),
    DeletesClaim(usize),
    GivesBack(usize),
    ClusterGone(usize),
    ClaimGone(usize),
    Reborn(usize),
    LosesCluster(usize),
}

struct Lab;

impl Model for Lab {
    type State = State;
    type Event = Event;

    fn check(&self, state: &State) -> Result<(), String> {
        left_alone(state.clone())
    }

    fn successors(&self, state: &State) -> Vec<Next<State, Event>> {
        let mut next: Vec<Next<State, Event>> = Vec::new();
        let mut add = |event: Event, change: &dyn Fn(&mut State) -> Result<(), String>| {
            let mut after = state.clone();
            let changed = change(&mut after).map(|()| after);
            next.push((event, changed));
        };
        provider(state, &mut add);
        hive(state, &mut add);
        others(state, &mut add);
        next
    }
}

type Add<'a> = dyn FnMut(Event, &dyn Fn(&mut State) -> Result<(), String>) + 'a;

fn explored(name: &str, budget: Budget, at_least: usize) {
    let fresh = Cluster { claim: None, ending: false, kubeconfig: 0 };
    let seen = explore(
        &Lab,
        State {
            claims: [Some(newborn(1)), Some(newborn(1))],
            clusters: [Some(fresh.clone()), Some(fresh)],
            secret: None,
            looking: None,
            changed: false,
            budget,
        },
    );
    println!("{name}: {} states, {} transitions, depth {}", seen.states, seen.transitions, seen.depth);
    assert!(seen.states >= at_least, "{name} has become empty: {seen:?}");
}

#[test]
fn two_claims_and_a_provider_that_crashes() {
    explored("crashes", Budget { faults: 1, ..Budget::default() }, 4_000);
}

#[test]
fn a_claim_that_is_tampered_with() {
    explored("tampering", Budget { tampers: 1, flaps: 1, ..Budget::default() }, 30_000);
}

#[test]
fn claims_that_end_and_come_again() {
    explored("ends", Budget { deletions: 1, births: 1, faults: 1, ..Budget::default() }, 10_000);
}

#[test]
fn clusters_that_end_underneath() {
    explored("losses", Budget { losses: 1, faults: 1, ..Budget::default() }, 10_000);
}

#[test]
fn credentials_that_change() {
    explored("changes", Budget { rotations: 1, flaps: 1, ..Budget::default() }, 5_000);
}

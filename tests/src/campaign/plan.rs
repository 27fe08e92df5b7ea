//! What a run does: it follows from a seed and nothing else, or is written down.

use std::{fmt, time::Duration};

use super::{
    fault::{Fault, OF_HUB, OF_KONFLUX},
    random::Random,
};
use crate::actors::Fulfilled;

/// How many claims a run makes.
const WISHES: usize = 7;
/// By then all claims are made.
const ASKED: Duration = Duration::from_secs(15);
/// By then every end was asked for. About then the last fault is put right.
const ACTIVE: Duration = Duration::from_secs(40);
/// How long a fault lasts.
const LASTS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(8)];
/// From one fault to the next.
const PAUSE: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(2)];

/// How a claim is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Not at all: it lives when everything is over.
    Stays,
    /// Torn down, and the claim stays.
    TornDown,
    /// The claim is deleted.
    Deleted,
    /// Torn down, and the claim is deleted at once.
    TornDownAndDeleted,
    /// Its job fails.
    Fails,
}

/// A claim to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Who is to fulfil it.
    pub by: Fulfilled,
    /// When it is made.
    pub at: Duration,
    /// How it ends.
    pub end: End,
    /// When that is asked for.
    pub end_at: Duration,
}

/// A fault at its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strike {
    /// When.
    pub at: Duration,
    /// What.
    pub fault: Fault,
    /// Until it is put right.
    pub lasts: Duration,
}

/// Where a plan comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It follows from a seed.
    Seed(u64),
    /// It is written down, by that name.
    Regression(&'static str),
}

impl Origin {
    /// What makes the run again.
    pub fn again(self) -> String {
        let arguments = match self {
            Self::Seed(seed) => format!("--seed {seed} --runs 1"),
            Self::Regression(name) => format!("--regression {name}"),
        };
        format!("cargo run --release -p testplatform-tests --bin campaign -- {arguments}")
    }

    /// A part of its claims' names.
    pub fn label(self) -> String {
        match self {
            Self::Seed(seed) => format!("s{seed}"),
            Self::Regression(name) => name.to_owned(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(seed) => write!(f, "seed {seed}"),
            Self::Regression(name) => write!(f, "regression {name}"),
        }
    }
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where it comes from.
    pub origin: Origin,
    /// The claims.
    pub wishes: Vec<Wish>,
    /// The faults of each side, one after the other; of both sides at the same time.
    pub sides: [Vec<Strike>; 2],
}

impl Plan {
    /// The plan of a seed.
    pub fn of(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let wishes = (0..WISHES).map(|n| wish(n, &mut random)).collect();
        let sides = [OF_KONFLUX, OF_HUB].map(|faults| side(faults, seed, &mut random));
        Self { origin: Origin::Seed(seed), wishes, sides }
    }
}

fn wish(n: usize, random: &mut Random) -> Wish {
    // Of each kind there is one that stays: a live cluster is what there is to lose.
    let by = [Fulfilled::ByProvider, Fulfilled::ByHive][n % 2];
    let ends: &[End] = match by {
        _ if n < 2 => &[End::Stays],
        Fulfilled::ByHive => &[End::Stays, End::TornDown, End::Deleted, End::TornDownAndDeleted],
        Fulfilled::ByProvider
        | Fulfilled::ByActor
        | Fulfilled::ByActorAlone
        | Fulfilled::ByHyperShift
        | Fulfilled::ByClusterApi
        | Fulfilled::ByOsac
        | Fulfilled::ByCaas => {
            &[End::Stays, End::TornDown, End::Deleted, End::TornDownAndDeleted, End::Fails]
        }
    };
    let end = random.one(ends).unwrap_or(End::Stays);
    let at = random.between(Duration::ZERO, ASKED);
    Wish { by, at, end, end_at: random.between(at, ACTIVE) }
}

/// So many seeds in a row share the faults among them: 1 to 3 have all, 4 to 6 have all.
const SHARE: u64 = 3;

fn side(faults: &[Fault], seed: u64, random: &mut Random) -> Vec<Strike> {
    let (round, turn) = (seed.wrapping_sub(1) / SHARE, seed.wrapping_sub(1) % SHARE);
    let all = Random::new(round).shuffled(faults);
    let mut at = random.between(Duration::ZERO, PAUSE[1]);
    let mut strikes = Vec::new();
    let own = all.iter().zip((0..SHARE).cycle()).filter(|(_, whose)| *whose == turn);
    for (fault, _) in own {
        let lasts = random.between(LASTS[0], LASTS[1]);
        strikes.push(Strike { at, fault: *fault, lasts });
        at += lasts + random.between(PAUSE[0], PAUSE[1]);
    }
    strikes
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Wish { by, at, end, end_at }) in self.wishes.iter().enumerate() {
            writeln!(f, "  {at:>8.1?} claim {number} {by:?}; {end:?} at {end_at:.1?}")?;
        }
        let mut strikes: Vec<&Strike> = self.sides.iter().flatten().collect();
        strikes.sort_by_key(|strike| strike.at);
        for Strike { at, fault, lasts } in strikes {
            writeln!(f, "  {at:>8.1?} {fault} for {lasts:.1?}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::campaign::SEEDS;

    #[test]
    fn it_follows_from_the_seed() {
        assert_eq!(Plan::of(7), Plan::of(7));
        assert_ne!(Plan::of(7), Plan::of(8));
    }

    #[test]
    fn a_side_has_one_fault_at_a_time() {
        for seed in 0..200 {
            for side in Plan::of(seed).sides {
                assert!(side.len() >= 4, "{seed}: {side:?}");
                for pair in side.windows(2) {
                    assert!(pair[0].at + pair[0].lasts <= pair[1].at, "{seed}: {pair:?}");
                }
            }
        }
    }

    #[test]
    fn something_always_lives_on() {
        for seed in 0..200 {
            for by in [Fulfilled::ByProvider, Fulfilled::ByHive] {
                let stays = |wish: &&Wish| wish.by == by && wish.end == End::Stays;
                assert!(Plan::of(seed).wishes.iter().any(|wish| stays(&wish)), "{seed}");
            }
        }
    }

    #[test]
    fn seeds_in_a_row_share_all_faults() {
        let struck = (4..7).flat_map(|seed| Plan::of(seed).sides).flatten().map(|strike| strike.fault);
        let struck: Vec<Fault> = struck.collect();
        assert_eq!(struck.len(), OF_KONFLUX.len() + OF_HUB.len());
        assert_eq!(struck.iter().collect::<BTreeSet<_>>().len(), struck.len());
    }

    /// What CI runs meets with every fault that there is, and every end.
    #[test]
    fn the_fixed_seeds_have_everything() {
        let plans: Vec<Plan> = SEEDS.into_iter().map(Plan::of).collect();
        let struck: BTreeSet<Fault> =
            plans.iter().flat_map(|plan| plan.sides.iter().flatten()).map(|strike| strike.fault).collect();
        let missing: Vec<String> = OF_KONFLUX
            .iter()
            .chain(OF_HUB)
            .filter(|f| !struck.contains(f))
            .map(ToString::to_string)
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
        for end in [End::Stays, End::TornDown, End::Deleted, End::TornDownAndDeleted, End::Fails] {
            assert!(plans.iter().flat_map(|plan| &plan.wishes).any(|wish| wish.end == end), "{end:?}");
        }
    }
}

//! Plan of a run: it follows from a seed alone, or is written down.

use std::{fmt, time::Duration};

use super::{
    fault::{Fault, OF_HUB, OF_KONFLUX},
    random::Random,
};
use crate::actors::Fulfilled;

/// How many claims a run makes, unless it takes more to have one on its way whenever a fault comes.
const WISHES: usize = 8;
/// So long before a fault at the most something was asked for that it meets with on its way.
const AHEAD: Duration = Duration::from_secs(3);
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
    /// Command line that repeats the run.
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
        let sides = [OF_KONFLUX, OF_HUB].map(|faults| side(faults, seed, &mut random));
        let wishes = wishes(&moments(&sides, &mut random), &mut random);
        Self { origin: Origin::Seed(seed), wishes, sides }
    }
}

/// When something is asked for: shortly before each fault, or in the first half of it, and beside that at any time until the last is over.
fn moments(sides: &[Vec<Strike>; 2], random: &mut Random) -> Vec<Duration> {
    let mut strikes: Vec<&Strike> = sides.iter().flatten().collect();
    // In the order of when it is too late for each, so that what is asked for because of one may do for those after it.
    strikes.sort_by_key(|strike| strike.at + strike.lasts / 2);
    let over = strikes.iter().map(|strike| strike.at + strike.lasts).max().unwrap_or_default();
    let mut moments: Vec<Duration> = Vec::new();
    for strike in strikes {
        let (from, to) = (strike.at.saturating_sub(AHEAD), strike.at + strike.lasts / 2);
        if !moments.iter().any(|moment| (from..to).contains(moment)) {
            moments.push(random.between(from, to));
        }
    }
    // Two claims are only made; of each other one the end is asked for too.
    while moments.len() < 2 * WISHES - 2 || !moments.len().is_multiple_of(2) {
        moments.push(random.between(Duration::ZERO, over));
    }
    moments.sort_unstable();
    moments
}

/// Claims: at each of these moments one is made, or one that was made is ended.
fn wishes(moments: &[Duration], random: &mut Random) -> Vec<Wish> {
    let count = moments.len() / 2 + 1;
    let mut wishes: Vec<Wish> = Vec::with_capacity(count);
    // Those whose end is still to be asked for.
    let mut open: Vec<usize> = Vec::new();
    for (past, at) in moments.iter().enumerate() {
        let (moments_left, wishes_left) = (moments.len() - past, count - wishes.len());
        if open.is_empty() || random.place(moments_left) < wishes_left {
            let wish = wish(wishes.len(), *at, random);
            if wish.end != End::Stays {
                open.push(wishes.len());
            }
            wishes.push(wish);
        } else {
            let ended = open.swap_remove(random.place(open.len()));
            wishes[ended].end_at = *at;
        }
    }
    wishes
}

/// A claim whose end is not asked for yet.
fn wish(n: usize, at: Duration, random: &mut Random) -> Wish {
    // The first of each kind stays: a live cluster is what there is to lose.
    let by = [Fulfilled::ByProvider, Fulfilled::ByHive][n % 2];
    let ends: &[End] = match by {
        _ if n < 2 => &[End::Stays],
        Fulfilled::ByHive => &[End::TornDown, End::Deleted, End::TornDownAndDeleted],
        Fulfilled::ByProvider
        | Fulfilled::ByActor
        | Fulfilled::ByActorAlone
        | Fulfilled::ByHyperShift
        | Fulfilled::ByClusterApi
        | Fulfilled::ByOsac
        | Fulfilled::ByCaas => &[End::TornDown, End::Deleted, End::TornDownAndDeleted, End::Fails],
    };
    Wish { by, at, end: random.one(ends).unwrap_or(End::Stays), end_at: at }
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

    /// A fault in a world at rest shows nothing.
    #[test]
    fn whenever_a_fault_comes_a_claim_is_on_its_way() {
        let way = Duration::from_secs(3);
        for seed in (0..200).chain(SEEDS) {
            let Plan { wishes, sides, .. } = Plan::of(seed);
            let asked: Vec<Duration> = wishes.iter().flat_map(|wish| [wish.at, wish.end_at]).collect();
            for Strike { at, fault, lasts } in sides.iter().flatten() {
                let meets = asked.iter().any(|asked| *at <= *asked + way && *asked < *at + *lasts);
                assert!(meets, "{seed}: {fault} at {at:?} for {lasts:?}: {asked:?}");
            }
        }
    }

    #[test]
    fn every_claim_is_made_before_it_ends() {
        for seed in (0..200).chain(SEEDS) {
            let Plan { wishes, .. } = Plan::of(seed);
            assert!(wishes.len() >= WISHES, "{seed}: {wishes:?}");
            for wish in &wishes {
                assert!(wish.end == End::Stays || wish.at < wish.end_at, "{seed}: {wish:?}");
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

    /// The seeds of CI contain every kind of fault, and every kind of end.
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

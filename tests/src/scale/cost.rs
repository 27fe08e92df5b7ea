//! Cost of a claim's life, apart from the cost of claims that merely exist.
//!
//! At a steady rate, each claim exists the longer the more claims there are, and is reconciled again and again meanwhile: by
//! provider-kubernetes twice a minute until it is ready. So the cost for each claim would grow with their number although nothing
//! else does. The cost of existing claims is therefore measured by itself, while nothing is requested, and subtracted.

use std::time::Duration;

use super::{
    meter::Span,
    report::Report,
    timeline::{Moment, Timeline},
};

/// By how much more a life may cost with the most claims than with the fewest.
const TOLERANCE: f64 = 1.25;
/// Error of a program's CPU for all lives of a run: it is counted in hundredths of a second, at both ends of three spans.
const UNSURE: Duration = Duration::from_millis(60);
/// The programs whose cost is ours to answer for.
const OURS: [&str; 2] = ["function-testplatform", "provider-testplatform"];

/// For how long claims were there, all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dwelt {
    /// Until they were ready.
    pub provisioning: Duration,
    /// From then on until they were told to end.
    pub ready: Duration,
}

impl Dwelt {
    /// As the timeline tells, without the times in which nothing was asked for and all were there.
    pub fn of(timeline: &Timeline, claims: u32, provisioning: &Span, ready: &Span) -> Self {
        let between = |from, to, rest: &Span| {
            let all: Duration = timeline.between(from, to).iter().sum();
            all.saturating_sub(rest.took * claims)
        };
        Self {
            provisioning: between(Moment::Provisioning, Moment::Ready, provisioning),
            ready: between(Moment::Ready, Moment::Told, ready),
        }
    }
}

/// CPU of a program in a time in which nothing was asked for, as a part of a core.
pub fn share(rest: &Span, program: &str) -> f64 {
    let cpu = rest.cpu.0.get(program).map_or(Duration::ZERO, |used| used.cpu);
    cpu.as_secs_f64() / rest.took.as_secs_f64()
}

/// A program's CPU for one existing claim, as a part of a core: the CPU beyond that with no claims.
pub fn standing(report: &Report, rest: &Span, program: &str) -> f64 {
    (share(rest, program) - share(&report.idle, program)).max(0.0) / f64::from(report.claims)
}

/// CPU of a program for what was done for one claim, in seconds.
pub fn life(report: &Report, program: &str) -> f64 {
    let cpu = report.life.cpu.0.get(program).map_or(Duration::ZERO, |used| used.cpu);
    let idle = share(&report.idle, program) * report.life.took.as_secs_f64();
    let there = standing(report, &report.provisioning, program) * report.dwelt.provisioning.as_secs_f64()
        + standing(report, &report.ready, program) * report.dwelt.ready.as_secs_f64();
    (cpu.as_secs_f64() - idle - there).max(0.0) / f64::from(report.claims)
}

/// How a program's cost of a life grows from the fewest claims to the most, and whether that is to be borne.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Its name.
    pub program: &'static str,
    /// That with the most, as a part of that with the fewest.
    pub ratio: f64,
    /// `true` if the cost for each claim stays the same as their number grows.
    pub linear: bool,
}

/// Of our programs. Nothing if there is but one number of claims.
pub fn growth(reports: &[Report]) -> Vec<Growth> {
    let most = reports.iter().max_by_key(|report| report.claims);
    let fewest = reports.iter().min_by_key(|report| report.claims);
    let (Some(fewest), Some(most)) = (fewest, most) else { return vec![] };
    if fewest.claims == most.claims {
        return vec![];
    }
    let of = |program| {
        let (one, another) = (life(fewest, program), life(most, program));
        let unsure = UNSURE.as_secs_f64() / f64::from(fewest.claims);
        Growth {
            program,
            ratio: another / one.max(f64::EPSILON),
            linear: another <= one * TOLERANCE + unsure,
        }
    };
    OURS.map(of).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        scale::calls::Calls,
        usage::{Usage, Used},
    };

    fn usage(millis: u64) -> Usage {
        let used = Used { cpu: Duration::from_millis(millis), ..Used::default() };
        Usage(OURS.map(|name| (name.to_owned(), used)).into())
    }

    fn span(millis: u64, seconds: u64) -> Span {
        Span { cpu: usage(millis), took: Duration::from_secs(seconds), calls: Calls::default() }
    }

    /// 10 ms for each claim, 1 % of a core for nothing, 0.1 % for each that waits, 0.05 % for each that is ready.
    fn report(claims: u32, life: u64) -> Report {
        let n = u64::from(claims);
        let dwelt = Dwelt {
            provisioning: Duration::from_secs(100) * claims,
            ready: Duration::from_secs(200) * claims,
        };
        Report {
            claims,
            timeline: Timeline::default(),
            life: span(n * life + 4000 + n * 100 + n * 100, 400),
            idle: span(100, 10),
            provisioning: span(100 + n * 10, 10),
            ready: span(100 + n * 5, 10),
            dwelt,
            calm: true,
            used: usage(0),
        }
    }

    #[test]
    fn that_claims_are_there_is_no_part_of_their_lives() {
        let report = report(50, 10);
        assert!((life(&report, OURS[0]) - 0.010).abs() < 1e-9, "{}", life(&report, OURS[0]));
        assert!((standing(&report, &report.provisioning, OURS[1]) - 0.001).abs() < 1e-9);
    }

    #[test]
    fn what_grows_faster_than_the_claims_is_told() {
        let told = |most| growth(&[report(100, 10), report(500, 11), report(2000, most)]);
        assert!(told(12).iter().all(|growth| growth.linear && (growth.ratio - 1.2).abs() < 1e-6));
        assert!(told(14).iter().all(|growth| !growth.linear));
        // Of two claims it cannot be told.
        assert!(growth(&[report(2, 10), report(3, 14)]).iter().all(|growth| growth.linear));
        assert_eq!(growth(&[report(100, 10)]), []);
    }
}

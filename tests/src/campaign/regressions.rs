//! Plans that are written down, and run beside the seeds. The meaning of a seed changes whenever a fault is added; these stay as they
//! are.
//!
//! A campaign that fails prints its plan as it has to stand here. Of what it prints as much goes as still fails without it; then it
//! is given a name and the reason why it is here.

use std::time::Duration;

use super::{
    fault::{
        Certificate,
        Fault::{self, Killed, Reset, Rotated},
        Part, Wire,
    },
    plan::{
        End::{self, Deleted, Stays, TornDownAndDeleted},
        Origin, Plan, Strike, Wish,
    },
};
use crate::actors::Fulfilled::{self, ByHive, ByProvider};

/// A plan that is written down.
struct Regression {
    /// A part of its claims' names.
    name: &'static str,
    claims: &'static [Wish],
    /// The faults of each side, as in [`Plan::sides`].
    konflux: &'static [Strike],
    hub: &'static [Strike],
}

const ALL: &[Regression] = &[
    // The function's certificate is replaced while the function starts and reads it: a certificate of one version and the key of
    // the next ended it. Which of the two comes first is a matter of a millisecond, so there are several tries;
    // function/tests/it/serve.rs has the same without chance.
    Regression {
        name: "rotated-at-start",
        claims: &[claim(0, ByProvider, Stays, 0), claim(0, ByHive, Stays, 0)],
        konflux: &[
            strike(1000, Killed(Part::Function), 500),
            strike(1500, Rotated(Certificate::Server), 500),
            strike(2000, Killed(Part::Function), 500),
            strike(2500, Rotated(Certificate::Server), 500),
            strike(3000, Killed(Part::Function), 500),
            strike(3500, Rotated(Certificate::Server), 500),
            strike(4000, Killed(Part::Function), 500),
            strike(4500, Rotated(Certificate::Server), 500),
        ],
        hub: &[],
    },
    // Claims are deleted in the second in which they are made, while core's connections break: core may forget their composites
    // (docs/explanation/security.md). Whatever else is left of them is ours.
    Regression {
        name: "deleted-as-made",
        claims: &[
            claim(0, ByProvider, Stays, 0),
            claim(1000, ByProvider, Deleted, 1200),
            claim(2000, ByHive, Deleted, 2500),
            claim(3000, ByProvider, TornDownAndDeleted, 3700),
            claim(4000, ByHive, Deleted, 4900),
        ],
        konflux: &[strike(500, Reset(Wire::Konflux), 5000)],
        hub: &[],
    },
];

/// All of them.
pub fn all() -> Vec<Plan> {
    ALL.iter().map(Regression::plan).collect()
}

/// Made after so many milliseconds, and so ended after so many.
const fn claim(at: u64, by: Fulfilled, end: End, end_at: u64) -> Wish {
    Wish { at: Duration::from_millis(at), by, end, end_at: Duration::from_millis(end_at) }
}

/// After so many milliseconds, for so many.
const fn strike(at: u64, fault: Fault, lasts: u64) -> Strike {
    Strike { at: Duration::from_millis(at), fault, lasts: Duration::from_millis(lasts) }
}

impl Regression {
    fn plan(&self) -> Plan {
        let sides = [self.konflux, self.hub].map(<[Strike]>::to_vec);
        Plan { origin: Origin::Regression(self.name), wishes: self.claims.to_vec(), sides }
    }
}

/// A plan as it has to stand here.
pub fn written(plan: &Plan) -> String {
    let claims = plan.wishes.iter().map(|Wish { by, at, end, end_at }| {
        format!("claim({}, {by:?}, {end:?}, {})", at.as_millis(), end_at.as_millis())
    });
    let [konflux, hub] = &plan.sides;
    let strikes = |side: &[Strike]| {
        let written = |Strike { at, fault, lasts }: &Strike| {
            format!("strike({}, {}, {})", at.as_millis(), named(*fault), lasts.as_millis())
        };
        list(side.iter().map(written))
    };
    format!(
        "Regression {{\n    name: \"{}\",\n    claims: {},\n    konflux: {},\n    hub: {},\n}},",
        plan.origin.label(),
        list(claims),
        strikes(konflux),
        strikes(hub),
    )
}

fn list(lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.map(|line| format!("        {line},\n")).collect();
    if lines.is_empty() { "&[]".to_owned() } else { format!("&[\n{}    ]", lines.concat()) }
}

/// A fault as code: its parts are known by their types.
fn named(fault: Fault) -> String {
    let kind = match fault {
        Killed(_) | Fault::WrongAuthority(_) | Fault::Skewed(..) | Fault::SlowLoris(_) => "Part::",
        Reset(_) | Fault::Slow(_) | Fault::Silent(_) | Fault::Refused(_) => "Wire::",
        Fault::NoSpace(_) => "Plane::",
        Rotated(_) | Fault::Expired(_) => "Certificate::",
        Fault::LargeAnswers | Fault::LongAnswers | Fault::Crowd => "",
    };
    let code = format!("{fault:?}").replacen('(', &format!("({kind}"), 1);
    // The value within a part, or a wire, is a control plane.
    code.replace("(Konflux)", "(Plane::Konflux)").replace("(Hub)", "(Plane::Hub)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::fault::{OF_HUB, OF_KONFLUX, Plane};

    /// The printed form of a plan is valid code for this file.
    #[test]
    fn they_stand_here_as_a_campaign_prints_them() {
        let dense = |text: &str| {
            let text: String = text.split_whitespace().collect();
            text.replace(",]", "]").replace(",}", "}").replace('_', "")
        };
        let here = dense(include_str!("regressions.rs"));
        for plan in all() {
            let written = written(&plan);
            // The last of them has no comma after it once those at ends are gone.
            assert!(here.contains(dense(&written).trim_end_matches(',')), "{written}");
        }
    }

    #[test]
    fn every_fault_can_be_written() {
        for (fault, code) in [
            (Killed(Part::ApiServer(Plane::Hub)), "Killed(Part::ApiServer(Plane::Hub))"),
            (Reset(Wire::Konflux), "Reset(Wire::Konflux)"),
            (Fault::Slow(Wire::Etcd(Plane::Konflux)), "Slow(Wire::Etcd(Plane::Konflux))"),
            (Fault::NoSpace(Plane::Hub), "NoSpace(Plane::Hub)"),
            (Rotated(Certificate::Client), "Rotated(Certificate::Client)"),
            (Fault::Skewed(Part::Provider, -60), "Skewed(Part::Provider, -60)"),
            (Fault::Crowd, "Crowd"),
        ] {
            assert_eq!(named(fault), code);
        }
        for fault in OF_KONFLUX.iter().chain(OF_HUB) {
            assert_eq!(named(*fault).contains('('), named(*fault).contains("::"), "{fault:?}");
        }
    }

    #[test]
    fn each_can_be_run() {
        let names: std::collections::BTreeSet<&str> = ALL.iter().map(|one| one.name).collect();
        assert_eq!(names.len(), ALL.len());
        for Regression { name, claims, konflux, hub } in ALL {
            let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            assert!(plain && name.len() <= 30, "{name}: it is a part of objects' names");
            assert!(claims.iter().all(|wish| wish.at <= wish.end_at), "{name}");
            for side in [konflux, hub] {
                let apart = side.windows(2).all(|pair| pair[0].at + pair[0].lasts <= pair[1].at);
                assert!(apart, "{name}: a side has one fault at a time");
            }
        }
    }
}

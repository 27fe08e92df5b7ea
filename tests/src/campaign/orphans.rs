//! Composites whose claims are gone: which of them Crossplane core forgot, and which are somebody else's fault.
//!
//! Core v2.3 deletes a claim's composite only if that is in its cache, and lets the claim go all the same; one that has just been
//! made, while the connection to the API server breaks or core is killed, is not. Only an administrator can end it then. That is
//! known (docs/explanation/security.md), and excused where this is what has happened; any other composite that stays is a violation.

use std::sync::Mutex;

use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    fault::{Certificate, Fault, Part, Plane, Wire},
    field::lock,
};
use crate::{actors::now, hive::objects::text, recorder::Said};

/// So soon after a composite was made core may not have heard of it even if nothing is wrong with its connection.
const JUST: SignedDuration = SignedDuration::from_secs(3);
/// How far moments may be from each other that two programs wrote, one of them to the second.
const NEAR: SignedDuration = SignedDuration::from_secs(2);
/// For so long core's watches wait before they try again, at the most, if they have failed for a while.
const WAITS: SignedDuration = SignedDuration::from_secs(60);

/// When core was kept from hearing of konflux, in a run.
#[derive(Default)]
pub struct Deafness(Mutex<Vec<(Fault, Timestamp, Option<Timestamp>)>>);

impl Deafness {
    /// A fault begins.
    pub fn begins(&self, fault: Fault) {
        if deafens(fault) {
            lock(&self.0).push((fault, now(), None));
        }
    }

    /// A fault is over.
    pub fn ends(&self, fault: Fault) {
        let mut all = lock(&self.0);
        let open = all.iter_mut().rev().find(|(of, _, end)| *of == fault && end.is_none());
        if let Some((_, _, end)) = open {
            *end = Some(now());
        }
    }

    /// From when until when, what comes after it included.
    pub fn times(&self) -> Vec<[Timestamp; 2]> {
        let of = |(_, begin, end): &(Fault, Timestamp, Option<Timestamp>)| {
            [*begin, end.unwrap_or_else(now) + WAITS]
        };
        lock(&self.0).iter().map(of).collect()
    }
}

/// `true` if a fault can keep core from hearing of objects on konflux.
const fn deafens(fault: Fault) -> bool {
    match fault {
        Fault::Killed(part) => {
            matches!(part, Part::Core | Part::ApiServer(Plane::Konflux) | Part::Etcd(Plane::Konflux))
        }
        Fault::Reset(wire) | Fault::Slow(wire) | Fault::Silent(wire) | Fault::Refused(wire) => {
            matches!(wire, Wire::Konflux | Wire::Etcd(Plane::Konflux))
        }
        // Core is killed for it.
        Fault::Rotated(certificate) | Fault::Expired(certificate) => {
            matches!(certificate, Certificate::Client)
        }
        // When there is room again the composite may be made while its claim, which was to be deleted all the while, goes.
        Fault::NoSpace(plane) => matches!(plane, Plane::Konflux),
        Fault::WrongAuthority(_)
        | Fault::Skewed(..)
        | Fault::LargeAnswers
        | Fault::LongAnswers
        | Fault::SlowLoris(_)
        | Fault::Crowd => false,
    }
}

/// A composite without a claim.
#[derive(Clone, Copy, Debug)]
pub struct Orphan {
    made: Timestamp,
    /// When core first said something of it, and so had it in its cache.
    known: Option<Timestamp>,
    /// When a tenant deleted its claim.
    deleted: Option<Timestamp>,
}

impl Orphan {
    /// Reads it: from the composite, what was ever said of it, and when its claim was first deleted.
    pub fn read(composite: &Value, said: &[Said], deleted: Option<Timestamp>) -> anyhow::Result<Self> {
        let made = text(composite, "/metadata/creationTimestamp")
            .parse::<Timestamp>()
            .context("when it was made")?;
        let conditions = composite["status"]["conditions"].as_array().into_iter().flatten();
        let conditions = said.iter().map(|said| &said.ready).chain(conditions);
        let times: Result<Vec<Timestamp>, _> = conditions
            .filter_map(|condition| condition["lastTransitionTime"].as_str())
            .map(str::parse::<Timestamp>)
            .collect();
        let known = times.context("when core said something of it")?.into_iter().min();
        Ok(Self { made, known, deleted })
    }

    /// `true` if core had a reason not to know of it when its claim was deleted: it had just been created, or a fault
    /// kept core from hearing of it.
    pub fn is_excused(self, deaf: &[[Timestamp; 2]]) -> bool {
        let Some(deleted) = self.deleted else { return false };
        let unknown = self.known.is_none_or(|known| known >= deleted - NEAR);
        let (from, to) = (self.made.min(deleted), self.made.max(deleted));
        let just = to.duration_since(from) <= JUST;
        let meanwhile = deaf.iter().any(|[begin, end]| *begin <= to + NEAR && from - NEAR <= *end);
        unknown && (just || meanwhile)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn moment(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_268_800 + second).unwrap()
    }

    fn orphan(known: Option<i64>, deleted: Option<i64>) -> Orphan {
        let ready =
            |second: i64| json!({ "status": "False", "lastTransitionTime": moment(second).to_string() });
        let composite = json!({
            "metadata": { "creationTimestamp": moment(0).to_string() },
            "status": { "conditions": [ready(60)] },
        });
        let mut said = vec![Said::default()];
        said.extend(known.map(|known| Said { ready: ready(known), ..Said::default() }));
        said.push(Said { ready: ready(50), ..Said::default() });
        Orphan::read(&composite, &said, deleted.map(moment)).unwrap()
    }

    #[test]
    fn only_what_core_cannot_have_known_is_excused() {
        let deaf = [[moment(9), moment(20)]];
        for (known, deleted, deaf, is, why) in [
            (None, Some(1), &[][..], true, "deleted as it was made"),
            (Some(8), Some(1), &[][..], true, "known later"),
            (None, Some(-1), &[][..], true, "made as the claim was deleted"),
            (None, Some(10), &deaf[..], true, "deaf when it was deleted"),
            (None, Some(10), &[][..], false, "no reason not to know"),
            (None, Some(5), &deaf[..], false, "deaf only later"),
            (Some(3), Some(10), &deaf[..], false, "known long before"),
            (None, None, &deaf[..], false, "nobody deleted the claim"),
        ] {
            assert_eq!(orphan(known, deleted).is_excused(deaf), is, "{why}");
        }
    }

    #[test]
    fn only_what_is_between_core_and_konflux_deafens_it() {
        let deafness = Deafness::default();
        for fault in [Fault::Killed(Part::Function), Fault::Reset(Wire::Objects), Fault::Crowd] {
            deafness.begins(fault);
        }
        assert!(deafness.times().is_empty());
        let (reset, killed) = (Fault::Reset(Wire::Konflux), Fault::Killed(Part::Core));
        deafness.begins(reset);
        deafness.begins(killed);
        deafness.ends(killed);
        let [of_reset, of_killed] = deafness.times()[..] else { panic!("{:?}", deafness.times()) };
        assert!(of_reset[0] <= of_killed[0] && of_killed[1] <= of_reset[1], "{of_reset:?} {of_killed:?}");
    }
}

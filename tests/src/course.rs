//! Allowed values of conditions in the course of a claim's life, as [`crate::recorder`] has it.

use serde_json::Value;

/// A condition in the course of time, each with the phase beside it.
pub type Course<'a> = [(&'a str, &'a Value)];

/// Where a course says what it must not: after True, `ClusterReady` is False only at the end, and never True again.
/// Unknown is core's word for a pass that failed, and says nothing. `source`: the course that it is a copy of, or itself.
pub fn withdrawn(course: &Course<'_>, source: &Course<'_>) -> Option<usize> {
    let (mut ever, mut over) = (false, false);
    said(course, source).find_map(|(at, (phase, condition))| {
        let ready = match condition["status"].as_str() {
            Some("True") => true,
            Some("False") => false,
            _ => {
                // Somebody took the status away, and the memory with it.
                ever &= !condition.is_null();
                return None;
            }
        };
        over |= ever && !ready;
        ever |= ready;
        (over && (ready || !["Deprovisioned", "Failed"].contains(&phase))).then_some(at)
    })
}

/// Where a composite's course says what it must not: after True, Crossplane's `Ready` is False only where the phase is
/// Failed: it stays when a cluster has ended as it should, because the emptied credentials have to reach the tenant.
pub fn unready(course: &Course<'_>) -> Option<usize> {
    let mut ever = false;
    said(course, course).find_map(|(at, (phase, condition))| {
        let ready = condition["status"] == "True";
        ever = ready || (ever && !condition.is_null());
        (ever && !ready && phase != "Failed").then_some(at)
    })
}

/// Without what core only restates.
fn said<'a>(
    course: &'a Course<'a>,
    source: &'a Course<'a>,
) -> impl Iterator<Item = (usize, (&'a str, &'a Value))> {
    course.iter().copied().enumerate().filter(|(at, _)| !restated(course, source, *at))
}

/// Core v2.3 applies a composite's status with the conditions as its cache has them, and then updates it with those of
/// the pass. Where the cache is behind, an older condition is there again for a moment, with its old time; a condition
/// that really changes has a new one. A claim's are copies of the composite's, and of them some are left out: one that
/// is there for the first time may be older than the one before it all the same, even of the same second.
fn restated(course: &Course<'_>, source: &Course<'_>, at: usize) -> bool {
    let now = course[at].1;
    let time = |condition: &Value| condition["lastTransitionTime"].as_str().map(str::to_owned);
    let Some(before) = course[..at].iter().rposition(|(_, condition)| *condition != now) else {
        return false;
    };
    let seen = course[..before].iter().any(|(_, condition)| *condition == now);
    let replaced = course[before].1;
    // A real change is never older than the value that it replaces.
    let older = time(now).zip(time(replaced)).is_some_and(|(now, before)| now < before);
    let first = |sought: &Value| source.iter().position(|(_, condition)| *condition == sought);
    let earlier = first(now).zip(first(replaced)).is_some_and(|(now, before)| now < before);
    !now.is_null() && (seen || older || earlier)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn course(said: &[(&'static str, &str, u8)]) -> Vec<(&'static str, Value)> {
        let condition = |status: &str, second: u8| match status {
            "" => Value::Null,
            _ => json!({ "status": status, "lastTransitionTime": format!("2026-01-01T00:00:{second:02}Z") }),
        };
        said.iter().map(|(phase, status, second)| (*phase, condition(status, *second))).collect()
    }

    fn of<'a>(course: &'a [(&'static str, Value)]) -> Vec<(&'a str, &'a Value)> {
        course.iter().map(|(phase, condition)| (*phase, condition)).collect()
    }

    fn latches(course: &Course<'_>) -> bool {
        withdrawn(course, course).is_none()
    }

    fn stays(course: &Course<'_>) -> bool {
        unready(course).is_none()
    }

    #[test]
    fn a_life_as_it_should_be() {
        let life = course(&[
            ("", "", 0),
            ("Pending", "False", 1),
            ("Ready", "True", 2),
            ("Ready", "Unknown", 3),
            ("Ready", "True", 4),
            ("Deprovisioning", "True", 4),
            ("Deprovisioned", "False", 5),
        ]);
        assert!(latches(&of(&life)));
        assert!(stays(&of(&course(&[("", "False", 1), ("Ready", "True", 2), ("Failed", "False", 3)]))));
    }

    #[test]
    fn what_is_withdrawn_is_noticed() {
        let flap = course(&[
            ("Pending", "False", 1),
            ("Ready", "True", 2),
            ("Ready", "False", 3),
            ("Ready", "True", 4),
        ]);
        assert!(!latches(&of(&flap)) && !stays(&of(&flap)));
        let late =
            course(&[("Ready", "True", 2), ("Deprovisioned", "False", 3), ("Deprovisioned", "True", 4)]);
        assert!(!latches(&of(&late)));
    }

    #[test]
    fn what_core_restates_is_not_a_withdrawal() {
        let flap = course(&[
            ("Pending", "False", 1),
            ("Ready", "True", 2),
            ("Ready", "False", 1),
            ("Ready", "True", 2),
        ]);
        assert!(latches(&of(&flap)) && stays(&of(&flap)));
        let missed = course(&[
            ("Pending", "False", 1),
            ("Ready", "True", 3),
            ("Ready", "False", 2),
            ("Ready", "True", 3),
        ]);
        assert!(latches(&of(&missed)) && stays(&of(&missed)));
    }

    #[test]
    fn a_copy_may_show_late_what_it_left_out() {
        let composite =
            course(&[("Pending", "False", 1), ("Provisioning", "False", 2), ("Ready", "True", 2)]);
        let claim = course(&[
            ("Pending", "False", 1),
            ("Ready", "True", 2),
            ("Ready", "False", 2),
            ("Ready", "True", 2),
        ]);
        assert_eq!(withdrawn(&of(&claim), &of(&composite)), None);
        assert_eq!(withdrawn(&of(&claim), &of(&claim)), Some(2), "the composite never said so");
    }

    #[test]
    fn memory_goes_with_the_status() {
        let dropped = course(&[("Ready", "True", 2), ("", "", 0), ("", "False", 3), ("Ready", "True", 4)]);
        assert!(latches(&of(&dropped)) && stays(&of(&dropped)));
    }
}

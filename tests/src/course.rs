//! What a condition may say in the course of a claim's life, as [`crate::recorder`] has it.

use serde_json::Value;

/// A condition in the course of time, each with the phase beside it.
pub type Course<'a> = [(&'a str, &'a Value)];

/// After True, `ClusterReady` is False only at the end, and never True again. Unknown is core's word for a pass that
/// failed, and says nothing.
pub fn latches(course: &Course<'_>) -> bool {
    let (mut ever, mut over) = (false, false);
    said(course).all(|(phase, condition)| {
        let ready = match condition["status"].as_str() {
            Some("True") => true,
            Some("False") => false,
            _ => {
                // Somebody took the status away, and the memory with it.
                ever &= !condition.is_null();
                return true;
            }
        };
        over |= ever && !ready;
        ever |= ready;
        !over || (!ready && ["Deprovisioned", "Failed"].contains(&phase))
    })
}

/// After True, Crossplane's `Ready` is False only where the phase is Failed: it stays when a cluster has ended as it
/// should, because the emptied credentials have to reach the tenant.
pub fn stays(course: &Course<'_>) -> bool {
    let mut ever = false;
    said(course).all(|(phase, condition)| {
        let ready = condition["status"] == "True";
        ever = ready || (ever && !condition.is_null());
        !ever || ready || phase == "Failed"
    })
}

/// Without what core only restates.
fn said<'a>(course: &'a Course<'a>) -> impl Iterator<Item = (&'a str, &'a Value)> {
    course.iter().enumerate().filter(|(at, _)| !restated(course, *at)).map(|(_, said)| *said)
}

/// Core v2.3 applies a composite's status with the conditions as its cache has them, and then updates it with those of
/// the pass. Where the cache is behind, an older condition is there again for a moment, with its old time; a condition
/// that really changes has a new one.
fn restated(course: &Course<'_>, at: usize) -> bool {
    let now = course[at].1;
    let time = |condition: &Value| condition["lastTransitionTime"].as_str().map(str::to_owned);
    let Some(before) = course[..at].iter().rposition(|(_, condition)| *condition != now) else {
        return false;
    };
    let seen = course[..before].iter().any(|(_, condition)| *condition == now);
    // A watch of the claim may have missed it the first time; what really changes is never older than what it replaces.
    let older = time(now).zip(time(course[before].1)).is_some_and(|(now, before)| now < before);
    !now.is_null() && (seen || older)
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
    fn memory_goes_with_the_status() {
        let dropped = course(&[("Ready", "True", 2), ("", "", 0), ("", "False", 3), ("Ready", "True", 4)]);
        assert!(latches(&of(&dropped)) && stays(&of(&dropped)));
    }
}

//! Next possible events: by the provider, Hive and others.

use super::{
    Add, Claim, Event, LOOKED_AT, Look, State,
    look::{decide, write},
};

pub(super) fn provider(state: &State, add: &mut Add<'_>) {
    match &state.looking {
        None => {
            if state.claims[LOOKED_AT].is_some() {
                add(Event::Looks, &|s| {
                    begin(s);
                    Ok(())
                });
            }
        }
        Some(Look::Claim(..)) => add(Event::Reads, &|s| {
            decide(s);
            Ok(())
        }),
        Some(Look::Writes(..)) => {
            add(Event::Writes, &|s| write(s, false));
            if state.budget.faults > 0 {
                add(Event::WriteAnswerLost, &|s| {
                    s.budget.faults -= 1;
                    write(s, true)
                });
            }
        }
    }
    if state.looking.is_some() && state.budget.faults > 0 {
        add(Event::Crashes, &|s| {
            s.budget.faults -= 1;
            (s.looking, s.changed) = (None, false);
            Ok(())
        });
    }
    if is_orphan(state) {
        add(Event::Sweeps, &|s| {
            s.secret = None;
            Ok(())
        });
    }
}

/// Reads the claim.
pub(super) fn begin(state: &mut State) {
    state.looking = state.claims[LOOKED_AT].clone().map(Look::Claim);
    state.changed = false;
}

pub(super) fn hive(state: &State, add: &mut Add<'_>) {
    for n in 0..2 {
        let Some(claim) = &state.claims[n] else { continue };
        let cluster = claim.assigned.and_then(|c| state.clusters[c].as_ref());
        let confirmed = cluster.is_some_and(|cluster| cluster.claim == Some(n));
        if claim.assigned.is_none() && !claim.deleted {
            for c in 0..2 {
                // The claim is written first, so two may be given the same one.
                if state.clusters[c]
                    .as_ref()
                    .is_some_and(|cluster| cluster.claim.is_none() && !cluster.ending)
                {
                    add(Event::Assigns(n, c), &|s| change(s, n, |claim| claim.assigned = Some(c)));
                }
            }
        }
        if cluster.is_some_and(|cluster| cluster.claim.is_none() && !cluster.ending) {
            add(Event::Confirms(n), &|s| {
                let c = s.claims[n].as_ref().and_then(|claim| claim.assigned);
                s.clusters[c.unwrap_or_default()].as_mut().unwrap().claim = Some(n);
                Ok(())
            });
        }
        if confirmed && !claim.served && !claim.deleted {
            add(Event::Acknowledges(n), &|s| change(s, n, |claim| claim.served = true));
        }
        if cluster.is_some_and(|cluster| cluster.claim.is_some_and(|of| of != n)) {
            add(Event::TakesBack(n), &|s| {
                change(s, n, |claim| {
                    (claim.assigned, claim.served, claim.runs, claim.has_run) = (None, false, false, false);
                })
            });
        }
        // Its word for the cluster that it has acknowledged.
        if confirmed && claim.served && !claim.runs && !claim.deleted {
            add(Event::Runs(n), &|s| change(s, n, |claim| (claim.runs, claim.has_run) = (true, true)));
        }
        if claim.runs && state.budget.flaps > 0 {
            add(Event::Stops(n), &|s| {
                s.budget.flaps -= 1;
                change(s, n, |claim| claim.runs = false)
            });
        }
        if claim.deleted {
            if confirmed && cluster.is_some_and(|cluster| !cluster.ending) {
                add(Event::GivesBack(n), &|s| end(s, n));
            }
            if !confirmed {
                add(Event::ClaimGone(n), &|s| {
                    s.claims[n] = None;
                    touch(s, n);
                    Ok(())
                });
            }
        }
    }
    for c in 0..2 {
        if state.clusters[c].as_ref().is_some_and(|cluster| cluster.ending) {
            add(Event::ClusterGone(c), &|s| {
                s.clusters[c] = None;
                Ok(())
            });
        }
    }
}

pub(super) fn others(state: &State, add: &mut Add<'_>) {
    let budget = &state.budget;
    for n in 0..2 {
        match &state.claims[n] {
            Some(claim) => {
                if budget.deletions > 0 && !claim.deleted {
                    add(Event::DeletesClaim(n), &|s| {
                        s.budget.deletions -= 1;
                        change(s, n, |claim| claim.deleted = true)
                    });
                }
                for c in 0..2 {
                    if budget.tampers > 0 && claim.assigned != Some(c) {
                        add(Event::Tampers(n, c), &|s| {
                            s.budget.tampers -= 1;
                            // The conditions stay what they were for the other one.
                            change(s, n, |claim| claim.assigned = Some(c))
                        });
                    }
                }
            }
            None if budget.births > 0 => add(Event::Reborn(n), &|s| {
                s.budget.births -= 1;
                s.claims[n] = Some(newborn(2));
                touch(s, n);
                Ok(())
            }),
            None => {}
        }
    }
    for c in 0..2 {
        if let Some(cluster) = &state.clusters[c] {
            if budget.rotations > 0 {
                add(Event::Rotates(c), &|s| {
                    s.budget.rotations -= 1;
                    s.clusters[c].as_mut().unwrap().kubeconfig += 1;
                    Ok(())
                });
            }
            if budget.losses > 0 && !cluster.ending {
                add(Event::LosesCluster(c), &|s| {
                    s.budget.losses -= 1;
                    s.clusters[c].as_mut().unwrap().ending = true;
                    Ok(())
                });
            }
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "other events can break a promise")]
fn change(state: &mut State, n: usize, change: impl Fn(&mut Claim)) -> Result<(), String> {
    if let Some(claim) = &mut state.claims[n] {
        change(claim);
    }
    touch(state, n);
    Ok(())
}

/// Marks the state that was read of a claim as outdated. That matters only during a reconcile.
fn touch(state: &mut State, n: usize) {
    state.changed |= n == LOOKED_AT && state.looking.is_some();
}

#[expect(clippy::unnecessary_wraps, reason = "other events can break a promise")]
fn end(state: &mut State, n: usize) -> Result<(), String> {
    for cluster in state.clusters.iter_mut().flatten().filter(|cluster| cluster.claim == Some(n)) {
        cluster.ending = true;
    }
    Ok(())
}

pub(super) const fn newborn(uid: u8) -> Claim {
    Claim {
        uid,
        assigned: None,
        served: false,
        runs: false,
        has_run: false,
        deleted: false,
        notes: (None, None),
    }
}

pub(super) fn is_orphan(state: &State) -> bool {
    let claim = state.claims[LOOKED_AT].as_ref();
    state.secret.as_ref().is_some_and(|secret| claim.is_none_or(|claim| claim.uid != secret.uid))
}

//! The model check: two claims, two clusters, one pool. The real `next` decides in a provider that reads piece by piece, crashes
//! between any two writes, and does not learn what came of one; Hive does what it does in any order, and somebody writes on claims
//! what he likes.
//!
//! The provider looks at the first claim only: looks at different ones share nothing but what they read, and the second one is
//! there to be in the way.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use provider_testplatform::{
    cluster_claim::{
        deployment::{Metadata, PoolRef, SecretRef},
        next,
        object::{ClusterClaim, ClusterDeployment, ClusterPool},
        step::{Action, Notes},
        world::{Deployment, Settings, Source, World},
    },
    ephemeral_cluster::credentials::{Credentials, Published},
    redacted::Redacted,
};
use testplatform_apis::{foreign::meta::ObservedCondition, names::ours};

use crate::{
    explore::{Model, Next, explore},
    fixture::{NAMESPACE, POOL, born},
};

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

/// What may still happen.
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

fn provider(state: &State, add: &mut Add<'_>) {
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
fn begin(state: &mut State) {
    state.looking = state.claims[LOOKED_AT].clone().map(Look::Claim);
    state.changed = false;
}

fn hive(state: &State, add: &mut Add<'_>) {
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

fn others(state: &State, add: &mut Add<'_>) {
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

/// What was read of a claim is old now. Only of a look that is under way does that matter.
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

const fn newborn(uid: u8) -> Claim {
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

fn is_orphan(state: &State) -> bool {
    let claim = state.claims[LOOKED_AT].as_ref();
    state.secret.as_ref().is_some_and(|secret| claim.is_none_or(|claim| claim.uid != secret.uid))
}

/// What the provider has read comes to a decision.
fn decide(state: &mut State) {
    let Some(Look::Claim(claim)) = state.looking.take() else { return };
    let object = claim_object(&claim);
    let deployment = match claim.assigned {
        None => Deployment::Unassigned,
        Some(c) => match &state.clusters[c] {
            None => Deployment::Gone,
            Some(cluster) => Deployment::Here(Arc::new(cluster_object(c, cluster))),
        },
    };
    let source = match claim.assigned.and_then(|c| Some((c, state.clusters[c].as_ref()?))) {
        Some((c, cluster)) if next::may_read(&object, &deployment) => {
            Source::Complete(credentials(c, cluster.kubeconfig))
        }
        Some(_) | None => Source::Unread,
    };
    let published = match &state.secret {
        None => Published::Absent,
        Some(secret) if secret.uid == claim.uid => Published::Ours {
            revision: secret.version.to_string(),
            source_revision: Some(format!("{}@{}", secret.cluster, secret.kubeconfig)),
        },
        Some(_) => Published::Foreign("another's".into()),
    };
    let world = World {
        settings: Settings::default(),
        pool: Some(Arc::new(ClusterPool::default())),
        queue: vec![Some(born())],
        unclaimed: vec![],
        deployment,
        source,
        published,
    };
    let step = next::next(&object, &world, born());
    let mut writes: Vec<Write> = step
        .actions
        .into_iter()
        .filter_map(|action| match action {
            Action::Publish(made) => {
                let (cluster, kubeconfig) = made.source_revision.split_once('@').unwrap();
                Some(Write::Publish {
                    cluster: cluster.parse().unwrap(),
                    kubeconfig: kubeconfig.parse().unwrap(),
                })
            }
            Action::Withdraw => Some(Write::Withdraw),
            Action::Resume { .. } | Action::Emit(_) => None,
        })
        .collect();
    if let Some(Notes { status, credentials_revision, .. }) = step.status {
        let notes = (Some(status.write().unwrap()), credentials_revision);
        if notes != claim.notes {
            writes.push(Write::Note(notes.0, notes.1));
        }
    }
    state.looking = (!writes.is_empty()).then_some(Look::Writes(claim, writes));
}

/// The next write. An answer that is lost ends the look, as the executor does.
fn write(state: &mut State, answer_lost: bool) -> Result<(), String> {
    let Some(Look::Writes(seen, mut writes)) = state.looking.take() else { return Ok(()) };
    let mut goes_on = !answer_lost;
    match writes.remove(0) {
        Write::Publish { cluster, kubeconfig } => {
            promised(state, &seen, cluster)?;
            match &mut state.secret {
                Some(secret) if secret.uid == seen.uid => {
                    *secret = Secret { cluster, kubeconfig, version: secret.version + 1, ..*secret };
                }
                Some(_) => goes_on = false,
                none => *none = Some(Secret { uid: seen.uid, cluster, kubeconfig, version: 1 }),
            }
        }
        Write::Withdraw => {
            if state.secret.as_ref().is_some_and(|secret| secret.uid == seen.uid) {
                state.secret = None;
            }
        }
        Write::Note(status, revision) => match &mut state.claims[LOOKED_AT] {
            // The version that was read is required.
            Some(claim) if !state.changed => {
                claim.notes = (status, revision);
            }
            Some(_) | None => goes_on = false,
        },
    }
    if !goes_on || writes.is_empty() {
        state.changed = false;
    } else {
        state.looking = Some(Look::Writes(seen, writes));
    }
    Ok(())
}

/// What no publication may be.
fn promised(state: &State, seen: &Claim, cluster: usize) -> Result<(), String> {
    if state.clusters[cluster].as_ref().is_some_and(|cluster| cluster.claim != Some(LOOKED_AT)) {
        return Err("credentials of another claim's cluster are published".into());
    }
    if seen.deleted {
        return Err("credentials are published of what was already ending when it was read".into());
    }
    if !seen.has_run && seen.notes.1.is_none() {
        return Err("credentials are published before the cluster has run".into());
    }
    if !seen.served {
        return Err("credentials are published before Hive has acknowledged the assignment".into());
    }
    Ok(())
}

/// Left alone, all ends well: what should be there is there and nothing else, and nothing more is written.
fn left_alone(mut state: State) -> Result<(), String> {
    // A look that is under way ends with its process, which is the worse.
    (state.looking, state.changed) = (None, false);
    let mut quiet = 0;
    for _ in 0..12 {
        let mut wrote = is_orphan(&state);
        if wrote {
            state.secret = None;
        }
        begin(&mut state);
        decide(&mut state);
        while state.looking.is_some() {
            wrote = true;
            write(&mut state, false)?;
        }
        quiet = if wrote { 0 } else { quiet + 1 };
        if quiet == 2 {
            return settled(&state);
        }
    }
    Err("it is written again and again".into())
}

fn settled(state: &State) -> Result<(), String> {
    let claim = state.claims[LOOKED_AT].as_ref();
    let wanted = claim.and_then(|claim| {
        let c = claim.assigned?;
        let cluster = state.clusters[c].as_ref()?;
        let own = cluster.claim == Some(LOOKED_AT) && !cluster.ending && !claim.deleted && claim.served;
        (own && (claim.runs || claim.notes.1.is_some())).then_some((claim.uid, c, cluster.kubeconfig))
    });
    let there = state.secret.as_ref().map(|secret| (secret.uid, secret.cluster, secret.kubeconfig));
    if wanted != there {
        return Err(format!("published is {there:?} and not {wanted:?}"));
    }
    if let Some(claim) = claim {
        let told = claim.notes.0.as_deref().is_some_and(|status| status.contains("secretName"));
        if told != there.is_some() || claim.notes.1.is_some() != there.is_some() {
            return Err(format!("what is told is not what is there: {:?}", claim.notes));
        }
    }
    Ok(())
}

fn credentials(cluster: usize, kubeconfig: u8) -> Credentials {
    Credentials {
        kubeconfig: Redacted(vec![kubeconfig]),
        password: Redacted(vec![]),
        source_revision: format!("{cluster}@{kubeconfig}"),
    }
}

fn condition(type_: &str, holds: bool) -> ObservedCondition {
    let status = if holds { "True" } else { "False" }.to_owned();
    ObservedCondition { type_: type_.into(), status, ..ObservedCondition::default() }
}

fn claim_object(claim: &Claim) -> ClusterClaim {
    let (status, revision) = &claim.notes;
    let annotations = [
        (ours::RESUME, Some("true".to_owned())),
        (ours::STATUS, status.clone()),
        (ours::CREDENTIALS_REVISION, revision.clone()),
    ];
    let mut object = ClusterClaim {
        metadata: ObjectMeta {
            name: Some(NAMES[LOOKED_AT].into()),
            namespace: Some(NAMESPACE.into()),
            uid: Some(format!("uid-{}", claim.uid)),
            creation_timestamp: Some(Time(born())),
            deletion_timestamp: claim.deleted.then(|| Time(later())),
            annotations: Some(
                annotations.into_iter().filter_map(|(k, v)| Some((k.to_owned(), v?))).collect(),
            ),
            ..ObjectMeta::default()
        },
        ..ClusterClaim::default()
    };
    object.spec.value.cluster_pool_name = POOL.into();
    object.spec.value.namespace = claim.assigned.map(|c| CLUSTERS[c].to_owned()).unwrap_or_default();
    object.status.value.conditions =
        vec![condition("Pending", !claim.served), condition("ClusterRunning", claim.runs)];
    object
}

fn later() -> Timestamp {
    born() + SignedDuration::from_mins(1)
}

fn cluster_object(c: usize, cluster: &Cluster) -> ClusterDeployment {
    let mut object = ClusterDeployment {
        metadata: ObjectMeta {
            name: Some(CLUSTERS[c].into()),
            namespace: Some(CLUSTERS[c].into()),
            uid: Some(CLUSTERS[c].into()),
            deletion_timestamp: cluster.ending.then(|| Time(later())),
            ..ObjectMeta::default()
        },
        ..ClusterDeployment::default()
    };
    let spec = &mut object.spec.value;
    spec.installed = true;
    let secret = || SecretRef { name: "x".into() };
    spec.cluster_metadata =
        Some(Metadata { kubeconfig: secret(), password: Some(secret()), notes: Some(secret()) });
    spec.cluster_pool_ref = Some(PoolRef {
        namespace: NAMESPACE.into(),
        pool_name: POOL.into(),
        claim_name: cluster.claim.map(|n| NAMES[n].to_owned()).unwrap_or_default(),
    });
    object
}

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

//! Which release is asked for, and when: one minor version after the other, each once the one before is there.

use serde_json::{Map, Value};
use testplatform_apis::{
    names::ours,
    template::{effective::Effective, entry::way, version::Version},
};

use super::{Wanted, cluster, facts::Facts};
use crate::{
    observed::{Observed, PrimaryObject, SyncState},
    templates::Chosen,
};

/// The next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// What the claim comes to was asked for.
    There,
    /// That a release is there, or a change of it is; until then nothing else is asked for.
    Waits,
    /// A release.
    Goes {
        /// The release.
        to: Chosen,
        /// Whether class and variables are to be those of the template as it is now.
        rebase: bool,
    },
    /// Nothing: the template has no version any more by way of which the cluster would go.
    NoWay,
}

/// How far a cluster is on its way to a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The next request.
    pub turn: Turn,
    /// What the hub has, where what was asked for before is no step from it: a writer that was made anew to look knew no better.
    pub as_is: Option<Chosen>,
    /// Template and version from which it goes; none: it is not on its way.
    pub from: Option<(String, Version)>,
    /// Which step is under way, and of how many; where there are several.
    pub step: Option<(usize, usize)>,
}

/// From what is observed to what is wanted.
pub(super) fn plan(observed: &Observed, wanted: Wanted<'_>) -> Plan {
    let release = &wanted.whole.release;
    // Of what is not seen it stays noted from where it goes.
    let there = || Plan { turn: Turn::There, as_is: None, from: noted(observed), step: None };
    let (Some(target), Some(topology)) = (&release.version, current(observed)) else { return there() };
    let Some(at) = version_of(&topology) else { return there() };
    let releases = &wanted.whole.releases;
    let own = wanted.whole.template.as_str();
    let noted = noted(observed);
    let moved_from = wanted.whole.moved_from.clone();
    let template = noted.as_ref().map(|(template, _)| template.clone()).or(moved_from);
    let template = template.unwrap_or_else(|| own.to_owned());
    let from = noted.map_or_else(|| at.clone(), |(_, version)| version);
    let begun = Some((template.clone(), from.clone()));

    let shown = cluster::listed(topology.get("variables"));
    let has_image =
        || cluster::image(wanted, release).is_none_or(|(name, image)| shown.get(&name) == Some(&image));
    let done = at > *target || (at == *target && has_image());
    // What another template says counts with the first step that is taken.
    let rebase = template != own;
    let rebases = rebase && from == at;
    let busy = match Facts::of(observed) {
        Some(facts) => facts.is_busy(&at),
        // It may be there unseen, and two changes would arrive as one.
        None => !refused(observed),
    };
    let next = || match Facts::of(observed) {
        Some(_) => {
            way(releases, &at, target).map(|way| way.first().map_or_else(|| release.clone(), |r| (*r).into()))
        }
        None => Some(release.clone()),
    };
    let turn = match (done, rebases, busy) {
        (true, false, _) => Turn::There,
        (_, _, true) => Turn::Waits,
        (true, true, false) => Turn::Goes { to: release.clone(), rebase },
        (false, _, false) => next().map_or(Turn::NoWay, |to| Turn::Goes { to, rebase }),
    };
    let asked = match &turn {
        Turn::Goes { to, .. } => to.version.clone(),
        Turn::There | Turn::Waits | Turn::NoWay => None,
    };
    let asked = asked.unwrap_or_else(|| at.clone());
    let steps = |from: &Version| {
        if from >= target { Some(0) } else { way(releases, from, target).map(|way| way.len() + 1) }
    };
    let step = steps(&from).zip(steps(&asked)).filter(|(all, left)| *all > 1 && all > left);
    let rests = (turn == Turn::There && !busy) || (done && matches!(turn, Turn::Goes { .. }));
    let before = cluster::before(observed).and_then(|spec| version_of(spec.get("topology")?.as_object()?));
    let follows = before
        .is_none_or(|before| before == at || way(releases, &at, &before).is_some_and(|way| way.is_empty()));
    let as_is = || {
        let image = wanted.order.base.image_variable.as_ref().and_then(|name| shown.get(name)?.as_str());
        Chosen { version: Some(at.clone()), image: image.map(str::to_owned), deprecated: None }
    };
    Plan {
        as_is: (!follows).then(as_is),
        turn,
        from: begun.filter(|_| !rests && (from != at || !done || rebase)),
        step: step.map(|(all, left)| (all - left, all)),
    }
}

/// Whether the hub refused to make it.
fn refused(observed: &Observed) -> bool {
    observed
        .primary
        .as_ref()
        .is_some_and(|w| matches!(w.sync, SyncState::Refused(_)) && !w.remote_may_exist())
}

/// The version that the hub has, where it refuses the one that was last asked for.
pub(in crate::backend) fn left_at(observed: &Observed) -> Option<Version> {
    if !observed.primary.as_ref().is_some_and(PrimaryObject::is_refused) {
        return None;
    }
    let asked = version_of(cluster::before(observed)?.get("topology")?.as_object()?)?;
    of_hub(observed).filter(|there| *there != asked)
}

/// Whether the hub has the version of what was asked for: nothing of a way that leads on from there was taken.
pub(in crate::backend) fn is_at(observed: &Observed, asked: &Effective) -> bool {
    of_hub(observed).is_some_and(|there| Some(there.to_string()) == asked.version)
}

fn of_hub(observed: &Observed) -> Option<Version> {
    version_of(Facts::of(observed)?.remote.spec["topology"].as_object()?)
}

/// The topology as the hub has it, else as it was asked for: what the hub refused is asked for again.
fn current(observed: &Observed) -> Option<Map<String, Value>> {
    let of_hub = Facts::of(observed).and_then(|facts| facts.remote.spec["topology"].as_object().cloned());
    let of_hub = of_hub.filter(|topology| version_of(topology).is_some());
    of_hub.or_else(|| cluster::before(observed)?.get("topology")?.as_object().cloned())
}

fn version_of(topology: &Map<String, Value>) -> Option<Version> {
    Version::try_from(topology.get("version")?.as_str()?.to_owned()).ok()
}

/// `credentials` are asked only where there is no writer: beside one that has arrived they may be of before that, in a cache.
fn noted(observed: &Observed) -> Option<(String, Version)> {
    let note = match &observed.primary {
        Some(writer) => writer.object.metadata.annotation(ours::ROLLS_FROM),
        None => observed.credentials_note(ours::ROLLS_FROM),
    };
    let (template, version) = note?.rsplit_once('/')?;
    Some((template.to_owned(), Version::try_from(version.to_owned()).ok()?))
}

/// Annotation: template and version from which the cluster is upgraded.
pub(super) fn note(observed: &Observed, plan: Option<Plan>) -> Map<String, Value> {
    let from = match plan {
        Some(plan) => plan.from,
        None => noted(observed),
    };
    let note =
        from.map(|(template, version)| (ours::ROLLS_FROM.to_owned(), format!("{template}/{version}").into()));
    note.into_iter().collect()
}

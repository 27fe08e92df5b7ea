//! Rollout of releases: one minor version after the other, each once the previous one is complete.

use serde_json::{Map, Value};
use testplatform_apis::{
    collect,
    names::ours,
    template::{effective::Effective, entry::find_upgrade_path, version::Version},
};

use super::{ClusterApi, ClusterApiRequest, facts::TopologyFacts, topology, variables};
use crate::{
    cluster::{
        catalog::templates::Rollout,
        observed::{Observed, PrimaryObject},
        request::SelectedRelease,
    },
    objects::SyncState,
};

/// The next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RolloutStep {
    /// The claim's target was requested.
    Done,
    /// That a release is there, or a change of it is; until then nothing else is asked for.
    Wait,
    /// A release.
    Upgrade {
        /// The release.
        to: SelectedRelease,
        /// Whether class and variables are to be those of the template as it is now.
        rebase: bool,
    },
    /// The variables that the hub has, as they are. The next class comes after that: it may not define all of them.
    AdoptVariables,
    /// Nothing: the template has no version any more by way of which the cluster would go.
    Unreachable,
}

/// How far a cluster is on its way to a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RolloutPlan {
    /// The next request.
    pub next_step: RolloutStep,
    /// Release on the hub, if the previous request is not one step from it: a recreated primary Object that only searched did not know it.
    pub hub_release: Option<SelectedRelease>,
    /// Template and version from which it goes; none: it is not on its way.
    pub origin: Option<(String, Version)>,
    /// Which step is under way, and of how many; where there are several.
    pub position: Option<(usize, usize)>,
}

/// From what is observed to what is wanted.
pub(super) fn plan_rollout(observed: &Observed, wanted: ClusterApiRequest<'_>) -> RolloutPlan {
    let release = &wanted.spec.release;
    // The origin stays recorded while the cluster is not observed.
    let done_plan = || RolloutPlan {
        next_step: RolloutStep::Done,
        hub_release: None,
        origin: recorded_origin(observed),
        position: None,
    };
    let (Some(target), Some(topology)) = (&release.version, current_topology(observed)) else {
        return done_plan();
    };
    let Some(at) = version_of(&topology) else { return done_plan() };
    let releases = &wanted.spec.releases;
    let own = wanted.spec.template.as_str();
    let recorded = recorded_origin(observed);
    let moved_from = wanted.spec.moved_from.clone();
    let template = recorded.as_ref().map(|(template, _)| template.clone()).or(moved_from);
    let template = template.unwrap_or_else(|| own.to_owned());
    let from = recorded.map_or_else(|| at.clone(), |(_, version)| version);
    let begun = Some((template.clone(), from.clone()));

    let shown = topology::read_variables(topology.get("variables"));
    let has_image = || {
        topology::image_variable(wanted, release).is_none_or(|(name, image)| shown.get(&name) == Some(&image))
    };
    let done = at > *target || (at == *target && has_image());
    // Another template's class and variables take effect with the first step.
    let rebase = template != own;
    let rebases = rebase && from == at;
    let busy = match TopologyFacts::from_observed(observed) {
        Some(facts) => facts.is_busy(&at),
        // It may be there unseen, and two changes would arrive as one.
        None => !is_refused(observed),
    };
    let next = || match TopologyFacts::from_observed(observed) {
        Some(_) => find_upgrade_path(releases, &at, target)
            .map(|way| way.first().map_or_else(|| release.clone(), |r| (*r).into())),
        None => Some(release.clone()),
    };
    let turn = match (done, rebases, busy) {
        (true, false, _) => RolloutStep::Done,
        (_, _, true) => RolloutStep::Wait,
        (true, true, false) => RolloutStep::Upgrade { to: release.clone(), rebase },
        (false, _, false) => {
            next().map_or(RolloutStep::Unreachable, |to| RolloutStep::Upgrade { to, rebase })
        }
    };
    let turn = match turn {
        RolloutStep::Upgrade { rebase: true, .. } if variables::must_be_adopted(observed, wanted) => {
            RolloutStep::AdoptVariables
        }
        other => other,
    };
    let requested = match &turn {
        RolloutStep::Upgrade { to, .. } => to.version.clone(),
        RolloutStep::Done | RolloutStep::Wait | RolloutStep::AdoptVariables | RolloutStep::Unreachable => {
            None
        }
    };
    let requested = requested.unwrap_or_else(|| at.clone());
    let steps = |from: &Version| {
        if from >= target {
            Some(0)
        } else {
            find_upgrade_path(releases, from, target).map(|way| way.len() + 1)
        }
    };
    let step = steps(&from).zip(steps(&requested)).filter(|(all, left)| *all > 1 && all > left);
    let rests = (turn == RolloutStep::Done && !busy) || (done && matches!(turn, RolloutStep::Upgrade { .. }));
    let before =
        topology::previous_spec(observed).and_then(|spec| version_of(spec.get("topology")?.as_object()?));
    let follows = before.is_none_or(|before| {
        before == at || find_upgrade_path(releases, &at, &before).is_some_and(|way| way.is_empty())
    });
    let as_is = || {
        let image =
            wanted.backend_spec.base.image_variable.as_ref().and_then(|name| shown.get(name)?.as_str());
        SelectedRelease { version: Some(at.clone()), image: image.map(str::to_owned), deprecated: None }
    };
    RolloutPlan {
        hub_release: (!follows).then(as_is),
        next_step: turn,
        origin: begun.filter(|_| !rests && (from != at || !done || rebase)),
        position: step.map(|(all, left)| (all - left, all)),
    }
}

/// Whether the hub refused to make it.
fn is_refused(observed: &Observed) -> bool {
    observed
        .primary
        .as_ref()
        .is_some_and(|w| matches!(w.sync, SyncState::Refused(_)) && !w.remote_may_exist())
}

impl Rollout for ClusterApi {
    fn blocked_at_version(&self, observed: &Observed) -> Option<Version> {
        blocked_at_version(observed)
    }

    fn has_release(&self, observed: &Observed, requested: &Effective) -> bool {
        has_release(observed, requested)
    }

    fn is_fully_requested(&self, observed: &Observed) -> bool {
        observed.annotation(ours::ROLLS_FROM).is_none()
    }
}

/// The version that the hub has, where it refuses the one that was last asked for.
fn blocked_at_version(observed: &Observed) -> Option<Version> {
    if !observed.primary.as_ref().is_some_and(PrimaryObject::is_refused) {
        return None;
    }
    let requested = version_of(topology::previous_spec(observed)?.get("topology")?.as_object()?)?;
    hub_version(observed).filter(|there| *there != requested)
}

/// Whether the hub has the version of what was asked for: nothing of a way that leads on from there was taken.
fn has_release(observed: &Observed, requested: &Effective) -> bool {
    hub_version(observed).is_some_and(|there| Some(there.to_string()) == requested.version)
}

fn hub_version(observed: &Observed) -> Option<Version> {
    version_of(TopologyFacts::from_observed(observed)?.remote.spec["topology"].as_object()?)
}

/// The topology as the hub has it, else as it was asked for: what the hub refused is asked for again.
fn current_topology(observed: &Observed) -> Option<Map<String, Value>> {
    let of_hub = TopologyFacts::from_observed(observed)
        .and_then(|facts| facts.remote.spec["topology"].as_object().cloned());
    let of_hub = of_hub.filter(|topology| version_of(topology).is_some());
    of_hub.or_else(|| topology::previous_spec(observed)?.get("topology")?.as_object().cloned())
}

fn version_of(topology: &Map<String, Value>) -> Option<Version> {
    Version::try_from(topology.get("version")?.as_str()?.to_owned()).ok()
}

fn recorded_origin(observed: &Observed) -> Option<(String, Version)> {
    let (template, version) = topology::recorded_annotation(observed, ours::ROLLS_FROM)?.rsplit_once('/')?;
    Some((template.to_owned(), Version::try_from(version.to_owned()).ok()?))
}

/// Annotations: template and version from which the cluster is upgraded, and the class whose variables were requested for that.
pub(super) fn rollout_annotations(observed: &Observed, plan: Option<RolloutPlan>) -> Map<String, Value> {
    let adopted = || topology::recorded_annotation(observed, ours::ADOPTED_CLASS).map(str::to_owned);
    let (from, class) = match plan {
        Some(RolloutPlan { origin, next_step: RolloutStep::AdoptVariables, .. }) => {
            (origin, variables::hub_class(observed))
        }
        Some(plan) => {
            // Until the next class is accepted. It may be requested at the version that the cluster has, with no origin to keep.
            let is_requested = matches!(plan.next_step, RolloutStep::Upgrade { rebase: true, .. });
            let class = adopted().filter(|_| is_requested || plan.origin.is_some());
            (plan.origin, class)
        }
        None => (recorded_origin(observed), adopted()),
    };
    let from = from.map(|(template, version)| format!("{template}/{version}"));
    collect::to_text_object([(ours::ROLLS_FROM, from), (ours::ADOPTED_CLASS, class)])
}

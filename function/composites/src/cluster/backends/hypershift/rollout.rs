//! Rollout of releases: the HostedCluster first, then its NodePools one by one. A NodePool never leads, and a release is requested only
//! once the previous one is complete.

use testplatform_apis::{
    foreign::{
        hosted_cluster::{Update, conditions},
        meta::{ObservedCondition, find_condition},
    },
    template::{effective::Effective, version::Version},
};

use super::{HyperShift, HyperShiftRequest, facts};
use crate::cluster::{
    backends::hosted_cluster::{completed_update, invalid_image, newest_update},
    catalog::templates::Rollout,
    observed::{NodePoolObject, Observed, PrimaryObject},
};

/// The image that the claim comes to. Every release of a template for HyperShift has one.
pub(super) fn requested_image(wanted: HyperShiftRequest<'_>) -> &str {
    wanted.spec.release.image.as_deref().unwrap_or_default()
}

/// Image of the previous request for the HostedCluster.
pub(super) fn previous_image(observed: &Observed) -> Option<String> {
    facts::previous_spec(observed)?.get("release")?["image"].as_str().map(str::to_owned)
}

/// Image that the HostedCluster has to run now.
pub(super) fn cluster_image(observed: &Observed, wanted: HyperShiftRequest<'_>) -> String {
    let next = requested_image(wanted);
    let previous = previous_image(observed)
        .filter(|requested| *requested != next && is_rolling_out(observed, requested));
    previous.unwrap_or_else(|| next.to_owned())
}

/// Whether the last requested release is still rolling out. A release that HyperShift never started can be withdrawn: before the first
/// installation, and after a refusal.
fn is_rolling_out(observed: &Observed, requested: &str) -> bool {
    let newest = facts::observed_cluster(observed).and_then(|remote| newest_update(&remote.status.value));
    newest.is_some_and(|newest| {
        !newest.is_completed() || (newest.image != requested && !is_refused(observed, requested))
    })
}

/// Whether the release that was last asked for does not get to the hub, or HyperShift cannot begin with it.
fn is_refused(observed: &Observed, requested: &str) -> bool {
    let Some(remote) = facts::observed_cluster(observed) else { return false };
    if remote.spec["release"]["image"].as_str() != Some(requested) {
        return observed.primary.as_ref().is_some_and(PrimaryObject::is_refused);
    }
    let invalid = invalid_image(&remote.status.value);
    invalid.is_some_and(|c| c.observed_generation == Some(remote.metadata.generation))
}

impl Rollout for HyperShift {
    fn blocked_at_version(&self, observed: &Observed) -> Option<Version> {
        blocked_at_version(observed)
    }

    fn has_release(&self, observed: &Observed, requested: &Effective) -> bool {
        has_release(observed, requested)
    }

    // A release alone may be held back, and then the hub does not have it.
    fn is_fully_requested(&self, _observed: &Observed) -> bool {
        true
    }
}

/// The version that is there, where the one that was last asked for is refused: that one leads nowhere.
fn blocked_at_version(observed: &Observed) -> Option<Version> {
    let previous = previous_image(observed)?;
    let newest = newest_update(&facts::observed_cluster(observed)?.status.value)?;
    let stays = newest.is_completed() && newest.image != previous && is_refused(observed, &previous);
    Version::try_from(newest.version.clone()).ok().filter(|_| stays)
}

/// Whether the cluster runs the release of what was asked for, and is not on its way to another one.
fn has_release(observed: &Observed, requested: &Effective) -> bool {
    let Some((remote, image)) = facts::observed_cluster(observed).zip(requested.release_image.as_deref())
    else {
        return false;
    };
    let runs =
        newest_update(&remote.status.value).is_some_and(|there| there.is_completed() && there.image == image);
    let of_hub = remote.spec["release"]["image"].as_str().unwrap_or_default();
    runs && (of_hub == image || is_refused(observed, of_hub))
}

/// Image that a NodePool has to run. `groups`: names of all requested groups, sorted.
pub(super) fn pool_image(
    observed: &Observed,
    wanted: HyperShiftRequest<'_>,
    group: &str,
    groups: &[&str],
) -> String {
    let of_cluster = cluster_image(observed, wanted);
    let status = facts::observed_cluster(observed).map(|remote| &remote.status.value);
    let Some(before) = observed.node_pools.of(group).and_then(node_pool_image) else {
        return status.and_then(completed_update).map_or(of_cluster, |there| there.image.clone());
    };
    let Some(newest) = status.and_then(newest_update) else {
        // As of the HostedCluster: before anything was installed, what was asked for can be taken back.
        return of_cluster;
    };
    let rolled = newest.is_completed() && newest.image == of_cluster;
    let mut earlier = groups.iter().take_while(|other| **other != group);
    let turn = earlier
        .all(|other| observed.node_pools.of(other).is_none_or(|part| is_node_pool_current(part, newest)));
    if rolled && turn { of_cluster } else { before.to_owned() }
}

/// Image of the previous request for a NodePool.
pub(super) fn node_pool_image(part: &NodePoolObject) -> Option<&str> {
    part.manifest()["spec"]["release"]["image"].as_str()
}

/// Whether a NodePool runs what the HostedCluster does. That it was told to is not enough: it says so only once HyperShift looked at it.
pub(super) fn is_node_pool_current(part: &NodePoolObject, there: &Update) -> bool {
    let Some(remote) = part.remote() else { return false };
    let image = Some(there.image.as_str());
    let applied = node_pool_image(part) == image && remote.spec["release"]["image"].as_str() == image;
    let status = &remote.status.value;
    let updating = find_condition(&status.conditions, conditions::UPDATING_VERSION);
    applied && status.version == there.version && !updating.is_some_and(ObservedCondition::is_true)
}

//! Release of a pool's size to another controller, as [`resources`](super::resources) describes it.

use testplatform_apis::{
    foreign::{
        cluster_pool::ClusterPool,
        meta::{ObservedCondition, find_condition},
        object::Object,
    },
    pool::{ScalingMode, TestPlatformClusterPoolSpec},
};

use super::{observed::PoolState, sizing::PoolSize};
use crate::objects::found_none;

/// Whether the hub wants the size from here again: the pool that had one is gone, and none is made without. Whichever of the two Objects
/// looks first is the one that tells.
fn hub_requires_size(observed: &PoolState) -> bool {
    let refused = |c: &ObservedCondition| c.is_false() && c.message.contains("spec.size: Required value");
    let first = observed.pool.as_ref().and_then(|p| find_condition(&p.object.status.conditions, "Synced"));
    let second = observed.size.as_ref().and_then(|o| find_condition(&o.status.conditions, "Synced"));
    first.is_some_and(refused) || second.is_some_and(found_none)
}

/// Whether the first owner of the size may leave it out, or has already.
pub(super) fn is_size_released(observed: &PoolState) -> bool {
    let already = observed
        .pool
        .as_ref()
        .is_some_and(|p| p.manifest()["spec"].is_object() && PoolSize::requested(p.manifest()).is_none());
    let second = observed.size.as_ref().is_some_and(|o| {
        let current = find_condition(&o.status.conditions, "Synced")
            .is_some_and(|c| c.is_true() && c.observed_generation.is_none_or(|g| g == o.metadata.generation));
        current && o.status.at_provider.manifest.is_some()
    });
    observed.pool.is_some() && (already || second) && !hub_requires_size(observed)
}

/// Whether the size is still ours although somebody else is to have it. The second owner writes until provider-kubernetes has taken up that
/// it only watches: who scales before that is undone.
pub(super) fn is_handing_over(spec: &TestPlatformClusterPoolSpec, observed: &PoolState) -> bool {
    let handed = || is_size_released(observed) && observed.size.as_ref().is_none_or(is_observe_only);
    spec.scaling_mode == Some(ScalingMode::External) && observed.remote().is_some() && !handed()
}

/// Whether an Object only looks at what it stands for, and provider-kubernetes knows so.
fn is_observe_only(object: &Object<ClusterPool>) -> bool {
    let known = |c: &ObservedCondition| c.observed_generation.is_none_or(|g| g == object.metadata.generation);
    object.spec.management_policies == ["Observe"]
        && find_condition(&object.status.conditions, "Synced").is_some_and(known)
}

/// Last observed size on the hub. The second owner sees it too, while the pool's own Object is lost.
pub(super) fn hub_size(observed: &PoolState) -> Option<i64> {
    let of = |pool: &ClusterPool| pool.spec["size"].as_i64();
    let second = || observed.size.as_ref()?.status.at_provider.manifest.as_ref().and_then(of);
    observed.remote().and_then(of).or_else(second)
}

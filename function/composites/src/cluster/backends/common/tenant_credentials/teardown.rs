//! Teardown of the pool that was created for one claim.
//!
//! Hive assigns only running clusters, and releases a ClusterClaim without one at once: a cluster that is still being installed belongs to
//! the pool alone by then, and costs money. Hive keeps a deleted ClusterPool until the last of its clusters is destroyed, so the end is not
//! reported before that is gone. Its Object is removed once the ClusterClaim is gone. Core does not show an Object that is no longer
//! desired. So the Object is desired again as an observer: it shows the old one while that goes, and its successor proves that nothing is
//! left.
//!
//! Source: Hive, `pkg/controller/clusterclaim/clusterclaim_controller.go`, `cleanupResources`, and
//! `pkg/controller/clusterpool/clusterpool_controller.go`, `reconcileDeletedPool`.

use testplatform_apis::{condition::Failure, foreign::cluster_pool::KIND, names::ours, text::bounded};

use super::build_pool_spec;
use crate::{
    cluster::{
        backends::Health,
        observed::{
            Observed, PrimaryObject,
            tenant_credentials::{POOL, read_tenant_namespace},
        },
        request::Validated,
    },
    objects::{SyncState, observer},
};

/// How far the pool of a claim is whose end was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PoolTeardown {
    /// It stays as it is, until the ClusterClaim is gone.
    NotStarted,
    /// Its Object is taken away.
    Removed,
    /// Its Object was taken away or lost, and is looked at until the pool is gone.
    Observed,
    /// Nothing is left of it.
    Complete,
}

/// Reads the stage. A pool that is not observed was removed or lost, and no new one is created.
pub(super) fn pool_teardown(observed: &Observed) -> PoolTeardown {
    let Some(pool) = observed.tenant_credentials.get(POOL) else { return PoolTeardown::Observed };
    let object = &pool.object;
    if observer::found_nothing(object) {
        return PoolTeardown::Complete;
    }
    if object.metadata.deletion_timestamp.is_some() {
        return PoolTeardown::Observed;
    }
    let looks = observer::is_observer(object);
    // An observer sees the pool if the Object before it was lost, and provider-kubernetes keeps that observation. Only its successor is
    // proof.
    let has_remote = object.status.at_provider.manifest.is_some();
    match (looks, is_claim_deleted(observed)) {
        (false, true) => PoolTeardown::Removed,
        (true, true) if has_remote => PoolTeardown::Removed,
        (true, _) => PoolTeardown::Observed,
        (false, false) => PoolTeardown::NotStarted,
    }
}

/// Whether it was looked for the ClusterClaim, and there is none.
fn is_claim_deleted(observed: &Observed) -> bool {
    observed
        .primary
        .as_ref()
        .is_some_and(|primary| primary.found_nothing() || primary.sync == SyncState::Deleted)
}

/// Says what is left of the cluster of a claim with credentials of its own once the ClusterClaim is gone.
pub(crate) fn report_orphaned_pool(health: &mut Health, request: &Validated, observed: &Observed) {
    // Where there is no writer, what is left is looked for with it, or was.
    let Some(tenant_namespace) =
        read_tenant_namespace(&observed.tenant_credentials).filter(|_| observed.primary.is_some())
    else {
        return;
    };
    let pooled = observed.tenant_credentials.get(POOL);
    // Resources around another owner's claim are released, and unknown ones cannot be searched.
    let sought = pooled.is_some() || build_pool_spec(&tenant_namespace.request).is_some();
    let teardown = pool_teardown(observed);
    if is_claim_replaced(observed) || !sought || teardown == PoolTeardown::Complete {
        return;
    }
    let which = bounded(&format!("{KIND} {}/{}", tenant_namespace.namespace, request.name), 320);
    let waits = format!("waits until {which} is gone, and with it every cluster that it made");
    health.orphaned = Some(waits.clone());
    if teardown == PoolTeardown::NotStarted {
        return;
    }
    health.teardown_waits_for = Some(waits);
    if let Some(SyncState::Unavailable(outage)) = pooled.map(|pooled| &pooled.sync) {
        health.teardown_failure = Some(format!("{which} cannot be read: {outage}"));
    }
}

/// Whether another object has the name of the ClusterClaim's, as far as earlier passes and this one saw.
fn is_claim_replaced(observed: &Observed) -> bool {
    let replaced = |primary: &PrimaryObject| primary.sync == SyncState::Replaced;
    observed.primary.as_ref().is_some_and(replaced)
        || observed.annotation(ours::FAILED).and_then(Failure::parse) == Some(Failure::RemoteReplaced)
}

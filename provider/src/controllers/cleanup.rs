//! The fourth role, on the tenants' side like the secret sync: tears down clusters that nobody needs any more because the runs that they were
//! made for are finished (`spec.cleanup`).
//!
//! ```text
//! claim, its owners in Tekton ──observe──▶ Claim, Fate of each run ──plan──▶ CleanupPlan ──execute──▶ note on the claim, spec.tearDownCluster, event
//! ```
//!
//! The controller keeps no decisions in memory. It computes from the runs since when a cluster is unneeded. An annotation on the claim records
//! the facts that cannot be computed again, such as when a run disappeared. Until then the annotation names the runs, because Kubernetes
//! removes owner references to deleted objects from a claim that has another owner. A restarted process therefore decides the same.
//!
//! The status of a run tells whether it is finished; a watch of metadata does not show it, and no Tekton label or annotation does either.
//! Therefore the controller watches only the metadata of each run that a claim names as its owner, by name, and reads that one object on each
//! event. This needs no permission to list runs, and caches none of them. Crossplane's function could only have read all of them, through
//! core's cache.
//!
//! **Invariant:** a claim is never deleted, and nothing of it is changed but one annotation and `spec.tearDownCluster`, which is only ever set to
//! true, and never against somebody who said false.
//! **Invariant:** while one run that owns a claim goes on, or may not be read, nothing is torn down for its owners' sake.

pub mod controller;
mod events;
mod execute;
pub mod metrics;
pub mod observe;
pub mod plan;
pub mod rights;
mod runs;

use std::sync::Arc;

use testplatform_runtime::controller::{Context, Running};

use self::metrics::CleanupMetrics;
use crate::{
    config::{Cleaned, Config},
    rights::{RbacScope, Role},
};

/// Whether the configuration switches it on.
pub(crate) fn is_on(config: &Config) -> bool {
    config.cleanup.is_on()
}

/// Creates the controller.
pub fn create_controller(
    config: &Config,
    context: &Context,
    metrics: Arc<CleanupMetrics>,
) -> anyhow::Result<Running> {
    let options = context.options(config.cleanup.clone());
    Ok(controller::run(options, metrics, context.until_stop()))
}

/// Roles on the hub.
pub(crate) fn required_roles(config: &Config) -> Vec<Role> {
    let role = |flavour: &Cleaned| {
        let scope = match flavour {
            Cleaned::Claims => RbacScope::CleanedClaims,
            Cleaned::TestClusters => RbacScope::CleanedTestClusters,
        };
        Role::anywhere(format!("-cleanup-{}", flavour.kind().1), scope)
    };
    let mut roles: Vec<Role> = config.cleanup.flavours.iter().map(role).collect();
    roles.push(Role::anywhere("-cleanup-owners", RbacScope::Owners));
    roles
}

//! The fifth role, on the tenants' side as the carrier's: remote objects of this Konflux cluster that no composite owns are found, reported, and
//! ended where that is configured.
//!
//! ```text
//! hubs: marked remote objects ─┐
//!                              ├─observe─▶ KonfluxState, HubStates ──plan──▶ OrphanPlan ──execute──▶ report, metrics, teardown
//! composites and Objects ──────┘
//! ```
//!
//! After a restore of the Konflux cluster to an older snapshot the clusters of later claims run on. Neither the function nor the provider on a hub
//! can know that: the function sees one composite, the hub sees none.
//!
//! **Invariant:** an incomplete listing on either side decides nothing.
//! **Invariant:** a remote object with an owner is never ended, and neither is one without the mark of this Konflux cluster.
//! **Invariant:** nothing is written on a hub unless the configuration ends orphans.

pub mod controller;
mod execute;
mod hubs;
mod listing;
pub mod metrics;
pub mod observe;
pub mod owners;
pub mod placements;
pub mod plan;
pub mod remote;
pub mod report;
pub mod rights;
pub mod teardown;

use std::sync::Arc;

use testplatform_runtime::controller::{Context, Running};

use self::metrics::OrphanMetrics;
use crate::{
    config::Config,
    rights::{RbacScope, Role},
};

/// Whether the configuration switches it on.
pub(crate) fn is_on(config: &Config) -> bool {
    config.orphans.is_on()
}

/// Creates the controller.
pub fn create_controller(
    config: &Config,
    context: &Context,
    metrics: Arc<OrphanMetrics>,
) -> anyhow::Result<Running> {
    let options = context.options(config.orphans.clone());
    Ok(controller::run(options, metrics, context.until_stop()))
}

/// Roles on the hub.
pub(crate) fn required_roles(config: &Config) -> Vec<Role> {
    let mut roles = vec![
        Role::anywhere("-orphans", RbacScope::Orphans),
        Role::within(&config.orphans.namespace, "-orphans", RbacScope::OrphanReport),
    ];
    for (namespace, names) in rights::kubeconfig_secrets(&config.orphans) {
        let role = Role::within(namespace, "-orphans-kubeconfigs", RbacScope::Orphans);
        roles.push(Role { scope: None, configured: rights::secret_rule(&names), ..role });
    }
    roles
}

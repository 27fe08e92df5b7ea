//! Clusters of claims with `template`: each backend stores their credentials where no tenant can read them, each in its own way. The controller
//! publishes them like all others, and reports the reason if it cannot.
//!
//! ```text
//! watches ──▶ caches ──▶ queue ──▶ observe ──▶ ClusterState ──plan(kind, object, observed, now)──▶ ClusterPlan ──▶ execute
//! ```
//!
//! Each kind is described by one table in [`cluster_kind`](crate::credentials::cluster_kind). A kind that the hub does not serve does not disturb the others; the controller waits for
//! it. A second loop checks published Secrets whose cluster may be gone, because no owner reference crosses namespaces.

mod caches;
pub mod controller;
mod execute;
pub(crate) mod metrics;
pub(crate) mod observe;
pub mod observed_state;
pub mod overdue;
pub mod plan;
pub mod rights;

use std::sync::Arc;

use testplatform_apis::byoc::PUBLISHER_ROLE;
use testplatform_runtime::controller::{Context, Running};

use self::metrics::ClusterMetrics;
use crate::{
    config::{Config, Switch},
    rights::{RbacScope, Role},
};

/// Whether the configuration switches it on.
pub(crate) fn is_on(config: &Config) -> bool {
    config.clusters.is_on()
}

/// Creates the controller.
pub fn create_controller(
    config: &Config,
    context: &Context,
    metrics: Arc<ClusterMetrics>,
) -> anyhow::Result<Running> {
    let options = context.options(config.clusters.clone());
    Ok(controller::run(options, metrics, context.until_stop()))
}

/// Roles on the hub.
pub(crate) fn required_roles(config: &Config) -> Vec<Role> {
    let mut roles = vec![];
    for (backend, of) in &config.clusters.backends {
        let suffix = format!("-clusters-{backend}");
        roles.push(Role::anywhere(&suffix, RbacScope::ClustersWatched(*backend)));
        for namespace in &of.namespaces {
            roles.push(Role::within(namespace, &suffix, RbacScope::ClustersServed(*backend)));
            if config.clusters.end_overdue == Switch::On {
                let suffix = format!("{suffix}-overdue");
                roles.push(Role::within(namespace, suffix, RbacScope::ClustersEnded(*backend)));
            }
        }
        if of.brings() {
            roles.push(Role::anywhere("-clusters-byoc", RbacScope::ClustersBrought));
            // The function binds the provider to it in the namespace of each claim that brings its own credentials.
            let served = Role::anywhere("", RbacScope::ClustersServed(*backend));
            roles.push(Role { unbound: Some(PUBLISHER_ROLE), ..served });
        }
    }
    roles
}

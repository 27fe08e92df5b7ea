//! ClusterPools that Git asks for: refresh, rotation of credentials, and what Hive forgets.
//!
//! ```text
//! Pool, PoolClusters, now ──plan──▶ annotation, events, when to look again
//! ```
//!
//! The controller writes a single annotation of the pool ([`PoolStatus`](testplatform_apis::pool_report::PoolStatus)). The composition function
//! owns the pool's size and lowers it to the ceiling that the annotation requests, so that there is one writer. The progress of a refresh or a
//! rotation is in the annotation too, so that a restarted process continues from there.

pub mod clusters;
pub mod controller;
mod execute;
pub(crate) mod metrics;
mod observe;
pub mod plan;
pub mod pool;
mod refresh;
pub mod rights;
mod rotation;
pub mod state;

use std::sync::Arc;

use testplatform_runtime::controller::{Context, Running};

use self::metrics::PoolMetrics;
use crate::{
    config::Config,
    rights::{RbacScope, Role},
};

/// Whether the configuration switches it on.
pub(crate) fn is_on(config: &Config) -> bool {
    config.cluster_pool.is_on()
}

/// Creates the controller.
pub fn create_controller(
    config: &Config,
    context: &Context,
    metrics: Arc<PoolMetrics>,
) -> anyhow::Result<Running> {
    let options = context.options(config.cluster_pool.namespaces.clone());
    Ok(controller::run(options, metrics, context.until_stop()))
}

/// Roles on the hub.
pub(crate) fn required_roles(config: &Config) -> Vec<Role> {
    let namespaces = config.cluster_pool.namespaces.iter();
    let mut roles: Vec<Role> = namespaces
        .map(|namespace| Role::within(namespace, "-clusterpools", RbacScope::ClusterPools))
        .collect();
    roles.push(Role::anywhere("-clusterpools", RbacScope::PoolsAnywhere));
    roles
}

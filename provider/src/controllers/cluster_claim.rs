//! Hive serves a ClusterClaim with a cluster from a pool. The controller adds what Hive leaves out: it publishes the credentials, and reports
//! progress and problems.

pub mod caches;
pub mod controller;
pub mod deployment;
pub mod execute;
pub mod failure;
mod feed;
pub mod hub;
pub(crate) mod metrics;
pub mod object;
pub mod observe;
pub mod observed_state;
pub mod operation;
pub mod ownership;
pub mod plan;
pub mod pool;
mod report;
pub mod rights;
pub mod supply;

use std::sync::Arc;

use testplatform_apis::redact;
use testplatform_runtime::controller::{Context, Running};

use self::metrics::ClaimMetrics;
use crate::{
    config::{Config, Switch},
    rights::{RbacScope, Role},
};

/// Whether the configuration switches it on.
pub(crate) fn is_on(config: &Config) -> bool {
    config.cluster_claim.mode == Switch::On
}

/// Creates the controller.
pub fn create_controller(
    config: &Config,
    context: &Context,
    metrics: Arc<ClaimMetrics>,
) -> anyhow::Result<Running> {
    let options = controller::Options {
        hub: hub::ClaimHub::new(context.client.clone(), &config.cluster_claim.credentials_namespace),
        settings: config.into(),
        patience: context.request_timeout,
        instance: context.instance.clone(),
        now: context.now,
    };
    Ok(controller::run(options, metrics, context.until_stop()))
}

/// Roles on the hub.
pub(crate) fn required_roles(config: &Config) -> Vec<Role> {
    let namespace = &config.cluster_claim.credentials_namespace;
    vec![
        Role::anywhere("-clusterclaims", RbacScope::Hive),
        Role::within(namespace, "-clusterclaims", RbacScope::Credentials),
    ]
}

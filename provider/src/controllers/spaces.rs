//! Spaces: for each namespace that the function has made and filled, a token of its ServiceAccount that ends, and a kubeconfig around it,
//! published where the Konflux cluster may read it and replaced long before it ends.
//!
//! ```text
//! namespace, published Secret ──observe──▶ Space, Published ──plan──▶ SpacePlan ──execute──▶ token, Secret, annotation
//! ```
//!
//! **Invariant:** a token is requested for one ServiceAccount only, in a namespace with both labels of a space, and leaves the hub only through the
//! published Secret.
//! **Invariant:** a published Secret is deleted once its namespace is deleted, and is written or removed only if its labels name its owner.

pub mod controller;
mod execute;
mod kubeconfig;
pub(crate) mod metrics;
mod observe;
pub mod plan;
pub mod rights;
pub mod state;

use std::sync::Arc;

use testplatform_runtime::controller::{Context, Running};

use self::metrics::SpaceMetrics;
use crate::{
    config::Config,
    rights::{RbacScope, Role},
};

/// Whether the configuration switches it on.
pub(crate) fn is_on(config: &Config) -> bool {
    config.spaces.is_on()
}

/// Creates the controller.
pub fn create_controller(
    config: &Config,
    context: &Context,
    metrics: Arc<SpaceMetrics>,
) -> anyhow::Result<Running> {
    let options = context.options(config.spaces.clone());
    Ok(controller::run(options, metrics, context.until_stop()))
}

/// Roles on the hub.
pub(crate) fn required_roles(config: &Config) -> Vec<Role> {
    let namespace = &config.spaces.credentials_namespace;
    vec![
        Role::anywhere("-spaces", RbacScope::Spaces),
        Role::within(namespace, "-spaces", RbacScope::SpaceCredentials),
    ]
}

//! Publishes facts about this hub for the hub selection: its load, its health, and the clusters that it can create.
//!
//! ```text
//! API server ──observe──▶ HubState ──plan(known, observed, now)──▶ FactsPlan ──execute──▶ ConfigMap testplatform-hub
//! ```
//!
//! **Invariant:** what could not be counted is left out; it never becomes a number.
//! **Invariant:** nothing but that one ConfigMap is written, and nothing that is read is secret.

mod backend;
pub mod controller;
mod execute;
pub(crate) mod metrics;
mod observe;
pub mod observed_state;
mod plan;
pub mod rights;

use std::sync::Arc;

use testplatform_runtime::controller::{Context, Running};

use self::metrics::HubMetrics;
pub use self::{
    backend::in_the_making,
    plan::{AGE, FactsPlan, SOONEST, plan},
};
use crate::{
    config::Config,
    rights::{RbacScope, Role},
};

/// Whether the configuration switches it on.
pub(crate) fn is_on(config: &Config) -> bool {
    config.hub_facts.is_on()
}

/// Creates the controller.
pub fn create_controller(
    config: &Config,
    context: &Context,
    metrics: Arc<HubMetrics>,
) -> anyhow::Result<Running> {
    let options = context.options(config.hub_facts.clone());
    Ok(controller::run(options, metrics, context.until_stop()))
}

/// Roles on the hub.
pub(crate) fn required_roles(config: &Config) -> Vec<Role> {
    let facts = &config.hub_facts;
    let mut roles = vec![Role::within(&facts.namespace, "-hub-facts", RbacScope::Facts)];
    for backend in &facts.backends {
        roles.push(Role::anywhere(format!("-hub-facts-{backend}"), RbacScope::Clusters(*backend)));
    }
    for (namespace, _) in facts.backends.iter().filter_map(|backend| facts.supported_versions(*backend)) {
        roles.push(Role::within(namespace, "-hub-facts-versions", RbacScope::SupportedVersions));
    }
    for namespace in facts.agent_namespaces() {
        roles.push(Role::within(namespace, "-hub-facts-agents", RbacScope::Inventory));
    }
    roles
}

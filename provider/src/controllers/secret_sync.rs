//! The third role, on the tenants' side: the Secrets of claims that bring their own credentials are carried to the hub.
//!
//! ```text
//! composite, ConfigMap on the hub, named Secrets ──observe──▶ SyncRequest, SecretState ──plan──▶ SyncPlan ──execute──▶ Secrets on the hub, report
//! ```
//!
//! The function creates a namespace on the hub for the claim alone, and in it a ConfigMap that names the wanted Secrets. Only that ConfigMap
//! counts: a status could be the tenant's word. RBAC decides which Secrets may be read, and the tenant owns those roles: this controller reads
//! only the names in the ConfigMap, in the namespace of its claim. The composite must request the same Secrets and keys, and the
//! [contents](contents) are validated before they are copied.
//!
//! **Invariant:** a Secret goes nowhere but into the namespace whose ConfigMap names its claim's namespace and its composite, under one of two
//! names, with no key but those that are known, and with nothing in it that was not understood.
//! **Invariant:** what is in a Secret is held for as long as it takes to write it, and is in no log, report or error.
//! **Invariant:** on the hub nothing is read but that ConfigMap: Secrets are written there, and never read back.

pub mod contents;
pub mod controller;
mod execute;
mod hubs;
pub mod metrics;
mod observe;
pub mod plan;
pub mod rights;
pub mod state;

use std::sync::Arc;

use testplatform_runtime::controller::{Context, Running};

use self::metrics::SecretSyncMetrics;
use crate::{
    config::{Carried, Config},
    rights::{RbacScope, Role},
};

/// Whether the configuration switches it on.
pub(crate) fn is_on(config: &Config) -> bool {
    config.carry.is_on()
}

/// Creates the controller.
pub fn create_controller(
    config: &Config,
    context: &Context,
    metrics: Arc<SecretSyncMetrics>,
) -> anyhow::Result<Running> {
    let options = context.options(config.carry.clone());
    Ok(controller::run(options, metrics, context.until_stop()))
}

/// Roles on the hub.
pub(crate) fn required_roles(config: &Config) -> Vec<Role> {
    let role = |flavour: &Carried| {
        let scope = match flavour {
            Carried::Claims => RbacScope::Claims,
            Carried::TestClusters => RbacScope::TestClusters,
        };
        Role::anywhere(format!("-carry-{}", flavour.kind().1), scope)
    };
    config.carry.flavours.iter().map(role).collect()
}

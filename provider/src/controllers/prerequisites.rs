//! `clusters.prerequisites.mode: on`: objects that templates create on the hub before a cluster is requested, and actions there before that.
//!
//! ```text
//! ConfigMap ──▶ PrerequisiteRequest ───┐                                    ┌──▶ Write, Release ──▶ ConfigMap
//! cluster's object ──▶ ClusterPresence ├─ plan(map, presence, result, now) ─┤
//!                                      │                                    ├──▶ Apply ──┐
//!                                      │                                    └──▶ Remove ─┤
//!                                      └◀───────────────── StepResult ◀──────────────────┘
//! ```
//!
//! The function writes an [`PrerequisiteRequestSpec`](testplatform_apis::prerequisites::PrerequisiteRequestSpec) into a ConfigMap in the namespace of the cluster's future object.
//! It requests the cluster once the ConfigMap's annotation reports that all prerequisites are applied. Prerequisites live in that namespace,
//! are of few kinds, and have an owner reference to the ConfigMap. The reference marks them as ours, and lets the garbage collector delete them
//! if nobody else does. It is neither a controller reference nor blocks deletion: the finalizer on the ConfigMap protects everything.
//!
//! An object is created with a create call, and changed by server-side apply at the exact resourceVersion that was observed as ours. A plain
//! apply would also take over an object that somebody else has just created under the name, and checking the response would be too late.
//!
//! **Invariant:** the finalizer and the first report are written together, before anything is created.
//! **Invariant:** only objects with our owner reference are changed or deleted, in exactly the observed version.
//! **Invariant:** `Applied` is reported only after one reconcile in which every bundle was applied in its order and everything was ready; it is never
//! withdrawn.
//! **Invariant:** nothing is deleted or released while the cluster's object exists.
//! **Invariant:** after that the finalizer stays on the ConfigMap no longer than [`GIVE_UP`](plan::GIVE_UP).

pub mod controller;
mod events;
mod hub;
pub mod metrics;
pub mod objects;
pub mod plan;
pub mod request;
pub mod rights;
pub mod state;

use std::sync::Arc;

use testplatform_runtime::controller::{Context, Running};

use self::metrics::PrerequisiteMetrics;
use crate::{
    config::{Config, Switch},
    rights::{RbacScope, Role},
};

/// Whether the configuration switches it on.
pub(crate) fn is_on(config: &Config) -> bool {
    config.clusters.prerequisites.mode == Switch::On
}

/// Creates the controller.
pub fn create_controller(
    config: &Config,
    context: &Context,
    metrics: Arc<PrerequisiteMetrics>,
) -> anyhow::Result<Running> {
    let options = context.options(config.clusters.clone());
    Ok(controller::run(options, metrics, context.until_stop()))
}

/// Roles on the hub.
pub(crate) fn required_roles(config: &Config) -> Vec<Role> {
    let configured = rights::configured(config);
    let role = |namespace: &String| Role {
        configured: configured.clone(),
        ..Role::within(namespace, "-prerequisites", RbacScope::Prerequisites)
    };
    config.clusters.prerequisite_namespaces().iter().map(role).collect()
}

//! `clusters.bundles: on`: what templates set up inside the clusters that are made by them, and what they do in those before they go.
//!
//! ```text
//! ConfigMap ──▶ BundleRequest ─────────┐                                     ┌──▶ WriteStatus, Release ──▶ ConfigMap
//! cluster, its Secret ──▶ ClusterAccess ├─ plan(map, access, progress, now) ──┤
//!                                       │                                     └──▶ Apply ──▶ ApplyProgress ─┐
//!                                       └◀───────────────────────────────────────────────────────────────────┘
//! ```
//!
//! The function writes an [`BundleRequestSpec`](testplatform_apis::bundle::BundleRequestSpec) into a ConfigMap in the namespace of the cluster's object. Once the
//! cluster's credentials are published, the bundles are applied in that cluster by server-side apply, one after the other. An annotation of the
//! ConfigMap reports the result. Once everything was present and ready, the cluster is not checked any more.
//!
//! **Invariant:** nothing is applied in a cluster unless the published Secret belongs to the current object of the cluster, and the work was started
//! in the cluster of that same object.
//! **Invariant:** `Applied` is reported only after one reconcile in which every bundle was applied in its order and everything was ready.
//! **Invariant:** the finalizer stays on the ConfigMap no longer than the timeouts of the pre-delete bundles together, plus a minute of clock skew.
//! **Invariant:** responses of a delivered cluster are its owner's text: they are bounded, cleaned, and never waited for for long.

pub mod controller;
mod events;
mod execute;
pub mod metrics;
pub(crate) mod observe;
pub mod plan;
pub mod request;
pub mod rights;
pub mod state;

use std::sync::Arc;

use testplatform_runtime::controller::{Context, Running};

use self::metrics::BundleMetrics;
use crate::{
    config::Config,
    rights::{RbacScope, Role},
};

/// Whether the configuration switches it on.
pub(crate) fn is_on(config: &Config) -> bool {
    config.clusters.applies_bundles()
}

/// Creates the controller.
pub fn create_controller(
    config: &Config,
    context: &Context,
    metrics: Arc<BundleMetrics>,
) -> anyhow::Result<Running> {
    let options = context.options(config.clusters.clone());
    Ok(controller::run(options, metrics, context.until_stop()))
}

/// Roles on the hub.
pub(crate) fn required_roles(config: &Config) -> Vec<Role> {
    let namespaces = config.clusters.namespaces();
    namespaces.iter().map(|namespace| Role::within(namespace, "-bundles", RbacScope::Bundles)).collect()
}

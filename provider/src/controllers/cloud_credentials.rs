//! `clusters.cloudCredentials.mode: on`: for each cluster that asks for it an application credential of OpenStack's identity service of its own.
//!
//! ```text
//! ConfigMap, Secret, cluster ──▶ ObservedCredential ┐                            ┌─▶ hub: Hold, Note, Publish, Withdraw, Release
//! issuers ──────────────────────────────────────────┼─ next_step(scene, known, now) ─┤
//!                                       StepResults ┘                            └─▶ identity service: Probe, List, Mint, Verify, Remove
//!                                            ▲                                                   │
//!                                            └──────────────────── reconcile ────────────────────┘
//! ```
//!
//! The function writes an [`CredentialRequestSpec`](testplatform_apis::cloud::CredentialRequestSpec) into a ConfigMap in the namespace of the cluster's object. The issued
//! credential is stored in a Secret of the same name, as `clouds.yaml`, for the backend's OpenStack provider. Issuers are Secrets that
//! administrators create in a separate namespace. A password or an unrestricted application credential of a user lets the provider create new
//! credentials *of that user*.
//!
//! All state is on the Secret, in one annotation that is written together with the published credential. Before a credential is created, the
//! record names its issuer, so that a credential from before a crash is found by its name, and deleted.
//!
//! **Invariant:** a published credential is replaced only by one that has obtained a token, and is deleted only after that and a grace period for its
//! readers.
//! **Invariant:** nothing is deleted that the cluster's object may still need.
//! **Invariant:** nothing is created for a request without our finalizer.
//! **Invariant:** only silence of the identity service, or a response too large to read, can delay the end of a cluster; for at most
//! [`GIVE_UP`](plan::GIVE_UP), and only if the service may hold something that was created for the cluster.
//! **Invariant:** passwords, secrets and tokens are never reported.

pub mod clouds;
pub mod controller;
mod events;
mod execute;
pub mod gauge;
pub mod identity;
pub mod issuer;
pub mod metrics;
mod observe;
pub mod plan;
pub mod reconcile;
pub mod record;
pub mod request;
pub mod rights;

use std::sync::Arc;

use testplatform_runtime::controller::{Context, Running};

use self::metrics::CredentialMetrics;
use crate::{
    config::{Config, Switch},
    rights::{RbacScope, Role},
};

/// Whether the configuration switches it on.
pub(crate) fn is_on(config: &Config) -> bool {
    config.clusters.cloud_credentials.mode == Switch::On
}

/// Creates the controller.
pub fn create_controller(
    config: &Config,
    context: &Context,
    metrics: Arc<CredentialMetrics>,
) -> anyhow::Result<Running> {
    let options = context.options(config.clusters.clone());
    Ok(controller::run(options, metrics, context.until_stop()))
}

/// Roles on the hub.
pub(crate) fn required_roles(config: &Config) -> Vec<Role> {
    let namespaces = config.clusters.cloud_namespaces();
    let mut roles: Vec<Role> = namespaces
        .iter()
        .map(|namespace| Role::within(namespace, "-cloud-credentials", RbacScope::CloudCredentials))
        .collect();
    let issuers = &config.clusters.cloud_credentials.issuers_namespace;
    roles.push(Role::within(issuers, "-cloud-issuers", RbacScope::CloudIssuers));
    roles
}

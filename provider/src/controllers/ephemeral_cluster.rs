//! An EphemeralCluster becomes a ProwJob, the ProwJob a cluster, and its credentials a Secret.

pub mod caches;
pub mod ci_operator_config;
pub mod conditions;
pub mod controller;
pub mod diagnostics;
pub mod draft;
pub mod event_reason;
pub mod execute;
mod feed;
mod gather;
pub mod hub;
mod job_name;
mod manifest;
pub(crate) mod metrics;
pub mod object;
pub mod observe;
pub mod observed_state;
pub mod operation;
pub mod orphan;
pub mod plan;
pub mod prow_job;
pub mod proxy;
mod publication;
pub mod registry;
mod request;
pub mod rights;
pub mod settings;
pub mod status;
mod validation;
pub mod wait_step;

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use testplatform_runtime::controller::{Context, Running};

use self::{
    controller::{BuildClusterSource, ControllerMode, Options},
    draft::draft,
    hub::Hub,
    metrics::JobMetrics,
    registry::ProfileRegistry,
    settings::Settings,
};
use crate::{
    config::{Config, Mode, std_duration},
    rights::{RbacScope, Role},
};

/// Time for which a build cluster that stops answering counts as unchanged. An API server that is being replaced is back by then, and nothing
/// need be reported.
const BUILD_CLUSTER_PATIENCE: Duration = Duration::from_secs(30);

/// Whether the configuration switches it on.
pub(crate) fn is_on(config: &Config) -> bool {
    config.ephemeral_cluster.mode != Mode::Off
}

/// Creates the controller.
pub fn create_controller(
    config: &Config,
    context: &Context,
    metrics: Arc<JobMetrics>,
) -> anyhow::Result<Running> {
    let build_clusters =
        config.build_clusters.directory.clone().context("buildClusters.directory is missing")?;
    let mode = match config.ephemeral_cluster.mode {
        Mode::Fulfil => {
            let registry = ProfileRegistry::new(config.ephemeral_cluster.clone());
            let config = config.clone();
            ControllerMode::Fulfil(Arc::new(move |object, now| {
                draft(object, &config, &registry.profiles(), now)
            }))
        }
        Mode::Proxy | Mode::Off => ControllerMode::Proxy,
    };
    let options = Options {
        mode,
        hub: Hub::new(context.client.clone(), &config.ephemeral_cluster.namespace, &config.prow.namespace),
        settings: Arc::new(Settings::from(config)),
        build_clusters: BuildClusterSource::Directory(build_clusters, context.trust),
        patience: context.request_timeout,
        build_cluster_call: std_duration(config.build_clusters.request_timeout)?,
        build_cluster_patience: BUILD_CLUSTER_PATIENCE,
        instance: context.instance.clone(),
        now: context.now,
    };
    Ok(controller::run(options, metrics, context.until_stop()))
}

/// Roles on the hub.
pub(crate) fn required_roles(config: &Config) -> Vec<Role> {
    let (own, jobs) = (&config.ephemeral_cluster.namespace, &config.prow.namespace);
    vec![
        Role::anywhere("-ephemeralclusters", RbacScope::EphemeralClustersAnywhere),
        Role::within(own, "", RbacScope::EphemeralClusters),
        Role::within(jobs, "-prowjobs", RbacScope::ProwJobs),
    ]
}

//! Creates the controllers that the configuration switches on, each with its dependencies.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use anyhow::Context as _;
use jiff::Timestamp;
use kube::Client;
use testplatform_runtime::{client::Trust, controller::Running};
use tokio::sync::watch;

use crate::{
    config::{Config, Mode, Switch, std_duration},
    controllers::{
        bundles, cleanup, cloud_credentials, cluster_claim, cluster_pool,
        ephemeral_cluster::{
            controller::{self, BuildClusterSource, Options},
            draft::draft,
            hub::Hub,
            registry::ProfileRegistry,
            settings::Settings,
        },
        hub_facts, orphans, prerequisites, secret_sync, spaces, template_cluster,
    },
    credentials::publish::refresh,
    metrics::Metrics,
};

/// Time for which a build cluster that stops answering counts as unchanged. An API server that is being replaced is back by then, and nothing
/// need be reported.
const BUILD_CLUSTER_PATIENCE: Duration = Duration::from_secs(30);
/// How long one call to the hub may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Dependencies that all controllers share.
pub struct Shared {
    /// API server of the cluster that the program runs in.
    pub client: Client,
    /// Identity of this process.
    pub instance: String,
    /// Trust in the certificates of other API servers.
    pub trust: Trust,
    /// Where they count.
    pub metrics: Metrics,
    /// The clock.
    pub now: fn() -> Timestamp,
    /// True once they are to end.
    pub stop: watch::Receiver<bool>,
}

impl Shared {
    /// Ends once they are to end.
    fn until_stop(&self) -> Running {
        let mut stop = self.stop.clone();
        Box::pin(async move {
            let _ = stop.wait_for(|stop| *stop).await;
        })
    }
}

/// Says that nothing is switched on, and what could be.
pub const NOTHING: &str = "ephemeralCluster.mode, clusterClaim.mode, hubFacts.mode, spaces.mode, carry.mode, cleanup.mode \
     and orphans.mode are off, clusterPool.namespaces and clusters.backends are empty: nothing is done";

/// Whether nothing is switched on.
pub fn is_off(config: &Config) -> bool {
    let of_clusters = config.ephemeral_cluster.mode != Mode::Off || config.cluster_claim.mode == Switch::On;
    let beside = config.cluster_pool.is_on() || config.clusters.is_on();
    let tenants = config.carry.is_on() || config.cleanup.is_on() || config.orphans.is_on();
    !(of_clusters || beside || tenants || config.hub_facts.is_on() || config.spaces.is_on())
}

/// Creates the enabled controllers. None waits for another, nor ends with it.
///
/// # Errors
/// If the configuration lacks what one of them needs.
pub fn create_controllers(config: &Config, shared: &Shared) -> anyhow::Result<Vec<Running>> {
    let &Shared { ref client, ref instance, ref metrics, now, .. } = shared;
    let ending = || shared.until_stop();
    let client = || client.clone();
    let mut all: Vec<Running> = Vec::new();
    if config.ephemeral_cluster.mode != Mode::Off {
        let options = of_ephemeral_clusters(config.clone(), shared)?;
        all.push(controller::run(options, metrics.jobs(), ending()));
    }
    if config.cluster_claim.mode == Switch::On {
        let options = cluster_claim::controller::Options {
            hub: cluster_claim::hub::ClaimHub::new(client(), &config.cluster_claim.credentials_namespace),
            settings: config.into(),
            patience: PATIENCE,
            instance: instance.clone(),
            now,
        };
        all.push(cluster_claim::controller::run(options, metrics.claims(), ending()));
    }
    if config.cluster_pool.is_on() {
        let options = cluster_pool::controller::Options {
            client: client(),
            namespaces: config.cluster_pool.namespaces.clone(),
            instance: instance.clone(),
            now,
        };
        all.push(cluster_pool::controller::run(options, metrics.pools(), ending()));
    }
    if config.clusters.is_on() {
        let options = template_cluster::controller::Options {
            client: client(),
            config: config.clusters.clone(),
            patience: PATIENCE,
            instance: instance.clone(),
            now,
        };
        all.push(template_cluster::controller::run(options, metrics.clusters(), ending()));
    }
    if config.clusters.applies_bundles() {
        let options = bundles::controller::Options {
            client: client(),
            config: config.clusters.clone(),
            patience: PATIENCE,
            instance: instance.clone(),
            now,
        };
        all.push(bundles::controller::run(options, metrics.bundles(), ending()));
    }
    if config.clusters.cloud_credentials.mode == Switch::On {
        let options = cloud_credentials::controller::Options {
            client: client(),
            config: config.clusters.clone(),
            patience: PATIENCE,
            instance: instance.clone(),
            now,
        };
        all.push(cloud_credentials::controller::run(options, metrics.cloud(), ending()));
    }
    if config.clusters.prerequisites.mode == Switch::On {
        let options = prerequisites::controller::Options {
            client: client(),
            config: config.clusters.clone(),
            patience: PATIENCE,
            instance: instance.clone(),
            now,
        };
        all.push(prerequisites::controller::run(options, metrics.prerequisites(), ending()));
    }
    if config.hub_facts.is_on() {
        let options =
            hub_facts::controller::Options { client: client(), config: config.hub_facts.clone(), now };
        all.push(hub_facts::controller::run(options, metrics.hub(), ending()));
    }
    if config.spaces.is_on() {
        let options = spaces::controller::Options { client: client(), config: config.spaces.clone(), now };
        all.push(spaces::controller::run(options, metrics.spaces(), ending()));
    }
    let namespaces = published_namespaces(config);
    if !namespaces.is_empty() {
        let options = refresh::Options { client: client(), namespaces };
        all.push(refresh::run(options, metrics.runtime().clone(), ending()));
    }
    all.extend(beside_claims(config, shared));
    Ok(all)
}

/// The namespaces in which credentials of clusters are published.
fn published_namespaces(config: &Config) -> Vec<String> {
    let mut namespaces = BTreeSet::new();
    if config.ephemeral_cluster.mode != Mode::Off {
        namespaces.insert(&config.ephemeral_cluster.namespace);
    }
    if config.cluster_claim.mode == Switch::On {
        namespaces.insert(&config.cluster_claim.credentials_namespace);
    }
    if config.clusters.is_on() {
        namespaces.insert(&config.clusters.credentials_namespace);
    }
    namespaces.into_iter().cloned().collect()
}

/// Creates the controllers that run next to the claims, on a Konflux cluster.
fn beside_claims(config: &Config, shared: &Shared) -> Vec<Running> {
    let &Shared { ref client, ref instance, trust, ref metrics, now, .. } = shared;
    let mut all: Vec<Running> = Vec::new();
    if config.carry.is_on() {
        let options = secret_sync::controller::Options {
            client: client.clone(),
            config: config.carry.clone(),
            trust,
            now,
        };
        all.push(secret_sync::controller::run(options, metrics.carries(), shared.until_stop()));
    }
    if config.cleanup.is_on() {
        let options = cleanup::controller::Options {
            client: client.clone(),
            config: config.cleanup.clone(),
            instance: instance.clone(),
            now,
        };
        all.push(cleanup::controller::run(options, metrics.cleanups(), shared.until_stop()));
    }
    if config.orphans.is_on() {
        let options = orphans::controller::Options {
            client: client.clone(),
            config: config.orphans.clone(),
            trust,
            instance: instance.clone(),
            now,
        };
        all.push(orphans::controller::run(options, metrics.orphans(), shared.until_stop()));
    }
    all
}

fn of_ephemeral_clusters(config: Config, shared: &Shared) -> anyhow::Result<Options> {
    let Shared { client, instance, trust, now, .. } = shared;
    let hub = Hub::new(client.clone(), &config.ephemeral_cluster.namespace, &config.prow.namespace);
    let settings = Arc::new(Settings::from(&config));
    let build_clusters =
        config.build_clusters.directory.clone().context("buildClusters.directory is missing")?;
    let build_cluster_call = std_duration(config.build_clusters.request_timeout)?;
    let mode = match config.ephemeral_cluster.mode {
        Mode::Fulfil => {
            let registry = ProfileRegistry::new(config.ephemeral_cluster.clone());
            controller::ControllerMode::Fulfil(Arc::new(move |object, now| {
                draft(object, &config, &registry.profiles(), now)
            }))
        }
        Mode::Proxy | Mode::Off => controller::ControllerMode::Proxy,
    };
    Ok(Options {
        mode,
        hub,
        settings,
        build_clusters: BuildClusterSource::Directory(build_clusters, *trust),
        patience: PATIENCE,
        build_cluster_call,
        build_cluster_patience: BUILD_CLUSTER_PATIENCE,
        instance: instance.clone(),
        now: *now,
    })
}

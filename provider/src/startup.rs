//! Creates the controllers that the configuration switches on.

use std::collections::BTreeSet;

use testplatform_runtime::controller::{Context, Running};

use crate::{
    config::{Config, Mode, Switch},
    controllers::{self, for_each_controller},
    credentials::publish::refresh,
    metrics::Metrics,
};

/// Says that nothing is switched on, and what could be.
pub const NOTHING: &str = "ephemeralCluster.mode, clusterClaim.mode, hubFacts.mode, spaces.mode, carry.mode, cleanup.mode \
     and orphans.mode are off, clusterPool.namespaces and clusters.backends are empty: nothing is done";

/// Defines what is done with every controller.
macro_rules! define_startup {
    ($($module:ident, $metrics:ident: $type:ident;)+) => {
        /// Whether nothing is switched on.
        pub fn is_off(config: &Config) -> bool {
            !($(controllers::$module::is_on(config))||+)
        }

        /// Creates the enabled controllers. None waits for another, nor ends with it.
        ///
        /// # Errors
        /// If the configuration lacks what one of them needs.
        pub fn create_controllers(
            config: &Config,
            context: &Context,
            metrics: &Metrics,
        ) -> anyhow::Result<Vec<Running>> {
            let mut all = Vec::new();
            $(
                if controllers::$module::is_on(config) {
                    all.push(controllers::$module::create_controller(config, context, metrics.$metrics())?);
                }
            )+
            all.extend(create_refresh(config, context, metrics));
            Ok(all)
        }
    };
}
for_each_controller!(define_startup);

/// Creates the refresh of published credentials, if any are published.
fn create_refresh(config: &Config, context: &Context, metrics: &Metrics) -> Option<Running> {
    let namespaces = published_namespaces(config);
    if namespaces.is_empty() {
        return None;
    }
    let options = refresh::Options { client: context.client.clone(), namespaces };
    Some(refresh::run(options, metrics.runtime_metrics().clone(), context.until_stop()))
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

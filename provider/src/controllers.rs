//! Controllers, each in a folder of its own. None imports another.

pub mod bundles;
pub mod cleanup;
pub mod cloud_credentials;
pub mod cluster_claim;
pub mod cluster_pool;
pub mod ephemeral_cluster;
pub mod hub_facts;
pub mod orphans;
pub mod prerequisites;
pub mod secret_sync;
pub mod spaces;
pub mod template_cluster;

/// Calls a macro with every controller: its module, and the name and type of its metrics. Startup, metrics and rights are made from this list, and
/// roles keep its order.
///
/// A module has `is_on`, `create_controller`, `required_roles` and `rights::GRANTS`. Its metrics implement
/// [`ControllerMetrics`](testplatform_runtime::metrics::ControllerMetrics).
macro_rules! for_each_controller {
    ($callback:ident) => {
        $callback! {
            ephemeral_cluster, jobs: JobMetrics;
            cluster_claim, claims: ClaimMetrics;
            cluster_pool, pools: PoolMetrics;
            template_cluster, clusters: ClusterMetrics;
            bundles, bundles: BundleMetrics;
            prerequisites, prerequisites: PrerequisiteMetrics;
            cloud_credentials, cloud: CredentialMetrics;
            hub_facts, hub: HubMetrics;
            spaces, spaces: SpaceMetrics;
            secret_sync, carries: SecretSyncMetrics;
            cleanup, cleanups: CleanupMetrics;
            orphans, orphans: OrphanMetrics;
        }
    };
}
pub(crate) use for_each_controller;

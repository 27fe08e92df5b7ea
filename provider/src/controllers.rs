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

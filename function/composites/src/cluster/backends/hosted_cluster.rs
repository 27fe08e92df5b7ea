//! HostedClusters, as every backend reads them whose clusters are some: it makes them itself, or has another one make them.

pub(super) mod cluster_conditions;
mod console;
mod facts;
pub(super) mod failures;
mod underlying;
mod version;

pub(super) use console::console_url;
pub(super) use facts::{HostedClusterFacts, NodeGroupFacts};
pub(super) use failures::invalid_image;
pub(super) use underlying::UnderlyingCluster;
pub(super) use version::{completed_update, newest_update};

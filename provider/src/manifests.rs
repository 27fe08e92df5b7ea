//! Manifests that are applied to clusters and hubs, and the ConfigMaps that request them.

pub mod apply;
pub(crate) mod guest_cluster;
pub mod ready;
pub(crate) mod requests;
pub mod wait;

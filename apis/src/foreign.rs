//! Partial views of kinds that belong to other projects: only the fields that we read or write, tolerant of everything else.

pub mod caas;
pub mod cluster_api;
pub mod cluster_claim;
pub mod cluster_pool;
mod endpoint;
pub mod ephemeral_cluster;
pub mod hosted_cluster;
pub mod meta;
pub mod object;
pub mod osac;
pub mod provider_config;
mod resource_kind;

pub use endpoint::Endpoint;
pub use resource_kind::ResourceKind;

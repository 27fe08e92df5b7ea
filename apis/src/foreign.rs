//! Partial views of kinds that belong to other projects: only the fields that we read or write, tolerant of everything else.

pub mod caas;
pub mod cluster_api;
pub mod cluster_claim;
pub mod cluster_pool;
pub mod ephemeral_cluster;
pub mod hypershift;
pub mod meta;
pub mod object;
pub mod osac;
pub mod provider_config;

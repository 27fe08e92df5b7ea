//! The testbed: two real control planes, *konflux* and *hub*, as plain processes, with real Crossplane core and real
//! provider-kubernetes between them, and the real provider on the hub. Prow and the like are played by [`actors`]. Some scenarios
//! have a hub more: [`hub::another`].
//!
//! ```text
//! Nest ──▶ ControlPlane ×2 ──▶ Engine (core, provider-kubernetes, function, provider) ──▶ Tenant (a claim and what becomes of it)
//! ```
//!
//! **Invariant:** no process and no file outlives the process that made it, however that ends; see [`nest`].
//! **Invariant:** a missing tool or program is one clear error, never a test that passes without it.
//! **Invariant:** waiting is by watch with a deadline; see [`cluster::Cluster::until`].

pub mod actors;
pub mod binaries;
pub mod caas;
pub mod campaign;
pub mod carrier;
pub mod cleaner;
pub mod cluster;
pub mod cluster_api;
mod command_line;
pub mod companion;
pub mod control_plane;
pub mod counted;
pub mod course;
pub mod crossplane;
pub mod definitions;
pub mod demo;
pub mod exclusive;
pub mod flavour;
pub mod function;
pub mod gate;
pub mod hive;
pub mod hub;
pub mod hub_controller;
pub mod hypershift;
pub mod invariants;
pub mod keystone;
pub mod kinds;
pub mod ledger;
pub mod load;
pub mod machine;
pub mod manifests;
pub mod manners;
pub mod nest;
pub mod observed;
pub mod osac;
pub mod others;
pub mod patience;
pub mod pki;
mod player;
pub mod plot;
pub mod ports;
pub mod program;
pub mod promise;
pub mod provider;
pub mod prow;
pub mod proxy;
pub mod recorder;
pub mod scale;
pub mod search;
pub mod settings;
pub mod skew;
pub mod space;
pub mod tenant;
pub mod trials;
pub mod usage;
pub mod witness;

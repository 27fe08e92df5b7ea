//! `clusters.cloudCredentials.mode: on`: for each cluster that asks for it an application credential of OpenStack's identity service of its own.
//!
//! ```text
//! ConfigMap, Secret, cluster ──▶ Scene ┐                  ┌─▶ hub: Hold, Note, Publish, Withdraw, Release
//! issuers ─────────────────────────────┼─ next(scene, known, now)
//!                                Known ┘                  └─▶ identity service: Probe, List, Mint, Verify, Remove
//!                                  ▲                                     │
//!                                  └─────────────── pass ────────────────┘
//! ```
//!
//! The function writes an [`Order`](testplatform_apis::cloud::Order) into a ConfigMap in the namespace of the cluster's object. The issued
//! credential is stored in a Secret of the same name, as `clouds.yaml`, for Cluster API's OpenStack provider. Issuers are Secrets that
//! administrators create in a separate namespace. A password or an unrestricted application credential of a user lets the provider create new
//! credentials *of that user*.
//!
//! All that is remembered stands on the Secret, in one annotation that is written together with what is published. Before anything is made it is
//! written down through whom, so that what was made before a crash is found by its name, and deleted.
//!
//! **Invariant:** what is published is replaced only by what a token was got with, and is deleted only after that, and a time for those who read it.
//! **Invariant:** nothing is deleted of which the cluster's object may still be in need.
//! **Invariant:** nothing is made for an order that is not held.
//! **Invariant:** no answer of the identity service but silence, or one too large to be read, holds up the end of a cluster, and does so for
//! [`GIVE_UP`](next::GIVE_UP) at most, and only where it may know of something that was made for the cluster.
//! **Invariant:** of passwords, secrets and tokens nothing is told.

pub mod clouds;
pub mod controller;
mod execute;
pub mod identity;
pub mod issuer;
pub mod next;
pub mod order;
pub mod pass;
pub mod record;
pub mod seen;

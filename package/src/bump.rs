//! `cargo xpkg bump`: moves the pinned commits in a checkout of an infra-deployments-like repository.
//!
//! Files in as bytes → [`plan()`] → edits → bytes out. Unaffected lines keep every byte, because a file of a GitOps repository is reviewed
//! as a diff and owned by others. Only [`disk`], [`git`] and [`command`] perform I/O.
//!
//! **Invariant:** an error changes nothing. **Invariant:** every edited file is parsed again and has the intended content. **Invariant:**
//! staging and production never change together.

mod application_set;
mod body;
mod checks;
pub mod command;
mod delta;
mod deployed;
mod diff;
pub mod disk;
mod environment_config;
mod finding;
pub mod git;
mod image;
mod kustomization;
mod kustomize;
mod layout;
mod pin;
mod plan;
mod problem;
mod report;
mod rights;
mod rings;
pub(crate) mod schema;
mod shared;
mod text;
mod tree;
mod upstream;

pub use body::{Facts, pull_request};
pub use checks::{Context, check};
pub use delta::{Risk, check as check_upstream, risk};
pub use diff::unified;
pub use finding::{Finding, Severity};
pub use image::Image;
pub use kustomize::{Ineffective, Object, ObjectId, Rendered, Unresolved, UnresolvedReason, render};
pub use layout::{Overlay, Scope, overlays};
pub use pin::{Commit, Pin, Source};
pub use plan::{Edit, Move, Plan, Request, plan};
pub use problem::Problem;
pub use report::{Row, report};
pub use rights::{Right, needed, of_cluster_role};
pub use rings::{Environment, Rings};
pub use schema::{Change, Verdict, compare_definitions, compare_request, compare_schemas};
pub use tree::Tree;
pub use upstream::{Kind, Upstream, UpstreamCommit, commits_of_log};

/// The default source: the repository from which the Konflux clusters get Crossplane and its compositions.
pub const UPSTREAM_SOURCE: &str = "konflux-ci/crossplane-control-plane";

/// The default component.
pub const COMPONENT: &str = "crossplane-control-plane";

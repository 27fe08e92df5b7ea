//! `cargo xpkg bump`: moves the pinned commits in a checkout of an infra-deployments-like repository.
//!
//! Files in as bytes → [`plan()`] → edits → bytes out. Unaffected lines keep every byte, because a file of a GitOps repository is reviewed
//! as a diff and owned by others. Only [`disk`], [`git`] and [`command`] perform I/O.
//!
//! **Libraries.** kustomize is a program in Go that rewrites a file it edits, and fetches remote resources to render it; it serves as a
//! check with `--render`. yamlpatch edits a value in place, but cannot refuse a list whose other lines could hide a pin, and brings
//! tree-sitter's C parser. The program `git` has the user's credentials and settings, which git2 and gix have to imitate. JSON patches,
//! diffs and YAML are those of json-patch, similar and serde-saphyr.
//!
//! **Invariant:** an error changes nothing.
//! **Invariant:** every edited file is parsed again and has the intended content.
//! **Invariant:** staging and production never change together.

mod application_set;
mod checks;
pub mod command;
mod delta;
mod deployed_paths;
mod diff;
pub mod disk;
mod environment_config;
mod finding;
pub mod git;
mod image;
mod kustomization;
mod kustomize;
mod layout;
mod list_entry;
mod package_patch;
mod pin;
mod plan;
mod problem;
mod pull_request;
mod report;
mod rights;
mod rings;
pub(crate) mod schema;
mod shared_pins;
mod text;
mod tree;
mod upstream;

pub use checks::{CheckContext, run_checks};
pub use delta::{Risk, assess_risk, check_upstream};
pub use diff::unified_diff;
pub use finding::{Finding, FindingSeverity};
pub use image::Image;
pub use kustomize::{
    Ineffective, Object, ObjectId, Rendered, Unresolved, UnresolvedReason, render_directory,
};
pub use layout::{Overlay, Scope, list_overlays};
pub use pin::{Commit, Pin, Source};
pub use plan::{Edit, PinMove, Plan, Request, plan_changes};
pub use problem::Problem;
pub use pull_request::{PullRequestFacts, render_pull_request};
pub use report::{ReportRow, build_report};
pub use rights::{Right, required_rights, rights_of_role};
pub use rings::{Environment, Rings};
pub use schema::{SchemaChange, Verdict, compare_definitions, compare_request, compare_schemas};
pub use tree::Tree;
pub use upstream::{CommitKind, Upstream, UpstreamCommit, commits_of_log};

/// The default source: the repository from which the Konflux clusters get Crossplane and its compositions.
pub const UPSTREAM_SOURCE: &str = "konflux-ci/crossplane-control-plane";

/// The default component.
pub const COMPONENT: &str = "crossplane-control-plane";

//! Tests of `cargo xpkg bump`: on a small repository of our own always, on a copy of infra-deployments, and on clones where they are present.

mod add;
mod checks;
mod command;
mod components;
mod deployed;
mod kustomize;
mod plan;
mod properties;
mod pull_requests;
mod range;
mod real_kustomize;
mod replacements;
mod rings;
mod schema;
mod support;

//! Installation, as far as it can be checked without an API server: Argo CD's view of objects, and the metrics and fields that rules and
//! panels name. The testbed renders and admits everything on real API servers.

// Clippy knows test functions, but not their helpers.

mod alert_cases;
mod alert_cases_hub;
mod alerts;
mod charts;
mod cluster;
mod ends;
mod gitops;
mod health;
mod hub;
mod hub_needs;
mod monitoring;
mod network;
mod policies;
mod promlint;
mod promql;
mod served;
mod texts;

use std::path::{Path, PathBuf};

use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every document of a YAML file; none if there is no such file.
fn documents(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let all: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    all.into_iter().filter(|document| !document.is_null()).collect()
}

//! Contents of `examples/tekton`, as YAML.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::Value;
use testplatform_tests::{manifests, settings};

/// The Tasks and the `StepAction`, by file.
pub const TASKS: [&str; 5] = [
    "tasks/provision-ephemeral-cluster.yaml",
    "tasks/deprovision-ephemeral-cluster.yaml",
    "tasks/copy-secrets-to-ephemeral-cluster.yaml",
    "tasks/collect-ephemeral-cluster-logs.yaml",
    "stepactions/get-ephemeral-cluster-credentials.yaml",
];
/// The Pipeline.
pub const PIPELINE: &str = "pipeline.yaml";
/// A run of it.
pub const PIPELINE_RUN: &str = "pipelinerun.yaml";

/// Where a file is.
pub fn path(file: &str) -> PathBuf {
    settings::repository().join("examples/tekton").join(file)
}

/// The object in a file.
pub fn read(file: &str) -> anyhow::Result<Value> {
    one(&path(file))
}

fn one(path: &Path) -> anyhow::Result<Value> {
    let mut documents = manifests::read(path)?;
    match (documents.pop(), documents.is_empty()) {
        (Some(document), true) => Ok(document),
        _ => bail!("{} has not exactly one object", path.display()),
    }
}

/// The Task or `StepAction` of a name.
pub fn named(kind: &str, name: &str) -> anyhow::Result<Value> {
    for file in TASKS {
        let object = read(file)?;
        if object["kind"] == kind && object["metadata"]["name"] == name {
            return Ok(object);
        }
    }
    bail!("there is no {kind} {name}")
}

/// The elements of a list, none if it is not there.
pub fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// A text field.
pub fn text<'v>(value: &'v Value, field: &str) -> anyhow::Result<&'v str> {
    value[field].as_str().with_context(|| format!("no {field} in {value}"))
}

/// The steps that a Task or `StepAction` has, and those of the Tasks that are written into a Pipeline.
pub fn steps(object: &Value) -> Vec<&Value> {
    match object["kind"].as_str() {
        Some("StepAction") => vec![&object["spec"]],
        Some("Task") => list(&object["spec"], "steps").iter().collect(),
        _ => list(&object["spec"], "tasks").iter().flat_map(|t| list(&t["taskSpec"], "steps")).collect(),
    }
}

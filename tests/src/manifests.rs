//! Manifests: what this repository ships, and what others define.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::{Value, json};
use testplatform_apis::ci_operator;
use testplatform_test_data::upstream;

use crate::settings;

/// Every document of a YAML file, empty ones left out.
pub fn read(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&text).with_context(|| format!("cannot parse {}", path.display()))?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

/// Every document of every YAML file of a directory, in the order of the files' names.
pub fn read_all(directory: &Path) -> anyhow::Result<Vec<Value>> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut paths: Vec<PathBuf> = entries.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    paths.retain(|p| p.extension().is_some_and(|e| e == "yaml"));
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        all.extend(read(&path)?);
    }
    Ok(all)
}

/// A file under `package/`.
pub fn package(path: &str) -> anyhow::Result<Vec<Value>> {
    read(&settings::repository().join("package").join(path))
}

/// The only document of a file under `package/`.
pub fn package_one(path: &str) -> anyhow::Result<Value> {
    package(path)?.pop().with_context(|| format!("package/{path} is empty"))
}

/// CRDs of Crossplane or a provider, fit to be applied by hand: the package manager would fill in where their
/// conversion webhook is, which nobody needs who uses the stored version.
pub fn crds(directory: &Path) -> anyhow::Result<Vec<Value>> {
    let mut all = read_all(directory)?;
    for crd in &mut all {
        crd["spec"]["conversion"] = json!({ "strategy": "None" });
    }
    Ok(all)
}

/// A CRD as its owner publishes it.
pub fn foreign_crd(name: &str) -> anyhow::Result<Value> {
    read(&upstream().join("crds").join(format!("{name}.yaml")))?.pop().context("an empty CRD")
}

/// A CRD of somebody else that we wrote, because no published one can be had.
pub fn known_crd(name: &str) -> anyhow::Result<Value> {
    committed_crd(&format!("{name}.yaml"))
}

/// A CRD of somebody else as it is in newer versions than those that most hubs have.
pub fn newest_crd(name: &str) -> anyhow::Result<Value> {
    committed_crd(&format!("newest/{name}.yaml")).map(with_ci_operator)
}

fn committed_crd(file: &str) -> anyhow::Result<Value> {
    read(&settings::repository().join("tests/crds").join(file))?.pop().context("an empty CRD")
}

/// Puts the schema of `spec.ciOperator` in, if the CRD has that field.
fn with_ci_operator(mut crd: Value) -> Value {
    let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    if let Some(ci_operator) = schema.pointer_mut("/properties/spec/properties/ciOperator") {
        *ci_operator = ci_operator::xrd_schema().clone();
    }
    crd
}

//! The packaging tool, `cargo xpkg`: what users install, generated from the types, built, pushed, checked and kept in step.
//!
//! Input: the crate `testplatform-apis`. Output: files under `package/`, as path and text; only [`write()`] touches the disk.
//! [`build`], [`registry`], [`check`], [`sync`], [`bump`], [`hub`] and [`offers`] are a subcommand each; [`install`] is what is made of data
//! among the manifests that users install.
//!
//! **Invariant:** nothing under `package/crds`, `package/xrds`, `package/input`, `package/function` and `package/configuration` is
//! written by hand, lists for kustomize apart, nor are the Compositions of pools and TestClusters; a test generates all of it again and compares.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};
use testplatform_apis::{catalogue, claim, crd, offer, pool, space, template, xrd};

pub mod build;
pub mod bump;
pub mod check;
pub mod cluster;
pub mod hub;
pub mod install;
pub mod modern;
pub mod oci;
pub mod offers;
pub mod registry;
pub mod sync;

pub use testplatform_apis::yaml::to_yaml;

/// What lists files for kustomize. It is no manifest itself.
pub const KUSTOMIZATION: &str = "kustomization.yaml";

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it belongs, relative to the directory `package/`.
    pub path: &'static str,
    /// Its whole text.
    pub text: String,
}

/// Every generated file, in the order of its path. The same types give the same bytes.
///
/// # Errors
/// If a type has no schema that can be written as YAML.
pub fn generate() -> anyhow::Result<Vec<File>> {
    let input = xrd::input_xrd()?;
    let mut files = vec![
        File { path: "compositions/testplatform-cluster-pool.yaml", text: document(&pool_composition())? },
        File { path: "compositions/testplatform-test-cluster.yaml", text: document(&modern::composition())? },
        File { path: "configuration/crossplane.yaml", text: document(&build::meta::configuration())? },
        File {
            path: "crds/ephemeralclusters.ci.openshift.io.yaml",
            text: document(&crd::ephemeral_cluster())?,
        },
        File { path: "function/crossplane.yaml", text: document(&build::meta::function())? },
        // As it lies in the package: for builds in pipelines, where no tool of ours packs it.
        File {
            path: "function/package.yaml",
            text: generated(&build::stream::function(std::slice::from_ref(&input))?),
        },
        File { path: "input/inputs.testplatform.fn.crossplane.io.yaml", text: document(&input)? },
        File {
            path: "input/testplatform-offers.schema.json",
            text: format!("{:#}\n", serde_json::to_value(offer::build_schema())?),
        },
        File {
            path: "input/testplatform-pools.schema.json",
            text: format!("{:#}\n", serde_json::to_value(catalogue::build_schema())?),
        },
        File {
            path: "input/testplatform-template.schema.json",
            text: format!("{:#}\n", serde_json::to_value(template::entry::build_schema())?),
        },
        // With what installs them: spaces are for those who had them.
        File { path: "install/components/spaces/composition.yaml", text: document(&space_composition())? },
        File { path: "install/components/spaces/definition.yaml", text: document(&xrd::space_xrd()?)? },
        File { path: "xrds/testclusters.ci.openshift.org.yaml", text: document(&xrd::test_cluster()?)? },
        File {
            path: "xrds/xtestplatformclusterpools.ci.openshift.org.yaml",
            text: document(&xrd::test_platform_cluster_pool()?)?,
        },
        File {
            path: "xrds/xtestplatformclusters.ci.openshift.org.yaml",
            text: document(&xrd::test_platform_cluster()?)?,
        },
    ];
    files.extend(install::files()?);
    files.extend(modern::component()?);
    files.extend(pool_component()?);
    files.sort_by_key(|file| file.path);
    Ok(files)
}

/// The Composition of pools. It fetches nothing before the first call: what the function asks for, the other pools, it needs once.
fn pool_composition() -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "Composition",
        "metadata": {
            "name": "testplatform-cluster-pool",
            "annotations": { "argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true" },
        },
        "spec": {
            "compositeTypeRef": { "apiVersion": claim::API_VERSION, "kind": pool::POOL_KIND },
            "mode": "Pipeline",
            "pipeline": [{ "step": "testplatform", "functionRef": { "name": build::FUNCTION } }],
        },
    })
}

/// The component that lets pools be kept in Git: definition and Composition, each as Argo CD is to treat it.
fn pool_component() -> anyhow::Result<Vec<File>> {
    // A prune of the definition would delete every pool. It comes before the function, whose status it has to declare.
    let (definition, composition) = (xrd::test_platform_cluster_pool()?, pool_composition());
    Ok(vec![
        File {
            path: "install/components/cluster-pools/composition.yaml",
            text: document(&install::kept(composition, "3"))?,
        },
        File {
            path: "install/components/cluster-pools/definition.yaml",
            text: document(&install::kept(definition, "-1"))?,
        },
    ])
}

/// The Composition of spaces, under the incumbent's name, to which live composites refer. Nothing is fetched for it.
fn space_composition() -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "Composition",
        "metadata": {
            "name": space::COMPOSITION,
            "annotations": { "argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true" },
        },
        "spec": {
            "compositeTypeRef": { "apiVersion": space::API_VERSION, "kind": space::SPACE_KIND },
            "writeConnectionSecretsToNamespace": "crossplane-connections",
            "mode": "Pipeline",
            "pipeline": [{ "step": "testplatform", "functionRef": { "name": build::FUNCTION } }],
        },
    })
}

/// Writes those of `files` that differ from what is there, and returns their paths. Folders are made as needed.
///
/// # Errors
/// If a file cannot be written; the ones before it are then written.
pub fn write(directory: &Path, files: &[File]) -> anyhow::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for file in files {
        let path = directory.join(file.path);
        if fs::read_to_string(&path).is_ok_and(|text| text == file.text) {
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        fs::write(&path, &file.text).with_context(|| format!("cannot write {}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

pub(crate) fn document(value: &Value) -> anyhow::Result<String> {
    Ok(generated(&to_yaml(value)?))
}

fn generated(text: &str) -> String {
    format!("# Generated by `cargo xpkg generate` from the crate testplatform-apis. Do not edit.\n{text}")
}

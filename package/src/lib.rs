//! The packaging tool, `cargo xpkg`: generates the installed files from the types, builds, pushes and checks packages, and synchronizes
//! schemas.
//!
//! Input: the crate `testplatform-apis`. Output: files under `package/`, as path and text; only [`write_files`] touches the disk.
//! [`build`], [`registry`], [`check`], [`sync`], [`bump`], [`hub`] and [`offers`] are one subcommand each, [`release`] is three and
//! [`signature`] two. [`install`] has the generated parts of the installed manifests.
//!
//! The Helm charts under `package/charts` are generated from the manifests of the overlays, except notes, helpers and checks.
//!
//! **Invariant:** all files under `package/crds`, `package/xrds`, `package/input`, `package/function` and `package/configuration` are
//! generated, except lists for kustomize. So are the Compositions of pools and TestClusters. A test generates all of them again and
//! compares.

use std::{
    borrow::Cow,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::{Value, json};
use testplatform_apis::{catalogue, claim, crd, offer, pool, space, template, xrd};

pub mod access;
pub mod build;
pub mod bump;
pub mod check;
pub mod hub;
pub mod install;
pub mod names;
pub mod oci;
pub mod offers;
pub mod registry;
pub mod release;
pub mod signature;
pub mod sync;
pub mod test_clusters;

pub use testplatform_apis::yaml::to_yaml;

/// File name of a kustomization, which is no manifest itself.
pub const KUSTOMIZATION: &str = "kustomization.yaml";

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Path, relative to the directory `package/`.
    pub path: Cow<'static, str>,
    /// Complete text.
    pub text: String,
}

/// Every generated file, in the order of its path. The same types give the same bytes.
///
/// # Errors
/// If a type has no schema that can be written as YAML.
pub fn generate_files() -> anyhow::Result<Vec<GeneratedFile>> {
    let input = xrd::input_xrd()?;
    let mut files = vec![
        GeneratedFile {
            path: "compositions/testplatform-cluster-pool.yaml".into(),
            text: render_generated(&pool_composition())?,
        },
        GeneratedFile {
            path: "compositions/testplatform-test-cluster.yaml".into(),
            text: render_generated(&test_clusters::composition())?,
        },
        GeneratedFile {
            path: "configuration/crossplane.yaml".into(),
            text: render_generated(&build::meta::configuration_metadata())?,
        },
        GeneratedFile {
            path: "crds/ephemeralclusters.ci.openshift.io.yaml".into(),
            text: render_generated(&crd::ephemeral_cluster())?,
        },
        GeneratedFile {
            path: "function/crossplane.yaml".into(),
            text: render_generated(&build::meta::function_metadata())?,
        },
        // In the form inside the package: for builds in pipelines that pack it without our tool.
        GeneratedFile {
            path: "function/package.yaml".into(),
            text: add_generated_header(&build::stream::render_function(std::slice::from_ref(&input))?),
        },
        GeneratedFile {
            path: "input/inputs.testplatform.fn.crossplane.io.yaml".into(),
            text: render_generated(&input)?,
        },
        GeneratedFile {
            path: "input/testplatform-offers.schema.json".into(),
            text: format!("{:#}\n", serde_json::to_value(offer::build_schema())?),
        },
        GeneratedFile {
            path: "input/testplatform-pools.schema.json".into(),
            text: format!("{:#}\n", serde_json::to_value(catalogue::build_schema())?),
        },
        GeneratedFile {
            path: "input/testplatform-template.schema.json".into(),
            text: format!("{:#}\n", serde_json::to_value(template::entry::build_schema())?),
        },
        // Next to their kustomization: spaces are only for existing users.
        GeneratedFile {
            path: "install/components/spaces/composition.yaml".into(),
            text: render_generated(&space_composition())?,
        },
        GeneratedFile {
            path: "install/components/spaces/definition.yaml".into(),
            text: render_generated(&xrd::space_xrd()?)?,
        },
        GeneratedFile {
            path: "xrds/testclusters.ci.openshift.org.yaml".into(),
            text: render_generated(&xrd::test_cluster()?)?,
        },
        GeneratedFile {
            path: "xrds/xtestplatformclusterpools.ci.openshift.org.yaml".into(),
            text: render_generated(&xrd::test_platform_cluster_pool()?)?,
        },
        GeneratedFile {
            path: "xrds/xtestplatformclusters.ci.openshift.org.yaml".into(),
            text: render_generated(&xrd::test_platform_cluster()?)?,
        },
    ];
    files.extend(install::generate_files()?);
    files.extend(test_clusters::component()?);
    files.extend(pool_component()?);
    files.extend(install::chart::generate_files(&files)?);
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// The Composition of pools. It fetches nothing before the first call: the function requests the other pools, and needs them once.
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
            "pipeline": [{ "step": "testplatform", "functionRef": { "name": names::FUNCTION } }],
        },
    })
}

/// The component for pools in Git: definition and Composition, each with Argo CD's annotations.
fn pool_component() -> anyhow::Result<Vec<GeneratedFile>> {
    // Pruning the definition would delete every pool. The definition precedes the function, whose status it declares.
    let (definition, composition) = (xrd::test_platform_cluster_pool()?, pool_composition());
    Ok(vec![
        GeneratedFile {
            path: "install/components/cluster-pools/composition.yaml".into(),
            text: render_generated(&install::protect_from_prune(composition, "3"))?,
        },
        GeneratedFile {
            path: "install/components/cluster-pools/definition.yaml".into(),
            text: render_generated(&install::protect_from_prune(definition, "-1"))?,
        },
    ])
}

/// The Composition of spaces, under the incumbent's name, which live composites reference. It fetches nothing.
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
            "pipeline": [{ "step": "testplatform", "functionRef": { "name": names::FUNCTION } }],
        },
    })
}

/// Writes changed files and returns their paths. Missing directories are created.
///
/// # Errors
/// If a file cannot be written; the previous ones are already written.
pub fn write_files(directory: &Path, files: &[GeneratedFile]) -> anyhow::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for file in files {
        let path = directory.join(&*file.path);
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

pub(crate) fn render_generated(value: &Value) -> anyhow::Result<String> {
    Ok(add_generated_header(&to_yaml(value)?))
}

fn add_generated_header(text: &str) -> String {
    format!("# Generated by `cargo xpkg generate` from the crate testplatform-apis. Do not edit.\n{text}")
}

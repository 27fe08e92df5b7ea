//! The EnvironmentConfig that tells the function, and through it the hub, which cluster asks.

use serde_json::Value;

use super::kustomization::{Kustomization, Section};
use super::pin::is_remote;
use super::rings::Environment;
use super::text::{self, Splice};
use super::tree::resolved;
use super::{COMPONENT, Overlay, Problem, Rings, Tree, overlays};

/// Its name: what the function asks Crossplane for.
pub const NAME: &str = "envcfg";

/// Its file in an overlay.
pub const FILE: &str = "environment-config.yaml";

/// The name that every developer's cluster has.
const DEVELOPMENT: &str = "dev-cluster";

/// What an overlay needs.
pub struct Addition {
    /// The file to make, unless it is there and only not named.
    pub file: Option<(String, String)>,
    /// The line in `resources`.
    pub splice: Splice,
}

/// An EnvironmentConfig as found.
#[derive(Debug)]
pub struct Found {
    /// Its file.
    pub file: String,
    /// `data.clusterName`
    pub cluster_name: Option<String>,
}

/// Whether the clusters of a component say who they are. Those of the default one must, for their claims; those of another, a hub's or
/// the carrier's for one, have no claims and nobody who would read it, unless one of them says it already.
pub fn is_for(tree: &Tree, component: &str, rings: &Rings) -> bool {
    component == COMPONENT
        || overlays(tree, component, rings)
            .iter()
            .any(|overlay| tree.documents(&overlay.directory).any(|(_, document)| is_one(&document)))
}

fn is_one(document: &Value) -> bool {
    text::str_at(document, &["kind"]) == Some("EnvironmentConfig")
        && text::str_at(document, &["metadata", "name"]) == Some(NAME)
}

/// The cluster that an overlay is for; none for what several clusters share.
pub fn cluster(overlay: &Overlay) -> Option<&str> {
    let of_all_developers = overlay.environment == Environment::Development && overlay.ring.is_none();
    overlay.cluster.as_deref().or(of_all_developers.then_some(DEVELOPMENT))
}

/// The EnvironmentConfig among the files that a kustomization names.
pub fn found(
    tree: &Tree,
    overlay: &Overlay,
    kustomization: &Kustomization,
) -> Result<Option<Found>, Problem> {
    for entry in kustomization.of(Section::Resources).filter(|entry| !is_remote(&entry.value)) {
        let Some(path) = resolved(&overlay.directory, &entry.value) else { continue };
        if let Some(found) = in_file(tree, &path)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn in_file(tree: &Tree, path: &str) -> Result<Option<Found>, Problem> {
    let Some(bytes) = tree.get(path) else { return Ok(None) };
    let document = text::documents(path, bytes)?.into_iter().find(is_one);
    Ok(document.map(|document| Found {
        file: path.to_owned(),
        cluster_name: text::str_at(&document, &["data", "clusterName"]).map(str::to_owned),
    }))
}

/// What an overlay lacks, if anything.
pub fn missing(
    tree: &Tree,
    overlay: &Overlay,
    kustomization: &Kustomization,
) -> Result<Option<Addition>, Problem> {
    let Some(cluster) = cluster(overlay) else { return Ok(None) };
    if found(tree, overlay, kustomization)?.is_some() {
        return Ok(None);
    }
    let path = format!("{}/{FILE}", overlay.directory);
    if let Some(entry) = kustomization.of(Section::Resources).find(|entry| entry.value == FILE) {
        let help = format!("make it an EnvironmentConfig {NAME} with data.clusterName {cluster}");
        return Err(if tree.get(&path).is_some() {
            Problem::new(path, format!("no EnvironmentConfig {NAME}"), help).at(1)
        } else {
            Problem::new(&kustomization.path, format!("{FILE} is named, but not there"), help).at(entry.line)
        });
    }
    let splice = kustomization.inserted(FILE)?;
    if tree.get(&path).is_none() {
        return Ok(Some(Addition { file: Some((path, text(cluster)?)), splice }));
    }
    if in_file(tree, &path)?.is_none() {
        let help = format!("make it an EnvironmentConfig {NAME} with data.clusterName {cluster}");
        return Err(Problem::new(path, format!("no EnvironmentConfig {NAME}"), help).at(1));
    }
    Ok(Some(Addition { file: None, splice }))
}

/// The file of a cluster.
fn text(cluster: &str) -> Result<String, Problem> {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if cluster.is_empty() || cluster.len() > 63 || !cluster.bytes().all(legal) {
        let what = format!("{cluster:?} is no name of a cluster");
        return Err(Problem::new(FILE, what, "use lower-case letters, digits and dashes, at most 63"));
    }
    let name = text::scalar(cluster);
    Ok(format!(
        "apiVersion: apiextensions.crossplane.io/v1beta1\n\
         kind: EnvironmentConfig\n\
         metadata:\n  name: {NAME}\n  annotations:\n    \
         argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true\n\
         data:\n  clusterName: {name}\n"
    ))
}

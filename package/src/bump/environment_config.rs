//! The EnvironmentConfig with the cluster name, for the function and through it for the hub.

use serde_json::{Value, json};

use super::kustomization::Kustomization;
use super::list_entry::Section;
use super::rings::Environment;
use super::text::{self, Splice};
use super::{COMPONENT, Overlay, Problem, Rendered, Rings, Tree, list_overlays, render_directory};

/// Its kind.
pub const KIND: &str = "EnvironmentConfig";

/// The field of `data` with the name of the cluster.
pub const FIELD: &str = "clusterName";

/// Its name, which the function requests from Crossplane.
pub const NAME: &str = "envcfg";

/// Its file in an overlay.
pub const FILE: &str = "environment-config.yaml";

/// The name of every developer cluster.
const DEVELOPMENT: &str = "dev-cluster";

/// Missing part of an overlay.
pub struct MissingConfig {
    /// Path and text of the file to create; none if the file exists and only its reference is missing.
    pub file: Option<(String, String)>,
    /// The line in `resources`.
    pub splice: Splice,
}

/// The EnvironmentConfig that an overlay renders.
#[derive(Debug)]
pub struct RenderedConfig {
    /// The file with the name of the cluster: the object's own, or the patch that set it last.
    pub file: String,
    /// The line of `clusterName` in there.
    pub line: Option<usize>,
    /// `data.clusterName`, if it is a text.
    pub cluster_name: Option<String>,
}

/// Whether the clusters of a component need a cluster name. Those of the default component do, for their claims. Those of another, such as
/// a hub's, have no claims and no reader of the name, unless one of them has a name already.
pub fn needs_cluster_name(tree: &Tree, component: &str, rings: &Rings) -> bool {
    component == COMPONENT
        || list_overlays(tree, component, rings).iter().filter(|overlay| !overlay.part).any(|overlay| {
            render_directory(tree, &overlay.directory)
                .is_ok_and(|rendered| find_config(tree, &rendered).is_some())
        })
}

/// The cluster of an overlay; none for an overlay that several clusters share.
pub fn overlay_cluster(overlay: &Overlay) -> Option<&str> {
    let of_all_developers = overlay.environment == Environment::Development && !overlay.part;
    overlay.cluster.as_deref().or(of_all_developers.then_some(DEVELOPMENT))
}

/// The EnvironmentConfig of an overlay: its own, its base's, or a remote one as its patches describe it.
pub fn find_config(tree: &Tree, rendered: &Rendered) -> Option<RenderedConfig> {
    let assumed = || {
        let version = "apiextensions.crossplane.io/v1beta1";
        rendered.remote_object(&json!({
            "apiVersion": version,
            "kind": KIND,
            "metadata": { "name": NAME },
            "data": { "clusterName": null },
        }))
    };
    let object = rendered.find_object(KIND, NAME).cloned().or_else(assumed)?;
    let written = |file: &&String| text::find_line(tree.get(file).unwrap_or_default(), FIELD).is_some();
    let file = object.patched_by.iter().rev().find(written).unwrap_or(&object.file).clone();
    Some(RenderedConfig {
        line: text::find_line(tree.get(&file).unwrap_or_default(), FIELD),
        file,
        cluster_name: text::str_at(&object.value, &["data", FIELD]).map(str::to_owned),
    })
}

/// The missing part of an overlay, if any. None as well for an overlay that kustomize refuses: its content is unknown, and check B09
/// reports it.
pub fn missing_config(
    tree: &Tree,
    overlay: &Overlay,
    kustomization: &Kustomization,
) -> Result<Option<MissingConfig>, Problem> {
    let Some(cluster) = overlay_cluster(overlay) else { return Ok(None) };
    let path = format!("{}/{FILE}", overlay.directory);
    let help = format!("make it an EnvironmentConfig {NAME} with data.clusterName {cluster}");
    let entry = kustomization.section_entries(Section::Resources).find(|entry| entry.value == FILE);
    if let (Some(entry), None) = (entry, tree.get(&path)) {
        let what = format!("{FILE} is named, but not there");
        return Err(Problem::new(&kustomization.path, what, help).at_line(entry.line));
    }
    let Ok(rendered) = render_directory(tree, &overlay.directory) else { return Ok(None) };
    if rendered.is_empty() || find_config(tree, &rendered).is_some() {
        return Ok(None);
    }
    if let Some(entry) = rendered.possible_additions().next() {
        let what = format!(
            "{}; one may be EnvironmentConfig {NAME}, of which kustomize refuses a second",
            entry.message()
        );
        let help = format!(
            "see the objects with `check --render`; without one, {help} in {path} and name it in resources"
        );
        return Err(Problem::new(&entry.file, what, help).at_line(entry.line));
    }
    if let Some(bytes) = tree.get(&path) {
        let documents = text::parse_documents(&path, bytes)?;
        let is_one = |document: &Value| {
            text::str_at(document, &["kind"]) == Some(KIND)
                && text::str_at(document, &["metadata", "name"]) == Some(NAME)
        };
        if entry.is_some() || !documents.iter().any(is_one) {
            return Err(Problem::new(path, format!("no EnvironmentConfig {NAME}"), help).at_line(1));
        }
        return Ok(Some(MissingConfig { file: None, splice: kustomization.insert_entry(FILE)? }));
    }
    let splice = kustomization.insert_entry(FILE)?;
    Ok(Some(MissingConfig { file: Some((path, config_text(cluster)?)), splice }))
}

/// The file of a cluster.
fn config_text(cluster: &str) -> Result<String, Problem> {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if cluster.is_empty() || cluster.len() > 63 || !cluster.bytes().all(legal) {
        let what = format!("{cluster:?} is not a name of a cluster");
        return Err(Problem::new(FILE, what, "use lower-case letters, digits and dashes, at most 63"));
    }
    let name = text::quote_scalar(cluster);
    Ok(format!(
        "apiVersion: apiextensions.crossplane.io/v1beta1\n\
         kind: EnvironmentConfig\n\
         metadata:\n  name: {NAME}\n  annotations:\n    \
         argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true\n\
         data:\n  clusterName: {name}\n"
    ))
}

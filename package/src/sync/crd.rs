//! Parsers of the CRD, and of the corresponding part of an XRD.

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::check::stream::split_documents;

use testplatform_apis::foreign::ephemeral_cluster::{API_VERSION, KIND};

/// Relevant parts of the CRD.
#[derive(Clone, Debug, PartialEq)]
pub struct Crd {
    /// The version in which the function requests clusters.
    pub version: String,
    /// Schema of `spec`.
    pub spec: Value,
    /// Schema of `status`; null if there is none.
    pub status: Value,
    /// Every version.
    pub versions: Vec<Version>,
    /// `status.storedVersions`, which exists only in a CRD from a cluster.
    pub stored_versions: Vec<String>,
}

/// A version of the CRD.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// Its name.
    pub name: String,
    /// Whether clients can request it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// Schema of the whole object.
    pub schema: Value,
}

impl Crd {
    /// Schema of `spec.ciOperator`.
    pub fn ci_operator(&self) -> &Value {
        &self.spec["properties"]["ciOperator"]
    }

    /// The version with a name.
    pub fn version_named(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// Name of the version in which objects are stored.
    pub fn storage_version(&self) -> Option<&str> {
        self.versions.iter().find(|version| version.storage).map(|version| version.name.as_str())
    }
}

/// Reads the CRD from a file, which may contain other objects. `name` is the file's name in errors.
///
/// # Errors
/// With file and line, if it is not YAML or contains no such CRD.
pub fn read_crd(name: &str, text: &str) -> anyhow::Result<Crd> {
    let (group, version) = API_VERSION.split_once('/').unwrap_or_default();
    let mut others = Vec::new();
    for (line, document) in split_documents(text) {
        let value = parse_document(name, line, document)?;
        let definition = value["kind"] == "CustomResourceDefinition";
        let spec = &value["spec"];
        if definition && spec["group"] == group && spec["names"]["kind"] == KIND {
            return build_crd(&value, version).with_context(|| format!("{name}:{line}"));
        }
        let message = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
        others.push(if definition {
            let kind = message(&spec["names"]["kind"]);
            let at = line_of(document, line, |l| l.starts_with(' ') && l.trim() == format!("kind: {kind}"));
            format!("{name}:{at}: a CRD of {} {kind}", message(&spec["group"]))
        } else {
            let at = line_of(document, line, |l| l.starts_with("kind:"));
            format!("{name}:{at}: of kind {}", message(&value["kind"]))
        });
    }
    if others.is_empty() {
        bail!("{name}:1: nothing is in it; give the CRD of {KIND} ({group})");
    }
    bail!("{}; not the CRD of {KIND} ({group})", others.join("; "))
}

/// Reads the requested version. The storage version does not affect requests: Objects name their version.
fn build_crd(value: &Value, version: &str) -> anyhow::Result<Crd> {
    let versions = value["spec"]["versions"].as_array().context("the CRD has no versions")?;
    let versions: Vec<Version> = versions.iter().map(read_version).collect();
    let served = versions.iter().find(|served| served.name == version && served.served);
    let served = served.with_context(|| {
        format!(
            "version {version}, in which clusters are asked for, is not served: claims in flight could be neither \
             changed nor ended"
        )
    })?;
    let [spec, status] = ["spec", "status"].map(|part| served.schema["properties"][part].clone());
    let stored = value["status"]["storedVersions"].as_array().into_iter().flatten();
    let stored_versions = stored.filter_map(Value::as_str).map(str::to_owned).collect();
    let crd = Crd { version: version.to_owned(), spec, status, versions, stored_versions };
    if !crd.ci_operator()["properties"].is_object() {
        bail!("version {} has no schema of spec.ciOperator, which is what a claim is made of", crd.version);
    }
    Ok(crd)
}

fn read_version(value: &Value) -> Version {
    Version {
        name: value["name"].as_str().unwrap_or_default().to_owned(),
        served: value["served"] == true,
        storage: value["storage"] == true,
        schema: value["schema"]["openAPIV3Schema"].clone(),
    }
}

/// The schema of `spec` of an XRD.
///
/// # Errors
/// With file and line, if it is not YAML or no XRD.
pub fn spec_of_xrd(name: &str, text: &str) -> anyhow::Result<Value> {
    let [(line, document)] = split_documents(text)[..] else { bail!("{name}:1: not one XRD") };
    let value = parse_document(name, line, document)?;
    let at = line_of(document, line, |l| l.starts_with("kind:"));
    if value["kind"] != "CompositeResourceDefinition" {
        bail!("{name}:{at}: of kind {}, not an XRD", value["kind"].as_str().unwrap_or("nothing"));
    }
    let versions = value["spec"]["versions"].as_array().into_iter().flatten();
    let schema = versions
        .filter(|version| version["referenceable"] == true)
        .find_map(|version| version.pointer("/schema/openAPIV3Schema/properties/spec"));
    schema.cloned().with_context(|| format!("{name}:{at}: the XRD has no schema of spec"))
}

fn parse_document(name: &str, line: usize, document: &str) -> anyhow::Result<Value> {
    serde_saphyr::from_str(document).map_err(|error| {
        let inner = error.location().map_or(1, |at| usize::try_from(at.line()).unwrap_or(1));
        let message = error.to_string();
        anyhow::anyhow!(
            "{name}:{}: not YAML: {}",
            line + inner.max(1) - 1,
            message.lines().next().unwrap_or_default()
        )
    })
}

fn line_of(document: &str, start: usize, fits: impl Fn(&str) -> bool) -> usize {
    start + document.lines().position(fits).unwrap_or_default()
}

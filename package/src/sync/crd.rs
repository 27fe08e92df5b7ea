//! Reads the CRD, and the part of an XRD that is compared with it.

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::check::stream::split;

use testplatform_apis::foreign::ephemeral_cluster::{API_VERSION, KIND};

/// What counts of the CRD.
#[derive(Clone, Debug, PartialEq)]
pub struct Crd {
    /// The version in which the function asks for clusters.
    pub version: String,
    /// Schema of `spec`.
    pub spec: Value,
}

impl Crd {
    /// Schema of `spec.ciOperator`.
    pub fn ci_operator(&self) -> &Value {
        &self.spec["properties"]["ciOperator"]
    }
}

/// Reads the CRD from a file, in which other objects may stand too. `name` is what the file is called in errors.
///
/// # Errors
/// With file and line, if it is not YAML or has no such CRD.
pub fn read(name: &str, text: &str) -> anyhow::Result<Crd> {
    let (group, version) = API_VERSION.split_once('/').unwrap_or_default();
    let mut others = Vec::new();
    for (line, document) in split(text) {
        let value = parse(name, line, document)?;
        let definition = value["kind"] == "CustomResourceDefinition";
        let spec = &value["spec"];
        if definition && spec["group"] == group && spec["names"]["kind"] == KIND {
            return crd(spec, version).with_context(|| format!("{name}:{line}"));
        }
        let said = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
        others.push(if definition {
            let kind = said(&spec["names"]["kind"]);
            let at = line_of(document, line, |l| l.starts_with(' ') && l.trim() == format!("kind: {kind}"));
            format!("{name}:{at}: a CRD of {} {kind}", said(&spec["group"]))
        } else {
            let at = line_of(document, line, |l| l.starts_with("kind:"));
            format!("{name}:{at}: of kind {}", said(&value["kind"]))
        });
    }
    if others.is_empty() {
        bail!("{name}:1: nothing is in it; give the CRD of {KIND} ({group})");
    }
    bail!("{}; not the CRD of {KIND} ({group})", others.join("; "))
}

/// Of the version that is asked for. Which one is stored is no matter: Objects name the version that they are in.
fn crd(spec: &Value, version: &str) -> anyhow::Result<Crd> {
    let versions = spec["versions"].as_array().context("the CRD has no versions")?;
    let served = versions.iter().find(|served| served["name"] == version && served["served"] == true);
    let served = served.with_context(|| {
        format!(
            "version {version}, in which clusters are asked for, is not served: claims in flight could be neither \
             changed nor ended"
        )
    })?;
    let crd = Crd {
        version: version.to_owned(),
        spec: served["schema"]["openAPIV3Schema"]["properties"]["spec"].clone(),
    };
    if !crd.ci_operator()["properties"].is_object() {
        bail!("version {} has no schema of spec.ciOperator, which is what a claim is made of", crd.version);
    }
    Ok(crd)
}

/// The schema of `spec` of an XRD.
///
/// # Errors
/// With file and line, if it is not YAML or no XRD.
pub fn spec_of_xrd(name: &str, text: &str) -> anyhow::Result<Value> {
    let [(line, document)] = split(text)[..] else { bail!("{name}:1: not one XRD") };
    let value = parse(name, line, document)?;
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

fn parse(name: &str, line: usize, document: &str) -> anyhow::Result<Value> {
    serde_saphyr::from_str(document).map_err(|error| {
        let inner = error.location().map_or(1, |at| usize::try_from(at.line()).unwrap_or(1));
        let said = error.to_string();
        anyhow::anyhow!(
            "{name}:{}: not YAML: {}",
            line + inner.max(1) - 1,
            said.lines().next().unwrap_or_default()
        )
    })
}

fn line_of(document: &str, start: usize, fits: impl Fn(&str) -> bool) -> usize {
    start + document.lines().position(fits).unwrap_or_default()
}

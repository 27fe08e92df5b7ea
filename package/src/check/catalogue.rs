//! `cargo xpkg check catalogue`: reads files like the function reads the catalogue, and reports every problem with file, line and field. It
//! needs only the files, so CI can run it before they are applied.
//!
//! Input: names and texts. Output: counts and problems.

pub(crate) mod lines;
mod strict;
mod texts;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use testplatform_apis::{
    catalogue::{self, Catalogue},
    input::Settings,
    names::ours,
    template::{
        Backend,
        entry::{self, BUNDLES, Entry},
    },
};
use testplatform_readiness::{MAX_EXPRESSION_BYTES, Verdict, evaluate};

use super::{CheckProblem, stream::split_documents};
use lines::Lines;
use texts::quote_texts;

/// Content of the files, and its problems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogueReport {
    /// Number of templates, including unusable ones.
    pub templates: usize,
    /// Number of pool catalogues.
    pub pools: usize,
    /// Number of Compositions with an input for the function.
    pub inputs: usize,
    /// Problems in the order of files and lines.
    pub problems: Vec<CheckProblem>,
}

/// Prefix of the API versions of Crossplane's own kinds.
const CROSSPLANE: &str = "apiextensions.crossplane.io/";

/// Templates by name: place, backend and parameters.
type TemplatesByName = BTreeMap<String, (String, Option<Backend>, Vec<String>)>;

/// Finds all problems. It skips documents that are no part of a catalogue. Files without any part are a problem, since a forgotten label
/// would make every check pass.
pub fn check_catalogue(files: &[(String, String)]) -> CatalogueReport {
    let mut report = CatalogueReport::default();
    let mut templates = TemplatesByName::new();
    let pools = named_pools(files);
    for (file, text) in files {
        for (line, document) in split_documents(text) {
            check_document(file, line, document, &pools, &mut templates, &mut report);
        }
    }
    for (name, (place, backend, from)) in &templates {
        let other =
            |from: &&String| templates.get(*from).is_some_and(|(_, b, _)| b.is_some() && b != backend);
        for from in from.iter().filter(other) {
            let text = format!(
                "data.upgradesFrom: {name} and {from} have different backends, so no cluster can move"
            );
            report.problems.push(CheckProblem::error(place.clone(), text));
        }
    }
    if report.templates + report.pools + report.inputs == 0 {
        let names: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
        let text = format!(
            "has no EnvironmentConfig with the label {}: \"true\", no catalogue of pools, and no Composition with an input of the function",
            ours::CATALOGUE
        );
        report.problems.push(CheckProblem::error(names.join(", "), text));
    }
    report
}

/// Names of pool catalogues in the inputs in the files.
fn named_pools(files: &[(String, String)]) -> BTreeSet<String> {
    let documents = files.iter().flat_map(|(_, text)| split_documents(text));
    let values = documents.filter_map(|(_, document)| serde_saphyr::from_str::<Value>(document).ok());
    values.flat_map(|value| strict::pool_catalogue_names(&value)).collect()
}

/// Part of the catalogue in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CataloguePart {
    /// An entry of the catalogue of templates.
    Template,
    /// The catalogue of pools.
    Pools,
    /// Another EnvironmentConfig.
    Neither,
}

impl CataloguePart {
    /// Classifies a document. None: it is no EnvironmentConfig. One with the usual name is always the catalogue of pools, since the
    /// function finds it by that name.
    pub fn classify(document: &Value) -> Option<Self> {
        let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if text("/kind") != "EnvironmentConfig" || !text("/apiVersion").starts_with(CROSSPLANE) {
            return None;
        }
        let is_pools = text("/metadata/name") == Settings::default().pools
            || ["pools", "hubs", "quotas"].iter().any(|list| !document["data"][list].is_null());
        Some(match document["metadata"]["labels"][ours::CATALOGUE].as_str() {
            Some("true") => Self::Template,
            _ if is_pools => Self::Pools,
            _ => Self::Neither,
        })
    }
}

/// The names of the pool catalogue that the function reads: those of inputs in the files, else the usual one.
fn read_names(named: &BTreeSet<String>) -> BTreeSet<String> {
    if named.is_empty() { BTreeSet::from([Settings::default().pools]) } else { named.clone() }
}

/// Checks one document. `named` are names of pool catalogues besides the usual one.
fn check_document(
    file: &str,
    line: usize,
    document: &str,
    named: &BTreeSet<String>,
    templates: &mut TemplatesByName,
    report: &mut CatalogueReport,
) {
    let value = match serde_saphyr::from_str::<Value>(document) {
        Ok(value) => value,
        Err(error) => {
            let within = error.location().map_or(1, |at| usize::try_from(at.line()).unwrap_or(1));
            let message = error.to_string();
            let message = message.lines().next().unwrap_or_default();
            let place = format!("{file}:{}", line + within.saturating_sub(1));
            report.problems.push(CheckProblem::error(place, format!("is not YAML: {message}")));
            return;
        }
    };
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let part = match CataloguePart::classify(&value) {
        Some(CataloguePart::Neither) if named.contains(text("/metadata/name")) => Some(CataloguePart::Pools),
        part => part,
    };
    let composed = text("/kind") == "Composition" && text("/apiVersion").starts_with(CROSSPLANE);
    if part.is_none() && !composed {
        return;
    }
    let lines = Lines::parse(document);
    let place = |path: &str| format!("{file}:{}", line + lines.find_line(path).saturating_sub(1));
    let mut problem = |path: &str, sentence: &str| {
        report.problems.push(CheckProblem::error(place(path), format!("{path}: {sentence}")));
    };
    let Some(part) = part else {
        let Some(found) = strict::check_composition(&value, &lines) else { return };
        for (path, sentence) in &found {
            problem(path, sentence);
        }
        report.inputs += 1;
        return;
    };
    let labels = &value["metadata"]["labels"];
    let (label, data) = (&labels[ours::CATALOGUE], &value["data"]);
    if part == CataloguePart::Template {
        let (data, unquoted) = quote_texts(&json!(entry::build_schema()), data, "data", &lines);
        for (path, sentence) in &unquoted {
            problem(path, sentence);
        }
        let name = text("/metadata/name");
        if name.is_empty() {
            problem("metadata.name", "is missing: it is what claims write in spec.template");
        }
        let flaws = Entry::from_data(name, &data).err().unwrap_or_default();
        for flaw in flaws.iter().filter(|flaw| !(name.is_empty() && flaw.path == "metadata.name")) {
            problem(&flaw.path, &flaw.sentence);
        }
        for (path, sentence) in check_expressions(&data).into_iter().chain(strict::check_template(&data)) {
            problem(&path, sentence);
        }
        let from = data["upgradesFrom"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let backend = serde_json::from_value(data["backend"].clone()).ok();
        let own = (place("data.upgradesFrom"), backend, from.map(str::to_owned).collect());
        if let Some((other, ..)) = templates.insert(name.to_owned(), own) {
            problem("metadata.name", &format!("is that of another template too, at {other}"));
        }
        report.templates += 1;
    } else if part == CataloguePart::Pools {
        report.pools += 1;
        if let Some(sentence) = strict::check_pools_name(text("/metadata/name"), &read_names(named)) {
            problem("metadata.name", &sentence);
        }
        let (data, unquoted) = quote_texts(&json!(catalogue::build_schema()), data, "data", &lines);
        for (path, sentence) in &unquoted {
            problem(path, sentence);
        }
        match Catalogue::from_data(&data) {
            Ok((_, flaws)) => {
                for flaw in flaws {
                    let name = flaw.name.map(|name| format!("({name}) ")).unwrap_or_default();
                    problem(&format!("data.{}", flaw.entry), &format!("{name}{}", flaw.why));
                }
            }
            Err(why) => problem("data", &why),
        }
        for (path, sentence) in strict::check_pools(&data) {
            problem(&path, sentence);
        }
    } else if label.is_boolean() {
        problem("metadata.labels", &format!("{} must be the text \"true\": quote it", ours::CATALOGUE));
    } else if !data["backend"].is_null() || !data["backendRef"].is_null() {
        let sentence = format!("are without {}: \"true\", so nobody reads this template", ours::CATALOGUE);
        problem("metadata.labels", &sentence);
    }
}

/// Expressions of bundles that can never be true: path and message of each. Reading the entry already reports expressions that are no
/// strings, too long, or empty. The function reports no more, since it evaluates none.
fn check_expressions(data: &Value) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    let items = |of: &Value| of.as_array().cloned().unwrap_or_default().into_iter().enumerate();
    for list in BUNDLES {
        for (i, bundle) in items(&data[list]) {
            for (j, manifest) in items(&bundle["manifests"]) {
                let ready = manifest["ready"].as_str().unwrap_or_default();
                if ready.trim().is_empty() || ready.len() > MAX_EXPRESSION_BYTES {
                    continue;
                }
                // Evaluation over an empty object reveals invalid expressions, and expressions with only foreign variables.
                if let Verdict::Invalid(sentence) = evaluate(ready, &json!({})) {
                    found.push((format!("data.{list}[{i}].manifests[{j}].ready"), sentence));
                }
            }
        }
    }
    found
}

//! `cargo xpkg check catalogue`: reads files as the function reads the catalogue, and says everything that is wrong with file, line
//! and field. Nothing but the files is needed, so that CI can do it before they are applied.
//!
//! Input: names and texts. Output: what was found, and problems.

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
use testplatform_readiness::{LONGEST, Verdict, judge};

use super::{Problem, stream::split};
use lines::Lines;
use texts::quote_texts;

/// What the files have, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many templates there are, those that cannot be used included.
    pub templates: usize,
    /// How many catalogues of pools.
    pub pools: usize,
    /// How many Compositions that give the function an input.
    pub inputs: usize,
    /// In the order of files and lines.
    pub problems: Vec<Problem>,
}

/// How the API versions of Crossplane's own kinds begin.
const CROSSPLANE: &str = "apiextensions.crossplane.io/";

/// Where a template stands, and what makes it.
type Seen = BTreeMap<String, (String, Option<Backend>, Vec<String>)>;

/// Everything that is wrong. Documents that are no part of a catalogue are passed over; files without any are a problem, since a
/// label that was forgotten would make every check pass.
pub fn check(files: &[(String, String)]) -> Report {
    let mut report = Report::default();
    let mut seen = Seen::new();
    let pools = pools_named(files);
    for (file, text) in files {
        for (line, document) in split(text) {
            one(file, line, document, &pools, &mut seen, &mut report);
        }
    }
    for (name, (place, backend, from)) in &seen {
        let other = |from: &&String| seen.get(*from).is_some_and(|(_, b, _)| b.is_some() && b != backend);
        for from in from.iter().filter(other) {
            let text = format!(
                "data.upgradesFrom: {name} and {from} have different backends, so no cluster can move"
            );
            report.problems.push(Problem::error(place.clone(), text));
        }
    }
    if report.templates + report.pools + report.inputs == 0 {
        let names: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
        let text = format!(
            "has no EnvironmentConfig with the label {}: \"true\", no catalogue of pools, and no Composition with an input of the function",
            ours::CATALOGUE
        );
        report.problems.push(Problem::error(names.join(", "), text));
    }
    report
}

/// Names of catalogues of pools that inputs in the files say.
fn pools_named(files: &[(String, String)]) -> BTreeSet<String> {
    let documents = files.iter().flat_map(|(_, text)| split(text));
    let values = documents.filter_map(|(_, document)| serde_saphyr::from_str::<Value>(document).ok());
    values.flat_map(|value| strict::pools_named(&value)).collect()
}

/// Which part of the catalogue a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// An entry of the catalogue of templates.
    Template,
    /// The catalogue of pools.
    Pools,
    /// Another EnvironmentConfig.
    Neither,
}

impl Part {
    /// None: it is no EnvironmentConfig. One of the usual name is the catalogue of pools whatever it has, since that is how the function finds it.
    pub fn of(document: &Value) -> Option<Self> {
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

/// The names by which the function reads the catalogue of pools: those that inputs in the files say, else the usual one.
fn read_names(named: &BTreeSet<String>) -> BTreeSet<String> {
    if named.is_empty() { BTreeSet::from([Settings::default().pools]) } else { named.clone() }
}

/// `named`: names of catalogues of pools beside the usual one.
fn one(
    file: &str,
    line: usize,
    document: &str,
    named: &BTreeSet<String>,
    seen: &mut Seen,
    report: &mut Report,
) {
    let value = match serde_saphyr::from_str::<Value>(document) {
        Ok(value) => value,
        Err(error) => {
            let within = error.location().map_or(1, |at| usize::try_from(at.line()).unwrap_or(1));
            let said = error.to_string();
            let said = said.lines().next().unwrap_or_default();
            let place = format!("{file}:{}", line + within.saturating_sub(1));
            report.problems.push(Problem::error(place, format!("is not YAML: {said}")));
            return;
        }
    };
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let part = match Part::of(&value) {
        Some(Part::Neither) if named.contains(text("/metadata/name")) => Some(Part::Pools),
        part => part,
    };
    let composed = text("/kind") == "Composition" && text("/apiVersion").starts_with(CROSSPLANE);
    if part.is_none() && !composed {
        return;
    }
    let lines = Lines::of(document);
    let place = |path: &str| format!("{file}:{}", line + lines.line(path).saturating_sub(1));
    let mut problem = |path: &str, sentence: &str| {
        report.problems.push(Problem::error(place(path), format!("{path}: {sentence}")));
    };
    let Some(part) = part else {
        let Some(found) = strict::of_composition(&value, &lines) else { return };
        for (path, sentence) in &found {
            problem(path, sentence);
        }
        report.inputs += 1;
        return;
    };
    let labels = &value["metadata"]["labels"];
    let (label, data) = (&labels[ours::CATALOGUE], &value["data"]);
    if part == Part::Template {
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
        for (path, sentence) in expressions(&data).into_iter().chain(strict::of_template(&data)) {
            problem(&path, sentence);
        }
        let from = data["upgradesFrom"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let backend = serde_json::from_value(data["backend"].clone()).ok();
        let own = (place("data.upgradesFrom"), backend, from.map(str::to_owned).collect());
        if let Some((other, ..)) = seen.insert(name.to_owned(), own) {
            problem("metadata.name", &format!("is that of another template too, at {other}"));
        }
        report.templates += 1;
    } else if part == Part::Pools {
        report.pools += 1;
        if let Some(sentence) = strict::of_pools_name(text("/metadata/name"), &read_names(named)) {
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
        for (path, sentence) in strict::of_pools(&data) {
            problem(&path, sentence);
        }
    } else if label.is_boolean() {
        problem("metadata.labels", &format!("{} must be the text \"true\": quote it", ours::CATALOGUE));
    } else if !data["backend"].is_null() || !data["backendRef"].is_null() {
        let sentence = format!("are without {}: \"true\", so nobody reads this template", ours::CATALOGUE);
        problem("metadata.labels", &sentence);
    }
}

/// The expressions of bundles that will never say of an object that it is ready: path and a sentence. Of those that are no texts, or too
/// long, or empty, the entry itself says so. The function cannot say more, since it evaluates none.
fn expressions(data: &Value) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    let items = |of: &Value| of.as_array().cloned().unwrap_or_default().into_iter().enumerate();
    for list in BUNDLES {
        for (i, bundle) in items(&data[list]) {
            for (j, manifest) in items(&bundle["manifests"]) {
                let ready = manifest["ready"].as_str().unwrap_or_default();
                if ready.trim().is_empty() || ready.len() > LONGEST {
                    continue;
                }
                // Over an object with nothing in it, what is no expression and what could only be one of another variable show.
                if let Verdict::Invalid(sentence) = judge(ready, &json!({})) {
                    found.push((format!("data.{list}[{i}].manifests[{j}].ready"), sentence));
                }
            }
        }
    }
    found
}

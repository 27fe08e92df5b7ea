//! What an entry makes on the hub before its clusters, sets up inside them, and does in them before they go: as it is written, what is wrong
//! with it, and what of it a claim gets.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Document;
use super::check::Flaws;
use crate::bundle::{self, TIMEOUT};
use crate::duration::GoDuration;
use crate::names::ObjectName;
use crate::template::kind::nulls;
use crate::template::parameter::{Rule, same};

/// The most bundles of an entry.
const MOST_BUNDLES: usize = 32;
/// The most manifests of all bundles of an entry.
const MOST_MANIFESTS: usize = 64;
/// The largest that all bundles of an entry may be together, as JSON. They travel in an Object, which holds what is asked for and what is seen,
/// and an API server takes no object above 1.5 MiB.
const LARGEST: usize = 256 * 1024;
/// The longest expression.
const LONGEST: usize = 4096;

/// Manifests that belong together.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BundleDocument {
    /// Its name, unique within its list: up to 63 lower-case letters, digits and dashes. Required.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Which claims get it. If not set, all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// How long it may take until all of it is ready, from 1s to 4h. If not set, 10m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<GoDuration>,
    /// What is applied, in this order. Required.
    #[schemars(length(min = 1, max = 64))]
    pub manifests: Vec<ManifestDocument>,
}

/// A manifest, and when it counts as ready.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ManifestDocument {
    /// What is applied: with apiVersion, kind and metadata.name, and no Secret. In its texts `{name}` and `{namespace}` stand for the
    /// cluster's object on the hub, and `{tenant}` for the claim's namespace. What is made on the hub is in that namespace, and has `{name}` in
    /// its own.
    pub object: Map<String, Value>,
    /// An expression in CEL about `object`, which is what is there then; true: it is ready. If not set, as soon as it was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub ready: Option<String>,
}

/// Which claims get a bundle: those with a value of a parameter. Set exactly one of `equals` and `in`.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct When {
    /// The parameter, one of `parameters`. It cannot change once a cluster was asked for, and needs no target.
    pub parameter: String,
    /// The value that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// The values of which it has one.
    #[serde(rename = "in", skip_serializing_if = "Vec::is_empty")]
    pub among: Vec<Value>,
}

impl When {
    fn values(&self) -> impl Iterator<Item = &Value> {
        self.equals.iter().chain(&self.among)
    }
}

impl BundleDocument {
    /// Whether a claim gets it. `parameters`: those with a value.
    pub fn is_meant_by(&self, parameters: &[(String, Value)]) -> bool {
        let Some(when) = &self.when else { return true };
        let value = parameters.iter().find(|(name, _)| *name == when.parameter);
        value.is_some_and(|(_, value)| when.values().any(|wanted| same(wanted, value)))
    }

    /// As it is for one cluster. `words`: what stands for what.
    pub fn made(&self, words: &[(&str, &str)]) -> bundle::Bundle {
        let manifest = |manifest: &ManifestDocument| {
            let mut object = Value::Object(manifest.object.clone());
            fill(&mut object, words);
            bundle::Manifest { object, ready: manifest.ready.clone() }
        };
        bundle::Bundle {
            name: self.name.clone(),
            timeout: self.timeout.unwrap_or(TIMEOUT),
            manifests: self.manifests.iter().map(manifest).collect(),
        }
    }
}

/// Puts in what the words stand for: in texts alone, never in keys, and never as anything but text.
fn fill(value: &mut Value, words: &[(&str, &str)]) {
    match value {
        Value::String(text) if text.contains('{') => *text = filled(text, words),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, words)),
        Value::Object(members) => members.values_mut().for_each(|member| fill(member, words)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A word in braces of its own. `${name}` is a shell's and `{{name}}` a template's: both stay.
fn filled(text: &str, words: &[(&str, &str)]) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, after) = rest.split_at(at);
        made.push_str(before);
        let alone = !made.ends_with(['$', '{']);
        let word = words.iter().find_map(|(word, meant)| {
            let end = after[1..].strip_prefix(word)?.strip_prefix('}')?;
            (alone && !end.starts_with('}')).then_some((meant, end))
        });
        if let Some((meant, end)) = word {
            made.push_str(meant);
            rest = end;
        } else {
            made.push('{');
            rest = &after[1..];
        }
    }
    made.push_str(rest);
    made
}

/// Where bundles are applied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    OnHub,
    Inside,
}

/// All lists of an entry.
fn lists(document: &Document) -> [(&'static str, Where, &Vec<BundleDocument>); 4] {
    [
        ("prerequisites", Where::OnHub, &document.prerequisites),
        ("preCreate", Where::OnHub, &document.pre_create),
        ("postInstall", Where::Inside, &document.post_install),
        ("preDelete", Where::Inside, &document.pre_delete),
    ]
}

/// Parameters by which bundles are chosen.
pub(super) fn choosing(document: &Document) -> BTreeSet<&str> {
    let all = lists(document).into_iter().flat_map(|(_, _, bundles)| bundles);
    all.filter_map(|bundle| Some(bundle.when.as_ref()?.parameter.as_str())).collect()
}

/// Whether there is any.
pub(super) fn any(document: &Document) -> bool {
    lists(document).into_iter().any(|(_, _, bundles)| !bundles.is_empty())
}

/// What is wrong with them.
pub(super) fn flaws(document: &Document, flaws: &mut Flaws<'_>) {
    let (mut bundles, mut manifests, mut size) = (0, 0, 0);
    for (list, place, documents) in lists(document) {
        let mut names = BTreeSet::new();
        for (i, bundle) in documents.iter().enumerate() {
            let path = format!("{list}[{i}]");
            bundles += 1;
            manifests += bundle.manifests.len();
            size += serde_json::to_string(bundle).map_or(0, |text| text.len());
            flaws_of(&path, bundle, &document.parameters, flaws);
            if place == Where::OnHub {
                placed_flaws(&path, bundle, flaws);
            }
            if !names.insert(&bundle.name) {
                flaws.add(&format!("{path}.name"), "is there already");
            }
        }
    }
    let mut last = |sentence: String| {
        let last = lists(document).into_iter().rev().find(|(_, _, bundles)| !bundles.is_empty());
        let list = last.map_or("postInstall", |(list, _, _)| list);
        flaws.add(&format!("{list}.length"), sentence);
    };
    if bundles > MOST_BUNDLES {
        last(format!("makes {bundles} bundles in all; at most {MOST_BUNDLES} may be"));
    } else if manifests > MOST_MANIFESTS {
        last(format!("makes {manifests} manifests in all; at most {MOST_MANIFESTS} may be"));
    } else if size > LARGEST {
        last(format!("makes the bundles {size} bytes in all; at most {LARGEST} may be"));
    }
}

fn flaws_of(path: &str, bundle: &BundleDocument, rules: &BTreeMap<String, Rule>, flaws: &mut Flaws<'_>) {
    let name = bundle.name.as_str();
    if name.len() > 63 || name.contains('.') || ObjectName::try_from(name).is_err() {
        flaws.add(&format!("{path}.name"), "is no name of 1 to 63 lower-case letters, digits and dashes");
    }
    let timeout = bundle.timeout.unwrap_or(TIMEOUT);
    if timeout < GoDuration::from_secs(1) || timeout > GoDuration::from_hours(4) {
        flaws.add(&format!("{path}.timeout"), "must be from 1s to 4h");
    }
    if let Some(when) = &bundle.when {
        choice(&format!("{path}.when"), when, rules, flaws);
    }
    if bundle.manifests.is_empty() {
        flaws.add(&format!("{path}.manifests"), "is empty: there is nothing to apply");
    }
    for (i, manifest) in bundle.manifests.iter().enumerate() {
        let path = format!("{path}.manifests[{i}]");
        for (member, sentence) in manifest_flaws(&manifest.object) {
            flaws.add(&format!("{path}.{member}"), sentence);
        }
        if manifest.ready.as_ref().is_some_and(|ready| ready.trim().is_empty() || ready.len() > LONGEST) {
            flaws.add(&format!("{path}.ready"), format!("is no expression of 1 to {LONGEST} characters"));
        }
    }
}

/// What is wrong with where manifests are put on the hub: beside the cluster's object, under names that no two clusters share.
fn placed_flaws(path: &str, bundle: &BundleDocument, flaws: &mut Flaws<'_>) {
    for (i, manifest) in bundle.manifests.iter().enumerate() {
        let path = format!("{path}.manifests[{i}].object.metadata");
        let metadata = manifest.object.get("metadata");
        if text(metadata.and_then(|m| m.get("name")))
            .is_some_and(|name| filled(name, &[("name", "")]) == name)
        {
            flaws.add(&format!("{path}.name"), "has no {name}: two clusters would share it");
        }
        let elsewhere = metadata.and_then(|m| m.get("namespace")).is_some_and(|n| n != "{namespace}");
        if elsewhere {
            flaws.add(
                &format!("{path}.namespace"),
                "is another one than that of the cluster's object; leave it out, or write {namespace}",
            );
        }
    }
}

fn choice(path: &str, when: &When, rules: &BTreeMap<String, Rule>, flaws: &mut Flaws<'_>) {
    if when.equals.is_some() != when.among.is_empty() {
        flaws.add(path, "must have exactly one of equals and in");
    }
    let Some(rule) = rules.get(&when.parameter) else {
        flaws.add(&format!("{path}.parameter"), "is none of parameters");
        return;
    };
    if rule.secret {
        let sentence = "names a Secret by its value, which is remembered nowhere and chooses nothing";
        flaws.add(&format!("{path}.parameter"), sentence);
    }
    for value in when.values() {
        let mut wrong = None;
        rule.judge(&mut String::new(), value, &mut |_, sentence| wrong = wrong.take().or(Some(sentence)));
        if let Some(sentence) = wrong {
            let member = if when.equals.is_some() { "equals" } else { "in" };
            flaws.add(
                &format!("{path}.{member}"),
                format!("is nothing that the parameter can be: {sentence}"),
            );
        }
    }
}

fn text(value: Option<&Value>) -> Option<&str> {
    value?.as_str().filter(|text| !text.is_empty())
}

/// What is wrong with a manifest: the member that it is about, and a sentence.
fn manifest_flaws(object: &Map<String, Value>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut flaw = |member: &str, sentence: &str| found.push((member.to_owned(), sentence.to_owned()));
    let api_version = text(object.get("apiVersion"));
    if api_version.is_none() {
        flaw("object.apiVersion", "is missing");
    }
    match text(object.get("kind")) {
        None => flaw("object.kind", "is missing"),
        Some("Secret") if api_version == Some("v1") => {
            flaw("object.kind", "is Secret: no secret may travel in a specification; make it in the cluster");
        }
        Some("List") => flaw("object.kind", "is List: write each object as a manifest of its own"),
        Some(_) => {}
    }
    if text(object.get("metadata").and_then(|metadata| metadata.get("name"))).is_none() {
        flaw("object.metadata.name", "is missing");
    }
    nulls("object", &Value::Object(object.clone()), &mut found);
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_put_in_as_text_and_nowhere_else() {
        let words = [("name", "demo"), ("tenant", "team-{name}")];
        for (text, meant) in [
            ("{name}", "demo"),
            ("a-{name}-{tenant}.b", "a-demo-team-{name}.b"),
            ("${name} {{name}} {{ $labels.name }}", "${name} {{name}} {{ $labels.name }}"),
            ("{other} {nam {name", "{other} {nam {name"),
            ("{{name}", "{{name}"),
            ("{name}}", "{name}}"),
            ("é{name}é", "édemoé"),
        ] {
            assert_eq!(filled(text, &words), meant);
        }
        let mut value = json!({ "{name}": ["{name}", 1, { "x": "{tenant}\"" }] });
        fill(&mut value, &words);
        assert_eq!(value, json!({ "{name}": ["demo", 1, { "x": "team-{name}\"" }] }));
    }
}

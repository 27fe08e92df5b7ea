//! Errors in the bundles of an entry.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::super::Document;
use super::super::flaws::Flaws;
use super::{BundleDocument, When, fill_text};
use crate::bundle::{self, TIMEOUT};
use crate::duration::GoDuration;
use crate::names::ObjectName;
use crate::prerequisites;
use crate::template::kind::find_nulls;
use crate::template::parameter::Rule;
use crate::{cloud, collect};

/// The most bundles of an entry.
const MOST_BUNDLES: usize = 32;
/// The most manifests of all bundles of an entry.
const MOST_MANIFESTS: usize = 64;
/// The largest that all bundles of an entry may be together, as JSON. They travel in an Object, which holds what is asked for and what is seen,
/// and an API server takes no object above 1.5 MiB.
const LARGEST: usize = 256 * 1024;
/// Suffixes of our ConfigMaps beside the cluster's object, after its name.
const OURS: [&str; 3] = [bundle::SUFFIX, cloud::SUFFIX, prerequisites::SUFFIX];
/// The longest expression.
const LONGEST: usize = 4096;

/// Place where bundles are applied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BundleTarget {
    OnHub,
    Inside,
}

/// The members of an entry that are lists of bundles.
pub const BUNDLES: [&str; 4] = ["prerequisites", "preCreate", "postInstall", "preDelete"];

/// All of them, with where they are applied.
fn bundle_lists(document: &Document) -> [(&'static str, BundleTarget, &Vec<BundleDocument>); 4] {
    let [prerequisites, pre_create, post_install, pre_delete] = BUNDLES;
    [
        (prerequisites, BundleTarget::OnHub, &document.prerequisites),
        (pre_create, BundleTarget::OnHub, &document.pre_create),
        (post_install, BundleTarget::Inside, &document.post_install),
        (pre_delete, BundleTarget::Inside, &document.pre_delete),
    ]
}

/// Parameters by which bundles are chosen.
pub(in super::super) fn choosing_parameters(document: &Document) -> BTreeSet<&str> {
    let all = bundle_lists(document).into_iter().flat_map(|(_, _, bundles)| bundles);
    collect::to_set(all.filter_map(|bundle| Some(bundle.when.as_ref()?.parameter.as_str())))
}

/// Whether there is any.
pub(in super::super) fn has_bundles(document: &Document) -> bool {
    bundle_lists(document).into_iter().any(|(_, _, bundles)| !bundles.is_empty())
}

/// Finds errors in all bundles.
pub(in super::super) fn find_flaws(document: &Document, flaws: &mut Flaws<'_>) {
    let (mut bundles, mut manifests, mut size) = (0, 0, 0);
    for (list, place, documents) in bundle_lists(document) {
        let mut names = BTreeSet::new();
        for (i, bundle) in documents.iter().enumerate() {
            let path = format!("{list}[{i}]");
            bundles += 1;
            manifests += bundle.manifests.len();
            size += serde_json::to_string(bundle).map_or(0, |text| text.len());
            flaws_of(&path, bundle, &document.parameters, flaws);
            if place == BundleTarget::OnHub {
                placed_flaws(&path, bundle, flaws);
            }
            if !names.insert(&bundle.name) {
                flaws.add_flaw(&format!("{path}.name"), "is already used");
            }
        }
    }
    let mut last = |sentence: String| {
        let written = bundle_lists(document).into_iter().rev().find(|(_, _, bundles)| !bundles.is_empty());
        let list = written.map_or("postInstall", |(list, _, _)| list);
        flaws.add_flaw(&format!("{list}.length"), sentence);
    };
    if bundles > MOST_BUNDLES {
        last(format!("makes {bundles} bundles in all; at most {MOST_BUNDLES} may be"));
    } else if manifests > MOST_MANIFESTS {
        last(format!("makes {manifests} manifests in all; at most {MOST_MANIFESTS} may be"));
    } else if size > LARGEST {
        last(format!("increases the bundles to {size} bytes in total; the maximum is {LARGEST}"));
    }
}

fn flaws_of(path: &str, bundle: &BundleDocument, rules: &BTreeMap<String, Rule>, flaws: &mut Flaws<'_>) {
    let name = bundle.name.as_str();
    if name.len() > 63 || name.contains('.') || ObjectName::try_from(name).is_err() {
        flaws.add_flaw(
            &format!("{path}.name"),
            "is not a name of 1 to 63 lower-case letters, digits and dashes",
        );
    }
    let timeout = bundle.timeout.unwrap_or(TIMEOUT);
    if timeout < GoDuration::from_secs(1) || timeout > GoDuration::from_hours(4) {
        flaws.add_flaw(&format!("{path}.timeout"), "must be from 1s to 4h");
    }
    if let Some(when) = &bundle.when {
        check_choice(&format!("{path}.when"), when, rules, flaws);
    }
    if bundle.manifests.is_empty() {
        flaws.add_flaw(&format!("{path}.manifests"), "is empty: there is nothing to apply");
    }
    for (i, manifest) in bundle.manifests.iter().enumerate() {
        let path = format!("{path}.manifests[{i}]");
        for (member, sentence) in manifest_flaws(&manifest.object) {
            flaws.add_flaw(&format!("{path}.{member}"), sentence);
        }
        if manifest.ready.as_ref().is_some_and(|ready| ready.trim().is_empty() || ready.len() > LONGEST) {
            flaws.add_flaw(
                &format!("{path}.ready"),
                format!("is not an expression of 1 to {LONGEST} characters"),
            );
        }
    }
}

/// Finds manifests for the hub that are outside the namespace of the cluster's object, or whose name two clusters could share.
fn placed_flaws(path: &str, bundle: &BundleDocument, flaws: &mut Flaws<'_>) {
    for (i, manifest) in bundle.manifests.iter().enumerate() {
        let path = format!("{path}.manifests[{i}].object.metadata");
        let object = &manifest.object;
        let metadata = object.get("metadata");
        let name = non_empty_text(metadata.and_then(|m| m.get("name"))).unwrap_or_default();
        let config_map = object.get("apiVersion").is_some_and(|v| v == "v1")
            && object.get("kind").is_some_and(|kind| kind == "ConfigMap");
        if !name.is_empty() && fill_text(name, &[("name", "")]) == name {
            flaws.add_flaw(
                &format!("{path}.name"),
                "must contain {name}; otherwise two clusters would share the object",
            );
        } else if config_map && name.strip_prefix("{name}").is_some_and(|suffix| OURS.contains(&suffix)) {
            flaws.add_flaw(
                &format!("{path}.name"),
                "is that of a ConfigMap by which the hub is told of the cluster",
            );
        }
        if metadata.and_then(|m| m.get("namespace")).is_some_and(|n| n != "{namespace}") {
            let sentence =
                "is another one than that of the cluster's object; leave it out, or write {namespace}";
            flaws.add_flaw(&format!("{path}.namespace"), sentence);
        }
    }
}

fn check_choice(path: &str, when: &When, rules: &BTreeMap<String, Rule>, flaws: &mut Flaws<'_>) {
    if when.equals.is_some() != when.among.is_empty() {
        flaws.add_flaw(path, "must have exactly one of equals and in");
    }
    let Some(rule) = rules.get(&when.parameter) else {
        flaws.add_flaw(&format!("{path}.parameter"), "is none of parameters");
        return;
    };
    if rule.secret {
        let sentence = "names a Secret by its value, which is remembered nowhere and chooses nothing";
        flaws.add_flaw(&format!("{path}.parameter"), sentence);
    }
    for value in when.allowed_values() {
        let mut wrong = None;
        rule.check_value(&mut String::new(), value, &mut |_, sentence| {
            wrong = wrong.take().or(Some(sentence));
        });
        if let Some(sentence) = wrong {
            let member = if when.equals.is_some() { "equals" } else { "in" };
            flaws.add_flaw(
                &format!("{path}.{member}"),
                format!("is not a value of the parameter: {sentence}"),
            );
        }
    }
}

fn non_empty_text(value: Option<&Value>) -> Option<&str> {
    value?.as_str().filter(|text| !text.is_empty())
}

/// Finds errors in a manifest, each with its member.
fn manifest_flaws(object: &Map<String, Value>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut flaw = |member: &str, sentence: &str| found.push((member.to_owned(), sentence.to_owned()));
    let api_version = non_empty_text(object.get("apiVersion"));
    if api_version.is_none() {
        flaw("object.apiVersion", "is missing");
    }
    match non_empty_text(object.get("kind")) {
        None => flaw("object.kind", "is missing"),
        Some("Secret") if api_version == Some("v1") => {
            flaw("object.kind", "is Secret: no secret may travel in a specification; make it in the cluster");
        }
        Some("List") => flaw("object.kind", "is List: write each object as a manifest of its own"),
        Some(_) => {}
    }
    if non_empty_text(object.get("metadata").and_then(|metadata| metadata.get("name"))).is_none() {
        flaw("object.metadata.name", "is missing");
    }
    find_nulls("object", &Value::Object(object.clone()), &mut found);
    found
}

//! The objects in a package: allowed kinds, and consistency.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    CheckProblem, constraint,
    stream::{Document, PackageStream},
};
use crate::names::dependency_name;

/// Kinds that a package may contain.
const CONFIGURATION: &[&str] = &[
    "CompositeResourceDefinition",
    "Composition",
    "ManagedResourceActivationPolicy",
    "Operation",
    "CronOperation",
    "WatchOperation",
];
const FUNCTION: &[&str] = &["CustomResourceDefinition"];
const PROVIDER: &[&str] = &[
    "CustomResourceDefinition",
    "ManagedResourceDefinition",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
];

/// Checks the objects of a package.
pub fn check_objects(stream: &PackageStream, problems: &mut Vec<CheckProblem>) {
    let mut names = BTreeSet::new();
    for object in &stream.objects {
        if object.name().is_empty() {
            problems.push(CheckProblem::error(object.place(), "has no metadata.name"));
        } else if !names.insert((&object.api_version, &object.kind, object.name())) {
            problems.push(CheckProblem::error(object.place(), "is there twice"));
        }
        match object.kind.as_str() {
            "CompositeResourceDefinition" | "CustomResourceDefinition" => check_definition(object, problems),
            "Composition" => check_composition(object, problems),
            _ => {}
        }
    }
    let [meta] = stream.metas.as_slice() else {
        let text = match stream.metas.as_slice() {
            [] => {
                "has no metadata (an object of group meta.pkg.crossplane.io), which says what the package is"
                    .to_owned()
            }
            metas => {
                let kinds: Vec<_> = metas.iter().map(|m| format!("{} (line {})", m.kind, m.line)).collect();
                format!(
                    "has {} objects of metadata, {}; a package is one thing",
                    metas.len(),
                    kinds.join(", ")
                )
            }
        };
        problems.push(CheckProblem::error("package.yaml", text));
        return;
    };
    check_metadata(meta, problems);
    let allowed = match meta.kind.as_str() {
        "Function" => FUNCTION,
        "Configuration" => CONFIGURATION,
        _ => PROVIDER,
    };
    for object in stream.objects.iter().filter(|object| !allowed.contains(&object.kind.as_str())) {
        let text = format!("cannot be in a {}, only {} can", meta.kind, allowed.join(", "));
        problems.push(CheckProblem::error(object.place(), text));
    }
    if meta.kind == "Configuration" {
        check_references(stream, meta, problems);
    }
}

fn check_metadata(meta: &Document, problems: &mut Vec<CheckProblem>) {
    let place = meta.place();
    if meta.name().is_empty() {
        problems.push(CheckProblem::error(place.as_str(), "has no metadata.name"));
    }
    match &meta.value["spec"]["crossplane"] {
        Value::Null => {}
        constraints => match constraints["version"].as_str() {
            Some(version) if constraint::is_valid(version) => {}
            Some(version) => {
                let text = format!(
                    "spec.crossplane.version {version:?} is not a constraint; write one like >=v1.20.0-0"
                );
                problems.push(CheckProblem::error(place.as_str(), text));
            }
            None => problems
                .push(CheckProblem::error(place.as_str(), "spec.crossplane has no version, which is a text")),
        },
    }
    let capabilities = meta.value["spec"]["capabilities"].as_array().into_iter().flatten();
    for capability in capabilities.filter(|_| meta.kind == "Function") {
        if ![Some("composition"), Some("operation")].contains(&capability.as_str()) {
            let text = format!("spec.capabilities has {capability}, which core does not know");
            problems.push(CheckProblem::warning(place.as_str(), text));
        }
    }
    for (index, dependency) in list_dependencies(meta).enumerate() {
        let place = format!("{place}, spec.dependsOn[{index}]");
        if package_of(dependency).is_none() {
            let text = "names no package; give apiVersion, kind and package";
            problems.push(CheckProblem::error(place.as_str(), text));
        }
        match dependency["version"].as_str() {
            Some(version) if constraint::is_digest(version) => {}
            Some(version) if constraint::is_valid(version) => {
                let text = format!("{version} may be another package tomorrow; a digest cannot");
                problems.push(CheckProblem::warning(place, text));
            }
            other => {
                let text = format!(
                    "version {} is neither a constraint nor a digest",
                    other.map_or_else(|| "is missing, which".to_owned(), |version| format!("{version:?}"))
                );
                problems.push(CheckProblem::error(place, text));
            }
        }
    }
}

fn list_dependencies(meta: &Document) -> impl Iterator<Item = &Value> {
    meta.value["spec"]["dependsOn"].as_array().into_iter().flatten()
}

fn package_of(dependency: &Value) -> Option<&str> {
    let named = dependency["package"]
        .as_str()
        .filter(|_| dependency["apiVersion"].is_string() && dependency["kind"].is_string());
    named.or_else(|| {
        ["function", "provider", "configuration"].iter().find_map(|key| dependency[*key].as_str())
    })
}

/// Checks common to CRDs and XRDs.
fn check_definition(object: &Document, problems: &mut Vec<CheckProblem>) {
    let place = object.place();
    let spec = &object.value["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let expected = format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]));
    if object.name() != expected {
        let text = format!("has to be called after its plural and group, {expected}");
        problems.push(CheckProblem::error(place.as_str(), text));
    }
    let versions: Vec<&Value> = spec["versions"].as_array().into_iter().flatten().collect();
    let (mark, what) = if object.kind == "CompositeResourceDefinition" {
        ("referenceable", "which Compositions name")
    } else {
        ("storage", "in which objects are stored")
    };
    let count = versions.iter().filter(|version| version[mark] == true).count();
    if count != 1 {
        let text = format!("{count} versions are marked {mark}; exactly one is, {what}");
        problems.push(CheckProblem::error(place.as_str(), text));
    }
    for version in versions {
        let schema = &version["schema"]["openAPIV3Schema"];
        if !schema.is_object() {
            let text = format!("version {} has no schema (openAPIV3Schema)", version["name"]);
            problems.push(CheckProblem::error(place.as_str(), text));
        }
    }
}

fn check_composition(object: &Document, problems: &mut Vec<CheckProblem>) {
    let place = object.place();
    let spec = &object.value["spec"];
    if spec["mode"] != "Pipeline" {
        let text =
            "spec.mode is not Pipeline; older releases of core then take it for another kind of Composition";
        problems.push(CheckProblem::error(place.as_str(), text));
    }
    let steps: Vec<&Value> = spec["pipeline"].as_array().into_iter().flatten().collect();
    if steps.is_empty() || steps.len() > 99 {
        let text = format!("has {} steps; there are 1 to 99", steps.len());
        problems.push(CheckProblem::error(place.as_str(), text));
    }
    let mut names = BTreeSet::new();
    for (index, step) in steps.iter().enumerate() {
        match step["step"].as_str() {
            Some(name) if names.insert(name) => {}
            Some(name) => {
                problems.push(CheckProblem::error(place.as_str(), format!("two steps are called {name}")));
            }
            None => problems.push(CheckProblem::error(place.as_str(), format!("step {index} has no name"))),
        }
        if step["functionRef"]["name"].as_str().is_none_or(str::is_empty) {
            let text = format!("step {index} names no function");
            problems.push(CheckProblem::error(place.as_str(), text));
        }
    }
}

/// Checks references by name: Compositions find their XRD and their functions by name, and Crossplane verifies the names only with the
/// first claim.
fn check_references(stream: &PackageStream, meta: &Document, problems: &mut Vec<CheckProblem>) {
    let mut types = BTreeSet::new();
    for xrd in stream.objects.iter().filter(|object| object.kind == "CompositeResourceDefinition") {
        let spec = &xrd.value["spec"];
        let group = spec["group"].as_str().unwrap_or_default();
        let kind = spec["names"]["kind"].as_str().unwrap_or_default();
        for version in spec["versions"].as_array().into_iter().flatten() {
            if version["referenceable"] == true {
                let version = version["name"].as_str().unwrap_or_default();
                types.insert((format!("{group}/{version}"), kind.to_owned()));
            }
        }
    }
    let functions: BTreeSet<String> = list_dependencies(meta)
        .filter(|dependency| dependency["kind"] == "Function" || dependency["function"].is_string())
        .filter_map(package_of)
        .map(dependency_name)
        .collect();
    for composition in stream.objects.iter().filter(|object| object.kind == "Composition") {
        let place = composition.place();
        let reference = &composition.value["spec"]["compositeTypeRef"];
        let text = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
        let wanted = (text("apiVersion"), text("kind"));
        if !types.contains(&wanted) {
            let text = format!("is for {} {}, of which the package has no XRD", wanted.0, wanted.1);
            problems.push(CheckProblem::warning(place.as_str(), text));
        }
        for step in composition.value["spec"]["pipeline"].as_array().into_iter().flatten() {
            let Some(name) = step["functionRef"]["name"].as_str() else { continue };
            if !functions.contains(name) {
                let text = format!(
                    "names the function {name}, which the package does not depend on under that name; \
                     core calls what it installs after the repository ({})",
                    if functions.is_empty() {
                        "nothing".to_owned()
                    } else {
                        functions.iter().cloned().collect::<Vec<_>>().join(", ")
                    }
                );
                problems.push(CheckProblem::warning(place.as_str(), text));
            }
        }
    }
}

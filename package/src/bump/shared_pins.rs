//! Pins outside of the overlays: in a base or kustomize component that overlays share. A bump never moves them, because they reach all
//! rings at once.

use serde_json::Value;

use super::layout::Selection;
use super::tree::KUSTOMIZATIONS;
use super::{Commit, Environment, Problem, Request, Rings, Source, Tree, list_overlays, pin, text};

/// An entry of a kustomization that is no overlay.
#[derive(Clone, Debug)]
pub struct SharedPin {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// Value of the entry.
    pub value: String,
    /// The repository in the entry.
    pub source: Source,
    /// None if the target can change.
    pub commit: Option<Commit>,
}

/// All entries with a GitHub repository. Nothing here is edited, so every form that kustomize accepts is allowed.
pub fn list_shared_pins(tree: &Tree, component: &str, rings: &Rings) -> Vec<SharedPin> {
    let overlays = list_overlays(tree, component, rings);
    let mut found = Vec::new();
    for (file, document) in tree.documents_under(&format!("components/{component}")) {
        let name = file.rsplit('/').next().unwrap_or(file);
        if !KUSTOMIZATIONS.contains(&name) || overlays.iter().any(|overlay| overlay.kustomization == file) {
            continue;
        }
        let lists = ["resources", "components", "bases"];
        let entries = lists.iter().filter_map(|list| document.get(list)?.as_array()).flatten();
        for value in entries.filter_map(Value::as_str).filter(|value| pin::is_remote(value)) {
            let Some(source) = pin::source_of(value) else { continue };
            found.push(SharedPin {
                file: file.to_owned(),
                line: text::find_line(tree.get(file).unwrap_or_default(), value),
                value: value.to_owned(),
                source,
                commit: pin::commit_of(value),
            });
        }
    }
    found
}

/// Pins that a bump would not move in overlays of its scope.
pub fn unmoved_pins(tree: &Tree, request: &Request, selection: &Selection) -> Vec<Problem> {
    let all = list_shared_pins(tree, &request.component, &request.rings).into_iter();
    let behind =
        all.filter(|pin| pin.source.is_same(&request.source) && pin.commit.as_ref() != Some(&request.to));
    behind
        .filter(|pin| is_in_scope(&pin.file, &request.component, selection))
        .map(|pin| {
            let what = "a pin outside of the overlays, in what they share";
            Problem::new(pin.file, what, "move it into the overlays").at_line(pin.line.unwrap_or(1))
        })
        .collect()
}

/// Whether all environments share a file, or its directory is in scope.
fn is_in_scope(file: &str, component: &str, selection: &Selection) -> bool {
    let below = |directory: &str| file.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    let of_one = Environment::ALL
        .map(Environment::name)
        .into_iter()
        .chain(["rings"])
        .any(|name| below(&format!("components/{component}/{name}")));
    let mut selected = selection.overlays.iter().chain(&selection.out_of_reach);
    !of_one || selected.any(|overlay| below(&overlay.directory))
}

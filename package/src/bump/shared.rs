//! Pins outside of the overlays: in a base or kustomize component that overlays share. A bump never moves them, because they reach all
//! rings at once.

use serde_json::Value;

use super::layout::Selection;
use super::tree::KUSTOMIZATIONS;
use super::{Commit, Environment, Problem, Request, Rings, Source, Tree, overlays, pin, text};

/// An entry of a kustomization that is no overlay.
#[derive(Clone, Debug)]
pub struct Shared {
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
pub fn shared(tree: &Tree, component: &str, rings: &Rings) -> Vec<Shared> {
    let overlays = overlays(tree, component, rings);
    let mut found = Vec::new();
    for (file, document) in tree.documents(&format!("components/{component}")) {
        let name = file.rsplit('/').next().unwrap_or(file);
        if !KUSTOMIZATIONS.contains(&name) || overlays.iter().any(|overlay| overlay.kustomization == file) {
            continue;
        }
        let lists = ["resources", "components", "bases"];
        let entries = lists.iter().filter_map(|list| document.get(list)?.as_array()).flatten();
        for value in entries.filter_map(Value::as_str).filter(|value| pin::is_remote(value)) {
            let Some(source) = pin::source_of(value) else { continue };
            found.push(Shared {
                file: file.to_owned(),
                line: text::line_with(tree.get(file).unwrap_or_default(), value),
                value: value.to_owned(),
                source,
                commit: pin::commit_of(value),
            });
        }
    }
    found
}

/// Pins that a bump would not move in overlays of its scope.
pub fn left_behind(tree: &Tree, request: &Request, selection: &Selection) -> Vec<Problem> {
    let all = shared(tree, &request.component, &request.rings).into_iter();
    let behind = all.filter(|pin| pin.source.is(&request.source) && pin.commit.as_ref() != Some(&request.to));
    behind
        .filter(|pin| concerns(&pin.file, &request.component, selection))
        .map(|pin| {
            let what = "a pin outside of the overlays, in what they share";
            Problem::new(pin.file, what, "move it into the overlays").at(pin.line.unwrap_or(1))
        })
        .collect()
}

/// Whether all environments share a file, or its directory is in scope.
fn concerns(file: &str, component: &str, selection: &Selection) -> bool {
    let below = |directory: &str| file.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    let of_one = Environment::ALL
        .map(Environment::name)
        .into_iter()
        .chain(["rings"])
        .any(|name| below(&format!("components/{component}/{name}")));
    let mut meant = selection.overlays.iter().chain(&selection.out_of_reach);
    !of_one || meant.any(|overlay| below(&overlay.directory))
}

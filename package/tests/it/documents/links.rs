//! References in documents: every link leads to a file or a heading, and every path in code is one of the repository.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use crate::documents::text::{anchors, links, read, root};

/// Copies of others' repositories.
const FOREIGN: &str = "package/tests/data";
/// First parts of paths from the root.
pub const FOLDERS: [&str; 9] =
    ["apis/", "docs/", "examples/", "function/", "package/", "process/", "provider/", "readiness/", "tests/"];

/// All Markdown files of the repository itself.
pub fn documents() -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap().map(Result::unwrap) {
            let path = folder.join(entry.file_name());
            let name = path.to_str().unwrap().to_owned();
            let is_made =
                entry.file_name() == "target" || entry.file_name().to_str().unwrap().starts_with('.');
            if entry.file_type().unwrap().is_dir() {
                folders.extend((!is_made && name != FOREIGN).then_some(path));
            } else {
                found.extend(path.extension().is_some_and(|e| e == "md").then_some(name));
            }
        }
    }
    found.sort();
    for known in ["README.md", "docs/how-to/bump.md", "docs/runbook/index.md", "tests/results/README.md"] {
        assert!(found.iter().any(|document| document == known), "{known} is not among {found:?}");
    }
    found
}

/// A path without `..`, as it is meant in a document of that folder.
fn resolved(folder: &Path, target: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for component in folder.join(target).components() {
        match component {
            Component::ParentDir => assert!(path.pop(), "{target} leads out of the repository"),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

/// Why a link of a document leads nowhere.
fn broken(document: &str, target: &str) -> Option<String> {
    if target.starts_with("https://") {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let folder = Path::new(document).parent().unwrap_or(Path::new(""));
    let path = if file.is_empty() { PathBuf::from(document) } else { resolved(folder, file) };
    if !root().join(&path).exists() {
        return Some(format!("{document}: there is no {}", path.display()));
    }
    let path = path.to_str().unwrap();
    let is_there = anchor.is_none_or(|anchor| anchors(path, &read(path)).contains(anchor));
    (!is_there).then(|| format!("{document}: {path} has no heading #{}", anchor.unwrap_or_default()))
}

/// The paths from the root that stand in code within a line. Text with a wildcard or a placeholder is no path.
fn paths(document: &str) -> Vec<&str> {
    let spans = document.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let words = spans.flat_map(str::split_whitespace);
    let words = words.map(|word| word.split("::").next().unwrap_or(word).trim_end_matches(','));
    words
        .filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)))
        .filter(|word| word.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b)))
        .collect()
}

#[test]
fn links_have_targets() {
    let mut wrong = Vec::new();
    let mut all = 0;
    for document in documents() {
        for (_, target) in links(&read(&document)) {
            all += 1;
            wrong.extend(broken(&document, &target));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(all > 300, "{all} links");
}

#[test]
fn paths_exist() {
    let mut wrong = Vec::new();
    let mut all = 0;
    for document in documents() {
        for path in paths(&read(&document)) {
            all += 1;
            // A name that a link shows is meant from the document's own folder.
            let beside = resolved(Path::new(&document).parent().unwrap(), path);
            if !root().join(path).exists() && !root().join(beside).exists() {
                wrong.push(format!("{document}: there is no {path}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(all > 30, "{all} paths");
}

/// The comparison sees what it is for.
#[test]
fn broken_links_and_paths_are_found() {
    assert_eq!(broken("README.md", "docs/runbook/tenants.md#entries"), None);
    assert_eq!(broken("docs/how-to/hub.md", "../runbook/tenants.md#entries"), None);
    assert_eq!(broken("docs/runbook/hub.md", "#entries"), None);
    for target in ["nowhere.md", "#nothing", "docs/runbook/hub.md#nothing", "package/nothing/"] {
        assert!(broken("README.md", target).is_some(), "{target}");
    }
    let text = "in `cargo test package/nowhere.rs`, `package/*.md`\nand `tests/a.rs::b`";
    assert_eq!(paths(text), ["package/nowhere.rs", "tests/a.rs"]);
}

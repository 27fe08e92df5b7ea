//! Modules of the function import in one direction.

use crate::documents::text::sources;

/// Stages of a cluster. Each imports from earlier ones alone.
const STAGES: [&str; 7] = ["observed", "request", "catalog", "admission", "backends", "lifecycle", "respond"];
/// Modules that all composites share. They import from no composite.
const SHARED: [&str; 2] = ["sdk", "objects"];
const COMPOSITES: [&str; 3] = ["cluster", "pool", "space"];

/// Paths below `crate` that a source names, each as its segments.
fn imports(code: &str) -> Vec<Vec<String>> {
    let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = lines.join("\n");
    let mut found = Vec::new();
    for tree in code.split("crate::").skip(1) {
        let path = |c: char| c.is_alphanumeric() || "_:".contains(c);
        let end = if tree.starts_with('{') { tree.find(';') } else { tree.find(|c| !path(c) && c != '{') };
        // A path that ends before a brace is a tree as well.
        let end = match end {
            Some(end) if tree[..end].contains("::{") => tree.find(';'),
            end => end,
        };
        expand(&tree[..end.unwrap_or(tree.len())], &mut found);
    }
    found
}

/// Expands one use tree.
fn expand(tree: &str, found: &mut Vec<Vec<String>>) {
    let (mut prefixes, mut path) = (Vec::<String>::new(), String::new());
    for c in tree.chars().chain([',']) {
        match c {
            '{' => prefixes.push(path.clone()),
            ',' | '}' => {
                if !path.is_empty() && !path.ends_with("::") {
                    found.push(path.split("::").map(str::to_owned).collect());
                }
                if c == '}' {
                    prefixes.pop();
                }
                path = prefixes.last().cloned().unwrap_or_default();
            }
            c if c.is_whitespace() => {}
            c => path.push(c),
        }
    }
}

/// Top-level module of a source, and the module below it.
fn modules(path: &str) -> (&str, &str) {
    let below = path.strip_prefix("function/src/").unwrap_or(path);
    let (top, rest) = below.split_once('/').unwrap_or((below, ""));
    let name = |part| str::trim_end_matches(part, ".rs");
    (name(top), name(rest.split('/').next().unwrap_or_default()))
}

fn stage(module: &str) -> Option<usize> {
    STAGES.iter().position(|stage| *stage == module)
}

/// Imports of the function's sources that `is_wrong` finds, as sentences.
fn wrong_imports(is_wrong: impl Fn((&str, &str), &[&str]) -> bool) -> Vec<String> {
    let all = sources("function/src");
    assert!(all.len() > 150, "{} sources", all.len());
    let mut wrong = Vec::new();
    for (path, code) in &all {
        for import in imports(code) {
            let import: Vec<&str> = import.iter().map(String::as_str).collect();
            if is_wrong(modules(path), &import) {
                wrong.push(format!("{path} imports {}", import.join("::")));
            }
        }
    }
    wrong
}

#[test]
fn stages_of_a_cluster_import_from_earlier_stages() {
    let wrong = wrong_imports(|(top, module), import| {
        let (Some(own), "cluster", ["cluster", other, ..]) = (stage(module), top, import) else {
            return false;
        };
        stage(other).is_none_or(|other| other > own)
    });
    assert_eq!(wrong, Vec::<String>::new());
    // Otherwise the test would miss imports in the other direction as well.
    let seen = wrong_imports(|(_, module), import| {
        module == "respond" && import.starts_with(&["cluster", "lifecycle"])
    });
    assert!(seen.len() > 3, "{seen:?}");
}

#[test]
fn shared_modules_and_composites_import_from_no_other_composite() {
    let wrong = wrong_imports(|(top, _), import| {
        let independent = SHARED.contains(&top) || COMPOSITES.contains(&top);
        independent && import.first().is_some_and(|other| *other != top && COMPOSITES.contains(other))
    });
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn trees_are_expanded() {
    let code = "use crate::{\n    a::{self, b as c},\n    d,\n};\n// crate::e\nlet x = crate::f::g(1);\nuse crate::h::{i, j::k};";
    let found: Vec<String> = imports(code).iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["a::self", "a::basc", "d", "f::g", "h::i", "h::j::k"]);
}

//! The deployed part of a source: the pinned directories, and every path in the same repository that their kustomizations reference.

use std::collections::BTreeSet;

use serde_json::Value;

use super::pin::is_remote;
use super::tree::{KUSTOMIZATIONS, resolve_path};
use super::{Problem, Tree, text};

/// Deployed directories and files. `files` are all files of the source at a commit; `read` returns the documents of one.
///
/// A directory counts completely, so files that any of kustomize's generators reads are included.
///
/// # Errors
/// If a kustomization on the way cannot be read: its references would be omitted silently.
pub fn deployed_paths(
    pinned: &BTreeSet<String>,
    files: &BTreeSet<String>,
    read: impl Fn(&str) -> Result<Vec<Value>, Problem>,
) -> Result<BTreeSet<String>, Problem> {
    let mut found = BTreeSet::new();
    // Pins write `config/` for `config`.
    let mut next: Vec<String> = pinned.iter().filter_map(|directory| resolve_path("", directory)).collect();
    while let Some(place) = next.pop() {
        // The loop ends at a cycle, which kustomize refuses.
        if !found.insert(place.clone()) {
            continue;
        }
        let Some(path) = find_kustomization(files, &place) else { continue };
        for document in read(&path)? {
            // A path outside of the repository does not belong to the source.
            next.extend(referenced_paths(&document).filter_map(|name| resolve_path(&place, name)));
        }
    }
    Ok(found)
}

/// Whether a file is deployed.
pub fn includes_path(places: &BTreeSet<String>, path: &str) -> bool {
    places.iter().any(|place| {
        path.strip_prefix(place.as_str())
            .is_some_and(|rest| place.is_empty() || rest.is_empty() || rest.starts_with('/'))
    })
}

/// Whether kustomize finds anything in a pinned directory.
pub fn has_kustomization(files: &BTreeSet<String>, pinned: &str) -> bool {
    resolve_path("", pinned).is_some_and(|directory| find_kustomization(files, &directory).is_some())
}

fn find_kustomization(files: &BTreeSet<String>, directory: &str) -> Option<String> {
    KUSTOMIZATIONS.iter().filter_map(|name| resolve_path(directory, name)).find(|path| files.contains(path))
}

/// The files and directories of its own repository that a kustomization references, as written.
fn referenced_paths(kustomization: &Value) -> impl Iterator<Item = &str> {
    // Before kustomize 2.1, `bases` listed the directories of `resources`. It still works.
    let keys = ["resources", "components", "bases", "configurations", "generators", "transformers"];
    let entries =
        keys.into_iter().flat_map(move |key| list_items(kustomization, key)).filter_map(Value::as_str);
    // Generators and transformers may also be objects in the list itself.
    let entries = entries.filter(|entry| !entry.contains('\n'));
    let named = ["patches", "replacements"].into_iter().flat_map(move |key| list_items(kustomization, key));
    entries.chain(named.filter_map(|entry| text::str_at(entry, &["path"]))).filter(|name| !is_remote(name))
}

fn list_items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Paths below `components` that kustomizations there reference, and the tree lacks.
pub fn unread_paths(tree: &Tree) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (file, document) in tree.documents_under("components") {
        let Some((directory, name)) = file.rsplit_once('/') else { continue };
        if !KUSTOMIZATIONS.contains(&name) {
            continue;
        }
        let older = text::items_at(&document, &["patchesStrategicMerge"]).filter_map(Value::as_str);
        let listed = text::items_at(&document, &["patchesJson6902"]);
        let listed = listed.filter_map(|patch| text::str_at(patch, &["path"]));
        let mut names: Vec<&str> = referenced_paths(&document).chain(older).chain(listed).collect();
        for entry in
            ["configMapGenerator", "secretGenerator"].into_iter().flat_map(|key| list_items(&document, key))
        {
            let sources =
                ["files", "envs"].into_iter().flat_map(|key| list_items(entry, key)).chain(entry.get("env"));
            // An entry may have the form `key=file`.
            let bare = |path: &'_ str| path.split_once('=').map_or(0, |(key, _)| key.len() + 1);
            names.extend(sources.filter_map(Value::as_str).filter_map(|path| path.get(bare(path)..)));
        }
        let paths = names.into_iter().filter_map(|name| resolve_path(directory, name));
        let paths = paths.filter(|path| path.starts_with("components/"));
        found
            .extend(paths.filter(|path| tree.get(path).is_none() && tree.find_kustomization(path).is_none()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places_of(tree: &Tree, pinned: &[&str]) -> Result<Vec<String>, Problem> {
        let pinned = pinned.iter().map(ToString::to_string).collect();
        let files = tree.files().map(|(path, _)| path.to_owned()).collect();
        let read = |path: &str| text::parse_documents(path, tree.get(path).unwrap_or_default());
        Ok(deployed_paths(&pinned, &files, read)?.into_iter().collect())
    }

    #[test]
    fn referenced_paths_are_deployed_under_any_name() {
        let tree = Tree::from_iter([
            ("a/b/kustomization.yaml", "resources:\n- ../../base\n- file.yaml\ncomponents: [../c]\n"),
            (
                "base/kustomization.yml",
                "bases:\n- ./../old/\npatches:\n- path: ../patches/one.yaml\n- patch: x\n",
            ),
            ("old/Kustomization", "resources: [x.yaml]\n"),
            ("a/c/kustomization.yaml", "configMapGenerator:\n- name: x\n  files: [y]\n"),
        ]);
        let found = places_of(&tree, &["a/b"]).unwrap();
        assert_eq!(found, ["a/b", "a/b/file.yaml", "a/c", "base", "old", "old/x.yaml", "patches/one.yaml"],);
        assert_eq!(places_of(&tree, &["a/b/"]).unwrap(), found);
        assert_eq!(places_of(&tree, &["nowhere"]).unwrap(), ["nowhere"]);
    }

    #[test]
    fn cycles_end_and_paths_outside_are_omitted() {
        let text = "resources:\n- ../b\n- ../../outside\n- https://github.com/o/n/x?ref=main\n- git@example.com:o/n\n- {no: text}\n";
        let tree = Tree::from_iter([
            ("a/kustomization.yaml", text),
            ("b/kustomization.yaml", "resources:\n- ../a\n"),
            ("kustomization.yaml", "resources: {no: list}\ncomponents: null\n"),
        ]);
        assert_eq!(places_of(&tree, &["a", "../outside"]).unwrap(), ["a", "b"]);
        assert_eq!(places_of(&tree, &[""]).unwrap(), [""]);
    }

    #[test]
    fn an_unreadable_kustomization_is_reported() {
        let tree = Tree::from_iter([("a/kustomization.yaml", "resources:\n- x\n- [\n")]);
        let problem = places_of(&tree, &["a"]).unwrap_err();
        assert!(problem.to_string().starts_with("a/kustomization.yaml:"), "{problem}");
    }

    #[test]
    fn a_directory_includes_its_descendants_but_no_sibling() {
        let places = ["config".to_owned(), "patches/one.yaml".to_owned()].into();
        for (path, is) in [
            ("config/a/b.yaml", true),
            ("config-old/a.yaml", false),
            ("patches/one.yaml", true),
            ("patches/two.yaml", false),
            ("README.md", false),
        ] {
            assert_eq!(includes_path(&places, path), is, "{path}");
        }
        assert!(includes_path(&[String::new()].into(), "README.md"));
        assert!(!includes_path(&BTreeSet::new(), "README.md"));
    }
}

//! Packages of Crossplane that a kustomization pins by a patch: kustomize's `images` does not reach `spec.package`.

use serde_json::Value;

use super::text;

/// A package that a patch sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchedPackage {
    /// Name of the patched object; empty if the patch selects by other means.
    pub name: String,
    /// The reference of its package.
    pub reference: String,
}

/// Packages that the patches of a kustomization set, in the order of the file. `read_file` reads a file beside the kustomization.
pub fn list_patched_packages(
    kustomization: &Value,
    read_file: impl Fn(&str) -> Option<String>,
) -> Vec<PatchedPackage> {
    let entries = ["patches", "patchesJson6902"]
        .into_iter()
        .flat_map(|list| kustomization[list].as_array().into_iter().flatten())
        .filter_map(|entry| {
            let inline = text::str_at(entry, &["patch"]).map(str::to_owned);
            let patch = inline.or_else(|| read_file(text::str_at(entry, &["path"])?))?;
            Some((text::str_at(entry, &["target", "name"]).unwrap_or_default(), patch))
        });
    let merges = text::items_at(kustomization, &["patchesStrategicMerge"])
        .filter_map(Value::as_str)
        .map(|entry| ("", read_file(entry).unwrap_or_else(|| entry.to_owned())));
    entries.chain(merges).flat_map(|(target, patch)| read_patch(target, &patch)).collect()
}

fn read_patch(target: &str, patch: &str) -> Vec<PatchedPackage> {
    let documents = text::parse_documents("patch", patch.as_bytes()).unwrap_or_default();
    let packages = documents.iter().flat_map(|document| match document {
        Value::Array(operations) => operations
            .iter()
            .filter(|operation| text::str_at(operation, &["path"]) == Some("/spec/package"))
            .filter_map(|operation| text::str_at(operation, &["value"]))
            .map(|reference| (target.to_owned(), reference.to_owned()))
            .collect(),
        merge => {
            let name = text::str_at(merge, &["metadata", "name"]).unwrap_or(target).to_owned();
            text::str_at(merge, &["spec", "package"])
                .map(|reference| (name, reference.to_owned()))
                .into_iter()
                .collect::<Vec<_>>()
        }
    });
    packages.map(|(name, reference)| PatchedPackage { name, reference }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_of_a_patch_is_read() {
        let operation = "- op: replace\n  path: /spec/package\n  value: r/a@sha256:1\n";
        let merge = "kind: Function\nmetadata: { name: b }\nspec: { package: r/b@sha256:2 }\n";
        let kustomization = json!({
            "patches": [
                { "target": { "kind": "Function", "name": "a" }, "patch": operation },
                { "path": "b.yaml" },
                { "target": { "kind": "Function" }, "patch": operation },
                { "target": { "name": "x" }, "patch": "- { op: replace, path: /spec/other, value: r/x }" },
                { "path": "absent.yaml" },
            ],
            "patchesStrategicMerge": ["b.yaml", merge],
        });
        let found =
            list_patched_packages(&kustomization, |path| (path == "b.yaml").then(|| merge.to_owned()));
        let found: Vec<(&str, &str)> =
            found.iter().map(|package| (package.name.as_str(), package.reference.as_str())).collect();
        let (a, b) = ("r/a@sha256:1", "r/b@sha256:2");
        assert_eq!(found, [("a", a), ("b", b), ("", a), ("b", b), ("b", b)]);
    }
}

//! The documents of `package.yaml`, with their lines.

use serde_json::Value;

use super::CheckProblem;

/// A readable document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The line of `package.yaml` on which it starts, from 1.
    pub line: usize,
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// The complete document.
    pub value: Value,
}

impl Document {
    /// `metadata.name`, or an empty string.
    pub fn name(&self) -> &str {
        self.value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
    }

    fn is_among(&self, known: &[(&str, &[&str])]) -> bool {
        known
            .iter()
            .any(|(version, kinds)| *version == self.api_version && kinds.contains(&self.kind.as_str()))
    }

    /// Name of the document in messages.
    pub fn place(&self) -> String {
        format!("package.yaml line {}, {} {}", self.line, self.kind, self.name())
    }
}

/// Content of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PackageStream {
    /// Package metadata; exactly one in a valid package.
    pub metas: Vec<Document>,
    /// Objects to install.
    pub objects: Vec<Document>,
}

const META_GROUP: &str = "meta.pkg.crossplane.io/";

/// Kinds that core's parser knows. Any other kind stops it, whatever the type of the package.
const METAS: [(&str, &[&str]); 3] = [
    ("meta.pkg.crossplane.io/v1", &["Configuration", "Provider", "Function"]),
    ("meta.pkg.crossplane.io/v1beta1", &["Function"]),
    ("meta.pkg.crossplane.io/v1alpha1", &["Configuration", "Provider"]),
];
const OBJECTS: [(&str, &[&str]); 7] = [
    (
        "apiextensions.crossplane.io/v1",
        &["CompositeResourceDefinition", "Composition", "CompositionRevision"],
    ),
    ("apiextensions.crossplane.io/v2", &["CompositeResourceDefinition"]),
    (
        "apiextensions.crossplane.io/v1alpha1",
        &["ManagedResourceDefinition", "ManagedResourceActivationPolicy"],
    ),
    ("ops.crossplane.io/v1alpha1", &["Operation", "CronOperation", "WatchOperation"]),
    ("apiextensions.k8s.io/v1", &["CustomResourceDefinition"]),
    ("apiextensions.k8s.io/v1beta1", &["CustomResourceDefinition"]),
    ("admissionregistration.k8s.io/v1", &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]),
];

/// Reads a stream like core: lines `---` separate documents, and documents with only comments do not count.
pub fn read_stream(text: &str, problems: &mut Vec<CheckProblem>) -> PackageStream {
    let mut stream = PackageStream::default();
    for (line, document) in split_documents(text) {
        let place = format!("package.yaml line {line}");
        let value = match serde_saphyr::from_str::<Value>(document) {
            Ok(value) => value,
            Err(error) => {
                let at = error.location().map_or(line, |at| {
                    line + usize::try_from(at.line()).unwrap_or_default().saturating_sub(1)
                });
                let message = error.to_string();
                let message = message.lines().next().unwrap_or_default();
                problems.push(CheckProblem::error(
                    format!("package.yaml line {at}"),
                    format!("is not YAML: {message}"),
                ));
                continue;
            }
        };
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if api_version.is_empty() || kind.is_empty() {
            problems.push(CheckProblem::error(place, "has no apiVersion and kind, so it is not an object"));
            continue;
        }
        let document = Document { line, api_version, kind, value };
        if document.is_among(&METAS) {
            stream.metas.push(document);
        } else if document.is_among(&OBJECTS) {
            stream.objects.push(document);
        } else {
            let why = if document.api_version.starts_with(META_GROUP) {
                "is not metadata of a package that core knows; use meta.pkg.crossplane.io/v1"
            } else {
                "cannot be in a package: core refuses the whole package for it; install it beside the package"
            };
            let text = format!("{} {} {why}", document.api_version, document.kind);
            problems.push(CheckProblem::error(place, text));
        }
    }
    stream
}

/// Whether a line with three dashes separates documents: nothing follows, or a comment.
fn is_separator(rest: &str) -> bool {
    let text = rest.trim();
    text.is_empty() || (rest.starts_with([' ', '\t']) && text.starts_with('#'))
}

/// Documents, each with its first line.
pub(crate) fn split_documents(text: &str) -> Vec<(usize, &str)> {
    let mut documents = Vec::new();
    let (mut start, mut start_line) = (0, 1);
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if line.strip_prefix("---").is_some_and(is_separator) {
            documents.push((start_line, &text[start..at]));
            (start, start_line) = (at + line.len(), index + 2);
        }
        at += line.len();
    }
    documents.push((start_line, &text[start..]));
    let empty = |document: &str| {
        document
            .lines()
            .map(str::trim_start)
            .all(|line| line.is_empty() || line.starts_with('#') || line == "---" || line == "...")
    };
    documents.retain(|(_, document)| !empty(document));
    documents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_split_and_know_their_lines() {
        let text = "# comment\n---\na: 1\n---\n# nothing\n--- \nb: 2\nc: '---'\n";
        assert_eq!(split_documents(text), [(3, "a: 1\n"), (7, "b: 2\nc: '---'\n")]);
        assert_eq!(split_documents("a: 1"), [(1, "a: 1")]);
        assert_eq!(split_documents("a: 1\n--- # two\nb: 2\n---#\n"), [(1, "a: 1\n"), (3, "b: 2\n---#\n")]);
        assert!(split_documents("---\n---\n").is_empty());
    }

    #[test]
    fn invalid_yaml_is_reported_with_its_line() {
        let mut problems = Vec::new();
        read_stream("---\nkind: A\napiVersion: b\n---\nx: 1\n  y: [\n", &mut problems);
        let places: Vec<_> = problems.iter().map(|problem| problem.place.as_str()).collect();
        assert!(places.contains(&"package.yaml line 2"), "{problems:?}");
        assert!(
            places.iter().any(|place| ["package.yaml line 6", "package.yaml line 7"].contains(place)),
            "{problems:?}"
        );
    }
}

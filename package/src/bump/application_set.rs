//! The list of clusters in the ApplicationSet. A member cluster outside of the list gets the base, without Crossplane.

use serde_json::Value;

use super::text::{self, split_lines};
use super::{Problem, Tree};

/// Directory of ApplicationSets.
const DIRECTORY: &str = "argo-cd-apps";

/// A cluster in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterElement {
    /// The cluster's name in Argo CD.
    pub name: String,
    /// The directory in the environment; none for the base.
    pub directory: Option<String>,
}

/// The list of one component.
#[derive(Clone, Debug)]
pub struct ApplicationSet {
    /// Its file.
    pub file: String,
    /// The clusters.
    pub elements: Vec<ClusterElement>,
}

/// The ApplicationSet that renders a component: the one whose `sourceRoot` is the component's directory.
pub fn find_application_set(tree: &Tree, component: &str) -> Result<Option<ApplicationSet>, Problem> {
    let root = format!("components/{component}");
    for (file, bytes) in tree.files_under(DIRECTORY) {
        // Skip parsing of files that do not mention the component: most of several hundred files.
        if text::find_line(bytes, &root).is_none() {
            continue;
        }
        for document in text::parse_documents(file, bytes)? {
            if text::str_at(&document, &["kind"]) == Some("ApplicationSet") && names_root(&document, &root) {
                return Ok(Some(ApplicationSet {
                    file: file.to_owned(),
                    elements: list_elements(&document),
                }));
            }
        }
    }
    Ok(None)
}

/// Clusters in other ApplicationSets, each with the number of sets.
pub fn count_other_clusters(tree: &Tree, this: &str) -> Vec<(String, usize)> {
    let mut counts = std::collections::BTreeMap::new();
    for (file, bytes) in tree.files_under(DIRECTORY).filter(|(file, _)| *file != this) {
        if text::find_line(bytes, "nameNormalized: ").is_none() {
            continue;
        }
        let documents = text::parse_documents(file, bytes).unwrap_or_default();
        let mut names: Vec<_> =
            documents.iter().flat_map(list_elements).map(|element| element.name).collect();
        names.sort();
        names.dedup();
        for name in names {
            *counts.entry(name).or_insert(0) += 1;
        }
    }
    counts.into_iter().collect()
}

/// The file with one more cluster, in the format of its neighbours.
pub fn add_element(tree: &Tree, set: &ApplicationSet, cluster: &str) -> Result<String, Problem> {
    let bytes = tree.get(&set.file).unwrap_or_default();
    let text = text::utf8(&set.file, bytes)?;
    let all: Vec<_> = split_lines(text).collect();
    let pair = all.windows(2).rfind(|pair| {
        let [name, directory] = pair else { return false };
        name.text.trim_start().starts_with("- nameNormalized: ")
            && directory.text.trim_start().starts_with("values.clusterDir: ")
    });
    let refused = |line: usize| {
        let help = format!("add nameNormalized and values.clusterDir of {cluster} by hand");
        Problem::new(&set.file, "the list of clusters is not written as pairs of lines", help).at_line(line)
    };
    let Some([name, directory]) = pair else {
        return Err(refused(text::find_line(bytes, "list:").unwrap_or(1)));
    };
    let before =
        |text: &str, key: &str| text.find(key).and_then(|at| text.get(..at + key.len())).map(str::to_owned);
    let (Some(first), Some(second)) =
        (before(name.text, "nameNormalized: "), before(directory.text, "values.clusterDir: "))
    else {
        return Err(refused(name.number));
    };
    let value = text::quote_scalar(cluster);
    let at = directory.after();
    let new = if directory.end.is_empty() {
        format!("{}{first}{value}{}{second}{value}", name.end, name.end)
    } else {
        format!("{first}{value}{}{second}{value}{}", name.end, directory.end)
    };
    let after = text::apply_splices(text, vec![(at..at, new)]);
    let expected: Vec<_> = set
        .elements
        .iter()
        .cloned()
        .chain([ClusterElement { name: cluster.to_owned(), directory: Some(cluster.to_owned()) }])
        .collect();
    let read: Vec<_> =
        text::parse_documents(&set.file, after.as_bytes())?.iter().flat_map(list_elements).collect();
    if read == expected { Ok(after) } else { Err(refused(directory.number)) }
}

/// Whether any list of clusters below the directory has the cluster in the ring. In rings these lists are patches that components share.
pub fn lists_in_ring(tree: &Tree, ring: &str, cluster: &str) -> bool {
    let all =
        tree.files_under(DIRECTORY).filter(|(_, bytes)| text::find_line(bytes, "values.ring: ").is_some());
    let mut documents = all.flat_map(|(file, bytes)| text::parse_documents(file, bytes).unwrap_or_default());
    documents.any(|document| has_pair(&document, ring, cluster))
}

fn has_pair(value: &Value, ring: &str, cluster: &str) -> bool {
    let field = |key: &str| value.get(key).and_then(Value::as_str);
    (field("nameNormalized") == Some(cluster) && field("values.ring") == Some(ring))
        || match value {
            Value::Object(map) => map.values().any(|value| has_pair(value, ring, cluster)),
            Value::Array(list) => list.iter().any(|value| has_pair(value, ring, cluster)),
            _ => false,
        }
}

fn names_root(value: &Value, root: &str) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| {
            (key == "sourceRoot" && value.as_str() == Some(root)) || names_root(value, root)
        }),
        Value::Array(list) => list.iter().any(|value| names_root(value, root)),
        _ => false,
    }
}

/// The elements of every list generator, in the order of the file.
fn list_elements(value: &Value) -> Vec<ClusterElement> {
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match key.as_str() {
                "elements" => value.as_array().into_iter().flatten().filter_map(parse_element).collect(),
                _ => list_elements(value),
            })
            .collect(),
        Value::Array(list) => list.iter().flat_map(list_elements).collect(),
        _ => Vec::new(),
    }
}

fn parse_element(value: &Value) -> Option<ClusterElement> {
    let name = text::str_at(value, &["nameNormalized"])?.to_owned();
    let directory = text::str_at(value, &["values.clusterDir"]).map(str::to_owned);
    Some(ClusterElement { name, directory })
}

//! Resources that a function may request: the objects of `--required-resources`, matched as Crossplane matches them, and the connection
//! Secrets among the observed resources.

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use prost::bytes::Bytes;
use serde_json::Value;
use testplatform_composites::sdk::{
    proto::{
        Resource, ResourceSelector, Resources, resource::ConnectionDetailsEntry, resource_selector::Match,
    },
    wire,
};

use super::{Error, files::Document};

/// Data of a Secret, by key.
pub type Entries = Vec<(String, Bytes)>;

/// The objects that a selector names. None is an answer too: asked for, and not there.
pub fn select_resources(pool: &[Document], selector: &ResourceSelector) -> Result<Resources, Error> {
    let mut found: Vec<&Document> = pool.iter().filter(|d| is_selected(d, selector)).collect();
    if !matches!(selector.r#match, Some(Match::MatchName(_))) {
        let by = |a: &Document, b: &Document, at: &str| a.text(at).cmp(b.text(at));
        found.sort_by(|a, b| by(a, b, "/metadata/namespace").then_with(|| by(a, b, "/metadata/name")));
    }
    let items = found.into_iter().map(|d| Ok(build_resource(encode_document(d)?, vec![])));
    Ok(Resources { items: items.collect::<Result<_, Error>>()? })
}

fn is_selected(document: &Document, selector: &ResourceSelector) -> bool {
    let namespace = selector.namespace.as_deref().unwrap_or_default();
    document.text("/apiVersion") == selector.api_version
        && document.text("/kind") == selector.kind
        && (namespace.is_empty() || document.text("/metadata/namespace") == namespace)
        && match &selector.r#match {
            Some(Match::MatchName(name)) => document.text("/metadata/name") == name,
            Some(Match::MatchLabels(wanted)) => {
                let labels = &document.object["metadata"]["labels"];
                wanted.labels.iter().all(|(key, value)| labels[key] == value.as_str())
            }
            None => true,
        }
}

/// An object on the wire.
pub fn encode_document(document: &Document) -> Result<Bytes, Error> {
    wire::to_struct(&document.object).map_err(|e| document.error(e.to_string()))
}

/// A resource on the wire.
pub fn build_resource(resource: Bytes, connection_details: Vec<ConnectionDetailsEntry>) -> Resource {
    Resource { resource, connection_details, ready: 0 }
}

/// Whether a document is a Secret.
pub fn is_secret(document: &Document) -> bool {
    document.text("/apiVersion") == "v1" && document.text("/kind") == "Secret"
}

/// The Secret with a name and a namespace.
pub fn find_secret<'a>(secrets: &'a [Document], namespace: &str, name: &str) -> Option<&'a Document> {
    let named =
        |d: &&Document| d.text("/metadata/name") == name && d.text("/metadata/namespace") == namespace;
    secrets.iter().find(named).filter(|_| !name.is_empty())
}

/// The Secret that an object writes its connection details to: of one in a namespace, there.
pub fn connection_secret<'a>(secrets: &'a [Document], object: &Value) -> Option<&'a Document> {
    let reference = &object["spec"]["writeConnectionSecretToRef"];
    let part = |field: &str| reference[field].as_str().unwrap_or_default();
    let own = object["metadata"]["namespace"].as_str().filter(|own| !own.is_empty());
    find_secret(secrets, own.unwrap_or(part("namespace")), part("name"))
}

/// Data of a Secret, by key: `data` is base64, `stringData` is text and wins. An error names the key only.
pub fn read_entries(secret: &Document) -> Result<Entries, Error> {
    let mut entries = BTreeMap::new();
    for (field, encoded) in [("data", true), ("stringData", false)] {
        for (key, value) in secret.object[field].as_object().into_iter().flatten() {
            let broken = || secret.error(format!("{field}.{key} of {} is not text", secret.label()));
            let value = match value {
                Value::Null => "",
                value => value.as_str().ok_or_else(broken)?,
            };
            let bytes = if encoded {
                BASE64_STANDARD
                    .decode(value)
                    .map_err(|_| secret.error(format!("{field}.{key} of {} is not base64", secret.label())))?
            } else {
                value.as_bytes().to_vec()
            };
            entries.insert(key.clone(), Bytes::from(bytes));
        }
    }
    Ok(entries.into_iter().collect())
}

/// Connection details on the wire.
pub fn connection_details(secret: Option<&Document>) -> Result<Vec<ConnectionDetailsEntry>, Error> {
    let entries = secret.map(read_entries).transpose()?.unwrap_or_default();
    Ok(entries.into_iter().map(|(key, value)| ConnectionDetailsEntry { key, value: Some(value) }).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use testplatform_composites::sdk::proto::MatchLabels;

    fn pool() -> Vec<Document> {
        let object = |namespace: &str, name: &str, team: &str| Document {
            path: "pool.yaml".into(),
            object: json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "namespace": namespace, "name": name, "labels": { "team": team } },
            }),
        };
        vec![object("b", "x", "red"), object("a", "y", "red"), object("a", "z", "blue")]
    }

    fn names(namespace: Option<&str>, r#match: Option<Match>) -> Vec<String> {
        let selector = ResourceSelector {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            namespace: namespace.map(str::to_owned),
            r#match,
        };
        let found = select_resources(&pool(), &selector).unwrap().items.into_iter();
        found
            .map(|r| wire::to_value(&r.resource).unwrap()["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn selectors_match_by_name_labels_and_namespace() {
        let red = || Match::MatchLabels(MatchLabels { labels: [("team".into(), "red".into())].into() });
        assert_eq!(names(None, Some(Match::MatchName("z".into()))), ["z"]);
        assert_eq!(names(Some("b"), Some(Match::MatchName("z".into()))), [""; 0]);
        assert_eq!(names(None, Some(red())), ["y", "x"]);
        assert_eq!(names(Some("a"), Some(red())), ["y"]);
        assert_eq!(names(None, None), ["y", "z", "x"]);
    }

    #[test]
    fn secret_is_read_from_both_fields() {
        let secret = |object| Document { path: "s.yaml".into(), object };
        let good = secret(json!({ "data": { "a": "eA==", "b": "", "c": null }, "stringData": { "a": "y" } }));
        assert_eq!(
            read_entries(&good).unwrap(),
            [("a".into(), "y".into()), ("b".into(), Bytes::new()), ("c".into(), Bytes::new())]
        );
        let bad =
            secret(json!({ "kind": "Secret", "metadata": { "name": "s" }, "data": { "a": "hunter2!" } }));
        assert_eq!(read_entries(&bad).unwrap_err().to_string(), "s.yaml: data.a of Secret s is not base64");
    }
}

//! The XRD's part about the composite: names, defaults, connection keys; and schemas that a function requests.

use serde_json::{Map, Value};
use testplatform_apis::{claim, space};

use super::{
    Error,
    files::{Document, text},
};

/// Type of the composite.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Kind of the claim; empty if the type has none.
    pub claim_kind: String,
    /// The keys that a connection Secret may have; empty: all.
    pub connection_keys: Vec<String>,
    /// The schema of the version in use.
    schema: Value,
}

impl Definition {
    /// Of the composite `api_version`, `kind`: as the XRD says, else as this product's own XRDs say.
    pub fn of(xrd: Option<&Document>, api_version: &str, kind: &str) -> Result<Self, Error> {
        let Some(xrd) = xrd else {
            let claim_kind = match (api_version, kind) {
                (claim::API_VERSION, claim::COMPOSITE_KIND) => claim::CLAIM_KIND,
                (space::API_VERSION, space::SPACE_KIND) => space::SPACE_CLAIM_KIND,
                _ => "",
            };
            return Ok(Self {
                claim_kind: claim_kind.to_owned(),
                connection_keys: vec![],
                schema: Value::Null,
            });
        };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let versions = xrd.object["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let version = versions.iter().find(|v| text(v, "/name") == version);
        let defined = xrd.text("/spec/group") == group && xrd.text("/spec/names/kind") == kind;
        let Some(version) = version.filter(|_| defined) else {
            return Err(xrd.error(format!("does not define {kind} of {api_version}")));
        };
        let keys = xrd.object["spec"]["connectionSecretKeys"].as_array().into_iter().flatten();
        Ok(Self {
            claim_kind: xrd.text("/spec/claimNames/kind").to_owned(),
            connection_keys: keys.filter_map(Value::as_str).map(str::to_owned).collect(),
            schema: version["schema"]["openAPIV3Schema"].clone(),
        })
    }

    /// Fills in what an API server would have filled in.
    pub fn fill_in(&self, object: &mut Value) {
        fill_in(&self.schema, object);
    }
}

fn fill_in(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(object) => {
            let none = Map::new();
            for (name, inner) in schema["properties"].as_object().unwrap_or(&none) {
                if let (None, Some(default)) = (object.get(name), inner.get("default")) {
                    object.insert(name.clone(), default.clone());
                }
                if let Some(value) = object.get_mut(name) {
                    fill_in(inner, value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill_in(&schema["items"], item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The schema of a kind out of OpenAPI v3 documents, as an API server publishes them.
pub fn find_schema<'a>(documents: &'a [Value], api_version: &str, kind: &str) -> Option<&'a Value> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let describes = |schema: &&Value| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array().into_iter().flatten();
        kinds
            .into_iter()
            .any(|k| text(k, "/group") == group && text(k, "/version") == version && text(k, "/kind") == kind)
    };
    let schemas = documents.iter().filter_map(|d| d["components"]["schemas"].as_object());
    schemas.flat_map(Map::values).find(describes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_are_filled_in_at_every_depth_and_never_replace() {
        let schema = json!({ "properties": {
            "a": { "default": { "b": 1 }, "properties": { "b": {}, "c": { "default": 2 } } },
            "list": { "items": { "properties": { "d": { "default": 3 } } } },
        }});
        let mut object = json!({ "list": [{}, { "d": 4 }] });
        fill_in(&schema, &mut object);
        assert_eq!(object, json!({ "a": { "b": 1, "c": 2 }, "list": [{ "d": 3 }, { "d": 4 }] }));
    }

    #[test]
    fn a_schema_is_found_by_group_version_and_kind() {
        let documents = [json!({ "components": { "schemas": { "x": {
            "type": "object",
            "x-kubernetes-group-version-kind": [{ "group": "g", "version": "v1", "kind": "K" }],
        }}}})];
        assert_eq!(find_schema(&documents, "g/v1", "K").unwrap()["type"], "object");
        assert_eq!(find_schema(&documents, "g/v2", "K"), None);
    }
}

//! Bundles of an entry, for the hub before its clusters and for inside them: their document, its errors, and the bundles that a claim gets.

mod flaws;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bundle::{self, TIMEOUT};
use crate::duration::GoDuration;
use crate::template::parameter::is_same_value;

pub use flaws::BUNDLES;
pub(super) use flaws::{choosing_parameters, find_flaws, has_bundles};

/// Manifests that belong together.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BundleDocument {
    /// Its name, unique within its list: up to 63 lower-case letters, digits and dashes. Required.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Which claims get it. If not set, all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// Timeout until all of it is ready, from 1s to 4h. If not set, 10m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<GoDuration>,
    /// Manifests to apply, in this order. Required.
    #[schemars(length(min = 1, max = 64))]
    pub manifests: Vec<ManifestDocument>,
}

/// A manifest and its readiness expression.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ManifestDocument {
    /// Object to apply, with apiVersion, kind and metadata.name; not a Secret. In its texts `{name}` and `{namespace}` stand for the
    /// cluster's object on the hub, and `{tenant}` for the claim's namespace. An object on the hub must be in that namespace, with `{name}`
    /// in its own name.
    pub object: Map<String, Value>,
    /// An expression in CEL about `object`, which is what is there then; true: it is ready. If not set, as soon as it was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub ready: Option<String>,
}

/// Which claims get a bundle: those with a value of a parameter. Set exactly one of `equals` and `in`.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct When {
    /// The parameter, one of `parameters`. It cannot change after a cluster was requested, and needs no target.
    pub parameter: String,
    /// The value that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// The values of which it has one.
    #[serde(rename = "in", skip_serializing_if = "Vec::is_empty")]
    pub among: Vec<Value>,
}

impl When {
    fn allowed_values(&self) -> impl Iterator<Item = &Value> {
        self.equals.iter().chain(&self.among)
    }
}

impl BundleDocument {
    /// Whether a claim gets the bundle. `parameters`: those with a value.
    pub fn is_selected_by(&self, parameters: &[(String, Value)]) -> bool {
        let Some(when) = &self.when else { return true };
        let value = parameters.iter().find(|(name, _)| *name == when.parameter);
        value.is_some_and(|(_, value)| when.allowed_values().any(|wanted| is_same_value(wanted, value)))
    }

    /// Builds the bundle for one cluster. `words`: placeholders and their values.
    pub fn to_bundle(&self, words: &[(&str, &str)]) -> bundle::Bundle {
        let manifest = |manifest: &ManifestDocument| {
            let mut object = Value::Object(manifest.object.clone());
            fill_placeholders(&mut object, words);
            bundle::Manifest { object, ready: manifest.ready.clone() }
        };
        bundle::Bundle {
            name: self.name.clone(),
            timeout: self.timeout.unwrap_or(TIMEOUT),
            manifests: self.manifests.iter().map(manifest).collect(),
        }
    }
}

/// Replaces placeholders: only in strings, never in keys, and always as text.
pub fn fill_placeholders(value: &mut Value, words: &[(&str, &str)]) {
    match value {
        Value::String(text) if text.contains('{') => *text = fill_text(text, words),
        Value::Array(items) => items.iter_mut().for_each(|item| fill_placeholders(item, words)),
        Value::Object(members) => members.values_mut().for_each(|member| fill_placeholders(member, words)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A word in braces of its own. `${name}` is a shell's and `{{name}}` a template's: both stay.
fn fill_text(text: &str, words: &[(&str, &str)]) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, after) = rest.split_at(at);
        made.push_str(before);
        let alone = !made.ends_with(['$', '{']);
        let word = words.iter().find_map(|(word, meant)| {
            let end = after[1..].strip_prefix(word)?.strip_prefix('}')?;
            (alone && !end.starts_with('}')).then_some((meant, end))
        });
        if let Some((meant, end)) = word {
            made.push_str(meant);
            rest = end;
        } else {
            made.push('{');
            rest = &after[1..];
        }
    }
    made.push_str(rest);
    made
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_put_in_as_text_and_nowhere_else() {
        let words = [("name", "demo"), ("tenant", "team-{name}")];
        for (text, meant) in [
            ("{name}", "demo"),
            ("a-{name}-{tenant}.b", "a-demo-team-{name}.b"),
            ("${name} {{name}} {{ $labels.name }}", "${name} {{name}} {{ $labels.name }}"),
            ("{other} {nam {name", "{other} {nam {name"),
            ("{{name}", "{{name}"),
            ("{name}}", "{name}}"),
            ("é{name}é", "édemoé"),
        ] {
            assert_eq!(fill_text(text, &words), meant);
        }
        let mut value = json!({ "{name}": ["{name}", 1, { "x": "{tenant}\"" }] });
        fill_placeholders(&mut value, &words);
        assert_eq!(value, json!({ "{name}": ["demo", 1, { "x": "team-{name}\"" }] }));
    }
}

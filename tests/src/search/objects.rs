//! Every object of a control plane: of every kind that can be listed, in every namespace, with everything in it.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use http::Request;
use kube::{
    Api,
    api::DynamicObject,
    core::ApiResource,
    discovery::{ApiGroup, Discovery, verbs},
};
use serde_json::Value;

use super::Marks;
use crate::control_plane::ControlPlane;

/// The values of one object in which something was found, by what was.
pub struct Holder {
    pub kind: String,
    pub namespace: String,
    pub name: String,
    /// For each mark the fields, as paths with dots.
    pub fields: BTreeMap<String, Vec<String>>,
}

/// Looks at all of them.
pub async fn holders(plane: &ControlPlane, marks: &Marks) -> anyhow::Result<Vec<Holder>> {
    let discovery = Discovery::new(plane.client()).run().await.context("its kinds cannot be discovered")?;
    let mut holders = Vec::new();
    // Each kind of each group once, at its most stable version. A group recommends one version for all its kinds, and some
    // kinds lack that version.
    for (resource, can) in discovery.groups().flat_map(ApiGroup::resources_by_stability) {
        if can.supports_operation(verbs::LIST) {
            holders.extend(of_kind(plane, &resource, marks).await?);
        }
    }
    Ok(holders)
}

async fn of_kind(plane: &ControlPlane, resource: &ApiResource, marks: &Marks) -> anyhow::Result<Vec<Holder>> {
    let api: Api<DynamicObject> = Api::all_with(plane.client(), resource);
    let page = plane.client().request_text(Request::get(api.resource_url()).body(Vec::new())?).await;
    let page = match page {
        Ok(page) => page,
        // Its definition has gone since, and all objects with it.
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be listed", resource.plural)),
    };
    // Nearly no kind has any: what none is in is not taken apart.
    if marks.within(page.as_bytes()).is_empty() {
        return Ok(Vec::new());
    }
    let mut all: Value = serde_json::from_str(&page)?;
    let Value::Array(all) = all["items"].take() else { bail!("{}: a list without items", resource.plural) };
    let mut holders = Vec::new();
    for object in all {
        let mut fields = BTreeMap::new();
        walk(&object, "", marks, &mut fields);
        if fields.is_empty() {
            continue;
        }
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        holders.push(Holder { kind: resource.kind.clone(), namespace, name, fields });
    }
    Ok(holders)
}

/// Every value and every key.
fn walk(value: &Value, path: &str, marks: &Marks, found: &mut BTreeMap<String, Vec<String>>) {
    let note = |text: &str, path: &str, found: &mut BTreeMap<String, Vec<String>>| {
        for name in marks.within(text.as_bytes()) {
            found.entry(name.to_owned()).or_default().push(path.to_owned());
        }
    };
    match value {
        Value::String(text) => note(text, path, found),
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                note(key, &format!("{path} (the key)"), found);
                walk(value, &path, marks, found);
            }
        }
        // Bytes, it may be.
        Value::Array(values) if values.iter().all(Value::is_number) => note(&value.to_string(), path, found),
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                walk(value, &format!("{path}[{number}]"), marks, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_field_is_named() {
        let mark = "Zq3kP0vX8mN1cR7t";
        let marks = Marks::new([("one", mark.to_owned())]).unwrap();
        let object = json!({
            "metadata": { "annotations": { "a/b": format!("{{\"x\":\"{mark}\"}}") },
                "managedFields": [{ "fieldsV1": { format!("f:{mark}"): {} } }] },
            "data": { "kubeconfig": mark, "other": "" },
            "spec": { "bytes": mark.as_bytes() },
        });
        let mut found = BTreeMap::new();
        walk(&object, "", &marks, &mut found);
        let key = format!("metadata.managedFields[0].fieldsV1.f:{mark} (the key)");
        assert_eq!(found["one"], ["data.kubeconfig", "metadata.annotations.a/b", key.as_str(), "spec.bytes"]);
    }
}

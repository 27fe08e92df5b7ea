//! The objects and how they change.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::Call;

/// An object or a list, or code, reason and message.
pub type Answer = Result<Value, (u16, &'static str, String)>;

/// One change of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub version: u64,
    pub path: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

pub struct Store {
    /// By path.
    objects: BTreeMap<String, Value>,
    history: Vec<Change>,
    version: u64,
    /// Resources whose status is written through a subresource.
    pub status: Vec<&'static str>,
    /// Clock of the store.
    pub clock: fn() -> String,
}

impl Default for Store {
    fn default() -> Self {
        let status = vec!["ephemeralclusters"];
        Self {
            objects: BTreeMap::new(),
            history: Vec::new(),
            version: 100,
            status,
            clock: || "2026-01-01T00:00:00Z".into(),
        }
    }
}

impl Store {
    pub fn version(&self) -> u64 {
        self.version
    }

    pub fn history(&self) -> &[Change] {
        &self.history
    }

    pub fn get(&self, path: &str) -> Option<&Value> {
        self.objects.get(path)
    }

    /// Every object of a collection, of all namespaces if it names none.
    pub fn list(&self, collection: &str, selected: &dyn Fn(&Value) -> bool) -> Vec<Value> {
        let is_in = |(path, object): &(&String, &Value)| is_of(path, collection) && selected(object);
        self.objects.iter().filter(is_in).map(|(_, object)| object.clone()).collect()
    }

    /// Events of a watch of a collection after a version.
    pub fn events(&self, call: &Call, from: u64) -> Vec<(&'static str, Value)> {
        let selects = selector(call);
        let told = |change: &Change| {
            let seen = |object: &Option<Value>| object.clone().filter(|object| selects(object));
            match (seen(&change.before), seen(&change.after)) {
                (None, Some(after)) => Some(("ADDED", after)),
                (Some(_), Some(after)) => Some(("MODIFIED", after)),
                (Some(mut before), None) => {
                    before["metadata"]["resourceVersion"] = json!(change.version.to_string());
                    Some(("DELETED", before))
                }
                (None, None) => None,
            }
        };
        self.history
            .iter()
            .filter(|c| c.version > from && is_of(&c.path, &call.path))
            .filter_map(told)
            .collect()
    }

    pub fn serve(&mut self, call: &Call) -> Answer {
        let (path, subresource) = match call.path.strip_suffix("/status") {
            Some(path) => (path, true),
            None => (call.path.as_str(), false),
        };
        match call.method.as_str() {
            "POST" => self.create(path, call.body.clone()),
            "GET" if is_discovery(path) => Ok(self.discovered(path)),
            "GET" if is_collection(path) => {
                let items = self.list(path, &selector(call));
                Ok(json!({ "metadata": { "resourceVersion": self.version.to_string() }, "items": items }))
            }
            "GET" => self.get(path).cloned().ok_or_else(|| not_found(path)),
            "PATCH" => self.patch(path, subresource, &call.body),
            "DELETE" => {
                let object = self.get(path).ok_or_else(|| not_found(path))?;
                let wanted = &call.body["preconditions"]["uid"];
                if wanted.is_string() && *wanted != object["metadata"]["uid"] {
                    return Err((409, "Conflict", "the uid is another one".to_owned()));
                }
                Ok(self.delete(path))
            }
            _ => Err((405, "MethodNotAllowed", String::new())),
        }
    }

    /// Discovery: every kind that ever existed, and a group that is always there.
    fn discovered(&self, path: &str) -> Value {
        let known = self.history.iter().map(|change| parts(&change.path));
        let known =
            known.map(|(api, _, resource, _)| (api, resource)).chain([("/apis/apps/v1", "deployments")]);
        let served: BTreeSet<(&str, &str)> = known.collect();
        let named = |(api, resource): &(&str, &str)| {
            let resource =
                json!({ "name": resource, "singularName": "", "namespaced": true, "kind": "", "verbs": [] });
            (*api == path).then_some(resource)
        };
        if path != "/apis" {
            let resources: Vec<Value> = served.iter().filter_map(named).collect();
            return json!({ "kind": "APIResourceList", "groupVersion": "", "resources": resources });
        }
        let versions: BTreeSet<&str> =
            served.iter().filter_map(|(api, _)| api.strip_prefix("/apis/")).collect();
        let mut groups: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for whole in versions {
            let (group, version) = whole.split_once('/').unwrap();
            let version = json!({ "groupVersion": whole, "version": version });
            groups.entry(group).or_default().push(version);
        }
        let group = |(name, versions): (&str, Vec<Value>)| json!({ "name": name, "versions": versions });
        json!({ "kind": "APIGroupList", "groups": groups.into_iter().map(group).collect::<Vec<_>>() })
    }

    fn create(&mut self, collection: &str, mut object: Value) -> Answer {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let path = format!("{collection}/{name}");
        if self.objects.contains_key(&path) {
            return Err((409, "AlreadyExists", format!("{name} already exists")));
        }
        if self.has_status(&path) {
            object.as_object_mut().unwrap().remove("status");
        }
        Ok(self.put(&path, object))
    }

    fn patch(&mut self, path: &str, subresource: bool, wanted: &Value) -> Answer {
        let stored = self.get(path).cloned().ok_or_else(|| not_found(path))?;
        let version = &wanted["metadata"]["resourceVersion"];
        if version.is_string() && *version != stored["metadata"]["resourceVersion"] {
            return Err((409, "Conflict", "the object has been modified".to_owned()));
        }
        let mut changes = wanted.clone();
        if subresource {
            if !self.has_status(path) {
                return Err(not_found(path));
            }
            changes = json!({ "status": wanted["status"] });
        } else if self.has_status(path) {
            changes.as_object_mut().unwrap().remove("status");
        }
        let mut object = stored.clone();
        merge(&mut object, &changes);
        object["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
        if object == stored {
            return Ok(stored);
        }
        if object["metadata"]["deletionTimestamp"].is_string() && !is_held(&object) {
            self.remove(path);
            return Ok(object);
        }
        Ok(self.put(path, object))
    }

    /// Deletes an object and its dependents, or sets its deletionTimestamp while it has finalizers.
    pub fn delete(&mut self, path: &str) -> Value {
        let Some(mut object) = self.get(path).cloned() else { return Value::Null };
        if is_held(&object) {
            if object["metadata"]["deletionTimestamp"].is_null() {
                object["metadata"]["deletionTimestamp"] = json!((self.clock)());
                self.put(path, object.clone());
            }
        } else {
            self.remove(path);
        }
        object
    }

    fn remove(&mut self, path: &str) {
        let Some(gone) = self.objects.remove(path) else { return };
        self.version += 1;
        let uid = gone["metadata"]["uid"].clone();
        self.note(path, Some(gone), None);
        let belongs = |object: &Value| {
            object["metadata"]["ownerReferences"]
                .as_array()
                .is_some_and(|all| all.iter().any(|o| o["uid"] == uid))
        };
        let dependents: Vec<String> =
            self.objects.iter().filter(|(_, o)| belongs(o)).map(|(path, _)| path.clone()).collect();
        for path in dependents {
            self.delete(&path);
        }
    }

    pub fn put(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        let metadata = &mut object["metadata"];
        metadata["resourceVersion"] = json!(self.version.to_string());
        if let (_, Some(namespace), ..) = parts(path) {
            metadata["namespace"] = json!(namespace);
        }
        if metadata["uid"].is_null() {
            metadata["uid"] = json!(format!("uid-{}", self.version));
        }
        if metadata["creationTimestamp"].is_null() {
            metadata["creationTimestamp"] = json!((self.clock)());
        }
        let before = self.objects.insert(path.to_owned(), object.clone());
        self.note(path, before, Some(object.clone()));
        object
    }

    fn note(&mut self, path: &str, before: Option<Value>, after: Option<Value>) {
        self.history.push(Change { version: self.version, path: path.to_owned(), before, after });
    }

    fn has_status(&self, path: &str) -> bool {
        self.status.contains(&parts(path).2)
    }
}

fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}

fn not_found(path: &str) -> (u16, &'static str, String) {
    (404, "NotFound", format!("{path} not found"))
}

/// Group and version, namespace, resource, name.
fn parts(path: &str) -> (&str, Option<&str>, &str, Option<&str>) {
    let depth = if path.starts_with("/api/") { 3 } else { 4 };
    let end = path.match_indices('/').nth(depth - 1).map_or(path.len(), |(at, _)| at);
    let (api, rest) = path.split_at(end);
    let rest: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
    match rest[..] {
        ["namespaces", namespace, resource] => (api, Some(namespace), resource, None),
        ["namespaces", namespace, resource, name] => (api, Some(namespace), resource, Some(name)),
        [resource] => (api, None, resource, None),
        [resource, name] => (api, None, resource, Some(name)),
        _ => (api, None, "", None),
    }
}

/// The name of the object that a path is about.
pub fn name_of(path: &str) -> Option<&str> {
    parts(path.strip_suffix("/status").unwrap_or(path)).3
}

fn is_discovery(path: &str) -> bool {
    path == "/apis" || (path.starts_with("/apis/") && parts(path).2.is_empty())
}

fn is_collection(path: &str) -> bool {
    parts(path).3.is_none()
}

fn is_of(path: &str, collection: &str) -> bool {
    let (api, namespace, resource, _) = parts(path);
    let (wanted_api, wanted_namespace, wanted_resource, _) = parts(collection);
    api == wanted_api
        && resource == wanted_resource
        && (wanted_namespace.is_none() || wanted_namespace == namespace)
}

/// Only `key=value` and `key` of labels, and `metadata.name=` of fields.
fn selector(call: &Call) -> impl Fn(&Value) -> bool + use<> {
    let labels = call.parameter("labelSelector");
    let name = call.parameter("fieldSelector").map(|f| f.trim_start_matches("metadata.name=").to_owned());
    move |object| {
        let has = |selector: &String| {
            let of = &object["metadata"]["labels"];
            match selector.split_once('=') {
                Some((key, value)) => of[key] == value,
                None => of[selector].is_string(),
            }
        };
        labels.as_ref().is_none_or(has)
            && name.as_ref().is_none_or(|name| object["metadata"]["name"] == name.as_str())
    }
}

/// RFC 7386.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let target = target.as_object_mut().unwrap();
    for (key, value) in changes {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn paths_have_parts() {
        let jobs = "/apis/prow.k8s.io/v1/namespaces/ci/prowjobs";
        assert_eq!(parts(jobs), ("/apis/prow.k8s.io/v1", Some("ci"), "prowjobs", None));
        assert_eq!(parts("/api/v1/namespaces"), ("/api/v1", None, "namespaces", None));
        assert_eq!(parts("/api/v1/namespaces/a"), ("/api/v1", None, "namespaces", Some("a")));
        assert_eq!(parts("/api/v1/secrets"), ("/api/v1", None, "secrets", None));
        let secret = "/api/v1/namespaces/a/secrets/b";
        assert_eq!(parts(secret), ("/api/v1", Some("a"), "secrets", Some("b")));
    }
}

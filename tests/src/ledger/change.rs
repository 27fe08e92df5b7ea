//! The difference between two revisions of an object. Pure.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::watch::{Revision, Watched};

/// Members that differ with every write.
const BOOKKEEPING: [&str; 3] =
    ["/metadata/resourceVersion", "/metadata/generation", "/metadata/managedFields"];
/// Below these, one thing is told by many fields.
const WHOLE: [&str; 2] = ["status.atProvider.manifest", "spec.resourceRefs"];

/// One change of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Since the watch began.
    pub at: Duration,
    /// The object.
    pub of: String,
    /// The name of its composite.
    pub composite: String,
    /// The field managers whose fields changed, with the subresource.
    pub by: Vec<String>,
    /// The paths that changed; conditions with what they became.
    pub paths: Vec<String>,
    /// Events to core's breaker.
    pub events: u32,
}

impl Change {
    /// The fields in a few words, by which changes are added up.
    pub fn cause(&self) -> String {
        let mut causes: Vec<String> = self.paths.iter().map(|path| class(path)).collect();
        causes.sort_unstable();
        causes.dedup();
        causes.join(", ")
    }
}

/// All changes, in the order of the revisions.
pub fn changes(revisions: &[Revision]) -> Vec<Change> {
    let mut last: BTreeMap<(String, String), &Revision> = BTreeMap::new();
    let mut found = Vec::new();
    for revision in revisions {
        let uid = revision.object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let before = last.insert((revision.of.to_string(), uid), revision);
        found.push(change(before, revision));
    }
    found
}

fn change(before: Option<&Revision>, after: &Revision) -> Change {
    let mut paths = Vec::new();
    match before {
        Some(before) => differences(&before.object, &after.object, "", &mut paths),
        None => paths.push("created".to_owned()),
    }
    Change {
        at: after.at,
        of: after.of.to_string(),
        composite: before.filter(|_| after.composite.is_empty()).unwrap_or(after).composite.clone(),
        by: managers(before.map(|before| &before.object), &after.object),
        paths,
        events: events(before, after),
    }
}

/// See [`super::breaker`]. A claim's are for another controller, without a breaker.
fn events(before: Option<&Revision>, after: &Revision) -> u32 {
    let counts =
        |revision: &Revision| u32::from(!revision.object["metadata"]["deletionTimestamp"].is_string());
    match after.of {
        Watched::Claim => 0,
        Watched::Composite | Watched::Object(_) => before.map_or(0, counts) + counts(after),
    }
}

fn managers(before: Option<&Value>, after: &Value) -> Vec<String> {
    let entries =
        |object: &Value| object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let old = before.map(entries).unwrap_or_default();
    let new = entries(after).into_iter().filter(|entry| !old.contains(entry));
    let name = |entry: Value| {
        let manager = entry["manager"].as_str().unwrap_or_default();
        // The hash of the composite's name tells nobody anything.
        let manager =
            manager.split_once("composed/").map_or(manager, |_| "apiextensions.crossplane.io/composed");
        match entry["subresource"].as_str() {
            Some(subresource) => format!("{manager} ({subresource})"),
            None => manager.to_owned(),
        }
    };
    new.map(name).collect()
}

fn differences(before: &Value, after: &Value, path: &str, found: &mut Vec<String>) {
    if before == after || BOOKKEEPING.contains(&path) {
        return;
    }
    let dotted = path.trim_start_matches('/').replace('/', ".");
    if WHOLE.contains(&dotted.as_str()) {
        found.push(dotted);
        return;
    }
    match (before, after) {
        (Value::Object(_) | Value::Null, Value::Object(_)) | (Value::Object(_), Value::Null) => {
            let empty = serde_json::Map::new();
            let [old, new] = [before, after].map(|value| value.as_object().unwrap_or(&empty));
            let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let member =
                    |object: &serde_json::Map<String, Value>| object.get(name).cloned().unwrap_or_default();
                differences(&member(old), &member(new), &format!("{path}/{name}"), found);
            }
        }
        (Value::Array(_) | Value::Null, Value::Array(new)) if dotted.ends_with("conditions") => {
            conditions(before.as_array().map_or(&[], Vec::as_slice), new, &dotted, found);
        }
        _ => found.push(dotted),
    }
}

fn conditions(before: &[Value], after: &[Value], path: &str, found: &mut Vec<String>) {
    let short = |condition: &Value| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        format!("{}/{}", text("status"), text("reason"))
    };
    let of = |type_: &Value| before.iter().find(|condition| condition["type"] == *type_);
    for new in after.iter().filter(|new| of(&new["type"]) != Some(*new)) {
        let type_ = new["type"].as_str().unwrap_or_default();
        let became = match of(&new["type"]) {
            None => format!("new {}", short(new)),
            Some(old) if short(old) != short(new) => format!("{} → {}", short(old), short(new)),
            Some(old) if old["message"] != new["message"] => format!("{}, message", short(new)),
            Some(_) => format!("{}, time or generation", short(new)),
        };
        found.push(format!("{path}[{type_}] {became}"));
    }
    let gone = before.iter().filter(|old| !after.iter().any(|new| new["type"] == old["type"]));
    found.extend(gone.map(|old| format!("{path}[{}] gone", old["type"].as_str().unwrap_or_default())));
}

/// A path without what is only of one object.
fn class(path: &str) -> String {
    let plain = path.split(' ').next().unwrap_or_default();
    let parts: Vec<&str> = plain.split('.').collect();
    match parts.as_slice() {
        ["metadata", "annotations", ..] => "annotations".to_owned(),
        ["metadata", member, ..] => (*member).to_owned(),
        ["status", member, ..] if member.starts_with("conditions") => "conditions".to_owned(),
        ["status", "atProvider", ..] => "status.atProvider".to_owned(),
        ["status", ..] => "status".to_owned(),
        ["spec", "forProvider", ..] => "spec.forProvider".to_owned(),
        ["spec", member, ..] => format!("spec.{member}"),
        _ => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn revision(of: Watched, object: Value) -> Revision {
        Revision { at: Duration::ZERO, of, composite: "c".into(), object }
    }

    #[test]
    fn update_is_two_events_and_an_object_in_deletion_is_none() {
        let object = |status: Value, more: Value| {
            let mut object = json!({ "metadata": { "uid": "u" }, "status": status });
            object["metadata"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            revision(Watched::Object("ec".into()), object)
        };
        let revisions = [
            object(json!({}), json!({})),
            object(json!({ "atProvider": { "manifest": { "a": 1 } } }), json!({ "resourceVersion": "2" })),
            object(json!({}), json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" })),
            object(json!({ "x": 1 }), json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" })),
        ];
        let changes = changes(&revisions);
        assert_eq!(changes.iter().map(|c| c.events).collect::<Vec<_>>(), [1, 2, 1, 0]);
        assert_eq!(changes[1].paths, ["status.atProvider.manifest"]);
        assert_eq!(
            (changes[0].cause().as_str(), changes[1].cause().as_str()),
            ("created", "status.atProvider")
        );
        assert_eq!(changes[2].cause(), "deletionTimestamp, status.atProvider");
    }

    #[test]
    fn condition_is_told_by_its_type_and_what_it_became() {
        let object = |conditions: Value, manager: &str| {
            let entry = json!({ "manager": manager, "subresource": "status" });
            let metadata = json!({ "uid": "u", "managedFields": [entry] });
            revision(
                Watched::Composite,
                json!({ "metadata": metadata, "status": { "conditions": conditions } }),
            )
        };
        let ready = |status: &str, message: &str| json!({ "type": "Ready", "status": status, "reason": "R", "message": message });
        let changes = changes(&[
            object(json!([ready("False", ""), { "type": "Old" }]), "one"),
            object(json!([ready("True", "")]), "two"),
            object(json!([ready("True", "x")]), "two"),
        ]);
        assert_eq!(changes[1].by, ["two (status)"]);
        assert_eq!(
            changes[1].paths,
            ["status.conditions[Ready] False/R → True/R", "status.conditions[Old] gone"]
        );
        assert_eq!(changes[2].paths, ["status.conditions[Ready] True/R, message"]);
        assert_eq!(changes[2].cause(), "conditions");
    }
}

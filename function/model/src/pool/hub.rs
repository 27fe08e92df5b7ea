//! provider-kubernetes and the hub: what Objects ask for, and who owns the size.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{PoolWorld, merge};

/// Another controller that scales the pool.
pub const SOMEBODY: &str = "somebody";
/// Fields that the definition of ClusterPools requires.
const REQUIRED: [&str; 4] = ["baseDomain", "imageSetRef", "platform", "size"];

impl PoolWorld {
    /// The hub applies the request, unless it refuses it. Omitted fields stay, except for a size that nobody else owns: without it the hub
    /// refuses the whole.
    pub fn apply_objects(&mut self) {
        let mut existing = if self.gone { json!({}) } else { self.remote() };
        // Nothing holds an Object that goes and has nothing on the hub.
        self.objects.retain(|_, o| {
            o["metadata"].get("deletionTimestamp").is_none()
                || o["status"]["atProvider"]["manifest"].is_object()
        });
        for object in self.objects.values_mut() {
            if object["metadata"].get("deletionTimestamp").is_some() {
                continue;
            }
            let generation = object["metadata"]["generation"].clone();
            let synced = |status: &str, reason: &str, message: &str| {
                json!([{
                    "type": "Synced", "status": status, "reason": reason, "message": message,
                    "observedGeneration": generation,
                }])
            };
            let success = synced("True", "ReconcileSuccess", "");
            let new = object["metadata"].get("finalizers").is_none();
            object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
            let policies = object["spec"]["managementPolicies"].clone();
            let writes = policies.is_null() || policies.as_array().unwrap().contains(&json!("Update"));
            let manifest = object["spec"]["forProvider"]["manifest"].clone();
            let of_pool = manifest["kind"] == "ClusterPool";
            let mut remote = if of_pool { existing.clone() } else { Value::Null };
            let absent = remote.as_object().is_none_or(serde_json::Map::is_empty);
            // An observer finds the existing object; and forgets it in the round in which it sets its finalizer.
            let looks = policies == json!(["Observe", "Delete"]);
            if looks && (new || absent) {
                object["status"] = json!({ "conditions": success });
                continue;
            }
            let name = object["metadata"]["name"].as_str().unwrap();
            let refused = match (of_pool, writes) {
                (false, _) => None,
                (true, true) => find_refusal(&mut self.owners, name, &manifest, &remote),
                (true, false) => {
                    absent.then(|| "observe failed: external resource does not exist".to_owned())
                }
            };
            if let Some(message) = refused {
                object["status"]["conditions"] = synced("False", "ReconcileError", &message);
                continue;
            }
            if writes {
                merge(&mut remote, &manifest);
            }
            remote["metadata"]["uid"] = json!("remote");
            if of_pool {
                existing = remote.clone();
                self.gone = false;
            }
            object["status"]["atProvider"]["manifest"] = remote;
            object["status"]["conditions"] = success;
        }
        for object in self.objects.values_mut().filter(|_| !self.gone) {
            let manifest = &mut object["status"]["atProvider"]["manifest"];
            if manifest["kind"] == "ClusterPool" {
                *manifest = existing.clone();
            }
        }
    }
}

/// Why the hub refuses what is applied; else who owns the size from now on.
fn find_refusal(
    owners: &mut BTreeSet<String>,
    name: &str,
    manifest: &Value,
    existing: &Value,
) -> Option<String> {
    let invalid = |missing: &[&str]| {
        let each: Vec<_> = missing.iter().map(|field| format!("spec.{field}: Required value")).collect();
        let all = if each.len() == 1 { each[0].clone() } else { format!("[{}]", each.join(", ")) };
        format!("ClusterPool.hive.openshift.io \"aws-420\" is invalid: {all}")
    };
    let size = &manifest["spec"]["size"];
    if existing.as_object().is_none_or(serde_json::Map::is_empty) {
        let missing: Vec<_> =
            REQUIRED.into_iter().filter(|field| manifest["spec"][*field].is_null()).collect();
        if !missing.is_empty() {
            let why = invalid(&missing);
            return Some(format!("create failed: cannot create object: cannot create object: {why}"));
        }
        *owners = [name.to_owned()].into();
    } else if size.is_null() {
        if owners.iter().all(|owner| owner == name) {
            let why = invalid(&["size"]);
            return Some(format!("observe failed: cannot get desired state: cannot dry run SSA: {why}"));
        }
        owners.remove(name);
    } else {
        if existing["spec"]["size"] != *size {
            owners.clear();
        }
        owners.insert(name.to_owned());
    }
    None
}

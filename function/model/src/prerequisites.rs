//! Prerequisites of a cluster in the model: the ConfigMaps that carry the requests, the hub-side provider's answers, and the objects for
//! which it holds them.

use serde_json::{Value, json};
use testplatform_apis::{cloud, names::ours, prerequisites};

use super::{
    bundles::UNREACHABLE,
    world::{Composed, World, set_synced},
};

/// Composition resource names, each with the annotation that answers and the answer for which a cluster is asked for.
pub const AHEAD: [(&str, &str, &str); 2] =
    [("cloud-credential", cloud::REPORT, "Valid"), ("prerequisites", prerequisites::REPORT, "Applied")];

/// A bundle for the hub as an entry has it: one ConfigMap beside the cluster's object.
pub fn prerequisite_bundle(name: &str, more: &Value) -> Value {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("{{name}}-{name}") },
        "data": { "of": "{namespace}/{name} of {tenant}" },
    });
    let mut bundle = json!({ "name": name, "manifests": [{ "object": object }] });
    bundle.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    bundle
}

impl World {
    /// A claim for a cluster of Cluster API's with prerequisites, and a credential of the cloud of its own.
    pub fn with_prerequisites() -> Self {
        let mut world = Self::cluster_api_claim();
        let proxied = json!({ "when": { "parameter": "cni", "equals": "cilium" } });
        let entry = world.catalogue_entry("topology");
        entry["prerequisites"] =
            json!([prerequisite_bundle("trust", &json!({})), prerequisite_bundle("proxy", &proxied)]);
        entry["preCreate"] = json!([prerequisite_bundle("reserve", &json!({ "timeout": "5m" }))]);
        entry["backendRef"]["cloudCredential"] =
            json!({ "cloud": "acme", "variable": "identity", "roles": ["member"], "lifetime": "720h" });
        world
    }

    /// Request that the function writes.
    pub fn request_data(&self, name: &str) -> Value {
        let manifest = &self.objects[name].object["spec"]["forProvider"]["manifest"];
        serde_json::from_str(manifest["data"]["order"].as_str().unwrap()).unwrap()
    }

    /// The hub-side provider answers, if it was told. That prerequisites were there it does not take back.
    pub fn report_prerequisite(&mut self, name: &str, report: &Value) {
        let Some((_, annotation, state)) = AHEAD.into_iter().find(|(known, _, _)| *known == name) else {
            return;
        };
        let retained =
            name == "prerequisites" && self.was_there.contains(name) && report["state"] == "SetupFailed";
        if let Some(request_object) = self.ahead.get_mut(name).filter(|_| !retained) {
            if report["state"] == state || report["state"] == "RotationFailed" {
                self.was_there.insert(name.to_owned());
            }
            request_object["metadata"]["annotations"][annotation] = json!(report.to_string());
        }
    }

    /// All that comes ahead is there.
    pub fn complete_prerequisites(&mut self) {
        for (name, _, state) in AHEAD {
            let generation = self.ahead.get(name).map(|_| self.request_data(name)["generation"].clone());
            self.report_prerequisite(name, &json!({ "state": state, "generation": generation }));
        }
    }

    /// The cluster is created for the first time, so its requested prerequisites must have existed. Prerequisites that its template gained
    /// later do not count: nothing revokes a request that was sent.
    pub(super) fn checks_ahead(&self) {
        for (name, ..) in AHEAD {
            let requested = self.objects.contains_key(name) && self.foreseen.contains(name);
            assert!(
                !requested || self.was_there.contains(name),
                "a cluster ahead of {name}: {:#?}",
                self.ahead.get(name)
            );
        }
    }

    /// A cluster is asked for by this writer: what comes ahead of it has to be of the same template. Later it may move to another, also
    /// before a writer comes that only looks what is left.
    pub(super) fn checks_orders(&mut self, writer: &Value) {
        let entry = self.templates.iter().find(|e| e["metadata"]["name"] == "topology").map(|e| &e["data"]);
        let has = |name: &str| match (entry, name) {
            // A claim that requests a credential anyway repeats the earlier order.
            (None, _) => true,
            (Some(entry), "prerequisites") => {
                entry["prerequisites"].is_array() || entry["preCreate"].is_array()
            }
            (Some(entry), _) => entry["backendRef"]["cloudCredential"].is_object(),
        };
        self.foreseen = AHEAD.into_iter().map(|(name, ..)| name).filter(|name| has(name)).collect();
        let policies = writer["spec"]["managementPolicies"].as_array();
        if policies.is_some_and(|policies| !["*", "Create"].iter().any(|p| policies.contains(&json!(p)))) {
            return;
        }
        let note = |of: &Value, key: &str| of["metadata"]["annotations"][key].as_str().map(str::to_owned);
        let Some(effective) = note(writer, ours::EFFECTIVE) else { return };
        let effective: Value = serde_json::from_str(&effective).unwrap();
        for (name, _, _) in AHEAD {
            let Some(order) = self.objects.get(name) else { continue };
            let by = note(&order.object, ours::TEMPLATE);
            assert_eq!(by.as_deref(), effective["template"].as_str(), "{name} is of another template");
        }
    }

    /// One round of provider-kubernetes over both Objects.
    pub(super) fn provide_ahead(&mut self) {
        for (name, annotation, _) in AHEAD {
            let Some(mut request_object) = self.objects.remove(name) else { continue };
            if self.round_ahead(name, annotation, &mut request_object) {
                self.objects.insert(name.into(), request_object);
            }
        }
    }

    /// Returns `true` if the Object stays.
    fn round_ahead(&mut self, name: &str, annotation: &str, request_object: &mut Composed) -> bool {
        let object = &mut request_object.object;
        assert_eq!(object["spec"]["managementPolicies"], json!(["*"]), "what may not delete leaves it there");
        if !self.reachable {
            set_synced(object, Some(UNREACHABLE));
            return true;
        }
        let manifest = object["spec"]["forProvider"]["manifest"].clone();
        if !object["metadata"]["deletionTimestamp"].is_null() {
            // The hub-side provider holds it while there is a cluster.
            let is_in_use = self.remote.is_some() && self.ahead.contains_key(name);
            if !is_in_use {
                self.ahead.remove(name);
                self.was_there.remove(name);
            }
            return is_in_use;
        }
        object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
        let existing = self.ahead.entry(name.to_owned()).or_insert_with(|| manifest.clone());
        if existing["data"] != manifest["data"] {
            assert_eq!(name, "cloud-credential", "what was told once does not change");
            let order = |map: &Value| -> Value {
                let mut order: Value = serde_json::from_str(map["data"]["order"].as_str().unwrap()).unwrap();
                for member in ["requestedBy", "generation"] {
                    order.as_object_mut().unwrap().remove(member);
                }
                order
            };
            assert_eq!(order(existing), order(&manifest), "only who asks, and how often, may change");
            existing["data"] = manifest["data"].clone();
        }
        let mut observed = existing.clone();
        if observed["metadata"]["annotations"][annotation].is_null() {
            observed["metadata"].as_object_mut().unwrap().remove("annotations");
        }
        object["status"]["atProvider"]["manifest"] = observed;
        set_synced(object, None);
        true
    }
}

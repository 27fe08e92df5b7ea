//! Bundles in the model: the ConfigMap that tells the hub-side provider, what that answers, and what it does before a cluster goes.

use serde_json::{Value, json};
use testplatform_apis::bundle;

use super::world::{Composed, World, set_synced};

pub const UNREACHABLE: &str = "observe failed: cannot get object: dial tcp: connect: connection refused";

/// A bundle as an entry has it: one ConfigMap, ready at once.
pub fn build_bundle(name: &str, more: &Value) -> Value {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default" },
        "data": { "cluster": "{namespace}/{name} of {tenant}" },
    });
    let mut bundle = json!({ "name": name, "manifests": [{ "object": object }] });
    bundle.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    bundle
}

impl World {
    /// A claim for a cluster of HyperShift's in which something is set up, and something done before it goes.
    pub fn with_bundles() -> Self {
        let mut world = Self::hypershift_claim();
        let monitoring = json!({ "when": { "parameter": "monitoring", "equals": true } });
        let entry = world.catalogue_entry("hosted");
        entry["parameters"]["monitoring"] = json!({ "type": "boolean", "default": false });
        entry["postInstall"] =
            json!([build_bundle("base", &json!({})), build_bundle("monitoring", &monitoring)]);
        entry["preDelete"] = json!([build_bundle("drain", &json!({ "timeout": "5m" }))]);
        world
    }

    /// The same, once its cluster is there and its credentials are published.
    pub fn bundled_and_installed() -> Self {
        let mut world = Self::with_bundles();
        world.settle();
        world.hypershift_installs();
        world.hypershift_publishes();
        world.settle();
        world
    }

    /// Request that the function writes.
    pub fn requested_bundles(&self) -> bundle::BundleRequestSpec {
        let manifest = &self.objects["bundles"].object["spec"]["forProvider"]["manifest"];
        serde_json::from_str(manifest["data"][bundle::ORDER].as_str().unwrap()).unwrap()
    }

    /// The hub-side provider writes a report on the request and on the cluster's object, if it has a request.
    pub fn report_bundles(&mut self, report: &Value) {
        if let Some(request_object) = &mut self.bundles {
            let cluster =
                self.remote.as_mut().filter(|remote| remote["metadata"]["deletionTimestamp"].is_null());
            for object in [Some(request_object), cluster].into_iter().flatten() {
                object["metadata"]["annotations"][bundle::REPORT] = json!(report.to_string());
            }
        }
    }

    /// All of it is there.
    pub fn bundles_applied(&mut self) {
        self.report_bundles(&json!({ "state": "Applied", "since": self.now }));
    }

    /// One round of provider-kubernetes over both Objects.
    pub(super) fn provide_bundles(&mut self) {
        if let Some(mut request_object) = self.objects.remove("bundles")
            && self.round_of_bundles(&mut request_object)
        {
            self.objects.insert("bundles".into(), request_object);
        }
        let Some(looks) = self.objects.get_mut("bundles-undone") else { return };
        let object = &mut looks.object;
        assert_eq!(object["spec"]["managementPolicies"], json!(["Observe"]));
        assert!(object["spec"]["references"].is_null(), "what looks keeps nothing");
        match &self.bundles {
            _ if !self.reachable => set_synced(object, Some(UNREACHABLE)),
            _ if self.untold => {
                set_synced(
                    object,
                    Some("observe failed: cannot get object: configmaps \"x\" is forbidden: no"),
                );
            }
            None => set_synced(object, Some("observe failed: external resource does not exist")),
            Some(existing) => {
                object["status"]["atProvider"]["manifest"] = existing.clone();
                set_synced(object, None);
            }
        }
    }

    /// Returns `true` if the Object stays.
    fn round_of_bundles(&mut self, request_object: &mut Composed) -> bool {
        let object = &mut request_object.object;
        if !self.reachable {
            set_synced(object, Some(UNREACHABLE));
            return true;
        }
        if !object["metadata"]["deletionTimestamp"].is_null() {
            if self.undone && self.bundles.is_some() && self.remote.is_some() {
                self.report_bundles(&json!({
                    "state": "BeforeDeletion", "bundle": "preDelete/drain", "object": "Job ops/drain", "reason": "NotReady",
                }));
                return true;
            }
            self.bundles = None;
            return false;
        }
        // Taken up only to be taken away: it makes and changes nothing.
        let is_adopted = object["spec"]["managementPolicies"] == json!(["Observe", "Delete"]);
        assert!(is_adopted || object["spec"]["managementPolicies"] == json!(["*"]), "{object}");
        if self.untold {
            let words = "create failed: cannot create object: cannot create object: configmaps \"x\" is forbidden: no";
            set_synced(object, Some(words));
            return true;
        }
        if !self.objects.contains_key(self.writer()) {
            set_synced(object, Some("cannot resolve resource references: cannot get referenced resource"));
            return true;
        }
        object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
        let manifest = object["spec"]["forProvider"]["manifest"].clone();
        if !is_adopted {
            let existing = self.bundles.get_or_insert_with(|| assign_uid(&manifest));
            assert_eq!(existing["data"], manifest["data"], "what was told once does not change");
        }
        if let Some(existing) = &self.bundles {
            let is_requested = existing["metadata"]["uid"] == manifest["metadata"]["uid"];
            assert!(!is_adopted || is_requested, "Delete goes by name: {manifest}");
            object["status"]["atProvider"]["manifest"] = existing.clone();
        }
        set_synced(object, None);
        true
    }
}

/// The hub gives a new ConfigMap its uid.
fn assign_uid(manifest: &Value) -> Value {
    let mut existing = manifest.clone();
    existing["metadata"]["uid"] = json!("of-the-bundles");
    existing
}

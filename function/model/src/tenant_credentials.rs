//! A claim that brings its own credentials, in the model: its namespace on the hub, what is in it, and the carrier.

use serde_json::{Value, json};
use testplatform_apis::names::ours;

use super::{
    templates,
    world::{World, add_finalizer, set_synced},
};

/// Composition resource names beside a ClusterClaim, in the order in which they are made.
pub const PARTS: [&str; 4] = ["byoc-namespace", "byoc-access", "byoc-request", "byoc-pool"];
/// The same beside a template.
pub const OF_TEMPLATE: [&str; 4] = ["byoc-namespace", "byoc-access", "byoc-provider", "byoc-request"];
/// All of them.
const EACH: [&str; 5] = ["byoc-namespace", "byoc-access", "byoc-provider", "byoc-request", "byoc-pool"];

/// Tenant credentials of the claim.
pub fn byoc_spec() -> Value {
    json!({
        "platform": { "aws": { "region": "us-east-1" } }, "baseDomain": "ci.tenant.example",
        "credentialsSecretRef": { "name": "my-aws" }, "pullSecretRef": { "name": "my-pull" },
    })
}

/// An entry of the catalogue after which pools are made.
pub fn build_offer(name: &str) -> Value {
    json!({
        "name": name, "namespace": "offers", "hub": "hive-a", "allowedTenants": ["tenant-a"], "maxLifetime": "6h",
        "labels": { "product": "ocp", "version": "4.20", "architecture": "amd64", "cloud": "aws" },
        "subject": { "name": "testplatform-provider", "namespace": "testplatform" },
        "bringYourOwn": {
            "imageSet": "ocp-4.20.3", "carrier": { "name": "carrier", "namespace": "testplatform" },
        },
    })
}

/// The catalogue of templates, of which that for HyperShift takes them.
pub fn catalogue_that_takes() -> Vec<Value> {
    let mut world = World { templates: templates::template_catalogue(), ..World::default() };
    let account = |name: &str| json!({ "name": name, "namespace": "testplatform" });
    let hosted = world.catalogue_entry("hosted");
    hosted["bringYourOwn"] =
        json!({ "sshKey": true, "carrier": account("carrier"), "provider": account("provider") });
    // It leads to where the claim's own goes.
    hosted["parameters"].as_object_mut().unwrap().remove("sshKey");
    world.templates
}

impl World {
    /// A claim that brings its own credentials.
    pub fn with_byoc() -> Self {
        let mut world = Self::hive_claim();
        world.spec["byoc"] = byoc_spec();
        world.catalogue.as_mut().unwrap()["pools"].as_array_mut().unwrap().push(build_offer("own-420"));
        world
    }

    /// The same, once the carrier may do its work.
    pub fn byoc_pending() -> Self {
        let mut world = Self::with_byoc();
        world.settle();
        world
    }

    /// A claim for a cluster of HyperShift's that brings its own pull secret and SSH key.
    pub fn brought_by_template() -> Self {
        let mut world = Self::hypershift_claim();
        world.spec["byoc"] =
            json!({ "pullSecretRef": { "name": "my-pull" }, "sshKeySecretRef": { "name": "my-key" } });
        world.templates = catalogue_that_takes();
        world
    }

    /// `true` if the Object of the namespace only observes: the namespace is not deleted any more.
    pub fn lets_go(&self) -> bool {
        let namespace = self.objects.get("byoc-namespace");
        namespace.is_some_and(|part| part.object["spec"]["managementPolicies"] == json!(["Observe"]))
    }

    /// `true` if the hub has a part.
    pub fn has_part(&self, part: &str) -> bool {
        self.brought.contains_key(part)
    }

    /// The copying controller answers: whether it has copied everything, and the state of each Secret. A finished copy stays finished.
    pub fn report_copies(&mut self, carried: bool, credentials: &str, pull: &str) {
        // Beside a template: the pull secret, and the SSH key.
        let secrets = if self.spec["template"].is_null() {
            json!({ "credentialsSecretRef": credentials, "pullSecretRef": pull })
        } else {
            json!({ "pullSecretRef": credentials, "sshKeySecretRef": pull })
        };
        // Nobody lets the carrier in once the namespace is gone.
        let Some(request) = self.brought.get_mut("byoc-request") else { return };
        let note = &mut request["metadata"]["annotations"][ours::BYOC_REPORT];
        let before = note.as_str().is_some_and(|report| report.contains("\"carried\":true"));
        *note = json!(json!({ "carried": carried || before, "secrets": secrets }).to_string());
    }

    /// One round of provider-kubernetes over all of them.
    pub(super) fn provide_brought(&mut self) {
        for name in EACH {
            let Some(mut part) = self.objects.remove(name) else { continue };
            let object = &mut part.object;
            let policies = object["spec"]["managementPolicies"].clone();
            let now = self.now;
            let stays = if object["metadata"]["deletionTimestamp"].is_null() {
                self.reconcile_part(name, object);
                true
            } else if !["*", "Delete"].iter().any(|word| policies.to_string().contains(word)) {
                // May not delete: the Object goes, and what it carries stays. With the namespace, all of it is nobody's here any more.
                if name == "byoc-namespace" {
                    self.brought.clear();
                }
                false
            } else if !self.reachable {
                set_synced(
                    object,
                    Some("observe failed: cannot get object: dial tcp: connect: connection refused"),
                );
                true
            } else if name == "byoc-namespace" {
                // The pool's Object depends on it, or the writer's.
                let depends = |name: &str| {
                    self.objects.get(name).is_some_and(|on| on.object["spec"]["references"].is_array())
                };
                let is_in_use = depends("byoc-pool") || depends("cluster");
                if !is_in_use {
                    assert!(!self.has_part("byoc-pool"), "the Secrets went before the pool");
                    let inside = |r: &Value| {
                        r["metadata"]["namespace"]
                            == part.object["spec"]["forProvider"]["manifest"]["metadata"]["name"]
                    };
                    assert!(
                        !self.remote.as_ref().is_some_and(inside) || self.writer() == "claim",
                        "the Secrets went before the cluster"
                    );
                    self.brought.clear();
                }
                is_in_use
            } else {
                // Hive keeps a pool until its last cluster is destroyed, whether somebody has that or not.
                let claimed = self.remote.as_ref().is_some_and(|r| r["spec"]["namespace"].is_string());
                let is_in_use = self.has_part(name) && (claimed || self.installs);
                if let Some(pool) = self.brought.get_mut(name).filter(|_| is_in_use) {
                    pool["metadata"]["deletionTimestamp"] = json!(now);
                    object["status"]["atProvider"]["manifest"] = pool.clone();
                    set_synced(object, None);
                } else {
                    self.brought.remove(name);
                }
                is_in_use
            };
            if stays {
                self.objects.insert(name.into(), part);
            }
        }
        assert!(self.brought.is_empty() || self.has_part("byoc-namespace"), "something is in no namespace");
    }

    fn reconcile_part(&mut self, name: &str, object: &mut Value) {
        if !self.reachable {
            return set_synced(
                object,
                Some("observe failed: cannot get object: dial tcp: connect: connection refused"),
            );
        }
        if object["spec"]["managementPolicies"] == json!(["Observe", "Delete"]) {
            // It creates nothing. It keeps its last observation, except in the round in which it sets its finalizer.
            if let Some(observed) = self.brought.get(name) {
                object["status"]["atProvider"]["manifest"] = observed.clone();
            }
            add_finalizer(object);
            return set_synced(object, None);
        }
        assert!(
            name == "byoc-namespace" || self.has_part("byoc-namespace"),
            "{name} is asked for in no namespace"
        );
        // Where somebody deleted the namespace, provider-kubernetes makes all of it anew in any order; a pool of size 0 waits for its Secrets.
        let first = object["status"]["atProvider"]["manifest"].is_null();
        if name == "byoc-pool" && first {
            let request = self.brought.get("byoc-request").cloned().unwrap_or_default();
            let report = request["metadata"]["annotations"][ours::BYOC_REPORT].as_str().unwrap_or_default();
            assert!(report.contains("\"carried\":true"), "a pool without its Secrets: {request}");
        }
        object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
        let mut remote = object["spec"]["forProvider"]["manifest"].clone();
        let report = self.brought.get(name).map(|r| r["metadata"]["annotations"][ours::BYOC_REPORT].clone());
        if let Some(report) = report.filter(Value::is_string) {
            remote["metadata"]["annotations"][ours::BYOC_REPORT] = report;
        }
        remote["metadata"]["uid"] = json!(format!("uid-{name}"));
        object["status"]["atProvider"]["manifest"] = remote.clone();
        self.brought.insert(name.to_owned(), remote);
        set_synced(object, None);
    }
}

//! Hive in the model: pools, claims and what the hub-side provider reports, by the rules of their specs.

use jiff::Timestamp;
use serde_json::{Value, json};
use testplatform_apis::names::ours;

use super::world::{Composed, KUBECONFIG, PASSWORD, REFERRED, World, set_synced};

/// Two pools on two hubs, of which only the first has version 4.20.
pub fn pool_catalogue() -> Value {
    let pool = |name: &str, version: &str, hub: &str| {
        json!({
            "name": name, "namespace": "hive-pools", "hub": hub, "allowedTenants": ["tenant-a", "tenant-b"],
            "labels": { "product": "ocp", "version": version, "architecture": "amd64", "cloud": "aws", "owner": "dpp" },
            "subject": { "name": "testplatform-provider", "namespace": "testplatform" },
        })
    };
    json!({
        "pools": [pool("aws-420", "4.20", "hive-a"), pool("aws-419", "4.19", "hive-b")],
        "hubs": [
            { "name": "hive-a", "providerConfig": "hive-a-config", "credentialsNamespace": "published" },
            { "name": "hive-b" },
        ],
    })
}

/// Another composite, older than that of the world.
pub fn build_peer(name: &str, tenant: &str, status: &Value) -> Value {
    json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformCluster",
        "metadata": { "name": name, "uid": name, "creationTimestamp": "2026-11-21T09:00:00Z" },
        "spec": { "clusterClaim": { "version": "4.20" }, "claimRef": { "name": name, "namespace": tenant } },
        "status": status,
    })
}

/// The status of a composite with a cluster of a pool.
pub fn holding_status(hub: &str, pool: &str) -> Value {
    json!({
        "phase": "Ready", "hub": { "name": hub },
        "backend": { "kind": "ClusterClaim", "name": "x", "namespace": "hive-pools", "pool": pool },
    })
}

impl World {
    /// A claim for a cluster out of a pool.
    pub fn hive_claim() -> Self {
        Self {
            spec: json!({ "clusterClaim": { "version": "4.20" } }),
            catalogue: Some(pool_catalogue()),
            ..Self::default()
        }
    }

    /// Ready, credentials and all.
    pub fn hive_ready() -> Self {
        let mut world = Self::hive_claim();
        world.settle();
        world.hive_publishes();
        world.settle();
        assert_eq!(world.phase(), "Ready", "{:#?}", world.conditions);
        world
    }

    /// Hive has looked at the claim, and it waits.
    pub fn hive_queues(&mut self, report: &Value) {
        let pending = remote_condition(self, "Pending", "True", "NoClusters");
        self.report_hive(&[pending]);
        self.report_status(report);
    }

    /// Hive makes the cluster that the claim waits for, out of a pool that has none.
    pub fn hive_installs(&mut self) {
        self.hive_queues(&json!({ "supply": "Installing", "pool": { "found": true } }));
        let waits = self.remote.as_ref().is_some_and(|r| r["spec"]["namespace"].is_null());
        let goes = |pool: &Value| !pool["metadata"]["deletionTimestamp"].is_null();
        self.installs |= waits && self.brought.get("byoc-pool").is_some_and(|pool| !goes(pool));
    }

    /// Hive gives the claim a cluster, which does not run yet.
    pub fn hive_assigns(&mut self) {
        let pending = remote_condition(self, "Pending", "False", "ClusterClaimed");
        let running = remote_condition(self, "ClusterRunning", "False", "Resuming");
        let Some(remote) = &mut self.remote else { return };
        if !remote["metadata"]["deletionTimestamp"].is_null() {
            return;
        }
        let uid = remote["metadata"]["uid"].as_str().unwrap();
        if uid.starts_with("remote-") {
            self.taken.insert(uid.to_owned());
        }
        remote["spec"]["namespace"] = json!("aws-420-x7k2p");
        self.installs = false;
        remote["status"]["lifetime"] = remote["spec"]["lifetime"].clone();
        self.report_hive(&[pending, running]);
        let state = json!({ "powerState": "StartingMachines", "ownership": "Confirmed" });
        self.report_status(&state);
    }

    /// The cluster runs; its credentials are not published yet.
    pub fn hive_runs(&mut self) {
        self.hive_assigns();
        let running = remote_condition(self, "ClusterRunning", "True", "Running");
        self.report_hive(&[running]);
    }

    /// The cluster runs, and its credentials are published.
    pub fn hive_publishes(&mut self) {
        self.hive_runs();
        let name = self.published_name();
        let is_claimed = self.remote.as_ref().is_some_and(|r| !r["spec"]["namespace"].is_null());
        if is_claimed {
            self.secrets.insert(name.clone(), (KUBECONFIG.into(), PASSWORD.into()));
        }
        self.report_status(&json!({
            "powerState": "Running", "ownership": "Confirmed", "version": "4.20.3",
            "apiURL": "https://api.x7k2p.example:6443", "consoleURL": "https://console.x7k2p.example",
            "clusterDeployment": { "name": "aws-420-x7k2p" },
            "credentials": { "secretName": name, "passwordAvailable": true },
        }));
        if let Some(remote) = &mut self.remote {
            remote["metadata"]["annotations"][ours::CREDENTIALS_REVISION] = json!("1");
        }
    }

    /// The cluster is not running: in which state it is.
    pub fn hive_stops(&mut self, state: &str) {
        let running = remote_condition(self, "ClusterRunning", "False", "Resuming");
        self.report_hive(&[running]);
        self.report_status(&json!({ "powerState": state, "ownership": "Confirmed" }));
    }

    /// Somebody deleted the cluster, and the claim stays.
    pub fn hive_loses_the_cluster(&mut self) {
        let running = remote_condition(self, "ClusterRunning", "False", "ClusterDeleted");
        self.report_hive(&[running]);
        self.secrets.clear();
    }

    /// Hive is done with a claim that is being deleted, and with a cluster that nobody waits for any more.
    pub fn hive_is_done(&mut self) {
        self.installs &= self.remote.is_some();
        let deleting = |r: &Value| !r["metadata"]["deletionTimestamp"].is_null();
        if self.remote.as_ref().is_some_and(deleting) {
            self.remote = None;
            self.secrets.clear();
        }
    }

    /// Sets conditions, and leaves the others.
    pub fn report_hive(&mut self, conditions: &[Value]) {
        let Some(remote) = &mut self.remote else { return };
        let old = remote["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let is_replaced = |c: &Value| conditions.iter().any(|new| new["type"] == c["type"]);
        let retained = old.iter().filter(|c| !is_replaced(c)).cloned();
        let new = conditions.iter().map(|new| {
            let same = old.iter().find(|c| c["type"] == new["type"] && c["status"] == new["status"]);
            let mut new = new.clone();
            if let Some(same) = same {
                new["lastTransitionTime"] = same["lastTransitionTime"].clone();
            }
            new
        });
        let all: Vec<Value> = retained.chain(new).collect();
        if remote["status"]["conditions"] != json!(all) {
            remote["status"]["conditions"] = json!(all);
            remote["metadata"]["managedFields"] = status_written(self.now);
        }
    }

    /// The provider's annotation.
    pub fn report_status(&mut self, report: &Value) {
        let Some(remote) = &mut self.remote else { return };
        remote["metadata"]["annotations"][ours::STATUS] = json!(report.to_string());
    }

    /// One round over a writer that is being deleted; false once it is gone.
    pub(super) fn still_deleting(&mut self, writer: &mut Composed) -> bool {
        let object = &mut writer.object;
        if !self.reachable {
            set_synced(
                object,
                Some("observe failed: cannot get object: dial tcp: connect: connection refused"),
            );
            return true;
        }
        let deletes = object["spec"]["managementPolicies"] != json!(["Observe"]);
        let now = self.now;
        let Some(remote) = self.remote.as_mut().filter(|_| deletes) else { return false };
        object["status"]["atProvider"]["manifest"] = remote.clone();
        if let Err(words) = writer.dry_run(&self.classes, &self.fixed, remote) {
            set_synced(&mut writer.object, Some(&words));
            return true;
        }
        let object = &mut writer.object;
        // Hive lets go of what it never assigned at once, and of a cluster once it is destroyed.
        let hosted = ["HostedCluster", "Cluster", "ClusterOrder", "ClusterTemplateInstance"]
            .iter()
            .any(|kind| remote["kind"] == *kind);
        // A dependent keeps the Object from deleting anything.
        let word = |uid: &Value| json!(format!("{REFERRED}{}", uid.as_str().unwrap_or_default()));
        let is_referrer = |uid: &Value| {
            object["metadata"]["finalizers"].as_array().is_some_and(|all| all.contains(&word(uid)))
        };
        let depends = |of: &Composed| {
            !of.object["spec"]["references"].is_null()
                && (!self.unreferred || is_referrer(&of.object["metadata"]["uid"]))
        };
        if hosted && self.objects.values().any(depends) {
            set_synced(object, None);
            return true;
        }
        if !hosted && remote["spec"]["namespace"].is_null() {
            self.remote = None;
            return false;
        }
        if remote["metadata"]["deletionTimestamp"].is_null() {
            assert!(!self.undone || self.bundles.is_none(), "deleted before what comes before that was done");
            remote["metadata"]["deletionTimestamp"] = json!(now);
        }
        object["status"]["atProvider"]["manifest"] = remote.clone();
        set_synced(object, None);
        true
    }

    /// A writer that names another place leaves what it made behind, and makes another.
    pub(super) fn stays_in_place(&mut self, object: &Value) {
        let spec = &object["spec"];
        let metadata = &spec["forProvider"]["manifest"]["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let place =
            (text(&spec["providerConfigRef"]["name"]), text(&metadata["namespace"]), text(&metadata["name"]));
        let first = self.place.get_or_insert_with(|| place.clone());
        assert_eq!(*first, place, "the writer names another place");
    }
}

/// Writer and time of a status, as the API server records them.
pub fn status_written(now: Timestamp) -> Value {
    json!([{ "manager": "manager", "operation": "Update", "subresource": "status", "time": now }])
}

/// A condition of Hive's.
pub fn remote_condition(world: &World, type_: &str, status: &str, reason: &str) -> Value {
    json!({ "type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": world.now })
}

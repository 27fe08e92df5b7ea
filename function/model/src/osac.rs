//! OSAC in the model: what it takes, what its jobs make of an order, and what HyperShift makes of that.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{hive::remote_condition, hypershift::hub_for, world::NAME, world::World};

const ENTRIES: &str = r#"
metadata: { name: order-tuned }
data:
  backend: osac
  backendRef: { templateID: osac.templates.tuned, upgradeable: true }
  allowedTenants: ["*"]
  releases:
  - { version: 4.20.3, image: "quay.io/x:4.20.3-x86_64" }
  - { version: 4.20.9, image: "quay.io/x:4.20.9-x86_64" }
  parameters:
    tier: { enum: [gold, silver], default: silver, target: service_tier }
    sizes: { type: array, items: { type: integer } }
  allowedNodeClasses:
    metal: { machine: { resourceClass: fc430 } }
    bare: { machine: { resourceClass: fc430 } }
    large: { machine: { resourceClass: fc640 } }
    set: { machine: { instanceType: bm-standard } }
  defaultNodeGroups: [{ name: workers, class: metal, count: 2 }]
  limits: { network: [podCIDR, serviceCIDR] }
---
metadata: { name: order-fixed }
data:
  backend: osac
  backendRef: { templateID: osac.templates.fixed }
  allowedTenants: ["*"]
  releases:
  - { version: 4.20.3, image: "quay.io/x:4.20.3-x86_64" }
  - { version: 4.20.9, image: "quay.io/x:4.20.9-x86_64" }
  parameters:
    tier: { enum: [gold, silver], default: silver }
  allowedNodeClasses:
    metal: { machine: { resourceClass: fc430 } }
---
metadata: { name: order-sets }
data:
  backend: osac
  backendRef: { templateID: osac.templates.sets }
  allowedTenants: ["*"]
  allowedNodeClasses:
    metal: { machine: { instanceType: bm-standard } }
    large: { machine: { instanceType: bm-large } }
  defaultNodeGroups: [{ name: workers, class: metal, count: 2 }]
"#;

/// The catalogue, with entries for orders that may change and that may not.
pub fn osac_catalogue() -> Vec<Value> {
    let more: Vec<Value> = serde_saphyr::from_multiple(ENTRIES).unwrap();
    super::templates::template_catalogue().into_iter().chain(more).collect()
}

/// The namespace that OSAC makes for the HostedCluster.
pub const BEHIND: &str = "clusters-demo-x7k2p";

/// The ProviderConfig of a hub that makes clusters with OSAC.
pub fn build_hub(name: &str) -> Value {
    hub_for("osac", name)
}

/// The machines of a node set, as `status.workers` has them.
pub fn worker_nodes(set: &Value, phase: &str) -> Vec<Value> {
    let name = set["nodeSet"].as_str().unwrap();
    let of = |at| json!({ "name": format!("{name}-{at}"), "nodeSet": name, "kind": "BareMetalInstance", "phase": phase });
    (0..set["numberOfNodes"].as_i64().unwrap()).map(of).collect()
}

/// Changes that its definition refuses, and fields that it drops silently.
pub fn assert_valid_change(before: &Value, after: &Value) {
    if before["templateID"].is_null() {
        return;
    }
    assert_eq!(before["templateID"], after["templateID"], "templateID is immutable");
    let requests = after["nodeRequests"].as_array().cloned().unwrap_or_default();
    let mut names = BTreeSet::new();
    for request in requests {
        let (class, set) = (&request["resourceClass"], &request["nodeSet"]);
        assert_ne!(class.is_null(), set.is_null(), "{request} is of neither API, or of both");
        assert_eq!(request["bareMetal"]["instanceType"].is_string(), set.is_string(), "{request}");
        assert!(
            names.insert(if set.is_null() { class } else { set }.to_string()),
            "{request} is there twice"
        );
        assert!(request["numberOfNodes"].as_i64().unwrap() > 0, "{request} is empty");
    }
}

impl World {
    /// A claim for a cluster of OSAC's, and a hub that makes them.
    pub fn osac_claim() -> Self {
        Self {
            hubs: Some(vec![build_hub("hub-1")]),
            templates: osac_catalogue(),
            ..Self::with_template("order-tuned")
        }
    }

    /// The same of an OSAC since September 2026.
    pub fn order_of_sets() -> Self {
        Self {
            hubs: Some(vec![build_hub("hub-1")]),
            templates: osac_catalogue(),
            ..Self::with_template("order-sets")
        }
    }

    /// Ready, credentials and all.
    pub fn order_ready() -> Self {
        Self::osac_claim().made_ready()
    }

    /// Ready, credentials and all.
    pub fn order_of_sets_ready() -> Self {
        Self::order_of_sets().made_ready()
    }

    fn made_ready(self) -> Self {
        let mut world = self;
        world.settle();
        world.osac_makes();
        world.publish_credentials();
        world.settle();
        assert_eq!(world.phase(), "Ready", "{:#?}", world.conditions);
        world
    }

    /// Version of the spec, from the order as it is.
    fn backend_config(&self) -> Value {
        self.remote.as_ref().map(|remote| json!(remote["spec"].to_string())).unwrap_or_default()
    }

    /// OSAC has looked at it, and counts it as taken.
    pub fn report_osac(&mut self, phase: &str, conditions: &[&str]) {
        let reported: Vec<Value> =
            conditions.iter().map(|t| remote_condition(self, t, "True", "Done")).collect();
        let config = self.backend_config();
        let Some(remote) = &mut self.remote else { return };
        let uid = remote["metadata"]["uid"].as_str().unwrap();
        if uid.starts_with("remote-") {
            self.taken.insert(uid.to_owned());
        }
        if !remote["status"].is_object() {
            remote["status"] = json!({});
        }
        remote["status"]["phase"] = json!(phase);
        remote["status"]["desiredConfigVersion"] = config;
        self.report_hive(&reported);
    }

    /// A job for the spec as it is: one of this id changes its state, or a new one begins.
    pub fn osac_job(&mut self, id: &str, type_: &str, state: &str, message: &str) {
        let (config, now) = (self.backend_config(), self.now);
        let Some(remote) = self.remote.as_mut().filter(|r| r["status"].is_object()) else { return };
        let mut jobs = remote["status"]["provisioningJobs"].as_array().cloned().unwrap_or_default();
        jobs.retain(|job| job["jobID"] != id);
        jobs.push(json!({
            "jobID": id, "type": type_, "state": state, "message": message, "timestamp": now,
            "configVersion": config, "blockDeletionOnFailure": type_ == "deprovision",
        }));
        remote["status"]["provisioningJobs"] = json!(jobs);
    }

    /// The job runs for the first time, or for what was asked for since.
    pub fn osac_runs(&mut self, id: &str) {
        let ready = self.remote.as_ref().is_some_and(|r| r["status"]["phase"] == "Ready");
        self.report_osac(if ready { "Ready" } else { "Progressing" }, &["Accepted", "Progressing"]);
        self.osac_job(id, "provision", "Running", "");
    }

    /// The HostedCluster is named, and not created yet.
    pub fn osac_names(&mut self) {
        self.report_osac("Progressing", &["Accepted", "NamespaceCreated", "ControlPlaneCreated"]);
        if let Some(remote) = &mut self.remote {
            remote["status"]["clusterReference"] = json!({
                "namespace": BEHIND, "hostedClusterName": NAME, "serviceAccountName": "a", "roleBindingName": "b",
            });
        }
    }

    /// The job has done its work, and the cluster behind the order is there.
    pub fn osac_makes(&mut self) {
        self.osac_names();
        let all = ["Accepted", "NamespaceCreated", "ControlPlaneCreated", "ControlPlaneAvailable"];
        self.report_osac("Ready", &all);
        self.report_osac("Ready", &["ClusterAvailable"]);
        let count = self.backend_config().to_string().len();
        self.osac_job(&format!("job-{count}"), "provision", "Succeeded", "");
        self.osac_serves();
    }

    /// The underlying objects match the order.
    pub fn osac_serves(&mut self) {
        let yes =
            ["Available", "InfrastructureReady"].map(|t| remote_condition(self, t, "True", "AsExpected"));
        let ready = remote_condition(self, "Ready", "True", "AsExpected");
        let Some(remote) = self.remote.as_ref().filter(|r| !r["status"]["clusterReference"].is_null()) else {
            return;
        };
        let image = remote["spec"]["releaseImage"].as_str().unwrap_or("quay.io/x:4.19.1-x86_64").to_owned();
        let version = image.rsplit(':').next().unwrap().replace("-x86_64", "");
        let requests = remote["spec"]["nodeRequests"].as_array().cloned().unwrap_or_default();
        let update =
            json!({ "state": "Completed", "version": version, "image": image, "completionTime": self.now });
        let hosted = json!({
            "metadata": { "name": NAME, "namespace": BEHIND, "uid": "hosted" },
            "spec": { "release": { "image": image }, "dns": { "baseDomain": "hub.example" } },
            "status": {
                "conditions": yes, "version": { "history": [update] },
                "controlPlaneEndpoint": { "host": "api.demo.example", "port": 6443 },
            },
        });
        self.node_pools = [(NAME.to_owned(), hosted)].into();
        let sets = requests.iter().filter(|request| request["nodeSet"].is_string());
        let workers: Vec<Value> = sets.flat_map(|set| worker_nodes(set, "Ready")).collect();
        if let Some(remote) = self.remote.as_mut().filter(|_| !workers.is_empty()) {
            remote["status"]["workers"] = workers.into();
        }
        for (at, request) in requests.iter().enumerate() {
            let (class, set) = (request["resourceClass"].as_str(), request["nodeSet"].as_str());
            let numbered = |set: &str| format!("nodepool-{NAME}-{set}-{at}");
            let of_class = |class: &str| {
                if self.numbers_classes { numbered(class) } else { format!("nodepool-{NAME}-{class}") }
            };
            let name = class.map(of_class).or_else(|| set.map(numbered)).unwrap();
            let count = &request["numberOfNodes"];
            let pool = json!({
                "metadata": { "name": name, "namespace": BEHIND, "uid": name }, "spec": { "replicas": count },
                "status": { "replicas": count, "version": version, "conditions": [ready] },
            });
            self.node_pools.insert(name, pool);
        }
    }

    /// A condition of the HostedCluster behind the order.
    pub fn set_hosted_condition(&mut self, type_: &str, status: &str, message: &str) {
        let mut reported = remote_condition(self, type_, status, "X");
        reported["message"] = json!(message);
        let Some(hosted) = self.node_pools.get_mut(NAME) else { return };
        let all = hosted["status"]["conditions"].as_array_mut().unwrap();
        all.retain(|c| c["type"] != type_);
        all.push(reported);
    }
}

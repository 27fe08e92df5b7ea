//! Cluster API in the model: what it takes, and what it makes of a Cluster.

use serde_json::{Value, json};

use super::{hive::remote_condition, hypershift::hub_for, world::World};

/// The ProviderConfig of a hub that makes clusters with Cluster API.
pub fn build_hub(name: &str) -> Value {
    hub_for("cluster-api", name)
}

/// Changes that its webhooks refuse.
pub fn assert_valid_change(before: &Value, after: &Value) {
    let minor = |spec: &Value| -> Option<u32> {
        spec["topology"]["version"].as_str()?.strip_prefix("v1.")?.split_once('.')?.0.parse().ok()
    };
    if let (Some(from), Some(to)) = (minor(before), minor(after)) {
        assert!((from..=from + 1).contains(&to), "from {from} to {to}");
    }
    let groups = |spec: &Value| -> Vec<Value> {
        spec["topology"]["workers"]["machineDeployments"].as_array().cloned().unwrap_or_default()
    };
    for group in groups(after) {
        let old = groups(before).into_iter().find(|old| old["name"] == group["name"]);
        assert!(old.is_none_or(|old| old["class"] == group["class"]), "{group} has another class");
        assert_eq!(group["replicas"].is_null(), !autoscaling_minimum(&group).is_null(), "{group}");
    }
}

fn autoscaling_minimum(group: &Value) -> &Value {
    &group["metadata"]["annotations"]["cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"]
}

impl World {
    /// A claim for a cluster of Cluster API's, and a hub that makes them.
    pub fn cluster_api_claim() -> Self {
        let nodes = json!([{ "name": "workers", "class": "default", "count": 2 }]);
        let spec = json!({ "template": "topology", "version": "1.29", "nodeGroups": nodes });
        Self { spec, hubs: Some(vec![build_hub("hub-1")]), ..Self::with_template("topology") }
    }

    /// Ready, credentials and all.
    pub fn topology_ready() -> Self {
        let mut world = Self::cluster_api_claim();
        world.settle();
        world.capi_installs();
        world.hypershift_publishes();
        world.settle();
        assert_eq!(world.phase(), "Ready", "{:#?}", world.conditions);
        world
    }

    /// Cluster API has looked at the Cluster as it is.
    pub fn report_cluster_api(&mut self, conditions: &[(&str, &str, &str, &str)]) {
        // Counts it as taken.
        self.report_hypershift(&[]);
        let reported: Vec<Value> = conditions
            .iter()
            .map(|(type_, status, reason, message)| {
                let mut reported = remote_condition(self, type_, status, reason);
                reported["message"] = json!(message);
                reported
            })
            .collect();
        self.report_hive(&reported);
        if let Some(remote) = &mut self.remote {
            remote["status"]["observedGeneration"] = remote["metadata"]["generation"].clone();
        }
    }

    /// All of it is there, and runs what is asked for.
    pub fn capi_installs(&mut self) {
        let yes = [
            "InfrastructureReady",
            "ControlPlaneInitialized",
            "ControlPlaneAvailable",
            "WorkersAvailable",
            "Available",
            "TopologyReconciled",
        ];
        self.report_cluster_api(&yes.map(|type_| (type_, "True", "Available", "")));
        self.report_cluster_api(
            &["RollingOut", "ScalingUp", "ScalingDown"].map(|type_| (type_, "False", "Not", "")),
        );
        let Some(remote) = &mut self.remote else { return };
        let topology = remote["spec"]["topology"].clone();
        let groups = topology["workers"]["machineDeployments"].as_array().cloned().unwrap_or_default();
        let count = |group: &Value| {
            let least = autoscaling_minimum(group).as_str().and_then(|min| min.parse().ok());
            group["replicas"].as_i64().or(least).unwrap_or_default()
        };
        let nodes: i64 = groups.iter().map(count).sum();
        let versions = json!([{ "version": topology["version"], "replicas": 1 }]);
        remote["status"]["phase"] = json!("Provisioned");
        remote["status"]["workers"] =
            json!({ "desiredReplicas": nodes, "availableReplicas": nodes, "versions": versions });
        remote["status"]["controlPlane"] = json!({ "versions": versions });
        remote["spec"]["controlPlaneEndpoint"] = json!({ "host": "api.demo.example", "port": 6443 });
    }

    /// A change is on its way to the machines.
    pub fn capi_rolls(&mut self) {
        self.report_cluster_api(&[
            ("TopologyReconciled", "False", "ClusterUpgrading", "Cluster is upgrading"),
            ("RollingOut", "True", "RollingOut", "Rolling out 1 not up-to-date replicas"),
        ]);
    }

    /// The sentence of a condition of the claim.
    pub fn condition_message(&self, type_: &str) -> &str {
        self.conditions[type_]["message"].as_str().unwrap()
    }
}

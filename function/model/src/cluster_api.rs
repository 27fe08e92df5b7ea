//! Cluster API in the model: what it takes, and what it makes of a Cluster.

use std::collections::{BTreeMap, BTreeSet};

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

/// Cluster classes of the hub, as far as the webhook of Cluster API treats their variables differently. Source: cluster-api v1.14,
/// `core/webhooks/admission/cluster.go`.
#[derive(Clone, Debug, Default)]
pub struct ClusterClasses {
    /// Variables with a default: the class that alone defines it, and the default.
    pub defaults: BTreeMap<String, (String, Value)>,
    /// Classes that do not exist.
    pub missing: BTreeSet<String>,
    /// Variables of the last accepted request. An apply without one of them removes it.
    owned: BTreeSet<String>,
}

impl ClusterClasses {
    /// The spec of a Cluster after an apply: with variables that nobody owns, and with defaults.
    ///
    /// # Errors
    /// The webhook's words where the class does not define a variable.
    pub fn admit(&self, requested: &Value, existing: &Value) -> Result<Value, String> {
        let class = requested["topology"]["classRef"]["name"].as_str().unwrap_or_default();
        // It warns of a missing class when a Cluster is created, and refuses every update of it.
        if self.missing.contains(class) && !existing.is_null() {
            return Err(format!(
                "admission webhook \"validation.cluster.cluster.x-k8s.io\" denied the request: Cluster.cluster.x-k8s.io \"demo\" is invalid: spec.topology.class: Internal error: ClusterClass clusters/{class} not found"
            ));
        }
        let mut spec = requested.clone();
        let variables = |spec: &Value| spec["topology"]["variables"].as_array().cloned().unwrap_or_default();
        let mut all = variables(requested);
        let has = |all: &[Value], name: &Value| all.iter().any(|variable| variable["name"] == *name);
        for variable in variables(existing) {
            let is_owned = variable["name"].as_str().is_some_and(|name| self.owned.contains(name));
            if !is_owned && !has(&all, &variable["name"]) {
                all.push(variable);
            }
        }
        for (name, (of, default)) in &self.defaults {
            let is_defined = class == of;
            let is_set = has(&all, &json!(name));
            if is_set && !is_defined {
                return Err(format!(
                    "admission webhook \"default.cluster.cluster.x-k8s.io\" denied the request: Cluster.cluster.x-k8s.io \"demo\" is invalid: spec.topology.variables[{name}]: Invalid value: \"{default}\": variable is not defined"
                ));
            }
            if is_defined && !is_set {
                all.push(json!({ "name": name, "value": default }));
            }
        }
        if !self.defaults.is_empty() {
            spec["topology"]["variables"] = all.into();
        }
        Ok(spec)
    }

    /// A request was accepted.
    pub fn own(&mut self, requested: &Value) {
        let variables = requested["topology"]["variables"].as_array().into_iter().flatten();
        self.owned = variables.filter_map(|variable| variable["name"].as_str().map(str::to_owned)).collect();
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

    /// Hub `hub-1` reports its cluster classes.
    pub fn report_cluster_classes(&mut self, names: &[&str]) {
        let facts =
            json!({ "writtenAt": self.now, "backends": { "cluster-api": { "clusterClasses": names } } });
        self.hub_facts = vec![json!({
            "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object",
            "metadata": { "name": "testplatform-hub-hub-1" },
            "spec": { "providerConfigRef": { "name": "hub-1" } },
            "status": {
                "atProvider": { "manifest": {
                    "metadata": { "name": "testplatform-hub" }, "data": { "facts": facts.to_string() },
                } },
                "conditions": [{ "type": "Synced", "status": "True" }],
            },
        })];
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

//! CaaS in the model: what its webhook takes, and what its operator says of a ClusterTemplateInstance and Argo CD makes of it.

use serde_json::{Value, json};
use testplatform_apis::names::ours;

use super::{
    hive::status_written,
    hypershift::hub_for,
    world::{KUBECONFIG, NAME, PASSWORD, World, set_synced},
};

/// The ProviderConfig of a hub that makes clusters with CaaS.
pub fn build_hub(name: &str) -> Value {
    hub_for("caas", name)
}

/// Changes that its webhook refuses: all of them. An object of another owner may be asked to change before it is known as such.
pub fn assert_valid_change(existing: &Value, before: &Value, after: &Value) {
    if existing["kind"] == "ClusterTemplateInstance" && existing["metadata"]["uid"] != "somebody-elses" {
        assert_eq!(before, after, "spec is immutable");
    }
}

/// The conditions that every ClusterTemplateInstance has from birth on.
const BORN: [(&str, &str); 4] = [
    ("ClusterDefinitionCreated", "ClusterDefinitionPending"),
    ("ClusterInstallSucceeded", "ClusterDefinitionNotCreated"),
    ("ArgoClusterAdded", "ArgoClusterPending"),
    ("ClusterSetupSucceeded", "ClusterSetupNotCreated"),
];

impl World {
    /// A claim for a cluster of CaaS', and a hub that makes them.
    pub fn caas_claim() -> Self {
        let spec = json!({ "template": "chart", "parameters": { "instanceType": "m5.large" } });
        Self { spec, hubs: Some(vec![build_hub("hub-1")]), ..Self::with_template("chart") }
    }

    /// The same, where the HostedCluster of the chart is looked at.
    pub fn chart_observed() -> Self {
        let mut world = Self::caas_claim();
        world.catalogue_entry("chart")["observes"] = json!("hypershift");
        world
    }

    /// Ready, credentials and all.
    pub fn chart_ready() -> Self {
        Self::caas_claim().until_ready()
    }

    /// Ready, credentials, HostedCluster and all.
    pub fn chart_observed_ready() -> Self {
        Self::chart_observed().until_ready()
    }

    fn until_ready(mut self) -> Self {
        self.settle();
        self.caas_installs();
        self.caas_publishes();
        self.settle();
        assert_eq!(self.phase(), "Ready", "{:#?}", self.conditions);
        self
    }

    /// Its operator says so, and counts the ClusterTemplateInstance as taken. The time at which it last said something else is noted.
    pub fn report_caas(&mut self, phase: &str, message: &str, conditions: &[(&str, &str, &str, &str)]) {
        let now = self.now;
        let Some(remote) = &mut self.remote else { return };
        let before = remote["status"].clone();
        remote["status"]["phase"] = json!(phase);
        remote["status"]["message"] = json!(message);
        // Counts it as taken.
        self.report_hypershift(&[]);
        let born = BORN.map(|(type_, reason)| (type_, "False", reason, ""));
        let known = |type_: &str, of: &Value| {
            of["conditions"].as_array().is_some_and(|all| all.iter().any(|c| c["type"] == type_))
        };
        let reported: Vec<Value> = born
            .iter()
            .filter(|(type_, ..)| !known(type_, &before))
            .chain(conditions)
            .map(|(type_, status, reason, message)| {
                json!({ "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": now })
            })
            .collect();
        // Of two conditions of one type the later one counts.
        for one in reported {
            self.report_hive(&[one]);
        }
        let Some(remote) = &mut self.remote else { return };
        if remote["status"] != before {
            remote["metadata"]["managedFields"] = status_written(now);
        }
    }

    /// Argo CD has made the cluster: the HostedCluster that is called by the uid is there.
    pub fn argo_makes(&mut self) {
        let Some(uid) = self.remote.as_ref().map(|r| r["metadata"]["uid"].clone()) else { return };
        if self.hosted.is_none() {
            self.hosted = Some(json!({
                "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
                "metadata": { "name": uid, "namespace": "clusters", "uid": "of-the-hosted-cluster" },
                "spec": { "dns": { "baseDomain": "hub.example" } }, "status": { "conditions": [] },
            }));
        }
    }

    /// A condition of the HostedCluster.
    pub fn report_hosted_cluster(&mut self, type_: &str, status: &str, reason: &str, message: &str) {
        let now = self.now;
        let Some(hosted) = &mut self.hosted else { return };
        let conditions = hosted["status"]["conditions"].as_array_mut().unwrap();
        conditions.retain(|c| c["type"] != type_);
        conditions.push(json!({
            "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": now,
        }));
        hosted["metadata"]["managedFields"] = status_written(now);
    }

    /// All of it is there.
    pub fn caas_installs(&mut self) {
        self.argo_makes();
        self.report_hosted_cluster("Available", "True", "AsExpected", "");
        self.report_hosted_cluster("InfrastructureReady", "True", "AsExpected", "");
        let now = self.now;
        if let Some(hosted) = &mut self.hosted {
            hosted["status"]["version"] = json!({ "history": [
                { "state": "Completed", "version": "4.20.3", "image": "x", "completionTime": now },
            ] });
        }
        self.report_caas(
            "Ready",
            "Cluster is ready",
            &[
                ("ClusterDefinitionCreated", "True", "ApplicationCreated", ""),
                ("ClusterInstallSucceeded", "True", "ClusterInstalled", ""),
                ("ArgoClusterAdded", "True", "ArgoClusterCreated", ""),
                ("ClusterSetupSucceeded", "True", "ClusterSetupNotDefined", ""),
            ],
        );
        let Some(remote) = &mut self.remote else { return };
        remote["status"]["kubeconfig"] = json!({ "name": format!("{NAME}-admin-kubeconfig") });
        remote["status"]["adminPassword"] = json!({ "name": format!("{NAME}-admin-password") });
        remote["status"]["apiServerURL"] = json!("https://api.demo.example:6443");
    }

    /// The hub-side provider publishes its credentials, once the cluster is there.
    pub fn caas_publishes(&mut self) {
        if self.remote.as_ref().is_none_or(|remote| remote["status"]["phase"] != "Ready") {
            return;
        }
        let name = self.published_name();
        self.secrets.insert(name.clone(), (KUBECONFIG.into(), PASSWORD.into()));
        self.report_status(&json!({ "credentials": { "secretName": name, "passwordAvailable": true } }));
        if let Some(remote) = &mut self.remote {
            remote["metadata"]["annotations"][ours::CREDENTIALS_REVISION] = json!("1");
        }
    }

    /// One round of provider-kubernetes over the observer of the HostedCluster. It keeps its last observation.
    pub(super) fn look_at_hosted(&mut self) {
        let Some(composed) = self.objects.get_mut("hosted") else { return };
        let object = &mut composed.object;
        assert_eq!(object["spec"]["managementPolicies"], json!(["Observe"]), "it only looks");
        let answered = &object["status"]["conditions"][0]["observedGeneration"];
        if self.rests && *answered == object["metadata"]["generation"] {
            return;
        }
        let wanted = &object["spec"]["forProvider"]["manifest"]["metadata"]["name"];
        if wanted.as_str().is_some_and(|name| self.node_pools.contains_key(name)) {
            return;
        }
        let found = self.hosted.as_ref().filter(|hosted| hosted["metadata"]["name"] == *wanted);
        match found {
            _ if !self.reachable => {
                set_synced(
                    object,
                    Some("observe failed: cannot get object: dial tcp: connect: connection refused"),
                );
            }
            Some(hosted) => {
                object["status"]["atProvider"]["manifest"] = hosted.clone();
                set_synced(object, None);
            }
            None => set_synced(object, Some("observe failed: external resource does not exist")),
        }
    }
}

//! HyperShift in the model: what it makes of a HostedCluster and its NodePools, and what the hub-side provider reports.

use serde_json::{Value, json};
use testplatform_apis::names::ours;

use super::{
    hive::remote_condition,
    world::{KUBECONFIG, NAME, PASSWORD, World, find_refusal, set_synced},
};

/// The ProviderConfig of a hub that makes clusters with HyperShift.
pub fn build_hub(name: &str) -> Value {
    hub_for("hypershift", name)
}

/// The ProviderConfig of a hub that makes clusters with a backend.
pub fn hub_for(backend: &str, name: &str) -> Value {
    json!({ "metadata": {
        "name": name,
        "labels": {
            "testplatform.ci.openshift.org/hub": "true",
            format!("testplatform.ci.openshift.org/backend.{backend}"): "true",
        },
        "annotations": {
            format!("testplatform.ci.openshift.org/namespace.{backend}"): "clusters",
            "testplatform.ci.openshift.org/credentials-namespace": "published",
        },
    } })
}

impl World {
    /// A claim for a cluster of HyperShift's, and a hub that makes them.
    pub fn hypershift_claim() -> Self {
        Self { hubs: Some(vec![build_hub("hub-1")]), ..Self::with_template("hosted") }
    }

    /// Ready, credentials and all.
    pub fn hosted_ready() -> Self {
        let mut world = Self::hypershift_claim();
        world.hypershift_makes_it();
        world
    }

    /// From what is asked for to Ready.
    pub fn hypershift_makes_it(&mut self) {
        self.settle();
        self.hypershift_installs();
        self.settle();
        self.hypershift_publishes();
        self.settle();
        assert_eq!(self.phase(), "Ready", "{:#?}", self.conditions);
    }

    /// HyperShift has looked at it, and counts it as taken.
    pub fn report_hypershift(&mut self, conditions: &[(&str, &str, &str)]) {
        let reported: Vec<Value> =
            conditions.iter().map(|(t, s, r)| remote_condition(self, t, s, r)).collect();
        let Some(uid) = self.remote.as_ref().and_then(|r| r["metadata"]["uid"].as_str()) else { return };
        if uid.starts_with("remote-") {
            self.taken.insert(uid.to_owned());
        }
        self.report_hive(&reported);
    }

    /// The control plane answers, the release is rolled out, and all nodes are there.
    pub fn hypershift_installs(&mut self) {
        let yes = [
            "Available",
            "InfrastructureReady",
            "EtcdAvailable",
            "KubeAPIServerAvailable",
            "ValidReleaseImage",
        ];
        self.report_hypershift(&yes.map(|type_| (type_, "True", "AsExpected")));
        self.hypershift_rolls_out("Completed");
        if let Some(remote) = self.remote.as_mut().filter(|r| !r["status"].is_null()) {
            remote["status"]["controlPlaneEndpoint"] = json!({ "host": "api.demo.example", "port": 6443 });
            remote["status"]["kubeconfig"] = json!({ "name": format!("{NAME}-admin-kubeconfig") });
            remote["spec"]["dns"] = json!({ "baseDomain": "hub.example" });
        }
        self.hypershift_scales();
    }

    /// The release that was asked for is on its way, or there.
    pub fn hypershift_rolls_out(&mut self, state: &str) {
        let now = self.now;
        let Some(remote) = self.remote.as_mut().filter(|r| !r["status"].is_null()) else { return };
        let image = remote["spec"]["release"]["image"].clone();
        let version = release_version(&image);
        let before = remote["status"]["version"]["history"].as_array().cloned().unwrap_or_default();
        let new = json!({ "state": state, "version": version, "image": image, "completionTime": now });
        let others = before.into_iter().filter(|update| update["image"] != image);
        let history: Vec<Value> = std::iter::once(new).chain(others).collect();
        remote["status"]["version"] = json!({ "history": history });
    }

    /// HyperShift cannot use the image of the release that it is asked for now, and does not begin with it.
    pub fn hypershift_rejects_the_image(&mut self) {
        self.report_hypershift(&[("ValidReleaseImage", "False", "InvalidImage")]);
        let Some(remote) = &mut self.remote else { return };
        let generation = remote["metadata"]["generation"].clone();
        let all = remote["status"]["conditions"].as_array_mut().into_iter().flatten();
        for condition in all.filter(|c| c["type"] == "ValidReleaseImage") {
            condition["message"] = json!("failed to get release image: manifest unknown");
            condition["observedGeneration"] = generation.clone();
        }
    }

    /// All NodePools run what they are asked to run.
    pub fn hypershift_scales(&mut self) {
        let ready = remote_condition(self, "Ready", "True", "AsExpected");
        for pool in self.node_pools.values_mut() {
            let spec = &pool["spec"];
            let version = release_version(&spec["release"]["image"]);
            let count = spec["replicas"].as_i64().or_else(|| spec["autoScaling"]["min"].as_i64());
            pool["status"] = json!({ "replicas": count, "version": version, "conditions": [ready] });
        }
    }

    /// The provider publishes the credentials of a cluster that answers.
    pub fn hypershift_publishes(&mut self) {
        let available = |r: &Value| {
            let conditions = r["status"]["conditions"].as_array();
            conditions
                .is_some_and(|all| all.iter().any(|c| c["type"] == "Available" && c["status"] == "True"))
        };
        if self.remote.as_ref().is_some_and(available) {
            self.publish_credentials();
        }
    }

    /// The provider publishes credentials.
    pub fn publish_credentials(&mut self) {
        let name = self.published_name();
        self.secrets.insert(name.clone(), (KUBECONFIG.into(), PASSWORD.into()));
        self.report_status(&json!({ "credentials": { "secretName": name, "passwordAvailable": true } }));
        if let Some(remote) = &mut self.remote {
            remote["metadata"]["annotations"][ours::CREDENTIALS_REVISION] = json!("1");
        }
    }

    /// A NodePool as its Object asks for it.
    pub fn requested_pool(&self, group: &str) -> &Value {
        &self.objects[&format!("pool-{group}")].object["spec"]["forProvider"]["manifest"]
    }

    /// One round of provider-kubernetes over the Objects of NodePools, and over one that watches a HostedCluster.
    pub(super) fn provide_node_pools(&mut self) {
        let part = |name: &&String| name.starts_with("pool-") || (*name == "hosted" && !self.rests);
        let names: Vec<String> = self.objects.keys().filter(part).cloned().collect();
        for name in names {
            let Some(mut composed) = self.objects.remove(&name) else { continue };
            let object = &composed.object;
            let before = object["status"]["conditions"][0].clone();
            let deleting = !object["metadata"]["deletionTimestamp"].is_null();
            let policies = object["spec"]["managementPolicies"].clone();
            let manifest = object["spec"]["forProvider"]["manifest"].clone();
            let remote = manifest["metadata"]["name"].as_str().unwrap().to_owned();
            let dangling =
                !deleting && !object["spec"]["references"].is_null() && !self.objects.contains_key("cluster");
            let looks_alone = deleting && policies == json!(["Observe"]);
            // An observer names nothing that could be refused.
            let tries = manifest["spec"].is_object() && !dangling && !looks_alone;
            let existing = self.node_pools.get(&remote).filter(|_| tries && self.reachable);
            let full = policies == json!(["*"]) && !deleting;
            let refusal = existing.and_then(|existing| {
                let dry = composed.apply_remote(&self.fixed_of_pools, existing).err();
                let applied = || find_refusal(&manifest["spec"], &self.fixed_of_pools, &existing["spec"]);
                let applied = || Some(format!("update failed: cannot apply object: {}", applied()?));
                Some((existing, dry.or_else(|| applied().filter(|_| full))?))
            });
            let object = &mut composed.object;
            if !self.reachable {
                set_synced(
                    object,
                    Some("observe failed: cannot get object: dial tcp: connect: connection refused"),
                );
            } else if let Some((existing, words)) = refusal {
                object["status"]["atProvider"]["manifest"] = existing.clone();
                set_synced(object, Some(&words));
            } else if deleting && self.nodes_stay {
                set_synced(object, None);
            } else if deleting {
                if policies != json!(["Observe"]) {
                    self.node_pools.remove(&remote);
                }
                continue;
            } else if dangling {
                set_synced(
                    object,
                    Some(
                        "cannot resolve resource references: cannot get referenced resource: objects.kubernetes.crossplane.io \"managed-x\" not found",
                    ),
                );
            } else {
                object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
                if full {
                    let existing = self
                        .node_pools
                        .entry(remote.clone())
                        .or_insert_with(|| json!({ "metadata": { "uid": format!("pool-uid-{remote}") } }));
                    existing["spec"] = manifest["spec"].clone();
                    existing["metadata"]["name"] = manifest["metadata"]["name"].clone();
                    existing["metadata"]["namespace"] = manifest["metadata"]["namespace"].clone();
                }
                if let Some(existing) = self.node_pools.get(&remote) {
                    object["status"]["atProvider"]["manifest"] = existing.clone();
                    set_synced(object, None);
                } else {
                    let is_missing = policies == json!(["Observe"]);
                    set_synced(
                        object,
                        is_missing.then_some("observe failed: external resource does not exist"),
                    );
                }
            }
            // Each other message moves the time.
            let synced = &mut composed.object["status"]["conditions"][0];
            let is_same = ["status", "message"].iter().all(|field| synced[field] == before[field]);
            let since = Some(&before["lastTransitionTime"]).filter(|since| is_same && since.is_string());
            synced["lastTransitionTime"] = since.cloned().unwrap_or_else(|| json!(self.now));
            self.objects.insert(name, composed);
        }
    }
}

/// The version of an image of the catalogue's.
fn release_version(image: &Value) -> String {
    let tag = image.as_str().and_then(|image| image.rsplit(':').next());
    tag.unwrap().replace("-x86_64", "")
}

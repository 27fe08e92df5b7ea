//! Core's part of a pass: the request, the response applied, conditions, connection Secrets, garbage collection.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use jiff::Timestamp;
use prost::Message as _;
use serde_json::{Value, json};
use testplatform_composites::{
    Options, run,
    sdk::{
        proto::{
            Ready, RequestMeta, Resource, Resources, RunFunctionRequest, RunFunctionResponse, Severity,
            State, Status, Target, resource::ConnectionDetailsEntry,
        },
        wire,
    },
};

use super::{Composed, KUBECONFIG, NAME, REFERRED, World};
use crate::encode_struct;

impl World {
    /// The composite as the API server has it.
    pub fn composite(&self) -> Value {
        let mut spec = self.spec.clone();
        let mut metadata = json!({
            "name": NAME, "uid": self.uid, "creationTimestamp": "2026-11-21T10:00:00Z",
            "annotations": self.annotations,
        });
        let kind = if self.namespaced { "TestCluster" } else { "XTestPlatformCluster" };
        if self.namespaced {
            metadata["namespace"] = json!("tenant-a");
            spec["crossplane"] = json!({ "compositionRef": { "name": "c" } });
        } else if self.claim {
            spec["claimRef"] = json!({ "name": "demo", "namespace": "tenant-a" });
        }
        let mut status = self.status.clone();
        status["conditions"] = self.conditions.values().cloned().collect();
        json!({
            "apiVersion": "ci.openshift.org/v1alpha1", "kind": kind, "metadata": metadata,
            "spec": spec, "status": status,
        })
    }

    /// The request that core would send.
    pub fn request(&self) -> RunFunctionRequest {
        let composed = self.objects.iter().filter(|(name, _)| self.refs.contains(*name));
        let observed = State {
            composite: Some(resource(&self.composite(), &self.details)),
            resources: composed
                .map(|(name, c)| (name.clone(), resource(&c.object, &c.details).encode_to_vec().into()))
                .collect(),
        };
        RunFunctionRequest {
            meta: Some(RequestMeta { tag: "t".into(), capabilities: vec![] }),
            observed: Some(observed),
            desired: Some(State::default()),
            input: Some(encode_struct(&self.input)),
            required_resources: self.required_resources(),
            ..RunFunctionRequest::default()
        }
    }

    /// Resources that answer the requirements of the function.
    fn required_resources(&self) -> BTreeMap<String, Resources> {
        let config = |data: &Option<Value>| -> Vec<Value> {
            data.iter().map(|data| json!({ "data": data })).collect()
        };
        let mut required = BTreeMap::new();
        let mut add = |name: &str, objects: &[Value]| {
            let items = objects.iter().map(|object| resource(object, &BTreeMap::new())).collect();
            required.insert(name.to_owned(), Resources { items });
        };
        add("envcfg", &config(&self.environment));
        if let Some(claim) = &self.claim_object {
            add("claim", std::slice::from_ref(claim));
        }
        if let Some(other) = &self.other_side {
            add("handover", other);
        }
        if !self.spec["template"].is_null() {
            add("templates", &self.templates);
            if let Some(hubs) = &self.hubs {
                add("hubs", hubs);
                add("hub-facts", &self.hub_facts);
            }
        }
        let governed = self.input["quotasForCiOperator"] == true;
        if !self.spec["clusterClaim"].is_null() || !self.spec["template"].is_null() || governed {
            add("pools", &config(&self.catalogue));
            add("clusters", &self.peers);
            if self.input["bothFlavours"] == true {
                add("clusters-beside", &self.peers_beside);
            }
        }
        required
    }

    /// Calls the function until a pass of core succeeds. Core writes the references to Objects first, and that makes a new version of the
    /// composite. The answer is for the version before, so the API server refuses its status, and core calls the function again.
    pub fn pass(&mut self) -> RunFunctionResponse {
        const MAX_CONFLICTS: usize = 5;
        for _ in 0..MAX_CONFLICTS {
            let before = self.refs.clone();
            let response = self.pass_once();
            if self.refs == before {
                return response;
            }
        }
        panic!("the references change with every pass: {self:#?}");
    }

    /// One pass of core: calls the function, applies its answer, and checks the invariants. If the references change, the status is lost. The
    /// function itself checks its answer against the invariants of any response, and is FATAL where it violates one.
    pub fn pass_once(&mut self) -> RunFunctionResponse {
        let request = self.request();
        let response = run(&request, &Options::default(), self.now);
        let fatal: Vec<_> =
            response.results.iter().filter(|r| r.severity == i32::from(Severity::Fatal)).collect();
        assert!(fatal.is_empty(), "{fatal:?}");
        let fingerprint = fingerprint(&request, self.now);
        if self.fingerprint.replace(fingerprint) != Some(fingerprint) {
            self.assert_requirements_settle(request, &response);
        }
        let was = self.phase();
        let given = self.condition("ClusterReady").0 == "True" && self.has_a_copy();
        if self.compose_resources(&response) {
            return response;
        }
        self.apply(&response);
        self.assert_invariants(&was);
        let withdrawn = given && self.condition("ClusterReady").0 == "False";
        // The reason of a withdrawal is that the kubeconfig may not be handed on.
        let is_rejected = self.condition("CredentialsPublished").1 == "KubeconfigRejected";
        let may_withdraw = is_rejected || matches!(self.phase().as_str(), "Deprovisioned" | "Failed");
        assert!(!withdrawn || may_withdraw, "{self:#?}");
        response
    }

    /// A pass that breaks off in core's garbage collection, which comes first and takes what it meets first: one Object is taken away, if it
    /// was to be, and nothing else is done. A conflict over the next one is enough for that.
    pub fn breaks_off(&mut self, name: &str) {
        let retained = self.desired_names();
        if self.refs.contains(name) && !retained.contains(name) {
            self.delete(name);
        }
    }

    /// A pass that breaks off after it: core has written what it refers to from now on, and applied nothing.
    pub fn applies_nothing(&mut self) {
        let retained = self.desired_names();
        for name in std::mem::replace(&mut self.refs, retained) {
            if !self.refs.contains(&name) {
                self.delete(&name);
            }
        }
    }

    /// A pass that breaks off later, at the second Object that it applies: of all that is to be, it has applied the one of this name.
    pub fn applies_only(&mut self, name: &str) {
        let response = run(&self.request(), &Options::default(), self.now);
        let bytes = response.desired.unwrap().resources.remove(name).unwrap();
        self.applies_nothing();
        self.compose_object(name, &wire::to_value(&Resource::decode(bytes).unwrap().resource).unwrap());
    }

    /// Names of what the function wants.
    fn desired_names(&self) -> BTreeSet<String> {
        let response = run(&self.request(), &Options::default(), self.now);
        response.desired.unwrap().resources.into_keys().collect()
    }

    /// Core ≤ 2.3 fetches what is required and asks again, until two answers in a row require the same; after five it gives the pass up.
    /// `answered` is what the whole was answered with: where everything is asked for, that is the second answer too.
    fn assert_requirements_settle(&self, whole: RunFunctionRequest, answered: &RunFunctionResponse) {
        let required =
            |request: &RunFunctionRequest| run(request, &Options::default(), self.now).requirements;
        let mut fetched = whole;
        let all = std::mem::take(&mut fetched.required_resources);
        let first = required(&fetched);
        let requested = first.iter().flat_map(|r| r.resources.keys().chain(r.extra_resources.keys()));
        fetched.required_resources =
            requested.filter_map(|name| Some((name.clone(), all.get(name)?.clone()))).collect();
        let second = if fetched.required_resources.len() == all.len() {
            answered.requirements.clone()
        } else {
            required(&fetched)
        };
        assert_eq!(second, first, "what is required depends on what was fetched");
    }

    /// `true` if core shows the kubeconfig in one of the Secrets here, and could deliver it.
    fn has_a_copy(&self) -> bool {
        if self.claim_object.as_ref().is_some_and(refuses_secret) {
            return false;
        }
        let has =
            |details: &BTreeMap<String, String>| details.get("kubeconfig").is_some_and(|k| !k.is_empty());
        let shown = self.objects.get("credentials").filter(|_| self.refs.contains("credentials"));
        has(&self.details) || shown.is_some_and(|credentials| has(&credentials.details))
    }

    fn assert_invariants(&self, was: &str) {
        // Konflux's task for deprovisioning takes every other reason for a failure.
        let over = &self.conditions["ProwJobCompleted"];
        let ended_well = self.phase() == "Deprovisioned" && over["status"] == "True";
        assert!(!ended_well || over["reason"] == "ProwJobCompleted", "{over}");
        if was == "Failed" {
            assert_eq!(self.phase(), "Failed", "Failed is final");
        }
        if was == "Deprovisioned" {
            assert_eq!(self.phase(), "Deprovisioned", "the end is final");
        }
        // Many people read nothing else.
        if self.phase() == "Failed" && self.condition("RequestAccepted").1 == "HubRefused" {
            let reason = self.conditions["RequestAccepted"]["message"].as_str().unwrap();
            let message = self.status["message"].as_str().unwrap();
            let is_refused = message.starts_with("the hub refused the request");
            assert!(!is_refused || message.contains(reason), "{reason}: {message}");
        }
        // The only copy that a composite in a namespace has can be lost; it is then said, and written anew. Ready it stays.
        let was_ready = matches!(was, "Ready" | "Degraded" | "Deprovisioning");
        let condition = if self.namespaced && was_ready { "CredentialsPublished" } else { "ClusterReady" };
        // Core's claim controller reports a failed write only afterwards.
        if self.condition(condition).0 == "True" && self.claim_object.is_none() {
            assert_eq!(self.tenant.get("kubeconfig").map(String::as_str), Some(KUBECONFIG), "{self:#?}");
        }
        assert!(self.made <= 2, "asked for more than twice");
        assert!(self.taken.len() <= 1, "paid for twice: {self:#?}");
        let job = self.condition("ProwJobCompleted");
        if job.0 == "True" {
            assert!(!self.installs || self.lets_go(), "a cluster of its pool is paid for: {self:#?}");
            assert!(!self.objects.contains_key("credentials"), "no copy of the kubeconfig is left: {job:?}");
            assert!(self.details.values().chain(self.tenant.values()).all(String::is_empty), "{self:#?}");
        }
    }

    /// Differences for a composite in a namespace: core refuses an Object without a namespace, and has no connection Secret.
    fn assert_accepted(&self, response: &RunFunctionResponse) {
        let desired = response.desired.as_ref().unwrap();
        let details = &desired.composite.as_ref().unwrap().connection_details;
        assert!(!self.namespaced || details.is_empty(), "{details:?}");
        let claimed =
            if self.claim && !self.namespaced { Target::CompositeAndClaim } else { Target::Composite };
        assert!(response.conditions.iter().all(|c| c.target() == claimed));
        assert!(response.results.iter().all(|r| r.target() == claimed));
        for (name, bytes) in &desired.resources {
            let object = wire::to_value(&Resource::decode(bytes.clone()).unwrap().resource).unwrap();
            let (version, namespace, config) = if self.namespaced {
                ("kubernetes.m.crossplane.io/v1alpha1", json!("tenant-a"), json!("ClusterProviderConfig"))
            } else {
                ("kubernetes.crossplane.io/v1alpha2", Value::Null, Value::Null)
            };
            assert_eq!(object["apiVersion"], version, "{name}");
            assert_eq!(object["metadata"]["namespace"], namespace, "{name}");
            assert_eq!(object["spec"]["providerConfigRef"]["kind"], config, "{name}");
        }
    }

    /// The Secret of a tenant with a composite in their namespace is the one that `credentials` writes, and goes with it.
    pub(super) fn deliver_secret(&mut self) {
        if self.namespaced {
            self.tenant = self.objects.get("credentials").map(|c| c.details.clone()).unwrap_or_default();
        }
    }

    /// Applies the desired resources and deletes the others. Whether the references to them changed.
    fn compose_resources(&mut self, response: &RunFunctionResponse) -> bool {
        self.assert_accepted(response);
        let desired = response.desired.as_ref().unwrap();
        let references = desired.resources.keys().cloned().collect();
        let before = std::mem::replace(&mut self.refs, references);
        for name in &before {
            if !self.refs.contains(name) {
                self.delete(name);
            }
        }
        for (name, bytes) in &desired.resources {
            let resource = Resource::decode(bytes.clone()).unwrap();
            self.compose_object(name, &wire::to_value(&resource.resource).unwrap());
        }
        before != self.refs
    }

    /// Writes status, connection details, conditions and events.
    fn apply(&mut self, response: &RunFunctionResponse) {
        let desired = response.desired.as_ref().unwrap();
        let composite = desired.composite.as_ref().unwrap();
        self.status = wire::to_value(&composite.resource).unwrap()["status"].clone();
        for entry in &composite.connection_details {
            // Go reads nil for a value that is not on the wire, and core then deletes the key.
            match &entry.value {
                Some(value) => {
                    self.details.insert(entry.key.clone(), String::from_utf8(value.to_vec()).unwrap())
                }
                None => self.details.remove(&entry.key),
            };
        }
        for c in &response.conditions {
            let status = Status::try_from(c.status).unwrap().as_str_name();
            let status = match status {
                "STATUS_CONDITION_TRUE" => "True",
                "STATUS_CONDITION_FALSE" => "False",
                _ => "Unknown",
            };
            self.set_condition(&c.r#type, status, &c.reason, c.message.as_deref().unwrap());
        }
        let ready = composite.ready == i32::from(Ready::True);
        self.set_condition("Ready", if ready { "True" } else { "False" }, "", "");
        let refused = self.claim_object.as_ref().is_some_and(refuses_secret);
        if ready && !self.namespaced && !refused {
            self.tenant = self.details.clone();
        }
        self.deliver_secret();
        self.events.extend(response.results.iter().map(|r| r.reason.clone().unwrap()));
    }

    /// Core applies an Object.
    fn compose_object(&mut self, name: &str, wanted: &Value) {
        if name == "topology" && self.made == 0 && !self.objects.contains_key(name) {
            self.checks_orders(wanted);
        }
        let mut metadata = json!({ "generation": 0, "annotations": {}, "creationTimestamp": self.now });
        if self.unreferred {
            metadata["uid"] = json!(format!("uid-{name}"));
        }
        let composed = self.objects.entry(name.to_owned()).or_insert_with(|| Composed {
            object: json!({ "metadata": metadata, "spec": {} }),
            ..Composed::default()
        });
        if self.unreferred {
            apply_finalizers(&mut composed.object, wanted);
        }
        merge(&mut composed.object, wanted);
    }

    /// Core's garbage collection deletes an Object, and does not wait for it to go.
    fn delete(&mut self, name: &str) {
        let Some(composed) = self.objects.get_mut(name) else { return };
        let metadata = &mut composed.object["metadata"];
        // Nothing keeps one that provider-kubernetes did not set its finalizer on, or that only observes.
        if name == "credentials" || metadata["finalizers"].is_null() {
            self.objects.remove(name);
            if self.made == 0 {
                // Nothing is left behind there.
                self.place = None;
            }
            return;
        }
        if metadata["deletionTimestamp"].is_null() {
            metadata["deletionTimestamp"] = json!(self.now);
            metadata["generation"] = json!(metadata["generation"].as_i64().unwrap() + 1);
        }
    }

    fn set_condition(&mut self, type_: &str, status: &str, reason: &str, message: &str) {
        let since = match self.conditions.get(type_) {
            Some(old) if old["status"] == status => old["lastTransitionTime"].clone(),
            _ => json!(self.now),
        };
        self.conditions.insert(
            type_.to_owned(),
            json!({ "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": since }),
        );
    }

    /// A pass that failed elsewhere: core sets all custom conditions Unknown/FatalError.
    pub fn fail_pass(&mut self) {
        for (type_, condition) in &mut self.conditions {
            if type_ != "Ready" {
                condition["status"] = json!("Unknown");
                condition["reason"] = json!("FatalError");
                condition["message"] =
                    json!("a Fatal error occurred before the status of this condition could be determined");
            }
        }
    }
}

/// Identifies a request. The same request has the same requirements.
fn fingerprint(request: &RunFunctionRequest, now: Timestamp) -> u64 {
    let mut hasher = DefaultHasher::new();
    (request.encode_to_vec(), now).hash(&mut hasher);
    hasher.finish()
}

fn resource(object: &Value, details: &BTreeMap<String, String>) -> Resource {
    let details = details
        .iter()
        .map(|(k, v)| ConnectionDetailsEntry { key: k.clone(), value: Some(v.clone().into_bytes().into()) })
        .collect();
    Resource { resource: encode_struct(object), connection_details: details, ready: 0 }
}

/// Server-side apply takes back what it alone has said of finalizers, and adds none to what is on its way out.
fn apply_finalizers(object: &mut Value, wanted: &Value) {
    let finalizers = |of: &Value| of["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let (mut kept_finalizers, wanted) = (finalizers(object), finalizers(wanted));
    let new = wanted.iter().any(|finalizer| !kept_finalizers.contains(finalizer));
    assert!(object["metadata"]["deletionTimestamp"].is_null() || !new, "too late: {wanted:?}");
    kept_finalizers.retain(|finalizer| !finalizer.as_str().unwrap().starts_with(REFERRED));
    kept_finalizers.extend(wanted);
    if !kept_finalizers.is_empty() {
        object["metadata"]["finalizers"] = kept_finalizers.into();
    }
}

/// Server-side apply of the one field manager that there is, with the defaults of the Object CRD.
fn merge(object: &mut Value, wanted: &Value) {
    let mut spec = wanted["spec"].clone();
    if spec["managementPolicies"].is_null() {
        spec["managementPolicies"] = json!(["*"]);
    }
    let old = object["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    let mut annotations = wanted["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    annotations.extend(old.into_iter().filter(|(k, _)| k.starts_with("crossplane.io/external-")));
    if object["spec"] != spec {
        object["metadata"]["generation"] = json!(object["metadata"]["generation"].as_i64().unwrap() + 1);
    }
    // provider-kubernetes takes its finalizer off what an Object depends on, and looks up what that is as it goes.
    let goes = object["metadata"]["deletionTimestamp"].is_string() && object["spec"]["references"].is_array();
    assert!(!goes || spec["references"].is_array(), "what it depends on would be held for ever: {object}");
    for field in ["apiVersion", "kind"] {
        object[field] = wanted[field].clone();
    }
    object["metadata"]["name"] = wanted["metadata"]["name"].clone();
    object["metadata"]["labels"] =
        wanted["metadata"]["labels"].as_object().cloned().unwrap_or_default().into();
    object["metadata"]["annotations"] = annotations.into();
    object["spec"] = spec;
}

/// `true` if core's claim controller reports an error in writing the Secret.
fn refuses_secret(claim: &Value) -> bool {
    let mut conditions = claim["status"]["conditions"].as_array().into_iter().flatten();
    let words = "cannot create or update connection secret";
    conditions.any(|c| c["type"] == "Synced" && c["message"].as_str().is_some_and(|m| m.contains(words)))
}

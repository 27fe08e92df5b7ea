//! A small model of everything around the function: core, provider-kubernetes v1.2.1 and the hub, by the rules
//! of their specs. Every pass is checked against the invariants.

use std::collections::{BTreeMap, BTreeSet};

use function_testplatform::{
    Options, check, judge,
    proto::{Ready, Resource, RunFunctionResponse, Severity, Status},
    run, wire,
};
use jiff::{SignedDuration, Timestamp};
use prost::Message as _;
use serde_json::{Value, json};
use testplatform_apis::ci_operator;
use testplatform_apis::names::ours;

pub const NAME: &str = "demo-x7k2p";
pub const KUBECONFIG: &str = "apiVersion: v1 # kubeconfig of the cluster, secret";
pub const PASSWORD: &str = "secret-password-1";

/// A composed Object and its connection Secret.
#[derive(Clone, Debug)]
pub struct Composed {
    pub object: Value,
    pub details: BTreeMap<String, String>,
}

/// The world around one claim.
#[derive(Clone, Debug)]
pub struct World {
    pub now: Timestamp,
    pub spec: Value,
    pub annotations: Value,
    pub claim: bool,
    pub input: Value,
    pub environment: Option<Value>,
    /// The catalogue of pools.
    pub catalogue: Option<Value>,
    /// The other composites.
    pub peers: Vec<Value>,
    pub status: Value,
    pub conditions: BTreeMap<String, Value>,
    /// The composite's connection Secret.
    pub details: BTreeMap<String, String>,
    /// The Secret in the tenant's namespace.
    pub tenant: BTreeMap<String, String>,
    /// The composed Objects that there are, those on their way out included.
    pub objects: BTreeMap<String, Composed>,
    /// What core has references to, and so observes: what was desired last. An Object that is on its way out is not seen
    /// any more, unless it is desired again.
    pub refs: BTreeSet<String>,
    /// The remote object on the hub.
    pub remote: Option<Value>,
    /// Where the remote object was first made: hub, namespace and name. It never moves.
    pub place: Option<(String, String, String)>,
    pub secrets: BTreeMap<String, (String, String)>,
    pub reachable: bool,
    /// What the hub answers to a create or update, if it refuses.
    pub refuses: Option<String>,
    /// How many remote objects were ever made.
    pub made: usize,
    /// How many of them the hub took up, and so were paid for.
    pub taken: BTreeSet<String>,
    /// Reasons of the events so far.
    pub events: Vec<String>,
}

impl Default for World {
    fn default() -> Self {
        let created = "2026-11-21T10:00:00Z".parse().unwrap();
        Self {
            now: created,
            spec: json!({ "ciOperator": { "test": { "workflow": "ipi-aws", "clusterProfile": "aws" } } }),
            annotations: json!({}),
            claim: true,
            input: json!({ "apiVersion": "testplatform.fn.crossplane.io/v1beta1", "kind": "Input" }),
            environment: Some(json!({ "clusterName": "stone-prd" })),
            catalogue: None,
            peers: vec![],
            status: json!({}),
            conditions: BTreeMap::new(),
            details: BTreeMap::new(),
            tenant: BTreeMap::new(),
            objects: BTreeMap::new(),
            refs: BTreeSet::new(),
            remote: None,
            place: None,
            secrets: BTreeMap::new(),
            reachable: true,
            refuses: None,
            made: 0,
            taken: BTreeSet::new(),
            events: vec![],
        }
    }
}

impl World {
    /// The request that core would send.
    pub fn request(&self) -> function_testplatform::proto::RunFunctionRequest {
        let mut spec = self.spec.clone();
        if self.claim {
            spec["claimRef"] = json!({ "name": "demo", "namespace": "tenant-a" });
        }
        let mut status = self.status.clone();
        status["conditions"] = self.conditions.values().cloned().collect();
        let resources: serde_json::Map<_, _> = self
            .objects
            .iter()
            .filter(|(name, _)| self.refs.contains(*name))
            .map(|(name, c)| {
                (name.clone(), json!({ "resource": c.object, "connectionDetails": encoded(&c.details) }))
            })
            .collect();
        let config = |data: &Option<Value>| -> Vec<Value> {
            data.iter().map(|data| json!({ "resource": { "data": data } })).collect()
        };
        let peers: Vec<_> = self.peers.iter().map(|peer| json!({ "resource": peer })).collect();
        let mut required = json!({ "envcfg": { "items": config(&self.environment) } });
        if !self.spec["clusterClaim"].is_null() {
            required["pools"] = json!({ "items": config(&self.catalogue) });
            required["clusters"] = json!({ "items": peers });
        }
        super::request(&json!({
            "meta": { "tag": "t" },
            "input": self.input,
            "observed": {
                "composite": {
                    "resource": {
                        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformCluster",
                        "metadata": {
                            "name": NAME, "uid": "xr-uid", "creationTimestamp": "2026-11-21T10:00:00Z",
                            "annotations": self.annotations,
                        },
                        "spec": spec, "status": status,
                    },
                    "connectionDetails": encoded(&self.details),
                },
                "resources": resources,
            },
            "desired": {},
            "requiredResources": required,
        }))
    }

    /// One pass of core: calls the function, applies what it says, and checks the invariants of any response.
    pub fn pass(&mut self) -> RunFunctionResponse {
        let request = self.request();
        let response = run(&request, &Options::default(), self.now);
        let fatal: Vec<_> =
            response.results.iter().filter(|r| r.severity == i32::from(Severity::Fatal)).collect();
        assert!(fatal.is_empty(), "{fatal:?}");
        let judged = judge(&request, self.now, ci_operator::schema()).unwrap();
        assert_eq!(check::violation(&response, &request, &judged), None);
        let was = self.phase();
        self.apply(&response);
        self.invariants(&was);
        response
    }

    fn invariants(&self, was: &str) {
        if was == "Failed" {
            assert_eq!(self.phase(), "Failed", "Failed is final");
        }
        if was == "Deprovisioned" {
            assert_eq!(self.phase(), "Deprovisioned", "the end is final");
        }
        if self.condition("ClusterReady").0 == "True" {
            assert_eq!(self.tenant.get("kubeconfig").map(String::as_str), Some(KUBECONFIG), "{self:#?}");
        }
        assert!(self.made <= 2, "asked for more than twice");
        assert!(self.taken.len() <= 1, "paid for twice: {self:#?}");
        let job = self.condition("ProwJobCompleted");
        if job.0 == "True" {
            assert!(!self.objects.contains_key("credentials"), "no copy of the kubeconfig is left: {job:?}");
            assert!(self.details.values().chain(self.tenant.values()).all(String::is_empty), "{self:#?}");
        }
    }

    fn apply(&mut self, response: &RunFunctionResponse) {
        let desired = response.desired.as_ref().unwrap();
        for name in std::mem::take(&mut self.refs) {
            if !desired.resources.contains_key(&name) {
                self.delete(&name);
            }
        }
        self.refs = desired.resources.keys().cloned().collect();
        for (name, bytes) in &desired.resources {
            let resource = Resource::decode(bytes.clone()).unwrap();
            let wanted = wire::to_value(&resource.resource).unwrap();
            let composed = self.objects.entry(name.clone()).or_insert_with(|| Composed {
                object: json!({ "metadata": { "generation": 0, "annotations": {} }, "spec": {} }),
                details: BTreeMap::new(),
            });
            merge(&mut composed.object, &wanted);
        }
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
            self.show(&c.r#type, status, &c.reason, c.message.as_deref().unwrap());
        }
        let ready = composite.ready == i32::from(Ready::True);
        self.show("Ready", if ready { "True" } else { "False" }, "", "");
        if ready {
            self.tenant = self.details.clone();
        }
        self.events.extend(response.results.iter().map(|r| r.reason.clone().unwrap()));
    }

    /// Core's garbage collection deletes an Object, and does not wait for it to go.
    fn delete(&mut self, name: &str) {
        let Some(composed) = self.objects.get_mut(name) else { return };
        let metadata = &mut composed.object["metadata"];
        // Nothing keeps one that provider-kubernetes did not set its finalizer on, or that only observes.
        if name == "credentials" || metadata["finalizers"].is_null() {
            self.objects.remove(name);
            return;
        }
        if metadata["deletionTimestamp"].is_null() {
            metadata["deletionTimestamp"] = json!(self.now);
            metadata["generation"] = json!(metadata["generation"].as_i64().unwrap() + 1);
        }
    }

    fn show(&mut self, type_: &str, status: &str, reason: &str, message: &str) {
        let since = match self.conditions.get(type_) {
            Some(old) if old["status"] == status => old["lastTransitionTime"].clone(),
            _ => json!(self.now),
        };
        self.conditions.insert(
            type_.to_owned(),
            json!({ "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": since }),
        );
    }

    /// One round of provider-kubernetes over both Objects.
    pub fn provider(&mut self) {
        for name in ["ec", "claim"] {
            let Some(mut writer) = self.objects.remove(name) else { continue };
            let deleting = !writer.object["metadata"]["deletionTimestamp"].is_null();
            if !deleting {
                self.reconcile_writer(&mut writer.object);
            }
            if !deleting || self.still_deleting(&mut writer.object) {
                self.objects.insert(name.into(), writer);
            }
        }
        if let Some(mut credentials) = self.objects.remove("credentials") {
            self.reconcile_credentials(&mut credentials);
            self.objects.insert("credentials".into(), credentials);
        }
    }

    fn reconcile_writer(&mut self, object: &mut Value) {
        let manifest = object["spec"]["forProvider"]["manifest"].clone();
        let policies = &object["spec"]["managementPolicies"];
        let full = *policies == json!(["*"]);
        let pin = manifest["metadata"]["uid"].clone();
        self.stays_in_place(object);
        if !self.reachable {
            return synced(
                object,
                Some("observe failed: cannot get object: dial tcp: connect: connection refused"),
            );
        }
        let Some(remote) = &mut self.remote else {
            if *policies == json!(["Observe"]) {
                return synced(object, Some("observe failed: external resource does not exist"));
            }
            finalize(object);
            if !full {
                return synced(object, None);
            }
            object["metadata"]["annotations"]["crossplane.io/external-create-pending"] = json!(self.now);
            if let Some(uid) = pin.as_str() {
                let words = format!(
                    "create failed: cannot create object: cannot create object: Operation cannot be fulfilled on x \"{NAME}\": uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return synced(object, Some(&words));
            }
            if let Some(words) = &self.refuses {
                return synced(
                    object,
                    Some(&format!("create failed: cannot create object: cannot create object: {words}")),
                );
            }
            self.remote = Some(manifest);
            self.name();
            object["metadata"]["annotations"]["crossplane.io/external-create-succeeded"] = json!(self.now);
            return synced(object, None);
        };
        object["status"]["atProvider"]["manifest"] = remote.clone();
        // Whatever it may do, it tries what it would do.
        if let Some(uid) = pin.as_str().filter(|uid| *uid != remote["metadata"]["uid"]) {
            let words = format!(
                "observe failed: cannot get desired state: cannot dry run SSA: X \"{NAME}\" is invalid: metadata.uid: Invalid value: \"{uid}\": field is immutable"
            );
            return synced(object, Some(&words));
        }
        finalize(object);
        if !full {
            return synced(object, None);
        }
        let uid = remote["metadata"]["uid"].clone();
        // Server-side apply leaves to others what is theirs.
        let bound = remote["spec"]["namespace"].clone();
        remote["spec"] = manifest["spec"].clone();
        if !bound.is_null() {
            remote["spec"]["namespace"] = bound;
        }
        let theirs = [ours::CREDENTIALS_REVISION, ours::DIAGNOSTICS, ours::STATUS]
            .map(|key| (key, remote["metadata"]["annotations"][key].clone()));
        let deleted = remote["metadata"]["deletionTimestamp"].clone();
        remote["metadata"] = manifest["metadata"].clone();
        remote["metadata"]["uid"] = uid;
        if !deleted.is_null() {
            remote["metadata"]["deletionTimestamp"] = deleted;
        }
        for (key, value) in theirs.into_iter().filter(|(_, value)| !value.is_null()) {
            remote["metadata"]["annotations"][key] = value;
        }
        object["status"]["atProvider"]["manifest"] = remote.clone();
        synced(object, None);
    }

    /// The hub gives a new remote object its uid.
    fn name(&mut self) {
        self.made += 1;
        if let Some(remote) = &mut self.remote {
            remote["metadata"]["uid"] = json!(format!("remote-{}", self.made));
        }
    }

    /// A create of which provider-kubernetes never heard that it succeeded.
    pub fn make(&mut self) {
        self.remote = Some(self.objects[self.writer()].object["spec"]["forProvider"]["manifest"].clone());
        self.name();
    }

    /// Composition resource name of the writer.
    pub fn writer(&self) -> &'static str {
        if self.objects.contains_key("claim") || !self.spec["clusterClaim"].is_null() {
            "claim"
        } else {
            "ec"
        }
    }

    fn reconcile_credentials(&mut self, credentials: &mut Composed) {
        let object = &mut credentials.object;
        if object["metadata"]["annotations"]["crossplane.io/paused"] == "true" {
            return synced(object, Some("reconciliation is paused"));
        }
        let name = object["spec"]["forProvider"]["manifest"]["metadata"]["name"].as_str().unwrap().to_owned();
        if !self.reachable {
            return synced(object, Some("observe failed: cannot get object: Unauthorized"));
        }
        let Some((kubeconfig, password)) = self.secrets.get(&name) else {
            return synced(object, Some("observe failed: external resource does not exist"));
        };
        object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
        object["status"]["atProvider"]["manifest"] =
            json!({ "metadata": { "name": name }, "data": { "redacted": null } });
        credentials.details.insert("kubeconfig".into(), kubeconfig.clone());
        credentials.details.insert("kubeAdminPassword".into(), password.clone());
        synced(object, None);
    }

    /// Passes and rounds until nothing changes. At rest the same bytes come again, and no event.
    pub fn settle(&mut self) {
        let mut last = None;
        for _ in 0..20 {
            let bytes = self.pass().encode_to_vec();
            if last.as_ref() == Some(&bytes) {
                let events = self.events.len();
                self.pass();
                assert_eq!(self.events.len(), events, "events at rest: {:?}", self.events);
                return;
            }
            last = Some(bytes);
            self.provider();
        }
        panic!("does not settle: {:#?}", self.conditions);
    }

    /// The hub's controller reports.
    pub fn hub(&mut self, phase: &str, conditions: &[(&str, &str, &str, &str)]) {
        let Some(remote) = &mut self.remote else { return };
        let uid = remote["metadata"]["uid"].as_str().unwrap();
        if phase != "Failed" && uid.starts_with("remote-") {
            self.taken.insert(uid.to_owned());
        }
        let conditions: Vec<_> = conditions
            .iter()
            .map(|(t, s, r, m)| json!({ "type": t, "status": s, "reason": r, "message": m, "lastTransitionTime": self.now }))
            .collect();
        let status = &mut remote["status"];
        status["phase"] = json!(phase);
        status["conditions"] = json!(conditions);
        if phase != "Failed" {
            status["prowJobId"] = json!("job-1");
            status["prowJobURL"] = json!("https://prow.example/view/1");
        }
    }

    /// The hub is ready and has published the credentials.
    pub fn hub_ready(&mut self) {
        let secret = format!("{NAME}-credentials");
        self.secrets.insert(secret.clone(), (KUBECONFIG.into(), PASSWORD.into()));
        self.hub("Ready", &[("ClusterReady", "True", "", "")]);
        if let Some(remote) = &mut self.remote {
            remote["status"]["secretRef"] = json!(secret);
        }
    }

    /// The job ended.
    pub fn hub_done(&mut self, phase: &str) {
        let reason = if phase == "Failed" { "ProwJobFailure" } else { "ProwJobCompleted" };
        self.hub(phase, &[("ProwJobCompleted", "True", reason, "prowjob state: done")]);
        self.secrets.clear();
    }

    /// Ready, credentials and all.
    pub fn ready() -> Self {
        let mut world = Self::default();
        world.settle();
        world.hub("Provisioning", &[]);
        world.settle();
        world.hub_ready();
        world.settle();
        assert_eq!(world.phase(), "Ready");
        world
    }

    /// A restore: the status of claim and composite is dropped.
    pub fn drop_status(&mut self) {
        self.status = json!({});
        self.conditions.clear();
    }

    /// Whether the writer names the remote object that there is by its uid.
    pub fn pinned(&self) -> bool {
        let uid = |object: &Value| object["metadata"]["uid"].as_str().map(str::to_owned);
        let writer =
            self.objects.get(self.writer()).and_then(|ec| uid(&ec.object["spec"]["forProvider"]["manifest"]));
        writer.is_some() && writer == self.remote.as_ref().and_then(uid)
    }

    /// The hub-side provider's annotation, as it is observed.
    pub fn provider_keeps(&mut self, key: &str, value: &str) {
        let ec = self.objects.get_mut(self.writer()).unwrap();
        ec.object["status"]["atProvider"]["manifest"]["metadata"]["annotations"][key] = json!(value);
    }

    /// A pass that failed elsewhere: core sets all custom conditions Unknown/FatalError.
    pub fn fatal(&mut self) {
        for (type_, condition) in &mut self.conditions {
            if type_ != "Ready" {
                condition["status"] = json!("Unknown");
                condition["reason"] = json!("FatalError");
                condition["message"] =
                    json!("a Fatal error occurred before the status of this condition could be determined");
            }
        }
    }

    pub fn later(&mut self, by: SignedDuration) {
        self.now += by;
    }

    pub fn phase(&self) -> String {
        self.status["phase"].as_str().unwrap_or_default().to_owned()
    }

    /// Status and reason.
    pub fn condition(&self, type_: &str) -> (String, String) {
        let c = self.conditions.get(type_).cloned().unwrap_or_default();
        let text = |field: &str| c[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"))
    }

    pub fn word(&self) -> String {
        self.conditions["_EphemeralClusterPhase"]["message"].as_str().unwrap().to_owned()
    }

    pub fn policies(&self) -> Value {
        self.objects[self.writer()].object["spec"]["managementPolicies"].clone()
    }
}

fn encoded(details: &BTreeMap<String, String>) -> Value {
    details
        .iter()
        .map(|(k, v)| (k.clone(), super::encode64(v.as_bytes()).into()))
        .collect::<serde_json::Map<_, _>>()
        .into()
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
    object["metadata"]["name"] = wanted["metadata"]["name"].clone();
    object["metadata"]["labels"] =
        wanted["metadata"]["labels"].as_object().cloned().unwrap_or_default().into();
    object["metadata"]["annotations"] = annotations.into();
    object["spec"] = spec;
}

/// Setting its finalizer makes provider-kubernetes forget what it has observed in the same round.
fn finalize(object: &mut Value) {
    if object["metadata"]["finalizers"].is_null() {
        object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
        object["status"] = json!({});
    }
}

pub fn synced(object: &mut Value, error: Option<&str>) {
    let (status, reason) = match error {
        None => ("True", "ReconcileSuccess"),
        Some("reconciliation is paused") => ("False", "ReconcilePaused"),
        Some(_) => ("False", "ReconcileError"),
    };
    object["status"]["conditions"] = json!([{
        "type": "Synced", "status": status, "reason": reason, "message": error.unwrap_or_default(),
        "observedGeneration": object["metadata"]["generation"],
    }]);
}

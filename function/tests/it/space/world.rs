//! A small model of everything around the function for a space: core, provider-kubernetes, the hub and the provider on it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use prost::Message as _;
use serde_json::{Value, json};
use testplatform_apis::{
    names::{crossplane, ours},
    space::keys,
};
use testplatform_composites::{
    Evaluation, Options, run,
    sdk::{
        proto::{Ready, Resource, RunFunctionResponse, Severity, Status},
        wire,
    },
};

pub const XR: &str = "my-namespace-1.0-abcde";
pub const NAMESPACE: &str = "my-namespace-1-0-abcde";
pub const SERVER: &str = "https://api.hub.example.com:6443";

type Details = BTreeMap<String, String>;

#[derive(Clone, Debug)]
pub struct SpaceWorld {
    pub name: String,
    pub input: Option<Value>,
    pub claimed: bool,
    pub status: Value,
    pub conditions: BTreeMap<String, Value>,
    /// The composed Objects, and what the connection Secret of each holds.
    pub objects: BTreeMap<String, Value>,
    pub details: BTreeMap<String, Details>,
    /// The composite's connection Secret.
    pub given: Details,
    pub ready: bool,
    /// Objects on the hub, by kind and name.
    pub hub: BTreeMap<String, Value>,
    /// Credentials that the provider published, by namespace uid; how often it did.
    pub published: Option<(String, Details)>,
    pub issued: usize,
    /// Requests of provider-kubernetes that the hub had to refuse.
    pub noise: Vec<String>,
    pub events: Vec<String>,
    pub born: usize,
}

impl Default for SpaceWorld {
    fn default() -> Self {
        Self {
            name: XR.into(),
            input: None,
            claimed: true,
            status: json!({}),
            conditions: BTreeMap::new(),
            objects: BTreeMap::new(),
            details: BTreeMap::new(),
            given: BTreeMap::new(),
            ready: false,
            hub: BTreeMap::new(),
            published: None,
            issued: 0,
            noise: vec![],
            events: vec![],
            born: 0,
        }
    }
}

fn now() -> Timestamp {
    "2026-11-23T10:00:00Z".parse().unwrap()
}

pub fn token(number: usize) -> String {
    format!("not-a-real-token-{number}")
}

impl SpaceWorld {
    pub fn request(&self) -> Value {
        let mut status = self.status.clone();
        status["conditions"] = self.conditions.values().cloned().collect();
        let encoded = |details: &Details| -> Value {
            details
                .iter()
                .map(|(k, v)| (k.clone(), Value::from(function_model::encode_base64(v.as_bytes()))))
                .collect()
        };
        let none = Details::new();
        let resources: serde_json::Map<_, _> = self
            .objects
            .iter()
            .map(|(name, o)| {
                let details = encoded(self.details.get(name).unwrap_or(&none));
                (name.clone(), json!({ "resource": o, "connectionDetails": details }))
            })
            .collect();
        let mut spec = json!({});
        if self.claimed {
            spec["claimRef"] = json!({ "name": "my-namespace-1.0", "namespace": "team-a" });
        }
        let mut request = json!({
            "meta": { "tag": "t" },
            "observed": {
                "composite": {
                    "resource": {
                        "apiVersion": "eaas.konflux-ci.dev/v1alpha1", "kind": "XNamespace",
                        "metadata": { "name": self.name, "uid": "xr-uid" }, "spec": spec, "status": status,
                    },
                    "connectionDetails": encoded(&self.given),
                },
                "resources": resources,
            },
            "desired": {},
        });
        if let Some(input) = &self.input {
            request["input"] = input.clone();
        }
        request
    }

    /// One pass of core: calls the function, checks the invariants and does what it says.
    pub fn pass(&mut self) -> RunFunctionResponse {
        let request = function_model::request_from_json(&self.request());
        let response = run(&request, &Options::default(), now());
        assert_eq!(response, run(&request, &Options::default(), now()), "the same bytes");
        let fatal = response.results.iter().find(|r| r.severity() == Severity::Fatal);
        assert!(fatal.is_none(), "{fatal:?}");
        let thought = Evaluation::of(&request, now()).unwrap();
        assert_eq!(thought.find_violation(&response, &request), None);
        assert!(!thought.explain_response(&response).is_empty());
        assert!(response.requirements.is_none(), "nothing is asked for");
        self.events.extend(response.results.iter().map(|r| r.reason.clone().unwrap_or_default()));
        let desired = response.desired.clone().unwrap();
        for name in self.objects.keys() {
            assert!(desired.resources.contains_key(name), "{name} was dropped");
        }
        for (name, bytes) in &desired.resources {
            let resource = Resource::decode(bytes.clone()).unwrap();
            let object = wire::to_value(&resource.resource).unwrap();
            assert!(!object.to_string().contains("no value"), "{object}");
            assert!(!object.to_string().contains("not-a-real"), "a secret: {object}");
            self.applied(name, object);
        }
        let composite = desired.composite.unwrap();
        self.status = wire::to_value(&composite.resource).unwrap()["status"].clone();
        let details: Details = composite
            .connection_details
            .iter()
            .map(|e| (e.key.clone(), String::from_utf8(e.value.clone().unwrap().to_vec()).unwrap()))
            .collect();
        let known: Vec<&str> = details.keys().map(String::as_str).collect();
        assert!(known.is_empty() || known == keys::EVERY, "half known: {known:?}");
        assert!(details.values().all(|value| !value.is_empty()), "half known");
        let ready = composite.ready == i32::from(Ready::True);
        assert_eq!(ready, !details.is_empty(), "ready with the keys, and only with them");
        assert!(ready || !self.ready, "it was ready: {}", self.status["message"]);
        self.ready = ready;
        self.given.extend(details);
        for condition in &response.conditions {
            assert!(!condition.message.as_ref().unwrap().contains("not-a-real"));
            let status = if condition.status() == Status::ConditionTrue { "True" } else { "False" };
            let shown = json!({
                "type": condition.r#type, "status": status, "reason": condition.reason,
                "message": condition.message,
            });
            self.conditions.insert(condition.r#type.clone(), shown);
        }
        response
    }

    /// Core applies: what it sets and what others set stays.
    fn applied(&mut self, name: &str, mut object: Value) {
        let before = self.objects.get(name).cloned();
        let metadata = &mut object["metadata"];
        let own = before.as_ref().map(|b| b["metadata"]["name"].clone());
        if let (Some(own), false) = (&own, metadata["name"].is_null()) {
            assert_eq!(metadata["name"], *own, "{name} was renamed");
        }
        if metadata["name"].is_null() {
            metadata["name"] = own.unwrap_or_else(|| format!("{XR}-{name}").into());
        }
        for key in [crossplane::EXTERNAL_CREATE_PENDING, crossplane::EXTERNAL_CREATE_SUCCEEDED] {
            let noted =
                before.as_ref().map(|b| &b["metadata"]["annotations"][key]).filter(|at| at.is_string());
            if let Some(noted) = noted {
                object["metadata"]["annotations"][key] = noted.clone();
            }
        }
        if let Some(status) = before.as_ref().and_then(|b| b.get("status")) {
            object["status"] = status.clone();
        }
        self.objects.insert(name.to_owned(), object);
    }

    fn target(object: &Value) -> String {
        let manifest = &object["spec"]["forProvider"]["manifest"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{}/{}", text(&manifest["kind"]), text(&manifest["metadata"]["name"]))
    }

    /// provider-kubernetes looks at an Object.
    pub fn look(&mut self, name: &str) {
        let Some(object) = self.objects.get(name).cloned() else { return };
        let manifest = object["spec"]["forProvider"]["manifest"].clone();
        let policies = object["spec"]["managementPolicies"].clone();
        let only = policies == json!(["Observe"]);
        let home = format!("Namespace/{NAMESPACE}");
        let target = Self::target(&object);
        if only {
            let Some((uid, details)) = self.published.clone() else {
                self.noise.push(format!("{name}: what it looks for is not there"));
                return;
            };
            let labels = json!({ ours::OWNER_UID: uid });
            let mut seen = manifest;
            seen["metadata"]["labels"] = labels;
            self.details.insert(name.to_owned(), details);
            self.synced(name, &seen);
            return;
        }
        let is_home = target == home;
        if !is_home && !self.hub.contains_key(&home) {
            self.noise.push(format!("{name}: namespaces {NAMESPACE:?} not found"));
            return;
        }
        let may =
            |policy: &str| policies.is_null() || policies.as_array().unwrap().iter().any(|p| p == policy);
        if let Some(there) = self.hub.get(&target).filter(|_| !may("Update")) {
            let there = there.clone();
            self.synced(name, &there);
            return;
        }
        if !self.hub.contains_key(&target) {
            let annotations = &mut self.objects.get_mut(name).unwrap()["metadata"]["annotations"];
            for key in [crossplane::EXTERNAL_CREATE_PENDING, crossplane::EXTERNAL_CREATE_SUCCEEDED] {
                annotations[key] = "2026-11-21T10:00:00Z".into();
            }
        }
        self.born += 1;
        let uid = format!("uid-{}", self.born);
        let there = self.hub.entry(target).or_insert_with(|| json!({ "metadata": { "uid": uid } }));
        let mut seen = manifest.clone();
        for field in ["uid", "annotations", "deletionTimestamp"] {
            if let Some(value) = there["metadata"].get(field) {
                seen["metadata"][field] = value.clone();
            }
        }
        *there = seen.clone();
        self.synced(name, &seen);
    }

    fn synced(&mut self, name: &str, seen: &Value) {
        let object = self.objects.get_mut(name).unwrap();
        object["status"] = json!({
            "atProvider": { "manifest": seen },
            "conditions": [{ "type": "Synced", "status": "True", "reason": "ReconcileSuccess" }],
        });
    }

    /// provider-kubernetes fails at an Object. Its last observation stays.
    pub fn fail(&mut self, name: &str, message: &str) {
        let Some(object) = self.objects.get_mut(name) else { return };
        let synced =
            json!({ "type": "Synced", "status": "False", "reason": "ReconcileError", "message": message });
        object["status"]["conditions"] = json!([synced]);
    }

    pub fn home(&mut self) -> Option<&mut Value> {
        self.hub.get_mut(&format!("Namespace/{NAMESPACE}"))
    }

    /// The provider on the hub looks at the namespace: it publishes where it is asked to, and notes the revision.
    pub fn publish(&mut self, again: bool) {
        let issued = self.issued + 1;
        let published = self.published.clone();
        let Some(home) = self.home() else {
            self.published = None;
            return;
        };
        if home["metadata"]["labels"][ours::SPACE_ACCOUNT] != "namespace-manager" {
            return;
        }
        let uid = home["metadata"]["uid"].as_str().unwrap().to_owned();
        let same = published.as_ref().is_some_and(|(of, _)| *of == uid);
        if again || !same {
            home["metadata"]["annotations"][ours::CREDENTIALS_REVISION] = issued.to_string().into();
            self.issued = issued;
            self.published = Some((uid, credentials(&token(issued))));
        }
    }

    pub fn names(&self) -> Vec<String> {
        self.objects.keys().cloned().collect()
    }

    /// Everything until nothing changes any more.
    pub fn settle(&mut self) {
        // Reads from the hub count: they may be the only change of a reconcile, and the next pass publishes them.
        let all =
            |w: &Self| (w.objects.clone(), w.details.clone(), w.given.clone(), w.status.clone(), w.issued);
        for _ in 0..10 {
            let before = all(self);
            self.pass();
            for name in self.names() {
                self.look(&name);
            }
            self.publish(false);
            if before == all(self) {
                return;
            }
        }
        panic!("it does not settle: {}", self.status);
    }

    pub fn reason(&self) -> String {
        self.conditions["SpaceReady"]["reason"].as_str().unwrap().to_owned()
    }

    pub fn manifest(&self, name: &str) -> &Value {
        &self.objects[name]["spec"]["forProvider"]["manifest"]
    }
}

/// Credentials as the provider publishes them.
pub fn credentials(token: &str) -> Details {
    [
        (keys::API_SERVER, SERVER.to_owned()),
        (keys::KUBECONFIG, format!("kubeconfig with {token}")),
        (keys::NAMESPACE, NAMESPACE.to_owned()),
        (keys::SERVICE_ACCOUNT, "namespace-manager".to_owned()),
        (keys::TOKEN, token.to_owned()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

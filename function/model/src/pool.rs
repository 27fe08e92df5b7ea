//! A small model of everything around the function for a pool: core, provider-kubernetes and the hub, as far as pools need them.

mod hub;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use prost::Message as _;
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_composites::{
    Evaluation, Options, run,
    sdk::{
        proto::{Resource, RunFunctionRequest, RunFunctionResponse, Severity, Status},
        wire,
    },
};

/// The world around one pool.
#[derive(Clone, Debug)]
pub struct PoolWorld {
    pub now: Timestamp,
    pub spec: Value,
    pub created: &'static str,
    /// The other pools in Git.
    pub peers: Vec<Value>,
    pub status: Value,
    pub conditions: BTreeMap<String, Value>,
    /// The composed Objects that there are, those on their way out included.
    pub objects: BTreeMap<String, Value>,
    /// References that core has, and so the resources that it observes: the last desired ones.
    pub refs: BTreeSet<String>,
    /// Emitted events; none of them in a pass without changes.
    pub events: Vec<String>,
    /// How long the last answer is good, in seconds.
    pub ttl: i64,
    /// The ClusterPool is gone from the hub. Its last observation stays on the Objects.
    pub gone: bool,
    /// Owners of `spec.size` on the hub.
    pub owners: BTreeSet<String>,
}

/// A pool as Git has it.
pub fn pool_spec() -> Value {
    json!({
        "namespace": "cluster-pools", "providerConfig": "hive-1", "size": 3, "runningCount": 1, "maxSize": 10,
        "baseDomain": "ci.example.com", "imageSetRef": { "name": "ocp-4.20" },
        "credentialsRef": { "name": "aws-1" }, "platform": { "aws": { "region": "us-east-1" } },
    })
}

impl PoolWorld {
    /// With fields of the definition added or, with null, left out.
    pub fn with(changes: &Value) -> Self {
        let mut world = Self {
            now: "2026-11-23T10:00:00Z".parse().unwrap(),
            spec: pool_spec(),
            created: "2026-11-23T09:00:00Z",
            peers: vec![],
            status: json!({}),
            conditions: BTreeMap::new(),
            objects: BTreeMap::new(),
            refs: BTreeSet::new(),
            events: vec![],
            ttl: 0,
            gone: false,
            owners: BTreeSet::new(),
        };
        world.change(changes);
        world
    }

    /// Git changes.
    pub fn change(&mut self, changes: &Value) {
        for (key, value) in changes.as_object().unwrap() {
            if value.is_null() {
                self.spec.as_object_mut().unwrap().remove(key);
            } else {
                self.spec[key] = value.clone();
            }
        }
    }

    /// The request that core would send.
    pub fn request(&self) -> RunFunctionRequest {
        let mut status = self.status.clone();
        status["conditions"] = self.conditions.values().cloned().collect();
        let observed = self.objects.iter().filter(|(name, _)| self.refs.contains(*name));
        let resources: serde_json::Map<_, _> =
            observed.map(|(name, o)| (name.clone(), json!({ "resource": o }))).collect();
        let peers: Vec<_> = self.peers.iter().map(|peer| json!({ "resource": peer })).collect();
        super::request_from_json(&json!({
            "meta": { "tag": "t" },
            "observed": {
                "composite": { "resource": {
                    "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformClusterPool",
                    "metadata": { "name": "aws-420", "uid": "pool-uid", "creationTimestamp": self.created },
                    "spec": self.spec, "status": status,
                } },
                "resources": resources,
            },
            "desired": {},
            "requiredResources": { "cluster-pools": { "items": peers } },
        }))
    }

    /// Calls the function until a pass of core succeeds; see [`World::pass`](crate::world::World::pass).
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

    /// One pass of core: calls the function, checks the invariants and applies the answer. If the references change, the status is lost.
    pub fn pass_once(&mut self) -> RunFunctionResponse {
        let request = self.request();
        let response = run(&request, &Options::default(), self.now);
        assert_eq!(response, run(&request, &Options::default(), self.now), "the same bytes");
        let fatal = response.results.iter().find(|r| r.severity() == Severity::Fatal);
        assert!(fatal.is_none(), "{fatal:?}");
        let thought = Evaluation::of(&request, self.now).unwrap();
        assert_eq!(thought.find_violation(&response, &request), None);
        self.ttl = response.meta.as_ref().unwrap().ttl.unwrap().seconds;
        let desired = response.desired.clone().unwrap();
        let wanted: BTreeMap<String, Value> = desired
            .resources
            .iter()
            .map(|(name, bytes)| {
                let resource = Resource::decode(bytes.clone()).unwrap();
                (name.clone(), wire::to_value(&resource.resource).unwrap())
            })
            .collect();
        for (name, object) in &mut self.objects {
            if !wanted.contains_key(name) {
                object["metadata"]["deletionTimestamp"] = json!(self.now);
            }
        }
        let references = wanted.keys().cloned().collect();
        let before = std::mem::replace(&mut self.refs, references);
        for (name, mut object) in wanted {
            let old = self.objects.remove(&name).unwrap_or(json!({}));
            let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
            let changed = old["spec"] != object["spec"];
            object["metadata"]["generation"] = json!(generation + i64::from(changed));
            if let Some(status) = old.get("status") {
                object["status"] = status.clone();
            }
            for field in ["deletionTimestamp", "finalizers"] {
                if let Some(retained) = old["metadata"].get(field) {
                    object["metadata"][field] = retained.clone();
                }
            }
            self.objects.insert(name, object);
        }
        if before == self.refs {
            self.status = wire::to_value(&desired.composite.unwrap().resource).unwrap()["status"].clone();
            // An omitted condition keeps its value.
            self.conditions
                .extend(response.conditions.iter().map(|c| (c.r#type.clone(), condition_to_json(c))));
            self.events.extend(response.results.iter().map(|r| r.reason.clone().unwrap_or_default()));
        }
        response
    }

    /// provider-kubernetes applies, the hub takes it, and core looks again until nothing is news.
    pub fn settle(&mut self) {
        for _ in 0..8 {
            self.pass_once();
            self.apply_objects();
        }
        let before = self.events.len();
        self.pass();
        assert_eq!(self.events.len(), before, "news at rest: {:?}", &self.events[before..]);
    }

    /// The ClusterPool as it was last observed.
    pub fn remote(&self) -> Value {
        self.objects.get("pool").map(|o| o["status"]["atProvider"]["manifest"].clone()).unwrap_or(json!({}))
    }

    /// Something happens to the ClusterPool on the hub.
    pub fn on_the_hub(&mut self, change: &Value) {
        let mut remote = self.remote();
        let before = remote["spec"]["size"].clone();
        merge(&mut remote, change);
        if remote["spec"]["size"] != before {
            self.owners = [hub::SOMEBODY.to_owned()].into();
        }
        self.objects.get_mut("pool").unwrap()["status"]["atProvider"]["manifest"] = remote;
    }

    /// Somebody deleted the ClusterPool, and Hive has let go of it.
    pub fn remove_remote(&mut self) {
        self.gone = true;
        self.owners.clear();
    }

    /// Hive says how many clusters there are.
    pub fn report_counts(&mut self, size: i64, standby: i64, ready: i64) {
        self.on_the_hub(&json!({ "status": { "size": size, "standby": standby, "ready": ready } }));
    }

    /// Hive sets a condition.
    pub fn report_hive(&mut self, type_: &str, status: &str, reason: &str, message: &str) {
        let reported = json!({ "type": type_, "status": status, "reason": reason, "message": message });
        let old = self.remote()["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let retained = old.into_iter().filter(|c| c["type"] != type_).chain([reported]);
        let all: Vec<_> = retained.collect();
        self.on_the_hub(&json!({ "status": { "conditions": all } }));
    }

    /// The hub-side provider's annotation.
    pub fn report_provider(&mut self, report: &Value) {
        self.on_the_hub(&json!({ "metadata": { "annotations": { ours::POOL_STATUS: report.to_string() } } }));
    }

    /// Requested manifest.
    pub fn manifest(&self) -> &Value {
        &self.objects["pool"]["spec"]["forProvider"]["manifest"]
    }

    /// Status and reason.
    pub fn condition(&self, type_: &str) -> (String, String) {
        let c = &self.conditions[type_];
        (c["status"].as_str().unwrap().into(), c["reason"].as_str().unwrap().into())
    }

    /// Its sentence.
    pub fn condition_message(&self, type_: &str) -> String {
        self.conditions[type_]["message"].as_str().unwrap().into()
    }

    /// Where it stands.
    pub fn phase(&self) -> String {
        self.status["phase"].as_str().unwrap_or_default().into()
    }
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

fn condition_to_json(condition: &testplatform_composites::sdk::proto::Condition) -> Value {
    let status = match condition.status() {
        Status::ConditionTrue => "True",
        Status::ConditionFalse => "False",
        Status::ConditionUnknown | Status::ConditionUnspecified => "Unknown",
    };
    json!({ "type": condition.r#type, "status": status, "reason": condition.reason, "message": condition.message })
}

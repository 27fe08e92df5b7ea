//! A ClusterClaim and what is around it, made for one test, and what becomes of both.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use provider_testplatform::{
    controllers::cluster_claim::{
        object::{ClusterClaim, ClusterDeployment, ClusterPool},
        observed_state::{ClaimSettings, ClaimState, CredentialsSource, DeploymentState},
        operation::{ClaimOperation, ClaimPlan},
        plan,
    },
    credentials::{Credentials, Published},
};
use serde_json::{Value, json};
use testplatform_apis::{
    hive_status::{Blocked, HiveStatus},
    names::ours,
};
use testplatform_runtime::redacted::Redacted;

pub const NAME: &str = "demo-x7k2p";
pub const UID: &str = "5f0c1a52-3b1e-4b5e-9a52-1f2f6f0f7c11";
pub const POOL: &str = "ocp-4-20";
pub const NAMESPACE: &str = "cluster-pools";
pub const CLUSTER: &str = "ocp-4-20-abcde";

/// One ClusterClaim, everything else, and the time. Tests change JSON values by merging into them.
#[derive(Clone)]
pub struct Case {
    pub claim: Value,
    pub pool: Option<Value>,
    pub cluster: Option<Value>,
    pub unclaimed: Vec<Value>,
    /// When those were made that wait; this one among them if it does.
    pub queue: Vec<Timestamp>,
    pub source: CredentialsSource,
    pub published: Published,
    pub now: Timestamp,
}

pub fn born() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

pub fn minutes(count: i64) -> SignedDuration {
    SignedDuration::from_mins(count)
}

pub fn condition(type_: &str, status: &str, reason: &str) -> Value {
    json!({ "type": type_, "status": status, "reason": reason, "lastTransitionTime": (born() + minutes(1)).to_string() })
}

/// One that waits, in a pool with nothing.
pub fn waiting() -> Case {
    Case {
        claim: json!({
            "apiVersion": "hive.openshift.io/v1", "kind": "ClusterClaim",
            "metadata": {
                "name": NAME, "namespace": NAMESPACE, "uid": UID, "resourceVersion": "7",
                "creationTimestamp": born().to_string(), "annotations": { ours::RESUME: "true" },
            },
            "spec": { "clusterPoolName": POOL },
            "status": { "conditions": [
                condition("Pending", "True", "NoClusters"), condition("ClusterRunning", "Unknown", "Initialized"),
            ] },
        }),
        pool: Some(json!({
            "metadata": { "name": POOL, "namespace": NAMESPACE, "uid": "pool" },
            "spec": { "size": 1, "maxSize": 4 },
            "status": { "size": 0, "standby": 0, "ready": 0, "conditions": [] },
        })),
        cluster: None,
        unclaimed: vec![],
        queue: vec![born()],
        source: CredentialsSource::Unread,
        published: Published::Absent,
        now: born() + minutes(2),
    }
}

/// A cluster of the pool; another's with the name of a claim.
pub fn cluster(name: &str, claim: Option<&str>) -> Value {
    let mut pool = json!({ "namespace": NAMESPACE, "poolName": POOL });
    if let Some(claim) = claim {
        pool["claimName"] = claim.into();
    }
    json!({
        "metadata": {
            "name": name, "namespace": name, "uid": format!("uid-{name}"), "resourceVersion": "9",
            "labels": { "hive.openshift.io/version": "4.20.3" },
        },
        "spec": {
            "installed": true, "powerState": "Running",
            "clusterPoolRef": pool,
            "clusterMetadata": {
                "adminKubeconfigSecretRef": { "name": "k" }, "adminPasswordSecretRef": { "name": "p" },
                "metadataJSONSecretRef": { "name": "m" },
            },
        },
        "status": {
            "apiURL": "https://api.c:6443", "webConsoleURL": "https://console.c", "powerState": "Running",
            "conditions": [condition("Ready", "True", "Running"), condition("Hibernating", "False", "ResumingOrRunning")],
        },
    })
}

pub fn credentials(revision: &str) -> Credentials {
    Credentials {
        kubeconfig: Redacted(b"kubeconfig".to_vec()),
        password: Redacted(b"hunter2".to_vec()),
        source_revision: revision.into(),
    }
}

/// One whose cluster is there, confirmed and running for the first time.
pub fn running() -> Case {
    let mut case = waiting();
    case.queue = vec![];
    case.claim["spec"]["namespace"] = CLUSTER.into();
    case.cluster = Some(cluster(CLUSTER, Some(NAME)));
    case.source = CredentialsSource::Complete(credentials("1"));
    case.said("Pending", "False", "ClusterClaimed").said("ClusterRunning", "True", "Running")
}

/// One whose credentials are published.
pub fn published() -> Case {
    let case = running().settled();
    assert_eq!(case.published, Published::Ours { revision: "17".into(), source_revision: Some("1".into()) });
    case
}

impl Case {
    pub fn claim(&self) -> ClusterClaim {
        serde_json::from_value(self.claim.clone()).unwrap()
    }

    pub fn world(&self) -> ClaimState {
        let read =
            |value: &Value| Arc::new(serde_json::from_value::<ClusterDeployment>(value.clone()).unwrap());
        let assigned = self.claim["spec"]["namespace"].is_string();
        ClaimState {
            settings: ClaimSettings::default(),
            pool: self
                .pool
                .as_ref()
                .map(|pool| Arc::new(serde_json::from_value::<ClusterPool>(pool.clone()).unwrap())),
            queue: self.queue.iter().copied().map(Some).collect(),
            unclaimed: self.unclaimed.iter().map(read).collect(),
            deployment: match &self.cluster {
                _ if !assigned => DeploymentState::Unassigned,
                Some(cluster) => DeploymentState::Here(read(cluster)),
                None => DeploymentState::Gone,
            },
            source: self.source.clone(),
            published: self.published.clone(),
        }
    }

    pub fn step(&self) -> ClaimPlan {
        plan::plan(&self.claim(), &self.world(), self.now)
    }

    /// After all that is to be done now. Another look at it writes nothing.
    pub fn settled(mut self) -> Self {
        for _ in 0..6 {
            let step = self.step();
            let before = self.claim.clone();
            self.note(&step);
            let quiet = step.actions.iter().all(|a| matches!(a, ClaimOperation::Emit(_)));
            if quiet && before == self.claim {
                assert!(
                    step.actions.is_empty() && step.events.is_empty(),
                    "an event without a change is told again and again"
                );
                return self;
            }
            for action in step.actions {
                self.act(action);
            }
        }
        panic!("no rest: {:#?}", self.step());
    }

    /// One look at it. Whether that wrote anything.
    pub fn writes(&mut self) -> bool {
        let before = self.claim.clone();
        self.note(&self.step());
        before != self.claim
    }

    fn note(&mut self, step: &ClaimPlan) {
        let Some(notes) = &step.status else { return };
        let annotations = self.claim["metadata"]["annotations"].as_object_mut().unwrap();
        for (key, value) in [
            (ours::STATUS, Some(notes.status.to_annotation().unwrap())),
            (ours::CREDENTIALS_REVISION, notes.credentials_revision.clone()),
            (ours::DIAGNOSTICS, notes.diagnostics.clone()),
        ] {
            match value {
                Some(value) => annotations.insert(key.into(), value.into()),
                None => annotations.remove(key),
            };
        }
    }

    fn act(&mut self, action: ClaimOperation) {
        match action {
            ClaimOperation::Publish(made) => {
                self.published =
                    Published::Ours { revision: "17".into(), source_revision: Some(made.source_revision) };
            }
            ClaimOperation::Issue(_) => panic!("nobody wished for a ServiceAccount"),
            ClaimOperation::Withdraw => self.published = Published::Absent,
            ClaimOperation::Resume { .. } => {
                self.cluster.as_mut().unwrap()["spec"]["powerState"] = "Running".into();
            }
            ClaimOperation::Emit(_) => {}
        }
    }

    /// A condition of Hive's on the claim.
    pub fn said(mut self, type_: &str, status: &str, reason: &str) -> Self {
        let conditions = self.claim["status"]["conditions"].as_array_mut().unwrap();
        conditions.retain(|c| c["type"] != type_);
        conditions.push(condition(type_, status, reason));
        self
    }

    pub fn on_claim(mut self, pointer: &str, value: Value) -> Self {
        set(&mut self.claim, pointer, value);
        self
    }

    pub fn on_cluster(mut self, pointer: &str, value: Value) -> Self {
        set(self.cluster.as_mut().unwrap(), pointer, value);
        self
    }

    pub fn on_pool(mut self, pointer: &str, value: Value) -> Self {
        set(self.pool.as_mut().unwrap(), pointer, value);
        self
    }

    pub fn deleted(self) -> Self {
        let now = self.now.to_string();
        self.on_claim("/metadata/deletionTimestamp", now.into())
    }

    pub fn source(mut self, source: CredentialsSource) -> Self {
        self.source = source;
        self
    }

    pub fn at(mut self, since_birth: i64) -> Self {
        self.now = born() + minutes(since_birth);
        self
    }

    /// The stored report.
    pub fn told(&self) -> HiveStatus {
        HiveStatus::from_annotation(self.claim["metadata"]["annotations"][ours::STATUS].as_str().unwrap())
            .unwrap()
    }

    /// Why nothing is published; what is there stays stored.
    pub fn blocked(&self) -> Option<Blocked> {
        self.told().blocking_reason.map(|b| b.reason)
    }

    pub fn is_published(&self) -> bool {
        let told = self.told().credentials.is_some();
        let noted = self.claim["metadata"]["annotations"][ours::CREDENTIALS_REVISION].is_string();
        let there = matches!(self.published, Published::Ours { .. });
        assert!(told == noted && noted == there, "told {told}, noted {noted}, there {there}");
        there
    }

    /// Reasons of the events of one step.
    pub fn events(&self) -> Vec<String> {
        let reason = |action: ClaimOperation| match action {
            ClaimOperation::Emit(event) => Some(event.reason),
            ClaimOperation::Publish(_)
            | ClaimOperation::Issue(_)
            | ClaimOperation::Withdraw
            | ClaimOperation::Resume { .. } => None,
        };
        let step = self.step();
        let about_actions = step.actions.into_iter().filter_map(reason);
        about_actions.chain(step.events.into_iter().map(|event| event.reason)).collect()
    }
}

/// Puts a value at a JSON pointer; null takes it away.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/");
    let parent = object.pointer_mut(parent).and_then(Value::as_object_mut).unwrap();
    if value.is_null() {
        parent.remove(&key);
    } else {
        parent.insert(key, value);
    }
}

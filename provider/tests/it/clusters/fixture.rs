//! A cluster and what is around it, made for one test, and what becomes of both.

use std::{collections::BTreeSet, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use provider_testplatform::{
    controllers::template_cluster::{
        observed_state::{ClusterSettings, ClusterState, HolderState},
        plan::{self, ClusterPlan},
    },
    credentials::{
        Credentials, Published,
        cluster_kind::{self as kind, ClusterKind},
        cluster_object::Cluster,
        publish::{CredentialsOperation, CredentialsSource},
    },
};
use serde_json::{Value, json};
use testplatform_apis::{
    hive_status::{Blocked, HiveStatus},
    names::ours,
    template::Backend,
};
use testplatform_runtime::redacted::Redacted;

pub const NAME: &str = "demo-x7k2p";
pub const CREDENTIALS: &str = "testplatform-credentials";

/// One cluster, everything else, and the time. Tests change JSON values by merging into them.
#[derive(Clone, Debug)]
pub struct Case {
    pub backend: Backend,
    pub object: Value,
    /// The HostedCluster of a ClusterOrder.
    pub hosted: Option<Value>,
    pub source: CredentialsSource,
    pub lacks: Option<(Blocked, String)>,
    pub published: Published,
    /// The namespaces in which overdue clusters are ended.
    pub end_overdue: BTreeSet<String>,
    pub now: Timestamp,
}

pub fn born() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

pub fn minutes(count: i64) -> SignedDuration {
    SignedDuration::from_mins(count)
}

pub fn condition(type_: &str, status: &str) -> Value {
    json!({ "type": type_, "status": status, "lastTransitionTime": (born() + minutes(1)).to_string() })
}

pub fn credentials(revision: &str) -> Credentials {
    Credentials {
        kubeconfig: Redacted(b"kubeconfig".to_vec()),
        password: Redacted(b"hunter2".to_vec()),
        source_revision: revision.into(),
    }
}

/// A HostedCluster that can be used.
pub fn hosted() -> Value {
    json!({
        "metadata": { "name": NAME, "namespace": "clusters", "uid": "hosted", "resourceVersion": "7" },
        "spec": { "release": { "image": "x" }, "configuration": { "apiServer": {} } },
        "status": {
            "conditions": [condition("Available", "True"), condition("Degraded", "Unknown")],
            "kubeconfig": { "name": "k" }, "kubeadminPassword": { "name": "p" },
        },
    })
}

/// Cluster object of a usable cluster.
pub fn running(backend: Backend) -> Case {
    let status = match backend {
        Backend::HyperShift => hosted()["status"].clone(),
        Backend::ClusterApi => json!({ "conditions": [condition("ControlPlaneAvailable", "True")] }),
        Backend::Caas => json!({
            "phase": "Ready", "kubeconfig": { "name": "k" }, "adminPassword": { "name": "p" },
            "conditions": [condition("ClusterInstallSucceeded", "True"), condition("ClusterSetupSucceeded", "True")],
        }),
        Backend::Osac => json!({
            "phase": "Progressing", "clusterReference": { "namespace": "osac-orders-demo", "hostedClusterName": NAME },
        }),
    };
    Case {
        backend,
        object: json!({
            "metadata": {
                "name": NAME, "namespace": "clusters", "uid": "uid", "resourceVersion": "7",
                "annotations": { ours::CREDENTIALS_NAMESPACE: CREDENTIALS },
            },
            "spec": {},
            "status": status,
        }),
        hosted: (backend == Backend::Osac).then(hosted),
        source: CredentialsSource::Complete(credentials("1")),
        lacks: None,
        published: Published::Absent,
        end_overdue: BTreeSet::new(),
        now: born() + minutes(2),
    }
}

/// One whose credentials are published.
pub fn published(backend: Backend) -> Case {
    let case = running(backend).settled();
    assert_eq!(case.published, Published::Ours { revision: "17".into(), source_revision: Some("1".into()) });
    case
}

impl Case {
    pub fn kind(&self) -> &'static dyn ClusterKind {
        kind::of(self.backend)
    }

    pub fn object(&self) -> Cluster {
        serde_json::from_value(self.object.clone()).unwrap()
    }

    /// State from an observer: it omits forbidden reads.
    pub fn world(&self) -> ClusterState {
        let object = self.object();
        let here =
            |hosted: &Value| HolderState::Here(Arc::new(serde_json::from_value(hosted.clone()).unwrap()));
        let mut world = ClusterState {
            settings: ClusterSettings {
                credentials_namespace: CREDENTIALS.into(),
                poll: minutes(10),
                end_overdue: self.end_overdue.clone(),
            },
            holder: match self.kind().holder(&object) {
                kind::CredentialsHolder::Itself => HolderState::Itself,
                kind::CredentialsHolder::NotNamed(_) => HolderState::NotNamed,
                kind::CredentialsHolder::Underlying { .. } => {
                    self.hosted.as_ref().map_or(HolderState::Gone, here)
                }
            },
            source: CredentialsSource::Unread,
            lacks: None,
            published: self.published.clone(),
        };
        if plan::may_read(self.kind(), &object, &world).is_some() {
            (world.source, world.lacks) = (self.source.clone(), self.lacks.clone());
        }
        world
    }

    pub fn step(&self) -> ClusterPlan {
        plan::plan(self.kind(), &self.object(), &self.world(), self.now)
    }

    /// After all that is to be done now. Another look at it writes nothing.
    pub fn settled(mut self) -> Self {
        for _ in 0..6 {
            let step = self.step();
            let before = self.object.clone();
            self.note(&step);
            if step.actions.is_empty() && before == self.object {
                assert!(step.events.is_empty(), "an event without a change is told again and again");
                return self;
            }
            for action in step.actions {
                match action {
                    CredentialsOperation::Publish(made) => {
                        let source_revision = Some(made.source_revision);
                        self.published = Published::Ours { revision: "17".into(), source_revision };
                    }
                    CredentialsOperation::Issue(_) => panic!("nobody wished for a ServiceAccount"),
                    CredentialsOperation::Withdraw => self.published = Published::Absent,
                }
            }
        }
        panic!("no rest: {:#?}", self.step());
    }

    fn note(&mut self, step: &ClusterPlan) {
        let Some(notes) = &step.status else { return };
        let metadata = self.object["metadata"].as_object_mut().unwrap();
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        let annotations = annotations.as_object_mut().unwrap();
        for (key, value) in [
            (ours::STATUS, Some(notes.status.to_annotation().unwrap())),
            (ours::CREDENTIALS_REVISION, notes.credentials_revision.clone()),
        ] {
            match value {
                Some(value) => annotations.insert(key.into(), value.into()),
                None => annotations.remove(key),
            };
        }
    }

    pub fn on_object(mut self, pointer: &str, value: Value) -> Self {
        set(&mut self.object, pointer, value);
        self
    }

    pub fn on_hosted(mut self, pointer: &str, value: Value) -> Self {
        set(self.hosted.as_mut().unwrap(), pointer, value);
        self
    }

    /// A condition on the object that has the credentials.
    pub fn said(mut self, type_: &str, status: &str) -> Self {
        let object = self.hosted.as_mut().unwrap_or(&mut self.object);
        let conditions = object["status"]["conditions"].as_array_mut().unwrap();
        conditions.retain(|c| c["type"] != type_);
        conditions.push(condition(type_, status));
        self
    }

    pub fn deleted(self) -> Self {
        let now = self.now.to_string();
        self.on_object("/metadata/deletionTimestamp", now.into())
    }

    pub fn source(mut self, source: CredentialsSource) -> Self {
        self.source = source;
        self
    }

    /// Its password is not there.
    pub fn lacking(mut self, reason: Blocked) -> Self {
        let mut without = credentials("1-none");
        without.password.0.clear();
        self.lacks = Some((reason, "no password".into()));
        self.source(CredentialsSource::Complete(without))
    }

    pub fn at(mut self, since_birth: i64) -> Self {
        self.now = born() + minutes(since_birth);
        self
    }

    /// The stored report.
    pub fn told(&self) -> HiveStatus {
        HiveStatus::from_annotation(self.object["metadata"]["annotations"][ours::STATUS].as_str().unwrap())
            .unwrap()
    }

    /// Why nothing is published; what is there stays stored.
    pub fn blocked(&self) -> Option<Blocked> {
        self.told().blocking_reason.map(|b| b.reason)
    }

    pub fn is_published(&self) -> bool {
        let told = self.told().credentials.is_some();
        let noted = self.object["metadata"]["annotations"][ours::CREDENTIALS_REVISION].is_string();
        let there = matches!(self.published, Published::Ours { .. });
        assert!(told == noted && noted == there, "told {told}, noted {noted}, there {there}");
        there
    }

    /// Reasons of the events of one step.
    pub fn events(&self) -> Vec<String> {
        self.step().events.into_iter().map(|event| event.reason).collect()
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

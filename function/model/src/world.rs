//! A small model of everything around the function: core, provider-kubernetes v1.2.1 and the hub, by the rules
//! of their specs. Every pass is checked against the invariants.

mod core;
mod hub;
mod provider_kubernetes;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use prost::Message as _;
use serde_json::{Value, json};
use testplatform_apis::condition::split_completion;

use crate::cluster_api::ClusterClasses;

pub(crate) use provider_kubernetes::add_finalizer;
pub use provider_kubernetes::{find_refusal, set_synced};

pub const NAME: &str = "demo-x7k2p";
pub const KUBECONFIG: &str = "apiVersion: v1 # kubeconfig of the cluster, secret";
pub const PASSWORD: &str = "secret-password-1";
/// How the finalizer begins by which an Object is held that another depends on.
pub const REFERRED: &str = "kubernetes.crossplane.io/referred-by-object-";

/// A composed Object and its connection Secret.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Composed {
    pub object: Value,
    pub details: BTreeMap<String, String>,
    /// The manifest that the hub took last: provider-kubernetes does not try it again.
    pub taken: Value,
}

/// The world around one claim.
#[derive(Clone, Debug)]
pub struct World {
    pub now: Timestamp,
    pub spec: Value,
    pub annotations: Value,
    pub claim: bool,
    /// It is a TestCluster in the tenant's namespace, without a claim.
    pub namespaced: bool,
    pub input: Value,
    pub environment: Option<Value>,
    /// The catalogue of pools.
    pub catalogue: Option<Value>,
    /// The catalogue of templates: whole EnvironmentConfigs.
    pub templates: Vec<Value>,
    /// The other composites.
    pub peers: Vec<Value>,
    /// Those of the other flavour, where the input says that both are served.
    pub peers_beside: Vec<Value>,
    /// Uid of the composite.
    pub uid: String,
    /// The other side of a handover; none: not fetched.
    pub other_side: Option<Vec<Value>>,
    /// The ProviderConfigs of hubs; none: not fetched.
    pub hubs: Option<Vec<Value>>,
    /// The Objects that mirror their facts.
    pub hub_facts: Vec<Value>,
    /// NodePools on the hub, by name; a HostedCluster that another object has become is among them.
    pub node_pools: BTreeMap<String, Value>,
    /// The hub's OSAC numbers the NodePools of resource classes by the position of their request.
    pub numbers_classes: bool,
    /// Resources on the hub of a claim with tenant credentials besides the remote object, by composition resource name.
    pub brought: BTreeMap<String, Value>,
    /// Hive installs a cluster for that claim's pool, and assigns it once it runs: until then it is the pool's alone.
    pub installs: bool,
    /// The ConfigMaps that tell the hub-side provider what comes ahead of the cluster, by composition resource name.
    pub ahead: BTreeMap<String, Value>,
    /// Which of them were ever answered as they should.
    pub was_there: BTreeSet<String>,
    /// Which of them the template had when the cluster's writer came.
    pub foreseen: BTreeSet<&'static str>,
    /// The ConfigMap that tells the hub-side provider what to do inside the cluster.
    pub bundles: Option<Value>,
    /// The work before a deletion is not done yet.
    pub undone: bool,
    /// The hub refuses that ConfigMap.
    pub untold: bool,
    /// provider-kubernetes fails to set its finalizers on dependencies of Objects, which it tries once. Then our reference alone holds
    /// them.
    pub unreferred: bool,
    /// Their nodes do not go.
    pub nodes_stay: bool,
    pub status: Value,
    pub conditions: BTreeMap<String, Value>,
    /// The composite's connection Secret.
    pub details: BTreeMap<String, String>,
    /// The claim as core has it, for tests with a claim controller of their own.
    pub claim_object: Option<Value>,
    /// The Secret in the tenant's namespace.
    pub tenant: BTreeMap<String, String>,
    /// The composed Objects that there are, those on their way out included.
    pub objects: BTreeMap<String, Composed>,
    /// References that core has, and so the resources that it observes: the last desired ones. An Object that is being deleted is not
    /// observed any more, unless it is desired again.
    pub refs: BTreeSet<String>,
    /// The remote object on the hub.
    pub remote: Option<Value>,
    /// The HostedCluster behind the remote object, where that has one.
    pub hosted: Option<Value>,
    /// provider-kubernetes rests between its polls of that: it reads again only when its spec changes.
    pub rests: bool,
    /// Where the remote object was first made: hub, namespace and name. It never moves.
    pub place: Option<(String, String, String)>,
    pub secrets: BTreeMap<String, (String, String)>,
    pub reachable: bool,
    /// Answer of the hub to a create or update, if it refuses.
    pub refuses: Option<String>,
    /// Immutable parts of the remote object's spec, as JSON pointers into it; an empty one is all of it.
    pub fixed: BTreeSet<String>,
    /// The same of NodePools.
    pub fixed_of_pools: BTreeSet<String>,
    /// Its cluster classes.
    pub classes: ClusterClasses,
    /// How many remote objects were ever made.
    pub made: usize,
    /// How many of them the hub took up, and so were paid for.
    pub taken: BTreeSet<String>,
    /// Reasons of the events so far.
    pub events: Vec<String>,
    /// Fingerprint of the last request.
    pub fingerprint: Option<u64>,
}

impl Default for World {
    fn default() -> Self {
        let created = "2026-11-21T10:00:00Z".parse().unwrap();
        Self {
            now: created,
            spec: json!({ "ciOperator": { "test": { "workflow": "ipi-aws", "clusterProfile": "aws" } } }),
            annotations: json!({}),
            claim: true,
            namespaced: false,
            input: json!({ "apiVersion": "testplatform.fn.crossplane.io/v1beta1", "kind": "Input" }),
            environment: Some(json!({ "clusterName": "stone-prd" })),
            catalogue: None,
            templates: vec![],
            peers: vec![],
            peers_beside: vec![],
            uid: "xr-uid".into(),
            other_side: None,
            hubs: None,
            hub_facts: vec![],
            node_pools: BTreeMap::new(),
            numbers_classes: false,
            brought: BTreeMap::new(),
            installs: false,
            ahead: BTreeMap::new(),
            was_there: BTreeSet::new(),
            foreseen: BTreeSet::new(),
            bundles: None,
            undone: false,
            untold: false,
            unreferred: false,
            nodes_stay: false,
            status: json!({}),
            conditions: BTreeMap::new(),
            details: BTreeMap::new(),
            claim_object: None,
            tenant: BTreeMap::new(),
            objects: BTreeMap::new(),
            refs: BTreeSet::new(),
            remote: None,
            hosted: None,
            rests: false,
            place: None,
            secrets: BTreeMap::new(),
            reachable: true,
            refuses: None,
            fixed: BTreeSet::new(),
            fixed_of_pools: BTreeSet::new(),
            classes: ClusterClasses::default(),
            made: 0,
            taken: BTreeSet::new(),
            events: vec![],
            fingerprint: None,
        }
    }
}

impl World {
    /// Composition resource name of the writer.
    pub fn writer(&self) -> &'static str {
        let of = |word: &str| self.spec["template"].as_str().is_some_and(|name| name.starts_with(word));
        if self.objects.contains_key("topology") || of("topology") {
            "topology"
        } else if self.objects.contains_key("order") || of("order") {
            "order"
        } else if self.objects.contains_key("instance") || self.spec["template"] == "chart" {
            "instance"
        } else if self.objects.contains_key("cluster") || !self.spec["template"].is_null() {
            "cluster"
        } else if self.objects.contains_key("claim") || !self.spec["clusterClaim"].is_null() {
            "claim"
        } else {
            "ec"
        }
    }

    /// The same world, for a composite in the tenant's namespace.
    #[must_use]
    pub fn in_namespace(mut self) -> Self {
        self.namespaced = true;
        self.spec["writeConnectionSecretToRef"] = json!({ "name": "demo-secret" });
        self
    }

    /// Under what name the hub-side provider publishes credentials of the remote object.
    pub fn published_name(&self) -> String {
        let name = self.remote.as_ref().and_then(|r| r["metadata"]["name"].as_str()).unwrap_or(NAME);
        format!("{name}-credentials")
    }

    /// Passes and rounds until nothing changes. At rest the same bytes come again, and no event.
    pub fn settle(&mut self) {
        let (mut last, mut moved, mut same) = (None, false, 0);
        for _ in 0..20 {
            let bytes = self.pass().encode_to_vec();
            same = if last.as_ref() == Some(&bytes) { same + 1 } else { 0 };
            // Core is told of an Object that changes, whether or not the answer about it changes.
            if same > 2 || (same > 0 && !moved) {
                let events = self.events.len();
                self.pass();
                assert_eq!(self.events.len(), events, "events at rest: {:?}", self.events);
                return;
            }
            last = Some(bytes);
            let before = (self.objects.clone(), self.remote.clone());
            self.reconcile_objects();
            moved = before.0 != self.objects || before.1 != self.remote;
        }
        panic!("does not settle: {:#?}", self.conditions);
    }

    /// Until it was observed once, nothing can pin it, and provider-kubernetes makes what vanishes anew.
    pub fn observe_all(&mut self) {
        for _ in 0..3 {
            self.pass();
            self.reconcile_objects();
        }
        self.pass();
    }

    /// Ready, credentials and all.
    pub fn ready() -> Self {
        let mut world = Self::default();
        world.settle();
        world.report_phase("Provisioning", &[]);
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

    /// `true` if the primary Object names the current remote object by its uid.
    pub fn is_pinned(&self) -> bool {
        let uid = |object: &Value| object["metadata"]["uid"].as_str().map(str::to_owned);
        let writer =
            self.objects.get(self.writer()).and_then(|ec| uid(&ec.object["spec"]["forProvider"]["manifest"]));
        writer.is_some() && writer == self.remote.as_ref().and_then(uid)
    }

    pub fn advance_time(&mut self, by: SignedDuration) {
        self.now += by;
    }

    pub fn phase(&self) -> String {
        self.status["phase"].as_str().unwrap_or_default().to_owned()
    }

    /// Status and reason. Of `ProwJobCompleted` the way in which it ended, which is before the message where the end is well.
    pub fn condition(&self, type_: &str) -> (String, String) {
        let c = self.conditions.get(type_).cloned().unwrap_or_default();
        let text = |field: &str| c[field].as_str().unwrap_or_default();
        let (status, reason) = (text("status"), text("reason"));
        if type_ == "ProwJobCompleted" && status == "True" {
            return (status.to_owned(), split_completion(reason, text("message")).0.to_owned());
        }
        (status.to_owned(), reason.to_owned())
    }

    pub fn incumbent_phase(&self) -> String {
        self.conditions["_EphemeralClusterPhase"]["message"].as_str().unwrap().to_owned()
    }

    pub fn management_policies(&self) -> Value {
        self.objects[self.writer()].object["spec"]["managementPolicies"].clone()
    }
}

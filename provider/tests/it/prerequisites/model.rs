//! A hub with one ConfigMap, what is made by it, and what others make and do beside it, played.

mod played;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::core::v1::ConfigMap,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};
use played::{Played, There};
use provider_testplatform::{
    controllers::prerequisites::{
        objects::RequestObjects,
        plan::{
            ClusterPresence, PrerequisitePlan, PrerequisiteRelease, PrerequisiteSet, PrerequisiteUpdate,
            StepResult, plan,
        },
        request::{PrerequisiteRequest, REMOVING},
    },
    manifests::apply::apply_bundles,
};
use serde_json::{Value, json};
use testplatform_apis::{
    bundle::{BundleProgress, BundleReport},
    prerequisites as marks,
};
use tokio::time::Instant;

/// Bundles of each list, each with two objects, the second of which is waited for.
pub const BUNDLES: usize = 2;
/// Timeout of each bundle, in seconds.
pub const TIMEOUT: i64 = 60;
const UID: &str = "uid-of-the-order";

/// The names of all objects, in the order in which they are made.
pub fn names() -> Vec<String> {
    let list = |list: &'static str| {
        (0..BUNDLES).flat_map(move |bundle| ["a", "b"].map(|object| format!("{list}-{bundle}-{object}")))
    };
    list("kept").chain(list("once")).collect()
}

/// Which bundle an object is of, by its place among all.
fn bundle_of(name: &str) -> usize {
    names().iter().position(|one| one == name).unwrap() / 2
}

pub fn order() -> Value {
    let list = |list: &str| {
        let bundle = |place: usize| {
            let object = |object: &str| json!({ "apiVersion": "v1", "kind": "Thing", "metadata": { "name": format!("{list}-{place}-{object}") } });
            json!({
                "name": format!("b{place}"), "timeout": format!("{TIMEOUT}s"),
                "manifests": [{ "object": object("a") }, { "object": object("b"), "ready": "object.status.ready" }],
            })
        };
        (0..BUNDLES).map(bundle).collect::<Vec<_>>()
    };
    json!({
        "cluster": { "group": "hypershift.openshift.io", "kind": "HostedCluster", "name": "one" },
        "prerequisites": list("kept"), "preCreate": list("once"),
    })
}

/// A write on the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub verb: &'static str,
    pub name: String,
    /// The object was reported as ready.
    pub ready: bool,
}

/// Actions of somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meddle {
    /// Makes an object, if there is none of the name.
    Make(String),
    /// Takes our owner reference from it.
    Take(String),
    /// Writes on it.
    Touch(String),
    /// Deletes it, whosever it is.
    Vanish(String),
    /// Deletes the ConfigMap.
    Delete,
}

pub struct Hub {
    pub now: Timestamp,
    pub map: Option<ConfigMap>,
    /// The cluster's object exists.
    pub cluster: bool,
    /// Its kind is served.
    pub served: bool,
    pub up: bool,
    pub ready: BTreeSet<String>,
    /// Objects that the API server refuses to touch for us.
    pub refused: BTreeSet<String>,
    /// Objects that stay when they are deleted.
    pub stuck: BTreeSet<String>,
    /// Writes of the last pass.
    pub calls: Vec<Call>,
    pub released: Option<(Timestamp, PrerequisiteRelease)>,
    pub told: Vec<BundleProgress>,
    there: Mutex<There>,
}

pub fn is_ours(object: &Value) -> bool {
    object["metadata"]["ownerReferences"].as_array().is_some_and(|all| all.iter().any(|o| o["uid"] == UID))
}

impl Hub {
    pub fn new(order: &Value) -> Self {
        let data = BTreeMap::from([(marks::ORDER.to_owned(), order.to_string())]);
        let metadata = ObjectMeta {
            name: Some("one-prerequisites".into()),
            namespace: Some("clusters".into()),
            uid: Some(UID.into()),
            ..ObjectMeta::default()
        };
        Self {
            now: "2026-03-02T11:00:00Z".parse().unwrap(),
            map: Some(ConfigMap { data: Some(data), metadata, ..ConfigMap::default() }),
            cluster: false,
            served: true,
            up: true,
            ready: BTreeSet::new(),
            refused: BTreeSet::new(),
            stuck: BTreeSet::new(),
            calls: Vec::new(),
            released: None,
            told: Vec::new(),
            there: Mutex::default(),
        }
    }

    fn there(&self) -> MutexGuard<'_, There> {
        self.there.lock().unwrap()
    }

    pub fn objects(&self) -> BTreeMap<String, Value> {
        self.there().objects.clone()
    }

    pub fn meddle(&mut self, meddle: &Meddle) {
        self.there().meddle(meddle);
        self.settle();
    }

    /// Completes the deletion of objects without finalizers.
    pub fn unstick(&mut self) {
        self.stuck.clear();
        self.there().objects.retain(|_, object| object["metadata"]["deletionTimestamp"].is_null());
    }

    pub fn all_ready(&mut self) {
        self.ready.extend(names());
        self.refused.clear();
        self.up = true;
    }

    pub fn read(&self) -> Option<PrerequisiteRequest> {
        self.map.as_ref().map(PrerequisiteRequest::read)
    }

    pub fn report(&self) -> BundleReport {
        self.read().unwrap().report
    }

    pub fn tick(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// The ConfigMap is deleted, and if nothing holds it, all that is its own goes with it.
    pub fn settle(&mut self) {
        let now = self.now;
        let deleted = self.there().deleted;
        if let Some(map) = self.map.as_mut().filter(|_| deleted) {
            map.metadata.deletion_timestamp.get_or_insert(Time(now));
            if map.metadata.finalizers.as_deref().unwrap_or_default().is_empty() {
                self.map = None;
                self.there().objects.retain(|_, object| !is_ours(object));
            }
        }
    }

    pub fn delete(&mut self) {
        self.meddle(&Meddle::Delete);
    }

    /// Somebody takes something of ours from the ConfigMap.
    pub fn forget_report(&mut self) {
        if let Some(notes) = self.map.as_mut().and_then(|map| map.metadata.annotations.as_mut()) {
            notes.remove(marks::REPORT);
        }
    }

    pub fn unhold(&mut self) {
        if let Some(map) = self.map.as_mut().filter(|map| map.metadata.deletion_timestamp.is_none()) {
            map.metadata.finalizers = None;
        }
    }

    fn write(&mut self, note: &PrerequisiteUpdate) {
        let metadata = &mut self.map.as_mut().unwrap().metadata;
        let notes = metadata.annotations.get_or_insert_default();
        notes.insert(marks::REPORT.into(), serde_json::to_string(&note.report).unwrap());
        match note.removing {
            Some(since) => drop(notes.insert(REMOVING.into(), since.to_string())),
            None => drop(notes.remove(REMOVING)),
        }
        if note.hold {
            assert!(metadata.deletion_timestamp.is_none(), "the API server refuses it");
            let finalizers = metadata.finalizers.get_or_insert_default();
            if !finalizers.iter().any(|f| f == marks::FINALIZER) {
                finalizers.push(marks::FINALIZER.into());
            }
        }
        self.told.extend(note.report.state);
    }

    fn here(&self, map: &PrerequisiteRequest) -> ClusterPresence {
        match (self.served, map.deleted) {
            (false, _) => ClusterPresence::Unknown,
            (true, None) => ClusterPresence::Unasked,
            (true, Some(_)) if self.cluster => ClusterPresence::There,
            (true, Some(_)) => ClusterPresence::Gone,
        }
    }

    /// One pass, as the controller does it, that dies after so many calls, and in which somebody else does something. When to look again;
    /// none: when something happens.
    pub async fn pass(&mut self, dies: Option<usize>, meddles: Option<(usize, Meddle)>) -> Option<Duration> {
        self.calls.clear();
        let map = self.read()?;
        let here = self.here(&map);
        let mut step = plan(&map, here, None, self.now);
        {
            let there = &mut *self.there();
            (there.dies, there.meddles) = (dies, meddles);
        }
        let came = self.work(&map, &step).await;
        let calls = std::mem::take(&mut self.there().calls);
        self.calls = calls;
        let (dead, before) = (self.there().dies == Some(0), map.deleted.is_some());
        let changed = self.there().deleted != before;
        self.settle();
        if dead {
            return Some(Duration::ZERO);
        }
        if let Some(came) = came {
            step = plan(&map, here, Some(&came), self.now);
        }
        match step {
            PrerequisitePlan::Apply(_) | PrerequisitePlan::Remove => {
                panic!("it is asked for again what was done")
            }
            PrerequisitePlan::Rest => None,
            PrerequisitePlan::Later(after) => Some(after),
            // The stored object is no longer the one that was read.
            PrerequisitePlan::Write(..) | PrerequisitePlan::Release(_) if changed => {
                Some(Duration::from_secs(1))
            }
            PrerequisitePlan::Write(note, after) => {
                self.write(&note);
                Some(after)
            }
            PrerequisitePlan::Release(how) => {
                assert!(!self.cluster, "let go of while the cluster is there");
                if how == PrerequisiteRelease::Done {
                    assert!(!self.objects().values().any(is_ours), "{:?}", self.objects());
                }
                self.map.as_mut().unwrap().metadata.finalizers = None;
                self.released = Some((self.now, how));
                self.settle();
                None
            }
        }
    }

    async fn work(&self, map: &PrerequisiteRequest, step: &PrerequisitePlan) -> Option<StepResult> {
        let played = Played::new(self, map);
        let own = RequestObjects { hub: &played, owner: &map.owner };
        let until = Instant::now() + Duration::from_mins(1);
        let order = map.order.as_ref().ok()?;
        match step {
            PrerequisitePlan::Apply(work) => {
                let bundles = work.of(order).map(|(_, bundle)| bundle);
                Some(StepResult::Applied(apply_bundles(bundles, 0, &own, until).await))
            }
            PrerequisitePlan::Remove => {
                let bundles = PrerequisiteSet::Everything.of(order).rev().map(|(_, bundle)| bundle);
                Some(StepResult::Removed(own.remove(bundles, until).await))
            }
            _ => None,
        }
    }

    /// Passes, one after the other, each when it is due, for so many seconds.
    pub async fn run(&mut self, seconds: i64) {
        let end = self.now + SignedDuration::from_secs(seconds);
        let mut still = 0;
        while self.now < end {
            let after = self.pass(None, None).await.unwrap_or(Duration::from_mins(2));
            still = if after.is_zero() { still + 1 } else { 0 };
            assert!(still < 20, "it goes on and on: {:?}", self.read());
            self.now += SignedDuration::try_from(after).unwrap();
        }
    }
}

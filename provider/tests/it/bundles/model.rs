//! A hub with one ConfigMap and the object that stands for its cluster, and the clusters that were delivered under its name, played.

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
use provider_testplatform::{
    controllers::bundles::{
        plan::{BundlePhase, BundlePlan, BundleRange, BundleRelease, ClusterAccess, StatusUpdate, plan},
        request::BundleRequest,
    },
    credentials::account::admin::AdminKubeconfig,
    manifests::apply::{ApplyError, ApplyErrorReason, ApplyProgress, GuestCluster, apply_bundles},
};
use serde_json::{Value, json};
use testplatform_apis::bundle::{self, BundleProgress, BundleReport, BundleRequestSpec};
use tokio::time::Instant;

/// Bundles after the installation and before the deletion, each with two objects, the second of which is waited for.
pub const AFTER: usize = 3;
pub const BEFORE: usize = 2;
/// Timeout of each bundle, in seconds.
pub const TIMEOUT: i64 = 60;

/// An object of a bundle.
pub fn name(list: BundlePhase, bundle: usize) -> String {
    match list {
        BundlePhase::PostInstall => format!("after-{bundle}"),
        BundlePhase::PreDelete => format!("before-{bundle}"),
    }
}

pub fn order(after: usize, before: usize) -> Value {
    let bundle = |list: BundlePhase| {
        move |place: usize| {
            let name = name(list, place);
            let object = |kind: &str| json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": name, "namespace": "ns" } });
            json!({
                "name": format!("b{place}"), "timeout": format!("{TIMEOUT}s"),
                "manifests": [
                    { "object": object("First") },
                    { "object": object("Second"), "ready": "object.status.ready" },
                ],
            })
        }
    };
    json!({
        "cluster": { "group": "hypershift.openshift.io", "kind": "HostedCluster", "name": "one" },
        "postInstall": (0..after).map(bundle(BundlePhase::PostInstall)).collect::<Vec<_>>(),
        "preDelete": (0..before).map(bundle(BundlePhase::PreDelete)).collect::<Vec<_>>(),
    })
}

/// Operation before which a pass crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// It has looked at the cluster.
    Looked,
    /// It has written.
    Written,
    /// It was the call that failed: nothing was written.
    Refused,
}

/// One call in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub uid: String,
    pub kind: String,
    pub name: String,
    /// The object was reported as ready.
    pub ready: bool,
}

pub struct Hub {
    pub now: Timestamp,
    pub map: Option<ConfigMap>,
    /// Uid of the object that stands for the cluster.
    pub cluster: Option<String>,
    pub going: bool,
    /// Uid that the published Secret was made for.
    pub published: Option<String>,
    /// The API of the cluster answers.
    pub up: bool,
    pub ready: BTreeSet<String>,
    pub refused: BTreeSet<String>,
    pub calls: Mutex<Vec<Call>>,
    /// Calls of the last look.
    pub look: Vec<Call>,
    pub released: Option<(Timestamp, BundleRelease)>,
    pub deleted: Option<Timestamp>,
    /// Each state that was told, in its turn.
    pub told: Vec<BundleProgress>,
    born: u32,
}

impl Hub {
    pub fn new(order: &Value) -> Self {
        let data = BTreeMap::from([(bundle::ORDER.to_owned(), order.to_string())]);
        let metadata = ObjectMeta { name: Some("one-bundles".into()), ..ObjectMeta::default() };
        Self {
            now: "2026-03-02T11:00:00Z".parse().unwrap(),
            map: Some(ConfigMap { data: Some(data), metadata, ..ConfigMap::default() }),
            cluster: Some("uid-0".into()),
            going: false,
            published: None,
            up: true,
            ready: BTreeSet::new(),
            refused: BTreeSet::new(),
            calls: Mutex::default(),
            look: Vec::new(),
            released: None,
            deleted: None,
            told: Vec::new(),
            born: 0,
        }
    }

    pub fn all_ready(&mut self) {
        let all = |list, count| (0..count).map(move |place| name(list, place));
        self.ready.extend(all(BundlePhase::PostInstall, AFTER));
        self.ready.extend(all(BundlePhase::PreDelete, BEFORE));
        self.refused.clear();
    }

    pub fn publish(&mut self) {
        self.published.clone_from(&self.cluster);
    }

    pub fn replace(&mut self) {
        self.born += 1;
        self.cluster = Some(format!("uid-{}", self.born));
        self.going = false;
    }

    pub fn read(&self) -> Option<BundleRequest> {
        self.map.as_ref().map(BundleRequest::from_config_map)
    }

    pub fn report(&self) -> BundleReport {
        self.read().unwrap().report
    }

    pub fn state(&self) -> Option<BundleProgress> {
        self.report().state
    }

    fn here(&self) -> ClusterAccess {
        match &self.cluster {
            None => ClusterAccess::Gone,
            Some(_) if self.going => ClusterAccess::Deleting,
            Some(uid) if self.published.as_ref() == Some(uid) => {
                ClusterAccess::Reachable { uid: uid.clone(), admin: AdminKubeconfig::new(Vec::new()) }
            }
            Some(_) => ClusterAccess::Unreachable("its credentials are not published"),
        }
    }

    pub fn tick(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// Somebody deletes the ConfigMap.
    pub fn delete(&mut self) {
        let now = self.now;
        if let Some(map) = &mut self.map {
            let at = map.metadata.deletion_timestamp.get_or_insert(Time(now)).0;
            self.deleted = Some(at);
            self.collect();
        }
    }

    fn collect(&mut self) {
        let free = |map: &ConfigMap| {
            map.metadata.deletion_timestamp.is_some()
                && map.metadata.finalizers.as_deref().unwrap_or_default().is_empty()
        };
        self.map = self.map.take().filter(|map| !free(map));
    }

    pub fn forget_report(&mut self) {
        if let Some(notes) = self.map.as_mut().and_then(|map| map.metadata.annotations.as_mut()) {
            notes.remove(bundle::REPORT);
        }
    }

    fn write(&mut self, note: &StatusUpdate) {
        let metadata = &mut self.map.as_mut().unwrap().metadata;
        let notes = metadata.annotations.get_or_insert_default();
        notes.insert(bundle::REPORT.into(), serde_json::to_string(&note.report).unwrap());
        if let Some(uid) = &note.cluster {
            notes.insert(bundle::CLUSTER.into(), uid.clone());
        }
        if note.add_finalizer {
            let finalizers = metadata.finalizers.get_or_insert_default();
            if !finalizers.iter().any(|f| f == bundle::FINALIZER) {
                finalizers.push(bundle::FINALIZER.into());
            }
        }
        self.told.extend(note.report.state);
    }

    /// One pass, as the controller does it. When to look again; none: when something happens.
    pub async fn pass(&mut self, crash: Option<Crash>) -> Option<Duration> {
        let map = self.read()?;
        let here = self.here();
        let mut step = plan(&map, &here, None, self.now);
        self.look.clear();
        if let BundlePlan::Apply(work) = step {
            let looked = self.look(&map, &here, work).await;
            if crash == Some(Crash::Looked) {
                return Some(Duration::ZERO);
            }
            step = plan(&map, &here, Some(&looked), self.now);
        }
        if crash == Some(Crash::Refused) {
            return Some(Duration::from_secs(5));
        }
        match step {
            BundlePlan::Apply(_) => panic!("it is asked for again what was done"),
            BundlePlan::AwaitChange => None,
            BundlePlan::RequeueAfter(after) => Some(after),
            BundlePlan::WriteStatus(note, after) => {
                self.write(&note);
                (crash != Some(Crash::Written)).then_some(after).or(Some(Duration::ZERO))
            }
            BundlePlan::Release(how) => {
                self.map.as_mut().unwrap().metadata.finalizers = None;
                self.released = Some((self.now, how));
                self.collect();
                None
            }
        }
    }

    async fn look(
        &mut self,
        map: &BundleRequest,
        here: &ClusterAccess,
        BundleRange { list, from }: BundleRange,
    ) -> ApplyProgress {
        let ClusterAccess::Reachable { uid, .. } = here else {
            panic!("applied where nothing was confirmed")
        };
        let order: &BundleRequestSpec = map.order.as_ref().unwrap();
        let played = Played { hub: self, uid: uid.clone() };
        let until = Instant::now() + Duration::from_mins(1);
        let looked = apply_bundles(list.bundles_of(order), from, &played, until).await;
        let calls = std::mem::take(&mut *self.calls());
        self.look = calls;
        looked
    }

    fn calls(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap()
    }

    /// Passes, one after the other, each when it is due, for so many seconds.
    pub async fn run(&mut self, seconds: i64) {
        let end = self.now + SignedDuration::from_secs(seconds);
        let mut still = 0;
        while self.now < end {
            let after = self.pass(None).await.unwrap_or(Duration::from_mins(2));
            still = if after.is_zero() { still + 1 } else { 0 };
            assert!(still < 20, "it goes on and on: {:?}", self.read());
            self.now += SignedDuration::try_from(after).unwrap();
        }
    }
}

struct Played<'a> {
    hub: &'a Hub,
    uid: String,
}

impl GuestCluster for Played<'_> {
    async fn apply_manifest(&self, object: &Value) -> Result<Value, ApplyError> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        if !self.hub.up {
            return Err(ApplyError::new(ApplyErrorReason::Unreachable, "it does not answer"));
        }
        if self.hub.refused.contains(&name) {
            return Err(ApplyError::from_response(403, "Forbidden", "no, by token=s3cret"));
        }
        let ready = self.hub.ready.contains(&name);
        let call = Call { uid: self.uid.clone(), kind, name, ready };
        self.hub.calls().push(call);
        let mut there = object.clone();
        there["status"] = json!({ "ready": ready });
        Ok(there)
    }
}

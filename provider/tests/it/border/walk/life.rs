//! One EphemeralCluster, those around it played, and what must hold of it at any time.

use std::{cell::Cell, collections::BTreeSet, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use provider_testplatform::{
    config::{Config, profiles::Profiles},
    controllers::ephemeral_cluster::{
        controller::{self, BuildClusterSource, ControllerMode, Options},
        draft::draft,
        hub::Hub,
        settings::Settings,
    },
    metrics::Metrics,
};
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinHandle, time::Instant};

use crate::border::memory::{Call, Fault, Memory};

const OBJECTS: &str = "/apis/ci.openshift.io/v1/namespaces/ephemeral-cluster/ephemeralclusters";
const JOBS: &str = "/apis/prow.k8s.io/v1/namespaces/ci/prowjobs";
const SECRET: &str = "/api/v1/namespaces/ephemeral-cluster/secrets/ec-credentials";
const NAMESPACE: &str = "/api/v1/namespaces/ci-op-x";
const FINALIZER: &str = "ephemeralcluster.ci.openshift.io/dependent-prowjob";

/// The job of another controller's making.
pub const ONE_TOO_MANY: &str = "/apis/prow.k8s.io/v1/namespaces/ci/prowjobs/upstream";

/// Phases in the order in which they come.
pub const PHASE: [&str; 5] = ["Provisioning", "Ready", "Deprovisioning", "Deprovisioned", "Failed"];

/// Events of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Schedule,
    Namespace,
    Install,
    Password,
    Tamper,
    Unpublish,
    TearDown,
    Delete,
    Success,
    Failure,
    DeleteJob,
    DeleteNamespace,
    BuildAway,
    BuildBack,
    Restart,
    Wait(u64),
}

pub struct Life {
    pub hub: Memory,
    pub build_cluster: Memory,
    provider: JoinHandle<()>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.provider.abort();
    }
}

thread_local! {
    /// When the time of this test began: the clock of the provider follows it.
    static BEGUN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// From now on it is the time of this test.
pub(crate) fn begin_time() {
    BEGUN.set(Some(Instant::now()));
}

/// The time of this test.
pub(crate) fn now() -> Timestamp {
    let elapsed = BEGUN.get().map(|begun| begun.elapsed()).unwrap_or_default();
    let base: Timestamp = "2026-01-01T00:00:01Z".parse().unwrap();
    base + SignedDuration::try_from(elapsed).unwrap()
}

pub fn spec() -> Value {
    json!({ "ciOperator": {
        "releases": { "latest": { "candidate": { "product": "ocp", "stream": "nightly", "version": "4.20" } } },
        "test": { "workflow": "ipi-aws", "clusterProfile": "aws" },
    } })
}

fn object(mut object: Value) -> Value {
    object["apiVersion"] = json!("ci.openshift.io/v1");
    object["kind"] = json!("EphemeralCluster");
    object["metadata"] = json!({ "generation": 1, "annotations": {
        "ephemeralcluster.ci.openshift.io/konflux-cluster": "stone",
        "ephemeralcluster.ci.openshift.io/konflux-tenant": "acme-tenant",
    } });
    object
}

impl Life {
    /// An EphemeralCluster is asked for. With a seed calls go wrong now and then.
    pub async fn begin(seed: u64) -> Self {
        BEGUN.set(Some(Instant::now()));
        let (hub, build_cluster) = (Memory::new().with_clock(seconds), Memory::new().with_clock(seconds));
        hub.put(&format!("{OBJECTS}/ec"), object(json!({ "spec": spec() })));
        if seed != 0 {
            hub.judge(trouble(seed));
            build_cluster.judge(trouble(seed.rotate_left(32)));
        }
        let provider = start(&hub, &build_cluster, true);
        let life = Self { hub, build_cluster, provider };
        life.wait(1).await;
        life
    }

    /// One whose cluster is there, without trouble so far.
    pub async fn ready() -> Self {
        let life = Self::begin(0).await;
        life.until("bound", |ec| ec["status"]["prowJobId"].is_string()).await;
        for event in [Event::Schedule, Event::Namespace, Event::Install] {
            life.happen(event).await;
        }
        life.until("ready", |ec| ec["status"]["phase"] == "Ready").await;
        life
    }

    /// Another controller has served it; this provider is its proxy.
    pub fn beside_another_controller() -> Self {
        BEGUN.set(Some(Instant::now()));
        let (hub, build_cluster) = (Memory::new().with_clock(seconds), Memory::new().with_clock(seconds));
        let status = json!({
            "phase": "Ready", "prowJobId": "theirs", "secretRef": "ec-credentials",
            "conditions": [{ "type": "ClusterReady", "status": "True" }],
        });
        let mut ec = object(json!({ "spec": spec(), "status": status }));
        ec["metadata"]["finalizers"] = json!([FINALIZER]);
        let ec = hub.put(&format!("{OBJECTS}/ec"), ec);
        let job = json!({
            "metadata": { "labels": { "ci.openshift.io/ephemeral-cluster": "ec" } },
            "spec": { "cluster": "build01" }, "status": { "state": "pending" },
        });
        hub.put(&format!("{JOBS}/theirs"), job);
        build_cluster
            .put(NAMESPACE, json!({ "metadata": { "labels": { "ci.openshift.io/jobid": "theirs" } } }));
        build_cluster.put(&format!("{NAMESPACE}/secrets/cluster-provisioning"), installed("first"));
        let owner = json!({ "uid": ec["metadata"]["uid"], "controller": true, "kind": "EphemeralCluster",
            "apiVersion": "ci.openshift.io/v1", "name": "ec" });
        // As upstream publishes it once and never again.
        let data = json!({ "kubeconfig": "ZXZpbA==", "kubeAdminPassword": "" });
        hub.put(SECRET, json!({ "metadata": { "ownerReferences": [owner] }, "data": data }));
        hub.calls();
        let provider = start(&hub, &build_cluster, false);
        Self { hub, build_cluster, provider }
    }

    /// The password that is published.
    pub fn published_password(&self) -> Option<String> {
        use base64::{Engine as _, prelude::BASE64_STANDARD};
        let secret = self.hub.get(SECRET)?;
        let bytes = BASE64_STANDARD.decode(secret["data"]["kubeAdminPassword"].as_str()?).unwrap();
        Some(String::from_utf8(bytes).unwrap())
    }

    /// Somebody else writes the status.
    pub fn say(&self, status: &Value) {
        self.hub.merge(&format!("{OBJECTS}/ec"), &json!({ "status": status }));
    }

    /// The process is killed, and another one is started.
    pub fn restart(&mut self) {
        self.provider.abort();
        self.provider = start(&self.hub, &self.build_cluster, true);
    }

    /// From the nth write on nothing gets through, until this tells it.
    pub fn kill_at(&self, nth: usize, fault: Fault) -> watch::Receiver<bool> {
        let (killed, told) = watch::channel(false);
        let written = Arc::new(std::sync::Mutex::new((0, killed)));
        for memory in [&self.hub, &self.build_cluster] {
            let written = Arc::clone(&written);
            memory.judge(move |call| {
                let mut written = written.lock().unwrap();
                let (count, killed) = &mut *written;
                if !call.is_write() {
                    return None;
                }
                *count += 1;
                if *count != nth + 1 {
                    return None;
                }
                killed.send_replace(true);
                Some(fault)
            });
        }
        told
    }

    pub async fn wait(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub async fn until(&self, what: &str, is: impl Fn(&Value) -> bool) {
        let begun = Instant::now();
        while !self.object().is_some_and(|object| is(&object)) {
            let late = begun.elapsed() > Duration::from_hours(1);
            assert!(!late, "not {what} within an hour: {:#?}", self.object());
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    pub async fn until_signalled(&self) {
        let begun = Instant::now();
        while !self.is_signalled() {
            assert!(begun.elapsed() < Duration::from_hours(1), "not signalled");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Another controller has made a second job for it, and that one has come to its namespace, `ci-op-y`.
    pub fn one_too_many(&self) {
        let labels = json!({ "ci.openshift.io/jobid": "upstream" });
        self.build_cluster.put("/api/v1/namespaces/ci-op-y", json!({ "metadata": { "labels": labels } }));
        let job = json!({
            "metadata": { "labels": { "ci.openshift.io/ephemeral-cluster": "ec" } },
            "spec": { "cluster": "build01" }, "status": { "state": "pending" },
        });
        self.hub.put(ONE_TOO_MANY, job);
    }

    pub fn put_beside(&self, name: &str, what: Value) {
        self.hub.put(&format!("{OBJECTS}/{name}"), object(what));
    }

    pub fn beside(&self, name: &str) -> Value {
        self.hub.get(&format!("{OBJECTS}/{name}")).unwrap_or_default()
    }

    fn object(&self) -> Option<Value> {
        self.hub.get(&format!("{OBJECTS}/ec"))
    }

    fn job(&self) -> Option<(String, Value)> {
        let job = self.hub.list(JOBS).into_iter().next()?;
        Some((format!("{JOBS}/{}", job["metadata"]["name"].as_str()?), job))
    }

    fn is_signalled(&self) -> bool {
        self.build_cluster.get(&format!("{NAMESPACE}/secrets/test-done-signal")).is_some()
    }

    /// Something happens, if it can.
    pub async fn happen(&self, event: Event) {
        let job = self.job();
        let is_running = job.as_ref().is_some_and(|(_, job)| {
            ["scheduling", "triggered", "pending"]
                .contains(&job["status"]["state"].as_str().unwrap_or_default())
        });
        let is_here = self.build_cluster.get(NAMESPACE).is_some();
        match (event, &job) {
            (Event::Schedule, Some((path, _))) if is_running => {
                let pending = json!({ "state": "pending", "url": "https://prow", "pendingTime": seconds() });
                self.hub.merge(path, &json!({ "spec": { "cluster": "build01" }, "status": pending }));
            }
            (Event::Namespace, Some((_, job)))
                if is_running && job["spec"]["cluster"] == "build01" && !is_here =>
            {
                let labels = json!({ "ci.openshift.io/jobid": job["metadata"]["name"] });
                self.build_cluster.put(NAMESPACE, json!({ "metadata": { "labels": labels } }));
            }
            (Event::Install | Event::Password, _) if is_here => {
                let installed =
                    if event == Event::Install { installed("first") } else { installed("second") };
                self.build_cluster.put(&format!("{NAMESPACE}/secrets/cluster-provisioning"), installed);
            }
            (Event::Tamper, _) => self.hub.merge(SECRET, &json!({ "data": { "kubeconfig": "ZXZpbA==" } })),
            (Event::Unpublish, _) => self.hub.delete(SECRET),
            (Event::TearDown, _) => {
                self.hub.merge(&format!("{OBJECTS}/ec"), &json!({ "spec": { "tearDownCluster": true } }));
            }
            (Event::Delete, _) => self.hub.delete(&format!("{OBJECTS}/ec")),
            (Event::Success | Event::Failure, Some((path, _))) if is_running => {
                let state = if event == Event::Success { "success" } else { "failure" };
                self.hub.merge(path, &json!({ "status": { "state": state, "completionTime": seconds() } }));
            }
            (Event::DeleteJob, Some((path, _))) => self.hub.delete(path),
            (Event::DeleteNamespace, _) => {
                for secret in self.build_cluster.list(&format!("{NAMESPACE}/secrets")) {
                    let name = secret["metadata"]["name"].as_str().unwrap().to_owned();
                    self.build_cluster.delete(&format!("{NAMESPACE}/secrets/{name}"));
                }
                self.build_cluster.delete(NAMESPACE);
            }
            (Event::BuildAway, _) => self.build_cluster.judge(|_| Some(Fault::Lost)),
            (Event::BuildBack, _) => self.build_cluster.judge(|_| None),
            (Event::Wait(seconds), _) => self.wait(seconds).await,
            _ => {}
        }
        // Sometimes the next thing happens before anybody could look.
        tokio::time::sleep(Duration::from_millis(300)).await;
        self.check();
    }

    /// Everything works again, and the EphemeralCluster is deleted: it goes, and nothing of it stays.
    pub async fn end(&self) {
        self.hub.judge(|_| None);
        self.build_cluster.judge(|_| None);
        self.happen(Event::Delete).await;
        let begun = Instant::now();
        while self.object().is_some() {
            assert!(begun.elapsed() < Duration::from_hours(9), "it does not end: {:#?}", self.object());
            self.wait(20).await;
            if self.is_signalled()
                || self.build_cluster.get(NAMESPACE).is_none() && begun.elapsed().as_secs() > 3600
            {
                self.happen(Event::Success).await;
            }
        }
        self.wait(600).await;
        self.check();
        assert_eq!(self.hub.get(SECRET), None, "its credentials are gone");
        if let Some((_, job)) = self.job() {
            let ended = ["success", "failure", "aborted"].contains(&job["status"]["state"].as_str().unwrap());
            assert!(ended || self.is_signalled(), "its job goes on: {job:#?}");
        }
    }

    pub fn jobs_made(&self) -> usize {
        let is_new = |c: &&crate::border::memory::Change| c.path.starts_with(JOBS) && c.before.is_none();
        self.hub.history().iter().filter(is_new).count()
    }

    pub fn signals_made(&self) -> usize {
        let is_new =
            |c: &&crate::border::memory::Change| c.path.ends_with("/test-done-signal") && c.before.is_none();
        self.build_cluster.history().iter().filter(is_new).count()
    }

    pub fn phase(&self) -> &'static str {
        let object = self.object().unwrap_or_default();
        PHASE.into_iter().find(|phase| object["status"]["phase"] == *phase).unwrap_or_default()
    }

    /// Invariants over the whole history.
    pub fn check(&self) {
        let ours = format!("{OBJECTS}/ec");
        let (mut held, mut phase, mut jobs) = (false, String::new(), BTreeSet::new());
        for change in self.hub.history() {
            let is_new_job = change.path.starts_with(JOBS) && change.before.is_none();
            if change.path == ours {
                let Some(object) = &change.after else { continue };
                held = object["metadata"]["finalizers"]
                    .as_array()
                    .is_some_and(|f| f.contains(&json!(FINALIZER)));
                let now = object["status"]["phase"].as_str().unwrap_or_default();
                if now != phase {
                    let is_final = phase == "Failed" || phase == "Deprovisioned";
                    let is_back = phase == "Ready" && now == "Provisioning"
                        || phase == "Deprovisioning" && now == "Ready";
                    assert!(!is_final && !is_back, "{phase} became {now}: {:#?}", object["status"]);
                    now.clone_into(&mut phase);
                }
            } else if is_new_job && change.path != ONE_TOO_MANY {
                assert!(held, "a job was made for what would not wait for it");
                jobs.insert(change.path.clone());
                assert_eq!(jobs.len(), 1, "a second job was made");
            } else if change.path == SECRET
                && let Some(secret) = &change.after
            {
                let data = &secret["data"];
                let known = [installed("first"), installed("second")].iter().any(|i| {
                    data["kubeconfig"] == i["data"]["kubeconfig"]
                        && data["kubeAdminPassword"] == i["data"]["kubeadmin-password"]
                });
                assert!(known || data["kubeconfig"] == "ZXZpbA==", "published what no cluster has: {data}");
            }
        }
    }
}

fn start(hub: &Memory, build_cluster: &Memory, fulfils: bool) -> JoinHandle<()> {
    let owner = json!({ "konflux": { "tenant": "acme-tenant", "clusters": ["stone"] } });
    let profiles =
        json!({ "cluster_profiles": [{ "name": "aws", "cluster_type": "aws", "owners": [owner] }] });
    let config = json!({
        "ephemeralCluster": { "mode": "fulfil", "clusterProfiles": { "inline": profiles } },
        "buildClusters": { "directory": "/none" },
    });
    let config = Config::parse("test", &config.to_string()).unwrap();
    let profiles = Profiles::of(&config.ephemeral_cluster, |_| unreachable!());
    let options = Options {
        hub: Hub::new(hub.client(), "ephemeral-cluster", "ci"),
        settings: Arc::new(Settings::from(&config)),
        mode: if fulfils {
            ControllerMode::Fulfil(Arc::new(move |object, now| draft(object, &config, &profiles, now)))
        } else {
            ControllerMode::Proxy
        },
        build_clusters: BuildClusterSource::Fixed(vec![("build01".into(), build_cluster.client())]),
        patience: Duration::from_secs(10),
        build_cluster_call: Duration::from_secs(10),
        build_cluster_patience: Duration::from_secs(30),
        instance: "test".into(),
        now,
    };
    tokio::spawn(controller::run(options, Metrics::default().jobs(), Box::pin(std::future::pending())))
}

/// One call in eight goes wrong, in one way or another.
pub(crate) fn trouble(mut seed: u64) -> impl FnMut(&Call) -> Option<Fault> {
    move |_| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        match seed % 56 {
            0 => Some(Fault::Refused(409)),
            1 => Some(Fault::Refused(429)),
            2 => Some(Fault::Refused(500)),
            3 => Some(Fault::Refused(503)),
            4 => Some(Fault::Lost),
            5 | 6 => Some(Fault::AnswerLost),
            _ => None,
        }
    }
}

fn installed(password: &str) -> Value {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    let kubeconfig = crate::support::kubeconfig("https://c", "t");
    json!({ "data": {
        "kubeconfig": BASE64_STANDARD.encode(kubeconfig), "kubeadmin-password": BASE64_STANDARD.encode(password),
    } })
}

pub(crate) fn seconds() -> String {
    now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

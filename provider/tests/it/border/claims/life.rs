//! One ClusterClaim of ours, Hive and others played, and what must hold at any time.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use provider_testplatform::{
    controllers::cluster_claim::{
        controller::{self as claims, Options},
        hub::ClaimHub,
        observed_state::ClaimSettings,
    },
    metrics::Metrics,
};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};

use super::{CLAIM, SECRET};
use crate::border::{
    memory::Memory,
    walk::life::{begin_time, now, seconds, trouble},
};

const POOL: &str = "/apis/hive.openshift.io/v1/namespaces/cluster-pools/clusterpools/pool";
const STATUS: &str = "testplatform.ci.openshift.org/status";

/// Events of a claim's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Hive writes the claim first, then the cluster; here in two.
    Assign(usize),
    Confirm,
    Acknowledge,
    Run,
    Stop,
    Sleep,
    Rotate,
    Plugin,
    Tamper,
    Unpublish,
    Misdirect(usize),
    Delete,
    GiveBack,
    Lose(usize),
    ClaimGone,
    Restart,
    Wait(u64),
}

pub struct Life {
    pub hub: Memory,
    provider: JoinHandle<()>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.provider.abort();
    }
}

/// Path of a cluster. The last one is another claim's.
pub fn cluster(n: usize) -> String {
    format!("/apis/hive.openshift.io/v1/namespaces/c-{n}/clusterdeployments/c-{n}")
}

fn secret(n: usize, name: &str) -> String {
    format!("/api/v1/namespaces/c-{n}/secrets/{name}")
}

/// Kubeconfig of a cluster; each cluster has its own.
fn kubeconfig(n: usize, generation: u64) -> String {
    crate::support::kubeconfig(&format!("https://c-{n}"), &format!("t{generation}"))
}

impl Life {
    /// A claim waits; two clusters are free, a third is another claim's. With a seed calls go wrong now and then.
    pub async fn begin(seed: u64) -> Self {
        begin_time();
        let hub = Memory::new().with_clock(seconds);
        hub.with_status("clusterclaims");
        hub.put(POOL, json!({ "spec": { "size": 1 }, "status": { "size": 0, "ready": 0, "standby": 0 } }));
        hub.put(
            CLAIM,
            json!({
                "apiVersion": "hive.openshift.io/v1", "kind": "ClusterClaim",
                "metadata": { "annotations": { "testplatform.ci.openshift.org/resume": "true" } },
                "spec": { "clusterPoolName": "pool" },
            }),
        );
        for n in 0..3 {
            let mut pool = json!({ "namespace": "cluster-pools", "poolName": "pool" });
            if n == 2 {
                pool["claimName"] = json!("other");
            }
            let reference = |name: &str| json!({ "name": name });
            hub.put(&cluster(n), json!({
                "spec": { "installed": true, "powerState": "Running", "clusterPoolRef": pool, "clusterMetadata": {
                    "adminKubeconfigSecretRef": reference("k"), "adminPasswordSecretRef": reference("p"),
                    "metadataJSONSecretRef": reference("m"),
                } },
                "status": { "powerState": "Running", "apiURL": format!("https://c-{n}") },
            }));
            hub.put(
                &secret(n, "k"),
                json!({ "data": { "kubeconfig": BASE64_STANDARD.encode(kubeconfig(n, 0)) } }),
            );
            hub.put(&secret(n, "p"), json!({ "data": { "password": BASE64_STANDARD.encode("p") } }));
        }
        if seed != 0 {
            hub.judge(trouble(seed));
        }
        let provider = start(&hub);
        let life = Self { hub, provider };
        life.wait(1).await;
        life
    }

    /// The process is killed, and another one is started.
    pub fn restart(&mut self) {
        self.provider.abort();
        self.provider = start(&self.hub);
    }

    pub async fn wait(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub async fn until(&self, what: &str, is: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is(self) {
            let late = begun.elapsed() > Duration::from_hours(1);
            assert!(!late, "not {what} within an hour: {:#?}", self.hub.get(CLAIM));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    pub fn claim(&self) -> Option<Value> {
        self.hub.get(CLAIM)
    }

    pub fn told(&self) -> Value {
        let text = self.claim().and_then(|c| Some(c["metadata"]["annotations"][STATUS].as_str()?.to_owned()));
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    pub fn published(&self) -> Option<Value> {
        self.hub.get(SECRET)
    }

    fn say(&self, type_: &str, status: &str) {
        let Some(claim) = self.claim() else { return };
        let mut conditions = claim["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.retain(|c| c["type"] != type_);
        conditions.push(json!({ "type": type_, "status": status, "reason": "Played" }));
        self.hub.merge(CLAIM, &json!({ "status": { "conditions": conditions } }));
    }

    fn said(&self, type_: &str, status: &str) -> bool {
        let claim = self.claim().unwrap_or_default();
        claim["status"]["conditions"]
            .as_array()
            .is_some_and(|all| all.iter().any(|c| c["type"] == type_ && c["status"] == status))
    }

    pub fn assigned(&self) -> Option<usize> {
        self.claim()?["spec"]["namespace"].as_str()?.strip_prefix("c-")?.parse().ok()
    }

    fn is_confirmed(&self) -> bool {
        let cluster = self.assigned().and_then(|n| self.hub.get(&cluster(n)));
        cluster.is_some_and(|cluster| cluster["spec"]["clusterPoolRef"]["claimName"] == "demo")
    }

    /// Something happens, if it can.
    pub async fn happen(&mut self, event: Event) {
        let assigned = self.assigned();
        let is_free = |n: usize| {
            let cluster = self.hub.get(&cluster(n)).unwrap_or_default();
            cluster["spec"].is_object() && cluster["spec"]["clusterPoolRef"]["claimName"].is_null()
        };
        let deleted = self.claim().is_some_and(|c| c["metadata"]["deletionTimestamp"].is_string());
        match (event, assigned) {
            (Event::Assign(n), None) if is_free(n) && !deleted => {
                self.hub.merge(CLAIM, &json!({ "metadata": { "finalizers": ["hive.openshift.io/claim"] }, "spec": { "namespace": format!("c-{n}") } }));
            }
            (Event::Confirm, Some(n)) if is_free(n) => {
                self.hub
                    .merge(&cluster(n), &json!({ "spec": { "clusterPoolRef": { "claimName": "demo" } } }));
            }
            (Event::Acknowledge, Some(_)) if self.is_confirmed() && !deleted => self.say("Pending", "False"),
            (Event::Run, Some(_)) if self.is_confirmed() && self.said("Pending", "False") && !deleted => {
                self.say("ClusterRunning", "True");
            }
            (Event::Stop, Some(_)) => self.say("ClusterRunning", "False"),
            (Event::Sleep, Some(n)) => {
                let asleep = json!({ "type": "Hibernating", "status": "True", "reason": "Hibernating", "lastTransitionTime": seconds() });
                self.hub.merge(
                    &cluster(n),
                    &json!({ "spec": { "powerState": "Hibernating" },
                    "status": { "powerState": "Hibernating", "conditions": [asleep] } }),
                );
            }
            (Event::Rotate, Some(n)) if self.hub.get(&secret(n, "k")).is_some() => {
                let generation = self.hub.history().len() as u64;
                let made = BASE64_STANDARD.encode(kubeconfig(n, generation));
                self.hub.put(&secret(n, "k"), json!({ "data": { "kubeconfig": made } }));
            }
            (Event::Plugin, Some(n)) => {
                let made =
                    BASE64_STANDARD.encode(kubeconfig(n, 0).replace("token: t0", "exec: {command: rm}"));
                self.hub.put(&secret(n, "k"), json!({ "data": { "kubeconfig": made } }));
            }
            (Event::Tamper, _) => self.hub.merge(SECRET, &json!({ "data": { "kubeconfig": "ZXZpbA==" } })),
            (Event::Unpublish, _) => self.hub.delete(SECRET),
            (Event::Misdirect(n), _) => {
                self.hub.merge(CLAIM, &json!({ "spec": { "namespace": format!("c-{n}") } }));
            }
            (Event::Delete, _) => self.hub.delete(CLAIM),
            (Event::GiveBack, Some(n)) if deleted && self.is_confirmed() => self.hub.delete(&cluster(n)),
            (Event::Lose(n), _) => self.hub.delete(&cluster(n)),
            (Event::ClaimGone, _) if deleted && !self.is_confirmed() => {
                self.hub.merge(CLAIM, &json!({ "metadata": { "finalizers": null } }));
                self.hub.delete(CLAIM);
            }
            (Event::Restart, _) => self.restart(),
            (Event::Wait(seconds), _) => self.wait(seconds).await,
            _ => {}
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        self.check();
    }

    /// Invariants over the whole history.
    pub fn check(&self) {
        let history = self.hub.history();
        for change in history.iter().filter(|c| c.path == SECRET) {
            let Some(data) = change.after.as_ref().map(|secret| &secret["data"]["kubeconfig"]) else {
                continue;
            };
            let text = String::from_utf8(BASE64_STANDARD.decode(data.as_str().unwrap()).unwrap()).unwrap();
            if text == "evil" {
                continue;
            }
            assert!(!text.contains("exec"), "a plugin was published");
            let n = (0..3).find(|n| text.contains(&format!("https://c-{n}\n"))).unwrap();
            let mut whose =
                history.iter().rev().filter(|c| c.version < change.version && c.path == cluster(n));
            let whose = whose.find_map(|c| c.after.as_ref()).unwrap();
            assert_eq!(
                whose["spec"]["clusterPoolRef"]["claimName"], "demo",
                "credentials of another's cluster"
            );
            let ran = history.iter().any(|c| {
                c.path == CLAIM
                    && c.version < change.version
                    && c.after.as_ref().is_some_and(|claim| {
                        claim["status"]["conditions"].as_array().is_some_and(|all| {
                            all.iter().any(|c| c["type"] == "ClusterRunning" && c["status"] == "True")
                        })
                    })
            });
            assert!(ran, "published before the cluster has run");
        }
        let told = self.told().to_string();
        assert!(!told.contains("token"), "a secret in the status: {told}");
    }

    /// Everything works again, and nothing more happens: what should be there is there, and nothing more is written.
    pub async fn rest(&self) {
        self.hub.judge(|_| None);
        self.wait(3600).await;
        self.check();
        let claim = self.claim();
        let deleted = claim.as_ref().is_none_or(|c| c["metadata"]["deletionTimestamp"].is_string());
        let published = self.published();
        if deleted || !self.is_confirmed() {
            assert_eq!(published, None, "it should be withdrawn");
        }
        let told = self.told();
        assert_eq!(told["credentials"].is_object(), published.is_some(), "{told:#}");
        if let (Some(secret), Some(claim)) = (&published, &claim) {
            let revision =
                &claim["metadata"]["annotations"]["testplatform.ci.openshift.org/credentials-revision"];
            assert_eq!(*revision, secret["metadata"]["resourceVersion"]);
            assert_ne!(secret["data"]["kubeconfig"], "ZXZpbA==", "repaired");
            let n = self.assigned().unwrap();
            let source = self.hub.get(&super::life::secret(n, "k")).unwrap();
            if told["blockingReason"].is_null() {
                assert_eq!(source["data"]["kubeconfig"], secret["data"]["kubeconfig"], "followed");
            }
        }
        self.hub.calls();
        self.wait(3600).await;
        assert_eq!(self.hub.writes(), [], "at rest nothing is written");
    }
}

pub fn start(hub: &Memory) -> JoinHandle<()> {
    let options = Options {
        hub: ClaimHub::new(hub.client(), "credentials"),
        settings: ClaimSettings::default(),
        patience: Duration::from_secs(10),
        instance: "test".into(),
        now,
    };
    tokio::spawn(claims::run(options, Metrics::default().claims(), Box::pin(std::future::pending())))
}

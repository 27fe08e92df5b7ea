//! One cluster of a claim, whoever makes it and others played, and what must hold at any time.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::SignedDuration;
use provider_testplatform::{
    config::{Clusters, ClustersOf, Switch},
    controllers::template_cluster::controller::{Options, run},
    metrics::Metrics,
};
use serde_json::{Value, json};
use testplatform_apis::{
    duration::GoDuration,
    names::ours,
    template::Backend::{self, Caas, ClusterApi, HyperShift, Osac},
};
use tokio::{task::JoinHandle, time::Instant};

use crate::border::{
    memory::Memory,
    walk::life::{begin_time, now, seconds, trouble},
};

pub const SECRET: &str = "/api/v1/namespaces/credentials/secrets/demo-credentials";

/// Events of a cluster's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It can be used, or not.
    Run(bool),
    Rotate,
    Plugin,
    /// Its password is there, or not.
    Password(bool),
    Tamper,
    Unpublish,
    Delete,
    Gone,
    /// Another one of its name.
    Reborn,
    Restart,
    Wait(u64),
}

pub struct Life {
    pub hub: Memory,
    backend: Backend,
    provider: JoinHandle<()>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.provider.abort();
    }
}

/// Where objects of a backend are.
pub const fn namespace(backend: Backend) -> &'static str {
    match backend {
        HyperShift | ClusterApi | Caas => "clusters",
        Osac => "osac-orders",
    }
}

fn kubeconfig(generation: usize) -> String {
    crate::support::kubeconfig("https://c", &format!("t{generation}"))
}

impl Life {
    /// A cluster is asked for. With a seed calls go wrong now and then.
    pub async fn begin(backend: Backend, seed: u64) -> Self {
        begin_time();
        let hub = Memory::new().with_clock(seconds);
        let life = Self { provider: start(&hub), backend, hub };
        life.ask();
        life.hub.put(&life.source(), life.of_kubeconfig(&kubeconfig(0)));
        life.password(true);
        if seed != 0 {
            life.hub.judge(trouble(seed));
        }
        life.wait(1).await;
        life
    }

    /// A cluster is asked for, on a provider that ends those whose latest end has come.
    pub async fn begin_with_ends(backend: Backend) -> Self {
        begin_time();
        let hub = Memory::new().with_clock(seconds);
        let config = Clusters { end_overdue: Switch::On, ..config() };
        let life = Self { provider: start_with(&hub, config), backend, hub };
        life.ask();
        life.wait(1).await;
        life
    }

    /// Writes the latest end, so many seconds from now.
    pub fn end_in(&self, seconds: i64) {
        let end = now().checked_add(SignedDuration::from_secs(seconds)).unwrap();
        let annotations = json!({ ours::LATEST_END: end.to_string() });
        self.hub.merge(&self.object(), &json!({ "metadata": { "annotations": annotations } }));
    }

    fn ask(&self) {
        let mark = json!({ ours::CREDENTIALS_NAMESPACE: "credentials" });
        let metadata = json!({ "annotations": mark, "finalizers": ["example.org/its-own"] });
        self.hub.put(&self.object(), json!({ "metadata": metadata, "spec": {}, "status": {} }));
        if self.backend == Osac {
            self.hub.put(&self.holder(), json!({ "spec": {}, "status": {} }));
            let named = json!({ "namespace": "osac-orders-demo", "hostedClusterName": "demo" });
            self.hub.merge(&self.object(), &json!({ "status": { "clusterReference": named } }));
        }
    }

    /// Path of the object that stands for it.
    pub fn object(&self) -> String {
        let (kind, namespace) = (self.backend.cluster_kind(), namespace(self.backend));
        format!("/apis/{}/{}/namespaces/{namespace}/{}/demo", kind.group, kind.versions[0], kind.plural)
    }

    /// Path of the object that has the credentials.
    fn holder(&self) -> String {
        match self.backend {
            HyperShift | ClusterApi | Caas => self.object(),
            Osac => {
                "/apis/hypershift.openshift.io/v1beta1/namespaces/osac-orders-demo/hostedclusters/demo".into()
            }
        }
    }

    fn secret(&self, name: &str) -> String {
        let namespace = if self.backend == Osac { "osac-orders-demo" } else { "clusters" };
        format!("/api/v1/namespaces/{namespace}/secrets/{name}")
    }

    fn source(&self) -> String {
        self.secret(if self.backend == ClusterApi { "demo-kubeconfig" } else { "k" })
    }

    fn of_kubeconfig(&self, text: &str) -> Value {
        let key = if self.backend == ClusterApi { "value" } else { "kubeconfig" };
        json!({ "data": { key: BASE64_STANDARD.encode(text) } })
    }

    fn password(&self, there: bool) {
        let secret = self.secret("p");
        if there {
            self.hub.put(&secret, json!({ "data": { "password": BASE64_STANDARD.encode("pass-token") } }));
        } else {
            self.hub.delete(&secret);
        }
    }

    fn run(&self, runs: bool) {
        let condition = |type_: &str| {
            let status = if runs { "True" } else { "False" };
            json!([{ "type": type_, "status": status, "lastTransitionTime": seconds() }])
        };
        let (k, p) = (json!({ "name": "k" }), json!({ "name": "p" }));
        let status = match self.backend {
            HyperShift | Osac => {
                json!({ "conditions": condition("Available"), "kubeconfig": k, "kubeadminPassword": p })
            }
            ClusterApi => json!({ "conditions": condition("ControlPlaneAvailable") }),
            Caas => {
                let phase = if runs { "Ready" } else { "ClusterInstallFailed" };
                let conditions = condition("ClusterInstallSucceeded");
                json!({ "phase": phase, "conditions": conditions, "kubeconfig": k, "adminPassword": p })
            }
        };
        self.hub.merge(&self.holder(), &json!({ "status": status }));
    }

    fn has_run(&self, object: &Value) -> bool {
        let says = |type_: &str| {
            let conditions = object["status"]["conditions"].as_array();
            conditions.is_some_and(|all| all.iter().any(|c| c["type"] == type_ && c["status"] == "True"))
        };
        match self.backend {
            HyperShift | Osac => says("Available"),
            ClusterApi => says("ControlPlaneAvailable"),
            Caas => object["status"]["phase"] == "Ready",
        }
    }

    pub async fn wait(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub async fn until(&self, what: &str, is: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is(self) {
            let late = begun.elapsed() > Duration::from_hours(1);
            assert!(!late, "not {what} within an hour: {:#?}", self.whole());
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    pub fn whole(&self) -> Option<Value> {
        self.hub.get(&self.object())
    }

    pub fn told(&self) -> Value {
        let text = |o: Value| Some(o["metadata"]["annotations"][ours::STATUS].as_str()?.to_owned());
        self.whole().and_then(text).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    pub fn published(&self) -> Option<Value> {
        self.hub.get(SECRET)
    }

    /// Something happens, if it can.
    pub async fn happen(&mut self, event: Event) {
        let object = self.whole();
        let ends = object.as_ref().is_some_and(|o| o["metadata"]["deletionTimestamp"].is_string());
        match event {
            Event::Run(runs) => self.run(runs),
            Event::Rotate => {
                let generation = self.hub.history().len();
                self.hub.put(&self.source(), self.of_kubeconfig(&kubeconfig(generation)));
            }
            Event::Plugin => {
                let made = kubeconfig(0).replace("token: t0", "exec: {command: rm}");
                self.hub.put(&self.source(), self.of_kubeconfig(&made));
            }
            Event::Password(there) => self.password(there),
            Event::Tamper => self.hub.merge(SECRET, &json!({ "data": { "kubeconfig": "ZXZpbA==" } })),
            Event::Unpublish => self.hub.delete(SECRET),
            Event::Delete => self.hub.delete(&self.object()),
            Event::Gone if ends => {
                self.hub.merge(&self.object(), &json!({ "metadata": { "finalizers": null } }));
                self.hub.delete(&self.object());
                self.hub.delete(&self.holder());
            }
            Event::Reborn if object.is_none() => self.ask(),
            Event::Restart => {
                self.provider.abort();
                self.provider = start(&self.hub);
            }
            Event::Wait(seconds) => self.wait(seconds).await,
            Event::Gone | Event::Reborn => {}
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        self.check();
    }

    /// Invariants over the whole history.
    pub fn check(&self) {
        let (object, holder) = (self.object(), self.holder());
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
            let before = |path: &str| {
                let of =
                    move |c: &&crate::border::memory::Change| c.path == path && c.version < change.version;
                history.iter().filter(of).filter_map(|c| c.after.as_ref()).collect::<Vec<_>>()
            };
            let uid = &change.after.as_ref().unwrap()["metadata"]["labels"][ours::OWNER_UID];
            assert!(before(&object).iter().any(|o| o["metadata"]["uid"] == *uid), "of nobody: {uid}");
            assert!(before(&holder).iter().any(|o| self.has_run(o)), "published before it could be used");
        }
        for change in history.iter().filter(|c| c.path == object) {
            let annotations = change.after.as_ref().map(|o| o["metadata"]["annotations"].to_string());
            let has = |word: &str| annotations.as_ref().is_some_and(|all| all.contains(word));
            assert!(!has("token") && !has("cGFzcy"), "a secret in an annotation: {annotations:?}");
        }
    }

    /// Everything works again, and nothing more happens: what should be there is there, and nothing more is written.
    pub async fn rest(&self) {
        self.hub.judge(|_| None);
        self.wait(3600).await;
        self.check();
        let (object, published, told) = (self.whole(), self.published(), self.told());
        let ends = object.as_ref().is_none_or(|o| o["metadata"]["deletionTimestamp"].is_string());
        assert!(!ends || published.is_none(), "it should be withdrawn");
        assert_eq!(told["credentials"].is_object(), published.is_some(), "{told:#}");
        if let (Some(secret), Some(object)) = (&published, &object) {
            let revision = &object["metadata"]["annotations"][ours::CREDENTIALS_REVISION];
            assert_eq!(*revision, secret["metadata"]["resourceVersion"]);
            if told["blockingReason"].is_null() {
                let source = self.hub.get(&self.source()).unwrap();
                let key = if self.backend == ClusterApi { "value" } else { "kubeconfig" };
                assert_eq!(source["data"][key], secret["data"]["kubeconfig"], "followed and repaired");
                let password = self.hub.get(&self.secret("p")).filter(|_| self.backend != ClusterApi);
                let password = password.map_or(json!(""), |p| p["data"]["password"].clone());
                assert_eq!(secret["data"]["kubeAdminPassword"], password);
            }
        }
        let runs = self.hub.get(&self.holder()).is_some_and(|holder| self.has_run(&holder));
        if !ends && runs && published.is_none() {
            assert!(told["blockingReason"].is_object(), "neither published nor told why: {told:#}");
            assert_ne!(told["blockingReason"]["reason"], "NotRunning");
        }
        self.hub.calls();
        self.wait(3600).await;
        assert_eq!(self.hub.writes(), [], "at rest nothing is written");
    }
}

pub fn config() -> Clusters {
    let of = |backend| {
        (backend, ClustersOf { namespaces: [namespace(backend).to_owned()].into(), ..ClustersOf::default() })
    };
    Clusters {
        end_overdue: Switch::Off,
        bundles: Switch::Off,
        cloud_credentials: provider_testplatform::config::CloudCredentials::default(),
        prerequisites: provider_testplatform::config::Prerequisites::default(),
        backends: Backend::ALL.into_iter().map(of).collect(),
        credentials_namespace: "credentials".into(),
        poll: GoDuration::from_mins(10),
    }
}

pub fn start(hub: &Memory) -> JoinHandle<()> {
    start_with(hub, config())
}

fn start_with(hub: &Memory, config: Clusters) -> JoinHandle<()> {
    let options = Options::new(hub.client(), config, now);
    tokio::spawn(run(options, Metrics::default().clusters(), Box::pin(std::future::pending())))
}

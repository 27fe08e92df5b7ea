//! A hub beside the engine's: an API server and an etcd of its own, our provider there with exactly the rights that we ship, and
//! HyperShift, Cluster API and Hive played on it. Few scenarios need it; the first of them starts it for all.

use serde_json::{Value, json};
use tokio::{sync::OnceCell, task::JoinHandle};

use super::{Credential, IDENTITY, define, issue, prepare};
use crate::{
    binaries::Binaries,
    cluster::Cluster,
    cluster_api::{self, FakeClusterApi},
    control_plane::ControlPlane,
    hive::{Behaviour, Hive},
    hypershift::{self, HyperShift},
    manifests,
    provider::Provider,
    recorder::Recorder,
};

/// Name of its control plane, and of the Secret with a kubeconfig for it.
pub const WEST: &str = "hub-west";
/// Namespace of its hosts.
pub const HOSTS: &str = "hosts";
/// The class of nodes whose nodes are hosts there, as the template that we ship calls it; also what their label `size` says.
pub const OF_HOSTS: &str = "large";
/// Where HyperShift says which versions it can make.
pub const HYPERSHIFT: &str = "hypershift";

/// The other hub. Everything of it ends when it is dropped.
pub struct AnotherHub {
    /// HyperShift on it.
    pub hypershift: HyperShift,
    /// The Konflux cluster's credential for it.
    pub credential: Credential,
    hive: OnceCell<Hive>,
    watches: Vec<JoinHandle<()>>,
    fulfiller: Provider,
    plane: ControlPlane,
    _cluster_api: FakeClusterApi,
}

impl AnotherHub {
    /// Starts it. `recorder` remembers what is made there too.
    pub async fn start(binaries: &Binaries, recorder: &Recorder) -> anyhow::Result<Self> {
        let plane = ControlPlane::start(WEST, binaries).await?;
        let hub = plane.cluster();
        prepare(hub).await?;
        for name in [HOSTS, HYPERSHIFT] {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            hub.apply(&namespace).await?;
        }
        define(hub, &manifests::known_crd("agents.agent-install.openshift.io")?).await?;
        let fulfiller = Box::pin(Provider::new(plane.nest(), &plane, &plane, &tells())).await?;
        for rights in ["hub-facts", hypershift::BACKEND, cluster_api::BACKEND] {
            let path = format!("install/hub/konflux-identity-{rights}-rbac.yaml");
            hub.apply_all(&manifests::package(&path)?).await?;
        }
        fulfiller.start(plane.nest())?;
        Ok(Self {
            hypershift: HyperShift::start(hub),
            credential: issue(&plane, IDENTITY, "0").await?,
            hive: OnceCell::new(),
            watches: recorder.also(hub),
            _cluster_api: FakeClusterApi::start(hub),
            fulfiller,
            plane,
        })
    }

    /// Its objects, as an administrator.
    pub fn cluster(&self) -> &Cluster {
        self.plane.cluster()
    }

    /// The port of its API server.
    pub fn port(&self) -> u16 {
        self.plane.port()
    }

    /// Hive on it, which begins to play when it is first asked for.
    pub async fn hive(&self) -> &Hive {
        self.hive.get_or_init(async || Hive::start(self.cluster(), Behaviour::default())).await
    }

    /// Fails if its provider ended.
    pub fn check(&self) -> anyhow::Result<()> {
        self.fulfiller.check()
    }
}

impl Drop for AnotherHub {
    fn drop(&mut self) {
        self.watches.iter().for_each(JoinHandle::abort);
    }
}

/// Configuration beyond that of the engine's hub: this provider reports the hub's facts, as often as it may.
fn tells() -> Value {
    let hosts = json!({ "agents": { "namespace": HOSTS, "matchLabels": { "size": OF_HOSTS } } });
    json!({ "hubFacts": {
        "mode": "on", "backends": [hypershift::BACKEND], "period": "10s", "hypershiftNamespace": HYPERSHIFT,
        "classes": { "small": {}, OF_HOSTS: hosts },
    } })
}

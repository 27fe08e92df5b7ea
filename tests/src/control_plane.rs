//! A Kubernetes control plane as plain processes: etcd, kube-apiserver and kube-controller-manager on loopback.

mod another;
mod failing;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::future::BoxFuture;
use kube::{Client, Config, config::KubeConfigOptions, config::Kubeconfig};
use serde_json::{Value, json};

use crate::{
    binaries::Binaries,
    cluster::Cluster,
    nest::{Nest, Process},
    patience::longer,
    pki::{Authority, Leaf},
    ports::free_ports,
};

pub use another::ApiServer;

/// How long a control plane may take to answer; 3 s on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// Without these nothing is ever collected, no namespace goes, and no ServiceAccount can have a token.
const CONTROLLERS: [&str; 4] = [
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
];

/// Optional parts of a control plane, for the scenarios that need them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// More of Kubernetes' own controllers.
    pub controllers: &'static [&'static str],
    /// `true` if every call is written to the audit log: who, what, when.
    pub audited: bool,
}

/// Every call once, when it has been answered, without what was in it.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
omitManagedFields: true
rules: [{ level: Metadata }]
";

/// A running control plane. Everything of it ends when it is dropped, or when the process ends in any other way.
pub struct ControlPlane {
    name: String,
    binaries: Binaries,
    extras: Extras,
    ports: Ports,
    /// At which port the API server looks for etcd.
    way_to_etcd: Mutex<u16>,
    authority: Authority,
    kubeconfig: PathBuf,
    cluster: Cluster,
    // In the order in which they have to end: an API server that lost its etcd waits for it for minutes.
    manager: Mutex<Option<Process>>,
    api_server: Mutex<Option<Process>>,
    etcd: Mutex<Option<Process>>,
    nest: Nest,
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    etcd: u16,
    peers: u16,
    api_server: u16,
}

impl ControlPlane {
    /// Starts one and waits until it answers. `name` is for people: in messages, kubeconfigs and directory names.
    pub async fn start(name: &str, binaries: &Binaries) -> anyhow::Result<Self> {
        Self::start_with(name, binaries, Extras::default()).await
    }

    /// As [`Self::start`], with more than every scenario needs.
    ///
    /// Boxed as what it is, so that it is compiled here, and not in each program that has a control plane.
    pub fn start_with<'a>(
        name: &'a str,
        binaries: &'a Binaries,
        extras: Extras,
    ) -> BoxFuture<'a, anyhow::Result<Self>> {
        Box::pin(Self::start_somewhere(name, binaries, extras))
    }

    async fn start_somewhere(name: &str, binaries: &Binaries, extras: Extras) -> anyhow::Result<Self> {
        // A port that was free may be taken before the program binds it.
        let mut tries = 1;
        loop {
            match Self::try_start(name, binaries, extras).await {
                Err(error) if tries < 3 && format!("{error:#}").contains("address already in use") => {
                    tries += 1;
                }
                other => return other.with_context(|| format!("control plane {name} does not start")),
            }
        }
    }

    async fn try_start(name: &str, binaries: &Binaries, extras: Extras) -> anyhow::Result<Self> {
        let nest = Nest::new(name, None)?;
        let [etcd, peers, api_server] = free_ports()?;
        let ports = Ports { etcd, peers, api_server };
        let authority = Authority::new(&format!("testbed {name}"))?;
        authority.publish(&nest.directory().join("server"), &authority.server("kube-apiserver")?)?;
        if extras.audited {
            nest.file("audit-policy.yaml", AUDIT_POLICY)?;
        }
        let signer = authority.client("service-accounts", None)?;
        nest.file("service-accounts.key", signer.key)?;
        nest.file("service-accounts.crt", signer.certificate)?;
        let admin = Identity::Certificate(authority.client("testbed", Some("system:masters"))?);
        let text = kubeconfig(name, ports.api_server, &authority.pem(), &admin).to_string();
        let kubeconfig = nest.file("kubeconfig", &text)?;
        let process = nest.spawn("etcd", &mut etcd_command(binaries, ports))?;
        let plane = Self {
            name: name.to_owned(),
            binaries: binaries.clone(),
            extras,
            ports,
            way_to_etcd: Mutex::new(ports.etcd),
            authority,
            kubeconfig,
            cluster: Cluster::new(name, connect(&text).await?),
            manager: Mutex::new(None),
            api_server: Mutex::new(None),
            etcd: Mutex::new(Some(process)),
            nest,
        };
        plane.start_api_server().await?;
        plane.start_controllers()?;
        Ok(plane)
    }

    /// Starts Kubernetes' own controllers, or ends them and starts them again. The garbage collector hears of new kinds only every half a
    /// minute, and what is deleted in the foreground waits for it; one that starts knows every kind that there is by then.
    pub fn start_controllers(&self) -> anyhow::Result<()> {
        let mut manager = lock(&self.manager);
        if let Some(running) = manager.as_mut() {
            running.kill();
        }
        *manager = Some(self.nest.spawn("kube-controller-manager", &mut self.manager_command())?);
        Ok(())
    }

    /// Starts the API server, again if it was stopped, and waits until it answers.
    pub async fn start_api_server(&self) -> anyhow::Result<()> {
        self.spawn_api_server()?;
        let patience = longer(PATIENCE);
        let until = Instant::now() + patience;
        loop {
            if let Some(process) = lock(&self.etcd).as_mut() {
                process.check()?;
            }
            if let Some(process) = lock(&self.api_server).as_mut() {
                process.check()?;
            }
            if self.cluster.answers().await {
                return Ok(());
            }
            if Instant::now() > until {
                let words = lock(&self.api_server).as_ref().map(Process::tail).unwrap_or_default();
                bail!("kube-apiserver does not answer after {patience:?}; its last words:\n{words}");
            }
            // Nothing can be watched before it answers.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Starts the API server, and does not wait for it.
    pub fn spawn_api_server(&self) -> anyhow::Result<()> {
        let process = self.nest.spawn("kube-apiserver", &mut self.api_server_command())?;
        *lock(&self.api_server) = Some(process);
        Ok(())
    }

    /// Takes the API server away; what is stored stays.
    pub fn stop_api_server(&self) {
        // By SIGKILL, which `Process` does when it is dropped: nobody drains connections of a hub that is gone.
        lock(&self.api_server).take();
    }

    /// The port of its API server.
    pub fn port(&self) -> u16 {
        self.ports.api_server
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its files and processes.
    pub fn nest(&self) -> &Nest {
        &self.nest
    }

    /// A client of its etcd.
    pub async fn etcd_client(&self) -> anyhow::Result<Client> {
        plain(self.ports.etcd).await
    }

    /// Where every call is written down, as a line of JSON, if it is audited.
    pub fn audit_log(&self) -> PathBuf {
        self.nest.directory().join("audit.log")
    }

    /// Its objects, as an administrator.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// A client, as an administrator.
    pub fn client(&self) -> Client {
        self.cluster.client()
    }

    /// Path of the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A kubeconfig for somebody else, everything inline.
    pub fn kubeconfig_for(&self, identity: &Identity) -> Value {
        kubeconfig(&self.name, self.ports.api_server, &self.authority.pem(), identity)
    }

    fn api_server_command(&self) -> Command {
        let directory = self.nest.directory();
        let file = |name: &str| directory.join(name).display().to_string();
        let mut command = Command::new(&self.binaries.kube_apiserver);
        command.args([
            format!("--etcd-servers=http://127.0.0.1:{}", *lock(&self.way_to_etcd)),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.ports.api_server),
            format!("--tls-cert-file={}", file("server/tls.crt")),
            format!("--tls-private-key-file={}", file("server/tls.key")),
            format!("--client-ca-file={}", file("server/ca.crt")),
            "--authorization-mode=RBAC".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", file("service-accounts.crt")),
            format!("--service-account-signing-key-file={}", file("service-accounts.key")),
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
            // There are no nodes, no pods and nobody to be fair to.
            "--endpoint-reconciler-type=none".to_owned(),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--enable-priority-and-fairness=false".to_owned(),
        ]);
        if self.extras.audited {
            command.arg(format!("--audit-policy-file={}", file("audit-policy.yaml")));
            command.arg(format!("--audit-log-path={}", self.audit_log().display()));
            command.args(["--audit-log-mode=batch", "--audit-log-maxsize=100000"]);
        }
        command
    }

    fn manager_command(&self) -> Command {
        let directory = self.nest.directory();
        let mut command = Command::new(&self.binaries.kube_controller_manager);
        command.args([
            format!("--kubeconfig={}", self.kubeconfig.display()),
            format!(
                "--service-account-private-key-file={}",
                directory.join("service-accounts.key").display()
            ),
            format!("--root-ca-file={}", directory.join("server/ca.crt").display()),
            "--secure-port=0".to_owned(),
            "--leader-elect=false".to_owned(),
        ]);
        // As OpenShift has it. By default the garbage collector would make 20 calls a second, which is little for hundreds of claims.
        command.args(["--kube-api-qps=150", "--kube-api-burst=300"]);
        let controllers = [CONTROLLERS.as_slice(), self.extras.controllers].concat().join(",");
        command.arg(format!("--controllers={controllers}"));
        command
    }
}

fn etcd_command(binaries: &Binaries, ports: Ports) -> Command {
    let clients = format!("http://127.0.0.1:{}", ports.etcd);
    let peers = format!("http://127.0.0.1:{}", ports.peers);
    let mut command = Command::new(&binaries.etcd);
    command.args(["--name=testbed", "--data-dir=etcd", "--unsafe-no-fsync", "--log-level=warn"]);
    command.args([
        format!("--listen-client-urls={clients}"),
        format!("--advertise-client-urls={clients}"),
        format!("--listen-peer-urls={peers}"),
        format!("--initial-advertise-peer-urls={peers}"),
        format!("--initial-cluster=testbed={peers}"),
    ]);
    command
}

/// Who somebody is to an API server.
#[derive(Clone, Debug)]
pub enum Identity {
    /// By client certificate.
    Certificate(Leaf),
    /// By bearer token.
    Token(String),
}

fn kubeconfig(name: &str, port: u16, authority: &str, identity: &Identity) -> Value {
    let data = |pem: &str| BASE64_STANDARD.encode(pem);
    let user = match identity {
        Identity::Certificate(leaf) => json!({
            "client-certificate-data": data(&leaf.certificate), "client-key-data": data(&leaf.key),
        }),
        Identity::Token(token) => json!({ "token": token }),
    };
    let server = format!("https://127.0.0.1:{port}");
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "clusters": [{ "name": name, "cluster": { "server": server, "certificate-authority-data": data(authority) } }],
        "users": [{ "name": name, "user": user }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name, "namespace": "default" } }],
    })
}

/// A client for a kubeconfig.
pub async fn connect(kubeconfig: &str) -> anyhow::Result<Client> {
    let parsed = Kubeconfig::from_yaml(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// A client of what serves plain HTTP on a port of this machine.
pub async fn plain(port: u16) -> anyhow::Result<Client> {
    let server = format!("http://127.0.0.1:{port}");
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "plain",
        "clusters": [{ "name": "plain", "cluster": { "server": server } }],
        "users": [{ "name": "plain", "user": {} }],
        "contexts": [{ "name": "plain", "context": { "cluster": "plain", "user": "plain" } }],
    });
    connect(&kubeconfig.to_string()).await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! A provider with namespaces of its own, behind gates, so that several of them can be killed side by side.

use std::{
    process::{Command, ExitStatus},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    gate::{Gate, Moment, Toll},
    nest::Process,
    ports::free_ports,
    program,
};

use super::hub::{ACCOUNT, Hub, configuration, namespace, page};

/// A provider whose every write goes through a gate. As its namespaces have one prefix, so have its files.
pub struct Lane {
    pub hub: Arc<Hub>,
    /// Namespace of its EphemeralClusters.
    pub clusters: String,
    /// Namespace of its ProwJobs.
    pub jobs: String,
    pub toll: Arc<Toll>,
    /// Directory of its files.
    files: String,
    /// For how many seconds its Lease counts, and the port of its own HTTP.
    lease: u8,
    port: u16,
    /// Before the hub and before the build cluster.
    gates: [Gate; 2],
    process: Mutex<Option<Process>>,
}

impl Lane {
    /// Prepares everything that it needs, and starts it. Whoever does not give the Lease back keeps the next one waiting for that
    /// many seconds.
    pub async fn start(hub: &Arc<Hub>, name: &str, lease: u8) -> anyhow::Result<Arc<Self>> {
        let home = home(name);
        for namespace in [name, &jobs(name), &home] {
            self::namespace(hub.hub(), namespace, &json!({})).await?;
        }
        let port = configure(hub, name, name, lease)?;
        let rights = Command::new(program::provider()?)
            .args(["rbac", "hub", "--service-account", &format!("{home}/{ACCOUNT}"), "--config"])
            .arg(hub.nest.directory().join(name).join("config.yaml"))
            .output()?;
        ensure!(rights.status.success(), "no rights: {}", String::from_utf8_lossy(&rights.stderr));
        let file = hub.nest.file(&format!("{name}/rbac.yaml"), rights.stdout)?;
        let mut rights = testplatform_tests::manifests::read(&file)?;
        // Each lane has its own of those that are in no namespace.
        for right in rights.iter_mut().filter(|right| right["metadata"]["namespace"].is_null()) {
            let own = |field: &Value| format!("{name}-{}", field.as_str().unwrap_or_default()).into();
            right["metadata"]["name"] = own(&right["metadata"]["name"]);
            if right["kind"] == "ClusterRoleBinding" {
                right["roleRef"]["name"] = own(&right["roleRef"]["name"]);
            }
        }
        hub.hub().apply_all(&rights).await?;
        Self::behind_gates(hub, name, name, lease, port).await
    }

    /// Starts another replica of it: all is the same but the port, and the gates are its own.
    pub async fn beside(&self, files: &str) -> anyhow::Result<Arc<Self>> {
        let port = configure(&self.hub, &self.clusters, files, self.lease)?;
        Self::behind_gates(&self.hub, &self.clusters, files, self.lease, port).await
    }

    async fn behind_gates(
        hub: &Arc<Hub>,
        name: &str,
        files: &str,
        lease: u8,
        port: u16,
    ) -> anyhow::Result<Arc<Self>> {
        let toll = Arc::new(Toll::default());
        let [on_hub, on_build] = hub.kubeconfigs(&home(name)).await?;
        let gates = [Gate::before("hub", &on_hub, &toll)?, Gate::before("build01", &on_build, &toll)?];
        hub.nest.file(&format!("{files}/kubeconfig"), gates[0].kubeconfig().to_string())?;
        hub.nest.file(&format!("{files}/build-clusters/build01"), gates[1].kubeconfig().to_string())?;
        let (hub, clusters, jobs, files) = (Arc::clone(hub), name.to_owned(), jobs(name), files.to_owned());
        let lane = Self { hub, clusters, jobs, toll, files, lease, port, gates, process: Mutex::default() };
        lane.restart()?;
        Ok(Arc::new(lane))
    }

    /// From now on it cannot reach the hub.
    pub fn cut_off(&self) {
        self.gates[0].close();
    }

    /// Kills the provider by SIGKILL at a write, and starts another one at once.
    pub fn kill_at(self: &Arc<Self>, write: &str, moment: Moment) {
        let lane = Arc::downgrade(self);
        let blow = move || {
            if let Some(Err(error)) = lane.upgrade().map(|lane| lane.restart()) {
                eprintln!("the provider was not started again: {error:#}");
            }
        };
        self.toll.arm(write, moment, Box::new(blow));
    }

    /// Starts the provider, and ends with SIGKILL the one that is there.
    fn restart(&self) -> anyhow::Result<()> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        // A process is killed when it is dropped, and waited for.
        process.take();
        let file = |name: &str| self.hub.nest.directory().join(&self.files).join(name);
        let mut command = Command::new(program::provider()?);
        command.arg("--config").arg(file("config.yaml")).arg("--kubeconfig").arg(file("kubeconfig"));
        command.args(["--log-format=text", "-d"]);
        *process = Some(self.hub.nest.spawn(&self.files, &mut command)?);
        Ok(())
    }

    /// Fails if the provider ended by itself.
    pub fn check(&self) -> anyhow::Result<()> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).as_mut().context("no provider")?.check()
    }

    /// How the provider ended, if it did.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(Process::ended)
    }

    /// `true` if it reports that it leads; `None` if it does not answer, or is not ready.
    pub fn leads(&self) -> Option<bool> {
        page(self.port, "/readyz").ok()?;
        let page = page(self.port, "/metrics").ok()?;
        Some(page.lines().find_map(|line| line.strip_prefix("testplatform_provider_leader "))? == "1")
    }

    /// Last log lines of the provider.
    pub fn words(&self) -> String {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.as_ref().map(Process::tail).unwrap_or_default()
    }

    /// An EphemeralCluster as one asks for it here.
    pub fn ephemeral_cluster(&self, name: &str) -> Value {
        let mut wanted = super::hub::ephemeral_cluster(name);
        wanted["metadata"]["namespace"] = json!(self.clusters);
        wanted
    }
}

/// Namespace of a provider's own.
fn home(name: &str) -> String {
    format!("{name}-provider")
}

/// Namespace of its ProwJobs.
fn jobs(name: &str) -> String {
    format!("{name}-jobs")
}

/// Writes the configuration of a provider into a directory, and returns the port in it.
fn configure(hub: &Hub, name: &str, files: &str, lease: u8) -> anyhow::Result<u16> {
    let [port] = free_ports()?;
    let mut config = configuration(&hub.nest.directory().join(files), port);
    config["ephemeralCluster"]["namespace"] = json!(name);
    config["prow"] = json!({ "namespace": jobs(name) });
    config["leaderElection"] = json!({
        "namespace": home(name), "leaseDuration": format!("{lease}s"), "renewDeadline": "4s", "retryPeriod": "200ms",
    });
    hub.nest.file(&format!("{files}/config.yaml"), config.to_string())?;
    Ok(port)
}

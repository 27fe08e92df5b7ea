//! A provider with namespaces of its own, behind gates, so that several of them can be killed side by side.

use std::{
    process::Command,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    gate::{Gate, Moment, Toll},
    nest::Process,
    ports::free_ports,
};

use crate::hub::{ACCOUNT, Hub, PROGRAM, configuration, namespace};

/// A provider whose every write goes through a gate. As its namespaces have one prefix, so have its files.
pub struct Lane {
    pub hub: Arc<Hub>,
    /// Namespace of its EphemeralClusters.
    pub clusters: String,
    /// Namespace of its ProwJobs.
    pub jobs: String,
    pub toll: Arc<Toll>,
    /// They serve as long as they are held.
    _gates: [Gate; 2],
    process: Mutex<Option<Process>>,
}

impl Lane {
    /// Prepares everything that it needs, and starts it.
    pub async fn start(hub: &Arc<Hub>, name: &str) -> anyhow::Result<Arc<Self>> {
        let (clusters, jobs) = (name.to_owned(), format!("{name}-jobs"));
        let home = format!("{name}-provider");
        for namespace in [&clusters, &jobs, &home] {
            self::namespace(hub.hub(), namespace, &json!({})).await?;
        }
        let directory = hub.nest.directory().join(name);
        let [port] = free_ports()?;
        let mut config = configuration(&directory, port);
        config["ephemeralCluster"]["namespace"] = json!(clusters);
        config["prow"] = json!({ "namespace": jobs });
        // Whoever is killed does not give it back, and the next one has to wait for that long.
        config["leaderElection"] =
            json!({ "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "200ms" });
        hub.nest.file(&format!("{name}/config.yaml"), config.to_string())?;

        let rights = Command::new(PROGRAM)
            .args(["rbac", "hub", "--service-account", &format!("{home}/{ACCOUNT}"), "--config"])
            .arg(directory.join("config.yaml"))
            .output()?;
        ensure!(rights.status.success(), "no rights: {}", String::from_utf8_lossy(&rights.stderr));
        let file = hub.nest.file(&format!("{name}/rbac.yaml"), rights.stdout)?;
        hub.hub().apply_all(&testplatform_tests::manifests::read(&file)?).await?;

        let toll = Arc::new(Toll::default());
        let [on_hub, on_build] = hub.kubeconfigs(&home).await?;
        let gates = [Gate::before("hub", &on_hub, &toll)?, Gate::before("build01", &on_build, &toll)?];
        hub.nest.file(&format!("{name}/kubeconfig"), gates[0].kubeconfig().to_string())?;
        hub.nest.file(&format!("{name}/build-clusters/build01"), gates[1].kubeconfig().to_string())?;
        let hub = Arc::clone(hub);
        let lane = Self { hub, clusters, jobs, toll, _gates: gates, process: Mutex::default() };
        lane.restart()?;
        Ok(Arc::new(lane))
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
        let file = |name: &str| self.hub.nest.directory().join(&self.clusters).join(name);
        let mut command = Command::new(PROGRAM);
        command.arg("--config").arg(file("config.yaml")).arg("--kubeconfig").arg(file("kubeconfig"));
        command.args(["--log-format=text", "-d"]);
        *process = Some(self.hub.nest.spawn(&self.clusters, &mut command)?);
        Ok(())
    }

    /// Fails if the provider ended by itself.
    pub fn check(&self) -> anyhow::Result<()> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).as_mut().context("no provider")?.check()
    }

    /// What the provider said last.
    pub fn words(&self) -> String {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.as_ref().map(Process::tail).unwrap_or_default()
    }

    /// An EphemeralCluster as one asks for it here.
    pub fn ephemeral_cluster(&self, name: &str) -> Value {
        let mut wanted = crate::hub::ephemeral_cluster(name);
        wanted["metadata"]["namespace"] = json!(self.clusters);
        wanted
    }
}

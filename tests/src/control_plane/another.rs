//! One more API server for what a control plane stores: one that treats its clients as API servers in production do.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{ControlPlane, PATIENCE, connect};
use crate::{cluster::Cluster, nest::Process, patience::longer, ports::free_ports};

/// An API server beside a control plane's own. It can be taken away and started again without anybody else noticing.
pub struct ApiServer<'p> {
    plane: &'p ControlPlane,
    name: String,
    port: u16,
    arguments: Vec<String>,
    process: Mutex<Option<Process>>,
}

impl ControlPlane {
    /// Another API server, with more arguments. It is started already.
    pub async fn another_api_server(&self, name: &str, arguments: &[&str]) -> anyhow::Result<ApiServer<'_>> {
        let [port] = free_ports()?;
        let server = ApiServer {
            plane: self,
            name: format!("kube-apiserver-{name}"),
            port,
            arguments: arguments.iter().map(ToString::to_string).collect(),
            process: Mutex::new(None),
        };
        server.start().await?;
        Ok(server)
    }
}

impl ApiServer<'_> {
    /// Starts it, again if it was stopped, and waits until it answers.
    pub async fn start(&self) -> anyhow::Result<()> {
        let mut command = self.plane.api_server_command();
        // The last one counts.
        command.arg(format!("--secure-port={}", self.port)).args(&self.arguments);
        let process = self.plane.nest.spawn(&self.name, &mut command)?;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
        let administrator = serde_saphyr::from_str(&std::fs::read_to_string(self.plane.kubeconfig())?)?;
        let client = connect(&self.kubeconfig(administrator).to_string()).await?;
        let cluster = Cluster::new(&self.name, client);
        let patience = longer(PATIENCE);
        let until = Instant::now() + patience;
        while !cluster.answers().await {
            self.check()?;
            if Instant::now() > until {
                bail!("{} does not answer after {patience:?}", self.name);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    fn check(&self) -> anyhow::Result<()> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.as_mut().context("it was stopped")?.check()
    }

    /// Takes it away, without a word to whoever is connected.
    pub fn stop(&self) {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// A kubeconfig that leads here instead.
    pub fn kubeconfig(&self, mut kubeconfig: Value) -> Value {
        kubeconfig["clusters"][0]["cluster"]["server"] = format!("https://127.0.0.1:{}", self.port).into();
        kubeconfig
    }
}

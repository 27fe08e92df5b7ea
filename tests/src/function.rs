//! The function: its process, and how Crossplane is told where it is served.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use serde_json::json;

use crate::{
    cluster::{Cluster, at_root},
    kinds::FUNCTION_REVISION,
    nest::{Nest, Process},
    pki::Authority,
    ports::free_ports,
};

/// Name of the function in our Composition.
pub const NAME: &str = "function-testplatform";

/// A served function. It can be stopped and started again, as another program too.
pub struct Function {
    name: String,
    port: u16,
    admin_port: u16,
    certificates: PathBuf,
    process: Mutex<Option<Process>>,
}

impl Function {
    /// A function that is not started yet, with a certificate of the authority that core trusts.
    pub fn new(name: &str, nest: &Nest, authority: &Authority) -> anyhow::Result<Self> {
        let [port, admin_port] = free_ports()?;
        let certificates = nest.directory().join(name);
        authority.publish(&certificates, &authority.server(name)?)?;
        Ok(Self { name: name.to_owned(), port, admin_port, certificates, process: Mutex::new(None) })
    }

    /// The port of its metrics.
    pub fn admin_port(&self) -> u16 {
        self.admin_port
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it reads its certificates.
    pub fn certificates(&self) -> &Path {
        &self.certificates
    }

    /// Starts a program as this function, at the same place every time.
    pub fn start(&self, nest: &Nest, program: &Path) -> anyhow::Result<()> {
        self.start_in(nest, program, &[])
    }

    /// As [`Self::start`], with more in its environment.
    pub fn start_in(
        &self,
        nest: &Nest,
        program: &Path,
        environment: &[(&'static str, String)],
    ) -> anyhow::Result<()> {
        let mut command = Command::new(program);
        command.envs(environment.iter().cloned());
        command.env("TLS_SERVER_CERTS_DIR", &self.certificates).args(["--debug", "--log-format=text"]);
        command.args([
            format!("--address=127.0.0.1:{}", self.port),
            format!("--metrics-address=127.0.0.1:{}", self.admin_port),
        ]);
        let started = nest.spawn(&self.name, &mut command)?;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        Ok(())
    }

    /// Kills it, as a node that is lost would.
    pub fn kill(&self) {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Stops it as Kubernetes would.
    pub fn stop(&self) {
        if let Some(mut process) = self.process.lock().unwrap_or_else(PoisonError::into_inner).take() {
            process.terminate();
        }
    }

    /// How it ended, if it did by itself.
    pub fn ended(&self) -> Option<String> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(Process::epitaph)
    }

    /// The last lines of its log, and an error if it ended.
    pub fn check(&self) -> anyhow::Result<()> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map_or(Ok(()), Process::check)
    }

    /// Tells Crossplane where it is. Without a package manager a revision is all that composition needs.
    pub async fn register(&self, konflux: &Cluster) -> anyhow::Result<()> {
        let revision = json!({
            "apiVersion": "pkg.crossplane.io/v1", "kind": "FunctionRevision",
            "metadata": {
                "name": self.name,
                "labels": { "pkg.crossplane.io/package": self.name },
                // Or core tries to pull the image for ever.
                "annotations": { "crossplane.io/paused": "true" },
            },
            "spec": {
                "desiredState": "Active", "image": "registry.example/none:v0", "revision": 1,
                "packagePullPolicy": "Never", "ignoreCrossplaneConstraints": true, "skipDependencyResolution": true,
            },
        });
        konflux.apply(&revision).await?;
        self.register_at(konflux, self.port).await
    }

    /// Tells Crossplane that it is at another port.
    pub async fn register_at(&self, konflux: &Cluster, port: u16) -> anyhow::Result<()> {
        let endpoint = format!("dns:///localhost:{port}");
        let status = json!({ "endpoint": endpoint, "capabilities": ["composition"] });
        Ok(konflux.merge_status(&at_root(FUNCTION_REVISION, &self.name), &status).await?)
    }
}

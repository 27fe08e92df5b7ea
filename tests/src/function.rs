//! The function: its program, built if need be, and how Crossplane is told where it is served.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::{
    cluster::{Cluster, at_root},
    control_plane::free_ports,
    kinds::FUNCTION_REVISION,
    nest::{Nest, Process},
    pki::Authority,
    settings,
};

/// Name of the function in our Composition.
pub const NAME: &str = "function-testplatform";

/// The program: given by `FUNCTION_BIN`, else built as this workspace has it now. While tests run cargo holds no lock,
/// and with the whole workspace selected the features are those of `cargo test --workspace`, so usually there is
/// nothing to build.
pub fn program() -> anyhow::Result<PathBuf> {
    if let Some(given) = settings::path("FUNCTION_BIN") {
        return Ok(given);
    }
    let target = settings::target();
    // Where this program lies below the target directory tells its profile: `debug/deps`, `release`.
    let running = env::current_exe()?;
    let profile = running.strip_prefix(&target).ok().and_then(|p| p.components().next());
    let profile = profile.map_or_else(|| "debug".into(), |p| p.as_os_str().to_owned());
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--workspace", "--bin", NAME, "--quiet", "--profile"]);
    cargo.arg(if profile == "debug" { "dev".into() } else { profile.clone() });
    cargo.arg("--target-dir").arg(&target).current_dir(settings::repository());
    // What cargo tells us about ourselves would look to build scripts like a reason to run again.
    for (variable, _) in env::vars_os() {
        let name = variable.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"]
            .iter()
            .any(|p| name.starts_with(p))
        {
            cargo.env_remove(&variable);
        }
    }
    let output = cargo.output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("{NAME} cannot be built:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(target.join(profile).join(NAME))
}

/// A served function. It can be stopped and started again, as another program too.
pub struct Function {
    name: String,
    port: u16,
    certificates: PathBuf,
    process: Mutex<Option<Process>>,
}

impl Function {
    /// A function that is not started yet, with a certificate of the authority that core trusts.
    pub fn new(name: &str, nest: &Nest, authority: &Authority) -> anyhow::Result<Self> {
        let [port] = free_ports()?;
        let certificates = nest.directory().join(name);
        authority.publish(&certificates, &authority.server(name)?)?;
        Ok(Self { name: name.to_owned(), port, certificates, process: Mutex::new(None) })
    }

    /// Starts a program as this function, at the same place every time.
    pub fn start(&self, nest: &Nest, program: &Path) -> anyhow::Result<()> {
        let mut command = Command::new(program);
        command.env("TLS_SERVER_CERTS_DIR", &self.certificates).args(["--debug", "--log-format=text"]);
        command.arg(format!("--address=127.0.0.1:{}", self.port)).arg("--metrics-address=127.0.0.1:0");
        let started = nest.spawn(&self.name, &mut command)?;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        Ok(())
    }

    /// Stops it as Kubernetes would.
    pub fn stop(&self) {
        if let Some(mut process) = self.process.lock().unwrap_or_else(PoisonError::into_inner).take() {
            process.terminate();
        }
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
        let endpoint = format!("dns:///localhost:{}", self.port);
        let status = json!({ "endpoint": endpoint, "capabilities": ["composition"] });
        Ok(konflux.merge_status(&at_root(FUNCTION_REVISION, &self.name), &status).await?)
    }
}

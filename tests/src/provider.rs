//! Our provider on the hub: its program, its identity with exactly the rights that we ship, and its configuration.

use std::{
    path::PathBuf,
    process::Command,
    sync::{Mutex, PoisonError},
};

use serde_json::{Value, json};

use crate::{
    control_plane::{ControlPlane, free_ports},
    hub, manifests,
    nest::{Nest, Process},
    program,
};

/// Name of the program, of its process and of its ServiceAccount.
pub const NAME: &str = "provider-testplatform";
/// Name of the build cluster, as Prow calls it.
pub const SITE: &str = "build01";

/// The provider. It can be killed and started again.
pub struct Provider {
    program: PathBuf,
    kubeconfig: PathBuf,
    configuration: PathBuf,
    process: Mutex<Option<Process>>,
}

impl Provider {
    /// Prepares everything that it needs: its rights on the hub and on the build cluster, a kubeconfig for each, and its
    /// configuration file, into which `more` is merged.
    pub async fn new(
        nest: &Nest,
        hub: &ControlPlane,
        site: &ControlPlane,
        more: &Value,
    ) -> anyhow::Result<Self> {
        hub.cluster().apply_all(&manifests::package("hub/provider-rbac.yaml")?).await?;
        site.cluster().apply_all(&manifests::package("build-cluster/provider-rbac.yaml")?).await?;
        let here = hub::issue(hub, NAME, "hub").await?;
        let there = hub::issue(site, "provider-testplatform-build", "site").await?;
        let directory = nest.directory().join("build-clusters");
        std::fs::create_dir_all(&directory)?;
        std::fs::write(directory.join(SITE), there.kubeconfig.to_string())?;
        let [http] = free_ports()?;
        let mut configuration = json!({
            "ephemeralCluster": {
                "mode": "fulfil",
                "namespace": hub::NAMESPACE,
                "abortGrace": "3s",
                "privilegedTenants": [],
                "clusterProfiles": { "inline": profiles() },
            },
            "buildClusters": { "directory": directory },
            "http": { "address": format!("127.0.0.1:{http}") },
        });
        merge(&mut configuration, more);
        Ok(Self {
            program: program::ensure(NAME, "PROVIDER_BIN")?,
            kubeconfig: nest.file("provider-testplatform.kubeconfig", here.kubeconfig.to_string())?,
            configuration: nest.file("provider-testplatform.yaml", configuration.to_string())?,
            process: Mutex::new(None),
        })
    }

    /// Starts it.
    pub fn start(&self, nest: &Nest) -> anyhow::Result<()> {
        let mut command = Command::new(&self.program);
        command.arg("--config").arg(&self.configuration).arg("--kubeconfig").arg(&self.kubeconfig);
        command.args(["--debug", "--log-format=text"]);
        let started = nest.spawn(NAME, &mut command)?;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        Ok(())
    }

    /// Kills it, as a node that is lost would.
    pub fn kill(&self) {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The last lines of its log, and an error if it ended.
    pub fn check(&self) -> anyhow::Result<()> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map_or(Ok(()), Process::check)
    }
}

/// Every tenant of the testbed may use the profile that its claims name.
fn profiles() -> Value {
    json!({ "cluster_profiles": [{ "name": "aws", "cluster_type": "aws", "lease_type": "aws-quota-slice", "owners": [] }] })
}

fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more.clone(),
    }
}

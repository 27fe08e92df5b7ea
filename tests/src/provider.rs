//! Our provider on the hub: its program, its identity with exactly the rights that we ship, and its configuration.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};

use crate::{
    control_plane::ControlPlane,
    gate::Gate,
    hive::offer::{CREDENTIALS, POOLS},
    hub::{self, Credential},
    hypershift, keystone, manifests,
    nest::{Nest, Process},
    osac,
    ports::free_ports,
    program, space,
};

/// Name of the program, of its process and of its ServiceAccount.
pub const NAME: &str = "provider-testplatform";
/// Name of the build cluster, as Prow calls it.
pub const SITE: &str = "build01";

/// How often it looks at credentials that nobody tells it of. Every cluster that a scenario leaves behind is looked at as often, so that
/// seconds would be a load on the hub by themselves.
const POLL: &str = "10s";

/// Names of the testbed's Konflux clusters.
const CLUSTERS: [&str; 2] = ["dev-cluster", "another-cluster"];

/// The provider. It can be killed and started again.
pub struct Provider {
    program: PathBuf,
    kubeconfig: PathBuf,
    configuration: PathBuf,
    profiles: PathBuf,
    http: u16,
    /// The directory of the build clusters' kubeconfigs, and the one that is in it.
    sites: (PathBuf, Value),
    /// Tenants by the profile that they own.
    owners: Mutex<BTreeMap<String, BTreeSet<String>>>,
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
        let rights = manifests::package("install/build-cluster/provider-rbac.yaml")?;
        let there = identity(site, rights, "provider-testplatform-site").await?;
        let directory = nest.directory().join("build-clusters");
        std::fs::create_dir_all(&directory)?;
        std::fs::write(directory.join(SITE), there.kubeconfig.to_string())?;
        let profiles = nest.directory().join("cluster-profiles.yaml");
        let [http] = free_ports()?;
        // As it is shipped, but for the places of files and the patience of a testbed.
        let mut configuration = manifests::package_one("install/hub/provider-config.yaml")?;
        let here_instead = json!({
            "ephemeralCluster": {
                "abortGrace": "3s",
                "deprovisionTimeout": "20s",
                "clusterProfiles": { "file": profiles },
            },
            "clusterClaim": {
                "mode": "on", "credentialsNamespace": CREDENTIALS, "poll": POLL, "dwell": "1s",
            },
            "clusterPool": { "namespaces": [POOLS] },
            "clusters": {
                "backends": {
                    "hypershift": { "namespaces": [hypershift::CLUSTERS], "byoc": "on" },
                    "cluster-api": { "namespaces": [hypershift::CLUSTERS] },
                    "osac": { "namespaces": [osac::ORDERS] },
                    "caas": { "namespaces": [hypershift::CLUSTERS] },
                },
                "credentialsNamespace": CREDENTIALS,
                "poll": POLL,
                "bundles": "on",
                "prerequisites": { "mode": "on", "resources": ["configmaps"] },
                // A credential that was replaced works for as long as it takes to see that it does.
                "cloudCredentials": {
                    "mode": "on", "issuersNamespace": keystone::ISSUERS, "probe": POLL, "grace": "5s",
                },
            },
            "spaces": space::configuration(nest, hub)?,
            "buildClusters": { "directory": directory },
            // Whoever loses it ends, and here nobody starts it again: a hub that is away for a while must not be its end.
            "leaderElection": { "leaseDuration": "60s", "renewDeadline": "50s" },
            "http": { "address": format!("127.0.0.1:{http}") },
        });
        merge(&mut configuration, &here_instead);
        merge(&mut configuration, more);
        let program = program::provider()?.to_owned();
        let configuration = nest.file("provider-testplatform.yaml", configuration.to_string())?;
        let mut rights = manifests::package("install/hub/provider-rbac.yaml")?;
        rights.extend(manifests::package("install/hub/provider-rbac-clusterclaims.yaml")?);
        rights.extend(printed_rights(&program, &configuration)?);
        let here = identity(hub, rights, NAME).await?;
        let provider = Self {
            profiles,
            http,
            sites: (directory, there.kubeconfig),
            owners: Mutex::default(),
            program,
            kubeconfig: nest.file("provider-testplatform.kubeconfig", here.kubeconfig.to_string())?,
            configuration,
            process: Mutex::new(None),
        };
        provider.admit("testbed")?;
        Ok(provider)
    }

    /// The port of its metrics.
    pub fn admin_port(&self) -> u16 {
        self.http
    }

    /// Makes a tenant an owner of the cluster profile that claims of the testbed name.
    pub fn admit(&self, tenant: &str) -> anyhow::Result<()> {
        self.admit_to("aws", tenant)
    }

    /// Makes a tenant an owner of a cluster profile.
    pub fn admit_to(&self, profile: &str, tenant: &str) -> anyhow::Result<()> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.entry(profile.to_owned()).or_default().insert(tenant.to_owned());
        let owner = |tenant: &String| json!({ "konflux": { "tenant": tenant, "clusters": CLUSTERS } });
        let profile = |(name, tenants): (&String, &BTreeSet<String>)| {
            let owners: Vec<Value> = tenants.iter().map(owner).collect();
            json!({ "name": name, "cluster_type": name, "owners": owners })
        };
        let profiles: Vec<Value> = owners.iter().map(profile).collect();
        let registry = json!({ "cluster_profiles": profiles });
        // The provider may be reading it.
        let next = self.profiles.with_extension("next");
        std::fs::write(&next, registry.to_string())?;
        Ok(std::fs::rename(&next, &self.profiles)?)
    }

    /// Another build cluster, which is away as long as its gate is closed. It is the same one, by another way.
    pub fn behind_a_gate(&self, name: &str) -> anyhow::Result<Gate> {
        let gate = Gate::before(name, &self.sites.1, &Arc::default())?;
        self.with(name, &gate.kubeconfig())?;
        Ok(gate)
    }

    /// Another build cluster by its kubeconfig, or another kubeconfig for it.
    pub fn with(&self, name: &str, kubeconfig: &Value) -> anyhow::Result<()> {
        let directory = &self.sites.0;
        // With a dot in front it is not read before it is whole.
        let next = directory.join(format!(".{name}"));
        std::fs::write(&next, kubeconfig.to_string())?;
        Ok(std::fs::rename(&next, directory.join(name))?)
    }

    /// Starts another one, with a Lease of its own and another kubeconfig for the hub.
    pub fn beside(&self, nest: &Nest, name: &str, kubeconfig: &Value) -> anyhow::Result<Process> {
        let [http] = free_ports()?;
        let mut configuration = serde_json::from_str(&std::fs::read_to_string(&self.configuration)?)?;
        let own = json!({
            "leaderElection": { "name": name },
            "http": { "address": format!("127.0.0.1:{http}") },
        });
        merge(&mut configuration, &own);
        let mut command = Command::new(&self.program);
        command.arg("--config").arg(nest.file(&format!("{name}.yaml"), configuration.to_string())?);
        command.arg("--kubeconfig").arg(nest.file(&format!("{name}.kubeconfig"), kubeconfig.to_string())?);
        nest.spawn(name, command.args(["--debug", "--log-format=text"]))
    }

    /// Takes a build cluster away for good.
    pub fn without(&self, name: &str) -> anyhow::Result<()> {
        Ok(std::fs::remove_file(self.sites.0.join(name))?)
    }

    /// Its kubeconfigs for the hub and for the build cluster.
    pub fn kubeconfigs(&self) -> anyhow::Result<[Value; 2]> {
        let hub = std::fs::read_to_string(&self.kubeconfig)?;
        Ok([serde_json::from_str(&hub)?, self.sites.1.clone()])
    }

    /// Gives it others, with which it is started from now on.
    pub fn lead(&self, [hub, site]: [&Value; 2]) -> anyhow::Result<()> {
        std::fs::write(&self.kubeconfig, hub.to_string())?;
        self.with(SITE, site)
    }

    /// Merges into its configuration, with which it is started from now on.
    pub fn configure(&self, more: &Value) -> anyhow::Result<()> {
        let mut configuration = serde_json::from_str(&std::fs::read_to_string(&self.configuration)?)?;
        merge(&mut configuration, more);
        Ok(std::fs::write(&self.configuration, configuration.to_string())?)
    }

    /// Starts it.
    pub fn start(&self, nest: &Nest) -> anyhow::Result<()> {
        self.start_in(nest, &[])
    }

    /// As [`Self::start`], with more in its environment.
    pub fn start_in(&self, nest: &Nest, environment: &[(&'static str, String)]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.program);
        command.envs(environment.iter().cloned());
        command.arg("--config").arg(&self.configuration).arg("--kubeconfig").arg(&self.kubeconfig);
        command.args(["--debug", "--log-format=text"]);
        let started = nest.spawn(NAME, &mut command)?;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        Ok(())
    }

    /// Stops it as Kubernetes would: it gives its Lease back.
    pub fn stop(&self) {
        if let Some(mut process) = self.process.lock().unwrap_or_else(PoisonError::into_inner).take() {
            process.terminate();
        }
    }

    /// Kills it, as a node that is lost would.
    pub fn kill(&self) {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// How it ended, if it did by itself.
    pub fn ended(&self) -> Option<String> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(Process::epitaph)
    }

    /// The last lines of its log, and an error if it ended.
    pub fn check(&self) -> anyhow::Result<()> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map_or(Ok(()), Process::check)
    }
}

/// Rights that depend on the configuration, and so are in no file: the program prints them.
fn printed_rights(program: &Path, configuration: &Path) -> anyhow::Result<Vec<Value>> {
    let printed = Command::new(program).args(["rbac", "hub", "--config"]).arg(configuration).output()?;
    anyhow::ensure!(printed.status.success(), "rbac hub: {}", String::from_utf8_lossy(&printed.stderr));
    Ok(serde_saphyr::from_multiple(&String::from_utf8(printed.stdout)?)?)
}

/// A ServiceAccount with exactly the rights that we ship or print, in a namespace of its own: on one control plane there may be one
/// for the hub and one for the build cluster.
async fn identity(plane: &ControlPlane, rights: Vec<Value>, namespace: &str) -> anyhow::Result<Credential> {
    let own = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
    plane.cluster().apply(&own).await?;
    for mut manifest in rights {
        if manifest["kind"] == "ServiceAccount" {
            manifest["metadata"]["namespace"] = namespace.into();
        }
        for subject in manifest.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
            subject["namespace"] = namespace.into();
        }
        plane.cluster().apply(&manifest).await?;
    }
    hub::issue_in(plane, namespace, NAME, "0").await
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

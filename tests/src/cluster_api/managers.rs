//! The real Cluster API: its managers as programs, and a class of clusters that exist only in memory.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use serde_json::json;
use testplatform_engines::{Engines, artifacts::CLUSTER_API_VARIABLE};

use super::{NAMESPACE_OF_CLASS, class};
use crate::{
    binaries::say,
    control_plane::ControlPlane,
    exclusive::only_cluster_api,
    hub_controller::{HubController, RunningController, until_accepted},
    nest::Nest,
    pki::Authority,
    settings,
};

/// Managers, in the order in which they start: each asks for the definitions of those before it.
const MANAGERS: [&str; 4] =
    ["cluster-api-core", "cluster-api-bootstrap", "cluster-api-control-plane", "cluster-api-infrastructure"];
const DEFINITIONS: &str = "cluster-api-definitions";
/// Value of the variable that asks for the fake.
const FAKE: &str = "fake";
/// The first with `cluster.x-k8s.io/v1beta2`.
const OLDEST: (u64, u64) = (1, 11);

/// The managers and their definitions.
#[derive(Clone, Debug)]
pub struct ClusterApiPrograms {
    programs: [PathBuf; 4],
    definitions: PathBuf,
}

/// The managers, running.
pub struct ClusterApiManagers {
    // Ends before the lock is released.
    running: Vec<RunningController>,
    _lock: File,
}

impl ClusterApiPrograms {
    /// The programs in the directory that `TESTPLATFORM_CLUSTER_API` names, else those of the cache, which are built if they are missing.
    /// None, with the reason in the output: this machine cannot have them, or the variable is `fake`.
    ///
    /// # Errors
    ///
    /// If one of the programs in that directory is missing.
    pub fn find() -> anyhow::Result<Option<Self>> {
        let given = settings::path(CLUSTER_API_VARIABLE);
        if given.as_deref() == Some(Path::new(FAKE)) {
            say(&format!("{CLUSTER_API_VARIABLE} asks for the fake of Cluster API"));
            return Ok(None);
        }
        if let Some(directory) = &given {
            for name in MANAGERS {
                ensure!(
                    directory.join(name).is_file(),
                    "{CLUSTER_API_VARIABLE} is {}, and there is no {name} in it",
                    directory.display()
                );
            }
        }
        match Self::ensure() {
            Ok(found) => Ok(Some(found)),
            Err(error) if given.is_some() => Err(error),
            Err(error) => {
                say(&format!("the real Cluster API cannot be had, and its fake takes its place: {error:#}"));
                Ok(None)
            }
        }
    }

    fn ensure() -> anyhow::Result<Self> {
        let names: Vec<&str> = MANAGERS.into_iter().chain([DEFINITIONS]).collect();
        let mut found = Engines::from_environment()?.ensure(&names)?;
        let mut take = |name: &str| found.remove(name).with_context(|| format!("{name} was not found"));
        let [core, bootstrap, control_plane, infrastructure] = MANAGERS;
        Ok(Self {
            programs: [take(core)?, take(bootstrap)?, take(control_plane)?, take(infrastructure)?],
            definitions: take(DEFINITIONS)?,
        })
    }

    fn controllers(&self) -> impl Iterator<Item = HubController> {
        MANAGERS.into_iter().zip(&self.programs).map(|(name, program)| HubController {
            name,
            program: program.clone(),
            definitions: self.definitions.join(name),
            arguments: &["--feature-gates=ClusterTopology=true"],
            // The address at which the API servers of its clusters listen.
            environment: &[("POD_IP", "127.0.0.1")],
            // The contract between core and the others.
            labels: &[("cluster.x-k8s.io/v1beta2", "v1beta2")],
            oldest: OLDEST,
        })
    }
}

impl ClusterApiManagers {
    /// Starts them on a hub, and makes a class there.
    ///
    /// # Errors
    ///
    /// If one of them does not run, which the error names.
    pub async fn start(
        programs: &ClusterApiPrograms,
        nest: &Nest,
        hub: &ControlPlane,
    ) -> anyhow::Result<Self> {
        let lock = tokio::task::spawn_blocking(only_cluster_api).await??;
        let authority = Authority::new("cluster-api-webhooks")?;
        let mut running = vec![];
        for controller in programs.controllers() {
            running.push(Box::pin(controller.start(nest, hub, &authority)).await?);
        }
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE_OF_CLASS } });
        hub.cluster().apply(&namespace).await?;
        for manifest in class::manifests() {
            until_accepted(hub.cluster(), &manifest).await?;
        }
        // The garbage collector hears of new kinds only every half a minute; one that starts knows them.
        hub.start_controllers()?;
        Ok(Self { running, _lock: lock })
    }

    /// Version of its core, as that says.
    pub fn version(&self) -> &str {
        self.running.first().map_or("of an unknown version", RunningController::version)
    }

    /// Process id of each.
    pub fn ids(&self) -> Vec<u32> {
        self.running.iter().map(RunningController::id).collect()
    }

    /// Fails if one of them ended, with the end of its log.
    pub fn check(&self) -> anyhow::Result<()> {
        self.running.iter().try_for_each(RunningController::check)
    }

    /// Their names, by which their logs are found.
    pub const fn names() -> [&'static str; 4] {
        MANAGERS
    }
}

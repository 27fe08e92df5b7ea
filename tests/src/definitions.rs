//! Crossplane without an engine: for what concerns definitions and admission.

use std::sync::{Mutex, PoisonError};

use crate::{
    binaries::Binaries,
    control_plane::{ControlPlane, Extras},
    crossplane::{prepare_konflux, start_core},
    nest::{Nest, Process},
    pki::Authority,
    ports::free_ports,
};

fn free_port() -> anyhow::Result<u16> {
    free_ports().map(|[port]| port)
}

/// A control plane with Crossplane core and nothing else: for what concerns definitions. Any number may run.
pub struct Definitions {
    core: Mutex<Process>,
    binaries: Binaries,
    /// Where else what belongs to it can run.
    pub nest: Nest,
    /// The control plane.
    pub konflux: ControlPlane,
}

impl Definitions {
    /// Starts both.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(&[]).await
    }

    /// As [`Self::start`], with more of Kubernetes' own controllers.
    pub async fn start_with(controllers: &'static [&'static str]) -> anyhow::Result<Self> {
        let binaries = Binaries::ensure()?;
        let nest = Nest::new("definitions", None)?;
        let konflux =
            ControlPlane::start_with("konflux", &binaries, Extras { controllers, ..Extras::default() })
                .await?;
        prepare_konflux(konflux.cluster(), &binaries).await?;
        let authority = Authority::new("crossplane")?;
        for directory in ["core-client", "core-server"] {
            authority.publish(&nest.directory().join(directory), &authority.client("crossplane", None)?)?;
        }
        let core = start_core(&nest, &binaries, konflux.kubeconfig(), free_port()?, &[])?;
        Ok(Self { core: Mutex::new(core), binaries, nest, konflux })
    }

    /// Ends core and starts it again.
    pub fn restart_core(&self) -> anyhow::Result<()> {
        let mut core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        core.terminate();
        *core = start_core(&self.nest, &self.binaries, self.konflux.kubeconfig(), free_port()?, &[])?;
        Ok(())
    }

    /// The programs that it runs with.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// Last log lines of core.
    pub fn words(&self) -> String {
        crate::nest::tail(&self.nest.log("crossplane"), 3000)
    }
}

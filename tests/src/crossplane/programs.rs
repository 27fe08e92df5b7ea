//! The engine's programs one by one: killed, started again, led to konflux by another way.

use std::{
    path::{Path, PathBuf},
    sync::PoisonError,
};

use super::{Engine, FIXED_PORTS, start_core};
use crate::{carrier, cleaner, function, nest::Process, pki::Authority, provider};

impl Engine {
    /// The programs that serve their metrics over plain HTTP, and on which port. Carrier and cleaner are among them once they run.
    pub fn metrics(&self) -> Vec<(&'static str, u16)> {
        let always = [
            ("crossplane", self.core_metrics),
            ("provider-kubernetes", FIXED_PORTS[0]),
            (function::NAME, self.function.admin_port()),
            (provider::NAME, self.fulfiller.admin_port()),
        ];
        let beside = [(carrier::NAME, &self.carrier), (cleaner::NAME, &self.cleaner)];
        let beside = beside.into_iter().filter_map(|(name, it)| Some((name, it.get()?.admin_port())));
        always.into_iter().chain(beside).collect()
    }

    /// The authority of core's certificate and of the function's.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The directory of core's certificate as a client.
    pub fn client_certificates(&self) -> PathBuf {
        self.nest.directory().join("core-client")
    }

    /// The kubeconfigs with which core and provider-kubernetes reach konflux.
    pub(super) fn ways(&self) -> [PathBuf; 2] {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives them others, with which they are started from now on.
    pub fn lead(&self, [core, provider]: [&Path; 2]) {
        *self.ways.lock().unwrap_or_else(PoisonError::into_inner) = [core.to_owned(), provider.to_owned()];
    }

    /// Kills core, as a node that is lost would.
    pub fn kill_core(&self) {
        self.core.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Starts core again.
    pub fn start_core(&self) -> anyhow::Result<()> {
        let [way, _] = self.ways();
        let started = start_core(&self.nest, &self.binaries, &way, self.core_metrics, &self.core_arguments)?;
        *self.core.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        Ok(())
    }

    /// Ends core as Kubernetes would, and starts it again.
    pub fn restart_core(&self) -> anyhow::Result<()> {
        if let Some(mut core) = self.core.lock().unwrap_or_else(PoisonError::into_inner).take() {
            core.terminate();
        }
        self.start_core()
    }

    /// Kills provider-kubernetes.
    pub fn kill_provider(&self) {
        self.provider.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// How core and provider-kubernetes ended, each if it did by itself.
    pub fn ended(&self) -> [Option<String>; 2] {
        [&self.core, &self.provider].map(|program| {
            let mut program = program.lock().unwrap_or_else(PoisonError::into_inner);
            program.as_mut().and_then(Process::epitaph)
        })
    }
}

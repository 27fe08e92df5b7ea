//! Programs that the testbed starts, and CRDs that it applies: see [`testplatform_engines`].

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use anyhow::Context as _;
use testplatform_engines::Engines;
pub(crate) use testplatform_engines::report as say;

/// Every program of a control plane and of Crossplane, with the CRDs of the latter.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// etcd.
    pub etcd: PathBuf,
    /// kube-apiserver.
    pub kube_apiserver: PathBuf,
    /// kube-controller-manager.
    pub kube_controller_manager: PathBuf,
    /// kubectl.
    pub kubectl: PathBuf,
    /// Crossplane core.
    pub crossplane: PathBuf,
    /// provider-kubernetes.
    pub provider_kubernetes: PathBuf,
    /// Directories with the CRDs of Crossplane core and of provider-kubernetes.
    pub crds: [PathBuf; 2],
}

impl Binaries {
    /// Finds all of them, and obtains those that are missing.
    ///
    /// # Errors
    ///
    /// If one is missing and can be neither downloaded nor built.
    pub fn ensure() -> anyhow::Result<Self> {
        // Files are compared with their digests once in a process, and only one thread builds what is missing.
        static FOUND: Mutex<Option<Binaries>> = Mutex::new(None);
        let mut cached = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &*cached {
            return Ok(found.clone());
        }
        let mut found = Engines::from_environment()?.ensure(&[
            "etcd",
            "kube-apiserver",
            "kube-controller-manager",
            "kubectl",
            "crossplane",
            "crossplane-crds",
            "provider-kubernetes",
            "provider-kubernetes-crds",
        ])?;
        let mut take = |name: &str| found.remove(name).with_context(|| format!("{name} was not found"));
        let binaries = Self {
            etcd: take("etcd")?,
            kube_apiserver: take("kube-apiserver")?,
            kube_controller_manager: take("kube-controller-manager")?,
            kubectl: take("kubectl")?,
            crossplane: take("crossplane")?,
            provider_kubernetes: take("provider-kubernetes")?,
            crds: [take("crossplane-crds")?, take("provider-kubernetes-crds")?],
        };
        *cached = Some(binaries.clone());
        Ok(binaries)
    }
}

/// A registry in memory, with which `cargo xpkg push` is tested.
///
/// # Errors
///
/// As [`Binaries::ensure`].
pub fn registry() -> anyhow::Result<PathBuf> {
    ensure_one("registry")
}

/// A program that validates Tekton's objects as Tekton does.
///
/// # Errors
///
/// As [`Binaries::ensure`].
pub fn tekton_check() -> anyhow::Result<PathBuf> {
    ensure_one("tekton-check")
}

fn ensure_one(name: &str) -> anyhow::Result<PathBuf> {
    let mut found = Engines::from_environment()?.ensure(&[name])?;
    found.remove(name).with_context(|| format!("{name} was not found"))
}

//! Engine programs of the testbed: etcd, the Kubernetes control plane, kubectl, Crossplane and provider-kubernetes, with
//! the CRDs of the latter two.
//!
//! [`Engines::ensure`] looks for each in this order:
//!
//! 1. the environment variable that names it (`KUBEBUILDER_ASSETS`, `CROSSPLANE_BIN`, `PROVIDER_KUBERNETES_BIN`, …);
//! 2. the cache below `$XDG_CACHE_HOME/testplatform/engines`, or `~/.cache/testplatform/engines`;
//! 3. a release archive below `TESTPLATFORM_ASSETS_URL`, if that is set and `archives.json` pins its digest;
//! 4. Go, which builds it from the versions that `go.mod` and `go.sum` pin.
//!
//! Whatever comes from 3 or 4 stays in the cache, for every clone on this machine.
//!
//! **Invariant:** an entry of the cache is complete or not there; its files are compared with their digests before each use.

mod archive;
pub mod artifacts;
mod cache;
mod file;
mod settings;
mod toolchain;

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use sha2::{Digest as _, Sha256};

use archive::{DownloadError, download};
pub use archive::{Pins, archive_name, write_archive};
use artifacts::{Artifact, Content, GoModule, find_artifact, repository};
pub use cache::{Cache, Entry, FileRecord, Key, Lock, Origin, RECORD, Record};
pub use settings::Settings;
use settings::{overridden_directory, overridden_program};
use toolchain::{BUILD_FLAGS, Toolchain, platform};

/// Changes whenever the layout of an entry does.
const LAYOUT: &str = "1";

/// Obtains engine programs.
#[derive(Clone, Debug)]
pub struct Engines {
    settings: Settings,
    pins: Pins,
    cache: Cache,
}

/// An artifact that is not in the cache.
struct Missing {
    module: &'static GoModule,
    artifact: &'static Artifact,
    key: Key,
}

impl Engines {
    /// Engines as the environment configures them.
    ///
    /// # Errors
    ///
    /// If there is no cache directory, or the pins of the archives cannot be read.
    pub fn from_environment() -> anyhow::Result<Self> {
        Ok(Self::new(Settings::from_environment()?, Pins::read()?))
    }

    /// Engines with explicit settings.
    #[must_use]
    pub fn new(settings: Settings, pins: Pins) -> Self {
        let cache = Cache::new(settings.cache.clone());
        Self { settings, pins, cache }
    }

    /// Their cache.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Paths of artifacts by name: of the program, or of the directory of manifests. Downloads or builds those that are missing.
    ///
    /// # Errors
    ///
    /// If one of them is unknown, or is missing and can be neither downloaded nor built.
    pub fn ensure(&self, names: &[&str]) -> anyhow::Result<BTreeMap<String, PathBuf>> {
        let (found, missing) = self.look_up(names, |_| ())?;
        if missing.is_empty() {
            return Ok(found);
        }
        self.obtain(names).map_err(|error| self.cache.explain(error))
    }

    fn obtain(&self, names: &[&str]) -> anyhow::Result<BTreeMap<String, PathBuf>> {
        let lock = self.cache.lock()?;
        // Another process may have stored them while this one waited.
        let replaced = |error: anyhow::Error| report(&format!("{error:#}; it is replaced"));
        let (mut found, missing) = self.look_up(names, replaced)?;
        let missing = self.download_missing(&lock, missing, &mut found)?;
        self.build_missing(&lock, &missing, &mut found)?;
        Ok(found)
    }

    /// Paths of the artifacts that are there, and those that are missing. A damaged entry counts as missing.
    fn look_up(
        &self,
        names: &[&str],
        damaged: impl Fn(anyhow::Error),
    ) -> anyhow::Result<(BTreeMap<String, PathBuf>, Vec<Missing>)> {
        let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
        for name in names {
            let (module, artifact) =
                find_artifact(name).with_context(|| format!("there is no engine program called {name}"))?;
            let overridden = match artifact.content {
                Content::Program { variable, .. } => overridden_program(variable, name),
                Content::Configurations { variable, .. } => overridden_directory(variable, name),
                Content::Manifests { .. } => None,
            };
            if let Some(path) = overridden {
                found.insert((*name).to_owned(), path);
                continue;
            }
            let key = self.key(module, artifact)?;
            match self.find(&key, &damaged) {
                Some(entry) => {
                    found.insert((*name).to_owned(), entry.path());
                }
                None => missing.push(Missing { module, artifact, key }),
            }
        }
        Ok((found, missing))
    }

    /// The key that an artifact has now, on this machine.
    ///
    /// # Errors
    ///
    /// If the module's files cannot be read.
    pub fn key(&self, module: &GoModule, artifact: &Artifact) -> anyhow::Result<Key> {
        Ok(Key {
            artifact: artifact.name.to_owned(),
            sources: digest_sources(module, artifact)?,
            platform: platform(),
            go: Toolchain::detect(&self.settings.go, module).map(|toolchain| toolchain.version),
        })
    }

    /// The entry that serves a key: of the same Go version, downloaded, or, where there is no Go to build another, of any Go version.
    fn find(&self, key: &Key, damaged: impl Fn(anyhow::Error)) -> Option<Entry> {
        let downloaded = Key { go: None, ..key.clone() };
        let find = |key| self.cache.find(key).map_err(&damaged).ok().flatten();
        let found = find(key).or_else(|| find(&downloaded));
        found.or_else(|| key.go.is_none().then(|| self.cache.find_any(key)).flatten())
    }

    /// Downloads what has a pinned archive, and returns the rest.
    fn download_missing(
        &self,
        lock: &Lock,
        missing: Vec<Missing>,
        found: &mut BTreeMap<String, PathBuf>,
    ) -> anyhow::Result<Vec<Missing>> {
        let Some(base) = &self.settings.assets_url else { return Ok(missing) };
        let mut rest = Vec::new();
        for one in missing {
            let key = Key { go: None, ..one.key.clone() };
            let Some(pin) = self.pins.find(&key) else {
                report(&format!("no archive of {} is pinned for {}", key.artifact, key.platform));
                rest.push(one);
                continue;
            };
            let mut not_available = None;
            let stored = self.cache.store(lock, &key, Origin::Downloaded, |directory| {
                download(base, &key, pin, directory).map_err(|error| match error {
                    DownloadError::Failed(error) => error,
                    DownloadError::NotAvailable(error) => {
                        not_available = Some(format!("{error:#}"));
                        error
                    }
                })
            });
            match (stored, not_available) {
                (Ok(entry), _) => {
                    found.insert(key.artifact, entry.path());
                }
                (Err(_), Some(reason)) => {
                    report(&format!("{reason}; building {} from source instead", key.artifact));
                    rest.push(one);
                }
                (Err(error), None) => return Err(error),
            }
        }
        Ok(rest)
    }

    fn build_missing(
        &self,
        lock: &Lock,
        missing: &[Missing],
        found: &mut BTreeMap<String, PathBuf>,
    ) -> anyhow::Result<()> {
        let names: Vec<_> = missing.iter().map(|one| one.artifact.name).collect();
        for module in &artifacts::MODULES {
            let wanted: Vec<_> =
                missing.iter().filter(|one| one.module.directory == module.directory).collect();
            if wanted.is_empty() {
                continue;
            }
            let Some(toolchain) = Toolchain::detect(&self.settings.go, module) else {
                bail!(
                    "the testbed needs {} and finds no Go to build that with: install Go 1.26 or newer (https://go.dev/dl), \
                     or set TESTPLATFORM_ASSETS_URL to a server with release archives, or set KUBEBUILDER_ASSETS to a directory \
                     with etcd, kube-apiserver, kube-controller-manager and kubectl, and CROSSPLANE_BIN and \
                     PROVIDER_KUBERNETES_BIN to those two programs",
                    names.join(", ")
                );
            };
            let work = self.cache.work_directory(lock)?;
            let artifacts: Vec<_> = wanted.iter().map(|one| one.artifact).collect();
            toolchain.build(module, &artifacts, work.path())?;
            for one in wanted {
                let built = work.path().join(one.artifact.name);
                let entry = self
                    .cache
                    .store(lock, &one.key, Origin::Built, |directory| move_content(&built, directory))?;
                found.insert(one.artifact.name.to_owned(), entry.path());
            }
        }
        Ok(())
    }
}

fn move_content(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::rename(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// SHA-256 of everything in this repository that an artifact is built from.
fn digest_sources(module: &GoModule, artifact: &Artifact) -> anyhow::Result<String> {
    let directory = repository().join(module.directory);
    let mut digest = Sha256::new();
    let recipe = format!("{LAYOUT} {:?} {:?} {BUILD_FLAGS:?}", artifact.content, module.versions);
    digest.update(recipe);
    // Without such values the recipe is as before, and cached entries stay valid.
    if !module.linker_values.is_empty() {
        digest.update(format!(" {:?}", module.linker_values));
    }
    for name in ["go.mod", "go.sum", "main.go"] {
        let path = directory.join(name);
        match fs::read(&path) {
            Ok(content) => {
                digest.update(format!("\n{name} {}\n", content.len()));
                digest.update(content);
            }
            Err(_) if name == "main.go" => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }
    Ok(file::hex(&digest.finalize()))
}

/// Prints progress for whoever waits. It goes past the capture of test output.
pub fn report(line: &str) {
    let _ = writeln!(std::io::stderr(), "testbed: {line}");
}

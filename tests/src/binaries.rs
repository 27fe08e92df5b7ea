//! The programs of the testbed and their CRDs: found, or built once from pinned Go modules.
//!
//! Looked for in this order, each by itself: a variable (`KUBEBUILDER_ASSETS`, `CROSSPLANE_BIN`,
//! `PROVIDER_KUBERNETES_BIN`), then `target/controlplane/bin`. What is missing there is built there.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, bail};

use crate::settings;

/// Every program and the CRDs.
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
    /// CRDs of Crossplane core, then of provider-kubernetes.
    pub crds: [PathBuf; 2],
}

/// A Go module under `tests/` that pins programs.
struct Module {
    /// Its directory under `tests/`.
    directory: &'static str,
    /// How long it takes to build on two cores, about.
    takes: &'static str,
    programs: &'static [Program],
    /// A Go module and the directory in it that has the CRDs.
    crds: Option<(&'static str, &'static str)>,
}

struct Program {
    name: &'static str,
    package: &'static str,
    /// Sets the version that the program says it has: a variable of it, and the module whose version that is.
    version: Option<(&'static str, &'static str)>,
    /// A variable with the program's path, or with the directory that it is in.
    variable: &'static str,
}

const KUBERNETES: Option<(&str, &str)> =
    Some(("k8s.io/component-base/version.gitVersion", "k8s.io/kubernetes"));
const CORE: &str = "github.com/crossplane/crossplane/v2";
const PROVIDER: &str = "github.com/crossplane-contrib/provider-kubernetes";

const MODULES: [Module; 3] = [
    Module {
        directory: "controlplane",
        takes: "6 minutes",
        programs: &[
            Program {
                name: "etcd",
                package: "go.etcd.io/etcd/server/v3",
                version: None,
                variable: "KUBEBUILDER_ASSETS",
            },
            Program {
                name: "kube-apiserver",
                package: "k8s.io/kubernetes/cmd/kube-apiserver",
                version: KUBERNETES,
                variable: "KUBEBUILDER_ASSETS",
            },
            Program {
                name: "kube-controller-manager",
                package: "k8s.io/kubernetes/cmd/kube-controller-manager",
                version: KUBERNETES,
                variable: "KUBEBUILDER_ASSETS",
            },
            Program {
                name: "kubectl",
                package: "k8s.io/kubernetes/cmd/kubectl",
                version: KUBERNETES,
                variable: "KUBEBUILDER_ASSETS",
            },
        ],
        crds: None,
    },
    Module {
        directory: "crossplane",
        takes: "2 minutes",
        programs: &[Program {
            name: "crossplane",
            package: "github.com/crossplane/crossplane/v2/cmd/crossplane",
            version: Some(("github.com/crossplane/crossplane-runtime/v2/pkg/version.version", CORE)),
            variable: "CROSSPLANE_BIN",
        }],
        crds: Some((CORE, "cluster/crds")),
    },
    Module {
        directory: "provider-kubernetes",
        takes: "2 minutes",
        programs: &[Program {
            name: "provider-kubernetes",
            package: "github.com/crossplane-contrib/provider-kubernetes/cmd/provider",
            version: None,
            variable: "PROVIDER_KUBERNETES_BIN",
        }],
        crds: Some((PROVIDER, "package/crds")),
    },
];

/// Says what Tekton's webhook would refuse. Only the tests of Tekton tasks need it, so nobody else builds it.
const TEKTON: Module = Module {
    directory: "tekton",
    takes: "1 minute",
    programs: &[Program { name: "tekton-check", package: ".", version: None, variable: "TEKTON_CHECK_BIN" }],
    crds: None,
};

/// A registry in memory, the one with which `cargo xpkg push` is tried. Only what installs packages needs it.
const REGISTRY: Module = Module {
    directory: "../package/tests/registry",
    takes: "10 seconds",
    programs: &[Program { name: "registry", package: ".", version: None, variable: "REGISTRY_BIN" }],
    crds: None,
};

/// The program that is a registry.
pub fn registry() -> anyhow::Result<PathBuf> {
    let (home, _lock) = home()?;
    REGISTRY.ensure(&home)?;
    let [program] = REGISTRY.programs else { bail!("there is one program in it") };
    Ok(given(program).unwrap_or_else(|| built(&home, program.name)))
}

/// The program that reads Tekton's objects as Tekton does.
pub fn tekton_check() -> anyhow::Result<PathBuf> {
    let (home, _lock) = home()?;
    TEKTON.ensure(&home)?;
    let [program] = TEKTON.programs else { bail!("there is one program in it") };
    Ok(given(program).unwrap_or_else(|| built(&home, program.name)))
}

/// Where what is built is kept. One process builds at a time.
fn home() -> anyhow::Result<(PathBuf, File)> {
    let home =
        settings::path("TESTPLATFORM_BIN_DIR").unwrap_or_else(|| settings::target().join("controlplane"));
    fs::create_dir_all(home.join("bin")).with_context(|| format!("cannot make {}", home.display()))?;
    let lock = File::create(home.join("lock")).context("cannot make the lock file")?;
    if lock.try_lock().is_err() {
        say("waiting for another process that builds the programs of the testbed");
        lock.lock().context("cannot lock")?;
    }
    Ok((home, lock))
}

impl Binaries {
    /// Finds all of them, and builds what is missing.
    pub fn ensure() -> anyhow::Result<Self> {
        let (home, _lock) = home()?;
        for module in &MODULES {
            module.ensure(&home)?;
        }
        let program =
            |name| find(&home, name).with_context(|| format!("{name} is missing after it was built"));
        Ok(Self {
            etcd: program("etcd")?,
            kube_apiserver: program("kube-apiserver")?,
            kube_controller_manager: program("kube-controller-manager")?,
            kubectl: program("kubectl")?,
            crossplane: program("crossplane")?,
            provider_kubernetes: program("provider-kubernetes")?,
            crds: ["crossplane", "provider-kubernetes"].map(|m| home.join("crds").join(m)),
        })
    }
}

impl Module {
    fn ensure(&self, home: &Path) -> anyhow::Result<()> {
        let source = settings::repository().join("tests").join(self.directory);
        let own = fs::read(source.join("main.go")).unwrap_or_default();
        let pinned = [fs::read(source.join("go.mod"))?, fs::read(source.join("go.sum"))?, own].concat();
        let name = self.directory.rsplit('/').next().unwrap_or(self.directory);
        let stamp = home.join(format!("{name}.stamp"));
        let current = fs::read(&stamp).is_ok_and(|built| built == pinned);
        let missing: Vec<_> = self
            .programs
            .iter()
            .filter(|p| given(p).is_none() && !(current && built(home, p.name).is_file()))
            .collect();
        let crds = self.crds.filter(|_| !(current && home.join("crds").join(self.directory).is_dir()));
        if missing.is_empty() && crds.is_none() {
            return Ok(());
        }
        let names: Vec<_> = missing.iter().map(|p| p.name).collect();
        let what = if names.is_empty() { "CRDs".to_owned() } else { names.join(", ") };
        require_go(&what)?;
        let begun = Instant::now();
        say(&format!(
            "building {what} from tests/{}: once, about {} on two cores",
            self.directory, self.takes
        ));
        // Until it is whole, it does not count.
        let _ = fs::remove_file(&stamp);
        for program in missing {
            program.build(&source, home)?;
        }
        if let Some((module, directory)) = crds {
            let from = go(&source, &["list", "-m", "-f", "{{.Dir}}", module])?;
            copy_yaml(&Path::new(from.trim()).join(directory), &home.join("crds").join(self.directory))?;
        }
        fs::write(&stamp, pinned)?;
        say(&format!("built {what} in {} s", begun.elapsed().as_secs()));
        Ok(())
    }
}

impl Program {
    fn build(&self, source: &Path, home: &Path) -> anyhow::Result<()> {
        let mut flags = "-s -w".to_owned();
        if let Some((variable, module)) = self.version {
            let version = go(source, &["list", "-m", "-f", "{{.Version}}", module])?;
            flags = format!("{flags} -X {variable}={}", version.trim());
        }
        let out = built(home, self.name).display().to_string();
        // Nobody debugs them, and what that would need takes a twentieth of the time.
        let lean = "-gcflags=all=-dwarf=false";
        go(source, &["build", "-mod=readonly", lean, "-ldflags", &flags, "-o", &out, self.package])?;
        Ok(())
    }
}

fn built(home: &Path, name: &str) -> PathBuf {
    home.join("bin").join(name)
}

/// What a variable leads to: the program itself, or the directory that it is in.
fn given(program: &Program) -> Option<PathBuf> {
    let path = settings::path(program.variable)?;
    [path.join(program.name), path].into_iter().find(|p| p.is_file())
}

fn find(home: &Path, name: &str) -> Option<PathBuf> {
    let program = MODULES.iter().flat_map(|m| m.programs).find(|p| p.name == name)?;
    given(program).or_else(|| Some(built(home, name)).filter(|p| p.is_file()))
}

fn require_go(what: &str) -> anyhow::Result<()> {
    let found = Command::new("go").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    bail!(
        "the testbed needs {what}, and there is no Go to build that with. Install Go 1.26 or newer \
         (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a directory with etcd, kube-apiserver, \
         kube-controller-manager and kubectl, and CROSSPLANE_BIN and PROVIDER_KUBERNETES_BIN to those two programs"
    )
}

fn go(directory: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut go = Command::new("go");
    // Go's compiler collects its own garbage for a quarter of its time otherwise.
    go.args(arguments).current_dir(directory).env("GOGC", "400");
    let output = go.output().context("cannot run go")?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let last: Vec<_> = words.lines().rev().take(20).collect();
        let last: Vec<_> = last.into_iter().rev().collect();
        bail!("go {} failed in {}:\n{}", arguments.join(" "), directory.display(), last.join("\n"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn copy_yaml(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        if let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|e| e == "yaml")) {
            // Not `copy`: files in Go's module cache are read-only, and a later copy has to replace this one.
            fs::write(to.join(name), fs::read(&path)?)?;
        }
    }
    Ok(())
}

/// Progress is for whoever waits, so it goes past the capture of test output.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "testbed: {line}");
}

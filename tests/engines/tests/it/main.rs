//! The cache of engine programs, with a `go` that is a script: it builds in an instant, and fails where a test wants it to.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod archives;
mod cached;
mod command;
mod damage;
mod disk;
mod server;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;
use testplatform_engines::{Engines, Pins, Settings};

/// `go`, as far as the cache needs it: `env`, `list` and `build`. A line in `calls` for each call.
const GO: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
case "$1" in
env) cat "$here/version" ;;
list) case "$*" in *Dir*) echo "$here/module" ;; *) echo v1.0.0 ;; esac ;;
build)
  sleep "$(cat "$here/seconds")"
  if [ -f "$here/failure" ]; then cat "$here/failure" >&2; exit 1; fi
  while [ "$1" != -o ]; do shift; done
  out=$2
  shift 2
  # The output of a package is named after the end of its path. That in `.` is the registry.
  for package in "$@"; do
    name=${package##*/}
    [ "$package" = . ] && name=registry
    [ -e "$out/$name" ] && { echo "$name is there twice" >&2; exit 1; }
    printf '#!/bin/sh\necho %s\n' "${package#.}built" >"$out/$name"
    chmod +x "$out/$name"
  done
  ;;
esac
"#;

/// A machine with a Go and an empty cache.
struct Machine {
    directory: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { directory: tempfile::tempdir().unwrap() };
        let go = machine.path("tools/go");
        fs::create_dir_all(machine.path("tools/module/cluster/crds")).unwrap();
        fs::write(machine.path("tools/module/cluster/crds/a.yaml"), "kind: A\n").unwrap();
        for manager in ["core", "bootstrap/kubeadm", "controlplane/kubeadm", "infrastructure/docker"] {
            let config = machine.path("tools/module").join(manager).join("config");
            fs::create_dir_all(config.join("crd/bases")).unwrap();
            fs::create_dir_all(config.join("webhook")).unwrap();
            fs::write(config.join("crd/bases/b.yaml"), format!("kind: {manager}\n")).unwrap();
            fs::write(config.join("webhook/manifests.yaml"), "kind: Webhook\n").unwrap();
        }
        fs::write(&go, GO).unwrap();
        fs::set_permissions(&go, fs::Permissions::from_mode(0o755)).unwrap();
        machine.set("version", "go1.99.1\n");
        machine.set("seconds", "0");
        machine
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    /// A setting of the script.
    fn set(&self, name: &str, value: &str) {
        fs::write(self.path("tools").join(name), value).unwrap();
    }

    fn settings(&self) -> Settings {
        Settings {
            cache: self.path("cache/testplatform/engines"),
            assets_url: None,
            go: self.path("tools/go"),
        }
    }

    fn engines(&self) -> Engines {
        Engines::new(self.settings(), Pins::default())
    }

    /// Names in the cache, but for the lock.
    fn cached(&self) -> Vec<String> {
        let entries = fs::read_dir(self.settings().cache).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name != "lock");
        names.sort();
        names
    }

    /// How often Go has built something.
    fn builds(&self) -> usize {
        let calls = fs::read_to_string(self.path("tools/calls")).unwrap_or_default();
        calls.lines().filter(|line| line.starts_with("build ")).count()
    }

    /// `cargo engines` on this machine.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_engines"));
        command
            .args(arguments)
            .env_clear()
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("tools").display()));
        command
    }

    fn run(&self, arguments: &[&str]) -> (Output, String, String) {
        let output = self.command(arguments).output().unwrap();
        let [stdout, stderr] =
            [&output.stdout, &output.stderr].map(|it| String::from_utf8(it.clone()).unwrap());
        (output, stdout, stderr)
    }
}

/// The file of an entry whose name begins so.
fn file_of(machine: &Machine, entry: &str, file: &str) -> PathBuf {
    let name = machine.cached().into_iter().find(|name| name.starts_with(entry)).unwrap();
    Path::new(&machine.settings().cache).join(name).join(file)
}

//! The testbed's messages when it cannot run here.

use std::{
    net::TcpListener,
    process::{Command, Output},
};

use anyhow::{Context as _, ensure};
use testplatform_tests::{binaries::Binaries, crossplane::Engine, exclusive};

/// Not tests by themselves: others start them in a process of their own, where the environment is another.
pub mod victims {
    use super::{Binaries, Engine};

    pub fn programs() -> anyhow::Result<()> {
        Binaries::ensure().map(|_| ())
    }

    pub async fn engine() -> anyhow::Result<()> {
        Engine::start().await.map(|_| ())
    }
}

pub fn without_go_and_programs_it_says_what_to_install() -> anyhow::Result<()> {
    let empty = tempfile::tempdir()?;
    let words = refused(
        victim("programs")?
            .env("PATH", empty.path())
            .env("XDG_CACHE_HOME", empty.path())
            .env_remove("TESTPLATFORM_ASSETS_URL")
            .env_remove("KUBEBUILDER_ASSETS")
            .env_remove("CROSSPLANE_BIN")
            .env_remove("PROVIDER_KUBERNETES_BIN"),
    )?;
    for word in [
        "needs etcd, kube-apiserver, kube-controller-manager",
        "finds no Go",
        "install Go 1.",
        "TESTPLATFORM_ASSETS_URL",
        "KUBEBUILDER_ASSETS",
        "CROSSPLANE_BIN",
        "PROVIDER_KUBERNETES_BIN",
    ] {
        ensure!(words.contains(word), "{word:?} is not in:\n{words}");
    }
    Ok(())
}

/// provider-kubernetes cannot listen elsewhere, so a taken port is said before anything starts, and whose it is.
pub fn a_taken_port_is_said() -> anyhow::Result<()> {
    // No other engine may be running, or start because we hold its port.
    let _alone = exclusive::only_one()?;
    for port in [8080, 9443] {
        let held = TcpListener::bind(("0.0.0.0", port));
        // The other one's lock is another: it does not wait for us.
        let elsewhere = tempfile::tempdir()?;
        let words = refused(victim("engine")?.env("TMPDIR", elsewhere.path()))?;
        let taken = format!("needs port {port} and cannot use another one; it is taken");
        ensure!(words.contains(&taken), "{taken:?} is not in:\n{words}");
        if held.is_ok() {
            let us = format!("by process {} (", std::process::id());
            ensure!(words.contains(&us), "{us:?} is not in:\n{words}");
        }
        let left: Vec<_> = std::fs::read_dir(elsewhere.path())?.flatten().map(|e| e.file_name()).collect();
        ensure!(left.iter().all(|name| name == "testplatform-engine.lock"), "left behind: {left:?}");
    }
    Ok(())
}

fn victim(name: &str) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(crate::VICTIM, format!("refusals::victims::{name}"));
    Ok(command)
}

/// Output of a command that failed.
fn refused(command: &mut Command) -> anyhow::Result<String> {
    let Output { status, stdout, stderr } = command.output().context("cannot start the victim")?;
    let words = [stdout, stderr].map(|out| String::from_utf8_lossy(&out).into_owned()).join("\n");
    ensure!(!status.success(), "it was not refused:\n{words}");
    Ok(words)
}

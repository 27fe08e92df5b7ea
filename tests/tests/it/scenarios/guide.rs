//! The guide to rotation, followed to the letter: its blocks of commands are run by a shell as they are written.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, fs::symlink},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail, ensure};
use testplatform_tests::{binaries::Binaries, crossplane::Engine, program, settings};

/// Name of the Secret that the guide has the old token bound to.
pub const BEFORE: &str = "2026-10";
/// And the new one.
pub const AFTER: &str = "2027-01";
/// The guide's name for the address of the hub.
const SERVER: &str = "https://hub.example.com:6443";
/// The guide's name for the Secret behind the ProviderConfig.
const BEHIND: &str = "testplatform-appci-cluster";
/// With what the only block begins that cannot be run here.
const VAULT: &str = "vault ";

/// Somebody with contexts `hub` and `konflux`, and a checkout of this repository.
pub struct Administrator<'e> {
    engine: &'e Engine,
    room: PathBuf,
    /// Placeholders of the guide, and the reader's own values for them.
    places: [(&'static str, String); 2],
}

impl<'e> Administrator<'e> {
    /// One who rotates what is in this Secret of crossplane-system.
    pub fn new(engine: &'e Engine, secret: &str) -> anyhow::Result<Self> {
        let room = engine.nest().directory().join("administrator");
        let tools = room.join("tools");
        fs::create_dir_all(&tools)?;
        symlink(&Binaries::ensure()?.kubectl, tools.join("kubectl"))?;
        // As `cargo xpkg` runs it, without waiting for cargo.
        let xpkg = program::xpkg()?;
        let cargo = tools.join("cargo");
        let script =
            format!("#!/bin/sh\n[ \"$1\" = xpkg ] || exit 64\nshift\nexec '{}' \"$@\"\n", xpkg.display());
        fs::write(&cargo, script)?;
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755))?;
        let hub = fs::read_to_string(engine.hub.kubeconfig())?;
        let hub: serde_json::Value = serde_json::from_str(&hub)?;
        let server = hub["clusters"][0]["cluster"]["server"].as_str().context("the hub has no address")?;
        let places = [(SERVER, server.to_owned()), (BEHIND, secret.to_owned())];
        Ok(Self { engine, room, places })
    }

    /// Runs every block of the guide, in its order, but the one for which there has to be a vault. Returns what was said.
    pub async fn follow(&self) -> anyhow::Result<String> {
        let guide = fs::read_to_string(settings::repository().join("docs/how-to/rotate.md"))?;
        for (name, _) in &self.places {
            ensure!(guide.contains(name), "the guide does not speak of {name}");
        }
        let blocks = blocks(&guide);
        let (vault, commands): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|b| b.starts_with(VAULT));
        ensure!(vault.len() == 1, "{} blocks of the guide cannot be run here", vault.len());
        ensure!(commands.len() == 5, "{} blocks of the guide were to be run", commands.len());
        let mut said = String::new();
        for block in commands {
            let text =
                self.places.iter().fold(block.clone(), |text, (name, place)| text.replace(name, place));
            let (room, clusters) = (self.room.clone(), self.clusters());
            let ran = tokio::task::spawn_blocking(move || run(&text, &room, &clusters)).await?;
            said += &ran.with_context(|| format!("the guide's\n{block}"))?;
            if let Ok(made) = fs::metadata(self.room.join("kubeconfig")) {
                ensure!(
                    made.permissions().mode() & 0o777 == 0o600,
                    "others may read the kubeconfig that the guide makes"
                );
            }
        }
        ensure!(!self.room.join("kubeconfig").exists(), "the guide leaves the kubeconfig behind");
        Ok(said)
    }

    fn clusters(&self) -> String {
        let paths = [self.engine.hub.kubeconfig(), self.engine.konflux.kubeconfig()];
        paths.map(|path| path.display().to_string()).join(":")
    }
}

/// The commands of each block, without the indentation of the list that it is in.
fn blocks(guide: &str) -> Vec<String> {
    let mut blocks = vec![];
    let mut block: Option<(usize, String)> = None;
    for line in guide.lines() {
        let fence = line.trim_start();
        match &mut block {
            None if fence == "```console" => block = Some((line.len() - fence.len(), String::new())),
            Some(_) if fence == "```" => blocks.extend(block.take().map(|(_, text)| text)),
            Some((indentation, text)) => {
                *text += line.get(*indentation..).unwrap_or_default();
                text.push('\n');
            }
            None => {}
        }
    }
    blocks
}

fn run(text: &str, room: &Path, clusters: &str) -> anyhow::Result<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(room.join("tools")).chain(std::env::split_paths(&path)))?;
    let mut command = Command::new("sh");
    // As most people's is, whatever that of this machine.
    let text = format!("umask 022\n{text}");
    command.args(["-eu", "-c", &text]).current_dir(room).env("PATH", path).env("KUBECONFIG", clusters);
    let output = command.output().context("cannot run sh")?;
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if !output.status.success() {
        bail!("{}: {}", output.status, said.concat());
    }
    Ok(said.concat())
}

//! The programs of this workspace, built if need be.

use std::{env, path::PathBuf, process::Command};

use anyhow::{Context as _, bail};

use crate::settings;

/// Any test of this workspace. One that is asked for beside a program makes cargo count dev-dependencies in, whose
/// features are otherwise not the same: without it all that `cargo test --workspace` has built is built once more.
const ANY_TEST: &str = "binary";

/// A program: given by an environment variable, else built as this workspace has it now. While tests run cargo holds no
/// lock, and with the whole workspace and a test selected the features are those of `cargo test --workspace`, so usually
/// there is nothing to build.
pub fn ensure(name: &str, given: &str) -> anyhow::Result<PathBuf> {
    if let Some(given) = settings::path(given) {
        return Ok(given);
    }
    let target = settings::target();
    // Where this program lies below the target directory tells its profile: `debug/deps`, `release`.
    let running = env::current_exe()?;
    let profile = running.strip_prefix(&target).ok().and_then(|p| p.components().next());
    let profile = profile.map_or_else(|| "debug".into(), |p| p.as_os_str().to_owned());
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--workspace", "--bin", name, "--test", ANY_TEST, "--quiet", "--profile"]);
    cargo.arg(if profile == "debug" { "dev".into() } else { profile.clone() });
    cargo.arg("--target-dir").arg(&target).current_dir(settings::repository());
    // What cargo tells us about ourselves would look to build scripts like a reason to run again.
    for (variable, _) in env::vars_os() {
        let name = variable.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"]
            .iter()
            .any(|p| name.starts_with(p))
        {
            cargo.env_remove(&variable);
        }
    }
    let output = cargo.output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("{name} cannot be built:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(target.join(profile).join(name))
}

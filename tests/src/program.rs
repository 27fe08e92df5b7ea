//! The programs of this workspace, built if need be.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anyhow::{Context as _, bail};

use crate::{function, provider, settings};

/// A program: its name, the environment variable that gives another in its place, and where it was found.
struct Program(&'static str, &'static str, OnceLock<PathBuf>);

static FUNCTION: Program = Program(function::NAME, "FUNCTION_BIN", OnceLock::new());
static PROVIDER: Program = Program(provider::NAME, "PROVIDER_BIN", OnceLock::new());
static PLUGIN: Program = Program("kubectl-testplatform", "KUBECTL_TESTPLATFORM_BIN", OnceLock::new());
static XPKG: Program = Program("testplatform-package", "TESTPLATFORM_PACKAGE_BIN", OnceLock::new());

static INCUMBENT: Program = Program("function-incumbent", "FUNCTION_INCUMBENT_BIN", OnceLock::new());

/// The function's program.
pub fn function() -> anyhow::Result<&'static Path> {
    FUNCTION.ensure()
}

/// A stand-in for the template pipeline that the function replaced.
pub fn incumbent() -> anyhow::Result<&'static Path> {
    INCUMBENT.ensure()
}

/// That of the reconciler on the hub.
pub fn provider() -> anyhow::Result<&'static Path> {
    PROVIDER.ensure()
}

/// The kubectl plugin.
pub fn plugin() -> anyhow::Result<&'static Path> {
    PLUGIN.ensure()
}

/// That behind `cargo xpkg`.
pub fn xpkg() -> anyhow::Result<&'static Path> {
    XPKG.ensure()
}

/// Tells a program of the testbed that a test runs where both are. By itself it would build what the test has built already, for the sake
/// of other features.
pub fn tell(command: &mut Command) -> anyhow::Result<&mut Command> {
    Ok(command.env(FUNCTION.1, function()?).env(PROVIDER.1, provider()?))
}

impl Program {
    fn ensure(&self) -> anyhow::Result<&Path> {
        let Self(name, given, found) = self;
        if let Some(found) = found.get() {
            return Ok(found);
        }
        let program = settings::path(given).map_or_else(|| build(name), Ok)?;
        Ok(found.get_or_init(|| program))
    }
}

/// As this workspace has it now. While tests run cargo holds no lock, and with the whole workspace selected it shares what `cargo test` and
/// `cargo run` have compiled: so usually there is little to build.
fn build(name: &str) -> anyhow::Result<PathBuf> {
    let target = settings::target();
    // Where this program lies below the target directory tells its profile: `debug/deps`, where tests are, and `debug`.
    let running = env::current_exe()?;
    let profile = running.strip_prefix(&target).ok().and_then(|p| p.components().next());
    let profile = profile.map_or_else(|| "debug".into(), |p| p.as_os_str().to_owned());
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--workspace", "--bin", name, "--quiet", "--profile"]);
    cargo.arg(if profile == "debug" { "dev".into() } else { profile.clone() });
    cargo.arg("--target-dir").arg(&target).current_dir(settings::repository());
    // Build scripts would take the variables that cargo sets for us for a reason to run again.
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

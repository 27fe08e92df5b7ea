//! Settings from the environment. Everything else in this crate takes them as arguments.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

/// Directory below the user's cache directory.
const BELOW_CACHE: &str = "testplatform/engines";

/// Locations that the environment decides.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Root of the cache.
    pub cache: PathBuf,
    /// URL of a directory with release archives, if one is configured.
    pub assets_url: Option<String>,
    /// The `go` command.
    pub go: PathBuf,
}

impl Settings {
    /// Reads `XDG_CACHE_HOME`, `HOME` and `TESTPLATFORM_ASSETS_URL`.
    ///
    /// # Errors
    ///
    /// If there is neither a cache directory nor a home directory.
    pub fn from_environment() -> anyhow::Result<Self> {
        // The XDG specification tells programs to ignore a relative path.
        let cache = path_variable("XDG_CACHE_HOME").filter(|path| path.is_absolute());
        let cache = cache.or_else(|| Some(path_variable("HOME")?.join(".cache")));
        let cache = cache.context("set HOME or XDG_CACHE_HOME: the testbed caches its programs there")?;
        let assets_url = variable("TESTPLATFORM_ASSETS_URL").and_then(|url| url.into_string().ok());
        Ok(Self { cache: cache.join(BELOW_CACHE), assets_url, go: "go".into() })
    }
}

fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

fn path_variable(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from)
}

/// The program that a variable names: the file itself, or the file called `name` in that directory.
#[must_use]
pub fn overridden_program(variable: &str, name: &str) -> Option<PathBuf> {
    let path = path_variable(variable)?;
    [path.join(name), path].into_iter().find(|path| Path::is_file(path))
}

/// The directory called `name` below the one that a variable names.
#[must_use]
pub fn overridden_directory(variable: &str, name: &str) -> Option<PathBuf> {
    path_variable(variable).map(|path| path.join(name)).filter(|path| path.is_dir())
}

//! Where things are. The only place that reads the environment.

use std::{
    env,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use jiff::Timestamp;

/// The value of an environment variable as a path, if it is set and not empty.
pub fn path(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// This repository.
pub fn repository() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// Cargo's target directory. Cargo marks it, so the program that runs now knows which one it came from.
pub fn target() -> PathBuf {
    let running = env::current_exe().ok();
    let marked =
        running.as_deref().and_then(|exe| exe.ancestors().find(|d| d.join("CACHEDIR.TAG").is_file()));
    marked
        .map(Path::to_owned)
        .or_else(|| path("CARGO_TARGET_DIR"))
        .unwrap_or_else(|| repository().join("target"))
}

/// How many times as long as on a fast machine that does nothing else something may take, by `TESTPLATFORM_PATIENCE`. What is no whole
/// number from 1 is told, and counts for 1.
pub fn patience() -> u32 {
    let Some(given) = path("TESTPLATFORM_PATIENCE") else { return 1 };
    let times = given.to_str().and_then(|given| given.parse().ok()).filter(|times| *times > 0);
    times.unwrap_or_else(|| {
        let given = given.display();
        let _ = writeln!(io::stderr(), "TESTPLATFORM_PATIENCE is {given}, and no whole number from 1");
        1
    })
}

/// Until when what others show nearly as well may begin, by `TESTPLATFORM_UNTIL`, in seconds since 1970. What is no such number is told, and
/// ends nothing.
pub fn until() -> Option<Timestamp> {
    let given = path("TESTPLATFORM_UNTIL")?;
    let seconds = given.to_str().and_then(|given| Timestamp::from_second(given.parse().ok()?).ok());
    if seconds.is_none() {
        let _ = writeln!(io::stderr(), "TESTPLATFORM_UNTIL is {}, and no number of seconds", given.display());
    }
    seconds
}

/// The directory of CRDs as their owners publish them, where somebody has put one.
pub fn upstream_crds() -> Option<PathBuf> {
    upstream("UPSTREAM_CRDS", "crds")
}

/// A directory of what was recorded upstream: given by a variable, else beside this repository.
pub fn upstream(variable: &str, name: &str) -> Option<PathBuf> {
    let beside = repository().join("../shared/upstream").join(name);
    path(variable)
        .or_else(|| Some(path("UPSTREAM_DIR")?.join(name)))
        .or_else(|| path("UPSTREAM_CRDS").and_then(|crds| Some(crds.parent()?.join(name))))
        .or(Some(beside))
        .filter(|dir| dir.is_dir())
}

/// The same for a test that is of no use without, or of less. Says so where it is not there.
pub fn recorded(what: &str, variable: &str, name: &str) -> Option<PathBuf> {
    let found = upstream(variable, name);
    if found.is_none() {
        not_run(what, "upstream's files are not here (set UPSTREAM_DIR)");
    }
    found
}

/// Says that something is not tested, past the capture of test output.
pub fn not_run(what: &str, why: &str) {
    let _ = writeln!(io::stderr(), "NOT RUN: {what}: {why}");
}

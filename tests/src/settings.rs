//! Where things are. The only place that reads the environment.

use std::{
    env,
    io::{self, Write as _},
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context as _, bail};
use jiff::Timestamp;

const PART: &str = "TESTPLATFORM_PART";

/// The value of an environment variable as a path, if it is set and not empty.
pub fn path(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The value of an environment variable as text, if it is set and not empty.
pub fn text(variable: &str) -> Option<String> {
    env::var_os(variable).filter(|value| !value.is_empty())?.into_string().ok()
}

/// A part of the whole tier: the `number`th of `of`, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    number: usize,
    of: usize,
}

impl Part {
    /// `true` if the case with this index is in the part.
    pub fn has(self, index: usize) -> bool {
        index % self.of == self.number - 1
    }
}

impl FromStr for Part {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let parse = || {
            let (number, of) = text.split_once('/')?;
            Some((number.parse().ok()?, of.parse().ok()?))
        };
        match parse() {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => bail!("{text:?} is not a part: write 2/4 for the second of four"),
        }
    }
}

/// The part of the whole tier that `TESTPLATFORM_PART` selects, if any.
///
/// # Errors
///
/// If its value is not a part.
pub fn part() -> anyhow::Result<Option<Part>> {
    text(PART).map(|text| text.parse().context(PART)).transpose()
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

/// Factor for all time limits, relative to a fast, idle machine, by `TESTPLATFORM_PATIENCE`. Anything but a whole number from 1 is
/// reported, and counts as 1.
pub fn patience() -> u32 {
    let Some(given) = path("TESTPLATFORM_PATIENCE") else { return 1 };
    let times = given.to_str().and_then(|given| given.parse().ok()).filter(|times| *times > 0);
    times.unwrap_or_else(|| {
        let given = given.display();
        let _ = writeln!(io::stderr(), "TESTPLATFORM_PATIENCE is {given}, and no whole number from 1");
        1
    })
}

/// Time after which no test begins whose subject others cover nearly as well, by `TESTPLATFORM_UNTIL`, in seconds since 1970. Any
/// other value is reported, and sets no limit.
pub fn until() -> Option<Timestamp> {
    let given = path("TESTPLATFORM_UNTIL")?;
    let seconds = given.to_str().and_then(|given| Timestamp::from_second(given.parse().ok()?).ok());
    if seconds.is_none() {
        let _ = writeln!(io::stderr(), "TESTPLATFORM_UNTIL is {}, and no number of seconds", given.display());
    }
    seconds
}

/// Says that something is not tested, past the capture of test output.
pub fn not_run(what: &str, why: &str) {
    let _ = writeln!(io::stderr(), "NOT RUN: {what}: {why}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_run_have_every_case_once() {
        let parts: Vec<Part> = ["1/3", "2/3", "3/3"].iter().map(|text| text.parse().unwrap()).collect();
        for index in 0..20 {
            assert_eq!(parts.iter().filter(|part| part.has(index)).count(), 1, "{index}");
        }
    }

    #[test]
    fn a_part_that_does_not_exist_is_refused() {
        for text in ["", "1", "0/4", "5/4", "1/0", "a/4", "1/4/4"] {
            assert!(text.parse::<Part>().is_err(), "{text}");
        }
    }
}

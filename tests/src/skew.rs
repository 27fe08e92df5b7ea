//! A program whose clock is wrong. Its clock is that of the machine and it has no seam for another one, so a small library is
//! loaded before it that answers in the kernel's place.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context as _, ensure};

use crate::{nest::Nest, settings};

/// Environment variables to start a program with.
pub type Environment = Vec<(&'static str, String)>;

/// The environment of a program whose clock is so many seconds ahead. Builds what that takes with the C compiler that Rust links
/// with.
pub fn by(nest: &Nest, seconds: i64) -> anyhow::Result<Environment> {
    let library = nest.directory().join("skew.so");
    if !library.is_file() {
        build(&library)?;
    }
    Ok(vec![("LD_PRELOAD", library.display().to_string()), ("SKEW_SECONDS", seconds.to_string())])
}

fn build(library: &PathBuf) -> anyhow::Result<()> {
    let source = settings::repository().join("tests/skew/skew.c");
    let built = library.with_extension("next");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-o"]).arg(&built).arg(&source);
    let output = compiler.output().context("cannot run cc, which Rust links with")?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} cannot be built:\n{words}", source.display());
    Ok(fs::rename(built, library)?)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::actors::now;

    #[test]
    fn a_clock_is_wrong_by_as_much_as_it_should_be() {
        let nest = Nest::new("skew", None).unwrap();
        for seconds in [60, -60] {
            // The shell's own `date` is a program like others.
            let mut date = Command::new("date");
            let output = date.arg("+%s").envs(by(&nest, seconds).unwrap()).output().unwrap();
            let said: i64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
            let off = Timestamp::from_second(said).unwrap().duration_since(now()).as_secs();
            assert!((off - seconds).abs() <= 2, "{off} in place of {seconds}");
        }
    }
}

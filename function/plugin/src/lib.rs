//! The kubectl plugin: it serves owners of claims, in a terminal and in scripts.
//!
//! ```text
//! command line ──args──▶ Ask ──commands──▶ kubectl … ──▶ JSON ──claim, facts──▶ chain, wait, estimate, table ──▶ lines, exit code
//! ```
//!
//! It reaches clusters only by running kubectl, so that it supports all of kubectl's connection methods. Processing of the answers is pure:
//! `trouble`, `claim`, `facts`, `held`, `events`, `chain`, `wait`, `way`, `there`, `advice`, `estimate`, `offers`, `table` and `config`.
//! I/O is in `kubectl`, `aside`, `follow`, `session` and the commands.
//!
//! **Invariant:** only `kubeconfig` reads a value of a Secret; it passes it on and prints it nowhere else.

pub mod advice;
pub mod args;
pub mod aside;
pub mod chain;
pub mod claim;
pub mod command_context;
pub mod commands;
pub mod config;
pub mod estimate;
pub mod events;
pub mod existing;
pub mod exit;
pub mod facts;
pub mod follow;
pub mod kubectl;
pub mod observed_secret;
pub mod offers;
pub mod screen;
pub mod session;
pub mod span;
pub mod table;
pub mod trouble;
pub mod wait;

use std::{ffi::OsString, io::Write};

use exit::{Exit, Stop};
use kubectl::Kubectl;
use session::{Session, Surroundings};
use testplatform_apis::output::ignore_broken_pipe;

/// The plugin as its users call it.
const CALLED: &str = "kubectl testplatform";

/// Runs a command line of the plugin to its exit code.
pub fn run(line: Vec<OsString>, around: Surroundings, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let line = match args::read(line) {
        Ok(line) => line,
        Err(error) => {
            // Help is an answer, and no error.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(Exit::Usage.code());
        }
    };
    let ended = line.and_then(|line| {
        let program =
            (around.variable)("KUBECTL").filter(|p| !p.is_empty()).unwrap_or_else(|| "kubectl".into());
        let kubectl = Kubectl { program, flags: line.flags };
        let mut session = Session { kubectl, around, out, err: &mut *err, way: line.way };
        commands::run(&line.ask, &mut session)?;
        Ok(session.out.flush().or_else(ignore_broken_pipe)?)
    });
    match ended {
        Ok(()) => Exit::Done.code(),
        Err(stop) => {
            // Ctrl-C meets kubectl too, which then has not done what it was run for.
            let own = stop.exit != Exit::Interrupted && (around.interrupted)();
            let stop = if own { Stop::new(Exit::Interrupted, "interrupted", "") } else { stop };
            let _ = writeln!(err, "{stop}");
            stop.exit.code()
        }
    }
}

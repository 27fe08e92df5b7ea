//! The kubectl plugin: it serves owners of claims, in a terminal and in scripts.
//!
//! ```text
//! command line ──args──▶ Subcommand ──commands──▶ kubectl … ──▶ JSON ──claim, facts──▶ explanation, estimate, table ──▶ lines, exit code
//! ```
//!
//! It reaches clusters only by running kubectl, so that it supports all of kubectl's connection methods. Processing of the answers is pure:
//! `trouble`, `claim`, `facts`, `observed_secret`, `events`, `chain`, `wait`, `explanation`, `diagnosis`, `existing`, `advice`, `runbook`, `estimate`,
//! `offers`, `fleet`, `table`, `field_path`, `wait_target`, `web_address`, `style` and `config`. I/O is in `kubectl`, `aside`, `follow`,
//! `steady_watch`, `page_server`, `session` and the commands. `commands::completion` answers shells and kubectl before a command line is read.
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
pub mod diagnosis;
pub mod estimate;
pub mod events;
pub mod existing;
pub mod exit;
pub mod explanation;
pub mod facts;
pub mod field_path;
pub mod fleet;
pub mod follow;
pub mod kubectl;
pub mod observed_secret;
pub mod offers;
pub mod page_server;
pub mod runbook;
pub mod screen;
pub mod session;
pub mod span;
pub mod steady_watch;
pub mod style;
pub mod table;
pub mod trouble;
pub mod wait;
pub mod wait_target;
pub mod web_address;

use std::{ffi::OsString, io::Write};

use exit::{Exit, Stop};
use kubectl::Kubectl;
use session::{Session, Surroundings};
use style::Paint;
use testplatform_apis::output::ignore_broken_pipe;

/// The plugin as its users call it.
const CALLED: &str = "kubectl testplatform";

/// The program that reaches clusters.
fn kubectl_program(around: Surroundings) -> OsString {
    (around.variable)("KUBECTL").filter(|program| !program.is_empty()).unwrap_or_else(|| "kubectl".into())
}

/// Runs a command line of the plugin to its exit code.
pub fn run(line: Vec<OsString>, around: Surroundings, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    if let Some(code) = commands::completion::answer_completion(&line, around, out) {
        return code;
    }
    let line = match args::read(line, around.version) {
        Ok(line) => line,
        Err(error) => {
            // Help is an answer, and no error.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(Exit::Usage.code());
        }
    };
    let ended = line.and_then(|line| {
        let kubectl = Kubectl { program: kubectl_program(around), flags: line.flags };
        let paint = Paint::new(line.color, around.colors);
        let mut session =
            Session { kubectl, around, out, err: &mut *err, way: line.way, paint, is_unread: false };
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

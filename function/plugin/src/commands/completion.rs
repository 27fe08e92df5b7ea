//! Completion of command lines, for shells and for kubectl.
//!
//! A shell has a script, which `completion SHELL` prints. The script runs this program with [`VARIABLE`]. kubectl has no script of its plugins:
//! it runs `kubectl_complete-testplatform` with the words after the plugin's name. That is this program by another name.

mod names;

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use clap::{Arg, Command};
use clap_complete::{
    engine::{ArgValueCompleter, CompletionCandidate, complete},
    env::Shells,
};

use self::names::{ClusterNames, static_candidates};
use super::super::{
    CALLED, args,
    exit::{Exit, Stop},
    field_path::FieldPath,
    kubectl::Kubectl,
    kubectl_program,
    session::{Session, Surroundings},
    wait_target::common_targets,
};

/// The variable by which a script asks for candidates; its value is the shell.
const VARIABLE: &str = "TESTPLATFORM_COMPLETE";
/// The program by its own name, which the scripts complete and run.
const PROGRAM: &str = "kubectl-testplatform";
/// In the name by which kubectl runs the completion of a plugin: `kubectl_complete-testplatform`, or that of oc.
const COMPLETER: &str = "_complete-";
/// The first word of a line that asks for candidates as kubectl does, for platforms without links.
const HIDDEN: &str = "__complete";

/// Bits of the last line for kubectl, as `ShellCompDirective` of cobra defines them.
mod directive {
    /// No space after the candidate.
    pub const NO_SPACE: u8 = 2;
    /// No names of files in addition.
    pub const NO_FILES: u8 = 4;
}

/// Answers a shell or kubectl that asks for candidates. None if the line asks for something else.
pub fn answer_completion(line: &[OsString], around: Surroundings, out: &mut dyn Write) -> Option<u8> {
    let program = Path::new(line.first()?).file_name()?.to_string_lossy();
    let words = if program.contains(COMPLETER) {
        line.get(1..)
    } else if line.get(1).is_some_and(|word| word == HIDDEN) {
        line.get(2..)
    } else {
        None
    };
    // Nobody reads an error: without candidates the shell offers none.
    if let Some(words) = words {
        let _ = answer_kubectl(words, around, out);
        return Some(Exit::Done.code());
    }
    let shell = (around.variable)(VARIABLE)?;
    let shells = Shells::builtins();
    let completer = shells.completer(shell.to_str()?)?;
    let start = line.iter().position(|word| word == "--")?;
    let words = line.get(start + 1..).filter(|words| !words.is_empty())?;
    let mut command = completing_command(words, around);
    let folder = env::current_dir().ok();
    let _ = completer.write_complete(&mut command, words.to_vec(), folder.as_deref(), out);
    Some(Exit::Done.code())
}

/// Prints candidates with their help behind a tab, and the directive in the last line.
fn answer_kubectl(words: &[OsString], around: Surroundings, out: &mut dyn Write) -> io::Result<()> {
    let mut line = vec![OsString::from(CALLED)];
    line.extend(words.iter().cloned());
    if words.is_empty() {
        line.push(OsString::new());
    }
    let current = line.last().cloned().unwrap_or_default();
    let mut command = completing_command(&line, around);
    let folder = env::current_dir().ok();
    let at = line.len() - 1;
    let mut candidates = complete(&mut command, line, at, folder.as_deref()).unwrap_or_default();
    // As kubectl itself, flags are offered to those who have begun one.
    let is_flag = |text: &OsStr| text.as_encoded_bytes().starts_with(b"-");
    if !is_flag(&current) {
        candidates.retain(|candidate| !is_flag(candidate.get_value()));
    }
    let mut bits = directive::NO_FILES;
    for candidate in &candidates {
        let value = candidate.get_value().to_string_lossy();
        if value.ends_with(['=', '/']) {
            bits |= directive::NO_SPACE;
        }
        let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        match help.lines().next().filter(|line| !line.is_empty()) {
            Some(help) => writeln!(out, "{value}\t{help}")?,
            None => writeln!(out, "{value}")?,
        }
    }
    writeln!(out, ":{bits}")?;
    out.flush()
}

/// Prints the script of a shell.
pub fn print_script(session: &mut Session<'_>, shell: &str) -> Result<(), Stop> {
    let shells = Shells::builtins();
    let completer = shells.completer(shell).ok_or_else(|| {
        Stop::new(Exit::Usage, format!("there is no completion for {shell}"), "See --help.")
    })?;
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    session.print(&String::from_utf8_lossy(&script))
}

/// The command line with candidates for its values. The words on the line select the cluster that is asked.
fn completing_command(words: &[OsString], around: Surroundings) -> Command {
    let kubectl = Kubectl { program: kubectl_program(around), flags: args::flags_of_unfinished_line(words) };
    let names = Arc::new(ClusterNames::new(kubectl));
    let command = args::command(around.version).mut_args(|arg| with_candidates("", arg, &names));
    command.mut_subcommands(|subcommand| {
        let name = subcommand.get_name().to_owned();
        subcommand.mut_args(|arg| with_candidates(&name, arg, &names))
    })
}

/// Adds candidates to an argument, if its values are known.
fn with_candidates(command: &str, arg: Arg, names: &Arc<ClusterNames>) -> Arg {
    let names = Arc::clone(names);
    let id = arg.get_id().as_str().to_owned();
    match (command, id.as_str()) {
        ("offers" | "up", "name") => arg,
        (_, "name") => arg.add(completer(move |typed| names.claims(typed))),
        (_, "offer") => arg.add(completer(move |typed| names.offers(typed))),
        (_, "namespace" | "from") => arg.add(completer(move |typed| names.namespaces(typed))),
        (_, "context") => arg.add(completer(move |typed| names.contexts(typed))),
        (_, "for") => arg.add(completer(|typed| static_candidates(common_targets(), typed))),
        (_, "sort-by") => {
            arg.add(completer(|typed| static_candidates(FieldPath::column_names().map(str::to_owned), typed)))
        }
        ("get" | "offers", "output") => arg.add(completer(|typed| {
            static_candidates(["wide", "name", "json", "yaml"].map(str::to_owned), typed)
        })),
        _ => arg,
    }
}

fn completer(
    candidates: impl Fn(&str) -> Vec<CompletionCandidate> + Send + Sync + 'static,
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| typed.to_str().map(&candidates).unwrap_or_default())
}

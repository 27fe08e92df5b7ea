//! The plugin's command line: what it can say, and how it is read. Which words there are is in [`definition`].

mod definition;
mod examples;

use std::ffi::OsString;

use clap::{ArgMatches, ColorChoice};
use jiff::SignedDuration;
use testplatform_apis::duration::GoDuration;

use self::definition::{PASSED, SWITCHES};
use super::{
    command_context::CommandContext,
    commands::{
        fleet::FleetRequest,
        get::{GetRequest, Selection},
        open::Page,
        why::WhyFormat,
    },
    exit::{Exit, Stop},
    wait_target::WaitTarget,
};

pub use definition::command;

/// The requested command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subcommand {
    /// Apply a claim and wait for its cluster.
    Up {
        /// The manifest; `-` is stdin.
        file: String,
        /// The claim's name, instead of the manifest's.
        name: Option<String>,
        /// How long to wait; none: until it is decided.
        timeout: Option<SignedDuration>,
        /// Take over fields that somebody else set.
        force: bool,
        /// Merge the kubeconfig into the caller's own.
        merge: bool,
    },
    /// List claims.
    Get(GetRequest),
    /// List the offers.
    Offers {
        /// Only this one.
        offer: Option<String>,
        /// How to print.
        output: Option<String>,
        /// Write a claim for it.
        claim: bool,
        /// The claim's name.
        name: Option<String>,
        /// Namespace in which offers are published.
        from: String,
    },
    /// Explain a claim: its objects, and the condition that it waits for.
    Why {
        /// The claim.
        name: String,
        /// How to print.
        format: WhyFormat,
        /// Print each change.
        watch: bool,
    },
    /// Wait until a claim is in a state.
    Wait {
        /// The claim.
        name: String,
        /// The state.
        target: WaitTarget,
        /// How long to wait; none: until it is decided; zero: check once.
        timeout: Option<SignedDuration>,
    },
    /// Print the address of the job's logs.
    Logs {
        /// The claim.
        name: String,
    },
    /// Open a page about the cluster.
    Open {
        /// The claim.
        name: String,
        /// The page.
        page: Page,
    },
    /// Hand out the kubeconfig.
    Kubeconfig {
        /// The claim.
        name: String,
        /// The file to write; none: stdout.
        out: Option<String>,
        /// Merge it into the caller's own kubeconfig.
        merge: bool,
    },
    /// Let it live longer.
    Extend {
        /// The claim.
        name: String,
        /// The lifetime, from ready on.
        span: Span,
    },
    /// End it.
    Down {
        /// The claim.
        name: String,
        /// Wait until it is gone.
        wait: bool,
        /// Delete the claim too.
        delete: bool,
        /// How long to wait; none: until it is gone.
        timeout: Option<SignedDuration>,
    },
    /// Show all claims and hubs at once.
    Fleet(FleetRequest),
    /// Check whether the cluster and the namespace can have claims.
    Doctor {
        /// How to print.
        format: WhyFormat,
    },
    /// Print the completion script of a shell.
    Completion {
        /// The shell.
        shell: String,
    },
}

/// A lifetime that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// So much more than now.
    By(GoDuration),
    /// So much from ready on.
    To(GoDuration),
}

/// A command line, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The requested command.
    pub ask: Subcommand,
    /// Flags for kubectl.
    pub flags: Vec<String>,
    /// Access to the claim.
    pub way: CommandContext,
    /// When to use colours.
    pub color: ColorChoice,
}

/// Reads a command line; `version` answers `--version`. The first error is clap's, which prints itself; the second is about a value.
pub fn read(line: Vec<OsString>, version: &'static str) -> Result<Result<CommandLine, Stop>, clap::Error> {
    let matches = command(version).color(color_of_line(&line)).try_get_matches_from(line)?;
    let Some((name, matches)) = matches.subcommand() else {
        return Ok(Err(usage_error("no command".into())));
    };
    Ok(read_subcommand(name, matches).map(|ask| CommandLine {
        ask,
        flags: kubectl_flags(matches),
        way: CommandContext {
            namespace: non_empty_text(matches, "namespace"),
            context: non_empty_text(matches, "context"),
            kubeconfig: non_empty_text(matches, "kubeconfig"),
            kind: false,
        },
        color: text(matches, "color").and_then(|name| name.parse().ok()).unwrap_or_default(),
    }))
}

/// The colours that a line asks for, before it is read: help and errors have them too.
fn color_of_line(line: &[OsString]) -> ColorChoice {
    let words: Vec<&str> = line.iter().filter_map(|word| word.to_str()).collect();
    let joined = words.iter().filter_map(|word| word.strip_prefix("--color="));
    let apart = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1]);
    joined.chain(apart).find_map(|name| name.parse().ok()).unwrap_or_default()
}

/// Flags for kubectl on a line that is still being typed.
pub fn flags_of_unfinished_line(line: &[OsString]) -> Vec<String> {
    let Ok(matches) = command("").ignore_errors(true).try_get_matches_from(line) else { return vec![] };
    kubectl_flags(matches.subcommand().map_or(&matches, |(_, matches)| matches))
}

fn read_subcommand(name: &str, matches: &ArgMatches) -> Result<Subcommand, Stop> {
    let of = |id: &str| text(matches, id);
    let name_of = || of("name").unwrap_or_default();
    Ok(match name {
        "up" => Subcommand::Up {
            file: of("file").unwrap_or_default(),
            name: of("name"),
            timeout: read_duration(matches, "timeout")?.map(GoDuration::as_signed),
            force: matches.get_flag("force-conflicts"),
            merge: matches.get_flag("merge"),
        },
        "get" => Subcommand::Get(GetRequest {
            name: of("name"),
            output: of("output"),
            selection: read_selection(matches),
            sort_by: of("sort-by"),
            no_headers: matches.get_flag("no-headers"),
            watch: matches.get_flag("watch"),
        }),
        "offers" => Subcommand::Offers {
            offer: of("offer"),
            output: of("output"),
            claim: matches.get_flag("claim"),
            name: of("name"),
            from: of("from").unwrap_or_default(),
        },
        "why" => Subcommand::Why {
            name: name_of(),
            format: read_format(matches),
            watch: matches.get_flag("watch"),
        },
        "wait" => read_wait(name_of(), matches)?,
        "logs" => Subcommand::Logs { name: name_of() },
        "open" => {
            let page = if matches.get_flag("console") { Page::Console } else { Page::Job };
            Subcommand::Open { name: name_of(), page }
        }
        "kubeconfig" => {
            Subcommand::Kubeconfig { name: name_of(), out: of("out"), merge: matches.get_flag("merge") }
        }
        "extend" => {
            let by = read_duration(matches, "by")?.map(Span::By);
            let span = by.or(read_duration(matches, "to")?.map(Span::To));
            let span = span.ok_or_else(|| usage_error("--by or --to is missing".to_owned()))?;
            Subcommand::Extend { name: name_of(), span }
        }
        "fleet" => Subcommand::Fleet(FleetRequest {
            selection: read_selection(matches),
            offers_from: of("from").unwrap_or_default(),
            port: matches.get_flag("serve").then(|| matches.get_one("port").copied().unwrap_or_default()),
        }),
        "doctor" => Subcommand::Doctor { format: read_format(matches) },
        "completion" => Subcommand::Completion { shell: of("shell").unwrap_or_default() },
        _ => Subcommand::Down {
            name: name_of(),
            wait: matches.get_flag("wait"),
            delete: matches.get_flag("delete"),
            timeout: read_duration(matches, "timeout")?.map(GoDuration::as_signed),
        },
    })
}

fn read_selection(matches: &ArgMatches) -> Selection {
    Selection { everywhere: matches.get_flag("all-namespaces"), selector: text(matches, "selector") }
}

fn read_format(matches: &ArgMatches) -> WhyFormat {
    match text(matches, "output").as_deref() {
        Some("json") => WhyFormat::Json,
        Some("yaml") => WhyFormat::Yaml,
        _ => WhyFormat::Text,
    }
}

fn read_wait(name: String, matches: &ArgMatches) -> Result<Subcommand, Stop> {
    let state = text(matches, "for").unwrap_or_default();
    let target = WaitTarget::parse(&state).map_err(|why| usage_error(format!("--for {state}: {why}")))?;
    // As in kubectl, zero checks once.
    let once = text(matches, "timeout").is_some_and(|text| text == "0" || text == "0s");
    let timeout = if once {
        Some(SignedDuration::ZERO)
    } else {
        read_duration(matches, "timeout")?.map(GoDuration::as_signed)
    };
    Ok(Subcommand::Wait { name, target, timeout })
}

fn text(matches: &ArgMatches, id: &str) -> Option<String> {
    matches.get_one::<String>(id).cloned()
}

/// A flag of kubectl's. An empty value, as of `-n "$NAMESPACE"` with an unset variable, counts as not given: kubectl treats it so.
fn non_empty_text(matches: &ArgMatches, id: &str) -> Option<String> {
    text(matches, id).filter(|value| !value.is_empty())
}

fn read_duration(matches: &ArgMatches, id: &str) -> Result<Option<GoDuration>, Stop> {
    let Some(text) = matches.get_one::<String>(id) else { return Ok(None) };
    match text.parse::<GoDuration>() {
        Ok(span) if span > GoDuration::ZERO => Ok(Some(span)),
        Ok(_) | Err(_) => {
            Err(usage_error(format!("--{id} {text}: expected a duration as in 90m, 2h or 1h30m")))
        }
    }
}

fn usage_error(message: String) -> Stop {
    Stop::new(Exit::Usage, message, "See --help.")
}

fn kubectl_flags(matches: &ArgMatches) -> Vec<String> {
    let mut flags = vec![];
    for (id, ..) in PASSED {
        let values = matches.get_many::<String>(id).into_iter().flatten();
        for value in values.filter(|value| !value.is_empty()) {
            flags.push(format!("--{id}={value}"));
        }
    }
    for (id, _) in SWITCHES.iter().filter(|(id, _)| matches.get_flag(id)) {
        flags.push(format!("--{id}"));
    }
    flags
}

#[cfg(test)]
mod tests;

//! The plugin's command line: what it can say, and how it is read. Which words there are is in [`definition`].

mod definition;

use std::ffi::OsString;

use clap::ArgMatches;
use jiff::SignedDuration;
use testplatform_apis::duration::GoDuration;

use self::definition::{PASSED, SWITCHES};
use super::{
    command_context::CommandContext,
    exit::{Exit, Stop},
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
    },
    /// List claims.
    Get {
        /// Only this one.
        name: Option<String>,
        /// How to print.
        output: Option<String>,
        /// Of all namespaces.
        everywhere: bool,
        /// Label selector.
        selector: Option<String>,
    },
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
    /// Tell what a claim waits for.
    Why {
        /// The claim.
        name: String,
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
}

/// Reads a command line. The first error is clap's, which prints itself; the second is about a value.
pub fn read(line: Vec<OsString>) -> Result<Result<CommandLine, Stop>, clap::Error> {
    let matches = command().try_get_matches_from(line)?;
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
    }))
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
        },
        "get" => Subcommand::Get {
            name: of("name"),
            output: of("output"),
            everywhere: matches.get_flag("all-namespaces"),
            selector: of("selector"),
        },
        "offers" => Subcommand::Offers {
            offer: of("offer"),
            output: of("output"),
            claim: matches.get_flag("claim"),
            name: of("name"),
            from: of("from").unwrap_or_default(),
        },
        "why" => Subcommand::Why { name: name_of() },
        "kubeconfig" => {
            Subcommand::Kubeconfig { name: name_of(), out: of("out"), merge: matches.get_flag("merge") }
        }
        "extend" => {
            let by = read_duration(matches, "by")?.map(Span::By);
            let span = by.or(read_duration(matches, "to")?.map(Span::To));
            let span = span.ok_or_else(|| usage_error("--by or --to is missing".to_owned()))?;
            Subcommand::Extend { name: name_of(), span }
        }
        _ => Subcommand::Down {
            name: name_of(),
            wait: matches.get_flag("wait"),
            delete: matches.get_flag("delete"),
            timeout: read_duration(matches, "timeout")?.map(GoDuration::as_signed),
        },
    })
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
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Result<CommandLine, Stop>, clap::Error> {
        read(text.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn flags_of_kubectl_go_with_every_command() {
        let read = line("k --context c why demo -n team-a --as-group x --as-group y --disable-compression");
        let read = read.unwrap().unwrap();
        assert_eq!(read.ask, Subcommand::Why { name: "demo".into() });
        let flags =
            ["--namespace=team-a", "--context=c", "--as-group=x", "--as-group=y", "--disable-compression"];
        assert_eq!(read.flags, flags);
        assert_eq!(read.way.namespace.as_deref(), Some("team-a"));
        assert_eq!(read.way.context.as_deref(), Some("c"));
    }

    #[test]
    fn empty_flags_count_as_absent() {
        let empty = ["--context=", "--kubeconfig=", "--as-group=", "--cache-dir="].map(OsString::from);
        let words = ["k", "why", "demo", "-n", ""].map(OsString::from);
        let read = read(words.into_iter().chain(empty).collect()).unwrap().unwrap();
        assert_eq!((read.flags, read.way), (vec![], CommandContext::default()));
    }

    #[test]
    fn values_are_judged() {
        for bad in [
            "k up f --timeout soon",
            "k extend x --by=-1h",
            "k extend x --to 0s",
            "k down x --wait --timeout 5",
        ] {
            assert_eq!(line(bad).unwrap().unwrap_err().exit, Exit::Usage, "{bad}");
        }
        for bad in ["k", "k up", "k extend x", "k extend x --by 1h --to 2h", "k down x --timeout 1h", "k fly"]
        {
            assert!(line(bad).is_err(), "{bad}");
        }
        let extend = line("k extend x --by 1h").unwrap().unwrap().ask;
        assert_eq!(
            extend,
            Subcommand::Extend { name: "x".into(), span: Span::By(GoDuration::from_hours(1)) }
        );
    }
}

//! The plugin's command line: what it can say, and how it is read. Which words there are is in [`definition`].

mod definition;

use std::ffi::OsString;

use clap::ArgMatches;
use jiff::SignedDuration;
use testplatform_apis::duration::GoDuration;

use self::definition::{PASSED, SWITCHES};
use super::{
    exit::{Exit, Stop},
    way::Way,
};

pub use definition::command;

/// The requested command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Apply a claim and wait for its cluster.
    Up {
        /// The manifest; `-` is stdin.
        file: String,
        /// The claim's name, instead of the manifest's.
        name: Option<String>,
        /// How long to wait; none: until it is decided.
        timeout: Option<SignedDuration>,
        /// Whether to take over fields that somebody else set.
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
        /// Only those with these labels.
        selector: Option<String>,
    },
    /// Tell what may be asked for.
    Offers {
        /// Only this one.
        offer: Option<String>,
        /// How to print.
        output: Option<String>,
        /// Whether to write a claim for it.
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
        /// Whether to put it into the caller's own kubeconfig.
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
        /// Whether to wait until it is gone.
        wait: bool,
        /// Whether to delete the claim too.
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
pub struct Line {
    /// The requested command.
    pub ask: Ask,
    /// Flags for kubectl.
    pub flags: Vec<String>,
    /// Access to the claim.
    pub way: Way,
}

/// Reads a command line. The first error is clap's, which prints itself; the second is about a value.
pub fn read(line: Vec<OsString>) -> Result<Result<Line, Stop>, clap::Error> {
    let matches = command().try_get_matches_from(line)?;
    let Some((name, matches)) = matches.subcommand() else { return Ok(Err(usage("no command".into()))) };
    Ok(ask(name, matches).map(|ask| Line {
        ask,
        flags: flags(matches),
        way: Way {
            namespace: given(matches, "namespace"),
            context: given(matches, "context"),
            kubeconfig: given(matches, "kubeconfig"),
            kind: false,
        },
    }))
}

fn ask(name: &str, matches: &ArgMatches) -> Result<Ask, Stop> {
    let of = |id: &str| text(matches, id);
    let name_of = || of("name").unwrap_or_default();
    Ok(match name {
        "up" => Ask::Up {
            file: of("file").unwrap_or_default(),
            name: of("name"),
            timeout: duration(matches, "timeout")?.map(GoDuration::get),
            force: matches.get_flag("force-conflicts"),
        },
        "get" => Ask::Get {
            name: of("name"),
            output: of("output"),
            everywhere: matches.get_flag("all-namespaces"),
            selector: of("selector"),
        },
        "offers" => Ask::Offers {
            offer: of("offer"),
            output: of("output"),
            claim: matches.get_flag("claim"),
            name: of("name"),
            from: of("from").unwrap_or_default(),
        },
        "why" => Ask::Why { name: name_of() },
        "kubeconfig" => Ask::Kubeconfig { name: name_of(), out: of("out"), merge: matches.get_flag("merge") },
        "extend" => {
            let by = duration(matches, "by")?.map(Span::By);
            let span = by.or(duration(matches, "to")?.map(Span::To));
            let span = span.ok_or_else(|| usage("--by or --to is missing".to_owned()))?;
            Ask::Extend { name: name_of(), span }
        }
        _ => Ask::Down {
            name: name_of(),
            wait: matches.get_flag("wait"),
            delete: matches.get_flag("delete"),
            timeout: duration(matches, "timeout")?.map(GoDuration::get),
        },
    })
}

fn text(matches: &ArgMatches, id: &str) -> Option<String> {
    matches.get_one::<String>(id).cloned()
}

/// A flag of kubectl's. An empty value, as of `-n "$NAMESPACE"` with an unset variable, counts as not given: kubectl treats it so.
fn given(matches: &ArgMatches, id: &str) -> Option<String> {
    text(matches, id).filter(|value| !value.is_empty())
}

fn duration(matches: &ArgMatches, id: &str) -> Result<Option<GoDuration>, Stop> {
    let Some(text) = matches.get_one::<String>(id) else { return Ok(None) };
    match text.parse::<GoDuration>() {
        Ok(span) if span > GoDuration::ZERO => Ok(Some(span)),
        Ok(_) | Err(_) => Err(usage(format!("--{id} {text}: expected a duration as in 90m, 2h or 1h30m"))),
    }
}

fn usage(message: String) -> Stop {
    Stop::new(Exit::Usage, message, "See --help.")
}

fn flags(matches: &ArgMatches) -> Vec<String> {
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

    fn line(text: &str) -> Result<Result<Line, Stop>, clap::Error> {
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
        assert_eq!(read.ask, Ask::Why { name: "demo".into() });
        let flags =
            ["--namespace=team-a", "--context=c", "--as-group=x", "--as-group=y", "--disable-compression"];
        assert_eq!(read.flags, flags);
        assert_eq!(read.way.namespace.as_deref(), Some("team-a"));
        assert_eq!(read.way.context.as_deref(), Some("c"));
    }

    #[test]
    fn what_is_empty_was_not_given() {
        let empty = ["--context=", "--kubeconfig=", "--as-group=", "--cache-dir="].map(OsString::from);
        let words = ["k", "why", "demo", "-n", ""].map(OsString::from);
        let read = read(words.into_iter().chain(empty).collect()).unwrap().unwrap();
        assert_eq!((read.flags, read.way), (vec![], Way::default()));
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
        assert_eq!(extend, Ask::Extend { name: "x".into(), span: Span::By(GoDuration::from_hours(1)) });
    }
}

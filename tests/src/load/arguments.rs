//! The command line.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand};

/// Measures the cost of a call of the function over mutual TLS, beside one that does nothing.
///
/// Starts the function's program and two servers that decode the same request and answer with the same bytes without
/// thinking, each as a process of its own: one leaves each Struct as bytes, as the function has it, which is the limit; one makes
/// the tree of messages of it that prost-types has, as functions do that are made with tonic as it comes. Calls them in turns, and
/// prints latency, throughput, CPU per call and memory of each.
#[derive(Clone, Debug, Parser)]
#[command(name = "load", version, after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) measure: Measure,
}

/// Servers that the program starts as processes of its own.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum Command {
    /// Serve the same answer to everybody.
    #[command(hide = true)]
    Noop(Noop),
}

/// How to serve nothing.
#[derive(Clone, Debug, Args)]
pub(super) struct Noop {
    /// Where to listen
    #[arg(long)]
    pub address: SocketAddr,
    /// Directory with tls.crt, tls.key and ca.crt
    #[arg(long, env = "TLS_SERVER_CERTS_DIR")]
    pub tls_certs_dir: PathBuf,
    /// The answer, as protobuf has it
    #[arg(long)]
    pub answer: PathBuf,
    /// Read and write each Struct as the tree of messages that prost makes of it
    #[arg(long)]
    pub trees: bool,
}

/// Options of a measurement.
#[derive(Clone, Debug, Args)]
pub(super) struct Measure {
    /// Request to send: the name of an example, recorded/NAME, or a file with a request as protobuf has it
    #[arg(long, value_name = "REQUEST", default_value = "ready")]
    pub request: String,
    /// Leave out the managedFields that an API server keeps in each object
    #[arg(long)]
    pub bare: bool,
    /// Calls under way at a time
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub concurrency: u32,
    /// Rounds; in each of them every server has its turn
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Calls in each turn
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u64).range(1..))]
    pub calls: u64,
    /// After that, this many more calls to the function, with a look at its memory at ten points
    #[arg(long, value_name = "N", default_value = "0")]
    pub soak: u64,
    /// The function's program; built as this one was if none is given
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    #[command(flatten)]
    pub other: Other,
    /// Write the table and the plot too, into this directory
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Name of both files, without what follows the dot
    #[arg(long, value_name = "NAME", default_value = "load")]
    pub name: String,
}

/// Another function.
#[derive(Clone, Debug, Args)]
pub(super) struct Other {
    /// Start this too, and call it: a command that takes --address, and finds its certificates as the function does
    #[arg(long, value_name = "COMMAND")]
    pub peer: Option<String>,
    /// Call this function too, which runs already
    #[arg(long, value_name = "HOST:PORT", requires = "certs")]
    pub endpoint: Option<SocketAddr>,
    /// Name in the table
    #[arg(long, value_name = "NAME", default_value = "other")]
    pub endpoint_name: String,
    /// Directory with the tls.crt, tls.key and ca.crt of its client
    #[arg(long, value_name = "DIR")]
    pub certs: Option<PathBuf>,
    /// The name in its certificate
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    pub server_name: String,
    /// Its process, if it is on this machine: for CPU and memory
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// The input of its step, a YAML file, in place of ours
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p testplatform-tests --bin load
  cargo run --release -p testplatform-tests --bin load -- --concurrency 100 --soak 1000000 --output tests/results
  cargo run --release -p testplatform-tests --bin load -- --peer 'venv/bin/python tests/peer/function.py' --calls 400 --rounds 3
  cargo run --release -p testplatform-tests --bin load -- --endpoint 127.0.0.1:9443 --certs client --pid 4711

The request is that of an example's last pass, made now, with the managedFields that an API server adds: for `ready`
that is about 12 kB. recorded/NAME is a recorded call of Crossplane, from tests/data/upstream/parity.

Exit code: 0 the function holds its targets; 1 it does not; 2 it could not be measured. Targets are for programs built
for release, and are not judged otherwise.";

/// The longest that a server may take to be there.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
        let arguments = Arguments::parse_from(["load", "--concurrency", "3"]);
        assert_eq!((arguments.measure.concurrency, arguments.measure.calls), (3, 10_000));
        assert!(Arguments::try_parse_from(["load", "--concurrency", "0"]).is_err());
        assert!(Arguments::try_parse_from(["load", "--endpoint", "127.0.0.1:1"]).is_err());
    }
}

//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::Parser;
use testplatform_apis::duration::GoDuration;

use crate::command_line::seconds;

/// Measures the cost of many claims, on two real control planes with real Crossplane between them.
///
/// For each number of claims a new engine is started; that many claims are made, become ready, rest, are torn down and
/// deleted, at a steady rate. Function and provider are the real ones; Prow and ci-operator are played. Prints how long
/// claims wait, what they cost in CPU, memory and calls to the API servers, by who caused it, and whether function and provider
/// take more for each the more there are, which is exit code 1.
///
/// Four times the number of claims divided by the rate is about how long a run takes. The life of a claim costs three to four
/// seconds of CPU, nearly all of it Crossplane's and the API servers', so two cores take one in two seconds. Each claim that is
/// there is looked at again, until it is ready by provider-kubernetes every half a minute, and by Crossplane when the answer about it
/// is too old: with many claims, let answers count for longer.
#[derive(Clone, Debug, Parser)]
#[command(name = "scale", version, after_help = EXAMPLES)]
pub struct Arguments {
    /// How many claims, one number for each run
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "25,50,100")]
    pub claims: Vec<u32>,
    /// How many claims a second are made, become ready, and are ended
    #[arg(long, value_name = "N", default_value = "0.5", value_parser = rate)]
    pub rate: f64,
    /// How many of them at the same moment; the rate is that of their sum, so bursts are the further apart the larger they are
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub burst: u32,
    /// How long nothing is asked for while all are ready, in seconds
    #[arg(long, value_name = "S", default_value = "60", value_parser = seconds)]
    pub rest: Duration,
    /// How long Crossplane takes an answer of the function for current while nothing happens, as in the Composition's input
    #[arg(long, value_name = "DURATION", default_value = "1m")]
    pub ttl: GoDuration,
    /// Where the table and its plot are written; nowhere if it is not given
    #[arg(long, value_name = "DIRECTORY")]
    pub results: Option<PathBuf>,
    /// Name of the files there: NAME.md and NAME.svg
    #[arg(long, value_name = "NAME", default_value = "scale")]
    pub name: String,
}

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p testplatform-tests --bin scale
  cargo run --release -p testplatform-tests --bin scale -- --claims 50 --rest 10
  cargo run --release -p testplatform-tests --bin scale -- --claims 50 --burst 50 --rest 10
  cargo run --release -p testplatform-tests --bin scale -- --claims 100,500,2000 --rate 1.25 --ttl 1h --results tests/results";

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.01..=100.0).contains(&rate) { Ok(rate) } else { Err("not within 0.01 and 100".into()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
        let given = Arguments::parse_from(["scale", "--claims", "1,20", "--rest", "5"]);
        assert_eq!((given.claims, given.rest), (vec![1, 20], Duration::from_secs(5)));
        for wrong in ["0", "-1", "NaN", "fast"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}

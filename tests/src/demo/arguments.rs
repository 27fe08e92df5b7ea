//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::Parser;

use crate::settings;

/// Shows the life of a claim on two real control planes with real Crossplane between them.
///
/// Starts konflux and hub, Crossplane, provider-kubernetes and the function as plain processes. Creates a claim, uses the
/// delivered kubeconfig, tears the cluster down and checks every step. Removes everything at the end, and changes nothing
/// outside this machine.
///
/// The first run builds everything, the Go programs too, which takes a quarter of an hour on two cores. Later runs take less than a minute.
/// Times in the output count from the start of the control planes.
#[derive(Clone, Debug, Parser)]
#[command(name = "demo", bin_name = "cargo demo", version, after_help = EXAMPLES)]
pub struct Arguments {
    /// Claim to create, a YAML file with spec.ciOperator; by default examples/minimal/claim.yaml
    #[arg(long, value_name = "FILE")]
    claim: Option<PathBuf>,
    /// Stay up when the cluster is ready and print commands to explore everything; Ctrl-C ends it
    #[arg(long)]
    pub keep: bool,
    /// Factor by which the hub creates and removes the cluster faster than by default, 0.01 to 100
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed)]
    speed: f64,
}

const EXAMPLES: &str = "\
Examples:
  cargo demo                                        everything, in less than a minute
  cargo demo --speed 5                              faster than you can read
  cargo demo --claim FILE                           another claim, for example yours
  cargo demo --keep                                 explore with kubectl and its plugin

Exit code: 0 every check passed; 1 a check failed; 2 it could not start; 130 interrupted.
When a check fails, the last lines name the folder with all logs.
When standard output is not a terminal, it prints one line per event. NO_COLOR is respected.";

/// How long the hub takes for one step.
const PACE: Duration = Duration::from_secs(3);

impl Arguments {
    /// The claim's file.
    pub fn claim(&self) -> PathBuf {
        let default = || settings::repository().join("examples/minimal/claim.yaml");
        self.claim.clone().unwrap_or_else(default)
    }

    /// How long the hub takes for one step.
    pub fn pace(&self) -> Duration {
        PACE.div_f64(self.speed)
    }
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.01..=100.0).contains(&speed) { Ok(speed) } else { Err("not within 0.01 and 100".into()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
        assert_eq!(Arguments::parse_from(["demo", "--speed", "2"]).pace(), PACE / 2);
    }

    #[test]
    fn a_speed_is_a_number_that_makes_sense() {
        for wrong in ["0", "-1", "NaN", "inf", "fast", "101"] {
            assert!(speed(wrong).is_err(), "{wrong}");
        }
    }
}

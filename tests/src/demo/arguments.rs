//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::Parser;

use crate::settings;

/// Life of a claim, from the wish to the end, on two real control planes with real Crossplane between them.
///
/// Boots konflux and hub, Crossplane, provider-kubernetes and the function as plain processes, makes a claim, uses the
/// kubeconfig that it delivers, tears the cluster down and checks every step. Nothing is left behind, and nothing
/// outside this machine is touched.
///
/// The first run builds everything, the Go programs too, which takes a quarter of an hour on two cores. Later ones take less than a minute.
#[derive(Clone, Debug, Parser)]
#[command(name = "demo", bin_name = "cargo demo", version, after_help = EXAMPLES)]
pub struct Arguments {
    /// Claim to make, a YAML file; examples/minimal/claim.yaml if none is given
    #[arg(long, value_name = "FILE")]
    claim: Option<PathBuf>,
    /// Stay up when the cluster is ready, say how to reach everything with kubectl, and end with Ctrl-C
    #[arg(long)]
    pub keep: bool,
    /// How many times faster than by default the hub makes and removes the cluster, 0.01 to 100
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed)]
    speed: f64,
}

const EXAMPLES: &str = "\
Examples:
  cargo demo                                        everything, in less than a minute
  cargo demo --speed 5                              faster than you can read
  cargo demo --claim FILE                           another claim, say one of yours
  cargo demo --keep                                 look around with kubectl

Exit code: 0 every check held; 1 one did not; 2 it could not be tried; 130 interrupted.
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

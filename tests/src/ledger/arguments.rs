//! The command line.

use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::{actors::Fulfilled, command_line::seconds, flavour::Flavour};

/// Every change in one life of a claim, and every write that caused it.
///
/// A claim is made on two real control planes with real Crossplane at its default settings, or with those of --core-argument, becomes ready, is torn down and deleted, as fast as
/// the backend's fake lets it. Prints how many events reach core's circuit breaker, by object and field, how often a condition that was True
/// was withdrawn, and the writes of each client. Exit code 1 if the breaker opens or a condition is
/// withdrawn.
#[derive(Clone, Debug, Parser)]
#[command(name = "ledger", version, after_help = EXAMPLES)]
pub struct Arguments {
    /// Which backend makes the cluster
    #[arg(long, value_enum, default_value = "ciOperator")]
    pub backend: LedgerBackend,
    /// Make TestClusters in namespaces in place of claims
    #[arg(long)]
    pub test_clusters: bool,
    /// Serve a stand-in for the template pipeline that the function replaced, under its own definition
    #[arg(long, conflicts_with_all = ["test_clusters", "backend"])]
    pub incumbent: bool,
    /// How many claims are made at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub claims: u32,
    /// An argument for Crossplane, such as --max-concurrent-reconciles=10; may be repeated
    #[arg(long = "core-argument", value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub core_arguments: Vec<String>,
    /// How long the cluster is ready before it is torn down, in seconds
    #[arg(long, value_name = "S", default_value = "2", value_parser = seconds)]
    pub ready_for: Duration,
    /// Also list every change
    #[arg(long)]
    pub events: bool,
}

const EXAMPLES: &str = "\
Examples:
  cargo run -p testplatform-tests --bin ledger
  cargo run -p testplatform-tests --bin ledger -- --backend clusterClaim --events
  cargo run -p testplatform-tests --bin ledger -- --test-clusters
  cargo run -p testplatform-tests --bin ledger -- --claims 50 --core-argument=--max-concurrent-reconciles=10
  cargo run -p testplatform-tests --bin ledger -- --claims 50 --incumbent";

/// A backend, by the block of the claim or the kind of its template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
pub enum LedgerBackend {
    /// EphemeralCluster, with the real provider
    CiOperator,
    /// A cluster out of a Hive pool
    ClusterClaim,
    /// HyperShift by a template
    HyperShift,
    /// Cluster API by a template
    ClusterApi,
    /// OSAC by a template
    Osac,
    /// CaaS by a template
    Caas,
}

impl Arguments {
    /// How the tenants ask.
    pub const fn flavour(&self) -> Flavour {
        if self.test_clusters { Flavour::TestCluster } else { Flavour::Claim }
    }
}

impl LedgerBackend {
    /// All of them.
    pub const EACH: [Self; 6] =
        [Self::CiOperator, Self::ClusterClaim, Self::HyperShift, Self::ClusterApi, Self::Osac, Self::Caas];

    /// Its name as part of an object's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CiOperator => "ci-operator",
            Self::ClusterClaim => "cluster-claim",
            Self::HyperShift => "hypershift",
            Self::ClusterApi => "cluster-api",
            Self::Osac => "osac",
            Self::Caas => "caas",
        }
    }

    /// Who fulfils it on the testbed.
    pub const fn fulfilled(self) -> Fulfilled {
        match self {
            Self::CiOperator => Fulfilled::ByProvider,
            Self::ClusterClaim => Fulfilled::ByHive,
            Self::HyperShift => Fulfilled::ByHyperShift,
            Self::ClusterApi => Fulfilled::ByClusterApi,
            Self::Osac => Fulfilled::ByOsac,
            Self::Caas => Fulfilled::ByCaas,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
        let given = Arguments::parse_from(["ledger", "--backend", "clusterClaim", "--ready-for", "60"]);
        assert_eq!((given.backend, given.ready_for), (LedgerBackend::ClusterClaim, Duration::from_mins(1)));
    }
}

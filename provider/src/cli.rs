//! The command line.

use std::{path::PathBuf, str::FromStr};

use clap::{Args, Parser, Subcommand, ValueEnum, builder::BoolishValueParser};
use provider_testplatform::rbac::ServiceAccount;

use testplatform_process::logs::Format;

/// Version and commit of the program.
pub const VERSION: &str = testplatform_version::version!();

/// Serves a hub of the Test Platform or a Konflux cluster, depending on its configuration.
///
/// On a hub it fulfils EphemeralClusters, publishes credentials of clusters, and manages pools and spaces. On a Konflux cluster it copies
/// Secrets to hubs, ends clusters that are no longer needed, and finds remote objects that no composite owns.
#[derive(Debug, Parser)]
#[command(version = VERSION, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// Output to print. Without it, the provider runs.
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub run: RunArgs,
}

/// How to run.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The configuration.
    #[arg(long, env = "CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Kubeconfig of the hub; by default the cluster that this runs in.
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Certificate authorities for API servers whose kubeconfig has none.
    #[arg(long, env = "SSL_CERT_FILE", value_name = "FILE", hide = true)]
    pub ca_bundle: Option<PathBuf>,
    /// Name of this replica in the Lease and in events; usually the pod's.
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pub name: Option<String>,
    /// Also log debug messages.
    #[arg(short, long, env = "DEBUG", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    #[arg(value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    pub debug: bool,
    /// Format of log lines.
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value = "json", value_name = "FORMAT")]
    pub log_format: Format,
}

/// Outputs that can be printed.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the JSON schema of the configuration.
    Schema,
    /// Print the manifests that give this program its rights.
    Rbac(RbacArgs),
    /// Print the remote objects that no composite owns, as component `orphans` reported them last.
    Orphans(OrphansArgs),
}

/// Where the report is, and how it is printed.
#[derive(Debug, Args)]
pub struct OrphansArgs {
    /// Namespace of the report.
    #[arg(short, long, value_name = "NAMESPACE", default_value = "testplatform-orphans")]
    pub namespace: String,
    /// How to reach the Konflux cluster; as kubectl does if it is not given.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The format.
    #[arg(short, long, value_enum, default_value = "table", value_name = "FORMAT")]
    pub output: OutputFormat,
}

/// A format of what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// A table for people.
    Table,
    /// The report.
    Json,
}

/// Account of the rights, and their place.
#[derive(Debug, Args)]
pub struct RbacArgs {
    /// Where the rights are needed.
    pub on: On,
    /// The configuration that it will run with: the rights are those for what is on in it, in its namespaces. Without it they are those of the
    /// defaults, with mode fulfil.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The `ServiceAccount` that gets them.
    #[arg(
        long,
        value_name = "NAMESPACE/NAME",
        default_value = "provider-testplatform/provider-testplatform"
    )]
    pub service_account: Account,
}

/// Where rights are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// On the hub.
    Hub,
    /// On each build cluster.
    BuildCluster,
}

/// `namespace/name`.
#[derive(Clone, Debug)]
pub struct Account(pub ServiceAccount);

impl FromStr for Account {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (namespace, name) = text.split_once('/').ok_or("expected namespace/name")?;
        Ok(Self(ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn it_runs_or_prints() {
        let run = Cli::try_parse_from(["p", "--config", "c.yaml", "-d"]).unwrap();
        let args = run.run;
        assert!(run.command.is_none() && args.debug);
        assert!(args.config.is_some_and(|file| file.ends_with("c.yaml")));
        let rbac = Cli::try_parse_from(["p", "rbac", "build-cluster"]).unwrap();
        assert!(matches!(rbac.command, Some(Command::Rbac(RbacArgs { on: On::BuildCluster, .. }))));
        assert!(Cli::try_parse_from(["p", "rbac", "hub", "--service-account", "x"]).is_err());
        let orphans = Cli::try_parse_from(["p", "orphans", "-o", "json"]).unwrap();
        let Some(Command::Orphans(args)) = orphans.command else { panic!("another command") };
        assert_eq!((args.output, args.namespace.as_str()), (OutputFormat::Json, "testplatform-orphans"));
    }
}

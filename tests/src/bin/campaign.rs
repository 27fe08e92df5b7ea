//! A fault campaign for as long as wanted: see [`testplatform_tests::campaign`].

use std::process::ExitCode;

use clap::Parser;
use testplatform_tests::campaign::Campaign;
use tokio::runtime::Runtime;

/// Claims live their lives while everything around them fails; then the world is compared with the design's invariants.
///
/// Everything runs on this machine: two real control planes, real Crossplane and provider-kubernetes, function and provider. A run
/// takes about three minutes and follows from its seed.
#[derive(Debug, Parser)]
#[command(name = "campaign", version)]
struct Arguments {
    /// Seed of the first run; each run has the seed after that of the one before
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// How many runs to make
    #[arg(long, value_name = "M", default_value = "1")]
    runs: u64,
}

async fn campaign(arguments: &Arguments) -> anyhow::Result<()> {
    let mut campaign = Campaign::start().await?;
    let mut outcome = Ok(());
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.runs) {
        outcome = Box::pin(campaign.run(seed)).await;
        if outcome.is_err() {
            break;
        }
    }
    println!("{}", campaign.counts);
    outcome
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome =
        Runtime::new().map_err(Into::into).and_then(|runtime| runtime.block_on(campaign(&arguments)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

//! A fault campaign for as long as wanted: see [`testplatform_tests::campaign`].

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use testplatform_tests::campaign::{Campaign, plan::Plan, regressions};
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
    /// Make the run of that name in place of seeds: what campaigns have found before
    #[arg(long, value_name = "NAME", conflicts_with_all = ["seed", "runs"])]
    regression: Option<String>,
}

fn plans(arguments: &Arguments) -> anyhow::Result<Vec<Plan>> {
    let Some(name) = &arguments.regression else {
        return Ok((arguments.seed..arguments.seed.saturating_add(arguments.runs)).map(Plan::of).collect());
    };
    let all = regressions::all();
    let names: Vec<String> = all.iter().map(|plan| plan.origin.label()).collect();
    let sought = all.into_iter().find(|plan| plan.origin.label() == *name);
    Ok(vec![sought.with_context(|| format!("there is no {name}, but {}", names.join(", ")))?])
}

async fn campaign(arguments: &Arguments) -> anyhow::Result<()> {
    let plans = plans(arguments)?;
    let mut campaign = Campaign::start().await?;
    let mut outcome = Ok(());
    for plan in plans {
        outcome = campaign.run(&plan).await;
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

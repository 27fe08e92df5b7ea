//! A fault campaign of fixed seeds that meet with every fault, and of what campaigns have found; for more, `cargo run --release -p testplatform-tests --bin campaign`.

use anyhow::ensure;
use serde_json::json;
use testplatform_tests::{
    campaign::{
        Campaign, SEEDS,
        checker::{Invariant, judge},
        look,
        plan::Plan,
        regressions,
        world::World,
    },
    cluster::at,
    hub,
    kinds::EPHEMERAL_CLUSTER,
    patience::is_late,
    settings::not_run,
};

/// Together the seeds have every fault. Each one is a case, so that different quarters of the whole tier have them.
pub async fn no_fault_of_the_first_seed_breaks_an_invariant() -> anyhow::Result<()> {
    run_seed(SEEDS[0]).await
}

pub async fn no_fault_of_the_second_seed_breaks_an_invariant() -> anyhow::Result<()> {
    run_seed(SEEDS[1]).await
}

pub async fn no_fault_of_the_third_seed_breaks_an_invariant() -> anyhow::Result<()> {
    run_seed(SEEDS[2]).await
}

async fn run_seed(seed: u64) -> anyhow::Result<()> {
    let mut campaign = Campaign::start().await?;
    run(&mut campaign, &Plan::of(seed)).await?;
    eprintln!("{}", campaign.counts);
    ensure!(campaign.counts.violations() == 0, "{}", campaign.counts);
    a_broken_world_is_noticed(&campaign).await
}

pub async fn no_regression_comes_back() -> anyhow::Result<()> {
    let mut campaign = Campaign::start().await?;
    let found = regressions::all();
    for (nth, plan) in found.iter().enumerate() {
        if is_late() {
            not_run(
                &format!("{} regressions of campaigns", found.len() - nth),
                "for want of time; `cargo whole campaign` runs them",
            );
            break;
        }
        run(&mut campaign, plan).await?;
    }
    eprintln!("{}", campaign.counts);
    ensure!(campaign.counts.violations() == 0, "{}", campaign.counts);
    Ok(())
}

async fn run(campaign: &mut Campaign, plan: &Plan) -> anyhow::Result<()> {
    let outcome = campaign.run(plan).await;
    outcome.inspect_err(|_| eprintln!("{}", campaign.counts))
}

/// One that is really there: somebody on the hub has asked for a cluster that no claim is for.
async fn a_broken_world_is_noticed(campaign: &Campaign) -> anyhow::Result<()> {
    let engine = &campaign.field.engine;
    let sound = look(&campaign.field, &[]).await?;
    ensure!(sound.is_empty(), "it is broken before: {sound:?}");
    let leaked = json!({
        "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster",
        "metadata": { "name": "leaked", "namespace": hub::NAMESPACE },
        "spec": { "ciOperator": {} },
    });
    engine.hub.cluster().apply(&leaked).await?;
    let noticed = judge(&World::look(engine).await?, &[]);
    engine.hub.cluster().delete(&at(EPHEMERAL_CLUSTER, hub::NAMESPACE, "leaked")).await?;
    ensure!(noticed.iter().any(|v| v.of == Invariant::NoLeak && v.words.contains("leaked")), "{noticed:?}");
    Ok(())
}

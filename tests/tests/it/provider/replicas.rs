//! Two replicas of the provider: only the one that has the Lease acts, and once that one has lost it, the other one does.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use testplatform_tests::{cluster::SOON, recorder::Jobs};

use super::{ALONE, hub::Hub, kills::live, lane::Lane};

/// For how many seconds a Lease counts. Who cannot renew it gives up three of them earlier: enough to be gone before there is
/// another one, also where the cores are busy.
const LEASE: u8 = 7;

pub async fn one_replica_acts() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    let hub = Arc::new(Hub::start().await?);
    let jobs = Jobs::start(hub.hub());
    let first = Lane::start(&hub, "replicas", LEASE).await?;
    until(&first, "leads", |lane| lane.leads() == Some(true)).await?;
    let second = first.beside("replicas-second").await?;
    until(&second, "is ready", |lane| lane.leads().is_some()).await?;

    live(&first, &jobs, "led-by-the-first").await?;
    let written = second.toll.writes();
    ensure!(written.is_empty(), "who has no Lease wrote:\n  {}", written.join("\n  "));
    ensure!(!first.toll.writes().is_empty(), "the gates count nothing");
    ensure!([&first, &second].map(|lane| lane.leads()) == [Some(true), Some(false)], "both lead, or none");

    // New requests wait until the other replica may act.
    first.cut_off();
    let cut_off = Instant::now();
    tokio::try_join!(until_ended(&first, &second), live(&second, &jobs, "led-by-the-second"))?;
    println!("from the loss of the hub to the end of a life that the other one led: {:?}", cut_off.elapsed());
    Ok(())
}

/// Waits for the end of one that loses the Lease. Before that the other one writes nothing.
async fn until_ended(loser: &Lane, other: &Lane) -> anyhow::Result<()> {
    let written = || {
        // First what was written and then whether it has ended, or what is written right after its end would count.
        let written = other.toll.writes();
        loser.ended().is_none().then_some(written)
    };
    let begun = Instant::now();
    while let Some(written) = written() {
        ensure!(written.is_empty(), "beside one that had not ended it wrote:\n  {}", written.join("\n  "));
        ensure!(begun.elapsed() < SOON, "it goes on without a Lease: {}", loser.words());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let status = loser.ended().context("it has ended")?;
    let words = loser.words();
    ensure!(!status.success() && words.contains("error: the lease was lost: "), "{status}: {words}");
    Ok(())
}

async fn until(lane: &Lane, what: &str, is: impl Fn(&Lane) -> bool) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !is(lane) {
        lane.check()?;
        ensure!(begun.elapsed() < SOON, "it never {what}: {}", lane.words());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

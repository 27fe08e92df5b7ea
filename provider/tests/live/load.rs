//! Many EphemeralClusters: what they cost at rest, and whether one event among them is still seen in time.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{SOON, at},
    nest::Process,
};

use crate::hub::{Hub, JOBS, PROW_JOB, cluster, ephemeral_cluster, is_in, name_of};

/// The figures of the provider that are asked for.
const MANY: usize = 5000;
const MEMORY: u64 = 80;

/// Takes minutes, so only when asked for: `cargo test -p provider-testplatform --test live -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn five_thousand_at_rest() -> anyhow::Result<()> {
    let hub = Hub::start().await?;
    let begun = Instant::now();
    let padding = "x".repeat(4096);
    let made = stream::iter(0..MANY).map(|n| {
        let mut wanted = ephemeral_cluster(&format!("ec-{n}"));
        wanted["spec"]["ciOperator"]["test"]["env"] = json!({ "PADDING": padding });
        let hub = &hub;
        async move { hub.hub().create(&wanted).await }
    });
    let made: Vec<_> = made.buffer_unordered(32).collect().await;
    ensure!(made.iter().all(Result::is_ok), "not all could be made");
    println!("{MANY} asked for: {:?}", begun.elapsed());

    let begun = Instant::now();
    let mut provider = hub.provider()?;
    let bound = format!("phase=\"Provisioning\"}} {MANY}");
    while !hub.page("/metrics").is_ok_and(|page| page.contains(&bound)) {
        provider.check()?;
        ensure!(begun.elapsed() < Duration::from_mins(15), "not all are bound");
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    println!("{MANY} jobs made: {:?}", begun.elapsed());
    let last = hub.hub().list(PROW_JOB).await?;
    ensure!(last.len() == MANY, "{} jobs for {MANY}", last.len());
    let pid = pid(&hub)?;
    println!("resident when all are made: {} MiB", memory(pid)?);

    // All of them wait for their namespaces.
    let waits = stream::iter(&last).map(|job| {
        let running = json!({ "spec": { "cluster": "build01" }, "status": { "state": "pending", "url": "https://prow" } });
        let hub = &hub;
        async move { hub.hub().merge(&at(PROW_JOB, JOBS, name_of(job)), &running).await }
    });
    let begun = Instant::now();
    let waits: Vec<_> = waits.buffer_unordered(32).collect().await;
    ensure!(waits.iter().all(Result::is_ok), "not all could be scheduled");
    println!("{MANY} scheduled: {:?}", begun.elapsed());
    until_quiet(&hub).await?;

    let (ticks, instant) = (cpu(pid)?, Instant::now());
    let failures = hub.page("/metrics")?;
    let writes = written(&hub).await?;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let share = (cpu(pid)? - ticks) / instant.elapsed().as_secs_f64() * 100.0;
    let memory = memory(pid)?;
    println!("at rest: {share:.2} % of a core, resident {memory} MiB");
    ensure!(written(&hub).await? == writes, "something was written at rest");
    println!("{}", failures.lines().filter(|l| l.contains("errors")).collect::<Vec<_>>().join("\n"));

    latency(&hub, &last[0]).await?;
    ensure!(share < 1.0 && memory <= MEMORY, "too much: {share:.2} %, {memory} MiB");
    stop(&mut provider);
    Ok(())
}

/// One among all of them becomes ready.
async fn latency(hub: &Hub, job: &Value) -> anyhow::Result<()> {
    let name = job["metadata"]["labels"][crate::hub::LABEL].as_str().context("a job of somebody")?;
    hub.run_job(job, "ci-op-load").await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let begun = Instant::now();
    hub.install("ci-op-load", "").await?;
    hub.hub().until_is(&cluster(name), SOON, "ready", is_in("Ready")).await?;
    println!("from the Secret to Ready among {MANY}: {:?}", begun.elapsed());
    ensure!(begun.elapsed() < Duration::from_secs(1), "within a second");
    Ok(())
}

/// Nothing has been looked at for some seconds.
async fn until_quiet(hub: &Hub) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut last = None;
    loop {
        let looks = hub.metric("provider_queue_wait_seconds_count")?;
        if last == Some(looks) {
            return Ok(());
        }
        last = Some(looks);
        ensure!(begun.elapsed() < Duration::from_mins(5), "it never comes to rest");
        tokio::time::sleep(Duration::from_secs(4)).await;
    }
}

/// The versions of everything that the provider could write.
async fn written(hub: &Hub) -> anyhow::Result<Vec<Value>> {
    let mut versions = Vec::new();
    for kind in [PROW_JOB, testplatform_tests::kinds::EPHEMERAL_CLUSTER, testplatform_tests::kinds::EVENT] {
        versions.extend(hub.hub().list(kind).await?.iter().map(|o| o["metadata"]["resourceVersion"].clone()));
    }
    Ok(versions)
}

fn stop(provider: &mut Process) {
    let begun = Instant::now();
    provider.terminate();
    println!("ended after SIGTERM: {:?}", begun.elapsed());
}

/// Which process the provider is.
pub fn pid(hub: &Hub) -> anyhow::Result<u32> {
    let directory = hub.nest.directory().canonicalize()?;
    for entry in fs::read_dir("/proc")? {
        let path = entry?.path();
        let is_it = fs::read_to_string(path.join("cmdline"))
            .is_ok_and(|c| c.contains("provider-testplatform"))
            && fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == directory);
        if is_it {
            return path.file_name().and_then(|n| n.to_str()).and_then(|n| n.parse().ok()).context("a pid");
        }
    }
    anyhow::bail!("the provider does not run")
}

/// Its resident memory in MiB.
pub fn memory(pid: u32) -> anyhow::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<u64>()? / 1024)
}

/// Processor time in seconds.
fn cpu(pid: u32) -> anyhow::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let rest = text.rsplit_once(") ").context("no stat")?.1;
    let fields: Vec<&str> = rest.split(' ').collect();
    let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    Ok(ticks / 100.0)
}

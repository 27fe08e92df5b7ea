//! Many EphemeralClusters: what they cost at rest, and whether one event among them is still seen in time.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{SOON, has},
    kinds::{EPHEMERAL_CLUSTER, EVENT, SECRET},
    nest::Process,
};

use crate::{
    ALONE,
    hub::{Hub, PROW_JOB, cluster, ephemeral_cluster, is_in, name_of},
};

/// The figures of the provider that are asked for.
const MANY: usize = 5000;
const MEMORY: u64 = 80;

/// How long nothing may happen, so that what the watches ask once a minute is among it.
const REST: Duration = Duration::from_secs(70);

/// Takes minutes, so only when asked for:
/// `cargo test --release -p provider-testplatform --test live -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn five_thousand_at_rest() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    let hub = Hub::start().await?;
    let begun = Instant::now();
    let padding = "x".repeat(4096);
    // One more, which becomes ready among all the others.
    let wanted = (0..=MANY).map(|n| {
        let mut wanted = ephemeral_cluster(&format!("ec-{n}"));
        wanted["spec"]["ciOperator"]["test"]["env"] = json!({ "PADDING": padding });
        wanted
    });
    let hub = &hub;
    all(wanted, async |wanted| Ok(hub.hub().create(&wanted).await.map(|_| ())?)).await?;
    println!("{MANY} and one asked for: {:?}", begun.elapsed());

    let mut provider = hub.provider()?;
    until_in(hub, &mut provider, "Provisioning", MANY + 1).await?;
    let mut jobs = hub.hub().list(PROW_JOB).await?;
    ensure!(jobs.len() == MANY + 1, "{} jobs for {MANY} and one", jobs.len());
    let last = jobs.pop().context("no job")?;

    // All of them wait for their credentials.
    let begun = Instant::now();
    all(&jobs, async |job| {
        hub.run_job(job, &namespace(job)).await?;
        hub.install(&namespace(job), "p4ssw0rd").await
    })
    .await?;
    println!("{MANY} installed: {:?}", begun.elapsed());
    until_in(hub, &mut provider, "Ready", MANY).await?;
    until_quiet(hub).await?;

    at_rest(hub, "as it came to be").await?;
    let writes = written(hub).await?;
    stop(&mut provider);
    let mut provider = hub.provider()?;
    until_in(hub, &mut provider, "Ready", MANY).await?;
    until_quiet(hub).await?;
    ensure!(written(hub).await? == writes, "something was written because the provider began anew");
    at_rest(hub, "begun anew").await?;
    latencies(hub, &last).await?;
    stop(&mut provider);
    Ok(())
}

/// What it costs to do nothing.
async fn at_rest(hub: &Hub, how: &str) -> anyhow::Result<()> {
    let pid = pid(hub)?;
    let (ticks, instant) = (cpu(pid)?, Instant::now());
    let writes = written(hub).await?;
    tokio::time::sleep(REST).await;
    let share = (cpu(pid)? - ticks) / instant.elapsed().as_secs_f64() * 100.0;
    let memory = memory(pid)?;
    println!("{MANY} ready, at rest, {how}: {share:.2} % of a core, resident {memory} MiB");
    ensure!(written(hub).await? == writes, "something was written at rest");
    println!("{} objects were not written at rest", writes.len());
    ensure!(share < 1.0 && memory <= MEMORY, "too much: {share:.2} %, {memory} MiB");
    Ok(())
}

/// Does something with each, many at a time.
async fn all<T>(
    each: impl IntoIterator<Item = T>,
    what: impl AsyncFn(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let done = stream::iter(each).map(|one| what(one)).buffer_unordered(32);
    done.collect::<Vec<_>>().await.into_iter().collect()
}

/// Waits until that many are in a phase, as the provider counts them.
async fn until_in(hub: &Hub, provider: &mut Process, phase: &str, count: usize) -> anyhow::Result<()> {
    let begun = Instant::now();
    let line = format!("phase=\"{phase}\"}} {count}\n");
    while !hub.page("/metrics").is_ok_and(|page| page.contains(&line)) {
        provider.check()?;
        ensure!(begun.elapsed() < Duration::from_mins(15), "not all are {phase}:\n{}", provider.tail());
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    println!("{count} are {phase}: {:?}, resident {} MiB", begun.elapsed(), memory(pid(hub)?)?);
    Ok(())
}

/// One among all of them becomes ready, is torn down, and ends.
async fn latencies(hub: &Hub, job: &Value) -> anyhow::Result<()> {
    let name = job["metadata"]["labels"][crate::hub::LABEL].as_str().context("a job of somebody")?;
    let namespace = namespace(job);
    let is = async |what: &str, begun: Instant, is: &dyn Fn(&Value) -> bool| {
        hub.hub().until_is(&cluster(name), SOON, what, is).await?;
        let took = begun.elapsed();
        println!("{what} among {MANY}: {took:?}");
        ensure!(took < Duration::from_secs(1), "{what}: not within a second");
        anyhow::Ok(())
    };
    hub.run_job(job, &namespace).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let begun = Instant::now();
    hub.install(&namespace, "").await?;
    is("from the Secret to Ready", begun, &is_in("Ready")).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let begun = Instant::now();
    hub.hub().merge(&cluster(name), &json!({ "spec": { "tearDownCluster": true } })).await?;
    is("from the wish to the signal", begun, &|ec| has(ec, "TestCompleted", "True", "Signalled")).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let begun = Instant::now();
    hub.end_job(job, "success").await?;
    is("from the job's end to Deprovisioned", begun, &is_in("Deprovisioned")).await
}

/// ci-operator's, for a job.
fn namespace(job: &Value) -> String {
    format!("ci-op-{}", name_of(job))
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
    for (cluster, kinds) in
        [(hub.hub(), &[PROW_JOB, EPHEMERAL_CLUSTER, EVENT, SECRET][..]), (hub.build(), &[SECRET])]
    {
        for kind in kinds {
            versions
                .extend(cluster.list(*kind).await?.iter().map(|o| o["metadata"]["resourceVersion"].clone()));
        }
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

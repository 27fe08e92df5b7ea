//! Many EphemeralClusters: what they cost at rest, and whether one event among them is still seen in time.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{Cluster, SOON, at, has},
    kinds::{EPHEMERAL_CLUSTER, EVENT, Kind, SECRET},
    nest::Process,
    usage::{Usage, Used},
};
use tokio::task::JoinSet;

use super::{
    ALONE,
    hub::{Hub, JOBS, PROW_JOB, cluster, ephemeral_cluster, is_in, name_of},
};

/// The figures of the provider that are asked for.
const MANY: usize = 5000;
const MEMORY: u64 = 80;

/// How often something happens, and how many times a second it has to be at least for that to be said: what an API server cannot take at
/// that rate measures another one.
const EVERY: Duration = Duration::from_millis(100);
const EVENTS: f64 = 9.5;

/// How long nothing may happen, so that what the watches ask once a minute is among it.
const REST: Duration = Duration::from_secs(70);

/// Takes minutes, so it runs only where it is named: `cargo test --release -p testplatform-tests --test it five_thousand -- --ignored`.
pub async fn five_thousand_at_rest() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    let hub = &Hub::start().await?;
    let (mut provider, jobs) = ready(hub, MANY).await?;
    at_rest(hub, "as it came to be").await?;
    let writes = written(hub).await?;
    stop(&mut provider);
    let mut provider = hub.provider()?;
    until_in(hub, &mut provider, "Ready", MANY).await?;
    until_quiet(hub).await?;
    ensure!(written(hub).await? == writes, "something was written because the provider began anew");
    at_rest(hub, "begun anew").await?;
    latencies(hub, jobs.last().context("no job")?).await?;
    stop(&mut provider);
    Ok(())
}

/// Twice as many, and jobs that change all the time. It takes a quarter of an hour: as above, with `ten_thousand`.
pub async fn ten_thousand_and_ten_events_a_second() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    let hub = &Hub::start().await?;
    let (mut provider, jobs) = ready(hub, 2 * MANY).await?;
    let (last, others) = jobs.split_last().context("no job")?;
    let told = versions(hub.hub(), &[EPHEMERAL_CLUSTER, SECRET]).await?;
    let (before, begun) = (used()?, Instant::now());
    let merged = AtomicU32::new(0);
    let events = async {
        let mut clock = tokio::time::interval(EVERY);
        let mut writes = JoinSet::new();
        for (n, job) in others.iter().cycle().enumerate() {
            clock.tick().await;
            let (hub, at) = (hub.hub().clone(), at(PROW_JOB, JOBS, name_of(job)));
            // By the clock, however long the API server takes for each.
            writes.spawn(async move {
                let told = json!({ "status": { "description": format!("event {n}") } });
                hub.merge(&at, &told).await
            });
            while let Some(ended) = writes.try_join_next() {
                ended??;
                merged.fetch_add(1, Ordering::Relaxed);
            }
        }
        anyhow::Ok(())
    };
    let observed = async {
        tokio::time::sleep(REST).await;
        let now = used()?;
        let took = begun.elapsed();
        let rate = f64::from(merged.load(Ordering::Relaxed)) / took.as_secs_f64();
        let (share, memory) = (now.share(&before, took), now.peak >> 20);
        println!(
            "{} ready, {rate:.1} events a second: {share:.2} % of a core, {memory} MiB at its peak",
            2 * MANY
        );
        ensure!(rate >= EVENTS, "only {rate:.1} events a second");
        ensure!(share < 5.0 && memory <= 2 * MEMORY, "too much: {share:.2} %, {memory} MiB");
        let now = versions(hub.hub(), &[EPHEMERAL_CLUSTER, SECRET]).await?;
        ensure!(now == told, "what is nobody's concern was passed on");
        latencies(hub, last).await
    };
    tokio::select! {
        ended = events => ended?,
        observed = observed => observed?,
    }
    stop(&mut provider);
    Ok(())
}

/// That many are ready, and one more has a job, the last of those returned, which has not run yet.
async fn ready(hub: &Hub, many: usize) -> anyhow::Result<(Process, Vec<Value>)> {
    let begun = Instant::now();
    let padding = "x".repeat(4096);
    let wanted = (0..=many).map(|n| {
        let mut wanted = ephemeral_cluster(&format!("ec-{n}"));
        wanted["spec"]["ciOperator"]["test"]["env"] = json!({ "PADDING": padding });
        wanted
    });
    all(wanted, async |wanted| Ok(hub.hub().create(&wanted).await.map(|_| ())?)).await?;
    println!("{many} and one asked for: {:?}", begun.elapsed());

    let mut provider = hub.provider()?;
    until_in(hub, &mut provider, "Provisioning", many + 1).await?;
    let jobs = hub.hub().list(PROW_JOB).await?;
    ensure!(jobs.len() == many + 1, "{} jobs for {many} and one", jobs.len());

    // All of them wait for their credentials.
    let begun = Instant::now();
    all(&jobs[..many], async |job| {
        hub.run_job(job, &namespace(job)).await?;
        hub.install(&namespace(job), "p4ssw0rd").await
    })
    .await?;
    println!("{many} installed: {:?}", begun.elapsed());
    until_in(hub, &mut provider, "Ready", many).await?;
    until_quiet(hub).await?;
    Ok((provider, jobs))
}

/// Cost of doing nothing.
async fn at_rest(hub: &Hub, how: &str) -> anyhow::Result<()> {
    let (before, begun) = (used()?, Instant::now());
    let writes = written(hub).await?;
    tokio::time::sleep(REST).await;
    let now = used()?;
    let (share, memory) = (now.share(&before, begun.elapsed()), now.resident >> 20);
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
    println!("{count} are {phase}: {:?}, resident {} MiB", begun.elapsed(), used()?.resident >> 20);
    Ok(())
}

/// One among all of them becomes ready, is torn down, and ends.
async fn latencies(hub: &Hub, job: &Value) -> anyhow::Result<()> {
    let name = job["metadata"]["labels"][super::hub::LABEL].as_str().context("a job of somebody")?;
    let namespace = namespace(job);
    let is = async |what: &str, begun: Instant, is: &dyn Fn(&Value) -> bool| {
        hub.hub().until_is(&cluster(name), SOON, what, is).await?;
        let took = begun.elapsed();
        println!("{what} among all: {took:?}");
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
        let looks = hub.metric("testplatform_provider_queue_wait_seconds_count")?;
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
    let mut all = versions(hub.hub(), &[PROW_JOB, EPHEMERAL_CLUSTER, EVENT, SECRET]).await?;
    all.extend(versions(hub.build(), &[SECRET]).await?);
    Ok(all)
}

/// The versions of all objects of some kinds.
async fn versions(cluster: &Cluster, kinds: &[Kind]) -> anyhow::Result<Vec<Value>> {
    let mut versions = Vec::new();
    for kind in kinds {
        versions.extend(cluster.list(*kind).await?.iter().map(|o| o["metadata"]["resourceVersion"].clone()));
    }
    Ok(versions)
}

fn stop(provider: &mut Process) {
    let begun = Instant::now();
    provider.terminate();
    println!("ended after SIGTERM: {:?}", begun.elapsed());
}

/// Usage of the provider.
pub fn used() -> anyhow::Result<Used> {
    Usage::now()?.of("provider-testplatform of provider")
}

//! The provider is killed at every write of a life, and each time another one brings that life to the same end.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};
use testplatform_apis::names::ci_operator;
use testplatform_tests::{
    cluster::{At, Cluster, SOON, at, has},
    gate::Moment,
    kinds::{EPHEMERAL_CLUSTER, SECRET},
    prow::Job,
    recorder::Jobs,
};
use tokio::task::JoinSet;

use super::{
    ALONE,
    hub::{Hub, KUBECONFIG, LABEL, PROW_JOB},
    lane::Lane,
};

/// Lives at a time. They mostly wait for Leases of those who were killed.
const LANES: usize = 3;
/// For how many seconds a Lease counts: whoever is killed does not give it back.
const LEASE: u8 = 5;
const PASSWORD: &str = "p4ssw0rd";
/// Fields of an object's metadata that record when and how it was written, and say nothing of its content.
const CIRCUMSTANCES: [&str; 7] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
];

/// A write of a life, and when the provider is killed in its course, in a word and as it is.
type Point = (String, (&'static str, Moment));

pub async fn killed_at_every_write() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    let hub = Arc::new(Hub::start().await?);
    let jobs = Arc::new(Jobs::start(hub.hub()));
    let mut lanes = Vec::new();
    for number in 0..LANES {
        lanes.push(Lane::start(&hub, &format!("lane{number}"), LEASE).await?);
    }
    let whole = live(&lanes[0], &jobs, "whole").await?;
    let writes = lanes[0].toll.writes();
    println!("a life of {} writes:\n  {}", writes.len(), writes.join("\n  "));
    for place in ["hub ", "build01 "] {
        ensure!(writes.iter().any(|write| write.starts_with(place)), "nothing was written on {place}");
    }

    let begun = Instant::now();
    let moments = [("before", Moment::Unheard), ("after", Moment::Unanswered)];
    let points: VecDeque<Point> = writes.into_iter().flat_map(|w| moments.map(|m| (w.clone(), m))).collect();
    let count = points.len();
    let points = Arc::new(Mutex::new(points.into_iter().enumerate().collect::<VecDeque<_>>()));
    let whole = Arc::new(whole);
    let mut runs = JoinSet::new();
    for lane in lanes {
        let (jobs, points, whole) = (Arc::clone(&jobs), Arc::clone(&points), Arc::clone(&whole));
        runs.spawn(async move {
            let next = || points.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            while let Some((number, point)) = next() {
                let lived = killed(&lane, &jobs, &format!("killed-{number}"), &point, &whole).await;
                lived.with_context(|| format!("killed {} {}", point.1.0, point.0))?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(run) = runs.join_next().await {
        run??;
    }
    println!("killed at {count} points, each time the same end: {:?}", begun.elapsed());
    Ok(())
}

/// One life in which the provider is killed once.
async fn killed(
    lane: &Arc<Lane>,
    jobs: &Jobs,
    name: &str,
    (write, (_, moment)): &Point,
    whole: &Value,
) -> anyhow::Result<()> {
    lane.kill_at(write, *moment);
    let end = live(lane, jobs, name).await?;
    ensure!(lane.toll.is_spent(), "nobody was killed");
    ensure!(
        end == *whole,
        "it has another end:\n{}\ninstead of\n{}",
        serde_json::to_string_pretty(&end)?,
        serde_json::to_string_pretty(whole)?
    );
    Ok(())
}

/// From the wish to the last trace. Returns what was there when it was ready, when it was over, and when it was gone.
pub async fn live(lane: &Lane, jobs: &Jobs, name: &str) -> anyhow::Result<Value> {
    let lived = Box::pin(steps(lane, jobs, name)).await;
    lane.check()?;
    lived.with_context(|| lane.words())
}

async fn steps(lane: &Lane, jobs: &Jobs, name: &str) -> anyhow::Result<Value> {
    let (hub, build) = (lane.hub.hub(), lane.hub.build());
    let cluster = at(EPHEMERAL_CLUSTER, &lane.clusters, name);
    let credentials = at(SECRET, &lane.clusters, &format!("{name}-credentials"));
    let not_yet = async |reason: &'static str| {
        let is = |ec: &Value| has(ec, "ClusterReady", "False", reason);
        hub.until_is(&cluster, SOON, reason, is).await
    };
    let made = hub.create(&lane.ephemeral_cluster(name)).await?;
    let uid = made["metadata"]["uid"].as_str().context("no uid")?.to_owned();
    // Each step waits for what the one before has led to, so that every life has the same writes in the same order.
    not_yet("ProwJobScheduling").await?;
    let job = Job::of(hub, &lane.jobs, ("build01", build), name).await?;
    job.schedule().await?;
    not_yet("NamespacePending").await?;
    job.run().await?;
    let linked = |ec: &Value| ec["status"]["prowJobURL"].is_string();
    hub.until_is(&cluster, SOON, "linked to its job", linked).await?;
    job.take_namespace().await?;
    not_yet("CredentialsPending").await?;
    job.leave(KUBECONFIG, PASSWORD).await?;
    hub.until_is(&cluster, SOON, "ready", |ec| ec["status"]["phase"] == "Ready").await?;
    let words = Words::of(lane, &uid, name, &job, &credentials).await?;
    let when_ready = words.told(&[(hub, &cluster), (hub, &credentials), (hub, &job.at())]).await?;

    hub.merge(&cluster, &json!({ "spec": { "tearDownCluster": true } })).await?;
    job.until_signalled(SOON).await?;
    hub.until_is(&cluster, SOON, "told", |ec| has(ec, "TestCompleted", "True", "")).await?;
    let signal = at(SECRET, &job.namespace(), ci_operator::SIGNAL);
    let when_told = words.told(&[(hub, &cluster), (build, &signal)]).await?;
    job.end("success").await?;
    // The finalizer goes after the conclusion, in a write of its own.
    let over =
        |ec: &Value| ec["status"]["phase"] == "Deprovisioned" && ec["metadata"]["finalizers"].is_null();
    hub.until_is(&cluster, SOON, "over", over).await?;
    hub.until_gone(&credentials, SOON).await?;
    let when_over = words.told(&[(hub, &cluster), (hub, &credentials), (hub, &job.at())]).await?;

    hub.delete(&cluster).await?;
    hub.until_gone(&cluster, SOON).await?;
    let when_gone = words.told(&[(hub, &credentials), (hub, &job.at())]).await?;

    ensure!(jobs.made(&uid) == 1, "{} ProwJobs were made for it", jobs.made(&uid));
    let labelled = |job: &&Value| job["metadata"]["labels"][LABEL] == name;
    let there = hub.list(PROW_JOB).await?.iter().filter(labelled).count();
    ensure!(there == 1, "{there} ProwJobs of its name are there");
    Ok(json!({ "ready": when_ready, "told": when_told, "over": when_over, "gone": when_gone }))
}

/// Texts that differ from life to life, and their placeholders.
struct Words(Vec<(String, &'static str)>);

impl Words {
    async fn of(lane: &Lane, uid: &str, name: &str, job: &Job, credentials: &At) -> anyhow::Result<Self> {
        let version = async |cluster: &Cluster, at: &At| {
            let object = cluster.get(at).await?.with_context(|| format!("{at} is not there"))?;
            anyhow::Ok(object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned())
        };
        let source = at(SECRET, &job.namespace(), ci_operator::TEST);
        Ok(Self(vec![
            (version(lane.hub.hub(), credentials).await?, "(revision)"),
            (format!("@{}", version(lane.hub.build(), &source).await?), "@(source revision)"),
            (job.namespace(), "(namespace)"),
            (job.name().to_owned(), "(job)"),
            (format!("-{:.8}", job.name()), "-(job)"),
            (uid.to_owned(), "(uid)"),
            (name.to_owned(), "(name)"),
            (lane.jobs.clone(), "(jobs)"),
            (lane.clusters.clone(), "(clusters)"),
        ]))
    }

    /// Objects as they are now, without their circumstances.
    async fn told(&self, objects: &[(&Cluster, &At)]) -> anyhow::Result<Vec<Value>> {
        let mut told = Vec::new();
        for (cluster, at) in objects {
            let mut object = cluster.get(at).await?.unwrap_or_default();
            self.tell(&mut object);
            told.push(object);
        }
        Ok(told)
    }

    fn tell(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
                    metadata.retain(|key, _| !CIRCUMSTANCES.contains(&key.as_str()));
                }
                fields.values_mut().for_each(|value| self.tell(value));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.tell(value)),
            Value::String(text) if text.parse::<Timestamp>().is_ok() => "(time)".clone_into(text),
            Value::String(text) => {
                for (word, instead) in &self.0 {
                    // A number alone is a part of many a text.
                    let alone = word.bytes().all(|b| b.is_ascii_digit());
                    if !alone || text == word {
                        *text = text.replace(word, instead);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

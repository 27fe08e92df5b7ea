//! EphemeralClusters that the upstream controller left at any phase of their lives, taken over under either of its definitions.
//!
//! One hub has all phases at a time. It gets one definition after the other, and each provider finds what is there when it starts.

mod phase;
mod upstream;

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, ensure};
use futures_util::future::try_join_all;
use phase::{PHASES, Phase, Stage, Teardown};
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_tests::{
    cluster::{SOON, at, at_root, has},
    hub as definitions,
    kinds::{CRD, EVENT},
    manifests, patience,
};
use upstream::Vocabulary;

use super::hub::{Hub, JOBS, LABEL, PROW_JOB, cluster, configuration, credentials, is_in, name_of};

const DEFINITION: &str = "ephemeralclusters.ci.openshift.io";

/// Definitions before and after the switch to this provider, and the vocabulary of the upstream controller before it.
struct Setting {
    name: &'static str,
    vocabulary: Vocabulary,
    before: fn() -> anyhow::Result<Value>,
    after: Option<fn() -> anyhow::Result<Value>>,
}

const SETTINGS: [Setting; 4] = [
    Setting { name: "older", vocabulary: Vocabulary::Older, before: older, after: None },
    Setting { name: "ours", vocabulary: Vocabulary::Older, before: shipped, after: None },
    Setting { name: "newest", vocabulary: Vocabulary::Newest, before: newest, after: None },
    // Statuses of before the update are not valid any more.
    Setting { name: "updated", vocabulary: Vocabulary::Older, before: older, after: Some(newest) },
];

fn older() -> anyhow::Result<Value> {
    manifests::foreign_crd(DEFINITION)
}

fn shipped() -> anyhow::Result<Value> {
    manifests::package_one(&format!("crds/{DEFINITION}.yaml"))
}

fn newest() -> anyhow::Result<Value> {
    manifests::newest_crd(DEFINITION)
}

/// Each life ends as it should, whichever phase it was at and whichever definition the hub has.
pub async fn every_phase_under_every_definition() -> anyhow::Result<()> {
    let hub = Hub::start().await?;
    let mut configuration = configuration(hub.nest.directory(), hub.port);
    configuration["ephemeralCluster"]["otherWriterRespite"] = "2s".into();
    hub.nest.file("config.yaml", serde_json::to_string_pretty(&configuration)?)?;
    for setting in &SETTINGS {
        switch(&hub, setting).await.with_context(|| format!("definition {}", setting.name))?;
    }
    Ok(())
}

/// Leaves all phases under one definition, and has the provider take them over.
async fn switch(hub: &Hub, setting: &Setting) -> anyhow::Result<()> {
    hub.hub().delete(&at_root(CRD, DEFINITION)).await?;
    hub.hub().until_gone(&at_root(CRD, DEFINITION), SOON).await?;
    definitions::define(hub.hub(), &(setting.before)()?).await?;
    let name = |phase: &Phase| format!("{}-{}", setting.name, phase.name);
    for phase in PHASES {
        let left = upstream::leave(hub, &name(phase), phase, setting.vocabulary).await;
        left.with_context(|| name(phase))?;
    }
    if let Some(after) = setting.after {
        update(hub, &after()?).await?;
    }
    let mut provider = hub.provider()?;
    let lives = PHASES.iter().map(|phase| {
        let name = name(phase);
        async move { live(hub, &name, phase).await.context(name) }
    });
    let outcome = try_join_all(lives).await;
    provider.check()?;
    outcome.with_context(|| provider.tail())?;
    let metrics = hub.page("/metrics")?;
    let refused = metrics.lines().find(|line| {
        line.starts_with("testplatform_provider_action_errors_total{")
            && ["refused", "forbidden", "bug"].iter().any(|reason| line.contains(reason))
    });
    ensure!(refused.is_none(), "{}\n{}", refused.unwrap_or_default(), provider.tail());
    provider.terminate();
    Ok(())
}

/// Puts a definition in the place of the one that is there, and waits until it holds for statuses.
async fn update(hub: &Hub, definition: &Value) -> anyhow::Result<()> {
    definitions::define(hub.hub(), definition).await?;
    hub.ask("probe").await?;
    let probed = async {
        let incomplete = json!({ "phase": "", "conditions": [{ "type": "Probe", "status": "True" }] });
        while hub.hub().merge_status(&cluster("probe"), &incomplete).await.is_ok() {
            let none = json!({ "phase": "", "conditions": null });
            hub.hub().merge_status(&cluster("probe"), &none).await?;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        anyhow::Ok(())
    };
    patience::timeout(SOON, probed).await.context("the new definition never holds")??;
    hub.hub().delete(&cluster("probe")).await
}

/// From the phase in which it was left to its last trace.
async fn live(hub: &Hub, name: &str, phase: &Phase) -> anyhow::Result<()> {
    if !phase.is_over() {
        end(hub, name, phase).await?;
    }
    if phase.teardown != Teardown::Deletion {
        let (last, reason) = phase.end;
        let over = |object: &Value| {
            let concluded = reason.is_empty() || has(object, "ProwJobCompleted", "True", reason);
            is_in(last)(object) && concluded && is_complete(object)
        };
        let object = hub.hub().until_is(&cluster(name), SOON, "over", over).await?;
        let named = object["status"]["prowJobId"] == upstream::job_name(name).as_str();
        ensure!(named || phase.job.is_none(), "another ProwJob was bound: {}", object["status"]);
        hub.hub().until_gone(&credentials(name), SOON).await?;
        rests(hub, name).await?;
        hub.hub().delete(&cluster(name)).await?;
    }
    hub.hub().until_gone(&cluster(name), SOON).await?;
    let jobs = hub.hub().list(PROW_JOB).await?;
    let jobs: Vec<_> = jobs.iter().filter(|job| job["metadata"]["labels"][LABEL] == name).collect();
    ensure!(jobs.len() == phase.jobs(), "{} ProwJobs: {:?}", jobs.len(), jobs.iter().map(|job| name_of(job)));
    every_event_once(hub, name).await
}

/// Has Prow and ci-operator do what they do until the ProwJob is over.
async fn end(hub: &Hub, name: &str, phase: &Phase) -> anyhow::Result<()> {
    let job = match phase.job {
        Some(_) => hub.hub().get(&at(PROW_JOB, JOBS, &upstream::job_name(name))).await?.context("no job")?,
        None => hub.job(name).await?,
    };
    if phase.teardown == Teardown::NotRequested {
        let namespace = upstream::namespace(name);
        hub.run_job(&job, &namespace).await?;
        if phase.stage < Stage::Installed {
            hub.install(&namespace, "").await?;
        }
        let ready = |object: &Value| is_in("Ready")(object) && has(object, "CredentialsInSync", "True", "");
        hub.hub().until_is(&cluster(name), SOON, "ready", ready).await?;
        hub.hub().merge(&cluster(name), &json!({ "spec": { "tearDownCluster": true } })).await?;
    }
    if !phase.takes_signal() {
        return Ok(());
    }
    hub.build().until_is(&upstream::signal(name), SOON, "there", |_| true).await?;
    let signalled =
        |object: &Value| has(object, "TestCompleted", "True", "") && is_in("Deprovisioning")(object);
    hub.hub().until_is(&cluster(name), SOON, "told to end", signalled).await?;
    hub.end_job(&job, "success").await
}

/// `true` if the finalizer is gone, and status and diagnostics are written as this provider writes them.
fn is_complete(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let is_word = |reason: &str| !reason.is_empty() && !reason.contains(' ');
    let complete = |condition: &Value| {
        condition["reason"].as_str().is_some_and(is_word)
            && condition["message"].is_string()
            && condition["lastTransitionTime"].is_string()
    };
    let diagnosed =
        !is_in("Failed")(object) || object["metadata"]["annotations"][ours::DIAGNOSTICS].is_string();
    conditions.iter().all(complete) && diagnosed && object["metadata"]["finalizers"].is_null()
}

/// Nothing is written any more.
async fn rests(hub: &Hub, name: &str) -> anyhow::Result<()> {
    let version = async || {
        let object = hub.hub().get(&cluster(name)).await?.context("it is gone")?;
        anyhow::Ok((object["metadata"]["resourceVersion"].clone(), object))
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (before, _) = version().await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (after, object) = version().await?;
    ensure!(before == after, "something is written at rest: {object:#}");
    Ok(())
}

/// The provider emits nothing a second time, whatever it had to try again.
async fn every_event_once(hub: &Hub, name: &str) -> anyhow::Result<()> {
    let mut counts = BTreeMap::<(String, String), usize>::new();
    let events = hub.hub().list(EVENT).await?;
    for event in events.iter().filter(|event| event["involvedObject"]["name"] == name) {
        let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
        *counts.entry((text("reason"), text("message"))).or_default() += 1;
    }
    ensure!(counts.values().all(|count| *count == 1), "events are repeated: {counts:#?}");
    Ok(())
}

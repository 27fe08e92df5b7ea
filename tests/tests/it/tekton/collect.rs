//! Diagnostics of a cluster, for those who have to find the cause of a failure.

use std::{fs, time::Duration};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    actors::condition,
    cluster::SOON,
    kinds::EVENT,
    patience,
    tenant::{KUBECONFIG, PASSWORD},
};

use super::{call::LONG, stage::Stage};

const JOB: &str = "https://prow.example/view/gs/results/logs/job/17";

pub async fn after_a_failure(stage: &Stage<'_>) -> anyhow::Result<()> {
    let tenant = &stage.tenant;
    let nothing = stage.collect().run(LONG).await?.with(0)?.saying("it was never made, or is deleted")?;
    ensure!(nothing.results.values().all(String::is_empty), "{:?}", nothing.results);

    let run = stage.provision().with("env", r#"{"TOKEN":"mistaken-for-a-secret"}"#).start()?;
    let controller = tenant.controller().await?;
    controller.until_asked(SOON).await?;
    let note = json!({ "metadata": { "annotations": {
        "testplatform.ci.openshift.org/diagnostics": "step ipi-install failed\nquota exceeded in \u{1b}[31mus-east-1",
    } } });
    tenant.engine.hub.cluster().merge(&controller.at(), &note).await?;
    controller.provision().await?;
    let failed = condition("ProwJobCompleted", "True", "ProwJobFailure", "prowjob state: failure");
    let status = json!({ "phase": "Failed", "prowJobURL": JOB, "conditions": [failed] });
    controller.status(status).await?;
    run.ended(LONG)
        .await?
        .with(1)?
        .saying("quota exceeded in")?
        .saying("the job that creates the cluster failed")?;

    // With the rights that pipelines have, which leave out events.
    let told = stage.collect().tools(&stage.tools.oc).run(LONG).await?.with(0)?;
    let told =
        told.saying("Events cannot be read")?.saying("Failed")?.saying("  step ipi-install failed quota")?;
    let told = told.not_saying("\u{1b}")?.not_saying("mistaken-for-a-secret")?;
    ensure!(told.results["phase"] == "Failed" && told.results["prowJobURL"] == JOB, "{:?}", told.results);
    ensure!(told.results["artifactsURL"].ends_with("/gcs/results/logs/job/17"), "{:?}", told.results);

    stage.let_read_events().await?;
    until_event(stage, "ProvisioningFailed").await?;
    let artifacts = stage.room()?;
    let call =
        || stage.collect().workspace("artifacts", &artifacts).with("artifactsURL", "https://files.example/");
    let told = call().run(LONG).await?.with(0)?.not_saying("Events cannot be read")?;
    let told =
        told.saying("event Warning ProvisioningFailed")?.saying("condition ClusterReady=False Failed")?;
    let told = told.saying("logs and files: https://files.example/results/logs/job/17")?;
    // In the order in which it happened.
    let timeline: Vec<_> = told.log.lines().skip_while(|l| *l != "Timeline:").skip(1).collect();
    let times: Vec<_> =
        timeline.iter().take_while(|l| !l.is_empty()).filter_map(|l| l.split_whitespace().next()).collect();
    ensure!(times.len() > 5 && times.is_sorted() && times[0].ends_with('Z'), "{timeline:?}");
    let report = fs::read_to_string(artifacts.join("report.txt"))?;
    ensure!(report == told.log, "the report differs from what was printed");
    let claim: Value = serde_json::from_slice(&fs::read(artifacts.join("claim.json"))?)?;
    ensure!(claim["status"]["phase"] == "Failed", "{claim}");
    ensure!(claim["spec"]["ciOperator"]["test"]["env"]["TOKEN"] == "(not shown)", "{claim}");
    let events: Value = serde_json::from_slice(&fs::read(artifacts.join("events.json"))?)?;
    ensure!(events["items"].as_array().is_some_and(|e| !e.is_empty()), "{events}");
    Ok(())
}

/// Core writes events one after the other, and far behind when there is much to tell of many claims at once.
const EVENTS: Duration = Duration::from_mins(4);

async fn until_event(stage: &Stage<'_>, reason: &str) -> anyhow::Result<()> {
    let begun = std::time::Instant::now();
    let written = async {
        loop {
            let events = stage.tenant.konflux().list(EVENT).await?;
            let ours = |e: &Value| e["metadata"]["namespace"] == stage.tenant.namespace.as_str();
            if events.iter().any(|e| ours(e) && e["reason"] == reason) {
                eprintln!("after_a_failure: the event was there after {} s", begun.elapsed().as_secs());
                return anyhow::Ok(());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    patience::timeout(EVENTS, written).await.with_context(|| format!("core writes no event {reason}"))?
}

pub async fn while_it_is_ready(stage: &Stage<'_>) -> anyhow::Result<()> {
    let run = stage.provision().with("lifetime", "1h").start()?;
    let controller = stage.tenant.controller().await?;
    controller.until_asked(SOON).await?;
    controller.provision().await?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    run.ended(LONG).await?.with(0)?;
    let told = stage.collect().run(LONG).await?.with(0)?;
    let told = told.saying("  phase: Ready")?.saying("  credentials: Published")?.saying("  ends: ")?;
    let told = told.saying("ready for the first time")?;
    ensure!(
        told.results["phase"] == "Ready" && told.results["artifactsURL"].is_empty(),
        "{:?}",
        told.results
    );
    // Nothing of the sort is there for somebody without rights.
    let mut nobody = stage.kubeconfig.clone();
    nobody["users"][0]["user"] = json!({ "token": "of-nobody" });
    stage.collect().through(nobody).run(LONG).await?.with(1)?.saying("cannot be read")?;
    Ok(())
}

//! The Pipeline, played task by task: parameters, results, conditions and `finally` as Tekton has them.

use std::{collections::BTreeMap, fs, time::Duration};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use testplatform_tests::cluster::SOON;

use super::{
    call::{Call, LONG},
    files::{self, list, text},
    stage::Stage,
    variables::{Variables, parameters, replaced},
};

/// Results of the Tasks that ran, in their order.
#[derive(Debug, Default)]
struct Played {
    ran: Vec<(String, i32, String)>,
    skipped: Vec<String>,
}

impl Played {
    fn codes(&self) -> Vec<(&str, i32)> {
        self.ran.iter().map(|(name, code, _)| (name.as_str(), *code)).collect()
    }

    fn log(&self, task: &str) -> &str {
        self.ran.iter().find(|(name, ..)| name == task).map_or("", |(.., log)| log)
    }
}

/// Plays the Pipeline as its PipelineRun starts it, with more parameters. The order of the Tasks is that of the file;
/// that this is an order in which Tekton could run them follows from each variable having a value.
async fn play(stage: &Stage<'_>, more: &[(&str, &str)]) -> anyhow::Result<Played> {
    let pipeline = files::read(files::PIPELINE)?;
    let run = files::read(files::PIPELINE_RUN)?;
    ensure!(run["spec"]["pipelineRef"]["name"] == pipeline["metadata"]["name"], "it runs another Pipeline");
    let mut given = BTreeMap::new();
    for parameter in list(&run["spec"], "params") {
        given.insert(text(parameter, "name")?.to_owned(), text(parameter, "value")?.to_owned());
    }
    given.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let mut values = parameters(list(&pipeline["spec"], "params"), &given)?;
    for (key, value) in
        [("name", &stage.tenant.name), ("namespace", &stage.tenant.namespace), ("uid", &stage.owner)]
    {
        values.insert(format!("context.pipelineRun.{key}"), value.clone());
    }
    let mut played = Played::default();
    let mut status = "Succeeded";
    for task in list(&pipeline["spec"], "tasks") {
        if status == "Failed" {
            played.skipped.push(text(task, "name")?.to_owned());
        } else if !one(stage, task, &mut values, &mut played).await? {
            status = "Failed";
        }
    }
    values.insert("tasks.status".into(), status.into());
    // Side by side, and none can have the results of another.
    let before = values.clone();
    for task in list(&pipeline["spec"], "finally") {
        one(stage, task, &mut before.clone(), &mut played).await?;
    }
    Ok(played)
}

/// One Task. Whether the others may go on.
async fn one(
    stage: &Stage<'_>,
    task: &Value,
    values: &mut Variables,
    played: &mut Played,
) -> anyhow::Result<bool> {
    let name = text(task, "name")?;
    for condition in list(task, "when") {
        let input = replaced(text(condition, "input")?, values)?;
        ensure!(condition["operator"] == "in", "an operator that is not played: {condition}");
        if !list(condition, "values").iter().any(|v| v == &Value::from(input.as_str())) {
            played.skipped.push(name.to_owned());
            return Ok(true);
        }
    }
    let mut call = match task["taskRef"]["name"].as_str() {
        Some(named) => stage.task(named).named(&format!("{}-{name}", stage.tenant.name)),
        None => Call::spec(stage, name, Ok(task["taskSpec"].clone())),
    };
    for parameter in list(task, "params") {
        call = call.with(text(parameter, "name")?, &replaced(text(parameter, "value")?, values)?);
    }
    let ended = call.run(LONG).await?;
    for (result, value) in &ended.results {
        values.insert(format!("tasks.{name}.results.{result}"), value.clone());
    }
    let good = ended.code == 0;
    played.ran.push((name.to_owned(), ended.code, ended.log));
    Ok(good)
}

/// A run and what happens on the hub meanwhile. The hub itself is the cluster that is delivered.
async fn with_actor(stage: &Stage<'_>, more: &[(&str, &str)]) -> anyhow::Result<Played> {
    let cluster = fs::read_to_string(stage.tenant.engine.hub.kubeconfig())?;
    let actor = async {
        let controller = stage.tenant.controller().await?;
        controller.fulfil(&cluster, Duration::from_millis(500)).await
    };
    let (played, ()) = tokio::try_join!(play(stage, more), actor)?;
    let kubeconfig: Value = serde_saphyr::from_str(&cluster)?;
    let key = kubeconfig["users"][0]["user"]["client-key-data"].as_str().context("no key")?;
    ensure!(played.ran.iter().all(|(.., log)| !log.contains(key)), "the cluster's key is in a log");
    Ok(played)
}

pub async fn green(stage: &Stage<'_>) -> anyhow::Result<()> {
    let played = with_actor(stage, &[]).await?;
    ensure!(
        played.codes() == [("provision", 0), ("test", 0), ("deprovision", 0)],
        "{:?}\n{}",
        played.codes(),
        played.ran.iter().map(|(.., log)| log.as_str()).collect::<String>()
    );
    ensure!(played.skipped == ["collect-logs"], "{:?}", played.skipped);
    // It was that cluster on which the test ran.
    ensure!(played.log("test").contains("ok") && played.log("test").contains("ephemeral-cluster"));
    let claim = stage.tenant.konflux().get(&stage.tenant.claim()).await?.context("no claim")?;
    ensure!(claim["status"]["phase"] == "Deprovisioned", "{}", claim["status"]);
    ensure!(claim["spec"]["lifetime"] == "4h" && claim["spec"]["cleanup"].is_null(), "{}", claim["spec"]);
    Ok(())
}

pub async fn red(stage: &Stage<'_>) -> anyhow::Result<()> {
    let test =
        "echo \"with $SNAPSHOT, password in '$PASSWORD_FILE'\"; kube get --raw=/version >/dev/null; exit 7";
    let snapshot = json!({ "components": [{ "containerImage": "quay.io/a/b@sha256:0" }] }).to_string();
    let cleanup = json!({ "onOwnerCompletion": true });
    let wanted = cleanup.to_string();
    let more = [("test", test), ("SNAPSHOT", snapshot.as_str()), ("cleanup", wanted.as_str())];
    let played = with_actor(stage, &more).await?;
    let claim = stage.tenant.konflux().get(&stage.tenant.claim()).await?.context("no claim")?;
    ensure!(claim["spec"]["cleanup"] == cleanup, "{}", claim["spec"]);
    let expected = [("provision", 0), ("test", 7), ("collect-logs", 0), ("deprovision", 0)];
    ensure!(played.codes() == expected, "{played:?}");
    super::stage::says(played.log("test"), &format!("with {snapshot}, password in ''"))?;
    super::stage::says(played.log("collect-logs"), "ready for the first time")?;
    super::stage::says(played.log("deprovision"), "The cluster is gone: ProwJobCompleted")
}

pub async fn no_cluster(stage: &Stage<'_>) -> anyhow::Result<()> {
    let actor = async {
        let controller = stage.tenant.controller().await?;
        controller.until_asked(SOON).await?;
        controller.provision().await?;
        controller.fail().await
    };
    let (played, ()) = tokio::try_join!(play(stage, &[]), actor)?;
    // The job ended badly, which whoever made it has to look into: so does the last Task say.
    let expected = [("provision", 1), ("collect-logs", 0), ("deprovision", 1)];
    ensure!(played.codes() == expected && played.skipped == ["test"], "{played:?}");
    super::stage::says(played.log("provision"), "the job that creates the cluster failed")?;
    super::stage::says(played.log("collect-logs"), "  job: https://prow.example/view/job-of-")?;
    super::stage::says(played.log("deprovision"), "ended badly")
}

pub async fn no_claim(stage: &Stage<'_>) -> anyhow::Result<()> {
    let played = play(stage, &[("releases", "4.20")]).await?;
    let expected = [("provision", 1), ("collect-logs", 0), ("deprovision", 0)];
    ensure!(played.codes() == expected && played.skipped == ["test"], "{played:?}");
    super::stage::says(played.log("provision"), "parameter releases is not a JSON object: 4.20")?;
    super::stage::says(played.log("collect-logs"), "is not there")?;
    super::stage::says(played.log("deprovision"), "there is nothing to tear down")?;
    let pipeline = files::read(files::PIPELINE)?;
    let required: Vec<_> = list(&pipeline["spec"], "params")
        .iter()
        .filter(|p| p["default"].is_null())
        .filter_map(|p| p["name"].as_str())
        .collect();
    if required != ["workflow", "clusterProfile", "releases"] {
        bail!("the required parameters are {required:?}");
    }
    Ok(())
}

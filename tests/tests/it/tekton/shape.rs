//! Structure of the files, whatever they do.

use std::{collections::BTreeSet, fs, process::Command};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{binaries, cluster::Cluster, control_plane::connect, tenant::KUBECONFIG};

use super::{
    call::LONG,
    files::{self, PIPELINE, PIPELINE_RUN, TASKS, list, path, steps, text},
    stage::Stage,
    variables::variables,
};

/// Tekton's own code accepts the files, and refuses broken ones.
pub fn tekton_accepts() -> anyhow::Result<()> {
    let program = binaries::tekton_check()?;
    let check = |files: &[std::path::PathBuf]| -> anyhow::Result<(bool, String)> {
        let output = Command::new(&program).args(files).output().context("cannot run tekton-check")?;
        Ok((output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    let all: Vec<_> = TASKS.iter().chain(&[PIPELINE, PIPELINE_RUN]).map(|file| path(file)).collect();
    let (accepted, words) = check(&all)?;
    ensure!(accepted, "Tekton refuses:\n{words}");
    let spoiled = tempfile::tempdir()?;
    let cases = [
        (TASKS[0], "$(params.workflow)", "$(params.wrkflow)", "non-existent variable"),
        (TASKS[0], "optional: true", "optionl: true", "unknown field"),
        (TASKS[4], "  script:", "  scripts:", "unknown field"),
        (PIPELINE, "$(tasks.provision.results.secretRef)", "$(tasks.nobody.results.secretRef)", "nobody"),
    ];
    for (file, from, to, words) in cases {
        let text = fs::read_to_string(path(file))?;
        ensure!(text.contains(from), "{file} has no {from}");
        let copy = spoiled.path().join("spoiled.yaml");
        fs::write(&copy, text.replace(from, to))?;
        let (accepted, said) = check(&[copy])?;
        ensure!(!accepted && said.contains(words), "{file} with {to}: {said}");
    }
    Ok(())
}

/// Parameters reach a script through its environment, never as a part of it.
pub fn scripts_hold_no_variables() -> anyhow::Result<()> {
    let mut seen = 0;
    for file in TASKS.iter().chain(&[PIPELINE]) {
        let object = files::read(file)?;
        for step in steps(&object) {
            let Some(script) = step["script"].as_str() else { continue };
            seen += 1;
            let found = variables(script);
            ensure!(found.is_empty(), "{file}: {found:?} in a script");
            let mut lines = script.lines();
            ensure!(lines.next() == Some("#!/usr/bin/env bash"), "{file}: another shell");
            ensure!(lines.next() == Some("set -euo pipefail"), "{file}: it goes on after errors");
        }
    }
    ensure!(seen == 6, "{seen} scripts");
    Ok(())
}

pub fn everything_declared_is_used() -> anyhow::Result<()> {
    for file in TASKS {
        let object = files::read(file)?;
        let spec = &object["spec"];
        let everything = serde_json::to_string(&[&spec["steps"], &spec["env"], &spec["volumeMounts"]])?;
        let used: BTreeSet<_> = variables(&everything).into_iter().collect();
        let names = |field: &str| list(spec, field).iter().filter_map(|p| p["name"].as_str());
        let results = if object["kind"] == "Task" { "results" } else { "step.results" };
        let declared = names("params")
            .map(|name| format!("params.{name}"))
            .chain(names("results").map(|name| format!("{results}.{name}.path")))
            .chain(names("workspaces").map(|name| format!("workspaces.{name}.path")));
        for variable in declared {
            ensure!(used.contains(variable.as_str()), "{file}: nobody uses {variable}");
        }
        for parameter in list(spec, "params").iter().chain(list(spec, "results")) {
            ensure!(!text(parameter, "description")?.is_empty(), "{file}: {parameter} is not described");
        }
    }
    Ok(())
}

/// Whoever calls the Konflux tasks can call ours: every parameter of theirs with the same default, every result.
pub fn parameters_of_the_konflux_tasks() -> anyhow::Result<()> {
    let build_root = r#"{"image_stream_tag":{"name":"release","namespace":"openshift","tag":"rhel-9-release-golang-1.24-openshift-4.20"}}"#;
    let provision = json!({
        "ownerKind": "PipelineRun", "ownerName": null, "ownerUid": null, "workflow": null,
        "buildRoot": build_root, "baseImages": "{}", "externalImages": "{}", "releases": "{}", "env": "{}",
        "clusterClaim": "{}", "clusterProfile": "", "resources": "", "timeout": "2h",
    });
    let deprovision = json!({
        "testPlatformClusterClaimName": null, "testPlatformClusterClaimNamespace": null, "timeout": "2h",
    });
    let copy = json!({ "clusterCredentialsSecretRef": null, "namespace": null, "labelSelector": null });
    let results = ["secretRef", "testPlatformClusterClaimName", "testPlatformClusterClaimNamespace"];
    let cases = [
        ("provision-ephemeral-cluster", provision, &results[..]),
        ("deprovision-ephemeral-cluster", deprovision, &[]),
        ("copy-secrets-to-ephemeral-cluster", copy, &[]),
    ];
    for (name, theirs, results) in cases {
        let task = files::named("Task", name)?;
        for parameter in list(&task["spec"], "params") {
            let name_of_it = text(parameter, "name")?;
            let added = theirs.get(name_of_it).is_none();
            ensure!(
                !added || parameter["default"].is_string(),
                "{name}: {name_of_it} is required in addition"
            );
        }
        for (parameter, default) in theirs.as_object().into_iter().flatten() {
            let ours = list(&task["spec"], "params").iter().find(|p| p["name"] == parameter.as_str());
            let ours = ours.with_context(|| format!("{name} has no parameter {parameter}"))?;
            ensure!(ours["default"] == *default, "{name}: {parameter} defaults to {}", ours["default"]);
        }
        for result in results {
            let given = list(&task["spec"], "results").iter().any(|r| r["name"] == *result);
            ensure!(given, "{name} has no result {result}");
        }
    }
    Ok(())
}

/// Tekton before 1.11 hands on no part of a run's `timeouts` to its tasks, which would end after an hour.
pub fn every_task_has_its_time() -> anyhow::Result<()> {
    let (pipeline, run) = (files::read(PIPELINE)?, files::read(PIPELINE_RUN)?);
    for part in ["tasks", "finally"] {
        let tasks = list(&pipeline["spec"], part);
        ensure!(!tasks.is_empty(), "there are no {part}");
        for task in tasks {
            ensure!(task["timeout"] == run["spec"]["timeouts"][part], "{part}: {task}");
        }
    }
    Ok(())
}

/// One image for all, by digest.
pub fn one_image() -> anyhow::Result<()> {
    let mut images = BTreeSet::new();
    for file in TASKS {
        let object = files::read(file)?;
        for step in steps(&object) {
            images.insert(text(step, "image")?.to_owned());
        }
    }
    let pipeline = files::read(PIPELINE)?;
    let default = list(&pipeline["spec"], "params").iter().find(|p| p["name"] == "testImage");
    images.insert(text(default.context("no testImage")?, "default")?.to_owned());
    let digest =
        images.first().and_then(|image| image.split_once("@sha256:")).map(|(_, digest)| digest.len());
    ensure!(images.len() == 1 && digest == Some(64), "{images:?}");
    Ok(())
}

/// The README names every Task, parameter, result and workspace, and shows the run as it is.
pub fn guide_tells_all() -> anyhow::Result<()> {
    let guide = fs::read_to_string(path("README.md"))?;
    for file in TASKS.iter().chain(&[PIPELINE, PIPELINE_RUN]) {
        ensure!(guide.contains(&format!("]({file})")), "README.md does not lead to {file}");
    }
    for file in TASKS.iter().chain(&[PIPELINE]) {
        let object = files::read(file)?;
        for field in ["params", "results", "workspaces"] {
            for declared in list(&object["spec"], field) {
                let name = text(declared, "name")?;
                ensure!(guide.contains(&format!("`{name}`")), "README.md does not tell of {name} of {file}");
            }
        }
    }
    Ok(())
}

pub async fn needs_its_tools(stage: &Stage<'_>) -> anyhow::Result<()> {
    let copy = stage.task("copy-secrets-to-ephemeral-cluster");
    let copy =
        copy.with("clusterCredentialsSecretRef", "a").with("namespace", "a").with("labelSelector", "a");
    for call in [stage.provision(), stage.deprovision(), stage.collect(), copy] {
        call.tools(&stage.tools.no_jq).run(LONG).await?.with(1)?.saying("needs jq")?;
    }
    Ok(())
}

/// The rights with which everything here ran are those of pipelines, and no more.
pub async fn rights_end_at_status(stage: &Stage<'_>) -> anyhow::Result<()> {
    stage.tenant.ask(&json!({})).await?;
    let us = Cluster::new("as the pipeline", connect(&stage.kubeconfig.to_string()).await?);
    let claim = stage.tenant.claim();
    us.merge(&claim, &json!({ "metadata": { "labels": { "may": "write" } } })).await?;
    let refused = us.merge_status(&claim, &json!({ "phase": "Ready" })).await;
    ensure!(matches!(&refused, Err(kube::Error::Api(s)) if s.code == 403), "{refused:?}");
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": { "kubeconfig": KUBECONFIG },
        "metadata": { "name": "mine", "namespace": stage.tenant.namespace },
    });
    let refused: Result<Value, _> = us.create(&secret).await;
    ensure!(matches!(&refused, Err(kube::Error::Api(s)) if s.code == 403), "{refused:?}");
    Ok(())
}

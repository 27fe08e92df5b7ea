//! Asking for a cluster.

use std::{process::Command, time::Duration};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    actors::condition,
    cluster::{SOON, at},
    kinds::CLAIM,
    patience::longer,
    tenant::{KUBECONFIG, PASSWORD, decoded},
};

use super::{
    call::LONG,
    stage::{PIPELINE_RUN, Stage},
};

/// Time between the cancellation of a TaskRun and its kill.
const GRACE: Duration = Duration::from_secs(30);
/// The file that a tenant's words make if somebody carries them out.
const PWNED: &str = "pwned";

pub async fn becomes_ready(stage: &Stage<'_>) -> anyhow::Result<()> {
    let tenant = &stage.tenant;
    // With the tools of the image that Konflux uses, and its task's own defaults, `{}` for clusterClaim among them.
    let mut run = stage.provision().tools(&stage.tools.oc).start()?;
    run.until_gives("testPlatformClusterClaimNamespace", &tenant.namespace, SOON).await?;
    run.until_gives("testPlatformClusterClaimName", &tenant.name, SOON).await?;
    run.until_gives("secretRef", &stage.secret_name(), SOON).await?;
    let controller = tenant.controller().await?;
    let asked = controller.until_asked(SOON).await?;
    run.runs()?;
    let notes = &asked["metadata"]["annotations"];
    ensure!(notes["ephemeralcluster.ci.openshift.io/pipeline-run-name"] == tenant.name.as_str(), "{notes}");
    ensure!(notes["ephemeralcluster.ci.openshift.io/task-run-name"] == tenant.name.as_str(), "{notes}");
    let claim = tenant.konflux().get(&tenant.claim()).await?.context("no claim")?;
    let owners = json!([{
        "apiVersion": PIPELINE_RUN.api_version, "kind": PIPELINE_RUN.kind, "name": tenant.name, "uid": stage.owner,
    }]);
    ensure!(claim["metadata"]["ownerReferences"] == owners, "{claim}");
    let expected = json!({
        "buildRoot": { "image_stream_tag": {
            "namespace": "openshift", "name": "release", "tag": "rhel-9-release-golang-1.24-openshift-4.20",
        } },
        "test": { "workflow": "ipi-aws", "clusterProfile": "aws" },
    });
    ensure!(claim["spec"]["ciOperator"] == expected, "{}", claim["spec"]);
    // An incumbent's claim knows neither, and refuses what it does not know.
    ensure!(claim["spec"]["lifetime"].is_null() && claim["spec"]["cleanup"].is_null(), "{}", claim["spec"]);

    controller.provision().await?;
    let url = format!("https://prow.example/view/job-of-{}", tenant.composite().await?);
    run.until_gives("prowJobURL", &url, SOON).await?;
    run.until_says("Provisioning: ", SOON).await?;
    run.runs()?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    let ended = run.ended(LONG).await?.with(0)?.saying("The cluster is ready")?;
    // The next task reads it at once.
    let secret = tenant.konflux().get(&stage.secret()).await?.context("ready, and there is no Secret")?;
    ensure!(decoded(&secret).get("kubeconfig").is_some_and(|k| k == KUBECONFIG), "no kubeconfig in it");
    ensure!(ended.log.matches(&url).count() == 1 + ended.log.matches(&format!("see {url}")).count());
    ensure!(ended.results["prowJobURL"] == url, "{:?}", ended.results);
    let claim = tenant.konflux().get(&tenant.claim()).await?.context("no claim")?;
    ensure!(claim["spec"]["tearDownCluster"].is_null(), "it ended what it made: {}", claim["spec"]);
    Ok(())
}

/// Crossplane writes into no Secret that is another's, and says of the claim that its cluster is ready.
pub async fn another_has_the_secret(stage: &Stage<'_>) -> anyhow::Result<()> {
    let tenant = &stage.tenant;
    let theirs = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": stage.secret_name(), "namespace": tenant.namespace },
        "stringData": { "kubeconfig": "of another cluster" },
    });
    tenant.konflux().apply(&theirs).await?;
    let mut run = stage.provision().start()?;
    let controller = tenant.controller().await?;
    controller.until_asked(SOON).await?;
    controller.provision().await?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    run.until_says("was not made by Crossplane", LONG).await?;
    run.runs()?;
    tenant.konflux().delete(&stage.secret()).await?;
    run.ended(LONG).await?.with(0)?.saying("The cluster is ready")?;
    let secret = tenant.konflux().get(&stage.secret()).await?.context("ready, and there is no Secret")?;
    ensure!(decoded(&secret).get("kubeconfig").is_some_and(|k| k == KUBECONFIG), "another's is in it");
    Ok(())
}

/// Quotes, newlines, YAML, templates and commands arrive as they were written, and nobody carries them out.
pub async fn words_are_data(stage: &Stage<'_>) -> anyhow::Result<()> {
    // Bash does this by itself: the steps have few tools.
    const COMMAND: &str = ": >pwned";
    const HOSTILE: &str =
        "x\"; : >pwned; '$(: >pwned)' `: >pwned` {{ .evil }} $HOME\n  tearDownCluster: true # ä\t";
    would_be_seen(stage, COMMAND)?;
    let files = stage.room()?;
    let mirrors = "- mirrors:\n  - quay.io/a/b\n  source: registry/c\n".repeat(200);
    std::fs::write(files.join("IMAGE_CONTENT_SOURCES"), &mirrors)?;
    std::fs::write(files.join("OVERRIDDEN"), "by the file")?;
    std::fs::create_dir(files.join("..data"))?;
    let environment = json!({ "HOSTILE": HOSTILE, "OVERRIDDEN": "by the parameter", "EMPTY": "" });
    let releases = json!({ "latest": { "integration": { "name": HOSTILE, "namespace": "ocp" } } });
    let mut run = stage
        .provision()
        .with("workflow", HOSTILE)
        .with("env", &environment.to_string())
        .with("releases", &format!("\n  {releases}\n"))
        .with("lifetime", "3h")
        .workspace("env-files", &files)
        .start()?;
    run.until_gives("secretRef", &stage.secret_name(), SOON).await?;
    let tenant = &stage.tenant;
    let asked = tenant.controller().await?.until_asked(SOON).await?;
    let test = &asked["spec"]["ciOperator"]["test"];
    ensure!(test["workflow"] == HOSTILE, "{test}");
    let sent = json!({
        "HOSTILE": HOSTILE, "OVERRIDDEN": "by the file", "EMPTY": "", "IMAGE_CONTENT_SOURCES": mirrors,
    });
    ensure!(test["env"] == sent, "{test}");
    ensure!(asked["spec"]["ciOperator"]["releases"] == releases, "{asked}");
    let claim = tenant.konflux().get(&tenant.claim()).await?.context("no claim")?;
    ensure!(claim["spec"]["tearDownCluster"].is_null() && claim["spec"]["lifetime"] == "3h", "{claim}");
    let directory = run.directory().to_owned();
    run.cancelled().await?.with(143)?;
    for place in [directory.as_path(), stage.nest().directory()] {
        ensure!(!place.join(PWNED).exists(), "a tenant's words were carried out in {}", place.display());
    }
    Ok(())
}

/// That the words, if a step carried them out, would leave what is looked for. Nothing is left of it.
fn would_be_seen(stage: &Stage<'_>, command: &str) -> anyhow::Result<()> {
    let path = &stage.tools.kubectl;
    // Where steps run.
    let directory = stage.nest().directory();
    let status = Command::new(path.join("bash"))
        .args(["-c", command])
        .env_clear()
        .env("PATH", path)
        .current_dir(directory)
        .status()
        .context("cannot run bash")?;
    let left = directory.join(PWNED);
    ensure!(status.success() && left.exists(), "{command} leaves nothing, so nothing would be seen");
    std::fs::remove_file(left).context("cannot remove what it left")
}

pub async fn bad_parameters(stage: &Stage<'_>) -> anyhow::Result<()> {
    let cases = [
        ("releases", "latest: 4.20", "parameter releases is not a JSON object: latest: 4.20"),
        ("env", "[\"A\"]", "parameter env is not a JSON object"),
        ("clusterClaim", "{\"cloud\":", "parameter clusterClaim is not a JSON object"),
        ("cleanup", "true", "parameter cleanup is not a JSON object: true"),
        ("timeout", "two hours", "parameter timeout is not a duration such as 2h or 1h30m: two hours"),
        ("timeout", "0", "parameter timeout is not a duration"),
        // These the API server finds: its own words name the field.
        ("env", "{\"A\":1}", "spec.ciOperator.test.env.A"),
        ("lifetime", "soon", "spec.lifetime"),
        ("cleanup", "{\"keepForDebug\":\"30m\"}", "spec.cleanup"),
        ("cleanup", "{\"onOwnerCompleted\":true}", "spec.cleanup.onOwnerCompleted"),
    ];
    for (parameter, value, words) in cases {
        let ended = stage.provision().with(parameter, value).run(LONG).await?;
        let ended = ended.with(1)?.saying(words)?;
        ensure!(ended.results.is_empty(), "{parameter}={value} gave {:?}", ended.results);
    }
    ensure!(stage.tenant.konflux().get(&stage.tenant.claim()).await?.is_none(), "there is a claim");
    Ok(())
}

pub async fn refused_by_the_hub(stage: &Stage<'_>) -> anyhow::Result<()> {
    let run = stage.provision().start()?;
    let controller = stage.tenant.controller().await?;
    controller.until_asked(SOON).await?;
    let why = "tenant tenant-refused doesn't own the cluster profile aws";
    let refused = condition("ProwJobCreating", "False", "EphemeralClusterValidationFailure", why);
    controller.status(json!({ "phase": "Failed", "conditions": [refused] })).await?;
    let ended = run.ended(LONG).await?.with(1)?;
    // In the sentence of the claim, and where it came from.
    let ended = ended.saying("Error: the cluster cannot be made")?.saying(why)?;
    let ended = ended.saying("ProwJobCreating=False EphemeralClusterValidationFailure")?;
    ensure!(ended.results["testPlatformClusterClaimName"] == stage.tenant.name, "{:?}", ended.results);
    ensure!(ended.results["prowJobURL"].is_empty(), "{:?}", ended.results);
    Ok(())
}

pub async fn not_in_time(stage: &Stage<'_>) -> anyhow::Result<()> {
    let time = format!("0.1m{}s", longer(Duration::from_secs(9)).as_secs());
    let mut run = stage.provision().with("timeout", &time).start()?;
    run.until_gives("secretRef", &stage.secret_name(), SOON).await?;
    let ended = run.ended(LONG).await?.with(1)?;
    let late = format!("not ready within {time}");
    let ended = ended.saying(&late)?.saying("How claim ")?.saying("ClusterReady=False")?;
    ensure!(ended.results["secretRef"] == stage.secret_name(), "{:?}", ended.results);
    let ends = |claim: &Value| claim["spec"]["tearDownCluster"] == true;
    stage.tenant.until(SOON, "told to end", ends).await?;
    Ok(())
}

pub async fn cancelled(stage: &Stage<'_>) -> anyhow::Result<()> {
    let mut run = stage.provision().start()?;
    let controller = stage.tenant.controller().await?;
    controller.until_asked(SOON).await?;
    controller.provision().await?;
    run.until_says("Provisioning: ", SOON).await?;
    let begun = std::time::Instant::now();
    run.cancelled().await?.with(143)?.saying("Cancelled")?.saying("The cluster's end is asked for")?;
    let took = begun.elapsed();
    ensure!(took < GRACE / 3, "that took {took:?}");
    eprintln!("cancelled: the end was asked for after {} ms", took.as_millis());
    controller.until_told_to_end(SOON).await?;
    Ok(())
}

pub async fn claim_deleted_meanwhile(stage: &Stage<'_>) -> anyhow::Result<()> {
    let mut run = stage.provision().start()?;
    stage.tenant.controller().await?.until_asked(SOON).await?;
    run.until_says("Pending: ", SOON).await?;
    stage.tenant.konflux().delete(&stage.tenant.claim()).await?;
    let ended = run.ended(LONG).await?.with(1)?;
    ensure!(
        ended.log.contains("the claim was deleted") || ended.log.contains("asked for the cluster's end"),
        "{}",
        ended.log
    );
    Ok(())
}

pub async fn ended_by_somebody_else(stage: &Stage<'_>) -> anyhow::Result<()> {
    let mut run = stage.provision().start()?;
    stage.tenant.controller().await?.until_asked(SOON).await?;
    run.until_says("Pending: ", SOON).await?;
    stage.tenant.change(&json!({ "tearDownCluster": true })).await?;
    run.ended(LONG).await?.with(1)?.saying("somebody else asked for the cluster's end")?;
    Ok(())
}

/// Retries have the TaskRun's name again. The claim of that TaskRun is used again, a claim of anybody else is left alone: of another
/// run, or of another Task of the same run.
pub async fn asked_again(stage: &Stage<'_>) -> anyhow::Result<()> {
    let tenant = &stage.tenant;
    let of_another = stage.owned_by_another().await?;
    let of_our_run = json!([{
        "apiVersion": PIPELINE_RUN.api_version, "kind": PIPELINE_RUN.kind, "name": tenant.name, "uid": stage.owner,
    }]);
    let cases = [
        ("of-nobody", json!([]), None),
        ("of-another", of_another, Some(tenant.name.as_str())),
        ("of-our-run", of_our_run.clone(), None),
        ("of-a-sibling", of_our_run, Some("another-task-run")),
    ];
    for (name, owners, task_run) in cases {
        let mut manifest = tenant.manifest(&json!({}));
        manifest["metadata"]["name"] = name.into();
        manifest["metadata"]["ownerReferences"] = owners;
        if let Some(task_run) = task_run {
            manifest["metadata"]["annotations"] =
                json!({ "ephemeralcluster.ci.openshift.io/task-run-name": task_run });
        }
        tenant.konflux().create(&manifest).await?;
        let time = longer(Duration::from_secs(20)).as_secs().to_string();
        let other = || stage.provision().with("claimName", name).with("timeout", &time);
        let ended = other().run(LONG).await?.with(1)?.saying("AlreadyExists")?;
        ensure!(ended.results.is_empty(), "{name}: {:?}", ended.results);
        // Whose it is nobody has looked at when the API server does not even take what is asked for.
        other().with("lifetime", "soon").run(LONG).await?.with(1)?.saying("spec.lifetime")?;
        let left = tenant.konflux().get(&at(CLAIM, &tenant.namespace, name)).await?;
        let left = left.with_context(|| format!("{name} is gone"))?;
        ensure!(left["spec"]["tearDownCluster"].is_null(), "somebody else's cluster was ended: {left}");
    }

    let first = stage.provision().start()?;
    let controller = tenant.controller().await?;
    controller.until_asked(SOON).await?;
    let mut second = stage.provision().start()?;
    second.until_says("is there already, made by this TaskRun", SOON).await?;
    controller.provision().await?;
    controller.ready(KUBECONFIG, "").await?;
    for run in [first, second] {
        run.ended(LONG).await?.with(0)?;
    }
    ensure!(tenant.remotes_made() <= 5, "{} remote objects", tenant.remotes_made());
    Ok(())
}

/// No `finally`, no trap: the PipelineRun is deleted, and that is enough.
pub async fn owner_deleted(stage: &Stage<'_>) -> anyhow::Result<()> {
    /// Kubernetes' garbage collector looks for new kinds every half a minute.
    const COLLECTED: Duration = Duration::from_mins(2);
    let tenant = &stage.tenant;
    let run = stage.provision().start()?;
    let controller = tenant.controller().await?;
    controller.until_asked(SOON).await?;
    controller.provision().await?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    run.ended(LONG).await?.with(0)?;
    let owner = at(PIPELINE_RUN, &tenant.namespace, &tenant.name);
    tenant.konflux().delete(&owner).await?;
    tenant.konflux().until_gone(&tenant.claim(), COLLECTED).await?;
    controller.until_told_to_end(SOON).await?;
    controller.release().await?;
    tenant.engine.hub.cluster().until_gone(&controller.at(), SOON).await?;
    tenant.konflux().until_gone(&stage.secret(), SOON).await
}

/// Once it has succeeded, a run that is cancelled without its `finally` ends nothing itself. Whoever cleans up goes by the claim and its owner.
pub async fn cleaned_up_after_its_run(stage: &Stage<'_>) -> anyhow::Result<()> {
    let tenant = &stage.tenant;
    let cleanup = json!({ "onOwnerCompletion": true, "keepForDebug": "30m" });
    let mut run = stage.provision().with("cleanup", &format!(" {cleanup}\n")).start()?;
    run.until_gives("secretRef", &stage.secret_name(), SOON).await?;
    let claim = tenant.konflux().get(&tenant.claim()).await?.context("no claim")?;
    ensure!(claim["spec"]["cleanup"] == cleanup, "{}", claim["spec"]);
    let owner = &claim["metadata"]["ownerReferences"][0];
    ensure!(owner["kind"] == PIPELINE_RUN.kind && owner["uid"] == stage.owner.as_str(), "{owner}");
    run.cancelled().await?.with(143)?;
    Ok(())
}

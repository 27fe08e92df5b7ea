//! API servers close every watch after a while, and sometimes they are away.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
    process::Command,
    time::Duration,
};

use anyhow::ensure;
use serde_json::Value;
use testplatform_tests::{
    cluster::{SOON, at},
    kinds::CLAIM,
    patience,
    tenant::{KUBECONFIG, PASSWORD},
};

use super::{call::LONG, stage::Stage};

/// Longer than any watch lives on an API server that closes them after one to two seconds.
const MANY_WATCHES: Duration = Duration::from_secs(7);
/// How long an API server is away.
const AWAY: Duration = Duration::from_secs(3);

pub async fn watches_end(stage: &Stage<'_>) -> anyhow::Result<()> {
    let tenant = &stage.tenant;
    let server = tenant.engine.konflux.another_api_server("closing", &["--min-request-timeout=1"]).await?;
    let here = server.kubeconfig(stage.kubeconfig.clone());
    let mut run = stage.provision().through(here.clone()).start()?;
    run.until_gives("secretRef", &stage.secret_name(), SOON).await?;
    let controller = tenant.controller().await?;
    controller.until_asked(SOON).await?;

    // A single watch ends in this case, and looks like success.
    let kubeconfig = stage.nest().file("closing.kubeconfig", here.to_string())?;
    let mut watch = Command::new(stage.tools.kubectl.join("kubectl"));
    watch.env("KUBECONFIG", kubeconfig).args(["get", "testplatformclusters.ci.openshift.org"]);
    watch.args([tenant.name.as_str(), "--watch", "--output=name"]);
    let mut watch = stage.nest().spawn("watch-that-ends", &mut watch)?;
    let over = async {
        loop {
            if let Some(status) = watch.ended() {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let status = patience::timeout(SOON, over).await?;
    ensure!(status.success(), "a watch that is closed ended with {status}, and this shows nothing");

    controller.provision().await?;
    tokio::time::sleep(MANY_WATCHES).await;
    run.runs()?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    // That watches end is no news.
    run.ended(LONG).await?.with(0)?.not_saying("trying again")?;

    let mut end = stage.deprovision().through(here).start()?;
    controller.until_told_to_end(SOON).await?;
    controller.deprovision().await?;
    end.until_says("Deprovisioning: ", SOON).await?;
    tokio::time::sleep(MANY_WATCHES).await;
    end.runs()?;
    controller.deprovisioned().await?;
    end.ended(LONG).await?.with(0)?.saying("The cluster is gone: ProwJobCompleted")?;
    Ok(())
}

pub async fn server_away(stage: &Stage<'_>) -> anyhow::Result<()> {
    let tenant = &stage.tenant;
    let server = tenant.engine.konflux.another_api_server("away", &[]).await?;
    let here = server.kubeconfig(stage.kubeconfig.clone());

    server.stop();
    let mut run = stage.provision().through(here.clone()).start()?;
    run.until_says("The claim cannot be made for now, trying again", SOON).await?;
    server.start().await?;
    run.until_gives("secretRef", &stage.secret_name(), SOON).await?;
    let controller = tenant.controller().await?;
    controller.until_asked(SOON).await?;
    controller.provision().await?;
    run.until_says("Provisioning: ", SOON).await?;
    server.stop();
    run.until_says("The claim cannot be followed for now, trying again", SOON).await?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    tokio::time::sleep(AWAY).await;
    run.runs()?;
    server.start().await?;
    run.ended(LONG).await?.with(0)?;

    server.stop();
    let mut end = stage.deprovision().through(here).start()?;
    end.until_says("cannot be asked for now, trying again", SOON).await?;
    server.start().await?;
    controller.until_told_to_end(SOON).await?;
    end.until_says("is asked for", SOON).await?;
    server.stop();
    end.until_says("The claim cannot be followed for now, trying again", SOON).await?;
    controller.deprovisioned().await?;
    server.start().await?;
    end.ended(LONG).await?.with(0)?;
    Ok(())
}

/// A step's PATH with another kubectl: a script, which has the real one as `REAL`.
pub fn with_kubectl(stage: &Stage<'_>, script: &str) -> anyhow::Result<PathBuf> {
    let tools = stage.room()?;
    for tool in fs::read_dir(&stage.tools.kubectl)? {
        let tool = tool?;
        if tool.file_name() != "kubectl" {
            symlink(tool.path(), tools.join(tool.file_name()))?;
        }
    }
    let real = stage.tools.kubectl.join("kubectl").display().to_string();
    let kubectl = tools.join("kubectl");
    fs::write(&kubectl, format!("#!/usr/bin/env bash\nREAL='{real}'\n{script}"))?;
    fs::set_permissions(&kubectl, fs::Permissions::from_mode(0o755))?;
    Ok(tools)
}

/// A kubectl whose first request to make a claim is carried out and its answer lost, and whose first `times` looks at the claim after that fail
/// with `words`.
fn losing(stage: &Stage<'_>, times: u32, words: &str) -> anyhow::Result<PathBuf> {
    let script = format!(
        r#"
case " $* " in
  *" create "*)
    if [[ ! -e "$HOME/made" ]]; then
      "$REAL" "$@" || exit
      : >"$HOME/made"
      echo "Unable to connect to the server: read: connection reset by peer" >&2
      exit 1
    fi ;;
  *" get "*)
    looks=$(cat "$HOME/looks" 2>/dev/null || echo 0)
    if ((looks < {times})); then
      echo "$((looks + 1))" >"$HOME/looks"
      echo "{words}" >&2
      exit 1
    fi ;;
esac
exec "$REAL" "$@"
"#
    );
    with_kubectl(stage, &script)
}

/// A kubectl whose first look at the claim, and whose first watch of it, are answered as where nobody knows claims.
fn astray(stage: &Stage<'_>) -> anyhow::Result<PathBuf> {
    let script = r#"
case " $* " in
  *" get testplatformclusters"*" --watch "*) asked=watched ;;
  *" get testplatformclusters"*) asked=looked ;;
  *) exec "$REAL" "$@" ;;
esac
if [[ ! -e "$HOME/$asked" ]]; then
  : >"$HOME/$asked"
  echo "Error from server (NotFound): the server could not find the requested resource (get testplatformclusters.ci.openshift.org x)" >&2
  exit 1
fi
exec "$REAL" "$@"
"#;
    with_kubectl(stage, script)
}

/// The claim is made and nobody says so. A look that fails then says nothing of whose it is.
pub async fn answer_lost(stage: &Stage<'_>) -> anyhow::Result<()> {
    let tenant = &stage.tenant;
    let away = "The connection to the server was refused - did you specify the right host or port?";
    let mut run = stage.provision().tools(&losing(stage, 1, away)?).start()?;
    run.until_says("is there already, made by this TaskRun", SOON).await?;
    run.until_gives("secretRef", &stage.secret_name(), SOON).await?;
    let controller = tenant.controller().await?;
    controller.until_asked(SOON).await?;
    controller.provision().await?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    run.ended(LONG).await?.with(0)?;

    // Whoever never sees it cannot go on, and leaves no cluster behind.
    let unseen = format!("{}-unseen", tenant.name);
    let forbidden = "Error from server (Forbidden): testplatformclusters.ci.openshift.org is forbidden";
    let blind = stage.provision().with("claimName", &unseen).tools(&losing(stage, 3, forbidden)?);
    let ended = blind.run(LONG).await?.with(1)?.saying("The cluster's end is asked for")?;
    ensure!(ended.log.contains("AlreadyExists") && ended.log.contains(forbidden), "{}", ended.log);
    let ends = |claim: Option<&Value>| claim.is_some_and(|claim| claim["spec"]["tearDownCluster"] == true);
    tenant.konflux().until(&at(CLAIM, &tenant.namespace, &unseen), SOON, "told to end", ends).await?;
    Ok(())
}

/// A kind that is not served for a moment, or something in between: the claim is there, and its cluster is paid for.
pub async fn not_about_the_claim(stage: &Stage<'_>) -> anyhow::Result<()> {
    const ASTRAY: &str = "trying again: Error from server (NotFound): the server could not find";
    let tenant = &stage.tenant;
    let tools = astray(stage)?;
    let mut run = stage.provision().tools(&tools).start()?;
    run.until_says(&format!("The claim cannot be followed for now, {ASTRAY}"), SOON).await?;
    let controller = tenant.controller().await?;
    controller.until_asked(SOON).await?;
    controller.provision().await?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    run.ended(LONG).await?.with(0)?;

    let mut end = stage.deprovision().tools(&tools).start()?;
    end.until_says(&format!("cannot be asked for now, {ASTRAY}"), SOON).await?;
    controller.until_told_to_end(SOON).await?;
    end.until_says(&format!("The claim cannot be followed for now, {ASTRAY}"), SOON).await?;
    controller.deprovision().await?;
    controller.deprovisioned().await?;
    end.ended(LONG).await?.with(0)?.saying("The cluster is gone: ProwJobCompleted")?;
    let told = stage.collect().tools(&tools).run(LONG).await?.with(0)?;
    told.saying("  phase: Deprovisioned")?.not_saying("is not there")?;

    // Nor is the end of a cluster left out.
    let another = format!("{}-another", tenant.name);
    let mut run = stage.provision().with("claimName", &another).tools(&tools).start()?;
    run.until_says(&format!("will be in Secret {another}-secret"), SOON).await?;
    run.cancelled().await?.with(143)?.saying("The cluster's end is asked for")?;
    let ends = |claim: Option<&Value>| claim.is_some_and(|claim| claim["spec"]["tearDownCluster"] == true);
    tenant.konflux().until(&at(CLAIM, &tenant.namespace, &another), SOON, "told to end", ends).await?;
    Ok(())
}

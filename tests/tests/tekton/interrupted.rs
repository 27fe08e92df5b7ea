//! API servers close every watch after a while, and sometimes they are away.

use std::{process::Command, time::Duration};

use anyhow::ensure;
use testplatform_tests::{
    cluster::SOON,
    tenant::{KUBECONFIG, PASSWORD},
};

use crate::{call::LONG, stage::Stage};

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

    // What a single watch makes of that: it ends, and looks like success.
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
    let status = tokio::time::timeout(MANY_WATCHES, over).await?;
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

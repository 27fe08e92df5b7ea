//! A control plane is real, quick, and leaves nothing behind, however its owner ends.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use serde_json::json;
use testplatform_tests::{
    binaries::Binaries,
    cluster::{Cluster, SOON, at, at_root},
    control_plane::{ControlPlane, connect},
    hub,
    kinds::{EPHEMERAL_CLUSTER, NAMESPACE, SECRET},
    patience::longer,
};

pub async fn it_is_real_and_the_konflux_identity_may_do_little() -> anyhow::Result<()> {
    let binaries = Binaries::ensure()?;
    let begun = Instant::now();
    let plane = ControlPlane::start("hub", &binaries).await?;
    println!("control plane: {:.1} s", begun.elapsed().as_secs_f32());
    let admin = plane.cluster();
    hub::prepare(admin).await?;

    let credential = hub::issue(&plane, hub::IDENTITY, "test").await?;
    let konflux = Cluster::new("hub as konflux", connect(&credential.kubeconfig.to_string()).await?);
    let wanted = json!({
        "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster",
        "metadata": { "name": "x", "namespace": hub::NAMESPACE }, "spec": { "ciOperator": {} },
    });
    konflux.apply(&wanted).await?;
    konflux.list(EPHEMERAL_CLUSTER).await?;
    for (what, answer) in [
        ("list secrets", konflux.list(SECRET).await.map(|_| ())),
        ("read elsewhere", konflux.get(&at(SECRET, "default", "x")).await.map(|_| ())),
        (
            "make namespaces",
            konflux
                .apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "x" } }))
                .await
                .map(|_| ()),
        ),
        (
            "write status",
            konflux
                .merge_status(&at(EPHEMERAL_CLUSTER, hub::NAMESPACE, "x"), &json!({ "phase": "Ready" }))
                .await
                .map_err(Into::into),
        ),
    ] {
        let words = answer.err().with_context(|| format!("it may {what}"))?;
        ensure!(format!("{words:#}").contains("forbidden"), "{what}: {words:#}");
    }

    // Owned objects and namespaces go, which takes the controller manager.
    admin
        .apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "short-lived" } }))
        .await?;
    admin.delete(&at_root(NAMESPACE, "short-lived")).await?;
    admin.until_gone(&at_root(NAMESPACE, "short-lived"), SOON).await?;

    // Stored objects survive a restart of the API server.
    plane.stop_api_server();
    ensure!(!admin.answers().await, "it answers although it is stopped");
    plane.start_api_server().await?;
    ensure!(admin.get(&at(EPHEMERAL_CLUSTER, hub::NAMESPACE, "x")).await?.is_some(), "it forgot");

    let directory = plane.kubeconfig().parent().map(Path::to_owned).context("no directory")?;
    drop(plane);
    ensure!(!directory.exists(), "{} is still there", directory.display());
    ensure!(programs_in(&directory).is_empty(), "still running: {:?}", programs_in(&directory));
    Ok(())
}

/// Not a test by itself: the victim of the next one.
pub async fn victim() -> anyhow::Result<()> {
    let plane = ControlPlane::start("victim", &Binaries::ensure()?).await?;
    println!("\nDIRECTORY {}", plane.kubeconfig().parent().unwrap_or(Path::new("")).display());
    std::future::pending().await
}

pub fn nothing_is_left_of_a_process_that_was_killed() -> anyhow::Result<()> {
    Binaries::ensure()?;
    let mut victim = Command::new(std::env::current_exe()?)
        .env(crate::VICTIM, "control_plane::victim")
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(victim.stdout.take().context("no output")?).lines();
    let directory = lines.map_while(Result::ok).find_map(|l| l.strip_prefix("DIRECTORY ").map(PathBuf::from));
    let directory = directory.context("the victim did not start")?;
    ensure!(programs_in(&directory).len() >= 3, "{:?}", programs_in(&directory));
    victim.kill()?;
    victim.wait()?;
    let begun = Instant::now();
    while directory.exists() || !programs_in(&directory).is_empty() {
        ensure!(
            begun.elapsed() < longer(Duration::from_secs(20)),
            "left: {} {:?}",
            directory.display(),
            programs_in(&directory)
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Processes whose working directory is this one. Those that only wait to be reaped have none.
fn programs_in(directory: &Path) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let inside = processes.filter(|p| {
        std::fs::read_link(p.path().join("cwd"))
            .is_ok_and(|cwd| cwd.to_string_lossy().starts_with(&*directory.to_string_lossy()))
    });
    inside.map(|p| std::fs::read_to_string(p.path().join("comm")).unwrap_or_default()).collect()
}

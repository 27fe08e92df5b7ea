//! `cargo xpkg hub-kubeconfig` on a hub with exactly what is shipped for it.

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};
use testplatform_package::hub::command;
use testplatform_tests::{
    cluster::{Cluster, SOON, at},
    control_plane::{ControlPlane, connect},
    hub,
    kinds::{EPHEMERAL_CLUSTER, SECRET},
    patience,
};

pub async fn made(plane: &ControlPlane, more: &[&str]) -> anyhow::Result<String> {
    let kubeconfig = plane.kubeconfig().display().to_string();
    let line = [&["--kubeconfig", &kubeconfig], more].concat();
    // The time matters only for a warning about a token's shorter lifetime.
    let run = |arguments: &command::HubKubeconfigArgs, out: &mut Vec<u8>| {
        command::run(arguments, out, Timestamp::UNIX_EPOCH).map(|()| true)
    };
    Ok(super::xpkg::<command::HubKubeconfigArgs, _>(&line, run).await?.0)
}

pub async fn a_kubeconfig_for_the_hub(plane: &ControlPlane) -> anyhow::Result<()> {
    let ticket = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "ticket", "namespace": hub::NAMESPACE } });
    plane.cluster().apply(&ticket).await?;
    let text = made(plane, &["--bound-secret", "ticket", "--duration", "1h"]).await?;
    let konflux = Cluster::new("hub as konflux", connect(&text).await?);
    let wanted = json!({
        "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster",
        "metadata": { "name": "x", "namespace": hub::NAMESPACE }, "spec": { "ciOperator": {} },
    });
    konflux.apply(&wanted).await.context("it may not ask for a cluster")?;
    konflux.get(&at(SECRET, hub::NAMESPACE, "x-credentials")).await.context("it may not get credentials")?;
    ensure!(konflux.list(SECRET).await.is_err(), "it may list Secrets");
    konflux.delete(&at(EPHEMERAL_CLUSTER, hub::NAMESPACE, "x")).await?;

    let elsewhere = made(plane, &["--server", "https://hub.example.com:6443"]).await?;
    let parsed: Value = serde_saphyr::from_str(&elsewhere)?;
    ensure!(
        parsed["clusters"][0]["cluster"]["server"] == "https://hub.example.com:6443",
        "{}",
        parsed["clusters"]
    );
    for (line, words) in [
        (["--service-account", "ephemeral-cluster/nobody"], "\"nobody\" not found"),
        (["--bound-secret", "missing"], "to which the token is to be bound"),
    ] {
        let error = made(plane, &line).await.err().with_context(|| format!("{line:?} is not an error"))?;
        ensure!(format!("{error:#}").contains(words), "{line:?}: {error:#}");
    }

    // The end of the Secret is that of the token; the API server may go on for some seconds.
    plane.cluster().delete(&at(SECRET, hub::NAMESPACE, "ticket")).await?;
    let ended = async {
        while konflux.get(&at(EPHEMERAL_CLUSTER, hub::NAMESPACE, "x")).await.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    };
    patience::timeout(SOON, ended).await.context("the token outlives the Secret to which it is bound")
}

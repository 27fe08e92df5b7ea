//! Somebody deletes the namespace of the EphemeralClusters on the hub: what costs money ends all the same, and the namespace goes.
//!
//! No controller of namespaces runs here. The test deletes the content of the namespace in the worst order: rights first, EphemeralClusters last.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::json;
use testplatform_tests::{
    cluster::{Cluster, SOON, at, at_root, condition, has},
    kinds::{Kind, SECRET},
    patience,
};

use super::hub::{CLUSTERS, Hub, JOBS, LEASE, PROW_JOB, cluster, credentials, is_in, name_of};

const ROLE: Kind = Kind { api_version: "rbac.authorization.k8s.io/v1", kind: "Role" };
const ROLE_BINDING: Kind = Kind { api_version: "rbac.authorization.k8s.io/v1", kind: "RoleBinding" };
const NAMESPACE: Kind = Kind { api_version: "v1", kind: "Namespace" };

/// Deletes everything of a kind in the namespace.
async fn delete_all(hub: &Cluster, kind: Kind) -> anyhow::Result<()> {
    for object in hub.list(kind).await? {
        if object["metadata"]["namespace"] == CLUSTERS {
            hub.delete(&at(kind, CLUSTERS, name_of(&object))).await?;
        }
    }
    Ok(())
}

pub async fn clusters_end_though_their_namespace_and_its_rights_are_deleted() -> anyhow::Result<()> {
    let hub = Hub::start().await?;
    let mut provider = hub.provider()?;
    let outcome = before(&hub).await;
    outcome.with_context(|| provider.tail())?;
    let outcome = ended(&hub, "runs").await;
    provider.check()?;
    outcome.with_context(|| provider.tail()).context("while it runs")?;

    // One that starts finds no rights to read what was published.
    provider.terminate();
    let mut provider = hub.provider()?;
    let outcome = ended(&hub, "waits").await;
    provider.check()?;
    outcome.with_context(|| provider.tail()).context("after a restart")?;
    aborted(&hub).await.with_context(|| provider.tail())
}

/// Rights that are lost while the namespace stays: what is there stays as it was, also for a provider that starts then.
pub async fn nothing_is_withdrawn_for_want_of_rights() -> anyhow::Result<()> {
    let hub = Hub::start().await?;
    let mut provider = hub.provider()?;
    hub.ask("one").await?;
    hub.run_job(&hub.job("one").await?, "ci-op-one").await?;
    hub.install("ci-op-one", "").await?;
    hub.hub().until_is(&cluster("one"), SOON, "ready", is_in("Ready")).await?;
    let before = hub.hub().get(&cluster("one")).await?.context("it is there")?;
    for kind in [ROLE_BINDING, ROLE] {
        delete_all(hub.hub(), kind).await?;
    }
    provider.terminate();
    let mut provider = hub.provider()?;
    let led = async {
        while !provider.tail().contains("forbidden") {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    patience::timeout(SOON, led).await.context("it does not say what it may not do")?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    provider.check()?;
    let after = hub.hub().get(&cluster("one")).await?.context("it is gone")?;
    let ready = |object: &serde_json::Value| condition(object, "ClusterReady").cloned();
    ensure!(ready(&after) == ready(&before), "{after}\n{}", provider.tail());
    ensure!(
        after["status"]["phase"] == "Ready" && after["status"]["secretRef"] == before["status"]["secretRef"],
        "{after}"
    );
    ensure!(has(&after, "CredentialsInSync", "False", "PublishFailed"), "it does not say so: {after}");
    ensure!(hub.hub().get(&credentials("one")).await?.is_some(), "its credentials are gone");
    Ok(())
}

/// Two clusters run, one job has none yet, and then the namespace is deleted.
async fn before(hub: &Hub) -> anyhow::Result<()> {
    for name in ["runs", "waits"] {
        hub.ask(name).await?;
        let namespace = format!("ci-op-{name}");
        hub.run_job(&hub.job(name).await?, &namespace).await?;
        hub.install(&namespace, "").await?;
        hub.hub().until_is(&cluster(name), SOON, "ready", is_in("Ready")).await?;
    }
    hub.ask("new").await?;
    hub.job("new").await?;
    hub.hub().delete(&at_root(NAMESPACE, CLUSTERS)).await?;
    for kind in [ROLE_BINDING, ROLE, LEASE, SECRET] {
        delete_all(hub.hub(), kind).await?;
    }
    for name in ["runs", "waits", "new"] {
        hub.hub().delete(&cluster(name)).await?;
    }
    Ok(())
}

/// A cluster is torn down, and its object goes.
async fn ended(hub: &Hub, name: &str) -> anyhow::Result<()> {
    let signal = at(SECRET, &format!("ci-op-{name}"), "test-done-signal");
    hub.build().until_is(&signal, SOON, "the signal", |_| true).await?;
    let object = hub.hub().get(&cluster(name)).await?.context("it did not wait for its job")?;
    let id = object["status"]["prowJobId"].as_str().context("no job")?;
    let job = json!({ "metadata": { "name": id } });
    hub.end_job(&job, "success").await?;
    hub.hub().until_gone(&cluster(name), SOON).await?;
    ensure!(hub.hub().get(&credentials(name)).await?.is_none(), "its credentials are left");
    Ok(())
}

/// A job that has no cluster yet is aborted.
async fn aborted(hub: &Hub) -> anyhow::Result<()> {
    let jobs = hub.hub().list(PROW_JOB).await?;
    let of_new = |job: &&serde_json::Value| job["metadata"]["labels"][super::hub::LABEL] == "new";
    let job = jobs.iter().find(of_new).context("the job is gone")?;
    let is_aborted = |job: &serde_json::Value| job["status"]["state"] == "aborted";
    let place = at(PROW_JOB, JOBS, name_of(job));
    hub.hub().until_is(&place, SOON, "aborted", is_aborted).await?;
    hub.end_job(job, "aborted").await?;
    hub.hub().until_gone(&cluster("new"), SOON).await
}

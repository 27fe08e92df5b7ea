//! The provider's program on real API servers, with exactly the rights that it ships with.
//!
//! The testbed's scenarios cover a hub with Crossplane before it; here the provider runs alone.

use std::time::{Duration, Instant};

use super::ALONE;
use super::hub::{
    self, ACCOUNT, Hub, JOBS, KUBECONFIG, LEASE, PROW_JOB, cluster, credentials, encoded, is_in,
};
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{Cluster, SOON, at, has},
    kinds::SECRET,
    promise,
};

const FINALIZER: &str = "ephemeralcluster.ci.openshift.io/dependent-prowjob";

pub async fn a_life() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    let hub = Hub::start().await?;
    let mut provider = hub.provider()?;
    let lived = live(&hub).await;
    provider.check()?;
    lived.with_context(|| provider.tail())?;

    println!("resident: {} MiB", super::load::used()?.resident >> 20);
    provider.terminate();
    let lease = hub.hub().get(&at(LEASE, ACCOUNT, "provider-testplatform")).await?.context("no lease")?;
    ensure!(lease["spec"]["holderIdentity"] == "", "the lease is given back: {}", lease["spec"]);
    let log = provider.said()?;
    ensure!(!log.contains("p4ssw0rd") && !log.contains("https://a"), "a secret is in the log");
    Ok(())
}

async fn live(hub: &Hub) -> anyhow::Result<()> {
    // Nothing is deleted yet: asked for, scheduled, installed, ready.
    let asked = Instant::now();
    hub.ask("one").await?;
    let job = hub.job("one").await?;
    let there = asked.elapsed();
    let object = hub.hub().get(&cluster("one")).await?.context("it is there")?;
    ensure!(object["metadata"]["finalizers"] == json!([FINALIZER]));
    ensure!(job["metadata"]["labels"][hub::LABEL] == "one" && job["status"]["state"] == "scheduling");
    ensure!(object["spec"] == hub::ephemeral_cluster("one")["spec"], "the spec is untouched");

    hub.run_job(&job, "ci-op-one").await?;
    let waiting = |ec: &Value| ec["status"]["prowJobURL"].is_string();
    hub.hub().until_is(&cluster("one"), SOON, "running", waiting).await?;
    let installed = Instant::now();
    hub.install("ci-op-one", "").await?;
    let ready = hub.hub().until_is(&cluster("one"), SOON, "ready", is_in("Ready")).await?;
    let took = installed.elapsed();
    println!("from the Secret on the build cluster to Ready: {took:?}");
    promise::kept(Duration::from_secs(1), there, took)?;
    ensure!(ready["status"]["secretRef"] == "one-credentials");
    follows(hub).await?;
    rests(hub).await?;
    may_do_little(hub).await?;

    // The end, asked for.
    hub.hub().merge(&cluster("one"), &json!({ "spec": { "tearDownCluster": true } })).await?;
    let signal = at(SECRET, "ci-op-one", "test-done-signal");
    hub.build().until_is(&signal, SOON, "the signal", |_| true).await?;
    hub.hub().until_is(&cluster("one"), SOON, "told", |ec| has(ec, "TestCompleted", "True", "")).await?;
    hub.end_job(&job, "success").await?;
    hub.hub().until_is(&cluster("one"), SOON, "deprovisioned", is_in("Deprovisioned")).await?;
    hub.hub().until_gone(&credentials("one"), SOON).await?;
    hub.hub().delete(&cluster("one")).await?;
    hub.hub().until_gone(&cluster("one"), SOON).await?;

    deleted_while_it_runs(hub).await?;
    orphaned(hub).await?;
    refused(hub).await?;
    reloaded(hub).await
}

/// The published Secret is what its source is, whoever changes either.
async fn follows(hub: &Hub) -> anyhow::Result<()> {
    let has = |password: &str| {
        let password = encoded(password);
        move |secret: &Value| {
            secret["data"]["kubeconfig"] == encoded(KUBECONFIG).as_str()
                && secret["data"]["kubeAdminPassword"] == password.as_str()
        }
    };
    hub.hub().until_is(&credentials("one"), SOON, "published", has("")).await?;
    hub.install("ci-op-one", "p4ssw0rd").await?;
    let late = hub.hub().until_is(&credentials("one"), SOON, "with its password", has("p4ssw0rd")).await?;
    announced(hub, &late).await?;

    let tampered = json!({ "data": { "kubeconfig": encoded("evil"), "more": encoded("x") } });
    hub.hub().merge(&credentials("one"), &tampered).await?;
    let repaired = hub.hub().until_is(&credentials("one"), SOON, "repaired", has("p4ssw0rd")).await?;
    ensure!(repaired["data"]["more"].is_null(), "what is not ours is not left in it");
    announced(hub, &repaired).await?;

    // A kubeconfig that the cluster refuses never replaces one that it accepts.
    hub.leave("ci-op-one", &hub.refused_kubeconfig(), "p4ssw0rd").await?;
    let refused = |ec: &Value| self::has(ec, "CredentialsInSync", "False", "KubeconfigRejected");
    hub.hub().until_is(&cluster("one"), SOON, "told that it is refused", refused).await?;
    let kept = hub.hub().get(&credentials("one")).await?.context("it was taken away")?;
    ensure!(has("p4ssw0rd")(&kept), "it was published");
    hub.install("ci-op-one", "p4ssw0rd").await?;
    let well = |ec: &Value| !self::has(ec, "CredentialsInSync", "False", "");
    hub.hub().until_is(&cluster("one"), SOON, "well again", well).await?;

    hub.hub().delete(&credentials("one")).await?;
    let again = hub.hub().until_is(&credentials("one"), SOON, "published again", has("p4ssw0rd")).await?;
    announced(hub, &again).await
}

/// The revision of the published Secret stands on the object, for those who may not watch Secrets.
async fn announced(hub: &Hub, secret: &Value) -> anyhow::Result<()> {
    let version = &secret["metadata"]["resourceVersion"];
    let is = |ec: &Value| {
        ec["metadata"]["annotations"]["testplatform.ci.openshift.org/credentials-revision"] == *version
    };
    hub.hub().until_is(&cluster("one"), SOON, "announced", is).await.map(|_| ())
}

/// At rest nothing is written but the Lease.
async fn rests(hub: &Hub) -> anyhow::Result<()> {
    let versions = async || {
        anyhow::Ok((
            hub.hub().get(&cluster("one")).await?.context("it is there")?["metadata"]["resourceVersion"]
                .clone(),
            hub.hub().get(&credentials("one")).await?.context("it is there")?["metadata"]["resourceVersion"]
                .clone(),
        ))
    };
    // The last event has been looked at when its look has led to nothing.
    let looks = || hub.metric("testplatform_provider_queue_wait_seconds_count");
    let (begun, mut looked) = (Instant::now(), None);
    while looked != Some(looks()?) {
        ensure!(begun.elapsed() < SOON, "it does not come to rest");
        looked = Some(looks()?);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let before = versions().await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    ensure!(versions().await? == before, "something was written at rest");
    ensure!(looked == Some(looks()?), "something was looked at at rest");
    Ok(())
}

/// Limits of the provider's rights.
async fn may_do_little(hub: &Hub) -> anyhow::Result<()> {
    let [on_hub, on_build] = &hub.as_provider;
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "other", "namespace": "ci-op-one" } });
    hub.build().apply(&secret).await?;
    let forbidden = async |what: &str, cluster: &Cluster, at: &testplatform_tests::cluster::At| {
        let words = cluster.get(at).await.err().with_context(|| format!("it may {what}"))?;
        ensure!(format!("{words:#}").contains("forbidden"), "{what}: {words:#}");
        anyhow::Ok(())
    };
    forbidden("read another Secret of a job", on_build, &at(SECRET, "ci-op-one", "other")).await?;
    forbidden("read any Secret of a build cluster", on_build, &at(SECRET, "kube-system", "x")).await?;
    forbidden("read Secrets of Prow", on_hub, &at(SECRET, JOBS, "x")).await?;
    forbidden("read what belongs to itself", on_hub, &at(SECRET, "provider-testplatform", "x")).await?;
    for cluster in [on_hub, on_build] {
        let words = cluster.list(SECRET).await.err().context("it may list Secrets")?;
        ensure!(format!("{words:#}").contains("forbidden"), "{words:#}");
    }
    // And yet it may read what it needs.
    on_build.get(&at(SECRET, "ci-op-one", "cluster-provisioning")).await?.context("the credentials")?;
    Ok(())
}

/// A deletion signals, waits for the job, and then ends.
async fn deleted_while_it_runs(hub: &Hub) -> anyhow::Result<()> {
    hub.ask("two").await?;
    let job = hub.job("two").await?;
    hub.run_job(&job, "ci-op-two").await?;
    hub.install("ci-op-two", "").await?;
    hub.hub().until_is(&cluster("two"), SOON, "ready", is_in("Ready")).await?;
    hub.hub().delete(&cluster("two")).await?;
    hub.build().until_is(&at(SECRET, "ci-op-two", "test-done-signal"), SOON, "the signal", |_| true).await?;
    ensure!(hub.hub().get(&cluster("two")).await?.is_some(), "it waits for its job");
    hub.end_job(&job, "success").await?;
    hub.hub().until_gone(&cluster("two"), SOON).await?;
    hub.hub().until_gone(&credentials("two"), SOON).await
}

/// Somebody takes the finalizer off: the job is ended all the same.
async fn orphaned(hub: &Hub) -> anyhow::Result<()> {
    hub.ask("three").await?;
    let job = hub.job("three").await?;
    hub.run_job(&job, "ci-op-three").await?;
    hub.hub().merge(&cluster("three"), &json!({ "metadata": { "finalizers": null } })).await?;
    // Which may come back before the deletion does.
    hub.hub().delete(&cluster("three")).await?;
    hub.build()
        .until_is(&at(SECRET, "ci-op-three", "test-done-signal"), SOON, "the signal", |_| true)
        .await?;
    hub.end_job(&job, "success").await?;
    hub.hub().until_gone(&cluster("three"), SOON).await
}

/// Who owns nothing gets nothing, and is told why.
async fn refused(hub: &Hub) -> anyhow::Result<()> {
    let mut wanted = hub::ephemeral_cluster("four");
    wanted["spec"]["ciOperator"]["test"]["clusterProfile"] = json!("gold");
    hub.hub().create(&wanted).await?;
    let object = hub.hub().until_is(&cluster("four"), SOON, "refused", is_in("Failed")).await?;
    ensure!(has(&object, "ProwJobCreating", "False", "EphemeralClusterValidationFailure"));
    let jobs = hub.hub().list(PROW_JOB).await?;
    ensure!(!jobs.iter().any(|job| job["metadata"]["labels"][hub::LABEL] == "four"));
    hub.hub().delete(&cluster("four")).await?;
    hub.hub().until_gone(&cluster("four"), SOON).await
}

/// A build cluster's kubeconfig goes and comes back; nothing that is ready is lost by it.
async fn reloaded(hub: &Hub) -> anyhow::Result<()> {
    hub.ask("five").await?;
    let job = hub.job("five").await?;
    hub.run_job(&job, "ci-op-five").await?;
    let file = hub.nest.directory().join("build-clusters/build01");
    let kubeconfig = std::fs::read(&file)?;
    std::fs::remove_file(&file)?;
    let unknown = |ec: &Value| has(ec, "ClusterReady", "False", "BuildClusterUnknown");
    hub.hub().until_is(&cluster("five"), SOON, "told that its build cluster is not known", unknown).await?;
    ensure!(hub.page("/metrics")?.contains("testplatform_build_cluster_up{cluster=\"build01\"} 0"));
    hub.install("ci-op-five", "").await?;
    std::fs::write(&file, kubeconfig)?;
    hub.hub().until_is(&cluster("five"), SOON, "ready", is_in("Ready")).await?;
    ensure!(hub.page("/metrics")?.contains("testplatform_build_cluster_up{cluster=\"build01\"} 1"));
    ensure!(hub.page("/readyz")? == "ok\n" && hub.page("/healthz")? == "ok\n");
    Ok(())
}

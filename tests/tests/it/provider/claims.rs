//! ClusterClaims on a real hub, with Hive played, and the real provider with exactly the rights that it ships with.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, Cluster, SOON, at, has},
    control_plane::{ControlPlane, connect},
    hive::{self, Behaviour, Hive, claimed, deployment, objects},
    kinds::{CLUSTER_CLAIM, CLUSTER_POOL, SECRET},
    manifests,
    nest::{Nest, Process},
    ports::free_ports,
    program, promise,
};

use super::{
    ALONE,
    hub::{kubeconfig, namespace},
};

const POOLS: &str = "cluster-pools";
const CREDENTIALS: &str = "testplatform-credentials";
const ACCOUNT: &str = "provider-testplatform";
const STATUS: &str = "testplatform.ci.openshift.org/status";
const REVISION: &str = "testplatform.ci.openshift.org/credentials-revision";
/// From Hive's word to the Secret.
const PROMISED: Duration = Duration::from_secs(3);

struct Bench {
    plane: ControlPlane,
    nest: Nest,
    as_provider: Cluster,
    as_konflux: Cluster,
    hive: Hive,
}

/// The life of claims on Hive's definitions.
pub async fn claims() -> anyhow::Result<()> {
    let _alone = ALONE.lock().await;
    live(&hive::definitions()?).await
}

async fn live(definitions: &[Value]) -> anyhow::Result<()> {
    let plane = ControlPlane::start("hive", &Binaries::ensure()?).await?;
    let hub = plane.cluster().clone();
    for name in ["ephemeral-cluster", POOLS, CREDENTIALS, ACCOUNT] {
        namespace(&hub, name, &json!({})).await?;
    }
    hub.apply_all(&manifests::package("install/hub/provider-rbac-clusterclaims.yaml")?).await?;
    hub.apply_all(&manifests::package("install/hub/konflux-identity.yaml")?).await?;
    hub.apply_all(&manifests::package("install/hub/konflux-identity-rbac.yaml")?).await?;
    hub.apply_all(&manifests::package("install/hub/konflux-identity-clusterclaims-rbac.yaml")?).await?;
    let nest = Nest::new("claims", None)?;
    let own = kubeconfig(&plane, ACCOUNT).await?.to_string();
    nest.file("kubeconfig", &own)?;
    let [port] = free_ports()?;
    let config = json!({
        "clusterClaim": { "mode": "on", "credentialsNamespace": CREDENTIALS, "poll": "2s", "dwell": "1s" },
        // As on a hub without Prow, for which these rights are.
        "leaderElection": { "namespace": ACCOUNT },
        "http": { "address": format!("127.0.0.1:{port}") },
    });
    nest.file("config.yaml", config.to_string())?;
    let konflux = konflux_token(&plane).await?;
    // Before Hive is there: said, and waited for.
    let mut provider = start(&nest)?;
    provider.until_says("this hub has no ClusterClaims", SOON).await?;
    provider.terminate();

    hive::define(&hub, definitions).await?;
    let hive = Hive::start(&hub, Behaviour::default());
    let mut provider = start(&nest)?;
    let as_provider = Cluster::new("hub as provider", connect(&own).await?);
    let as_konflux = Cluster::new("hub as Konflux", connect(&konflux).await?);
    let bench = Bench { plane, nest, as_provider, as_konflux, hive };
    let lived = bench.life().await;
    provider.check()?;
    lived.with_context(|| provider.tail())?;
    let log = provider.said()?;
    let secrets = |number: usize| {
        let cluster = format!("pool-{number}");
        [objects::token(&cluster), objects::password(&cluster)]
    };
    ensure!(
        !log.contains("hunter2")
            && !log.contains("token: t")
            && !(1..9).flat_map(secrets).any(|secret| log.contains(&secret)),
        "a secret is in the log"
    );
    drop(bench.nest);
    Ok(())
}

fn start(nest: &Nest) -> anyhow::Result<Process> {
    let mut command = Command::new(program::provider()?);
    command.args(["--config=config.yaml", "--kubeconfig=kubeconfig", "--log-format=text", "-d"]);
    nest.spawn("provider", &mut command)
}

async fn konflux_token(plane: &ControlPlane) -> anyhow::Result<String> {
    let issued = testplatform_tests::hub::issue_in(plane, "ephemeral-cluster", "konflux", "claims").await?;
    Ok(issued.kubeconfig.to_string())
}

fn claim(name: &str) -> At {
    at(CLUSTER_CLAIM, POOLS, name)
}

fn published(name: &str) -> At {
    at(SECRET, CREDENTIALS, &format!("{name}-credentials"))
}

fn told(claim: &Value) -> Value {
    let text = claim["metadata"]["annotations"][STATUS].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

impl Bench {
    fn hub(&self) -> &Cluster {
        self.plane.cluster()
    }

    /// As the function asks.
    async fn ask(&self, name: &str) -> anyhow::Result<()> {
        let mut claim = objects::cluster_claim(POOLS, name, "pool");
        claim["metadata"]["annotations"] = json!({ "testplatform.ci.openshift.org/resume": "true" });
        claim["spec"]["subjects"] =
            json!([{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": ACCOUNT }]);
        self.hub().create(&claim).await?;
        Ok(())
    }

    async fn life(&self) -> anyhow::Result<()> {
        let hub = self.hub();
        let asked = Instant::now();
        self.ask("one").await?;
        let lost = |claim: &Value| told(claim)["pool"]["found"] == false;
        hub.until_is(&claim("one"), SOON, "told that there is no pool", lost).await?;
        let there = asked.elapsed();
        hub.apply(&objects::cluster_pool(POOLS, "pool", 1, 1, 3)).await?;
        let waits = |claim: &Value| told(claim)["queue"]["position"] == 1;
        hub.until_is(&claim("one"), SOON, "in the queue", waits).await?;
        let running = |claim: &Value| has(claim, "ClusterRunning", "True", "Running");
        let assigned = hub.until_is(&claim("one"), SOON, "running", running).await?;
        let ran = Instant::now();
        let secret = hub.until_is(&published("one"), SOON, "published", |_| true).await?;
        let took = ran.elapsed();
        println!("from ClusterRunning to the Secret on the hub: {took:?}");
        promise::kept(PROMISED, there, took)?;
        let cluster = objects::text(&assigned, "/spec/namespace").to_owned();
        ensure!(secret["data"]["kubeconfig"] == encoded(&claimed::kubeconfig(&cluster)).as_str());
        ensure!(secret["data"]["kubeAdminPassword"] == encoded(&objects::password(&cluster)).as_str());
        let announced = |claim: &Value| {
            claim["metadata"]["annotations"][REVISION] == secret["metadata"]["resourceVersion"]
                && told(claim)["credentials"]["passwordAvailable"] == true
        };
        hub.until_is(&claim("one"), SOON, "told", announced).await?;
        self.rests(&cluster).await?;
        self.may_do_little(&cluster).await?;
        self.follows(&cluster).await?;
        self.two_claims().await?;
        self.ends(&cluster).await
    }

    /// Nothing is written at rest, though the credentials are read now and then.
    async fn rests(&self, cluster: &str) -> anyhow::Result<()> {
        let versions = async || {
            let mut all = Vec::new();
            for at in [claim("one"), published("one"), deployment(cluster)] {
                all.push(
                    self.hub().get(&at).await?.context("it is there")?["metadata"]["resourceVersion"].clone(),
                );
            }
            anyhow::Ok(all)
        };
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = versions().await?;
        tokio::time::sleep(Duration::from_secs(5)).await;
        ensure!(versions().await? == before, "something was written at rest");
        Ok(())
    }

    async fn may_do_little(&self, cluster: &str) -> anyhow::Result<()> {
        let cloud = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "cloud", "namespace": POOLS } });
        self.hub().apply(&cloud).await?;
        for (who, of) in [("the provider", &self.as_provider), ("Konflux", &self.as_konflux)] {
            for place in [
                at(SECRET, cluster, "cloud"),
                at(SECRET, POOLS, "cloud"),
                at(SECRET, ACCOUNT, "x"),
                at(SECRET, "kube-system", "x"),
            ] {
                let words = of.get(&place).await.err().with_context(|| format!("{who} may read {place}"))?;
                ensure!(format!("{words:#}").contains("forbidden"), "{who}: {words:#}");
            }
            let words = of.list(SECRET).await.err().with_context(|| format!("{who} may list Secrets"))?;
            ensure!(format!("{words:#}").contains("forbidden"), "{who}: {words:#}");
        }
        for name in ["0-admin-kubeconfig", "0-admin-password", "0-metadata-json"] {
            self.as_provider.get(&at(SECRET, cluster, name)).await?.context("the provider needs it")?;
            let words =
                self.as_konflux.get(&at(SECRET, cluster, name)).await.err().context("Konflux may read it")?;
            ensure!(format!("{words:#}").contains("forbidden"), "{words:#}");
        }
        let words =
            self.as_konflux.get(&deployment(cluster)).await.err().context("Konflux may look at clusters")?;
        ensure!(format!("{words:#}").contains("forbidden"), "{words:#}");
        // Both identities can read the claim and its credentials. The provider changes no spec of unclaimed objects.
        for of in [&self.as_provider, &self.as_konflux] {
            of.get(&claim("one")).await?.context("the claim")?;
            of.get(&published("one")).await?.context("the credentials")?;
        }
        let pool = at(CLUSTER_POOL, POOLS, "pool");
        let words = self
            .as_provider
            .merge(&pool, &json!({ "spec": { "size": 9 } }))
            .await
            .err()
            .context("it may change pools")?;
        ensure!(words.to_string().contains("forbidden"), "{words}");
        Ok(())
    }

    async fn follows(&self, cluster: &str) -> anyhow::Result<()> {
        let hub = self.hub();
        let rotated = objects::kubeconfig(cluster, "t1");
        let holds = |text: &str| {
            let text = encoded(text);
            move |secret: &Value| secret["data"]["kubeconfig"] == text.as_str()
        };
        self.hive.rotate(cluster, &rotated).await?;
        hub.until_is(&published("one"), SOON, "rotated", holds(&rotated)).await?;
        hub.merge(&published("one"), &json!({ "data": { "kubeconfig": encoded("evil") } })).await?;
        hub.until_is(&published("one"), SOON, "repaired", holds(&rotated)).await?;
        let plugin = rotated.replace("token: t1", "exec: {apiVersion: v1, command: rm}");
        self.hive.rotate(cluster, &plugin).await?;
        let rejected = |claim: &Value| told(claim)["blockingReason"]["reason"] == "KubeconfigRejected";
        hub.until_is(&claim("one"), SOON, "told that it is rejected", rejected).await?;
        ensure!(
            hub.get(&published("one")).await?.is_some_and(|s| holds(&rotated)(&s)),
            "a plugin was published"
        );
        self.hive.rotate(cluster, &rotated).await?;
        hub.until_is(&claim("one"), SOON, "well again", |c| told(c)["blockingReason"].is_null()).await?;
        // Asleep while it is in use: it is started again, by what Hive grants the claim's subject.
        self.hive.hibernate(cluster).await?;
        hub.until_is(&claim("one"), SOON, "asleep", |c| told(c)["powerState"] == "Hibernating").await?;
        hub.until_is(&deployment(cluster), SOON, "awake", |c| c["status"]["powerState"] == "Running").await?;
        ensure!(hub.get(&published("one")).await?.is_some(), "its credentials stay");
        Ok(())
    }

    /// Each gets its own, and a claim that names another's cluster gets nothing.
    async fn two_claims(&self) -> anyhow::Result<()> {
        let hub = self.hub();
        self.ask("two").await?;
        hub.until_is(&published("two"), SOON, "published", |_| true).await?;
        let cluster = async |name: &str| {
            anyhow::Ok(
                objects::text(&hub.get(&claim(name)).await?.context("a claim")?, "/spec/namespace")
                    .to_owned(),
            )
        };
        let (one, two) = (cluster("one").await?, cluster("two").await?);
        ensure!(one != two, "one cluster for two");
        let thief = json!({
            "apiVersion": "hive.openshift.io/v1", "kind": "ClusterClaim",
            "metadata": { "name": "thief", "namespace": POOLS, "annotations": { "testplatform.ci.openshift.org/resume": "true" } },
            "spec": { "clusterPoolName": "other", "namespace": one },
        });
        hub.create(&thief).await?;
        let refused = |claim: &Value| told(claim)["blockingReason"].is_object();
        hub.until_is(&claim("thief"), SOON, "refused", refused).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        ensure!(hub.get(&published("thief")).await?.is_none(), "another's credentials were published");
        hub.delete(&claim("thief")).await?;
        hub.until_gone(&claim("thief"), SOON).await
    }

    async fn ends(&self, cluster: &str) -> anyhow::Result<()> {
        let hub = self.hub();
        self.hive.refuse(cluster, true);
        hub.delete(&claim("one")).await?;
        hub.until_gone(&published("one"), SOON).await?;
        let refused = |claim: &Value| told(claim)["deprovisionFailure"]["reason"] == "AuthenticationFailed";
        hub.until_is(&claim("one"), SOON, "told why its cluster stays", refused).await?;
        ensure!(hub.get(&claim("one")).await?.is_some(), "its cluster holds it");
        self.hive.refuse(cluster, false);
        hub.until_gone(&claim("one"), SOON).await?;
        ensure!(hub.get(&deployment(cluster)).await?.is_none());
        // Lost underneath: the claim stays, and its credentials do not.
        let two = hub.get(&claim("two")).await?.context("a claim")?;
        self.hive.lose(objects::text(&two, "/spec/namespace")).await?;
        hub.until_gone(&published("two"), SOON).await?;
        hub.until_is(&claim("two"), SOON, "told", |c| has(c, "ClusterRunning", "False", "ClusterDeleted"))
            .await?;
        let gone = |claim: &Value| {
            told(claim)["credentials"].is_null() && claim["metadata"]["annotations"][REVISION].is_null()
        };
        hub.until_is(&claim("two"), SOON, "told that they are withdrawn", gone).await.map(|_| ())
    }
}

fn encoded(text: &str) -> String {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.encode(text)
}

//! Course of a cluster by a template, whichever backend made it: trouble that passes and trouble that lasts, a hub that is away.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{SOON, condition, has},
    hive::objects::text,
    hub::{self, own::OwnHubs},
    patience::{self, longer},
    proxy::{Manner, Proxy},
    tenant::{Tenant, decoded},
    witness::Witness,
};
use tokio::time::sleep;

use super::{hubs::placed, hypershift::stays_ready};

/// For how long trouble is borne before it counts, and some: two minutes where a cluster was ready, three before that.
pub const LASTS: Duration = Duration::from_mins(4);
/// provider-kubernetes tries a hub that does not answer at growing distances, a minute at most.
const BACK: Duration = Duration::from_secs(100);
/// How long it is watched that nothing is made anew.
const WATCHED: Duration = Duration::from_secs(5);

/// Begins to watch whether the claim's Secret keeps its kubeconfig.
async fn keeps(tenant: &Tenant<'_>, kubeconfig: &str) -> anyhow::Result<Witness> {
    tenant.until_secret(SOON, kubeconfig).await?;
    let kubeconfig = kubeconfig.to_owned();
    let kept = move |secret: Option<&Value>| {
        secret.is_some_and(|secret| decoded(secret).get("kubeconfig") == Some(&kubeconfig))
    };
    Witness::of(tenant.konflux(), &tenant.secret(), kept).await
}

/// Message of a claim's condition.
pub fn said(claim: &Value, type_: &str) -> String {
    let message = condition(claim, type_).and_then(|c| c["message"].as_str());
    message.unwrap_or_default().to_owned()
}

/// The control plane of a cluster that is ready goes out of order. That is told at once, and once it has lasted the claim is Degraded, with
/// its credentials; it is Ready again with the cluster. `words`: the hub's. `degrade`: takes it out of order, or puts it right.
pub async fn degraded_and_recovered(
    tenant: &Tenant<'_>,
    kubeconfig: &str,
    words: &str,
    degrade: impl Fn(bool),
) -> anyhow::Result<()> {
    let secret = keeps(tenant, kubeconfig).await?;
    degrade(true);
    let claim = tenant.until_condition("ControlPlaneAvailable", "False", "Unavailable").await?;
    let told = said(&claim, "ControlPlaneAvailable");
    ensure!(told.contains(words), "{words:?} is not in {told:?}");
    ensure!(claim["status"]["phase"] == "Ready", "it may pass: {}", claim["status"]);

    let degraded = |claim: &Value| {
        claim["status"]["phase"] == "Degraded" && has(claim, "ClusterReady", "True", "Degraded")
    };
    let claim = tenant.until(LASTS, "Degraded", degraded).await?;
    let message = text(&claim, "/status/message");
    ensure!(message.contains("the cluster was ready") && message.contains(words), "{message}");
    let error = &claim["status"]["lastError"];
    ensure!(text(error, "/message").contains(words) && error["terminal"] == false, "{error}");
    ensure!(has(&claim, "CredentialsPublished", "True", ""), "{}", claim["status"]);
    ensure!(has(&claim, "ProwJobCompleted", "False", "Running"), "{}", claim["status"]);

    degrade(false);
    let recovered = |claim: &Value| {
        claim["status"]["phase"] == "Ready"
            && has(claim, "ControlPlaneAvailable", "True", "Available")
            && has(claim, "ClusterReady", "True", "Ready")
    };
    tenant.until(SOON, "recovered", recovered).await?;
    secret.verdict().await.context("the credentials were taken back")?;
    // The recorder has a watch of its own.
    let course = async {
        while !tenant.phases().ends_with(&["Ready", "Degraded", "Ready"].map(str::to_owned)) {
            sleep(Duration::from_millis(50)).await;
        }
    };
    patience::timeout(SOON, course).await.with_context(|| format!("{:?}", tenant.phases()))?;
    ensure!(tenant.remotes_made() == 1, "another one was asked for");
    Ok(())
}

/// Request of a claim over a wire of its own to the hub, until it is dropped.
pub struct Wired<'t> {
    tenant: &'t Tenant<'t>,
    wire: Proxy,
}

impl<'t> Wired<'t> {
    /// Makes the claim, and waits through to Ready.
    pub async fn got(tenant: &'t Tenant<'t>) -> anyhow::Result<Self> {
        let engine = tenant.engine;
        let wire = Proxy::to(engine.hub.port()).await?;
        let hubs = OwnHubs::of(tenant, &[]);
        let name = hubs.name("far");
        let credential = hub::issue(&engine.hub, hub::IDENTITY, &name).await?;
        engine.use_credential(&name, &credential.through(wire.port())).await?;
        hubs.add("far", &name, &json!({}), &json!({})).await?;
        tenant.ask(&json!({ "hub": hubs.wanted(&json!({})) })).await?;
        placed(tenant, &name, SOON).await?;
        tenant.until_phase("Ready").await?;
        Ok(Self { tenant, wire })
    }

    /// The hub is away for a while. The claim says so and keeps what it has; what it asks for meanwhile arrives afterwards. `change`: of
    /// its spec. `arrived`: whether a claim has it.
    pub async fn away(
        &self,
        kubeconfig: &str,
        change: &Value,
        arrived: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<()> {
        let tenant = self.tenant;
        let secret = keeps(tenant, kubeconfig).await?;
        let live = tenant.until_phase("Ready").await?;
        let ready = stays_ready(tenant).await?;
        self.wire.be(Manner::Refusing);
        self.wire.reset();
        tenant.change(change).await?;
        let cut_off = |claim: &Value| has(claim, "RemoteConsistent", "False", "HubUnreachable");
        let claim = tenant.until(BACK, "cut off", cut_off).await?;
        let words = said(&claim, "RemoteConsistent");
        ensure!(words.starts_with("the hub cannot be reached: "), "{words}");
        tenant.nudge("away").await?;
        sleep(longer(WATCHED)).await;
        let claim = tenant.until(SOON, "still cut off", cut_off).await?;
        let (before, now) = (&live["status"], &claim["status"]);
        ensure!(now["hub"] == before["hub"], "it moved: {}", now["hub"]);
        ensure!(now["backend"] == before["backend"], "another one: {}", now["backend"]);
        ensure!(has(&claim, "SpecApplied", "False", ""), "who applied it? {now}");

        self.wire.be(Manner::Good);
        let back = |claim: &Value| {
            has(claim, "RemoteConsistent", "True", "")
                && has(claim, "SpecApplied", "True", "UpToDate")
                && arrived(claim)
        };
        tenant.until(BACK, "as it should be", back).await?;
        ready.verdict().await?;
        secret.verdict().await.context("the credentials were taken back")?;
        ensure!(tenant.remotes_made() == 1, "a second one was made");
        Ok(())
    }
}

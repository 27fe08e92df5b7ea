//! Prow, ci-operator and those beside them at their worst: late, by halves, or not at all.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Controller,
    cluster::{SOON, condition, has},
    manners::{
        Deed::{
            self, Delete, End, Leave, NameNamespace, Nothing, Run, Schedule, TakeNamespace,
            TakeNamespaceSilently,
        },
        Left,
    },
    prow::{JOBS, Job},
    tenant::{KUBECONFIG, PASSWORD, Tenant, decoded},
};

/// Misbehaviour of the hub, and the resulting `ClusterReady=False`: the reason, and words of the message.
type Course = [(Deed, &'static str, &'static str)];

/// The provider lets a build cluster be away for half a minute before it says so, and looks for it as seldom. A wire that was cut without a
/// word it notices after 70 seconds; and other scenarios go on beside this one.
const AWAY: Duration = Duration::from_mins(2);

const SCHEDULING: &str = "ProwJobScheduling";
const NAMESPACE: &str = "NamespacePending";
const CREDENTIALS: &str = "CredentialsPending";

pub async fn job_scheduled_late(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let course: &Course = &[
        (Nothing, SCHEDULING, "the ProwJob waits for a build cluster"),
        (Schedule, NAMESPACE, "build cluster build01 has no namespace"),
        (Run, NAMESPACE, "build cluster build01 has no namespace"),
        (TakeNamespace, CREDENTIALS, "Secret cluster-provisioning is not created yet"),
    ];
    let (_, job) = play(tenant, course).await?;
    job.suffer(Leave(Left::All)).await?;
    arrived(tenant, PASSWORD).await
}

/// Credentials in a namespace that nobody has named yet are nobody's.
pub async fn namespace_named_late(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let course: &Course = &[
        (Schedule, NAMESPACE, "build01"),
        (Run, NAMESPACE, "build01"),
        (TakeNamespaceSilently, NAMESPACE, "build01"),
        (Leave(Left::All), NAMESPACE, "build01"),
        (Nothing, NAMESPACE, "build cluster build01 has no namespace of ci-operator for the ProwJob"),
    ];
    let (_, job) = play(tenant, course).await?;
    job.suffer(NameNamespace).await?;
    arrived(tenant, PASSWORD).await
}

pub async fn credentials_filled_late(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let course: &Course = &[
        (Schedule, NAMESPACE, "build01"),
        (Run, NAMESPACE, "build01"),
        (TakeNamespace, CREDENTIALS, "is not created yet"),
        (Leave(Left::Password), CREDENTIALS, "Secret cluster-provisioning has no kubeconfig yet"),
        (
            Leave(Left::Unfinished),
            CREDENTIALS,
            "key kubeconfig of Secret cluster-provisioning has no current context with a cluster and a user",
        ),
        (Leave(Left::Empty), CREDENTIALS, "Secret cluster-provisioning has no kubeconfig yet"),
        (Nothing, CREDENTIALS, "Secret cluster-provisioning has no kubeconfig yet"),
    ];
    let (_, job) = play(tenant, course).await?;
    job.suffer(Leave(Left::All)).await?;
    arrived(tenant, PASSWORD).await
}

/// A kubeconfig is enough to begin with; the password follows.
pub async fn password_late(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let course: &Course = &[
        (Schedule, NAMESPACE, "build01"),
        (Run, NAMESPACE, "build01"),
        (TakeNamespace, CREDENTIALS, "is not created yet"),
    ];
    let (_, job) = play(tenant, course).await?;
    job.suffer(Leave(Left::Kubeconfig)).await?;
    arrived(tenant, "").await?;
    tenant.until_condition("CredentialsPublished", "True", "PublishedWithoutPassword").await?;
    // Core tells claims of new credentials by the second in which it published them. Two in one second would be one.
    job.suffer(Nothing).await?;
    job.suffer(Leave(Left::All)).await?;
    let whole = |secret: &Value| decoded(secret).get("kubeAdminPassword").is_some_and(|p| p == PASSWORD);
    tenant.konflux().until_is(&tenant.secret(), SOON, "with its password", whole).await?;
    tenant.until_condition("CredentialsPublished", "True", "Published").await?;
    arrived(tenant, PASSWORD).await
}

pub async fn job_aborted_by_others_when_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (_, job) = play(tenant, UNDER_WAY).await?;
    job.suffer(Leave(Left::All)).await?;
    arrived(tenant, PASSWORD).await?;
    job.suffer(End("aborted")).await?;
    failed(tenant, &job, "EndedWithoutSignal", "ended as aborted, nobody had asked for it").await?;
    emptied(tenant).await
}

pub async fn job_deleted_by_others_when_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (_, job) = play(tenant, UNDER_WAY).await?;
    job.suffer(Leave(Left::All)).await?;
    arrived(tenant, PASSWORD).await?;
    job.suffer(Delete).await?;
    job.until_signalled(SOON).await?;
    failed(tenant, &job, "ProwJobGone", "does not exist any more").await?;
    emptied(tenant).await
}

/// It ends when it can be told again, and not by being aborted: that could leave a cluster behind.
pub async fn signal_ignored(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (controller, job) = play(tenant, UNDER_WAY).await?;
    job.suffer(Leave(Left::All)).await?;
    arrived(tenant, PASSWORD).await?;
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    job.until_signalled(SOON).await?;
    let overdue = |ec: &Value| has(ec, "ProwJobCompleted", "False", "DeprovisionTimeout");
    tenant.engine.hub.cluster().until_is(&controller.at(), AWAY, "overdue", overdue).await?;
    tenant.until_phase("Deprovisioning").await?;
    tenant.until_condition("ProwJobCompleted", "False", "TearingDown").await?;
    tenant.until_condition("TestCompleted", "True", "Signalled").await?;
    job.until_state(SOON, "pending").await.context("a deprovision was cut short")?;
    job.suffer(End("success")).await?;
    tenant.until_phase("Deprovisioned").await?;
    tenant.until_condition("ProwJobCompleted", "True", "ProwJobCompleted").await?;
    emptied(tenant).await
}

/// A build cluster behind a gate, which is closed twice: before the cluster is there, and when it is.
pub async fn build_cluster_away(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    const SITE: &str = "build02";
    let gate = tenant.engine.fulfiller.behind_a_gate(SITE)?;
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    let hub = tenant.engine.hub.cluster();
    let job = Job::of(hub, JOBS, (SITE, hub), &tenant.composite().await?).await?;
    let course: &Course = &[(Schedule, NAMESPACE, SITE), (Run, NAMESPACE, SITE)];
    go_on(tenant, &controller, &job, course).await?;

    gate.close();
    let course = [Deed::TakeNamespace, Leave(Left::All)];
    for deed in course {
        job.suffer(deed).await?;
    }
    let away = |ec: &Value| has(ec, "ClusterReady", "False", "BuildClusterUnreachable");
    hub.until_is(&controller.at(), AWAY, "told that its build cluster is away", away).await?;
    waits(tenant).await?;
    let told = |claim: &Value| {
        claim["status"]["message"].as_str().is_some_and(|m| m.contains("build02 does not answer"))
    };
    tenant.until(SOON, "told what it waits for", told).await?;
    gate.open()?;
    tenant.until(AWAY, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    arrived(tenant, PASSWORD).await?;

    // Whoever has a cluster keeps it, and is told.
    gate.close();
    let unseen = |claim: &Value| has(claim, "CredentialsInSync", "False", "BuildClusterUnreachable");
    let claim = tenant.until(AWAY, "told that nobody can look", unseen).await?;
    ensure!(claim["status"]["phase"] == "Ready" && has(&claim, "ClusterReady", "True", "Ready"), "{claim}");
    tenant.until_secret(SOON, KUBECONFIG).await?;
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    tenant.until_condition("TestCompleted", "False", "BuildClusterUnreachable").await?;
    tenant.until_phase("Deprovisioning").await?;
    gate.open()?;
    job.until_signalled(AWAY).await?;
    job.suffer(End("success")).await?;
    tenant.until_phase("Deprovisioned").await?;
    emptied(tenant).await?;
    tenant.engine.fulfiller.without(SITE)
}

const UNDER_WAY: &Course = &[
    (Schedule, NAMESPACE, "build01"),
    (Run, NAMESPACE, "build01"),
    (TakeNamespace, CREDENTIALS, "is not created yet"),
];

/// Asks for a cluster and lets a course be taken.
async fn play(tenant: &Tenant<'_>, course: &Course) -> anyhow::Result<(Controller, Job)> {
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    let job = controller.job().await?;
    go_on(tenant, &controller, &job, course).await?;
    Ok((controller, job))
}

/// Does each thing, and waits until the hub says what it leads to. To the tenant it is all the same: the cluster is
/// being created.
async fn go_on(
    tenant: &Tenant<'_>,
    controller: &Controller,
    job: &Job,
    course: &Course,
) -> anyhow::Result<()> {
    for (deed, reason, words) in course {
        let told = |ec: &Value| {
            let says = |c: &Value| c["message"].as_str().is_some_and(|message| message.contains(words));
            has(ec, "ClusterReady", "False", reason) && condition(ec, "ClusterReady").is_some_and(says)
        };
        let seen = async {
            job.suffer(*deed).await?;
            let ec = tenant.engine.hub.cluster().until_is(&controller.at(), SOON, reason, told).await?;
            ensure!(ec["status"]["phase"] == "Provisioning", "{ec}");
            ensure!(ec["status"]["prowJobId"] == job.name(), "{ec}");
            waits(tenant).await
        };
        seen.await.with_context(|| format!("after {deed:?}, which leads to {reason}: {words}"))?;
    }
    Ok(())
}

/// The tenant waits for a cluster, and nothing is wrong.
async fn waits(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let is = |claim: &Value| {
        let word = condition(claim, "_EphemeralClusterPhase").map(|c| &c["message"]);
        claim["status"]["phase"] == "Provisioning"
            && word.is_some_and(|word| word == "Provisioning")
            && has(claim, "ClusterReady", "False", "Provisioning")
            && has(claim, "ProwJobCompleted", "False", "Running")
            && has(claim, "CredentialsPublished", "False", "")
    };
    tenant.until(SOON, "waiting for its cluster", is).await?;
    let secret = tenant.konflux().get(&tenant.secret()).await?;
    let kubeconfig = secret.as_ref().map(decoded).unwrap_or_default().remove("kubeconfig");
    ensure!(kubeconfig.is_none_or(|k| k.is_empty()), "there is a kubeconfig already");
    Ok(())
}

/// The tenant has a cluster.
async fn arrived(tenant: &Tenant<'_>, password: &str) -> anyhow::Result<()> {
    tenant.until_phase("Ready").await?;
    tenant.until_condition("ClusterReady", "True", "Ready").await?;
    let secret = tenant.until_secret(SOON, KUBECONFIG).await?;
    ensure!(secret.get("kubeAdminPassword").is_some_and(|p| p == password), "another password");
    Ok(())
}

/// The tenant is told that there is no cluster, why, and where to look.
async fn failed(tenant: &Tenant<'_>, job: &Job, reason: &str, words: &str) -> anyhow::Result<()> {
    tenant.until_phase("Failed").await?;
    tenant.until_condition("ClusterReady", "False", "Failed").await?;
    let claim = tenant.until_condition("ProwJobCompleted", "True", reason).await?;
    let message = claim["status"]["message"].as_str().unwrap_or_default();
    ensure!(message.contains(words) && message.contains(&job.url()), "it gives no reason: {message:?}");
    let noted = |claim: &Value| claim["status"]["diagnostics"].is_string();
    let claim = tenant.until(SOON, "with diagnostics", noted).await?;
    let diagnostics: Value =
        serde_json::from_str(claim["status"]["diagnostics"].as_str().unwrap_or_default())?;
    ensure!(diagnostics["reason"] == reason, "{diagnostics:#}");
    ensure!(diagnostics["prowJob"]["name"] == job.name(), "{diagnostics:#}");
    Ok(())
}

/// The credentials of a cluster that is gone are gone.
async fn emptied(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let secret = tenant.until_secret(SOON, "").await?;
    ensure!(secret.get("kubeAdminPassword").is_some_and(String::is_empty), "the password is still there");
    Ok(())
}

//! `credentials.mode: ServiceAccount`, with a control plane of its own as the cluster that is delivered. The credentials of its admin are
//! nowhere else in the world, and through the whole life of the claim they lie where the job left them, and nowhere else.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_apis::names::ci_operator;
use testplatform_tests::{
    binaries::Binaries,
    cluster::{Cluster, SOON, at},
    control_plane::{ControlPlane, connect},
    hub::issue_in,
    kinds::{CONFIG_MAP, SECRET},
    patience,
    search::{Place, unique},
    tenant::{Tenant, decoded},
};

use super::{
    canary::{Canary, GONE, KUBECONFIG, PASSWORD},
    space::APART,
};

/// Every account has its ServiceAccount here (`provider/src/credentials/account.rs`).
const NAMESPACE: &str = "testplatform-access";

/// The kubeconfig of an administrator of the delivered cluster, and what is unique in it.
pub(super) async fn admin(delivered: &ControlPlane) -> anyhow::Result<(String, String)> {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "admin", "namespace": "kube-system" },
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "admin" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": "admin", "namespace": "kube-system" }],
    });
    // Of the roles that every cluster has, some are put together by controllers that do not run here.
    let looker = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "looker" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"] }],
    });
    delivered.cluster().apply_all(&[account, binding, looker]).await?;
    let config = issue_in(delivered, "kube-system", "admin", "canary").await?.kubeconfig;
    let token = config["users"][0]["user"]["token"].as_str().context("no token")?;
    let signature = token.rsplit('.').next().unwrap_or_default().to_owned();
    Ok((config.to_string(), signature))
}

/// `true` if a kubeconfig still authenticates.
async fn works(kubeconfig: &str) -> anyhow::Result<bool> {
    let somebody = Cluster::new("the delivered cluster, as the tenant", connect(kubeconfig).await?);
    match somebody.list(CONFIG_MAP).await {
        Ok(_) => Ok(true),
        Err(error) if format!("{error:#}").contains("nauthorized") => Ok(false),
        Err(error) => Err(error),
    }
}

/// The kubeconfig that the tenant has, once it is another than before.
async fn given(tenant: &Tenant<'_>, before: &str) -> anyhow::Result<String> {
    let of = |secret: &Value| decoded(secret).remove("kubeconfig").unwrap_or_default();
    let other = |secret: &Value| !of(secret).is_empty() && of(secret) != before;
    let secret = tenant.konflux().until_is(&tenant.secret(), GONE, "with another kubeconfig", other).await?;
    let password = decoded(&secret).remove("kubeAdminPassword");
    ensure!(password.is_none_or(|password| password.is_empty()), "there is a password");
    Ok(of(&secret))
}

fn wish(generation: u32) -> Value {
    json!({ "credentials": { "mode": "ServiceAccount", "clusterRole": "looker", "generation": generation } })
}

async fn until_refused(kubeconfig: &str) -> anyhow::Result<()> {
    let refused = async {
        while works(kubeconfig).await.unwrap_or(true) {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    patience::timeout(SOON, refused).await.context("the token still works")
}

/// Out of a pool. Until the cluster answers nothing is given, and the admin's credentials stay where Hive has them.
pub async fn hive_service_account_mode(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let delivered =
        ControlPlane::start(&format!("delivered-to-{}", tenant.name), &Binaries::ensure()?).await?;
    let (kubeconfig, signature) = admin(&delivered).await?;
    let canary = Canary::of(signature, unique())?;
    tenant.ask(&wish(0)).await?;
    let claimed = tenant.claimed().await?;
    let cluster = claimed.until_running(SOON).await?;
    tenant.until_condition("ClusterRunning", "True", "").await?;
    tenant.until_condition("CredentialsPublished", "False", "").await?;
    tenant.hive()?.rotate(&cluster, &kubeconfig).await?;
    let first = given(tenant, "").await?;
    ensure!(works(&first).await?, "what was delivered does not work");
    tenant.until_condition("ClusterReady", "True", "Ready").await?;
    tenant.until_condition("CredentialsPublished", "True", "PublishedWithoutPassword").await?;
    let source = at(SECRET, &cluster, "0-admin-kubeconfig");
    let its = ["kubeconfig", "raw-kubeconfig"].map(|key| Place::secret("hub", &source, key)).to_vec();
    let with_hive = [(KUBECONFIG, its)];
    canary.lies_in(tenant, "ready", &with_hive).await?;
    super::hive::ended(tenant, &claimed, &cluster).await?;
    until_refused(&first).await?;
    // Hive leaves the namespace of a cluster that is gone, and what is in it, to whoever made it.
    canary.lies_in(tenant, "torn down", &with_hive).await.map(drop)
}

/// By a template.
pub async fn hypershift_service_account_mode(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let delivered =
        ControlPlane::start(&format!("delivered-to-{}", tenant.name), &Binaries::ensure()?).await?;
    let (kubeconfig, _) = admin(&delivered).await?;
    tenant.ask(&wish(0)).await?;
    tenant.until_condition("ControlPlaneAvailable", "True", "").await?;
    tenant.until_condition("CredentialsPublished", "False", "").await?;
    let claim = tenant.until_phase("Provisioning").await?;
    let name = claim["status"]["backend"]["name"].as_str().context("no name")?;
    tenant.hypershift().await?.rotate(name, &kubeconfig).await?;
    let first = given(tenant, "").await?;
    tenant.until_phase("Ready").await?;
    ensure!(works(&first).await?, "what was delivered does not work");
    tokio::time::sleep(APART).await;
    tenant.change(&wish(1)).await?;
    let second = given(tenant, &first).await?;
    ensure!(works(&second).await? && works(&first).await?, "a token does not work");
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    tenant.until(GONE, "over", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    until_refused(&second).await
}

/// From the claim to its end.
pub async fn service_account_mode(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let delivered = ControlPlane::start("delivered", &Binaries::ensure()?).await?;
    let (kubeconfig, signature) = admin(&delivered).await?;
    let canary = Canary::of(signature, unique())?;
    canary.lies_in(tenant, "before", &[]).await?;
    let controller = tenant.ask_and_arrive(&wish(0)).await?;
    controller.provision().await?;
    let job = controller.job().await?;
    let source = at(SECRET, &job.namespace(), ci_operator::TEST);
    let made = |key: &str| vec![Place::secret("hub", &source, key)];
    let there = [(KUBECONFIG, made("kubeconfig")), (PASSWORD, made("kubeadmin-password"))];
    controller.ready(&kubeconfig, &canary.password).await?;
    tenant.until_condition("ClusterReady", "True", "Ready").await?;
    tenant.until_condition("CredentialsPublished", "True", "PublishedWithoutPassword").await?;
    let first = given(tenant, "").await?;
    let claim = tenant.until_phase("Ready").await?;
    ensure!(claim["status"]["credentials"]["mode"] == "ServiceAccount", "{}", claim["status"]["credentials"]);
    ensure!(works(&first).await?, "what was delivered does not work");
    let somebody = Cluster::new("the delivered cluster, as the tenant", connect(&first).await?);
    let more = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "namespace": "default" } });
    ensure!(somebody.create(&more).await.is_err(), "who may look may write");
    canary.lies_in(tenant, "ready", &there).await?;

    tenant.change(&wish(1)).await?;
    let second = given(tenant, &first).await?;
    ensure!(works(&second).await? && works(&first).await?, "a token does not work");
    canary.lies_in(tenant, "with another token", &there).await?;

    tenant.change(&json!({ "tearDownCluster": true })).await?;
    controller.until_told_to_end(SOON).await?;
    controller.deprovision().await?;
    tenant.until_phase("Deprovisioning").await?;
    canary.lies_in(tenant, "while it is torn down", &there).await?;
    controller.deprovisioned().await?;
    tenant.until_phase("Deprovisioned").await?;
    until_refused(&second).await?;
    let uid = claim["status"]["backend"]["uid"].as_str().context("no uid")?;
    let account = testplatform_tests::kinds::Kind { api_version: "v1", kind: "ServiceAccount" };
    let account = at(account, NAMESPACE, &format!("tpc-{uid}"));
    delivered.cluster().until_gone(&account, SOON).await?;
    tenant.engine.hub.cluster().until_gone(&source, GONE).await?;
    canary.lies_in(tenant, "torn down", &[]).await.map(drop)
}

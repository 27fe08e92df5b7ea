//! Clusters with credentials that the tenant brings along: the carrier takes them to a namespace of the claim alone, where Hive makes the
//! cluster with them, and they go after it.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use testplatform_tests::{
    carrier,
    cluster::{At, Cluster, SOON, at, at_root, has},
    control_plane::connect,
    hive::claimed::kubeconfig,
    hub,
    hypershift::{self, node_pools},
    kinds::{CLUSTER_CLAIM, CLUSTER_POOL, HOSTED_CLUSTER, NAMESPACE, OBJECT, SECRET},
    manifests,
    tenant::{Tenant, decoded},
};

use crate::hive::GONE;

/// What the carrier answers is seen by a poll of half a minute, and the carrier itself looks every ten seconds.
const HEARD: Duration = Duration::from_mins(2);
/// How long Hive holds a cluster here.
const HELD: Duration = Duration::from_secs(10);
/// What must be in no place but Secrets.
const KEY: &str = "wJalrXUtnFEMI/brought+along";

/// Whether an object has the value, as it is or as Secrets have it.
fn tells(object: &Value, value: &str) -> bool {
    let text = object.to_string();
    [value.to_owned(), BASE64_STANDARD.encode(value)].iter().any(|value| text.contains(value.as_str()))
}

/// A claim that brings its own credentials, and what it has on the hub.
struct Brought<'t> {
    tenant: &'t Tenant<'t>,
    hub: &'t Cluster,
    name: String,
    namespace: String,
}

impl<'t> Brought<'t> {
    /// Makes the claim, and waits until it has a namespace on the hub.
    async fn ask(tenant: &'t Tenant<'_>) -> anyhow::Result<Self> {
        tenant.engine.carry().await?;
        tenant.engine.offer.bring(tenant.pool(), &tenant.namespace).await?;
        tenant
            .ask(&json!({ "byoc": {
                "platform": { "aws": { "region": "us-east-1" } }, "baseDomain": "ci.tenant.example",
                "credentialsSecretRef": { "name": "my-aws" },
            } }))
            .await?;
        let placed = |claim: &Value| claim["status"]["backend"]["namespace"].is_string();
        let claim = tenant.until(SOON, "placed", placed).await?;
        let namespace = claim["status"]["backend"]["namespace"].as_str().unwrap_or_default().to_owned();
        ensure!(namespace.starts_with("byoc-"), "{namespace} is not its own");
        let name = tenant.composite().await?;
        Ok(Self { tenant, hub: tenant.engine.hub.cluster(), name, namespace })
    }

    /// Lets the carrier get the Secret, as we tell tenants to.
    async fn let_in(&self) -> anyhow::Result<()> {
        for mut manifest in manifests::package("install/examples/byoc-role.yaml")? {
            manifest["metadata"]["namespace"] = self.tenant.namespace.as_str().into();
            self.tenant.konflux().apply(&manifest).await?;
        }
        Ok(())
    }

    async fn secret(&self, keys: &[&str]) -> anyhow::Result<()> {
        let data: serde_json::Map<String, Value> =
            keys.iter().map(|key| ((*key).to_owned(), BASE64_STANDARD.encode(KEY).into())).collect();
        let metadata = json!({ "name": "my-aws", "namespace": self.tenant.namespace });
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data });
        self.tenant.konflux().apply(&secret).await.map(|_| ())
    }

    fn home(&self) -> At {
        at_root(NAMESPACE, &self.namespace)
    }

    fn pool(&self) -> At {
        at(CLUSTER_POOL, &self.namespace, &self.name)
    }

    fn claim(&self) -> At {
        at(CLUSTER_CLAIM, &self.namespace, &self.name)
    }

    fn carried(&self) -> At {
        at(SECRET, &self.namespace, "byoc-credentials")
    }

    /// Waits for `RequestAccepted`.
    async fn until_accepted(&self, status: &str, reason: &str) -> anyhow::Result<Value> {
        let is = |claim: &Value| has(claim, "RequestAccepted", status, reason);
        let seen = self.tenant.until(HEARD, reason, is).await;
        seen.with_context(|| format!("namespace {}", self.namespace))
    }

    /// Through to Ready; returns the name of its cluster.
    async fn get(&self) -> anyhow::Result<String> {
        self.let_in().await?;
        self.secret(&["aws_access_key_id", "aws_secret_access_key", "aws_config"]).await?;
        let ready = |claim: &Value| claim["status"]["phase"] == "Ready";
        self.tenant.until(HEARD * 2, "Ready", ready).await?;
        let claim = self.hub.get(&self.claim()).await?.context("there is no ClusterClaim")?;
        Ok(claim["spec"]["namespace"].as_str().unwrap_or_default().to_owned())
    }

    /// That everything is there although the cluster is on its way out.
    async fn stays(&self) -> anyhow::Result<()> {
        for at in [self.pool(), self.carried(), self.home()] {
            ensure!(self.hub.get(&at).await?.is_some(), "{at} went before the cluster");
        }
        let home = self.hub.get(&self.home()).await?.context("no namespace")?;
        ensure!(home["metadata"]["deletionTimestamp"].is_null(), "the namespace goes before the cluster");
        Ok(())
    }

    /// That everything goes.
    async fn goes(&self) -> anyhow::Result<()> {
        for at in [self.claim(), self.pool(), self.carried(), self.home()] {
            self.hub.until_gone(&at, GONE).await?;
        }
        Ok(())
    }
}

/// Refused in words until the tenant lets the carrier in and has the Secret; then a cluster, made with what was brought and nothing else of it.
pub async fn byoc_happy_path(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let brought = Brought::ask(tenant).await?;
    let refused = brought.until_accepted("False", "SecretForbidden").await?;
    ensure!(refused["status"]["message"].to_string().contains("my-aws"), "{refused}");
    brought.let_in().await?;
    brought.until_accepted("False", "SecretNotFound").await?;
    brought.secret(&["aws_access_key_id"]).await?;
    brought.until_accepted("False", "SecretIncomplete").await?;
    ensure!(brought.hub.get(&brought.pool()).await?.is_none(), "a pool before its Secrets");
    let cluster = brought.get().await?;
    brought.until_accepted("True", "Accepted").await?;

    let carried = decoded(&brought.hub.get(&brought.carried()).await?.context("no Secret")?);
    let keys: Vec<&str> = carried.keys().map(String::as_str).collect();
    ensure!(keys == ["aws_access_key_id", "aws_secret_access_key"], "{keys:?}");
    ensure!(carried.values().all(|value| value == KEY), "another value");
    let pool = brought.hub.get(&brought.pool()).await?.context("no pool")?;
    ensure!((&pool["spec"]["size"], &pool["spec"]["maxSize"]) == (&json!(0), &json!(1)), "{pool}");
    let aws = &pool["spec"]["platform"]["aws"];
    ensure!(
        aws["credentialsSecretRef"]["name"] == "byoc-credentials" && aws["region"] == "us-east-1",
        "{aws}"
    );
    // Core copies it a moment after what the claim says.
    tenant.until_secret(SOON, &kubeconfig(&cluster)).await?;
    for object in tenant.konflux().list(OBJECT).await? {
        ensure!(!tells(&object, KEY), "what was brought is in Object {}", object["metadata"]["name"]);
    }
    out_of_reach(&brought).await?;

    tenant.hive()?.hold(&cluster);
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    let going = |claim: &Value| claim["metadata"]["deletionTimestamp"].is_string();
    brought.hub.until_is(&brought.claim(), GONE, "going", going).await?;
    tokio::time::sleep(HELD).await;
    brought.stays().await?;
    tenant.hive()?.let_go(&cluster);
    tenant.until(GONE, "Deprovisioned", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    brought.goes().await
}

/// Neither the Konflux cluster's identity nor the carrier's own can read back what was carried.
async fn out_of_reach(brought: &Brought<'_>) -> anyhow::Result<()> {
    let hub = &brought.tenant.engine.hub;
    let identities = [(hub::NAMESPACE, hub::IDENTITY), (carrier::ON_HUB, carrier::NAME)];
    for (namespace, account) in identities {
        let credential = hub::issue_in(hub, namespace, account, "byoc-out-of-reach").await?;
        let other = Cluster::new(account, connect(&credential.kubeconfig.to_string()).await?);
        let words = other.get(&brought.carried()).await.err();
        let words = words.with_context(|| format!("{account} can read the Secret"))?;
        ensure!(format!("{words:#}").contains("forbidden"), "{account}: {words:#}");
    }
    Ok(())
}

/// What of a pull secret must be in no place but Secrets.
const AUTH: &str = "dGVuYW50OmJyb3VnaHQ=";
/// A key that may log in to the nodes.
const PUBLIC: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIbrought";

/// A template that takes what claims bring along.
async fn offer(tenant: &Tenant<'_>) -> anyhow::Result<String> {
    let mut template = hypershift::template()?;
    let name = format!("own-{}", tenant.namespace);
    template["metadata"]["name"] = name.as_str().into();
    let account = |name: &str| json!({ "name": name, "namespace": carrier::ON_HUB });
    template["data"]["bringYourOwn"] = json!({
        "sshKey": true, "carrier": account(carrier::NAME), "provider": account("provider-testplatform"),
    });
    tenant.konflux().apply(&template).await?;
    Ok(name)
}

async fn bring(tenant: &Tenant<'_>, name: &str, key: &str, value: &str) -> anyhow::Result<()> {
    let metadata = json!({ "name": name, "namespace": tenant.namespace });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": { key: BASE64_STANDARD.encode(value) },
    });
    tenant.konflux().apply(&secret).await.map(|_| ())
}

/// The carrier may get both Secrets, which are called as in our example.
async fn let_in(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    for mut manifest in manifests::package("install/examples/byoc-role.yaml")? {
        manifest["metadata"]["namespace"] = tenant.namespace.as_str().into();
        if manifest["kind"] == "Role" {
            manifest["rules"][0]["resourceNames"] = json!(["my-pull-secret", "my-ssh-key"]);
        }
        tenant.konflux().apply(&manifest).await?;
    }
    Ok(())
}

/// By a template: refused in words until the tenant lets the carrier in; then a HostedCluster in the claim's own namespace with the tenant's pull
/// secret and SSH key, its kubeconfig published from there, and all of it gone after its end.
pub async fn byoc_template_happy_path(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let played = tenant.hypershift().await?;
    tenant.engine.carry().await?;
    let template = offer(tenant).await?;
    tenant
        .ask(&json!({ "template": template, "byoc": {
            "pullSecretRef": { "name": "my-pull-secret" }, "sshKeySecretRef": { "name": "my-ssh-key" },
        } }))
        .await?;
    let is = |status: &'static str, reason: &'static str| {
        move |claim: &Value| has(claim, "RequestAccepted", status, reason)
    };
    let refused = tenant.until(HEARD, "SecretForbidden", is("False", "SecretForbidden")).await?;
    let namespace = refused["status"]["backend"]["namespace"].as_str().unwrap_or_default().to_owned();
    ensure!(namespace.starts_with("byoc-"), "{namespace} is not its own");
    let home = at_root(NAMESPACE, &namespace);
    let_in(tenant).await?;
    tenant.until(HEARD, "SecretNotFound", is("False", "SecretNotFound")).await?;
    let clusters = async || {
        let all = hub.list(HOSTED_CLUSTER).await?.into_iter();
        anyhow::Ok(all.filter(|c| c["metadata"]["namespace"] == namespace.as_str()).collect::<Vec<_>>())
    };
    ensure!(clusters().await?.is_empty(), "a cluster before its Secrets");
    let auths = json!({ "auths": { "quay.io": { "auth": AUTH } }, "credsStore": "x" }).to_string();
    bring(tenant, "my-pull-secret", ".dockerconfigjson", &auths).await?;
    bring(tenant, "my-ssh-key", "id_rsa.pub", &format!("{PUBLIC} me@example\n")).await?;
    tenant.until(HEARD * 2, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    tenant.until(HEARD, "Accepted", is("True", "Accepted")).await?;

    let cluster = clusters().await?.pop().context("there is no HostedCluster")?;
    let name = cluster["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    ensure!(format!("{namespace}-{name}").len() <= 63, "{name} has no room for its control plane");
    let spec = &cluster["spec"];
    ensure!(
        spec["pullSecret"]["name"] == "byoc-pull-secret" && spec["sshKey"]["name"] == "byoc-ssh-key",
        "{spec}"
    );
    let carried = async |name: &str| {
        let found = hub.get(&at(SECRET, &namespace, name)).await?;
        anyhow::Ok(decoded(&found.with_context(|| format!("no Secret {name}"))?))
    };
    ensure!(
        !carried("byoc-pull-secret").await?[".dockerconfigjson"].contains("credsStore"),
        "it goes as it is"
    );
    ensure!(carried("byoc-ssh-key").await?["id_rsa.pub"] == format!("{PUBLIC}\n"), "it goes as it is");
    tenant.until_secret(SOON, &kubeconfig(&name)).await?;
    for object in tenant.konflux().list(OBJECT).await? {
        let shown = tells(&object, AUTH) || tells(&object, PUBLIC);
        ensure!(!shown, "what was brought is in Object {}", object["metadata"]["name"]);
    }

    played.hold(&name);
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    let asked = at(HOSTED_CLUSTER, &namespace, &name);
    let going = |cluster: &Value| cluster["metadata"]["deletionTimestamp"].is_string();
    hub.until_is(&asked, GONE, "going", going).await?;
    tokio::time::sleep(HELD).await;
    ensure!(node_pools(hub, &name).await?.is_empty(), "nodes are left");
    carried("byoc-pull-secret").await?;
    let there = hub.get(&home).await?.context("the namespace went before the cluster")?;
    ensure!(there["metadata"]["deletionTimestamp"].is_null(), "the namespace goes before the cluster");
    played.let_go(&name);
    tenant.until(GONE, "Deprovisioned", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    for gone in [asked, at(SECRET, &namespace, "byoc-pull-secret"), at(SECRET, &namespace, "byoc-ssh-key")] {
        hub.until_gone(&gone, GONE).await?;
    }
    // With nothing in it, it goes with the claim.
    tenant.konflux().delete(&tenant.claim()).await?;
    hub.until_gone(&home, GONE).await
}

/// With the claim everything goes, in the same order, although nobody asks the function any more.
pub async fn byoc_claim_deleted_in_order(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let brought = Brought::ask(tenant).await?;
    let cluster = brought.get().await?;
    tenant.hive()?.hold(&cluster);
    tenant.konflux().delete(&tenant.claim()).await?;
    let going = |claim: &Value| claim["metadata"]["deletionTimestamp"].is_string();
    brought.hub.until_is(&brought.claim(), GONE, "going", going).await?;
    tokio::time::sleep(HELD).await;
    brought.stays().await?;
    tenant.hive()?.let_go(&cluster);
    brought.goes().await?;
    for part in ["byoc-namespace", "byoc-access", "byoc-request", "byoc-pool"] {
        let object = at_root(OBJECT, &format!("{part}.{}", brought.name));
        tenant.konflux().until_gone(&object, GONE).await?;
    }
    Ok(())
}

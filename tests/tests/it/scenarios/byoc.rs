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
    search::{Marks, Place, unique},
    tenant::{Tenant, decoded},
};

use super::{canary::lies_in, hive::GONE};

/// provider-kubernetes polls the copier's report every half a minute, and the copier itself reconciles every ten seconds.
const HEARD: Duration = Duration::from_mins(2);
/// How long Hive holds a cluster here.
const HELD: Duration = Duration::from_secs(10);
/// Keys of the tenant's Secret.
const KEYS: [&str; 3] = ["aws_access_key_id", "aws_secret_access_key", "aws_config"];
/// Keys that are copied.
const CARRIED: [&str; 2] = ["aws_access_key_id", "aws_secret_access_key"];
/// Names of the secrets in reports.
const KEY: &str = "what was brought";
const PULL_SECRET: &str = "the pull secret";
const SSH_KEY: &str = "the SSH key";

/// A claim that brings its own credentials, and what it has on the hub.
struct Brought<'t> {
    tenant: &'t Tenant<'t>,
    hub: &'t Cluster,
    name: String,
    namespace: String,
    /// Value that must be in two Secrets, and nowhere else.
    value: String,
    marks: Marks,
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
        let mark = unique();
        // With what keys of AWS have beside letters and digits.
        let value = format!("wJalrXUtnFEMI/{mark}+along");
        let marks = Marks::new([(KEY, mark)])?;
        Ok(Self { tenant, hub: tenant.engine.hub.cluster(), name, namespace, value, marks })
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
            keys.iter().map(|key| ((*key).to_owned(), BASE64_STANDARD.encode(&self.value).into())).collect();
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
        self.secret(&KEYS).await?;
        let ready = |claim: &Value| claim["status"]["phase"] == "Ready";
        self.tenant.until(HEARD * 2, "Ready", ready).await?;
        let claim = self.hub.get(&self.claim()).await?.context("there is no ClusterClaim")?;
        Ok(claim["spec"]["namespace"].as_str().unwrap_or_default().to_owned())
    }

    /// That what was brought is where the tenant has it and in what goes to the hub, and nowhere else.
    async fn lies_in(&self, moment: &str, carried: &[&str]) -> anyhow::Result<()> {
        let own = at(SECRET, &self.tenant.namespace, "my-aws");
        let own = KEYS.iter().map(|key| Place::secret("konflux", &own, key));
        let carried = carried.iter().map(|key| Place::secret("hub", &self.carried(), key));
        let places: Vec<Place> = own.chain(carried).collect();
        lies_in(self.tenant, &self.marks, moment, &[(KEY, places)]).await.map(drop)
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
    ensure!(keys == CARRIED, "{keys:?}");
    ensure!(carried.values().all(|value| *value == brought.value), "another value");
    let pool = brought.hub.get(&brought.pool()).await?.context("no pool")?;
    ensure!((&pool["spec"]["size"], &pool["spec"]["maxSize"]) == (&json!(0), &json!(1)), "{pool}");
    let aws = &pool["spec"]["platform"]["aws"];
    ensure!(
        aws["credentialsSecretRef"]["name"] == "byoc-credentials" && aws["region"] == "us-east-1",
        "{aws}"
    );
    // Core copies it a moment after what the claim says.
    tenant.until_secret(SOON, &kubeconfig(&cluster)).await?;
    brought.lies_in("ready", &CARRIED).await?;
    out_of_reach(&brought).await?;

    tenant.hive()?.hold(&cluster);
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    let going = |claim: &Value| claim["metadata"]["deletionTimestamp"].is_string();
    brought.hub.until_is(&brought.claim(), GONE, "going", going).await?;
    tokio::time::sleep(HELD).await;
    brought.stays().await?;
    tenant.hive()?.let_go(&cluster);
    tenant.until(GONE, "Deprovisioned", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    brought.goes().await?;
    brought.lies_in("torn down", &[]).await
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
    let (password, key) = (unique(), unique());
    let marks = Marks::new([(PULL_SECRET, password.clone()), (SSH_KEY, key.clone())])?;
    let auth = BASE64_STANDARD.encode(format!("tenant:{password}"));
    // It may log in to the nodes.
    let public = format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{key}");
    let auths = json!({ "auths": { "quay.io": { "auth": auth } }, "credsStore": "x" }).to_string();
    bring(tenant, "my-pull-secret", ".dockerconfigjson", &auths).await?;
    bring(tenant, "my-ssh-key", "id_rsa.pub", &format!("{public} me@example\n")).await?;
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
    ensure!(carried("byoc-ssh-key").await?["id_rsa.pub"] == format!("{public}\n"), "it goes as it is");
    tenant.until_secret(SOON, &kubeconfig(&name)).await?;
    let lying = |plane: &str, namespace: &str, prefix: &str| {
        [("pull-secret", ".dockerconfigjson"), ("ssh-key", "id_rsa.pub")]
            .map(|(name, key)| Place::secret(plane, &at(SECRET, namespace, &format!("{prefix}-{name}")), key))
    };
    let own = lying("konflux", &tenant.namespace, "my");
    let both = own.clone().into_iter().zip(lying("hub", &namespace, "byoc"));
    let expected: Vec<_> =
        [PULL_SECRET, SSH_KEY].into_iter().zip(both.map(|(own, carried)| vec![own, carried])).collect();
    lies_in(tenant, &marks, "ready", &expected).await?;

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
    hub.until_gone(&home, GONE).await?;
    let expected: Vec<_> = [PULL_SECRET, SSH_KEY].into_iter().zip(own.map(|own| vec![own])).collect();
    lies_in(tenant, &marks, "after", &expected).await.map(drop)
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

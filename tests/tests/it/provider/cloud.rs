//! `clusters.cloudCredentials.mode: on` with a real API server as the hub and the real provider with exactly the rights that are made for it, against
//! an identity service that is played over HTTPS. Cluster API is played, and so is the function.
#![allow(missing_docs, reason = "a test says what it tests in its name")]

use std::{process::Command, time::Duration};

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use provider_testplatform::{
    config::Config,
    rbac::{self, ServiceAccount},
};
use serde_json::{Value, json};
use testplatform_apis::cloud::{CERTIFICATES, CLOUDS, FINALIZER, LABEL, ORDER, RECORD, REPORT};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, Cluster, SOON, at},
    control_plane::ControlPlane,
    hub::issue_in,
    keystone::{ADMIN, Keystone, Trouble},
    kinds::{CRD, EVENT, Kind, SECRET},
    nest::{Nest, Process},
    ports::free_ports,
    program,
    search::Marks,
};

const CLUSTER: Kind = Kind { api_version: "cluster.x-k8s.io/v1beta2", kind: "Cluster" };
const CONFIG_MAP: Kind = Kind { api_version: "v1", kind: "ConfigMap" };
const CLUSTERS: &str = "clusters";
const ISSUERS: &str = "issuers";
const OWN: &str = "provider-testplatform";
/// Nothing has happened by then that should not.
const NOTICED: Duration = Duration::from_secs(4);

struct Bench {
    hub: ControlPlane,
    keystone: Keystone,
    nest: Nest,
    own: String,
}

pub async fn clusters_get_credentials_of_their_own_that_work_until_they_are_gone() -> anyhow::Result<()> {
    let binaries = Binaries::ensure()?;
    let hub = ControlPlane::start("hub", &binaries).await?;
    let keystone = Keystone::start().await?;
    let nest = Nest::new("cloud", None)?;
    furnish(hub.cluster()).await?;
    let own = configure(&hub, &nest).await?;
    let bench = Bench { hub, keystone, nest, own };
    let mut provider = bench.start()?;
    let lived = bench.life(&mut provider).await;
    provider.check()?;
    lived.with_context(|| provider.tail())?;
    provider.terminate();
    bench.nothing_is_told(&provider).await
}

async fn furnish(hub: &Cluster) -> anyhow::Result<()> {
    for name in [OWN, "testplatform-credentials", CLUSTERS, ISSUERS, "ephemeral-cluster"] {
        hub.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await?;
    }
    let (group, version) = CLUSTER.api_version.split_once('/').context("no group")?;
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let definition = json!({
        "apiVersion": CRD.api_version, "kind": CRD.kind, "metadata": { "name": format!("clusters.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": CLUSTER.kind, "plural": "clusters", "singular": "cluster", "listKind": "ClusterList" },
            "versions": [{
                "name": version, "served": true, "storage": true, "schema": schema, "subresources": { "status": {} },
            }],
        },
    });
    testplatform_tests::hub::define(hub, &definition).await
}

/// Writes the provider's files: its configuration, its rights, and a kubeconfig.
async fn configure(hub: &ControlPlane, nest: &Nest) -> anyhow::Result<String> {
    let [port] = free_ports()?;
    let config = json!({
        "clusters": {
            "poll": "1s", "backends": { "cluster-api": { "namespaces": [CLUSTERS] } },
            "cloudCredentials": { "mode": "on", "issuersNamespace": ISSUERS, "probe": "1s", "grace": "3s" },
        },
        "http": { "address": format!("127.0.0.1:{port}") },
    });
    let config = nest.file("config.yaml", config.to_string())?;
    let rights = rbac::hub(&Config::load(&config)?, &ServiceAccount::default());
    hub.cluster().apply_all(&serde_saphyr::from_multiple::<Value>(&rights)?).await?;
    let own = issue_in(hub, OWN, OWN, "account").await?.kubeconfig.to_string();
    nest.file("kubeconfig", &own)?;
    Ok(own)
}

fn name(cluster: &str) -> String {
    format!("{cluster}-cloud-credential")
}

fn order_of(cluster: &str) -> At {
    at(CONFIG_MAP, CLUSTERS, &name(cluster))
}

fn secret_of(cluster: &str) -> At {
    at(SECRET, CLUSTERS, &name(cluster))
}

fn told(map: &Value) -> Value {
    let text = map["metadata"]["annotations"][REPORT].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

fn order(cluster: &str, user: &str, generation: i64) -> String {
    json!({
        "cluster": { "group": "cluster.x-k8s.io", "kind": "Cluster", "name": cluster },
        "uid": format!("uid-{cluster}"), "cloud": "acme", "tenant": "tenant", "requestedBy": user, "generation": generation,
        "roles": ["member"],
    })
    .to_string()
}

fn text(secret: &Value, key: &str) -> anyhow::Result<String> {
    let encoded = secret["data"][key].as_str().with_context(|| format!("no key {key}"))?;
    Ok(String::from_utf8(BASE64_STANDARD.decode(encoded)?)?)
}

impl Bench {
    fn start(&self) -> anyhow::Result<Process> {
        ensure!(!self.own.is_empty(), "no kubeconfig");
        let mut command = Command::new(program::provider()?);
        command.args(["--config=config.yaml", "--kubeconfig=kubeconfig", "--log-format=text", "-d"]);
        self.nest.spawn("provider", &mut command)
    }

    async fn life(&self, provider: &mut Process) -> anyhow::Result<()> {
        self.nobody().await.context("nobody who could")?;
        self.made().await.context("made")?;
        self.second_user().await.context("a second user edits")?;
        self.half_way(provider).await.context("a rotation dies half-way")?;
        self.role_changes().await.context("roles change")?;
        self.user_leaves().await.context("the user leaves")?;
        self.silence().await.context("silence")?;
        self.foreign().await.context("a Secret that is not ours")?;
        self.goes_after_the_user().await.context("deleted after the user left")?;
        self.spoilt().await.context("an order that cannot be read any more")?;
        self.forbidden().await.context("deletions are forbidden")
    }

    /// As an administrator does. No user: the tenant's.
    async fn issuer(&self, user: &str, users: Option<&str>) -> anyhow::Result<()> {
        let secret = self.keystone.issuer_in(ISSUERS, user, "tenant", users);
        self.hub.cluster().apply(&secret).await.map(drop)
    }

    /// As the function asks.
    async fn ask(&self, cluster: &str, user: &str) -> anyhow::Result<()> {
        let metadata = json!({ "name": name(cluster), "namespace": CLUSTERS, "labels": { LABEL: "true" } });
        let data = json!({ ORDER: order(cluster, user, 0) });
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
        self.hub.cluster().create(&map).await?;
        Ok(())
    }

    async fn edit(&self, cluster: &str, user: &str, generation: i64) -> anyhow::Result<()> {
        let data = json!({ "data": { ORDER: order(cluster, user, generation) } });
        self.hub.cluster().merge(&order_of(cluster), &data).await?;
        Ok(())
    }

    /// With a finalizer, as Cluster API has one.
    async fn make(&self, cluster: &str) -> anyhow::Result<()> {
        let metadata =
            json!({ "name": cluster, "namespace": CLUSTERS, "finalizers": ["cluster.x-k8s.io/played"] });
        let object = json!({ "apiVersion": CLUSTER.api_version, "kind": CLUSTER.kind, "metadata": metadata });
        self.hub.cluster().create(&object).await?;
        Ok(())
    }

    async fn state(&self, cluster: &str, state: &str) -> anyhow::Result<Value> {
        let is = |map: &Value| told(map)["state"] == state;
        Ok(told(&self.hub.cluster().until_is(&order_of(cluster), SOON, state, is).await?))
    }

    /// Id of what is published, whose it is, and whether it works.
    async fn published(&self, cluster: &str) -> anyhow::Result<(String, String, bool)> {
        let secret = self.hub.cluster().get(&secret_of(cluster)).await?.context("no Secret")?;
        let file: Value = serde_saphyr::from_str(&text(&secret, CLOUDS)?)?;
        let auth = &file["clouds"]["acme"]["auth"];
        let part = |key: &str| auth[key].as_str().unwrap_or_default().to_owned();
        let (id, given) = (part("application_credential_id"), part("application_credential_secret"));
        let owner = self.keystone.credentials().get(&id).map(|(_, user)| user.clone()).unwrap_or_default();
        let works = self.keystone.takes(&id, &given);
        Ok((id, owner, works))
    }

    /// Waits until somebody's is published, and works.
    async fn until_of(&self, cluster: &str, user: &str, but: &str) -> anyhow::Result<String> {
        let end = std::time::Instant::now() + SOON;
        loop {
            let found = self.published(cluster).await;
            if let Ok((id, owner, true)) = &found
                && owner == user
                && id != but
            {
                return Ok(id.clone());
            }
            let owner = found.map(|(_, owner, works)| (owner, works));
            ensure!(std::time::Instant::now() < end, "what is published is not of {user}: {owner:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn until_only(&self, id: &str) -> anyhow::Result<()> {
        let end = std::time::Instant::now() + SOON;
        while self.keystone.credentials().keys().any(|other| other != id) {
            ensure!(std::time::Instant::now() < end, "{:?}", self.keystone.credentials());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        ensure!(self.keystone.credentials().contains_key(id), "what is published is gone");
        Ok(())
    }

    async fn nobody(&self) -> anyhow::Result<()> {
        self.ask("one", "alice").await?;
        let report = self.state("one", "OwnerInvalid").await?;
        let message = report["message"].as_str().unwrap_or_default();
        ensure!(message.contains("no issuer exists for this tenant and user"), "{report}");
        ensure!(self.hub.cluster().get(&secret_of("one")).await?.is_none(), "there is a Secret");
        let map = self.hub.cluster().get(&order_of("one")).await?.context("no order")?;
        ensure!(map["metadata"]["finalizers"] == json!([FINALIZER]), "{map}");
        Ok(())
    }

    async fn made(&self) -> anyhow::Result<()> {
        self.keystone.enter("alice", &["member", "reader"]);
        self.keystone.enter("bob", &["member"]);
        self.issuer("alice", Some("alice")).await?;
        self.issuer("bob", Some("bob,robert")).await?;
        let id = self.until_of("one", "alice", "").await?;
        let report = self.state("one", "Valid").await?;
        ensure!(report["credential"] == "tpc-uid-one-1", "{report}");
        ensure!(
            self.keystone.roles(&id) == ["member".to_owned()].into(),
            "it may do more than was asked for"
        );
        let secret = self.hub.cluster().get(&secret_of("one")).await?.context("no Secret")?;
        let file: Value = serde_saphyr::from_str(&text(&secret, CLOUDS)?)?;
        let cloud = &file["clouds"]["acme"];
        ensure!(file["clouds"].as_object().is_some_and(|clouds| clouds.len() == 1), "several clouds");
        ensure!(
            cloud["auth_type"] == "v3applicationcredential" && cloud["region_name"] == "RegionOne",
            "layout"
        );
        ensure!(cloud["interface"] == "public" && cloud["cacert"] == "/etc/openstack/cacert.pem", "layout");
        ensure!(text(&secret, CERTIFICATES)?.contains("BEGIN CERTIFICATE"), "no certificates");
        self.make("one").await
    }

    async fn second_user(&self) -> anyhow::Result<()> {
        let before = self.published("one").await?.0;
        self.edit("one", "robert", 0).await?;
        let id = self.until_of("one", "bob", &before).await?;
        ensure!(self.keystone.credentials().contains_key(&before), "somebody may still use it");
        self.until_only(&id).await
    }

    /// The answer to a creation is lost, the provider is killed while it waits for one, and begins anew.
    async fn half_way(&self, provider: &mut Process) -> anyhow::Result<()> {
        let before = self.published("one").await?.0;
        self.keystone.fail_next_creation(Trouble::Late);
        self.edit("one", "robert", 1).await?;
        let end = std::time::Instant::now() + SOON;
        while self.keystone.credentials().len() < 2 {
            ensure!(std::time::Instant::now() < end, "none was made");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        provider.kill();
        let (id, _, works) = self.published("one").await?;
        ensure!(works && id == before, "what was published before is not");
        *provider = self.start()?;
        let id = self.until_of("one", "bob", &before).await?;
        self.until_only(&id).await?;
        self.keystone.fail_next_creation(Trouble::Unanswered);
        self.edit("one", "robert", 2).await?;
        let id = self.until_of("one", "bob", &id).await?;
        self.until_only(&id).await
    }

    async fn role_changes(&self) -> anyhow::Result<()> {
        let before = self.published("one").await?.0;
        self.edit("one", "alice", 2).await?;
        let alices = self.until_of("one", "alice", &before).await?;
        // All credentials go with any role; this one is not asked for.
        self.keystone.lose("alice", "reader");
        let id = self.until_of("one", "alice", &alices).await?;
        self.until_only(&id).await
    }

    async fn user_leaves(&self) -> anyhow::Result<()> {
        self.keystone.leave("alice");
        let report = self.state("one", "OwnerInvalid").await?;
        let message = report["message"].as_str().unwrap_or_default();
        ensure!(
            message.contains("does not know issuer alice") && message.contains("administrator"),
            "{report}"
        );
        self.keystone.enter("tenant-admin", &["member", ADMIN]);
        self.issuer("tenant-admin", None).await?;
        let id = self.until_of("one", "tenant-admin", "").await?;
        self.state("one", "Valid").await?;
        self.until_only(&id).await?;
        let events = self.hub.cluster().list(EVENT).await?;
        for reason in [
            "CloudCredentialMade",
            "CloudCredentialRotated",
            "CloudCredentialOwnerInvalid",
            "CloudCredentialRemoved",
        ] {
            ensure!(events.iter().any(|event| event["reason"] == reason), "no event {reason}");
        }
        Ok(())
    }

    async fn silence(&self) -> anyhow::Result<()> {
        let before = self.published("one").await?.0;
        self.keystone.set_down(true);
        self.state("one", "Unreachable").await?;
        let secret = self.hub.cluster().get(&secret_of("one")).await?.context("no Secret")?;
        self.keystone.set_down(false);
        self.state("one", "Valid").await?;
        let after = self.hub.cluster().get(&secret_of("one")).await?.context("no Secret")?;
        ensure!(
            secret["data"] == after["data"] && self.published("one").await?.0 == before,
            "it was replaced"
        );
        Ok(())
    }

    async fn foreign(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name("two"), "namespace": CLUSTERS },
            "stringData": { "clouds.yaml": "somebody's" },
        });
        hub.create(&secret).await?;
        self.ask("two", "bob").await?;
        self.state("two", "Blocked").await?;
        hub.delete(&order_of("two")).await?;
        hub.until_gone(&order_of("two"), SOON).await?;
        let left = hub.get(&secret_of("two")).await?.context("it was deleted")?;
        ensure!(text(&left, CLOUDS)? == "somebody's" && left["metadata"]["annotations"][RECORD].is_null());
        Ok(())
    }

    /// The order is deleted first, then the user leaves; the cluster, which is being deleted, still gets one that works.
    async fn goes_after_the_user(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        self.edit("one", "robert", 2).await?;
        let before = self.until_of("one", "bob", "").await?;
        hub.delete(&order_of("one")).await?;
        hub.delete(&at(CLUSTER, CLUSTERS, "one")).await?;
        self.keystone.leave("bob");
        self.until_of("one", "tenant-admin", &before).await?;
        tokio::time::sleep(NOTICED).await;
        ensure!(hub.get(&order_of("one")).await?.is_some(), "it was let go while the cluster is there");
        ensure!(self.published("one").await?.2, "the cluster has none that works");
        let without = json!({ "metadata": { "finalizers": null } });
        hub.merge(&at(CLUSTER, CLUSTERS, "one"), &without).await?;
        hub.until_gone(&order_of("one"), SOON).await?;
        ensure!(hub.get(&secret_of("one")).await?.is_none(), "the Secret is left");
        ensure!(self.keystone.credentials().is_empty(), "{:?}", self.keystone.credentials());
        Ok(())
    }

    /// Its credential outlives the cluster all the same.
    async fn spoilt(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        self.ask("four", "carol").await?;
        self.until_of("four", "tenant-admin", "").await?;
        self.make("four").await?;
        hub.merge(&order_of("four"), &json!({ "data": { ORDER: "{" } })).await?;
        self.state("four", "Blocked").await?;
        hub.delete(&order_of("four")).await?;
        // Longer than a cluster may be on its way.
        tokio::time::sleep(Duration::from_secs(32)).await;
        ensure!(hub.get(&order_of("four")).await?.is_some(), "it was let go while the cluster is there");
        ensure!(self.published("four").await?.2, "the cluster has none that works");
        hub.delete(&at(CLUSTER, CLUSTERS, "four")).await?;
        let without = json!({ "metadata": { "finalizers": null } });
        hub.merge(&at(CLUSTER, CLUSTERS, "four"), &without).await?;
        hub.until_gone(&order_of("four"), SOON).await?;
        ensure!(self.keystone.credentials().is_empty(), "{:?}", self.keystone.credentials());
        Ok(())
    }

    async fn forbidden(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        self.ask("three", "carol").await?;
        self.until_of("three", "tenant-admin", "").await?;
        self.keystone.forbid_deletions(true);
        hub.delete(&order_of("three")).await?;
        hub.until_gone(&order_of("three"), SOON).await?;
        ensure!(hub.get(&secret_of("three")).await?.is_none(), "the Secret is left");
        let left: Vec<_> = self.keystone.credentials().into_values().map(|(name, _)| name).collect();
        ensure!(left == ["tpc-uid-three-1"], "{left:?}");
        let warned =
            |event: &Value| event["reason"] == "CloudCredentialLeftBehind" && event["type"] == "Warning";
        // It is told once the order is let go.
        hub.until_some(EVENT, CLUSTERS, SOON, "CloudCredentialLeftBehind", warned).await.map(drop)
    }

    /// Neither in the log, nor in an order, an event or a record.
    async fn nothing_is_told(&self, provider: &Process) -> anyhow::Result<()> {
        let secrets = self.keystone.secrets();
        ensure!(secrets.len() > 20, "nothing was secret");
        let marks = Marks::new(secrets.into_iter().map(|secret| ("a secret of the cloud", secret)))?;
        let log = provider.said()?;
        ensure!(log.contains("one-cloud-credential"), "the log says nothing");
        ensure!(marks.within(log.as_bytes()).is_empty(), "a secret is in the log");
        let hub = self.hub.cluster();
        for kind in [EVENT, CONFIG_MAP] {
            for object in hub.list(kind).await? {
                ensure!(
                    marks.within(object.to_string().as_bytes()).is_empty(),
                    "a secret is in {}",
                    object["kind"]
                );
            }
        }
        Ok(())
    }
}

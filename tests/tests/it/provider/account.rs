//! `credentials.mode: ServiceAccount` with a real API server as the cluster that was delivered, and the real provider with exactly the rights
//! that are made for it. Whoever made the cluster is played.
#![allow(missing_docs, reason = "a test says what it tests in its name")]

use std::{net::TcpListener, time::Duration};

use super::delivered::{
    self, CLUSTERS, CONFIG_MAP, HOSTED, cluster, hosted, hosted_by, published, source, source_named, told,
    wish,
};
use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::future::try_join_all;
use provider_testplatform::credentials::account::{NAMESPACE, account_name};
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_tests::{
    binaries::Binaries,
    cluster::{Cluster, SOON, at},
    control_plane::{ControlPlane, connect},
    kinds::{EVENT, Kind, SECRET},
    nest::Nest,
    search::{Marks, unique},
};

/// When a look that has failed some times is repeated at the latest: nothing tells of a source that is corrected, and each failure doubles the time.
const TRIED_AGAIN: Duration = Duration::from_mins(3);
const SERVICE_ACCOUNT: Kind = Kind { api_version: "v1", kind: "ServiceAccount" };
/// Name of the cluster.
const ONE: &str = "one";
/// Nothing has happened by then that should not.
const NOTICED: Duration = Duration::from_secs(5);
/// As many clusters as would keep all workers for long, each waiting five seconds for each.
const SILENT: usize = 40;
/// Workers take whom they like: one may be lucky, so many are not.
const QUICK: usize = 10;

struct Bench {
    hub: ControlPlane,
    delivered: ControlPlane,
    /// The admin's kubeconfig, whose token is nowhere else.
    admin: String,
    password: String,
    marks: Marks,
}

pub async fn a_token_in_place_of_the_admin() -> anyhow::Result<()> {
    let binaries = Binaries::ensure()?;
    let (hub, delivered) =
        tokio::try_join!(ControlPlane::start("hub", &binaries), ControlPlane::start("delivered", &binaries))?;
    let (admin, signature) = delivered::admin(&delivered).await?;
    let nest = Nest::new("account", None)?;
    let password = unique();
    let marks = Marks::new([("the admin's token", signature), ("the password", password.clone())])?;
    delivered::furnish(hub.cluster(), &admin, &password).await?;
    let (mut provider, _) = delivered::start(&hub, &nest, &json!({})).await?;
    let bench = Bench { hub, delivered, admin, password, marks };
    let lived = bench.life().await;
    provider.check()?;
    lived.with_context(|| provider.tail())?;
    provider.terminate();
    let log = provider.said()?;
    ensure!(log.contains("issue_credentials"), "the log says nothing");
    ensure!(bench.marks.within(log.as_bytes()).is_empty(), "a secret is in the log");
    Ok(())
}

fn value(secret: &Value, key: &str) -> anyhow::Result<String> {
    let text = secret["data"][key].as_str().with_context(|| format!("no {key}"))?;
    Ok(String::from_utf8(BASE64_STANDARD.decode(text)?)?)
}

impl Bench {
    /// As the function asks. Its uid.
    async fn ask(&self, role: &str) -> anyhow::Result<String> {
        let made = hosted(self.hub.cluster(), ONE, Some(&wish(role, 0))).await?;
        Ok(made["metadata"]["uid"].as_str().context("no uid")?.to_owned())
    }

    /// As the function asks later.
    async fn wish(&self, role: &str, generation: u32) -> anyhow::Result<()> {
        let wish = wish(role, generation).to_string();
        let patch = json!({ "metadata": { "annotations": { ours::CREDENTIALS_WISH: wish } } });
        self.hub.cluster().merge(&cluster(ONE), &patch).await?;
        Ok(())
    }

    async fn life(&self) -> anyhow::Result<()> {
        self.no_such_role().await.context("a role that is not there")?;
        let uid = self.ask("looker").await?;
        let first = self.delivered_with_little().await.context("delivered")?;
        self.nowhere().await?;
        let second = self.renewed(&first, 1).await.context("another generation")?;
        ensure!(works(&first).await?, "the token before does not work until it ends");
        self.repaired(&second).await.context("repaired")?;
        self.account_goes(&uid).await.context("the account goes")?;
        self.bad_input().await.context("bad input")?;
        self.cluster_away().await.context("while the cluster is away")?;
        self.wish_taken_away().await.context("the wish is taken away")?;
        self.ended(&uid).await.context("ended")?;
        self.ended_while_away().await.context("ended while the cluster is away")?;
        self.nowhere().await?;
        self.silent_clusters_keep_nobody_waiting().await.context("beside silent clusters")
    }

    async fn no_such_role(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        self.ask("nobody-has-it").await?;
        let says = |object: &Value| {
            let words = told(object)["blockingReason"]["message"].as_str().unwrap_or_default().to_owned();
            words.contains("does not have the ClusterRole")
        };
        hub.until_is(&cluster(ONE), SOON, "told that there is no such role", says).await?;
        ensure!(hub.get(&published(ONE)).await?.is_none(), "something was published");
        hub.delete(&cluster(ONE)).await?;
        hub.until_gone(&cluster(ONE), SOON).await
    }

    async fn delivered_with_little(&self) -> anyhow::Result<String> {
        let hub = self.hub.cluster();
        let secret = hub.until_is(&published(ONE), SOON, "published", |_| true).await?;
        ensure!(value(&secret, "kubeAdminPassword")?.is_empty(), "there is a password");
        let kubeconfig = value(&secret, "kubeconfig")?;
        let reported = |object: &Value| {
            told(object)["credentials"]["mode"] == "ServiceAccount"
                && told(object)["credentials"]["passwordAvailable"] == false
        };
        hub.until_is(&cluster(ONE), SOON, "told whose they are", reported).await?;
        ensure!(works(&kubeconfig).await?, "it does not work");
        let tenant = Cluster::new("as the tenant", connect(&kubeconfig).await?);
        let more = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "namespace": "default" } });
        let words = tenant.create(&more).await.err().context("who may look may write")?;
        ensure!(words.to_string().contains("forbidden"), "{words}");
        Ok(kubeconfig)
    }

    /// Another token is published, and works.
    async fn renewed(&self, before: &str, generation: u32) -> anyhow::Result<String> {
        let hub = self.hub.cluster();
        self.wish("looker", generation).await?;
        let other = |secret: &Value| value(secret, "kubeconfig").is_ok_and(|now| now != before);
        let secret = hub.until_is(&published(ONE), SOON, "another token", other).await?;
        let kubeconfig = value(&secret, "kubeconfig")?;
        ensure!(works(&kubeconfig).await?, "the new token does not work");
        Ok(kubeconfig)
    }

    async fn repaired(&self, now: &str) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        let evil = BASE64_STANDARD.encode("evil");
        hub.merge(&published(ONE), &json!({ "data": { "kubeconfig": evil } })).await?;
        let good =
            |secret: &Value| value(secret, "kubeconfig").is_ok_and(|text| text != "evil" && text != now);
        hub.until_is(&published(ONE), SOON, "made anew", good).await.map(drop)
    }

    /// For a moment the API server gives tokens of it, and takes them.
    async fn account_goes(&self, uid: &str) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        let before = value(&hub.get(&published(ONE)).await?.context("it is there")?, "kubeconfig")?;
        let account = at(SERVICE_ACCOUNT, NAMESPACE, &account_name(uid));
        there.merge(&account, &json!({ "metadata": { "finalizers": ["example.org/waits"] } })).await?;
        there.delete(&account).await?;
        self.wish("looker", 2).await?;
        let says = |object: &Value| {
            let words = &told(object)["blockingReason"]["message"];
            words.as_str().is_some_and(|words| words.contains("are being deleted"))
        };
        hub.until_is(&cluster(ONE), SOON, "told that it goes", says).await?;
        let now = value(&hub.get(&published(ONE)).await?.context("it was taken away")?, "kubeconfig")?;
        ensure!(now == before, "a token of what goes was published");
        there.merge(&account, &json!({ "metadata": { "finalizers": null } })).await?;
        let other = |secret: &Value| value(secret, "kubeconfig").is_ok_and(|now| now != before);
        let secret = hub.until_is(&published(ONE), TRIED_AGAIN, "another token", other).await?;
        ensure!(works(&value(&secret, "kubeconfig")?).await?, "the new token does not work");
        Ok(())
    }

    /// A kubeconfig that does not parse, is answered with 401, or trusts anybody, changes nothing of the published one.
    async fn bad_input(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        let good = hub.get(&published(ONE)).await?.context("it is there")?;
        let mut refused: Value = serde_json::from_str(&self.admin)?;
        refused["users"][0]["user"]["token"] = "not-a-token".into();
        let mut trusting: Value = serde_json::from_str(&self.admin)?;
        trusting["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = true.into();
        for (bad, why) in [
            ("not a kubeconfig".to_owned(), "is not a kubeconfig"),
            (refused.to_string(), "rejects the kubeconfig of its admin"),
            (trusting.to_string(), "does not verify the API server"),
        ] {
            source(hub, &bad, &self.password).await?;
            let says = |object: &Value| {
                let reason = &told(object)["blockingReason"];
                reason["message"].as_str().is_some_and(|words| words.contains(why))
            };
            hub.until_is(&cluster(ONE), SOON, why, says).await?;
            let now = hub.get(&published(ONE)).await?.context("it was taken away")?;
            ensure!(now["data"] == good["data"], "it was changed by {bad}");
            ensure!(works(&value(&now, "kubeconfig")?).await?, "what is published does not work any more");
        }
        source(hub, &self.admin, &self.password).await?;
        let well = |object: &Value| told(object)["blockingReason"].is_null();
        hub.until_is(&cluster(ONE), TRIED_AGAIN, "well again", well).await.map(drop)
    }

    async fn cluster_away(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        let before = value(&hub.get(&published(ONE)).await?.context("it is there")?, "kubeconfig")?;
        self.delivered.stop_api_server();
        self.wish("looker", 3).await?;
        let says = |object: &Value| {
            let words = &told(object)["blockingReason"]["message"];
            words.as_str().is_some_and(|words| words.contains("cannot be reached"))
        };
        hub.until_is(&cluster(ONE), SOON, "told that it cannot be reached", says).await?;
        let now = value(&hub.get(&published(ONE)).await?.context("it was taken away")?, "kubeconfig")?;
        ensure!(now == before, "it was changed");
        self.delivered.start_api_server().await?;
        let other = |secret: &Value| value(secret, "kubeconfig").is_ok_and(|now| now != before);
        let secret = hub.until_is(&published(ONE), TRIED_AGAIN, "another token", other).await?;
        ensure!(works(&value(&secret, "kubeconfig")?).await?, "the new token does not work");
        Ok(())
    }

    /// Whoever may write on the object cannot have the admin's credentials by that.
    async fn wish_taken_away(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        let before = hub.get(&published(ONE)).await?.context("it is there")?;
        for without in [Value::Null, "{}".into()] {
            let patch = json!({ "metadata": { "annotations": { ours::CREDENTIALS_WISH: without } } });
            hub.merge(&cluster(ONE), &patch).await?;
            tokio::time::sleep(NOTICED).await;
            let now = hub.get(&published(ONE)).await?.context("it was taken away")?;
            ensure!(now["data"] == before["data"], "something else is published");
        }
        self.wish("looker", 3).await?;
        Ok(())
    }

    async fn ended(&self, uid: &str) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        let kubeconfig = value(&hub.get(&published(ONE)).await?.context("it is there")?, "kubeconfig")?;
        let account = at(SERVICE_ACCOUNT, NAMESPACE, &account_name(uid));
        ensure!(there.get(&account).await?.is_some(), "it has another name");
        hub.delete(&cluster(ONE)).await?;
        hub.until_gone(&published(ONE), SOON).await?;
        there.until_gone(&account, SOON).await?;
        let refused = async {
            while works(&kubeconfig).await.unwrap_or(true) {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        tokio::time::timeout(SOON, refused).await.context("its token still works")
    }

    /// Nothing waits for it.
    async fn ended_while_away(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        hub.until_gone(&cluster(ONE), SOON).await?;
        self.ask("cluster-admin").await?;
        hub.until_is(&published(ONE), SOON, "published", |_| true).await?;
        self.delivered.stop_api_server();
        hub.delete(&cluster(ONE)).await?;
        hub.until_gone(&published(ONE), SOON).await
    }

    /// Clusters that take connections and never answer may be one tenant's.
    async fn silent_clusters_keep_nobody_waiting(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        // The kernel takes the connections, and nobody asks it for them.
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut silent: Value = serde_json::from_str(&self.admin)?;
        silent["clusters"][0]["cluster"]["server"] = format!("https://{}", listener.local_addr()?).into();
        source_named(hub, "silent", &silent.to_string(), &self.password).await?;
        source(hub, &self.admin, &self.password).await?;
        let asked = wish("cluster-admin", 0);
        for number in 0..SILENT {
            hosted_by(hub, &format!("silent-{number}"), Some(&asked), "silent").await?;
        }
        for number in 0..QUICK {
            hosted(hub, &format!("quick-{number}"), None).await?;
        }
        let quick = (0..QUICK).map(async |number| {
            let at = published(&format!("quick-{number}"));
            hub.until_is(&at, SOON, "published beside them", |_| true).await
        });
        try_join_all(quick).await?;
        let says = |object: &Value| {
            let words = &told(object)["blockingReason"]["message"];
            words.as_str().is_some_and(|words| words.contains("cannot be reached"))
        };
        // Who waits for them would have been through with all of them first.
        let through = hub.list(HOSTED).await?.iter().filter(|object| says(object)).count();
        ensure!(through < SILENT / 2, "{through} of {SILENT} were waited for before");
        // Those who have to wait for leave get it in their turn.
        for number in 0..SILENT {
            let name = format!("silent-{number}");
            hub.until_is(&cluster(&name), TRIED_AGAIN, "told that it cannot be reached", says).await?;
        }
        Ok(())
    }

    /// The admin's credentials are where they were made, and in nothing that the provider wrote.
    async fn nowhere(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        for kind in [HOSTED, EVENT, CONFIG_MAP, SECRET] {
            for object in hub.list(kind).await? {
                let found = self.marks.within(object.to_string().as_bytes());
                let source = object["metadata"]["namespace"] == CLUSTERS && kind.kind == SECRET.kind;
                ensure!(
                    found.is_empty() || source,
                    "{found:?} in {} {}",
                    kind.kind,
                    object["metadata"]["name"]
                );
            }
        }
        Ok(())
    }
}

/// `true` if a kubeconfig authenticates somebody who may list ConfigMaps.
async fn works(kubeconfig: &str) -> anyhow::Result<bool> {
    let somebody = Cluster::new("by a token", connect(kubeconfig).await?);
    match somebody.list(CONFIG_MAP).await {
        Ok(_) => Ok(true),
        Err(error) if format!("{error:#}").contains("nauthorized") => Ok(false),
        Err(error) => Err(error),
    }
}

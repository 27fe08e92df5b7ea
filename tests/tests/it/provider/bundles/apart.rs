//! Objects that are none of its business, and limits of its rights.

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_tests::{
    cluster::{SOON, at},
    kinds::EVENT,
};

use super::{
    Bench, NOTICED, PASSWORD, bundle,
    delivered::{CLUSTERS, CONFIG_MAP, CREDENTIALS, HOSTED, OWN, cluster, published, source, told},
    holds, map, order_of, report,
};

fn ensure_forbidden(words: &str) -> anyhow::Result<()> {
    ensure!(words.contains("forbidden"), "{words}");
    Ok(())
}

impl Bench {
    /// A kubeconfig that the cluster refuses never replaces one that it accepts.
    pub(super) async fn refused_kubeconfig(&self) -> anyhow::Result<()> {
        let hub = self.hub.cluster();
        let mut refused: Value = serde_json::from_str(&self.admin)?;
        refused["users"][0]["user"]["token"] = "not-a-token".into();
        source(hub, &refused.to_string(), PASSWORD).await?;
        let blocked = |object: &Value| told(object)["blockingReason"].clone();
        let says = |object: &Value| blocked(object)["reason"] == "KubeconfigRejected";
        hub.until_is(&cluster("two"), SOON, "told that it is refused", says).await?;
        tokio::time::sleep(NOTICED).await;
        let secret = hub.get(&published("two")).await?.context("it was taken away")?;
        ensure!(holds(&secret, &self.admin), "it was published");
        // The same in another form is taken.
        let mut good: Value = serde_json::from_str(&self.admin)?;
        good["contexts"][0]["name"] = "another".into();
        good["current-context"] = "another".into();
        let good = good.to_string();
        source(hub, &good, PASSWORD).await?;
        hub.until_is(&published("two"), SOON, "published", |secret| holds(secret, &good)).await?;
        hub.until_is(&cluster("two"), SOON, "well again", |object| blocked(object).is_null()).await?;
        source(hub, &self.admin, PASSWORD).await?;
        hub.until_is(&published("two"), SOON, "as before", |secret| holds(secret, &self.admin))
            .await
            .map(drop)
    }

    /// Whoever took the name: nothing is done in what is published for somebody else.
    pub(super) async fn of_another(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        let labels = json!({
            ours::OWNER_GROUP: "hypershift.openshift.io", ours::OWNER_KIND: "HostedCluster",
            ours::OWNER_NAMESPACE: "elsewhere", ours::OWNER_UID: "another",
        });
        let metadata = json!({ "name": "three-credentials", "namespace": CREDENTIALS, "labels": labels });
        let data = json!({ "kubeconfig": BASE64_STANDARD.encode(&self.admin) });
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data });
        hub.apply(&secret).await?;
        self.ask("three", json!([bundle("b", "1m", &[(map("three"), None)])]), json!([])).await?;
        self.make("three").await?;
        tokio::time::sleep(NOTICED).await;
        let map = hub.get(&order_of("three")).await?.context("the order")?;
        ensure!(report(&map).is_null(), "{map}");
        ensure!(there.get(&at(CONFIG_MAP, "default", "three")).await?.is_none(), "it was applied");
        hub.delete(&order_of("three")).await?;
        hub.until_gone(&order_of("three"), SOON).await?;
        hub.delete(&cluster("three")).await
    }

    /// It holds what it is asked to, and can neither make nor delete a ConfigMap, nor read one elsewhere.
    pub(super) async fn few_rights(&self) -> anyhow::Result<()> {
        let of = &self.as_provider;
        let forbidden = |words: String| ensure_forbidden(&words);
        let made = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "namespace": CLUSTERS } });
        forbidden(of.create(&made).await.err().context("it may make one")?.to_string())?;
        forbidden(format!("{:#}", of.delete(&order_of("two")).await.err().context("it may delete one")?))?;
        let elsewhere = at(CONFIG_MAP, OWN, "kube-root-ca.crt");
        forbidden(format!("{:#}", of.get(&elsewhere).await.err().context("it may read elsewhere")?))
    }

    /// The admin's credentials are where they were made and published, and in nothing else.
    pub(super) async fn nowhere(&self) -> anyhow::Result<()> {
        for kind in [HOSTED, EVENT, CONFIG_MAP] {
            for object in self.hub.cluster().list(kind).await? {
                let found = self.marks.within(object.to_string().as_bytes());
                ensure!(found.is_empty(), "{found:?} in {} {}", kind.kind, object["metadata"]["name"]);
            }
        }
        Ok(())
    }
}

//! Manifests that are set up in a cluster, and the cases without them.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_apis::bundle::{FINALIZER, REPORT};
use testplatform_tests::{
    cluster::{SOON, at, at_root},
    kinds::{EVENT, Kind},
};

use super::{
    Bench, DONE, NOTICED, asked, bundle,
    delivered::{CONFIG_MAP, OWN, cluster, definition, hosted, published, wish},
    done, holds, is, map, order_of, report,
};

const CLUSTER_ROLE: Kind = Kind { api_version: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
const WIDGET: Kind = Kind { api_version: "example.com/v1", kind: "Widget" };

fn role(name: &str) -> Value {
    json!({
        "apiVersion": CLUSTER_ROLE.api_version, "kind": CLUSTER_ROLE.kind, "metadata": { "name": name },
        "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }],
    })
}

impl Bench {
    pub(super) async fn one_after_the_other(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        let established = "object.status.conditions.exists(c, c.type == 'Established' && c.status == 'True')";
        let widget = json!({
            "apiVersion": WIDGET.api_version, "kind": WIDGET.kind, "metadata": { "name": "w", "namespace": "default" },
        });
        let after = json!([
            bundle("kinds", "2m", &[(definition(WIDGET)?, Some(established))]),
            bundle(
                "widgets",
                "2m",
                &[(role("widgets"), None), (widget, Some("object.status.phase == 'Ready'"))]
            ),
            bundle("last", "2m", &[(map("last"), None)]),
        ]);
        let before = json!([bundle("bye", "2m", &[(map("bye"), Some(DONE))])]);
        self.ask("one", after, before).await?;
        tokio::time::sleep(NOTICED).await;
        let unborn = hub.get(&order_of("one")).await?.context("the order")?;
        ensure!(
            report(&unborn).is_null() && unborn["metadata"]["finalizers"].is_null(),
            "begun before it was made"
        );
        self.make("one").await?;
        let waits = |map: &Value| {
            report(map)["bundle"] == "postInstall/widgets" && report(map)["reason"] == "NotReady"
        };
        let map = hub.until_is(&order_of("one"), SOON, "waiting for the widget", waits).await?;
        ensure!(report(&map)["object"] == "Widget default/w" && report(&map)["state"] == "Running", "{map}");
        ensure!(map["metadata"]["finalizers"] == json!([FINALIZER]), "{map}");
        ensure!(there.get(&at(CONFIG_MAP, "default", "last")).await?.is_none(), "the last one comes last");
        let role = there.get(&at_root(CLUSTER_ROLE, "widgets")).await?.context("the role")?;
        let by = &role["metadata"]["managedFields"][0];
        ensure!(by["manager"] == OWN && by["operation"] == "Apply", "{by}");
        there.merge_status(&at(WIDGET, "default", "w"), &json!({ "phase": "Ready" })).await?;
        let map = hub.until_is(&order_of("one"), SOON, "applied", is("Applied")).await?;
        ensure!(report(&map)["bundle"].is_null() && report(&map)["reason"].is_null(), "{map}");
        ensure!(there.get(&at(CONFIG_MAP, "default", "last")).await?.is_some(), "the last one is there");
        // It is told once it is written down.
        hub.until_some(EVENT, "", SOON, "BundlesApplied", |event| event["reason"] == "BundlesApplied")
            .await?;
        Ok(())
    }

    /// Applied objects are their owner's; only a request without a report begins anew.
    pub(super) async fn not_again(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        let last = at(CONFIG_MAP, "default", "last");
        there.delete(&last).await?;
        tokio::time::sleep(NOTICED).await;
        ensure!(there.get(&last).await?.is_none(), "it was applied again");
        let without = json!({ "metadata": { "annotations": { REPORT: null } } });
        hub.merge(&order_of("one"), &without).await?;
        there.until_is(&last, SOON, "applied again", |_| true).await?;
        hub.until_is(&order_of("one"), SOON, "applied", is("Applied")).await.map(drop)
    }

    pub(super) async fn too_late(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        let after = json!([bundle("slow", "4s", &[(map("slow"), Some(DONE))])]);
        let before = json!([bundle("bye", "5s", &[(map("two-bye"), Some(DONE))])]);
        self.ask("two", after, before).await?;
        self.make("two").await?;
        let failed = hub.until_is(&order_of("two"), SOON, "failed", is("SetupFailed")).await?;
        let failed = report(&failed);
        ensure!(
            failed["bundle"] == "postInstall/slow" && failed["object"] == "ConfigMap default/slow",
            "{failed}"
        );
        ensure!(failed["reason"] == "NotReady" && failed["message"].is_string(), "{failed}");
        // Its admin can use it all the same.
        let secret = hub.get(&published("two")).await?.context("its credentials are gone")?;
        ensure!(holds(&secret, &self.admin), "something else is published");
        there.merge(&at(CONFIG_MAP, "default", "slow"), &done()).await?;
        hub.until_is(&order_of("two"), SOON, "applied after all", is("Applied")).await.map(drop)
    }

    /// A tenant's token may do little; what a template brings is the administrators'.
    pub(super) async fn by_its_admin(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        self.ask("four", json!([bundle("b", "1m", &[(role("four"), None)])]), json!([])).await?;
        hosted(hub, "four", Some(&wish("looker", 0))).await?;
        let map = hub.until_is(&order_of("four"), SOON, "applied", is("Applied")).await?;
        ensure!(map["metadata"]["finalizers"].is_null(), "nothing comes before the deletion");
        ensure!(there.get(&at_root(CLUSTER_ROLE, "four")).await?.is_some(), "it is not there");
        let secret = hub.get(&published("four")).await?.context("published")?;
        ensure!(!holds(&secret, &self.admin), "the admin's is published");
        hub.delete(&order_of("four")).await?;
        hub.delete(&cluster("four")).await
    }

    pub(super) async fn bad_orders(&self) -> anyhow::Result<()> {
        let (hub, there) = (self.hub.cluster(), self.delivered.cluster());
        self.make("five").await?;
        let nameless = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {} });
        let no_kind =
            json!({ "apiVersion": "example.org/v1", "kind": "Nothing", "metadata": { "name": "x" } });
        let invalid = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "Not_a_Name", "namespace": "default" },
        });
        for (object, ready, reason) in [
            (map("five"), Some("object."), "InvalidExpression"),
            (map("six"), Some("object.metadata.name"), "InvalidExpression"),
            (nameless, None, "InvalidManifest"),
            (no_kind, None, "NoSuchKind"),
            (invalid, None, "Invalid"),
        ] {
            self.ask("five", json!([bundle("b", "3s", &[(object, ready)])]), json!([])).await?;
            let map = hub.until_is(&order_of("five"), SOON, reason, is("SetupFailed")).await?;
            ensure!(report(&map)["reason"] == reason && report(&map)["bundle"] == "postInstall/b", "{map}");
            hub.delete(&order_of("five")).await?;
            hub.until_gone(&order_of("five"), SOON).await?;
        }
        ensure!(
            there.get(&at(CONFIG_MAP, "default", "five")).await?.is_none(),
            "applied by what is not an expression"
        );
        hub.create(&asked("five", "{")).await?;
        let map = hub.until_is(&order_of("five"), SOON, "told", is("SetupFailed")).await?;
        ensure!(report(&map)["reason"] == "InvalidOrder", "{map}");
        hub.delete(&order_of("five")).await?;
        hub.delete(&cluster("five")).await
    }
}

//! Who asked for a cluster is who wrote the claim, on a real API server with the policy that we ship as an example.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use kube::{Client, Config, config::KubeConfigOptions, config::Kubeconfig};
use serde_json::{Value, json};
use testplatform_apis::{
    claim::{CLAIM_PLURAL, GROUP},
    test_cluster,
};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{At, Cluster, SOON, at},
    control_plane::ControlPlane,
    hub::define,
    kinds::{CLAIM, Kind, TEST_CLUSTER},
    manifests, patience,
};

const NOTED: &str = "testplatform.ci.openshift.org/requested-by";
const AGAIN: &str = "testplatform.ci.openshift.org/cloud-credential-generation";
const NAMESPACE: &str = "default";
const CROSSPLANE: &str = "system:serviceaccount:crossplane-system:crossplane";

/// Both kinds, with whatever in them: it is nothing of theirs that is looked at.
async fn define_both(konflux: &Cluster) -> anyhow::Result<()> {
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    for (kind, plural) in [(CLAIM.kind, CLAIM_PLURAL), (TEST_CLUSTER.kind, test_cluster::PLURAL)] {
        let names = json!({
            "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase(),
        });
        let version = json!({
            "name": "v1alpha1", "served": true, "storage": true, "schema": schema, "subresources": { "status": {} },
        });
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{GROUP}") },
            "spec": { "group": GROUP, "scope": "Namespaced", "names": names, "versions": [version] },
        });
        define(konflux, &definition).await?;
    }
    Ok(())
}

/// Somebody who may do everything.
async fn somebody(plane: &ControlPlane, user: &str) -> anyhow::Result<Cluster> {
    let kubeconfig = Kubeconfig::from_yaml(&std::fs::read_to_string(plane.kubeconfig())?)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.auth_info.impersonate = Some(user.to_owned());
    config.auth_info.impersonate_groups = Some(vec!["system:masters".to_owned()]);
    Ok(Cluster::new(user, Client::try_from(config)?))
}

fn asked(kind: Kind, name: &str, by: Option<&str>) -> Value {
    let mut claim = json!({
        "apiVersion": kind.api_version, "kind": kind.kind, "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": { "template": "a" },
    });
    if let Some(by) = by {
        claim["metadata"]["annotations"] = json!({ NOTED: by, "other": "x" });
    }
    claim
}

fn noted(by: &str) -> Value {
    json!({ "metadata": { "annotations": { NOTED: by } } })
}

async fn refused(by: &Cluster, at: &At, patch: &Value) -> anyhow::Result<()> {
    let said = by.merge(at, patch).await.err().with_context(|| format!("taken: {patch}"))?;
    ensure!(said.to_string().contains("requested-by must be"), "{said}");
    Ok(())
}

pub async fn who_asked_is_who_wrote() -> anyhow::Result<()> {
    let plane = ControlPlane::start("konflux", &Binaries::ensure()?).await?;
    let konflux = plane.cluster();
    define_both(konflux).await?;
    konflux.apply_all(&manifests::package("install/examples/requested-by-policy.yaml")?).await?;
    let (alice, bob) = (somebody(&plane, "alice").await?, somebody(&plane, "bob").await?);
    // It takes a while until a policy is in force.
    let in_force = async {
        for number in 0.. {
            let probe = asked(CLAIM, &format!("probe-{number}"), Some("bob"));
            let said = alice.create(&probe).await.err().map(|error| error.to_string());
            if said.is_some_and(|said| said.contains("requested-by must be")) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    patience::timeout(SOON, in_force).await.context("the policy never is in force")?;

    for kind in [CLAIM, TEST_CLUSTER] {
        let one = at(kind, NAMESPACE, "one");
        for by in ["bob", "Alice"] {
            let said = alice.create(&asked(kind, "one", Some(by))).await.err().context("taken")?;
            ensure!(said.to_string().contains("requested-by must be alice"), "{by:?}: {said}");
        }
        // A tool that knows nothing of this names nobody, and gets what the tenant gets.
        for by in [None, Some("")] {
            alice.create(&asked(kind, "of-nobody", by)).await?;
            let of_nobody = at(kind, NAMESPACE, "of-nobody");
            bob.merge(&of_nobody, &json!({ "spec": { "template": "b" } })).await?;
            refused(&bob, &of_nobody, &noted("alice")).await?;
            alice.delete(&of_nobody).await?;
            konflux.until_gone(&of_nobody, SOON).await?;
        }
        alice.create(&asked(kind, "one", Some("alice"))).await?;
        // Whoever changes it says so, and only of themselves.
        let change = |by: Option<&str>, to: &str| {
            let mut patch = by.map_or_else(|| json!({}), noted);
            patch["spec"] = json!({ "template": to });
            patch
        };
        refused(&bob, &one, &change(None, "b")).await?;
        refused(&bob, &one, &change(Some("alice"), "b")).await?;
        refused(&bob, &one, &noted("carol")).await?;
        alice.merge(&one, &change(None, "b")).await?;
        bob.merge(&one, &change(Some("bob"), "c")).await?;
        refused(&alice, &one, &change(None, "d")).await?;
        // Who has it issued for them cannot be taken away, and what is made with it by somebody else.
        for nobody in [Value::Null, json!({ NOTED: null }), json!({ NOTED: "" })] {
            let nobody = json!({ "metadata": { "annotations": nobody } });
            refused(&bob, &one, &nobody).await?;
            refused(&alice, &one, &nobody).await?;
            let mut changed = nobody.clone();
            changed["spec"] = json!({ "template": "d" });
            refused(&alice, &one, &changed).await?;
        }
        // Nor is another credential issued in somebody's name because somebody else wants it, be it on the way to its end.
        let again = json!({ "metadata": { "annotations": { AGAIN: "2" } } });
        refused(&alice, &one, &again).await?;
        let mut with_the_end = again.clone();
        with_the_end["spec"] = json!({ "tearDownCluster": true });
        refused(&alice, &one, &with_the_end).await?;
        bob.merge(&one, &again).await?;
        // Anybody may ask for its end, and for nothing of somebody else's on the way.
        let end = json!({ "spec": { "tearDownCluster": true } });
        let mut for_another = noted("carol");
        for_another["spec"] = end["spec"].clone();
        refused(&alice, &one, &for_another).await?;
        let with = |more: Value| {
            let mut changed = end.clone();
            changed["spec"]
                .as_object_mut()
                .into_iter()
                .for_each(|spec| spec.extend(more.as_object().cloned().unwrap_or_default()));
            changed
        };
        let more = [json!({ "template": "d" }), json!({ "template": null }), json!({ "lifetime": "1h" })];
        for more in &more {
            refused(&alice, &one, &with(more.clone())).await?;
        }
        alice.merge(&one, &end).await?;
        refused(&alice, &one, &json!({ "spec": { "tearDownCluster": false } })).await?;
        for more in &more {
            refused(&alice, &one, &json!({ "spec": more })).await?;
        }
        bob.merge(&one, &json!({ "spec": { "tearDownCluster": false, "template": "e" } })).await?;
        // Everybody may change labels, and controllers may write their fields.
        alice.merge(&one, &json!({ "metadata": { "labels": { "a": "b" } } })).await?;
        alice.merge_status(&one, &json!({ "phase": "Ready" })).await?;
        let core = somebody(&plane, CROSSPLANE).await?;
        core.merge(&one, &json!({ "spec": { "resourceRef": { "name": "one-x" } } })).await?;
        let now = konflux.get(&one).await?.context("gone")?;
        ensure!(now["metadata"]["annotations"][NOTED] == "bob", "{now}");
        alice.delete(&one).await?;
        konflux.until_gone(&one, SOON).await?;
    }
    Ok(())
}

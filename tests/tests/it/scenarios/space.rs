//! Spaces: Namespace claims of `eaas.konflux-ci.dev`.

use std::{collections::BTreeMap, path::Path, time::Duration};

use anyhow::{Context as _, ensure};
use jiff::SignedDuration;
use serde_json::{Value, json};
use testplatform_apis::{names::ours, space::keys};
use testplatform_test_data::upstream;
use testplatform_tests::{
    actors::now,
    cluster::{At, Cluster, SOON, at, at_root},
    function,
    kinds::{
        CONFIG_MAP, LIMIT_RANGE, NAMESPACE, NETWORK_POLICY, RESOURCE_QUOTA, ROLE_BINDING, SECRET,
        SERVICE_ACCOUNT,
    },
    manifests, patience,
    space::{GONE, Space, compose},
    tenant::{Tenant, decoded},
    witness::Witness,
};

/// Core tells a claim that its composite has new credentials by the time at which they were published, in whole seconds: two of one second are
/// one to it, until it looks at the claim for another reason.
pub const APART: Duration = Duration::from_millis(1100);

/// Core tries again what failed at growing distances, a minute at most.
const BACK: Duration = Duration::from_secs(100);
/// The incumbent's first pass asks for what no hub takes, which is tried again at growing distances.
const LOOKED: Duration = Duration::from_mins(3);

/// The claim that upstream has as an example.
fn example() -> anyhow::Result<Value> {
    manifests::read(&upstream().join("examples/xnamespace/claim.yaml"))?.pop().context("an empty example")
}

/// A claim as tenants write it.
pub fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "eaas.konflux-ci.dev/v1alpha1", "kind": "Namespace", "metadata": { "name": name },
        "spec": {
            // Scenarios have Compositions of their own, and without a name core picks any.
            "compositionRef": { "name": "eaas-namespace" },
            "writeConnectionSecretToRef": { "name": format!("{name}-secret") },
        },
    })
}

fn config_map(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": namespace },
        "data": { "key": "value" },
    })
}

/// From upstream's example to a namespace that its tenant can use, and nothing else; then its end, in order.
pub async fn space_happy_path(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let mut example = example()?;
    example["spec"]["compositionRef"] = json!({ "name": "eaas-namespace" });
    let space = Space::ask(tenant, example).await?;
    let given = space.until_given(SOON).await?;
    let hub = tenant.engine.hub.cluster();
    let remote = space.remote().await?;
    let namespace = remote.name();
    ensure!(namespace.starts_with("my-namespace-1-0-"), "{namespace}");
    ensure!(given[keys::NAMESPACE] == namespace && given[keys::SERVICE_ACCOUNT] == "namespace-manager");
    ensure!(given[keys::KUBECONFIG].contains(&given[keys::TOKEN]), "another token");
    ensure!(given[keys::KUBECONFIG].contains("certificate-authority-data"), "the hub's certificates");
    let seen = space.until(SOON, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    ensure!(seen["status"]["namespace"] == namespace, "{seen}");
    limited(hub, namespace).await?;
    let inside = Space::inside(&given).await?;
    confined(&inside, namespace).await?;
    let tokens = hub.list(SECRET).await?;
    let lasting = |s: &&Value| {
        s["metadata"]["namespace"] == namespace && s["type"] == "kubernetes.io/service-account-token"
    };
    ensure!(!tokens.iter().any(|s| lasting(&s)), "a token that never ends");
    for (name, object) in space.objects().await? {
        let noise = &object["status"]["conditions"];
        ensure!(!noise.to_string().contains("ReconcileError"), "{name}: {noise}");
    }
    space.end().await
}

/// Objects in a space.
async fn limited(hub: &Cluster, namespace: &str) -> anyhow::Result<()> {
    let quota = hub.get(&at(RESOURCE_QUOTA, namespace, "quota")).await?.context("no quota")?;
    ensure!(quota["spec"]["hard"]["count/pods"] == "150", "{quota}");
    let quota = hub.get(&at(RESOURCE_QUOTA, namespace, "quota-terminating")).await?.context("no quota")?;
    ensure!(quota["spec"]["scopes"] == json!(["Terminating"]), "{quota}");
    let binding = hub.get(&at(ROLE_BINDING, namespace, "namespace-manager-rb")).await?;
    let binding = binding.context("no rights")?;
    ensure!(binding["roleRef"]["name"] == "edit", "{binding}");
    Ok(())
}

/// Rights of a space's tenant, and their limits.
async fn confined(inside: &Cluster, namespace: &str) -> anyhow::Result<()> {
    // The role is put together, and the quota counted, by controllers that may be a moment behind.
    let made = async {
        while let Err(error) = inside.create(&config_map(namespace, "own")).await {
            tracing(&error);
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    patience::timeout(SOON, made).await.context("its tenant can make nothing")?;
    inside.get(&at(CONFIG_MAP, namespace, "own")).await?.context("it is not there")?;
    let mut refused = vec![];
    refused.push(("elsewhere", inside.create(&config_map("default", "own")).await.map(|_| ())));
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": "more", "namespace": namespace },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": "namespace-manager", "namespace": namespace }],
    });
    refused.push(("rights", inside.create(&binding).await.map(|_| ())));
    let more = json!({ "spec": { "hard": { "count/pods": "1500" } } });
    refused.push(("quota", inside.merge(&at(RESOURCE_QUOTA, namespace, "quota"), &more).await));
    let label = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": "privileged" } } });
    refused.push(("namespace", inside.merge(&at_root(NAMESPACE, namespace), &label).await));
    for (what, outcome) in refused {
        let forbidden = matches!(&outcome, Err(kube::Error::Api(status)) if status.code == 403);
        ensure!(forbidden, "{what}: {outcome:?}");
    }
    ensure!(inside.get(&at(SECRET, "testplatform-spaces", "any")).await.is_err(), "published credentials");
    ensure!(inside.get(&at(SERVICE_ACCOUNT, "default", "default")).await.is_err(), "another namespace");
    Ok(())
}

fn tracing(error: &kube::Error) {
    eprintln!("not yet: {error}");
}

/// A token that is two thirds through is replaced, and the tenant's Secret follows without anybody asking. So it does when somebody
/// deletes what is published.
pub async fn space_token_replaced(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let space = Space::ask(tenant, claim("tokens")).await?;
    let first = space.until_given(SOON).await?;
    let hub = tenant.engine.hub.cluster();
    let published = space.published().await?;
    // As if it had been made three hours ago: nobody can have one that ends within this scenario.
    let secret = hub.get(&published).await?.context("nothing is published")?;
    let stamp = secret["metadata"]["annotations"][ours::SOURCE_REVISION].as_str().unwrap_or_default();
    let origin = stamp.splitn(3, '/').nth(2).context("no stamp")?;
    let [issued, expires] = [-3, 1].map(|hours| now() + SignedDuration::from_hours(hours));
    let old = json!({ ours::SOURCE_REVISION: format!("{issued}/{expires}/{origin}") });
    tokio::time::sleep(APART).await;
    hub.merge(&published, &json!({ "metadata": { "annotations": old } })).await?;
    let second = until_other(tenant, &space.secret(), &first).await?;
    usable(&second).await?;
    tokio::time::sleep(APART).await;
    hub.delete(&published).await?;
    let third = until_other(tenant, &space.secret(), &second).await?;
    usable(&third).await?;
    // Whoever has an old one can go on with it.
    usable(&first).await?;
    let uid = async |at: &At| {
        let object = hub.get(at).await?.context("it is gone")?;
        anyhow::Ok(object["metadata"]["uid"].clone())
    };
    let remote = space.remote().await?;
    let labelled = hub.get(&published).await?.context("nothing is published")?;
    ensure!(labelled["metadata"]["labels"][ours::OWNER_UID] == uid(&remote).await?, "{labelled}");
    space.end().await
}

async fn until_other(
    tenant: &Tenant<'_>,
    secret: &At,
    before: &BTreeMap<String, String>,
) -> anyhow::Result<BTreeMap<String, String>> {
    let other = |secret: &Value| {
        let given = decoded(secret);
        given.get(keys::TOKEN).is_some_and(|token| *token != before[keys::TOKEN] && !token.is_empty())
    };
    let secret = tenant.konflux().until_is(secret, SOON, "with another token", other).await?;
    Ok(decoded(&secret))
}

async fn usable(given: &BTreeMap<String, String>) -> anyhow::Result<()> {
    let inside = Space::inside(given).await?;
    inside.get(&at(CONFIG_MAP, &given[keys::NAMESPACE], "any")).await.map(|_| ())
}

/// With the claim one thing is deleted on the hub, the namespace. Its Object and the published credentials stay until it is gone, however
/// long that takes, and in it nothing more can be made.
pub async fn space_deleted_in_order(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let space = Space::ask(tenant, claim("order")).await?;
    let given = space.until_given(SOON).await?;
    let (remote, published) = (space.remote().await?, space.published().await?);
    let namespace = remote.name().to_owned();
    let hub = tenant.engine.hub.cluster();
    let mut held = config_map(&namespace, "held");
    held["metadata"]["finalizers"] = json!(["testbed/held"]);
    hub.create(&held).await?;
    let objects = space.objects().await?;
    for (name, object) in &objects {
        let policies = &object["spec"]["managementPolicies"];
        let deletes = policies.to_string().contains('*') || policies.to_string().contains("Delete");
        ensure!(deletes == (name == "namespace"), "{name}: {policies}");
    }
    let home = objects.get("namespace").and_then(|o| o["metadata"]["name"].as_str());
    let home = at_root(testplatform_tests::kinds::OBJECT, home.context("no Object")?);
    tenant.konflux().delete(&space.claim()).await?;
    let goes = |n: &Value| n["metadata"]["deletionTimestamp"].is_string();
    hub.until_is(&remote, SOON, "going", goes).await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    ensure!(tenant.konflux().get(&home).await?.is_some(), "its Object went before the namespace");
    ensure!(hub.get(&published).await?.is_some(), "its credentials went before the namespace");
    let inside = Space::inside(&given).await?;
    ensure!(inside.create(&config_map(&namespace, "late")).await.is_err(), "something was made at the end");
    let held = at(CONFIG_MAP, &namespace, "held");
    hub.merge(&held, &json!({ "metadata": { "finalizers": null } })).await?;
    hub.until_gone(&remote, GONE).await?;
    hub.until_gone(&published, SOON).await?;
    tenant.konflux().until_gone(&home, GONE).await
}

/// A live space of the incumbent's making lives on: what the tenant has stays to the byte, nothing of it changes on the hub, and the next
/// claim gets a space of ours.
pub async fn space_switched_over(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    engine.serve_spaces().await?;
    // The incumbent's identity has this right there, because it makes Secrets with tokens. No test of ours needs it.
    let hub = engine.hub.cluster();
    hub.apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "incumbent-spaces" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit" },
        "subjects": [{ "kind": "ServiceAccount", "name": "konflux-spaces", "namespace": "provider-testplatform" }],
    }))
    .await?;
    let incumbent = Path::new(env!("CARGO_BIN_EXE_function-incumbent"));
    let _served = engine.beside("function-incumbent-spaces", incumbent).await?;
    let name = "space-switched-over";
    compose(engine, name, "function-incumbent-spaces", &Value::Null).await?;
    let ask = |claimed: &str| {
        let mut claim = claim(claimed);
        claim["spec"]["compositionRef"]["name"] = name.into();
        Space::ask(tenant, claim)
    };
    let old = ask("old").await?;
    let given = old.until_given(LOOKED).await?;
    let claim = tenant.konflux().get(&old.claim()).await?.context("no claim")?;
    ensure!(claim["status"]["phase"].is_null(), "that was not the incumbent: {claim}");
    let namespace = old.remote().await?.name().to_owned();
    let before = remote(hub, &namespace).await?;
    let objects = old.objects().await?;
    let expected = given.clone();
    let kept = move |secret: Option<&Value>| secret.is_some_and(|s| decoded(s) == expected);
    let secret = Witness::of(tenant.konflux(), &old.secret(), kept).await?;

    compose(engine, name, function::NAME, &Value::Null).await?;
    old.until(BACK, "ours", |claim| claim["status"]["phase"] == "Ready").await?;
    // Objects are looked at as they are now.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let after = old.objects().await?;
    for (name, object) in &objects {
        let now = after.get(name).with_context(|| format!("{name} was dropped"))?;
        ensure!(now["metadata"]["uid"] == object["metadata"]["uid"], "{name} was made anew");
        let conditions = now["status"]["conditions"].to_string();
        ensure!(!conditions.contains("ReconcileError"), "{name}: {conditions}");
    }
    ensure!(objects.len() == after.len(), "more than there was: {:?}", after.keys());
    ensure!(after["secret"]["spec"] == objects["secret"]["spec"], "{}", after["secret"]["spec"]);
    let remotes = remote(hub, &namespace).await?;
    ensure!(before == remotes, "it was changed on the hub: {before:?}\n{remotes:?}");
    secret.verdict().await?;
    let token = hub.get(&at(SECRET, &namespace, "namespace-manager")).await?.context("its token is gone")?;
    ensure!(decoded(&token)["token"] == given[keys::TOKEN], "another token");
    ensure!(hub.get(&old.published().await?).await?.is_none(), "it has a second token");

    let new = ask("new").await?;
    let own = new.until_given(SOON).await?;
    usable(&own).await?;
    ensure!(!new.objects().await?.contains_key("secret"), "a token that never ends");
    drop(secret);
    new.end().await?;
    old.end().await
}

/// Relevant parts of a namespace's objects: which objects, and their requested state.
async fn remote(hub: &Cluster, namespace: &str) -> anyhow::Result<BTreeMap<String, [Value; 2]>> {
    let mut all = BTreeMap::new();
    for kind in [RESOURCE_QUOTA, LIMIT_RANGE, NETWORK_POLICY, SERVICE_ACCOUNT, ROLE_BINDING] {
        for object in hub.list(kind).await?.into_iter().filter(|o| o["metadata"]["namespace"] == namespace) {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let asked = [&object["spec"], &object["roleRef"]].into_iter().find(|part| !part.is_null());
            let asked = asked.cloned().unwrap_or_default();
            all.insert(format!("{}/{name}", kind.kind), [object["metadata"]["uid"].clone(), asked]);
        }
    }
    let home = hub.get(&at_root(NAMESPACE, namespace)).await?.context("it is gone")?;
    all.insert("Namespace".into(), [home["metadata"]["uid"].clone(), home["metadata"]["labels"].clone()]);
    Ok(all)
}

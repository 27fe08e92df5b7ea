//! Who can read which Secrets, with the rights that we ship: clouds' credentials lie beside those of clusters.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{At, Cluster, SOON, at, at_root},
    control_plane::{Identity, connect},
    hive::offer::{CREDENTIALS, POOLS},
    hub,
    kinds::{COMPOSITE, OBJECT, PROVIDER_CONFIG, SECRET},
    manifests, patience,
    tenant::{Tenant, decoded},
};

use super::hive::got;

/// Name of the tenant's ServiceAccount.
const PERSON: &str = "somebody";

/// The Konflux cluster's identity gets published credentials and no other Secret of the hub; a tenant's gets none of them, neither
/// there nor on the way.
pub async fn hive_secrets_out_of_reach(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (engine, hub) = (tenant.engine, tenant.engine.hub.cluster());
    let (claimed, cluster) = got(tenant).await?;
    let cloud =
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "cloud", "namespace": POOLS } });
    hub.apply(&cloud).await?;

    let credential = hub::issue(&engine.hub, hub::IDENTITY, "out-of-reach").await?;
    let konflux = Cluster::new("hub as Konflux", connect(&credential.kubeconfig.to_string()).await?);
    konflux.get(&claimed.published()).await?.context("Konflux cannot read what is published")?;
    // Where EphemeralClusters and their credentials are; the testbed has two such places.
    let open = [CREDENTIALS, hub::NAMESPACE, hub::ACTED];
    let secrets = hub.list(SECRET).await?;
    let mut refused = Vec::new();
    for place in secrets.iter().filter(|s| !open.contains(&namespace(s))) {
        forbidden(&konflux, &secret(place)).await?;
        refused.push(namespace(place));
    }
    for needed in [POOLS, &cluster, "provider-testplatform"] {
        ensure!(refused.contains(&needed), "no Secret of {needed} was tried");
    }
    eprintln!("{} of {} Secrets of the hub refused to Konflux", refused.len(), secrets.len());
    let words = konflux.list(SECRET).await.err().context("Konflux may list Secrets")?;
    ensure!(format!("{words:#}").contains("forbidden"), "{words:#}");

    let person = person(tenant).await?;
    let own = tenant.konflux().get(&tenant.secret()).await?.context("the tenant's Secret is gone")?;
    let read = person.get(&tenant.secret()).await?.context("the tenant cannot read its own Secret")?;
    ensure!(decoded(&read) == decoded(&own), "the tenant reads something else");
    for other in tenant.konflux().list(SECRET).await?.iter().filter(|s| namespace(s) != tenant.namespace) {
        forbidden(&person, &secret(other)).await?;
    }
    let name = tenant.composite().await?;
    let config = at_root(PROVIDER_CONFIG, "testplatform-kubernetes-provider-config");
    let objects = ["managed", "credentials"].map(|object| at_root(OBJECT, &format!("{object}-{name}")));
    for way in objects.iter().chain([&config, &at_root(COMPOSITE, &name)]) {
        forbidden(&person, way).await?;
    }
    // This would read any Secret of the hub with the Konflux cluster's rights, or hand out another claim's.
    let object = json!({
        "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "metadata": { "name": "mine" },
        "spec": { "forProvider": { "manifest": {
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "cloud", "namespace": CREDENTIALS },
        } }, "providerConfigRef": { "name": "testplatform-kubernetes-provider-config" } },
    });
    let outcome = person.create(&object).await;
    ensure!(matches!(&outcome, Err(kube::Error::Api(s)) if s.code == 403), "{outcome:?}");

    // And the hub does not know it.
    let token = token(tenant).await?;
    let there = engine.hub.kubeconfig_for(&Identity::Token(token)).to_string();
    let there = Cluster::new("hub as a tenant", connect(&there).await?);
    for place in [claimed.published(), at(SECRET, POOLS, "cloud"), at(SECRET, &cluster, "cloud")] {
        let words = there.get(&place).await.err().with_context(|| format!("a tenant may read {place}"))?;
        ensure!(format!("{words:#}").contains("Unauthorized"), "{words:#}");
    }
    Ok(())
}

/// A ServiceAccount of the tenant's namespace, with what those who may edit have and what we add to it. Nothing aggregates here, so
/// it has the parts.
async fn person(tenant: &Tenant<'_>) -> anyhow::Result<Cluster> {
    let konflux = tenant.konflux();
    konflux.apply_all(&manifests::package("install/tenants/roles.yaml")?).await?;
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": PERSON, "namespace": tenant.namespace },
    });
    konflux.apply(&account).await?;
    let api = "rbac.authorization.k8s.io";
    for role in [
        "system:aggregate-to-edit",
        "system:aggregate-to-view",
        "testplatformclusters-edit",
        "testplatformclusters-view",
    ] {
        let binding = json!({
            "apiVersion": format!("{api}/v1"), "kind": "RoleBinding",
            "metadata": { "name": role, "namespace": tenant.namespace },
            "roleRef": { "apiGroup": api, "kind": "ClusterRole", "name": role },
            "subjects": [{ "kind": "ServiceAccount", "name": PERSON, "namespace": tenant.namespace }],
        });
        konflux.apply(&binding).await?;
    }
    let kubeconfig = tenant.engine.konflux.kubeconfig_for(&Identity::Token(token(tenant).await?));
    let person = Cluster::new("konflux as a tenant", connect(&kubeconfig.to_string()).await?);
    // The authorizer hears of bindings a moment after they are written.
    let heard = async {
        while person.get(&tenant.claim()).await.is_err() || person.get(&tenant.secret()).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    patience::timeout(SOON, heard).await.context("the tenant never may read its claim")?;
    Ok(person)
}

async fn token(tenant: &Tenant<'_>) -> anyhow::Result<String> {
    let issued = hub::issue_in(&tenant.engine.konflux, &tenant.namespace, PERSON, "own").await?;
    let token = issued.kubeconfig.pointer("/users/0/user/token").and_then(Value::as_str);
    Ok(token.context("a kubeconfig without a token")?.to_owned())
}

async fn forbidden(who: &Cluster, place: &At) -> anyhow::Result<()> {
    let words = who.get(place).await.err().with_context(|| format!("{place} can be read"))?;
    ensure!(format!("{words:#}").contains("forbidden"), "{words:#}");
    Ok(())
}

fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

fn secret(object: &Value) -> At {
    at(SECRET, namespace(object), object["metadata"]["name"].as_str().unwrap_or_default())
}

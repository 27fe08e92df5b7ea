//! The kinds' own definitions, on a real API server, accept the remote objects of the examples with templates: they know every
//! field, and every rule of theirs holds. Without the definitions, nothing is checked.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    binaries::Binaries,
    cluster::{SOON, at_root, has},
    control_plane::ControlPlane,
    kinds::CRD,
    manifests, settings,
};

const EXAMPLES: [&str; 10] = [
    "cluster-api-asked",
    "cluster-api-ready",
    "hypershift-agent",
    "hypershift-asked",
    "hypershift-aws",
    "hypershift-ready",
    "caas-asked",
    "caas-ready",
    "osac-asked",
    "osac-ready",
];
const DEFINITIONS: [&str; 5] = [
    "clusterorders.osac.openshift.io",
    "clusters.cluster.x-k8s.io",
    "clustertemplateinstances.clustertemplate.openshift.io",
    "hostedclusters.hypershift.openshift.io",
    "nodepools.hypershift.openshift.io",
];

/// Manifests in the Objects of an example, without the pin to a uid: nothing exists yet.
fn carried(example: &str) -> anyhow::Result<Vec<Value>> {
    let path = settings::repository().join("examples").join(example).join("desired.yaml");
    let objects = manifests::read(&path)?.into_iter().filter(|object| object["kind"] == "Object");
    let carried = objects.filter(|object| object["spec"]["managementPolicies"] != json!(["Observe"]));
    let mut found: Vec<Value> = carried.map(|mut o| o["spec"]["forProvider"]["manifest"].take()).collect();
    for manifest in &mut found {
        // All are called alike, and what they are of cannot change.
        let name = format!("{}-{example}", manifest["metadata"]["name"].as_str().unwrap_or_default());
        if let Some(metadata) = manifest["metadata"].as_object_mut() {
            metadata.remove("uid");
            metadata.insert("name".into(), name.into());
        }
    }
    Ok(found)
}

pub async fn what_examples_ask_for_is_admitted() -> anyhow::Result<()> {
    let plane = ControlPlane::start("hub", &Binaries::ensure()?).await?;
    let hub = plane.cluster();
    for name in DEFINITIONS {
        let mut crd = manifests::foreign_crd(name)?;
        // Nobody is there who would convert.
        crd["spec"]["conversion"] = json!({ "strategy": "None" });
        hub.apply(&crd).await?;
        hub.until_is(&at_root(CRD, name), SOON, "established", |c| has(c, "Established", "True", "")).await?;
    }
    for name in ["clusters", "osac-orders"] {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        hub.apply(&namespace).await?;
    }
    let mut kinds = BTreeSet::new();
    for example in EXAMPLES {
        for manifest in carried(example)? {
            hub.apply(&manifest).await.with_context(|| format!("{example}: {manifest}"))?;
            kinds.extend(manifest["kind"].as_str().map(str::to_owned));
        }
    }
    ensure!(kinds.len() == DEFINITIONS.len(), "not of all kinds: {kinds:?}");
    // It sees what it is there for.
    let mut wrong = carried(EXAMPLES[0])?.pop().context("an example of nothing")?;
    wrong["spec"]["topology"]["colour"] = json!("blue");
    let said = hub.apply(&wrong).await.err().context("a field that nobody knows was taken")?;
    ensure!(format!("{said:#}").contains("topology.colour"), "{said:#}");
    Ok(())
}

/// OSAC since September 2026 has no resource classes, and OSAC before it no node sets: each takes the order that is written for it, and
/// refuses the other by the field.
pub async fn orders_are_admitted_by_the_osac_they_are_for() -> anyhow::Result<()> {
    let plane = ControlPlane::start("hub", &Binaries::ensure()?).await?;
    let hub = plane.cluster();
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "osac-orders" } });
    hub.apply(&namespace).await?;
    let definitions = [
        (manifests::foreign_crd(DEFINITIONS[0])?, ["osac-asked", "osac-node-sets"], "bareMetal"),
        (
            manifests::known_crd(&format!("{}-2026-09", DEFINITIONS[0]))?,
            ["osac-node-sets", "osac-asked"],
            "resourceClass",
        ),
    ];
    for (crd, [taken, refused], field) in definitions {
        hub.apply(&crd).await?;
        let crd = at_root(CRD, DEFINITIONS[0]);
        hub.until_is(&crd, SOON, "established", |c| has(c, "Established", "True", "")).await?;
        let orders = carried(taken)?;
        ensure!(!orders.is_empty(), "{taken} asks for nothing");
        // The schema of a definition that changed is served a moment later.
        let mut tried = hub.apply(&orders[0]).await;
        for _ in 0..50 {
            if tried.is_ok() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            tried = hub.apply(&orders[0]).await;
        }
        tried.with_context(|| format!("{taken}: {}", orders[0]))?;
        let mut other = carried(refused)?;
        other[0]["metadata"]["name"] = "refused".into();
        let words = hub.apply(&other[0]).await.err().with_context(|| format!("{refused} was admitted"))?;
        ensure!(format!("{words:#}").contains(field), "{words:#}");
    }
    Ok(())
}

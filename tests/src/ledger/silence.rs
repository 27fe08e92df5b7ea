//! Objects that change although nothing happens: every object of both control planes, before and after a time.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, ensure};
use kube::{
    Api,
    api::{DynamicObject, ListParams},
    core::ApiResource,
    discovery::{ApiGroup, Discovery, verbs},
};
use tokio::time::sleep;

use super::{LedgerBackend, life};
use crate::{actors::Fulfilled, cluster::has, control_plane::ControlPlane, crossplane::Engine};

/// Kinds that change by the clock on every cluster: heartbeats, and events with their counts.
const BY_THE_CLOCK: [&str; 2] = ["Lease", "Event"];
/// From the last Ready until everything that it causes is stored: the quiet period, and a poll of provider-kubernetes.
const SETTLING: Duration = Duration::from_mins(1);

/// The resource version of each object, by control plane, kind, namespace and name.
type Versions = BTreeMap<String, String>;

/// Makes a claim by each backend, waits until all are ready and settled, and returns the objects that change within `time`.
///
/// # Errors
/// If a claim does not become ready, or a control plane cannot be read.
pub async fn changes_at_rest(
    engine: &Engine,
    backends: &[LedgerBackend],
    time: Duration,
) -> anyhow::Result<Vec<String>> {
    for &backend in backends {
        let tenant = life::prepare_one(engine, &format!("rest-{}", backend.name()), backend).await?;
        if matches!(tenant.fulfilled(), Fulfilled::ByProvider) {
            tenant.ask_and_get(&serde_json::json!({})).await?;
        } else {
            tenant.ask(&serde_json::json!({})).await?;
            tenant.until(life::PATIENCE, "ready", |claim| has(claim, "ClusterReady", "True", "")).await?;
        }
    }
    sleep(SETTLING).await;
    let before = versions(engine).await?;
    let claims = before.keys().filter(|key| key.starts_with("konflux: TestPlatformCluster ")).count();
    ensure!(claims >= backends.len(), "{claims} claims are listed, and {} were made", backends.len());
    sleep(time).await;
    let after = versions(engine).await?;
    engine.check()?;
    Ok(differences(&before, &after))
}

async fn versions(engine: &Engine) -> anyhow::Result<Versions> {
    let mut versions = Versions::new();
    for (name, plane) in [("konflux", &engine.konflux), ("hub", &engine.hub)] {
        let discovery = Discovery::new(plane.client())
            .run()
            .await
            .context("cannot discover the kinds of a control plane")?;
        for (resource, can) in discovery.groups().flat_map(ApiGroup::resources_by_stability) {
            if can.supports_operation(verbs::LIST) && !BY_THE_CLOCK.contains(&resource.kind.as_str()) {
                list(name, plane, &resource, &mut versions).await?;
            }
        }
    }
    Ok(versions)
}

async fn list(
    name: &str,
    plane: &ControlPlane,
    resource: &ApiResource,
    versions: &mut Versions,
) -> anyhow::Result<()> {
    let api: Api<DynamicObject> = Api::all_with(plane.client(), resource);
    let objects = api.list_metadata(&ListParams::default()).await;
    let objects = objects.with_context(|| format!("cannot list {} of {name}", resource.plural))?;
    for object in objects.items {
        let metadata = object.metadata;
        let part = |part: Option<String>| part.unwrap_or_default();
        let key = format!("{name}: {} {}/{}", resource.kind, part(metadata.namespace), part(metadata.name));
        versions.insert(key, part(metadata.resource_version));
    }
    Ok(())
}

/// The objects that were changed, created or deleted, each with which of these it was.
fn differences(before: &Versions, after: &Versions) -> Vec<String> {
    let new = after.iter().filter_map(|(key, version)| match before.get(key) {
        None => Some(format!("{key} was created")),
        Some(old) if old != version => Some(format!("{key} was changed")),
        Some(_) => None,
    });
    let deleted = before.keys().filter(|key| !after.contains_key(*key));
    new.chain(deleted.map(|key| format!("{key} was deleted"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_found() {
        let versions = |objects: &[(&str, &str)]| -> Versions {
            objects.iter().map(|(key, version)| ((*key).to_owned(), (*version).to_owned())).collect()
        };
        let before = versions(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let after = versions(&[("a", "1"), ("b", "4"), ("d", "5")]);
        assert_eq!(differences(&before, &after), ["b was changed", "d was created", "c was deleted"]);
    }
}

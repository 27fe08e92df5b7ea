//! Facts of a hub, through a real provider-kubernetes that may not watch them: the Object that is shipped follows the ConfigMap.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use testplatform_apis::{
    foreign::provider_config::ProviderConfig,
    hub::{BackendFacts, CONFIG_MAP, Facts, Hub, KEY, Known, Mirror, known_facts},
};
use testplatform_tests::{
    cluster::{At, SOON, at, at_root},
    kinds::{self, OBJECT, PROVIDER_CONFIG},
    manifests,
    patience::longer,
    promise,
    tenant::Tenant,
};

use super::unwatched::{PERIOD, POLLED, WAY};

/// One that found nothing tries again after a minute at the latest.
const FOUND_AGAIN: Duration = Duration::from_secs(70);

pub async fn mirrored_facts_follow_the_hub(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    hub.apply_all(&manifests::package("install/hub/konflux-identity-hub-facts-rbac.yaml")?).await?;
    let mut mirror = manifests::package_one("install/components/hub-facts/object.yaml")?;
    let namespace = mirror["spec"]["forProvider"]["manifest"]["metadata"]["namespace"].clone();
    let namespace = namespace.as_str().context("no namespace")?;
    let config = mirror["spec"]["providerConfigRef"]["name"].as_str().context("no hub")?.to_owned();
    let name = format!("testplatform-hub-{}", tenant.name);
    mirror["metadata"]["name"] = name.as_str().into();
    let (facts, mirror_at) = (at(kinds::CONFIG_MAP, namespace, CONFIG_MAP), at_root(OBJECT, &name));

    // The hub tells before anybody listens.
    tell(tenant, namespace, 3).await?;
    konflux.create(&mirror).await?;
    follows(tenant, &config, &mirror_at, 3, SOON).await?;
    let begun = Instant::now();
    tell(tenant, namespace, 4).await?;
    follows(tenant, &config, &mirror_at, 4, POLLED).await?;
    promise::due(begun, PERIOD, WAY)?;
    eprintln!("what the hub tells was known after {:.1} s", begun.elapsed().as_secs_f32());

    // Gone: what was last seen stays on the Object, and is not believed.
    hub.delete(&facts).await?;
    let unknown = |object: &Value| matches!(read(&config, object), Some(Known::Unknown(_)));
    let seen = konflux.until_is(&mirror_at, POLLED, "unknown", unknown).await?;
    ensure!(seen["status"]["atProvider"]["manifest"]["data"][KEY].is_string(), "nothing was left: {seen}");
    tell(tenant, namespace, 5).await?;
    follows(tenant, &config, &mirror_at, 5, FOUND_AGAIN).await?;

    // It observed by a dry run, and wrote nothing.
    let map = hub.get(&facts).await?.context("the ConfigMap is gone")?;
    let managers = map["metadata"]["managedFields"].as_array().context("no managers")?;
    ensure!(managers.len() == 1, "somebody else wrote it: {managers:?}");

    // The Objects that go by a ProviderConfig are counted, for a hub that tells nothing.
    let read = konflux.get(&at_root(PROVIDER_CONFIG, &config)).await?.context("no ProviderConfig")?;
    let mut read: ProviderConfig = serde_json::from_value(read)?;
    read.metadata.labels.insert(testplatform_apis::names::hub::HUB.into(), "true".into());
    let hub =
        Hub::from_provider_config(&read).context("no hub")?.map_err(|flaw| anyhow::anyhow!("{flaw}"))?;
    ensure!(hub.users.is_some_and(|users| users > 0), "nobody counts: {:?}", read.status);

    konflux.delete(&mirror_at).await?;
    konflux.until_gone(&mirror_at, SOON).await
}

/// As the provider there would.
async fn tell(tenant: &Tenant<'_>, namespace: &str, clusters: i64) -> anyhow::Result<()> {
    let backend = BackendFacts { clusters: Some(clusters), ..BackendFacts::default() };
    let facts = Facts {
        written_at: Some(now()),
        backends: [("hypershift".to_owned(), backend)].into(),
        ..Facts::default()
    };
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": CONFIG_MAP, "namespace": namespace },
        "data": { KEY: facts.to_json()? },
    });
    tenant.engine.hub.cluster().apply(&map).await?;
    Ok(())
}

fn read(hub: &str, object: &Value) -> Option<Known> {
    let mirror: Mirror = serde_json::from_value(object.clone()).ok()?;
    Some(known_facts(hub, [&mirror], now()))
}

async fn follows(
    tenant: &Tenant<'_>,
    hub: &str,
    mirror: &At,
    load: i64,
    within: Duration,
) -> anyhow::Result<()> {
    let is = |object: &Value| {
        let known = read(hub, object);
        known.as_ref().and_then(Known::facts).and_then(Facts::cluster_count) == Some(load)
    };
    let what = format!("a load of {load}");
    let seen = tenant.konflux().until_is(mirror, within, &what, is).await?;
    // Never ready, or it would be read every ten minutes.
    let ready = |c: &&Value| c["type"] == "Ready" && c["status"] == "False";
    let conditions = seen["status"]["conditions"].as_array().context("no conditions")?;
    ensure!(conditions.iter().any(|c| ready(&c)), "{conditions:?}");
    let Some(Known::Facts(facts)) = read(hub, &seen) else { anyhow::bail!("unknown again") };
    let (age, old) =
        (facts.written_at.map(|at| now().duration_since(at)), SignedDuration::try_from(longer(SOON))?);
    ensure!(age.is_some_and(|age| age < old), "{age:?}");
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the hub's clock")]
fn now() -> Timestamp {
    Timestamp::now()
}

//! On which hub a claim with `template` is made: what is rejected and why, what is chosen, and what no change of hubs can move.

mod choice;
mod failover;
mod fetched;
mod properties;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use testplatform_apis::{
    foreign::{object, provider_config::ProviderConfig},
    hub::{Facts, Hub, Mirror, read_hubs},
    template::Backend,
};
use testplatform_composites::cluster::{
    catalog::hubs::{Choice, HubRefusal, PlacementRequest, choose_hub},
    observed::Hubs,
};

const PREFIX: &str = "testplatform.ci.openshift.org/";

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn prefixed(pairs: &[(&str, &str)]) -> Map<String, Value> {
    let key = |key: &str| if key.contains('/') { key.to_owned() } else { format!("{PREFIX}{key}") };
    pairs.iter().map(|(k, value)| (key(k), json!(value))).collect()
}

/// A ProviderConfig of a hub that makes clusters with HyperShift.
fn config(name: &str, labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> Value {
    let labels = [&[("hub", "true"), ("backend.hypershift", "true")], labels].concat();
    json!({ "metadata": { "name": name, "labels": prefixed(&labels), "annotations": prefixed(annotations) } })
}

fn mirror(hub: &str, facts: &Facts) -> Value {
    let mut facts = facts.clone();
    facts.written_at.get_or_insert_with(now);
    json!({
        "apiVersion": object::API_VERSION, "kind": object::KIND,
        "metadata": { "name": format!("testplatform-hub-{hub}") },
        "spec": { "providerConfigRef": { "name": hub } },
        "status": {
            "atProvider": { "manifest": {
                "metadata": { "name": "testplatform-hub" }, "data": { "facts": facts.to_json().unwrap() },
            } },
            "conditions": [{ "type": "Synced", "status": "True" }],
        },
    })
}

fn facts(json: &Value) -> Facts {
    serde_json::from_value(json.clone()).unwrap()
}

/// How many clusters a hub has.
fn loaded(clusters: u32) -> Facts {
    facts(&json!({ "backends": { "hypershift": { "clusters": clusters, "provisioning": 0 } } }))
}

fn known(configs: &[Value], mirrors: &[Value]) -> Hubs {
    let configs: Vec<ProviderConfig> =
        configs.iter().map(|c| serde_json::from_value(c.clone()).unwrap()).collect();
    let mirrors: Vec<Mirror> = mirrors.iter().map(|m| serde_json::from_value(m.clone()).unwrap()).collect();
    let (hubs, flaws) = read_hubs(&configs);
    Hubs { hubs, flaws, mirrors, ..Hubs::default() }
}

fn wish() -> PlacementRequest {
    PlacementRequest {
        backend: Backend::HyperShift,
        tenant: Some("team-a".into()),
        uid: "uid-1".into(),
        pin: None,
        required: BTreeMap::new(),
        selector: BTreeMap::new(),
        affinity: None,
        version: None,
        classes: BTreeMap::new(),
        zones: [].into(),
        cluster_class: None,
        namespace: None,
        excluded: [].into(),
    }
}

fn chosen<'a>(wish: &PlacementRequest, hubs: &'a Hubs) -> Choice<'a> {
    choose_hub(wish, Some(hubs), now()).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn refused(wish: &PlacementRequest, hubs: &Hubs) -> HubRefusal {
    choose_hub(wish, Some(hubs), now()).unwrap_err()
}

fn name(hub: &Hub) -> &str {
    &hub.name
}

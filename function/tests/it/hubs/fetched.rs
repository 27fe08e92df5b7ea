//! Requirements for core, and the use of the objects that it fetched.

use serde_json::{Value, json};
use testplatform_apis::{foreign::meta::Metadata, input::Input, status::TestPlatformClusterStatus};
use testplatform_composites::{
    cluster::observed::{Hubs, hub_requirements},
    sdk::{
        composite::{ClaimRef, Composite, Flavour},
        proto::resource_selector::Match,
    },
};

use crate::hubs::{chosen, config, loaded, mirror, name, wish};

/// The composite `own` of a tenant.
fn composite(flavour: Flavour) -> Composite {
    Composite {
        api_version: String::new(),
        kind: String::new(),
        metadata: Metadata { name: "own".to_owned(), ..Metadata::default() },
        claim: Some(ClaimRef { name: "own".to_owned(), namespace: "team-a".to_owned() }),
        flavour,
        spec: Value::Null,
        status: TestPlatformClusterStatus::default(),
        conditions: vec![],
    }
}

fn decode(required: &Value) -> Option<Hubs> {
    let own = composite(Flavour::Claimed);
    Hubs::decode(&function_model::request_from_json(&json!({ "requiredResources": required })), &own)
}

/// Our name, the kind, and its labels.
type Asked = (String, String, Vec<(String, String)>);

fn items(all: &[Value]) -> Value {
    json!({ "items": all.iter().map(|one| json!({ "resource": one })).collect::<Vec<_>>() })
}

#[test]
fn hubs_facts_and_neighbours_are_required() {
    let asked = |flavour: Flavour, likes: bool, both: bool| -> Vec<Asked> {
        let settings = Input { both_flavours: Some(both), ..Input::default() }.to_settings();
        let labels = |matching: Option<Match>| match matching {
            Some(Match::MatchLabels(labels)) => labels.labels.into_iter().collect(),
            other => panic!("{other:?}"),
        };
        let map = hub_requirements(&composite(flavour), likes, &settings);
        map.into_iter().map(|(name, s)| (name, s.kind, labels(s.r#match))).collect()
    };
    let labelled = |name: &str, kind: &str, key: &str, value: &str| {
        (name.to_owned(), kind.to_owned(), vec![(key.to_owned(), value.to_owned())])
    };
    let both = [
        labelled("hub-facts", "Object", "testplatform.ci.openshift.org/hub-facts", "true"),
        labelled("hubs", "ProviderConfig", "testplatform.ci.openshift.org/hub", "true"),
    ];
    assert_eq!(asked(Flavour::Claimed, false, true), both);
    let neighbours =
        labelled("neighbours", "XTestPlatformCluster", "crossplane.io/claim-namespace", "team-a");
    assert_eq!(asked(Flavour::Claimed, true, false), [both.as_slice(), &[neighbours]].concat());
    // A hub can be chosen only if Objects in namespaces can go by its configuration.
    let kinds = |both: bool| -> Vec<(String, String)> {
        let all = asked(Flavour::Namespaced("team-a".to_owned()), true, both);
        all.into_iter().map(|(name, kind, _)| (name, kind)).collect()
    };
    let kind = |name: &str, kind: &str| (name.to_owned(), kind.to_owned());
    let own = [
        kind("hub-facts", "Object"),
        kind("hubs", "ClusterProviderConfig"),
        kind("neighbours", "TestCluster"),
    ];
    assert_eq!(kinds(false), own);
    assert_eq!(kinds(true), [own.as_slice(), &[kind("neighbours-beside", "XTestPlatformCluster")]].concat());
}

#[test]
fn hubs_are_unknown_before_both_are_fetched() {
    assert!(decode(&json!({})).is_none());
    assert!(decode(&json!({ "hubs": { "items": [] } })).is_none());
    let empty = decode(&json!({ "hubs": { "items": [] }, "hub-facts": { "items": [] } })).unwrap();
    assert!(empty.hubs.is_empty() && empty.flaws.is_empty() && empty.neighbours.is_empty());
}

#[test]
fn unreadable_hub_does_not_affect_others() {
    let neighbour = |name: &str, phase: &str, hub: &str| json!({ "metadata": { "name": name }, "status": { "phase": phase, "hub": { "name": hub } } });
    let hubs = decode(&json!({
        "hubs": items(&[
            config("east", &[], &[("max-clusters", "9")]),
            config("west", &[], &[("max-clusters", "nine")]),
            json!({ "metadata": { "name": "north", "labels": [] } }),
        ]),
        "hub-facts": items(&[json!({ "spec": 5 }), mirror("east", &loaded(8))]),
        "neighbours": items(&[
            neighbour("own", "Ready", "a"),
            neighbour("other", "Provisioning", "b"),
            neighbour("gone", "Deprovisioned", "c"),
            json!({ "metadata": { "name": "new" } }),
        ]),
    }))
    .unwrap();
    assert_eq!(hubs.neighbours, ["b".to_owned()].into());
    let flaws: Vec<&str> = hubs.flaws.iter().map(|flaw| flaw.hub.as_str()).collect();
    assert_eq!(flaws[0], "west");
    assert_eq!(flaws.len(), 2);
    let choice = chosen(&wish(), &hubs);
    assert_eq!(name(choice.hub), "east");
    assert_eq!(choice.known.facts().and_then(testplatform_apis::hub::Facts::cluster_count), Some(8));
}

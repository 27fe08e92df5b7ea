//! What is asked of core, and what is made of what it fetched.

use function_testplatform::{
    hubs::{Hubs, requirements},
    proto::resource_selector::Match,
};
use serde_json::{Value, json};

use crate::{chosen, config, loaded, mirror, name, support, wish};

fn decode(required: &Value) -> Option<Hubs> {
    Hubs::decode(&support::request(&json!({ "requiredResources": required })), "own")
}

/// Our name, the kind, and its labels.
type Asked = (String, String, Vec<(String, String)>);

fn items(all: &[Value]) -> Value {
    json!({ "items": all.iter().map(|one| json!({ "resource": one })).collect::<Vec<_>>() })
}

#[test]
fn hubs_and_facts_are_asked_for_by_label_and_neighbours_only_where_they_count() {
    let asked = |tenant: Option<&str>| -> Vec<Asked> {
        let labels = |matching: Option<Match>| match matching {
            Some(Match::MatchLabels(labels)) => labels.labels.into_iter().collect(),
            other => panic!("{other:?}"),
        };
        requirements(tenant).into_iter().map(|(name, s)| (name, s.kind, labels(s.r#match))).collect()
    };
    let labelled = |name: &str, kind: &str, key: &str, value: &str| {
        (name.to_owned(), kind.to_owned(), vec![(key.to_owned(), value.to_owned())])
    };
    let both = [
        labelled("hub-facts", "Object", "testplatform.ci.openshift.org/hub-facts", "true"),
        labelled("hubs", "ProviderConfig", "testplatform.ci.openshift.org/hub", "true"),
    ];
    assert_eq!(asked(None), both);
    let neighbours =
        labelled("neighbours", "XTestPlatformCluster", "crossplane.io/claim-namespace", "team-a");
    assert_eq!(asked(Some("team-a")), [both.as_slice(), &[neighbours]].concat());
}

#[test]
fn nothing_is_known_before_both_are_fetched() {
    assert!(decode(&json!({})).is_none());
    assert!(decode(&json!({ "hubs": { "items": [] } })).is_none());
    let empty = decode(&json!({ "hubs": { "items": [] }, "hub-facts": { "items": [] } })).unwrap();
    assert!(empty.hubs.is_empty() && empty.flaws.is_empty() && empty.neighbours.is_empty());
}

#[test]
fn what_was_fetched_is_read_and_what_cannot_be_hurts_nothing_else() {
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
    assert_eq!(choice.known.facts().and_then(testplatform_apis::hub::Facts::load), Some(8));
}

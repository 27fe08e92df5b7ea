//! Hubs: a ProviderConfig that cannot be read is named and hurts no other; facts are unknown rather than wrong.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{
    foreign::provider_config::ProviderConfig,
    hub::{
        BackendFacts, ClassFacts, Facts, Health, Hub, Known, Mirror, NoHub, Selected, known_facts, read_hubs,
    },
    template::Backend,
};

const PREFIX: &str = "testplatform.ci.openshift.org/";

fn prefixed(pairs: &[(&str, &str)]) -> Value {
    pairs
        .iter()
        .map(|(key, value)| (format!("{PREFIX}{key}"), json!(value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn config(name: &str, labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> ProviderConfig {
    let own = [labels, &[("hub", "true")]].concat();
    serde_json::from_value(json!({
        "metadata": { "name": name, "labels": prefixed(&own), "annotations": prefixed(annotations) },
        "status": { "users": 7.0 },
    }))
    .unwrap()
}

fn read(labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> Result<Hub, String> {
    Hub::from_provider_config(&config("east", labels, annotations)).unwrap().map_err(|flaw| flaw.to_string())
}

#[test]
fn unset_labels_have_defaults() {
    let hub = read(&[], &[]).unwrap();
    assert!(hub.open && hub.backends.is_empty() && hub.tenants.accepts_tenant(Some("team-a")));
    assert_eq!(
        (hub.weight, hub.max_clusters, hub.reserved_percent, hub.max_provisioning),
        (100, None, 0, None)
    );
    assert_eq!((hub.versions.clone(), hub.classes.clone(), hub.users), (None, None, Some(7)));
    assert_eq!(hub.resolve_namespace(Backend::Osac, Some("team-a")), None);
    // Rounded up: what is begun counts.
    assert_eq!(
        (hub.estimate_clusters(Backend::HyperShift), hub.estimate_clusters(Backend::Caas)),
        (Some(3), Some(4))
    );
}

#[test]
fn hub_reads_every_label_and_annotation() {
    let hub = read(
        &[
            ("backend.hypershift", "true"),
            ("backend.osac", "false"),
            ("schedulable", "false"),
            ("dedicated", "team-a"),
        ],
        &[
            ("max-clusters", "40"),
            ("reserved-percent", "10"),
            ("max-provisioning", "0"),
            ("weight", "0"),
            ("tenants-deny", "team-b"),
            ("versions", ">=4.18 <4.21"),
            ("classes", "worker, metal,"),
            ("zones", "a,b"),
            ("namespace.osac", "orders-{tenant}"),
            ("credentials-namespace", "testplatform-credentials"),
            ("objects-per-cluster.hypershift", "7"),
        ],
    )
    .unwrap();
    assert!(hub.serves_backend(Backend::HyperShift) && !hub.serves_backend(Backend::Osac) && !hub.open);
    assert_eq!(
        (hub.max_clusters, hub.reserved_percent, hub.max_provisioning, hub.weight),
        (Some(40), 10, Some(0), 0)
    );
    assert_eq!(hub.classes, Some(["metal", "worker"].map(str::to_owned).into()));
    assert_eq!(hub.zones, Some(["a", "b"].map(str::to_owned).into()));
    assert_eq!(hub.resolve_namespace(Backend::Osac, Some("team-a")), Some(Ok("orders-team-a".into())));
    assert!(hub.resolve_namespace(Backend::Osac, Some(&"x".repeat(60))).unwrap().is_err());
    assert_eq!(hub.credentials_namespace.unwrap().as_str(), "testplatform-credentials");
    let named = (
        hub.tenants.accepts_tenant(Some("team-a")),
        hub.tenants.accepts_tenant(Some("team-c")),
        hub.tenants.accepts_tenant(None),
    );
    assert_eq!(named, (true, false, true));
}

#[rstest]
#[case::schedulable(&[("schedulable", "no")], &[])]
#[case::backend(&[("backend.caas", "yes")], &[])]
#[case::max_clusters(&[], &[("max-clusters", "many")])]
#[case::negative(&[], &[("max-clusters", "-1")])]
#[case::reserved(&[], &[("reserved-percent", "101")])]
#[case::slots(&[], &[("max-provisioning", "1.5")])]
#[case::weight(&[], &[("weight", "1001")])]
#[case::versions(&[], &[("versions", "newest")])]
#[case::no_version(&[], &[("versions", "")])]
#[case::namespace(&[], &[("namespace.osac", "Orders-{tenant}")])]
#[case::credentials(&[], &[("credentials-namespace", "a.b")])]
#[case::objects(&[], &[("objects-per-cluster.osac", "0")])]
fn unreadable_label_or_annotation_is_named(
    #[case] labels: &[(&str, &str)],
    #[case] annotations: &[(&str, &str)],
) {
    let why = read(labels, annotations).unwrap_err();
    let (key, value) = labels.iter().chain(annotations).next().unwrap();
    assert!(why.starts_with("east: ") && why.contains(&format!("{PREFIX}{key} is {value:?}")), "{why}");
}

#[test]
fn broken_hub_does_not_affect_others() {
    let stranger = serde_json::from_value(json!({ "metadata": { "name": "other" } })).unwrap();
    let mut no = config("no", &[], &[]);
    no.metadata.labels.insert(format!("{PREFIX}hub"), "false".into());
    let all = [
        config("west", &[], &[]),
        stranger,
        config("bad", &[], &[("weight", "x")]),
        no,
        config("east", &[], &[]),
    ];
    let (found, flaws) = read_hubs(&all);
    assert_eq!(found.iter().map(|h| h.name.as_str()).collect::<Vec<_>>(), ["east", "west"]);
    assert_eq!(flaws.iter().map(|f| f.hub.as_str()).collect::<Vec<_>>(), ["bad"]);
    let turned = read_hubs(all.iter().rev());
    assert_eq!((found, flaws), turned);
}

#[test]
fn tenants_are_exact_names_or_everybody() {
    let may =
        |annotations: &[(&str, &str)]| read(&[], annotations).unwrap().tenants.accepts_tenant(Some("team-a"));
    assert!(may(&[("tenants-allow", "team-b,team-a")]) && may(&[("tenants-allow", "*")]));
    assert!(!may(&[("tenants-allow", "team-*")]) && !may(&[("tenants-allow", "")]));
    assert!(!may(&[("tenants-allow", "team-a"), ("tenants-deny", "*")]));
}

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn full() -> Facts {
    let backend = BackendFacts {
        clusters: Some(3),
        provisioning: Some(1),
        versions: vec!["4.20".into()],
        cluster_classes: Some(vec!["classes/small".into(), "large".into()]),
        problem: Some("no".into()),
    };
    Facts {
        written_at: Some(now()),
        health: Some(Health { ready: false, since: Some(now()), message: Some("m".into()) }),
        backends: [("hypershift".to_owned(), backend.clone()), ("caas".to_owned(), backend)].into(),
        classes: [("metal".to_owned(), ClassFacts { free: Some(2) })].into(),
        capi_version: Some("v1beta2".into()),
    }
}

#[test]
fn facts_round_trip() {
    for facts in [full(), Facts::default()] {
        assert_eq!(Facts::from_json(&facts.to_json().unwrap()).unwrap(), facts);
    }
    assert_eq!(Facts::default().to_json().unwrap(), "{}");
    assert_eq!((full().cluster_count(), full().provisioning_count()), (Some(6), Some(2)));
    assert_eq!((Facts::default().cluster_count(), Facts::default().provisioning_count()), (None, None));
    // Not all were counted.
    let mut some = full();
    some.backends.insert("osac".into(), BackendFacts::default());
    assert_eq!(some.cluster_count(), None);
}

#[test]
fn facts_of_another_version_are_read_in_part() {
    let odd = json!({
        "later": 5, "writtenAt": "2026-01-01T12:00:00Z", "health": { "ready": "yes" }, "capiVersion": 2,
        "backends": { "hypershift": { "clusters": 2.0, "versions": ["4.20", 4], "clusterClasses": "all", "moods": {} }, "caas": "many" },
        "classes": [],
    });
    let backend =
        BackendFacts { clusters: Some(2), versions: vec!["4.20".into()], ..BackendFacts::default() };
    let expected = Facts {
        written_at: Some(now()),
        backends: [("hypershift".to_owned(), backend)].into(),
        ..Facts::default()
    };
    assert_eq!(Facts::from_json(&odd.to_string()).unwrap(), expected);
}

fn mirror(hub: &str, synced: &str, manifest: &Value) -> Mirror {
    serde_json::from_value(json!({
        "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object",
        "metadata": { "name": format!("testplatform-hub-{hub}") },
        "spec": { "providerConfigRef": { "name": hub } },
        "status": {
            "atProvider": { "manifest": manifest },
            // Never ready, so that it is read again.
            "conditions": [{ "type": "Synced", "status": synced }, { "type": "Ready", "status": "False" }],
        },
    }))
    .unwrap()
}

fn told(text: &str) -> Value {
    json!({ "metadata": { "name": "testplatform-hub" }, "data": { "facts": text } })
}

fn aged(age: SignedDuration) -> Facts {
    Facts { written_at: Some(now() - age), ..full() }
}

#[rstest]
#[case::there("True", told(&full().to_json().unwrap()), None)]
#[case::old("True", told(&aged(SignedDuration::from_mins(11)).to_json().unwrap()), Some("too old"))]
#[case::ahead("True", told(&aged(SignedDuration::from_mins(-11)).to_json().unwrap()), Some("too old"))]
#[case::just("True", told(&aged(SignedDuration::from_mins(10)).to_json().unwrap()), None)]
#[case::timeless("True", told("{}"), Some("no time"))]
#[case::nonsense("True", told("facts"), Some("cannot be read"))]
#[case::empty("True", json!({ "metadata": { "name": "testplatform-hub" } }), Some("no facts"))]
#[case::other("True", json!({ "metadata": { "name": "x" }, "data": { "facts": full().to_json().unwrap() } }), Some("no facts"))]
#[case::nothing("True", Value::Null, Some("no facts"))]
#[case::gone("False", told(&full().to_json().unwrap()), Some("not in sync"))]
fn unknown_facts_have_a_reason(#[case] synced: &str, #[case] manifest: Value, #[case] unknown: Option<&str>) {
    let others = [mirror("west", "True", &told(&full().to_json().unwrap()))];
    let mirrors = [mirror("east", synced, &manifest)];
    match (known_facts("east", mirrors.iter().chain(&others), now()), unknown) {
        (Known::Facts(facts), None) => assert_eq!(facts.backends, full().backends),
        (Known::Unknown(why), Some(part)) => assert!(why.contains(part), "{why}"),
        (known, _) => panic!("{known:?}"),
    }
}

#[test]
fn newest_facts_of_several_mirrors_count() {
    let minutes = |m| aged(SignedDuration::from_mins(m)).to_json().unwrap();
    let all = [
        mirror("east", "True", &told(&minutes(3))),
        mirror("east", "True", &told(&minutes(1))),
        mirror("east", "False", &told(&minutes(0))),
    ];
    for mirrors in [all.iter().collect::<Vec<_>>(), all.iter().rev().collect()] {
        let known = known_facts("east", mirrors, now());
        assert_eq!(known.facts().unwrap().written_at, Some(now() - SignedDuration::from_mins(1)));
    }
    assert_eq!(known_facts("east", [], now()), Known::Unknown("no Object mirrors its facts"));
}

#[test]
fn words_are_camel_case_and_their_own() {
    let words: Vec<&str> =
        Selected::ALL.map(Selected::as_str).into_iter().chain(NoHub::ALL.map(NoHub::as_str)).collect();
    let unique: std::collections::BTreeSet<_> = words.iter().collect();
    assert_eq!(unique.len(), words.len());
    assert!(words.iter().all(|w| w.starts_with(char::is_uppercase) && w.chars().all(char::is_alphanumeric)));
}

proptest! {
    /// Whoever may write the ConfigMap cannot break the reader.
    #[test]
    fn no_text_is_a_panic(text in ".{0,200}", key in "[a-z-]{1,20}", value in ".{0,40}") {
        let _ = Facts::from_json(&text);
        let _ = Facts::from_json(&json!({ "writtenAt": text, "backends": { (key.clone()): value.clone() } }).to_string());
        let _ = Hub::from_provider_config(&config("east", &[("schedulable", &value)], &[(&key, &value), ("versions", &text)]));
    }
}

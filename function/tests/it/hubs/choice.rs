//! Each reason for which a hub is rejected, and each for which one is chosen.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{
    hub::{NoHub, Selected},
    template::{
        Backend,
        kind::{ClassNamespace, ClusterClassName},
    },
};
use testplatform_composites::cluster::{
    catalog::hubs::{Affinity, HubPin, PlacementRequest, choose_hub, recorded_hub},
    observed::Hubs,
};

use crate::hubs::{chosen, config, facts, known, loaded, mirror, name, now, refused, wish};

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn asking(change: impl FnOnce(&mut PlacementRequest)) -> PlacementRequest {
    let mut wish = wish();
    change(&mut wish);
    wish
}

fn metal(nodes: u32) -> PlacementRequest {
    PlacementRequest { classes: [("metal".to_owned(), nodes)].into(), ..wish() }
}

fn east() -> HubPin {
    HubPin { name: "east".into(), force: false }
}

/// The hub is as given, and would be taken but for one thing.
#[rstest]
#[case::broken(&[], &[("weight", "heavy")], json!({}), wish(), NoHub::NoHubMatches, "its ProviderConfig cannot be read: annotation testplatform.ci.openshift.org/weight is \"heavy\"")]
#[case::backend(&[], &[], json!({}), asking(|w| w.backend = Backend::Osac), NoHub::NoHubMatches, "it creates no clusters with osac")]
#[case::selector(&[("x/region", "eu")], &[], json!({}), asking(|w| drop(w.selector.insert("x/region".into(), "us".into()))), NoHub::NoHubMatches, "it has no label x/region=us")]
#[case::required(&[], &[], json!({}), asking(|w| { w.required.insert("x/arch".into(), "arm64".into()); w.pin = Some(east()); }), NoHub::NoHubMatches, "it has no label x/arch=arm64")]
#[case::class(&[], &[("classes", "worker")], json!({}), metal(1), NoHub::NoHubMatches, "it has no nodes of class metal")]
#[case::class_told(&[], &[], json!({ "classes": { "worker": {} } }), metal(1), NoHub::NoHubMatches, "it has no nodes of class metal")]
#[case::zone(&[], &[("zones", "a,b")], json!({}), asking(|w| w.zones = ["b", "c"].map(str::to_owned).into()), NoHub::NoHubMatches, "it creates no nodes in zone c")]
#[case::not_allowed(&[], &[("tenants-allow", "team-b")], json!({}), wish(), NoHub::TenantNotAllowed, "it is not offered to this namespace")]
#[case::denied(&[], &[("tenants-deny", "team-a")], json!({}), wish(), NoHub::TenantNotAllowed, "it is not offered to this namespace")]
#[case::dedicated(&[("dedicated", "team-b")], &[], json!({}), wish(), NoHub::TenantNotAllowed, "it is not offered to this namespace")]
#[case::version(&[], &[("versions", ">=4.18 <4.20")], json!({}), asking(|w| w.version = Some("4.20.3".into())), NoHub::VersionUnsupported, "it cannot create version 4.20.3")]
#[case::version_told(&[], &[("versions", "4.20")], json!({ "backends": { "hypershift": { "versions": ["4.19"] } } }), asking(|w| w.version = Some("4.20.3".into())), NoHub::VersionUnsupported, "it cannot create version 4.20.3")]
#[case::no_version(&[], &[("versions", "4.20")], json!({}), asking(|w| w.version = Some("newest".into())), NoHub::VersionUnsupported, "it cannot create version newest")]
#[case::given_up(&[], &[], json!({}), asking(|w| w.excluded = ["east".to_owned()].into()), NoHub::NoCapacity, "it could not be reached for this claim before")]
#[case::closed(&[("schedulable", "false")], &[], json!({}), wish(), NoHub::NoCapacity, "it takes no new clusters")]
#[case::closed_to_pins(&[("schedulable", "false")], &[], json!({}), asking(|w| w.pin = Some(east())), NoHub::NoCapacity, "it takes no new clusters")]
#[case::unwell(&[], &[], json!({ "health": { "ready": false, "message": "etcd is slow" } }), wish(), NoHub::NoCapacity, "it is not healthy: etcd is slow")]
#[case::problem(&[], &[], json!({ "backends": { "hypershift": { "problem": "no HostedClusters" } } }), wish(), NoHub::NoCapacity, "it is not healthy: no HostedClusters")]
#[case::free(&[], &[], json!({ "classes": { "metal": { "free": 2 } } }), metal(3), NoHub::NoCapacity, "it has 2 free nodes of class metal, and 3 are requested")]
#[case::full(&[], &[("max-clusters", "4")], json!({ "backends": { "hypershift": { "clusters": 3 }, "caas": { "clusters": 1 } } }), wish(), NoHub::NoCapacity, "it has 4 of at most 4 clusters")]
#[case::reserved(&[], &[("max-clusters", "10"), ("reserved-percent", "20")], json!({ "backends": { "hypershift": { "clusters": 8 } } }), wish(), NoHub::NoCapacity, "it has 8 of at most 10 clusters, of which 20 % are kept free")]
#[case::full_to_pins(&[], &[("max-clusters", "0")], json!({}), asking(|w| w.pin = Some(east())), NoHub::NoCapacity, "it has 0 of at most 0 clusters")]
#[case::slots(&[], &[("max-provisioning", "2")], json!({ "backends": { "hypershift": { "clusters": 9, "provisioning": 2 } } }), wish(), NoHub::NoCapacity, "it is creating 2 of at most 2 clusters at a time")]
fn a_hub_is_rejected_with_a_sentence(
    #[case] labels: Pairs<'_>,
    #[case] annotations: Pairs<'_>,
    #[case] told: Value,
    #[case] wish: PlacementRequest,
    #[case] reason: NoHub,
    #[case] sentence: &str,
) {
    let hubs = known(&[config("east", labels, annotations)], &[mirror("east", &facts(&told))]);
    let refusal = refused(&wish, &hubs);
    assert_eq!(refusal.reason, reason);
    assert!(refusal.digest[0].starts_with(&format!("east: {sentence}")), "{refusal}");
    assert_eq!(refusal.digest.len(), 1);
    // It is that one thing: another hub, without it, is taken.
    if wish.pin.is_none() && wish.backend == Backend::HyperShift {
        let open = [
            config("east", labels, annotations),
            config("west", &[("x/region", "us"), ("x/arch", "arm64")], &[("classes", "worker,metal")]),
        ];
        let hubs = known(&open, &[mirror("east", &facts(&told))]);
        assert_eq!(name(chosen(&wish, &hubs).hub), "west");
    }
}

/// The last that is let in, beside the first that is not in the table above.
#[rstest]
#[case::reserved(&[("max-clusters", "10"), ("reserved-percent", "20")], json!({ "backends": { "hypershift": { "clusters": 7 } } }), wish())]
#[case::slots(&[("max-provisioning", "2")], json!({ "backends": { "hypershift": { "clusters": 9, "provisioning": 1 } } }), wish())]
#[case::free(&[], json!({ "classes": { "metal": { "free": 3 } } }), metal(3))]
#[case::made_as_needed(&[], json!({ "classes": { "metal": {} } }), metal(300))]
#[case::version(&[("versions", "4.20")], json!({ "backends": { "hypershift": { "versions": ["4.20", "4.19"] } } }), asking(|w| w.version = Some("4.20.3".into())))]
#[case::versions_unread(&[], json!({ "backends": { "hypershift": { "versions": ["newest"] } } }), asking(|w| w.version = Some("4.20.3".into())))]
#[case::pin_of_another_selector(&[], json!({}), asking(|w| { w.selector.insert("x/region".into(), "us".into()); w.pin = Some(east()); }))]
#[case::forced(&[("max-clusters", "1"), ("max-provisioning", "0")], json!({ "backends": { "hypershift": { "clusters": 5, "provisioning": 5 } } }), asking(|w| w.pin = Some(HubPin { name: "east".into(), force: true })))]
fn a_hub_is_taken(#[case] annotations: Pairs<'_>, #[case] told: Value, #[case] wish: PlacementRequest) {
    let hubs = known(&[config("east", &[], annotations)], &[mirror("east", &facts(&told))]);
    assert_eq!(name(chosen(&wish, &hubs).hub), "east");
}

fn class(namespace: ClassNamespace, name: &str) -> ClusterClassName {
    ClusterClassName { namespace, name: name.into() }
}

/// The class is looked for in its own namespace, else in that of the cluster: the entry's, the hub's, the backend's.
#[rstest]
#[case::named(Backend::ClusterApi, Some(class(ClassNamespace::Named("magnum".into()), "a")), None, "ClusterClass magnum/a")]
#[case::of_entry(
    Backend::ClusterApi,
    Some(class(ClassNamespace::OfCluster, "a")),
    Some("entry"),
    "ClusterClass entry/a"
)]
#[case::of_hub(
    Backend::ClusterApi,
    Some(class(ClassNamespace::OfCluster, "a")),
    None,
    "ClusterClass of-team-a/a"
)]
#[case::of_backend(
    Backend::Caas,
    Some(class(ClassNamespace::OfCluster, "a")),
    None,
    "ClusterTemplate clusters/a"
)]
#[case::of_none(Backend::Caas, Some(class(ClassNamespace::None, "a")), None, "ClusterTemplate a")]
fn hub_without_the_class_of_clusters_is_rejected(
    #[case] backend: Backend,
    #[case] cluster_class: Option<ClusterClassName>,
    #[case] namespace: Option<&str>,
    #[case] missing: &str,
) {
    let labels = [("backend.cluster-api", "true"), ("backend.caas", "true")];
    let namespaces = [("namespace.cluster-api", "of-{tenant}")];
    let hubs = |told: Value| {
        let told = facts(&json!({ "backends": { backend.as_str(): told } }));
        known(&[config("east", &labels, &namespaces)], &[mirror("east", &told)])
    };
    let wish = asking(|w| {
        w.backend = backend;
        w.cluster_class = cluster_class;
        w.namespace = namespace.map(str::to_owned);
    });
    let (_, full_name) = missing.split_once(' ').unwrap();
    let refusal = hubs(json!({ "clusterClasses": ["a/b", "other/a"] }));
    let refusal = refused(&wish, &refusal);
    assert_eq!(refusal.reason, NoHub::NoHubMatches);
    assert_eq!(refusal.digest, [format!("east: it has no {missing}")]);
    for told in [
        json!({ "clusterClasses": ["a/b", full_name] }),
        json!({ "clusters": 1 }),
        json!({ "clusterClasses": "?" }),
    ] {
        assert_eq!(name(chosen(&wish, &hubs(told)).hub), "east");
    }
}

/// Whatever was told more than ten minutes ago does not count, for or against.
#[test]
fn outdated_facts_are_unknown_and_never_unhealthy() {
    let mut told = facts(&json!({
        "health": { "ready": false }, "classes": { "metal": { "free": 0 } },
        "backends": { "hypershift": { "clusters": 4, "provisioning": 4, "versions": ["4.1"], "problem": "x" } },
    }));
    let limits = [("max-clusters", "4"), ("max-provisioning", "4")];
    let wish = asking(|w| {
        w.version = Some("4.20.3".into());
        w.classes.insert("metal".into(), 3);
    });
    for minutes in [11, -11] {
        told.written_at = Some(now() - SignedDuration::from_mins(minutes));
        let hubs = known(&[config("east", &[], &limits)], &[mirror("east", &told)]);
        assert_eq!(name(chosen(&wish, &hubs).hub), "east");
    }
    told.written_at = Some(now());
    refused(&wish, &known(&[config("east", &[], &limits)], &[mirror("east", &told)]));
}

/// Without facts the Objects that go by the ProviderConfig are counted.
#[test]
fn users_are_the_load_of_a_hub_without_facts() {
    let mut full = config("east", &[], &[("max-clusters", "4")]);
    full["status"]["users"] = json!(10.0);
    let hubs = known(&[full.clone()], &[]);
    assert_eq!(refused(&wish(), &hubs).digest, ["east: it has 4 of at most 4 clusters"]);
    let told = [mirror("east", &loaded(1))];
    assert_eq!(name(chosen(&wish(), &known(&[full], &told)).hub), "east");
}

#[test]
fn a_hub_is_chosen_for_a_reason() {
    let two = [config("east", &[], &[]), config("west", &[], &[("max-clusters", "100")])];
    let told = |east, west| [mirror("east", &loaded(east)), mirror("west", &loaded(west))];
    let reason = |wish: &PlacementRequest, hubs: &Hubs| {
        let choice = chosen(wish, hubs);
        (choice.hub.name.clone(), choice.reason)
    };
    let pinned = asking(|w| w.pin = Some(east()));
    assert_eq!(reason(&pinned, &known(&two, &[])), ("east".into(), Selected::HubNamed));
    assert_eq!(reason(&wish(), &known(&two[..1], &[])), ("east".into(), Selected::OnlyHub));
    assert_eq!(reason(&wish(), &known(&two, &told(5, 100))), ("east".into(), Selected::OnlyHubWithRoom));
    assert_eq!(reason(&wish(), &known(&two, &told(200, 20))), ("west".into(), Selected::MostRoom));
    assert_eq!(reason(&wish(), &known(&two, &told(20, 90))), ("east".into(), Selected::MostRoom));
    let missing = asking(|w| w.pin = Some(HubPin { name: "north".into(), force: true }));
    let refusal = refused(&missing, &known(&two, &[]));
    assert_eq!((refusal.reason, refusal.digest.len()), (NoHub::PinnedHubMissing, 0));
    assert_eq!(refused(&wish(), &known(&[], &[])).reason, NoHub::NoHubMatches);
    assert_eq!(choose_hub(&wish(), None, now()).unwrap_err().reason, NoHub::HubsNotRead);
}

#[test]
fn weight_shifts_the_share_and_none_is_the_last_resort() {
    let hubs = |heavy, light, load| {
        known(
            &[config("east", &[], &[("weight", heavy)]), config("west", &[], &[("weight", light)])],
            &[mirror("east", &loaded(load)), mirror("west", &loaded(0))],
        )
    };
    let at = |heavy, light, load| chosen(&wish(), &hubs(heavy, light, load)).hub.name.clone();
    assert_eq!([at("200", "100", 50), at("200", "100", 150)], ["east", "west"]);
    assert_eq!(at("1", "0", 100_000), "east");
    let last = known(&[config("west", &[], &[("weight", "0")])], &[]);
    assert_eq!(name(chosen(&wish(), &last).hub), "west");
}

#[test]
fn a_tenant_packs_or_spreads() {
    let mut hubs = known(
        &[config("east", &[], &[]), config("west", &[], &[])],
        &[mirror("east", &loaded(40)), mirror("west", &loaded(10))],
    );
    hubs.neighbours = ["east".to_owned()].into();
    let at = |affinity, hubs: &Hubs| chosen(&asking(|w| w.affinity = affinity), hubs).hub.name.clone();
    assert_eq!(at(Some(Affinity::Pack), &hubs), "east");
    assert_eq!([at(Some(Affinity::Spread), &hubs), at(None, &hubs)], ["west", "west"]);
    // It is a liking: where there is no room, it does not count.
    hubs.hubs[0].max_clusters = Some(40);
    assert_eq!(at(Some(Affinity::Pack), &hubs), "west");
}

#[test]
fn a_refusal_tells_of_ten_hubs_the_nearest_first() {
    let far: Vec<Value> =
        (0..12).map(|i| config(&format!("far-{i:02}"), &[("dedicated", "x")], &[])).collect();
    let near = config("near", &[], &[("max-clusters", "0")]);
    let refusal = refused(&wish(), &known(&[far, vec![near]].concat(), &[]));
    assert_eq!(refusal.reason, NoHub::NoCapacity);
    assert_eq!(refusal.digest.len(), 10);
    assert_eq!(refusal.digest[0], "near: it has 0 of at most 0 clusters");
    assert_eq!(refusal.digest[1], "far-00: it is not offered to this namespace");
    assert_eq!(refusal.digest[9], "and 4 hubs more");
    assert!(refusal.to_string().starts_with("no matching hub accepts a new cluster now"), "{refusal}");
    assert!(refusal.digest.iter().all(|line| line.len() <= 256));
}

#[test]
fn chosen_hub_stays_unless_given_up() {
    let none = BTreeSet::new();
    let given_up: BTreeSet<String> = ["east".to_owned()].into();
    assert_eq!(recorded_hub(Some("east"), Some("west"), &given_up), Some("east"));
    assert_eq!(recorded_hub(None, Some("west"), &none), Some("west"));
    assert_eq!(recorded_hub(None, Some("east"), &given_up), None);
    assert_eq!(recorded_hub(Some(""), None, &none), None);
}

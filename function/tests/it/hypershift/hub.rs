//! On which hub it is made.

use function_model::{
    hypershift::build_hub,
    trouble::Trouble,
    world::{Composed, NAME, World},
};
use prost::Message as _;
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_composites::{
    Options, run,
    sdk::{
        proto::{Resource, Resources, RunFunctionRequest, resource_selector::Match},
        wire,
    },
};

use crate::hypershift::{is, level, minutes};

#[test]
fn claim_without_a_hub_waits_with_a_reason() {
    let mut world = World::hypershift_claim();
    world.hubs = None;
    world.settle();
    assert_eq!(level(&world, "HubSelected"), is("False", "HubsNotRead"));
    world.hubs = Some(vec![]);
    world.settle();
    assert_eq!(world.phase(), "Pending");
    assert_eq!(level(&world, "HubSelected"), is("False", "NoHubMatches"));
    assert_eq!(level(&world, "RequestAccepted"), is("False", "NoHubMatches"));
    assert!(world.status["hub"].is_null() && world.objects.is_empty());
    let mut full = build_hub("hub-1");
    full["metadata"]["annotations"]["testplatform.ci.openshift.org/max-clusters"] = json!("0");
    world.hubs = Some(vec![full]);
    let response = world.pass();
    assert_eq!(level(&world, "RequestAccepted"), is("False", "NoCapacity"));
    assert!(
        world.refusal_message().contains("hub-1: it has 0 of at most 0 clusters"),
        "{}",
        world.refusal_message()
    );
    assert_eq!(response.meta.unwrap().ttl.unwrap().seconds, 15);
    world.advance_time(minutes(100));
    world.settle();
    assert_eq!(world.phase(), "Failed", "after the provision timeout");
    let mut world = World::hypershift_claim();
    world.spec["hub"] = json!({ "name": "hub-9" });
    world.settle();
    assert_eq!(level(&world, "HubSelected"), is("False", "PinnedHubMissing"));
}

#[test]
fn a_hub_is_chosen_once() {
    let mut world = World::hypershift_claim();
    world.pass();
    // Before the writer is seen, status tells; after it, the writer.
    let request = world.request();
    assert!(world.status["hub"]["name"] == "hub-1" && request.observed.is_some());
    world.hubs = Some(vec![build_hub("hub-2")]);
    world.settle();
    world.drop_status();
    world.settle();
    assert_eq!(world.status["hub"], json!({ "name": "hub-1", "reason": "OnlyHub" }));
    let annotations = &mut world.objects.get_mut("cluster").unwrap().object["metadata"]["annotations"];
    annotations.as_object_mut().unwrap().remove(ours::HUB_REASON).expect("noted");
    world.drop_status();
    world.settle();
    assert_eq!(world.status["hub"]["reason"], "Pinned", "asked for before there was such a note");
    assert!(world.objects["cluster"].object["metadata"]["annotations"][ours::HUB_REASON].is_null());
    let response = world.pass();
    let asked = response.requirements.unwrap().resources;
    assert!(!asked.contains_key("hubs") && !asked.contains_key("pools"), "{asked:?}");
}

/// Core stores what it made of an answer, and may then be refused the status of it.
#[rstest]
#[case::alone(World::hypershift_claim())]
#[case::behind_its_secrets(World::brought_by_template())]
#[case::behind_its_prerequisites(World::with_prerequisites())]
#[case::out_of_a_pool(World::hive_claim())]
#[case::of_its_own_pool(World::with_byoc())]
fn reason_for_a_hub_survives_a_lost_status(#[case] mut world: World) {
    Trouble::StatusLate.happen(&mut world, "cluster");
    assert!(world.status["hub"].is_null() && !world.objects.is_empty());
    world.settle();
    let reason = world.status["hub"]["reason"].as_str().unwrap();
    assert!(["OnlyHub", "OnlyPool"].contains(&reason), "{reason}");
}

/// The next request after core read the composite of `before` from a stale cache, and by its name the Object of now.
fn outdated(before: &World, now: &World) -> RunFunctionRequest {
    let mut request = before.request();
    let asked = run(&request, &Options::default(), now.now).requirements.unwrap().resources;
    let name = Some(Match::MatchName(format!("managed-{NAME}")));
    assert_eq!((asked["writer"].kind.as_str(), &asked["writer"].r#match), ("Object", &name));
    let object = &now.objects["cluster"].object;
    let item = Resource { resource: wire::to_struct(object).unwrap(), ..Resource::default() };
    request.required_resources.insert("writer".into(), Resources { items: vec![item] });
    request
}

/// Hub and uid of what is asked for; none, if nothing is.
fn writes(request: &RunFunctionRequest, now: &World) -> Option<(Value, Value)> {
    let response = run(request, &Options::default(), now.now);
    assert!(response.requirements.unwrap().resources.contains_key("writer"), "or core would not settle");
    let bytes = response.desired.unwrap().resources.remove("cluster")?;
    let spec = wire::to_value(&Resource::decode(bytes).unwrap().resource).unwrap()["spec"].take();
    let uid = &spec["forProvider"]["manifest"]["metadata"]["uid"];
    Some((spec["providerConfigRef"]["name"].clone(), uid.clone()))
}

/// As it was before its cluster was asked for, and after.
fn before_and_after() -> (World, World) {
    let before = World::hypershift_claim();
    let mut world = before.clone();
    world.settle();
    let owner = json!([{ "uid": world.uid, "controller": true }]);
    world.objects.get_mut("cluster").unwrap().object["metadata"]["ownerReferences"] = owner;
    (before, world)
}

#[test]
fn outdated_composite_gets_no_other_hub() {
    let (mut before, mut world) = before_and_after();
    // By now it would be made on another one, or be held.
    for hubs in [vec![build_hub("hub-2")], vec![]] {
        before.hubs = Some(hubs);
        let request = outdated(&before, &world);
        assert_eq!(writes(&request, &world), Some((json!("hub-1"), json!("remote-1"))));
    }
    // It is nobody else's, and what was given up is not gone back to.
    before.hubs = Some(vec![build_hub("hub-2")]);
    let fresh = Some((json!("hub-2"), Value::Null));
    before.status = json!({ "hub": { "excluded": ["hub-1"] } });
    assert_eq!(writes(&outdated(&before, &world), &world), fresh);
    // The status of the pass that gave it up is stored by the next one, the note before it.
    before.status = json!({});
    let note =
        json!({ "testplatform.ci.openshift.org/excluded-hubs": "hub-1", "crossplane.io/paused": "true" });
    let mut credentials = Composed { details: [].into(), ..world.objects["credentials"].clone() };
    credentials.object["metadata"]["annotations"] = note;
    let mut noted = before.clone();
    noted.objects.insert("credentials".into(), credentials);
    noted.refs.insert("credentials".into());
    assert_eq!(writes(&outdated(&noted, &world), &world), fresh);
    let metadata = &mut world.objects.get_mut("cluster").unwrap().object["metadata"];
    metadata["ownerReferences"][0]["uid"] = json!("another");
    assert_eq!(writes(&outdated(&before, &world), &world), fresh);
}

/// core does not delete objects without a reference to them: the teardown begins with the next pass.
#[test]
fn outdated_composite_does_not_end_its_cluster_unseen() {
    let (mut before, world) = before_and_after();
    before.spec["tearDownCluster"] = json!(true);
    let response = run(&outdated(&before, &world), &Options::default(), world.now);
    let status = response.desired.unwrap().composite.unwrap().resource;
    assert_eq!(wire::to_value(&status).unwrap()["status"]["phase"], "Deprovisioning");
}

#[test]
fn a_hub_that_was_never_reached_is_given_up_for_another() {
    let mut world = World::hypershift_claim();
    world.reachable = false;
    world.pass();
    let unreachable = |world: &mut World| {
        let now = world.now;
        world.reconcile_objects();
        if let Some(writer) = world.objects.get_mut("cluster") {
            writer.object["status"]["conditions"][0]["lastTransitionTime"] = json!(now);
        }
    };
    unreachable(&mut world);
    world.pass();
    assert_eq!(level(&world, "RemoteConsistent"), is("False", "HubUnreachable"));
    world.hubs = Some(vec![build_hub("hub-1"), build_hub("hub-2")]);
    // Nothing happens while a hub is silent, so it is looked at again in time, however long answers count.
    let input = std::mem::replace(&mut world.input["ttl"], json!("1h"));
    let ttl = world.pass().meta.unwrap().ttl.unwrap();
    assert!((200..=300).contains(&ttl.seconds), "{ttl:?}");
    world.input["ttl"] = input;
    world.advance_time(minutes(4));
    unreachable(&mut world);
    world.pass();
    assert!(world.objects.contains_key("cluster"), "too soon");
    world.advance_time(minutes(2));
    // In other words than before, so that Synced has only just become what it is.
    unreachable(&mut world);
    world.pass_once();
    assert!(!world.objects.contains_key("cluster"), "left out once");
    world.pass();
    assert_eq!(world.status["hub"]["excluded"], json!(["hub-1"]));
    world.reachable = true;
    world.settle();
    let chosen = json!({ "name": "hub-2", "reason": "OnlyHubWithRoom", "excluded": ["hub-1"] });
    assert_eq!(world.status["hub"], chosen);
    assert_eq!(world.made, 1);
    world.drop_status();
    world.settle();
    assert_eq!(world.status["hub"]["excluded"], json!(["hub-1"]), "the writer remembers");
    let annotations = &world.objects["cluster"].object["metadata"]["annotations"];
    assert_eq!(annotations["testplatform.ci.openshift.org/excluded-hubs"], "hub-1");
}

/// Between two hubs nothing but `credentials` and the status know which was given up; either will do.
#[test]
fn given_up_hub_stays_excluded() {
    let given_up = |lose: fn(&mut World)| {
        let mut world = World::hypershift_claim();
        world.hubs = Some(vec![build_hub("hub-1")]);
        world.status = json!({ "hub": { "excluded": ["hub-1"] } });
        lose(&mut world);
        world.settle();
        (world.objects.contains_key("cluster"), world.refusal_message().to_owned())
    };
    let (asked, words) = given_up(|_| ());
    assert!(!asked && words.contains("hub-1: it could not be reached for this claim before"), "{words}");
    assert!(given_up(World::drop_status).0, "nobody knows of it");
}

/// A full hub takes a claim that names it and insists, and no other.
#[test]
fn full_hub_accepts_a_claim_that_names_it() {
    let mut full = build_hub("hub-1");
    full["metadata"]["annotations"]["testplatform.ci.openshift.org/max-clusters"] = json!("0");
    let with = |hub: Value| {
        let mut world = World::hypershift_claim();
        world.hubs = Some(vec![full.clone()]);
        world.spec["hub"] = hub;
        world.settle();
        world
    };
    for waits in [json!({ "name": "hub-1" }), json!({ "name": "hub-1", "force": false })] {
        assert_eq!(level(&with(waits), "HubSelected"), is("False", "NoCapacity"));
    }
    let forced = with(json!({ "name": "hub-1", "force": true }));
    assert_eq!(forced.status["hub"], json!({ "name": "hub-1", "reason": "HubNamed" }));
    assert_eq!(forced.status["effective"]["hub"]["force"], true);
    assert!(forced.objects.contains_key("cluster"));
    let nobody = with(json!({ "force": true }));
    assert_eq!(level(&nobody, "RequestAccepted"), is("False", "InvalidClaim"));
}

#[test]
fn hub_with_a_possible_cluster_is_kept() {
    let mut world = World::hypershift_claim();
    world.settle();
    world.reachable = false;
    world.reconcile_objects();
    let now = world.now;
    world.objects.get_mut("cluster").unwrap().object["status"]["conditions"][0]["lastTransitionTime"] =
        json!(now);
    world.hubs = Some(vec![build_hub("hub-2")]);
    world.advance_time(minutes(30));
    world.pass();
    assert_eq!(world.status["hub"]["name"], "hub-1");
    assert!(world.objects.contains_key("cluster"));
}

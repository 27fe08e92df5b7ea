//! On which hub it is made.

use serde_json::json;

use crate::support::{hypershift::hub, world::World};
use crate::{is, level, minutes};

#[test]
fn without_a_hub_a_claim_waits_and_says_why() {
    let mut world = World::hosted();
    world.hubs = None;
    world.settle();
    assert_eq!(level(&world, "HubSelected"), is("False", "HubsNotRead"));
    world.hubs = Some(vec![]);
    world.settle();
    assert_eq!(world.phase(), "Pending");
    assert_eq!(level(&world, "HubSelected"), is("False", "NoHubMatches"));
    assert_eq!(level(&world, "RequestAccepted"), is("False", "NoHubMatches"));
    assert!(world.status["hub"].is_null() && world.objects.is_empty());
    let mut full = hub("hub-1");
    full["metadata"]["annotations"]["testplatform.ci.openshift.org/max-clusters"] = json!("0");
    world.hubs = Some(vec![full]);
    let response = world.pass();
    assert_eq!(level(&world, "RequestAccepted"), is("False", "NoCapacity"));
    assert!(world.refusal().contains("hub-1: it has 0 of at most 0 clusters"), "{}", world.refusal());
    assert_eq!(response.meta.unwrap().ttl.unwrap().seconds, 60);
    world.later(minutes(100));
    world.settle();
    assert_eq!(world.phase(), "Failed", "after the provision timeout");
    let mut world = World::hosted();
    world.spec["hub"] = json!({ "name": "hub-9" });
    world.settle();
    assert_eq!(level(&world, "HubSelected"), is("False", "PinnedHubMissing"));
}

#[test]
fn a_hub_is_chosen_once() {
    let mut world = World::hosted();
    world.pass();
    // Before the writer is seen, status tells; after it, the writer.
    let request = world.request();
    assert!(world.status["hub"]["name"] == "hub-1" && request.observed.is_some());
    world.hubs = Some(vec![hub("hub-2")]);
    world.settle();
    world.drop_status();
    world.settle();
    assert_eq!(world.status["hub"], json!({ "name": "hub-1", "reason": "Pinned" }));
    let response = world.pass();
    let asked = response.requirements.unwrap().resources;
    assert!(!asked.contains_key("hubs") && !asked.contains_key("pools"), "{asked:?}");
}

#[test]
fn a_hub_that_was_never_reached_is_given_up_for_another() {
    let mut world = World::hosted();
    world.reachable = false;
    world.pass();
    let unreachable = |world: &mut World| {
        let now = world.now;
        world.provider();
        if let Some(writer) = world.objects.get_mut("cluster") {
            writer.object["status"]["conditions"][0]["lastTransitionTime"] = json!(now);
        }
    };
    unreachable(&mut world);
    world.pass();
    assert_eq!(level(&world, "RemoteConsistent"), is("False", "HubUnreachable"));
    world.hubs = Some(vec![hub("hub-1"), hub("hub-2")]);
    world.later(minutes(6));
    world.pass();
    assert!(!world.objects.contains_key("cluster"), "left out once");
    assert!(world.status["hub"].is_null());
    world.reachable = true;
    world.place = None;
    world.settle();
    assert_eq!(world.status["hub"]["name"], "hub-2");
    assert_eq!(world.made, 1);
    let annotations = &world.objects["cluster"].object["metadata"]["annotations"];
    assert_eq!(annotations["testplatform.ci.openshift.org/excluded-hubs"], "hub-1");
}

#[test]
fn a_hub_on_which_something_may_have_been_made_is_kept() {
    let mut world = World::hosted();
    world.settle();
    world.reachable = false;
    world.provider();
    let now = world.now;
    world.objects.get_mut("cluster").unwrap().object["status"]["conditions"][0]["lastTransitionTime"] =
        json!(now);
    world.hubs = Some(vec![hub("hub-2")]);
    world.later(minutes(30));
    world.pass();
    assert_eq!(world.status["hub"]["name"], "hub-1");
    assert!(world.objects.contains_key("cluster"));
}

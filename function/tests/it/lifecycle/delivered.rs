//! The Secret that a claim names: core writes it last, and tells of it on the claim alone.

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{is, pair};

const UNCONTROLLED: &str = "refusing to modify uncontrolled secret of type \"Opaque\"";
const CONTROLLED: &str = "existing secret is not controlled by UID \"1\"";
const QUOTA: &str = "secrets \"demo-kubeconfig\" is forbidden: exceeded quota: few, requested: count/secrets=1, used: count/secrets=9, limited: count/secrets=9";

/// A claim as core's claim controller leaves it.
fn claim(synced: (&str, &str), ready: &str, published: bool) -> Value {
    let mut claim = json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster",
        "spec": { "writeConnectionSecretToRef": { "name": "demo-kubeconfig" } },
        "status": { "conditions": [
            { "type": "Synced", "status": synced.0, "reason": "ReconcileError", "message": synced.1 },
            { "type": "Ready", "status": ready, "reason": "Waiting" },
        ] },
    });
    if published {
        claim["status"]["connectionDetails"] = json!({ "lastPublishedTime": "2026-11-21T10:30:00Z" });
    }
    claim
}

fn refused(words: &str, published: bool) -> Value {
    let what = "cannot propagate connection details from composite resource: cannot create or update connection secret";
    claim(("False", &format!("{what}: {words}")), "False", published)
}

fn ttl(world: &mut World) -> i64 {
    world.pass().meta.unwrap().ttl.unwrap().seconds
}

fn asks_for_the_claim(world: &mut World) -> bool {
    world.pass().requirements.unwrap().resources.contains_key("claim")
}

fn ready() -> World {
    let mut world = World::default();
    world.settle();
    world.hub_ready();
    world.reconcile_objects();
    world
}

/// Two claims with one name in `writeConnectionSecretToRef`, a Secret that somebody made, a quota that is used up.
#[test]
fn unwritable_claim_secret_is_reported() {
    for (words, reason, told) in [
        (CONTROLLED, "SecretTaken", "does not belong to this claim"),
        (UNCONTROLLED, "SecretTaken", "does not belong to this claim"),
        (QUOTA, "SecretMissing", "exceeded quota: few"),
    ] {
        let mut world = ready();
        world.claim_object = Some(refused(words, false));
        world.settle();
        assert_eq!(is(&world, "CredentialsPublished"), pair("False", reason));
        assert_eq!(is(&world, "ClusterReady"), pair("False", "WaitingForCredentials"));
        for text in [&world.conditions["CredentialsPublished"]["message"], &world.status["message"]] {
            let text = text.as_str().unwrap();
            assert!(text.contains("Secret demo-kubeconfig ") && text.contains(told), "{text}");
        }
        assert_eq!(world.status["credentials"]["state"], "Pending");
        // It stays ready to core, which would not try again otherwise; and so it is neither ended nor asked for anew.
        assert_eq!((world.phase().as_str(), is(&world, "Ready").0.as_str()), ("Ready", "True"));
        assert_eq!(
            world.events.iter().filter(|e| *e == "CredentialsNotDelivered").count(),
            1,
            "{:?}",
            world.events
        );
        // However long it takes somebody to see to it.
        world.advance_time(SignedDuration::from_hours(3));
        world.settle();
        assert_eq!(is(&world, "CredentialsPublished"), pair("False", reason));
        assert!(ttl(&mut world) <= 15);
        world.claim_object = Some(claim(("True", ""), "True", true));
        world.settle();
        assert_eq!(is(&world, "CredentialsPublished"), pair("True", "Published"));
        assert_eq!(is(&world, "ClusterReady"), pair("True", "Ready"));
        assert_eq!(world.status["credentials"]["state"], "Published");
    }
}

/// A newer kubeconfig of a cluster whose Secret was written before: that one may be there still, so the cluster is no less ready.
#[test]
fn a_secret_that_was_written_before_leaves_the_cluster_ready() {
    let mut world = ready();
    world.settle();
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Ready"));
    world.claim_object = Some(refused(CONTROLLED, true));
    world.settle();
    assert_eq!(is(&world, "CredentialsPublished"), pair("False", "SecretTaken"));
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Ready"));
}

/// Core asks twice where something is required. So it is only while there may be something to see.
#[test]
fn claim_is_checked_for_two_minutes_after_publication() {
    let mut world = ready();
    assert!(!asks_for_the_claim(&mut world), "nothing was published yet");
    while is(&world, "CredentialsPublished").0 != "True" {
        assert!(ttl(&mut world) <= 60);
        world.reconcile_objects();
    }
    assert!(asks_for_the_claim(&mut world));
    world.claim_object = Some(claim(("True", ""), "True", true));
    assert_eq!(ttl(&mut world), 60, "it is there");
    world.claim_object = Some(claim(("True", ""), "False", false));
    assert_eq!(ttl(&mut world), 15, "core has not tried yet");
    world.advance_time(SignedDuration::from_mins(2));
    assert!(!asks_for_the_claim(&mut world));
    assert_eq!(ttl(&mut world), 60);
}

/// Core has other reasons not to be in sync, and a tenant may put much into a claim: neither says anything of the Secret.
#[test]
fn other_conditions_do_not_count_as_undelivered_secret() {
    let nested = (0..90).fold(json!(0), |inner, _| json!([inner]));
    let mut deep = claim(("True", ""), "True", true);
    deep["spec"]["ciOperator"] = json!({ "test": { "env": nested } });
    for object in [
        claim(("False", "cannot bind and sync claim with composite resource: refused"), "True", true),
        claim(("False", CONTROLLED), "False", true),
        json!({ "spec": 1, "status": [] }),
        json!({}),
        deep,
    ] {
        let mut world = ready();
        world.claim_object = Some(object.clone());
        world.settle();
        assert_eq!(is(&world, "CredentialsPublished"), pair("True", "Published"), "{object}");
        assert_eq!(is(&world, "ClusterReady"), pair("True", "Ready"));
    }
}

/// provider-kubernetes stores what it observed also where the Secret into which it is to write is something else's, whose content core reads.
#[test]
fn a_kubeconfig_in_a_connection_secret_of_another_is_not_delivered() {
    let mut world = World::default();
    world.settle();
    world.hub_ready();
    world.pass();
    world.reconcile_objects();
    world.pass();
    let credentials = world.objects.get_mut("credentials").unwrap();
    credentials.details = [("kubeconfig".to_owned(), "theirs".to_owned())].into();
    let message = "cannot create or update connection secret: existing secret is not controlled by UID \"1\"";
    credentials.object["status"]["conditions"] = json!([
        { "type": "Synced", "status": "False", "reason": "ReconcileError", "message": message, "lastTransitionTime": world.now },
    ]);
    let observed = credentials.object["spec"]["forProvider"]["manifest"].clone();
    credentials.object["status"]["atProvider"] = json!({ "manifest": observed });
    world.pass();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(is(&world, "CredentialsPublished"), pair("False", "SecretTaken"));
    assert!(world.tenant.is_empty());
}

/// The owner of a delivered claim names a Secret of something else, which changes no composite.
#[test]
fn a_claim_that_names_a_foreign_secret_later_is_noticed_within_minutes() {
    let mut world = ready();
    world.settle();
    world.advance_time(SignedDuration::from_mins(30));
    world.claim_object = Some(refused(UNCONTROLLED, true));
    let mut passes = 0;
    while is(&world, "CredentialsPublished").0 == "True" {
        passes += 1;
        assert!(passes <= 6, "not noticed in {passes} minutes");
        world.advance_time(SignedDuration::from_mins(1));
        world.pass();
    }
    assert_eq!(is(&world, "CredentialsPublished"), pair("False", "SecretTaken"));
    let message = world.conditions["CredentialsPublished"]["message"].as_str().unwrap();
    assert!(!message.contains("may be in the Secret"), "{message}");
    world.claim_object = Some(claim(("True", ""), "True", true));
    world.settle();
    assert_eq!(is(&world, "CredentialsPublished"), pair("True", "Published"));
}

/// Core calls the function once more for each fetch.
#[test]
fn a_delivered_claim_is_fetched_in_few_passes() {
    let mut world = ready();
    world.settle();
    world.claim_object = Some(claim(("True", ""), "True", true));
    world.advance_time(SignedDuration::from_mins(2));
    let mut fetches = 0;
    for _ in 0..60 {
        world.advance_time(SignedDuration::from_mins(1));
        fetches += usize::from(asks_for_the_claim(&mut world));
    }
    assert!((12..=24).contains(&fetches), "{fetches} of 60");
}

/// Core publishes nothing for a claim that names no Secret, and calls it ready.
#[test]
fn a_claim_without_a_secret_is_not_said_to_have_its_kubeconfig() {
    let mut world = ready();
    let mut nameless = claim(("True", ""), "True", false);
    nameless["spec"] = json!({});
    world.claim_object = Some(nameless);
    world.settle();
    assert_eq!(is(&world, "CredentialsPublished"), pair("False", "SecretMissing"));
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Ready"));
    assert_eq!(world.status["credentials"]["state"], "Pending");
    let message = world.conditions["CredentialsPublished"]["message"].as_str().unwrap();
    assert!(message.contains("spec.writeConnectionSecretToRef"), "{message}");
    let mut fetches = 0;
    for _ in 0..60 {
        world.advance_time(SignedDuration::from_mins(1));
        fetches += usize::from(asks_for_the_claim(&mut world));
        assert_eq!(is(&world, "CredentialsPublished"), pair("False", "SecretMissing"));
    }
    assert!((12..=24).contains(&fetches), "{fetches} of 60");
    world.advance_time(SignedDuration::from_hours(2));
    assert_eq!(ttl(&mut world), 60, "nothing comes by itself");
    assert_eq!(is(&world, "CredentialsPublished"), pair("False", "SecretMissing"));
    world.claim_object = Some(claim(("True", ""), "True", true));
    world.settle();
    assert_eq!(is(&world, "CredentialsPublished"), pair("True", "Published"));
}

#[test]
fn a_composite_of_an_administrator_without_a_secret_is_not_said_to_have_its_kubeconfig() {
    for secret in [json!(null), json!({ "namespace": "admins", "name": "one" })] {
        let mut world = World { claim: false, ..World::default() };
        if !secret.is_null() {
            world.spec["writeConnectionSecretToRef"] = secret.clone();
        }
        world.settle();
        world.hub_ready();
        world.settle();
        let expected = if secret.is_null() { ("False", "SecretMissing") } else { ("True", "Published") };
        assert_eq!(is(&world, "CredentialsPublished"), pair(expected.0, expected.1), "{secret}");
    }
}

//! Secrets, status and inputs that are lost, late or changed.

use function_model::world::{KUBECONFIG, World};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use testplatform_apis::names::ours;

use crate::recovery::{is, provisioning};

fn lose_secrets(world: &mut World) {
    world.details.clear();
    world.objects.get_mut("credentials").unwrap().details.clear();
}

fn again(world: &World) -> Value {
    noted(world, ours::REFRESH_REQUESTED_AT)
}

fn noted(world: &World, key: &str) -> Value {
    world.objects["credentials"].object["metadata"]["annotations"][key].clone()
}

#[test]
fn lost_connection_secrets_are_read_again_and_nothing_is_wiped_meanwhile() {
    let mut world = World::ready();
    lose_secrets(&mut world);
    let tenant = world.tenant.clone();
    world.pass();
    is(&world, "ClusterReady", "False", "WaitingForCredentials");
    assert_eq!(world.tenant, tenant);
    assert!(again(&world).is_string());
    world.settle();
    is(&world, "ClusterReady", "True", "Ready");
}

/// Either copy is enough: what was given stays given.
#[test]
fn one_lost_copy_withdraws_nothing() {
    let lose: [fn(&mut World); 2] =
        [|w| w.objects.get_mut("credentials").unwrap().details.clear(), |w| w.details.clear()];
    for lose in lose {
        let mut world = World::ready();
        lose(&mut world);
        world.pass();
        is(&world, "ClusterReady", "True", "Ready");
        assert_eq!(world.details["kubeconfig"], KUBECONFIG);
    }
}

#[test]
fn content_of_the_shared_secret_is_never_delivered() {
    let mut world = provisioning();
    world.drop_status();
    let credentials = world.objects.get_mut("credentials").unwrap();
    credentials.object["metadata"]["annotations"] = json!({});
    credentials.object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
    credentials.object["spec"]["forProvider"]["manifest"]["metadata"]["name"] = json!("pending");
    credentials.object["status"]["atProvider"]["manifest"] = json!({ "metadata": { "name": "pending" } });
    credentials.details.insert("kubeconfig".into(), "somebody else's".into());
    world.details.clone_from(&world.objects["credentials"].details);
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(world.tenant.get("kubeconfig"), None);
    world.hub_ready();
    world.settle();
    is(&world, "ClusterReady", "True", "Ready");
}

/// Until something was asked of a hub, the input may still be changed.
#[test]
fn a_held_claim_follows_the_input() {
    let mut world = World { environment: None, ..World::default() };
    world.settle();
    assert_eq!(world.status["backend"]["namespace"], "ephemeral-cluster");
    world.input["namespace"] = json!("new");
    world.input["providerConfig"] = json!("hub-new");
    world.environment = Some(json!({ "clusterName": "c" }));
    world.settle();
    let writer = &world.objects["ec"].object["spec"];
    assert_eq!(writer["providerConfigRef"]["name"], "hub-new");
    assert_eq!(writer["forProvider"]["manifest"]["metadata"]["namespace"], "new");
    assert_eq!(world.status["hub"]["name"], "hub-new");
    assert_eq!(world.status["backend"]["namespace"], "new");
}

#[test]
fn missing_kubeconfig_times_out() {
    let mut world = provisioning();
    world.hub_ready();
    world.secrets.clear();
    world.settle();
    world.advance_time(SignedDuration::from_hours(5));
    world.settle();
    assert_eq!(world.phase(), "Failed");
}

/// A cluster that is there half an hour before its provision timeout, of whose kubeconfig provider-kubernetes says this from then on.
fn unpublished(message: &str) -> World {
    let mut world = provisioning();
    world.hub_ready();
    world.secrets.clear();
    world.settle();
    world.advance_time(SignedDuration::from_mins(210));
    says(&mut world, message);
    world
}

/// provider-kubernetes' report on the kubeconfig from now on: a condition with another message has another time.
fn says(world: &mut World, message: &str) {
    world.objects.get_mut("credentials").unwrap().object["status"] = json!({ "conditions": [{
        "type": "Synced", "status": "False", "reason": "ReconcileError", "lastTransitionTime": world.now,
        "message": message,
    }] });
}

const FORBIDDEN: &str =
    "observe failed: cannot get object: secrets \"x\" is forbidden: User \"konflux\" cannot get";

/// Whoever may read it has to be granted that by people; but a cluster that nobody can use is not paid for without end.
#[test]
fn unreadable_secret_times_out_after_an_hour() {
    let mut world = unpublished(FORBIDDEN);
    world.pass();
    let said = world.conditions["CredentialsPublished"]["message"].as_str().unwrap();
    assert!(said.contains("may not be read: the hub does not let"), "{said}");
    world.advance_time(SignedDuration::from_mins(31));
    let ttl = world.pass().meta.unwrap().ttl.unwrap().seconds;
    assert_eq!((world.phase().as_str(), ttl <= 60), ("Provisioning", true), "the timeout has passed");
    world.advance_time(SignedDuration::from_mins(30));
    world.pass();
    assert_eq!(world.phase(), "Failed");
}

/// It is tried every minute: one answer in other words, or none, is no other hour.
#[test]
fn changed_message_does_not_restart_the_wait_for_a_secret() {
    let away =
        "observe failed: cannot get object: Get \"https://hub:6443/x\": net/http: TLS handshake timeout";
    for flaps in [false, true] {
        let mut world = unpublished(FORBIDDEN);
        world.pass();
        world.advance_time(SignedDuration::from_mins(50));
        if flaps {
            says(&mut world, away);
            world.pass();
        }
        says(&mut world, &FORBIDDEN.replace("konflux", "konflux-2"));
        world.pass();
        assert_eq!(world.phase(), "Provisioning", "ten minutes are left");
        world.advance_time(SignedDuration::from_mins(11));
        if flaps {
            says(&mut world, away);
            world.pass();
            assert_eq!(world.phase(), "Provisioning", "it may have been mended, and nobody sees it");
            says(&mut world, FORBIDDEN);
        }
        world.pass();
        assert_eq!(world.phase(), "Failed", "{flaps}");
    }
}

#[test]
fn a_secret_that_is_read_after_all_is_withheld_no_more() {
    let mut world = unpublished(FORBIDDEN);
    world.pass();
    assert_eq!(noted(&world, ours::WITHHELD_SINCE), json!(world.now));
    world.hub_ready();
    world.settle();
    is(&world, "ClusterReady", "True", "Ready");
    assert!(noted(&world, ours::WITHHELD_SINCE).is_null());
}

/// Where its kubeconfig is to go is no matter of the hub's. Whoever looks at the wrong quota mends nothing.
#[test]
fn unwritable_and_unreadable_secrets_are_distinguished() {
    let mut world = unpublished(
        "cannot create or update connection secret: secrets \"x\" is forbidden: exceeded quota: small",
    );
    for (later, phase) in [(0, "Provisioning"), (31, "Provisioning"), (30, "Failed")] {
        world.advance_time(SignedDuration::from_mins(later));
        world.pass();
        assert_eq!(world.phase(), phase);
        let said = world.conditions["CredentialsPublished"]["message"].as_str().unwrap();
        let wanted = "is read, and the Secret into which its kubeconfig goes cannot be written";
        assert!(phase == "Failed" || said.ends_with(wanted), "{said}");
    }
}

/// Whatever keeps it from being written.
#[test]
fn secret_refused_by_webhook_times_out_after_an_hour() {
    let mut world = unpublished(
        "cannot create or update connection secret: admission webhook \"x\" denied the request: no",
    );
    for (later, phase) in [(31, "Provisioning"), (30, "Failed")] {
        world.advance_time(SignedDuration::from_mins(later));
        world.pass();
        assert_eq!(world.phase(), phase);
    }
}

#[test]
fn an_old_cluster_survives_the_loss_of_status_and_secrets() {
    for ready in [false, true] {
        let mut world = World::ready();
        world.advance_time(SignedDuration::from_hours(5));
        let shown = world.conditions["Ready"].clone();
        world.drop_status();
        if ready {
            world.conditions.insert("Ready".into(), shown);
        }
        lose_secrets(&mut world);
        world.settle();
        assert_eq!(world.phase(), "Ready");
    }
}

#[test]
fn a_default_ends_no_cluster_that_was_promised_none_or_more() {
    let mut world = World::ready();
    world.input["defaults"] = json!({ "lifetime": "1h" });
    world.advance_time(SignedDuration::from_hours(3));
    world.spec["lifetime"] = json!("8h");
    world.settle();
    world.spec.as_object_mut().unwrap().remove("lifetime");
    world.settle();
    assert_eq!((world.phase().as_str(), world.status.get("expiresAt")), ("Ready", None));

    let mut world = World::default();
    world.input["defaults"] = json!({ "lifetime": "4h" });
    world.settle();
    world.hub_ready();
    world.settle();
    world.advance_time(SignedDuration::from_hours(2));
    for defaults in [json!({ "lifetime": "1h", "provisionTimeout": "1m" }), json!({})] {
        world.input["defaults"] = defaults;
        world.settle();
        assert_eq!(world.status["expiresAt"], "2026-11-21T14:00:00Z");
    }
    let mut world = provisioning();
    world.advance_time(SignedDuration::from_hours(2));
    world.input["defaults"] = json!({ "provisionTimeout": "1h" });
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "a later timeout does not reach back");
}

#[test]
fn lifetime_without_maximum_extends_to_the_hubs_limit() {
    let mut world = World::default();
    world.spec["lifetime"] = json!("1h");
    world.settle();
    world.hub_ready();
    world.settle();
    world.spec["lifetime"] = json!("2h");
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T12:00:00Z");
    is(&world, "RequestAccepted", "True", "Accepted");
}

/// Core's cache can show the emptied keys of an end before the status of the same pass.
#[test]
fn emptied_keys_without_status_are_of_an_early_end() {
    let mut world = World::default();
    world.spec["tearDownCluster"] = json!(true);
    world.pass();
    world.drop_status();
    world.settle();
    is(&world, "ProwJobCompleted", "True", "NothingToTearDown");
    assert!(!world.objects.contains_key("ec"));
}

/// One look can be in vain: it goes by a cache that still shows the Secret, or what it wrote is gone again at once.
#[test]
fn lost_secret_is_requested_again_at_intervals() {
    let mut world = World::ready();
    lose_secrets(&mut world);
    let mut asked = vec![];
    for _ in 0..12 {
        world.pass();
        asked.push(again(&world).as_str().unwrap().parse::<Timestamp>().unwrap());
        world.advance_time(SignedDuration::from_secs(10));
    }
    assert!(asked.is_sorted() && asked.iter().all(|at| *at <= world.now), "{asked:?}");
    asked.dedup();
    assert_eq!(asked.len(), 4, "{asked:?}");
    world.settle();
    assert!(again(&world).is_null());
}

/// Nobody tells core that a Secret is back. That provider-kubernetes looked once more it hears.
#[test]
fn missing_secret_is_read_again_soon() {
    for mut world in [World::default(), World::default().in_namespace()] {
        world.input["ttl"] = json!("1h");
        world.settle();
        world.hub_ready();
        world.settle();
        let soon = |world: &mut World| world.pass().meta.unwrap().ttl.unwrap().seconds < 60;
        assert!(!soon(&mut world));
        let mut forgotten = world.clone();
        forgotten.objects.get_mut("credentials").unwrap().object["status"]["atProvider"] = json!({});
        assert!(!soon(&mut forgotten) && again(&forgotten).is_string());
        lose_secrets(&mut world);
        assert!(soon(&mut world) && again(&world).is_string());
        world.settle();
        assert!(!soon(&mut world) && again(&world).is_null());
    }
}

/// Setting its finalizer makes provider-kubernetes forget what it observed, until it looks again half a minute later.
#[test]
fn credentials_with_a_lost_observation_are_read_again() {
    let mut world = World::ready();
    let credentials = world.objects.get_mut("credentials").unwrap();
    credentials.object["status"]["atProvider"] = json!({});
    world.pass();
    assert!(again(&world).is_string());
    world.settle();
    assert!(again(&world).is_null());
    assert_eq!(world.phase(), "Ready");
}

//! A cluster that ci-operator claims from a Hive pool: Hive destroys it four hours after it was assigned.

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{is, pair};

const LIFETIME: &str = "testplatform.ci.openshift.org/lifetime";
const MAX_LIFETIME: &str = "testplatform.ci.openshift.org/max-lifetime";

fn pooled(lifetime: &Value) -> World {
    let mut world = World::default();
    world.spec["ciOperator"]["test"] = json!({
        "workflow": "generic-claim",
        "clusterClaim": { "cloud": "aws", "owner": "team-a", "version": "4.20" },
    });
    world.spec["lifetime"] = lifetime.clone();
    world
}

fn ready(mut world: World) -> World {
    world.settle();
    world.hub_ready();
    known(&mut world);
    world.settle();
    assert_eq!(world.phase(), "Ready");
    world
}

/// The provider that knows lifetimes leaves its mark.
fn known(world: &mut World) {
    let key = "testplatform.ci.openshift.org/credentials-revision";
    world.remote.as_mut().unwrap()["metadata"]["annotations"][key] = json!("42");
    world.provider_keeps(key, "42");
}

fn told(world: &World, key: &str) -> Value {
    world.remote.as_ref().unwrap()["metadata"]["annotations"][key].clone()
}

/// One that was asked for by a version that knew nothing of Hive's end.
fn of_before(lifetime: &Value, default: &Value) -> World {
    let mut world = World::default();
    world.input["defaults"] = json!({ "lifetime": default });
    world.spec["lifetime"] = lifetime.clone();
    let mut world = ready(world);
    let block = pooled(lifetime).spec["ciOperator"].clone();
    let object = &mut world.objects.get_mut("ec").unwrap().object;
    object["spec"]["forProvider"]["manifest"]["spec"]["ciOperator"] = block.clone();
    object["status"]["atProvider"]["manifest"]["spec"]["ciOperator"] = block.clone();
    world.remote.as_mut().unwrap()["spec"]["ciOperator"] = block.clone();
    world.spec["ciOperator"] = block;
    known(&mut world);
    world.settle();
    world
}

/// Hive counts from its assignment, of which nothing is known without the readiness that the hub reports.
#[test]
fn time_of_hive_does_not_begin_before_the_cluster_is_ready() {
    let mut waiting = pooled(&Value::Null);
    waiting.settle();
    waiting.report_phase("Provisioning", &[]);
    waiting.settle();
    waiting.advance_time(SignedDuration::from_mins(235));
    waiting.settle();
    assert_eq!(waiting.phase(), "Provisioning", "{}", waiting.status);

    let mut late = pooled(&Value::Null);
    late.settle();
    late.advance_time(SignedDuration::from_hours(1));
    let mut late = ready(late);
    late.advance_time(SignedDuration::from_mins(180));
    late.report_phase("Ready", &[]);
    late.settle();
    assert_eq!(late.status["expiresAt"], "2026-11-21T14:45:00Z");
    assert!(late.phase() != "Deprovisioning" && late.phase() != "Deprovisioned", "{}", late.status);
}

#[test]
fn pool_cluster_ends_before_hive_ends_it() {
    let mut world = ready(pooled(&json!("8h")));
    assert_eq!(world.status["expiresAt"], "2026-11-21T13:45:00Z");
    assert_eq!((told(&world, LIFETIME), told(&world, MAX_LIFETIME)), (json!("3h45m0s"), json!("3h45m0s")));
    assert_eq!(is(&world, "RequestAccepted"), pair("True", "LifetimeClamped"));
    let message = world.conditions["RequestAccepted"]["message"].as_str().unwrap();
    assert!(message.contains("clamped to 3h45m") && message.contains("Hive"), "{message}");
    world.advance_time(SignedDuration::from_mins(225));
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
}

#[test]
fn claim_without_lifetime_shows_its_end() {
    let none = ready(pooled(&Value::Null));
    assert_eq!(none.status["expiresAt"], "2026-11-21T13:45:00Z");
    assert_eq!(is(&none, "RequestAccepted"), pair("True", "Accepted"));
    // The upstream controller ends it even before that. Nothing that the claim did not say is told as if it had.
    let mut upstream = pooled(&Value::Null);
    upstream.settle();
    upstream.hub_ready();
    upstream.settle();
    assert_eq!(is(&upstream, "RequestAccepted"), pair("True", "LifetimeBeyondHub"));
    let words = "the default lifetime is 3h45m, but the hub's own controller ends a cluster after 2h";
    assert_eq!(upstream.conditions["RequestAccepted"]["message"], words);
    let less = ready(pooled(&json!("1h")));
    assert_eq!((told(&less, LIFETIME), told(&less, MAX_LIFETIME)), (json!("1h0m0s"), json!("3h45m0s")));
    let mut limited = pooled(&Value::Null);
    limited.input["maxima"] = json!({ "lifetime": "2h" });
    let limited = ready(limited);
    assert_eq!(limited.status["expiresAt"], "2026-11-21T12:00:00Z");
    assert_eq!(is(&limited, "RequestAccepted"), pair("True", "Accepted"));
    // An empty one is left out, and the cluster is no pool's.
    let mut own = pooled(&json!("8h"));
    own.spec["ciOperator"]["test"]["clusterClaim"] = json!({});
    assert_eq!(ready(own).status["expiresAt"], "2026-11-21T18:00:00Z");
}

/// A promised end stays, although Hive will not keep it; the owner is warned.
#[test]
fn older_claim_keeps_its_end_until_it_requests_another() {
    let mut world = of_before(&json!("8h"), &Value::Null);
    assert_eq!(
        (world.phase().as_str(), &world.status["expiresAt"]),
        ("Ready", &json!("2026-11-21T18:00:00Z"))
    );
    assert_eq!((told(&world, LIFETIME), told(&world, MAX_LIFETIME)), (json!("8h0m0s"), json!("8h0m0s")));
    assert_eq!(is(&world, "RequestAccepted"), pair("True", "LifetimeBeyondHub"));
    let message = world.conditions["RequestAccepted"]["message"].as_str().unwrap();
    assert!(message.contains("Hive") && message.ends_with("after 4h"), "{message}");
    world.spec["lifetime"] = json!("6h");
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T13:45:00Z");
    assert_eq!(is(&world, "RequestAccepted"), pair("True", "LifetimeClamped"));
    assert_eq!((told(&world, LIFETIME), told(&world, MAX_LIFETIME)), (json!("3h45m0s"), json!("8h0m0s")));
    // It stays so, also without what the status remembers.
    world.drop_status();
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T13:45:00Z");

    let granted = of_before(&Value::Null, &json!("6h"));
    assert_eq!(granted.status["expiresAt"], "2026-11-21T16:00:00Z");
    let mut none = of_before(&Value::Null, &Value::Null);
    assert_eq!((none.status.get("expiresAt"), told(&none, LIFETIME)), (None, Value::Null));
    assert_eq!(is(&none, "RequestAccepted"), pair("True", "Accepted"));
    none.spec["lifetime"] = json!("8h");
    none.settle();
    assert_eq!(none.status["expiresAt"], "2026-11-21T13:45:00Z");
}

//! Reports of the HostedCluster behind an order: the order itself takes nothing back.

use function_model::world::{NAME, World};
use rstest::rstest;
use serde_json::json;

use crate::osac::{is, minutes};

/// How soon the phase is Degraded, and what is shown at once.
#[rstest]
#[case::down("Available", "False", 2, ("ControlPlaneAvailable", "False", "Unavailable"))]
#[case::unknown("Available", "Unknown", 5, ("ControlPlaneAvailable", "Unknown", "Unavailable"))]
#[case::degraded("Degraded", "True", 2, ("ControlPlaneAvailable", "False", "Degraded"))]
#[case::operators("ClusterVersionSucceeding", "False", 2, ("ControlPlaneAvailable", "True", "Available"))]
fn lasting_failure_degrades_a_ready_cluster_and_never_fails_it(
    #[case] type_: &str,
    #[case] status: &str,
    #[case] degrades: i64,
    #[case] (shown, expected, reason): (&str, &str, &str),
) {
    let mut world = World::order_ready();
    world.advance_time(minutes(10));
    world.set_hosted_condition(type_, status, "etcd has lost its quorum");
    world.settle();
    assert_eq!(world.phase(), "Ready", "a flap is waited out");
    assert_eq!(world.condition(shown), is(expected, reason));
    world.advance_time(minutes(degrades - 1));
    world.settle();
    assert_eq!(world.phase(), "Ready");
    world.advance_time(minutes(1));
    world.settle();
    assert_eq!(world.phase(), "Degraded");
    assert!(world.status["message"].as_str().unwrap().contains("lost its quorum"));
    assert_eq!(world.condition("ClusterReady").0, "True", "it latches");
    world.osac_serves();
    world.settle();
    assert_eq!(world.phase(), "Ready");
    world.advance_time(minutes(600));
    world.settle();
    assert_ne!(world.phase(), "Failed");
}

#[test]
fn live_report_counts_before_ready() {
    let mut world = World::osac_claim();
    world.settle();
    world.osac_makes();
    world.set_hosted_condition("Available", "False", "");
    world.set_hosted_condition("EtcdAvailable", "False", "one member is missing");
    world.publish_credentials();
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "the order only says that it was there once");
    assert_eq!(world.condition("ControlPlaneAvailable"), is("False", "Creating"));
    assert!(world.status["message"].as_str().unwrap().contains("etcd: one member is missing"));
    world.osac_serves();
    let pool = format!("nodepool-{NAME}-fc430");
    world.node_pools.get_mut(&pool).unwrap()["status"]["replicas"] = json!(1);
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "a node is missing");
    assert_eq!(world.condition("NodesReady"), is("False", "Waiting"));
    assert_eq!(world.status["nodes"]["ready"], 1);
    world.osac_serves();
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

/// OSAC repairs failures that HyperShift calls final, and retries its job.
#[test]
fn final_failure_of_hypershift_is_reported_and_waited_for() {
    let mut world = World::osac_claim();
    world.settle();
    world.osac_makes();
    world.set_hosted_condition("Available", "False", "");
    world.set_hosted_condition("ValidConfiguration", "False", "no such ingress");
    world.settle();
    world.advance_time(minutes(30));
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(
        (&world.status["lastError"]["reason"], &world.status["lastError"]["terminal"]),
        (&json!("ValidConfiguration"), &json!(false))
    );
}

/// The rights to observe are missing, or the observed object is gone: no old state counts as new, and nothing is lost.
#[rstest]
#[case::gone(true)]
#[case::forbidden(false)]
fn unobservable_hosted_cluster_changes_nothing(#[case] gone: bool) {
    let mut world = World::order_ready();
    if gone {
        world.node_pools.clear();
        world.settle();
    } else {
        let words = "observe failed: cannot get object: hostedclusters \"x\" is forbidden: no";
        for name in ["hosted", "pool-workers"] {
            let object = &mut world.objects.get_mut(name).unwrap().object;
            function_model::world::set_synced(object, Some(words));
        }
        world.pass();
    }
    assert_eq!(world.phase(), "Ready", "the order says no other");
    assert_eq!(world.condition("NodesReady"), is("Unknown", "NotReported"));
    assert!(world.objects.contains_key("hosted") && world.objects.contains_key("pool-workers"));
    assert_eq!(world.status["nodes"], json!({ "desired": 2 }));
}

/// Groups of one class share a NodePool; each is asked for, and they are shown as what they are.
#[test]
fn groups_of_one_class_are_merged() {
    let mut world = World::osac_claim();
    world.spec["nodeGroups"] = json!([
        { "name": "a", "class": "metal", "count": 1 }, { "name": "b", "class": "bare", "count": 2 },
        { "name": "c", "class": "large", "count": 1 },
    ]);
    world.settle();
    world.osac_makes();
    world.publish_credentials();
    world.settle();
    let pools = world.status["nodes"]["pools"].as_array().unwrap().clone();
    let shown: Vec<_> = pools.iter().map(|pool| (&pool["name"], &pool["desired"], &pool["ready"])).collect();
    assert_eq!(shown, [(&json!("a, b"), &json!(3), &json!(3)), (&json!("c"), &json!(1), &json!(1))]);
    assert_eq!((&world.status["nodes"]["desired"], &world.status["nodes"]["ready"]), (&json!(4), &json!(4)));
    // The first of them goes, and what the others are told by stays.
    world.spec["nodeGroups"] = json!([{ "name": "b", "class": "bare", "count": 2 }]);
    world.settle();
    assert!(!world.objects.contains_key("pool-a") && world.objects.contains_key("pool-b"));
    world.osac_makes();
    world.settle();
    assert_eq!(world.status["nodes"]["ready"], 2);
    assert_eq!(world.phase(), "Ready");
}

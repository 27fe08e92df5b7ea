//! Meaning of each state of a Cluster, row by row.

use function_model::world::World;
use rstest::rstest;
use serde_json::json;

use crate::cluster_api::{is, minutes};

type Said<'a> = &'a [(&'a str, &'a str, &'a str, &'a str)];

const UP_TO_CONTROL_PLANE: [(&str, &str, &str, &str); 2] =
    [("InfrastructureReady", "True", "Ready", ""), ("ControlPlaneInitialized", "True", "Initialized", "")];

/// Before it was ever ready. Credentials are there in every row: none is Ready for them alone.
#[rstest]
#[case::nobody_looked(&[], "Pending", ("InfrastructureReady", "Unknown", "NotObserved"), "Requested")]
#[case::topology_alone(&[("TopologyReconciled", "True", "ReconcileSucceeded", "")],
    "Pending", ("InfrastructureReady", "Unknown", "NotObserved"), "Requested")]
#[case::infrastructure(&[("InfrastructureReady", "False", "NotReady", "* a\n* b: waiting for x")],
    "Provisioning", ("InfrastructureReady", "False", "Provisioning"), "Infrastructure")]
#[case::infrastructure_unknown(&[("InfrastructureReady", "Unknown", "X", "")],
    "Provisioning", ("InfrastructureReady", "False", "Provisioning"), "Infrastructure")]
#[case::quota(&[("InfrastructureReady", "False", "NotReady", "Quota exceeded for instances")],
    "Provisioning", ("InfrastructureReady", "False", "QuotaExceeded"), "Infrastructure")]
#[case::credentials(&[("InfrastructureReady", "False", "NotReady", "got 401 instead")],
    "Provisioning", ("InfrastructureReady", "False", "CredentialsInvalid"), "Infrastructure")]
#[case::no_control_plane(&[("InfrastructureReady", "True", "Ready", ""), ("ControlPlaneInitialized", "False", "NotInitialized", "")],
    "Provisioning", ("ControlPlaneAvailable", "False", "Creating"), "ControlPlane")]
#[case::control_plane_down(&[UP_TO_CONTROL_PLANE[0], UP_TO_CONTROL_PLANE[1], ("ControlPlaneAvailable", "False", "NotAvailable", "")],
    "Provisioning", ("ControlPlaneAvailable", "False", "Creating"), "ControlPlane")]
#[case::no_workers(&[UP_TO_CONTROL_PLANE[0], UP_TO_CONTROL_PLANE[1], ("ControlPlaneAvailable", "True", "Available", ""),
    ("TopologyReconciled", "True", "Succeeded", ""), ("WorkersAvailable", "False", "NotAvailable", "")],
    "Provisioning", ("NodesReady", "False", "Waiting"), "Nodes")]
#[case::topology(&[UP_TO_CONTROL_PLANE[0], UP_TO_CONTROL_PLANE[1], ("ControlPlaneAvailable", "True", "Available", ""),
    ("TopologyReconciled", "False", "ClusterCreating", "not there"), ("WorkersAvailable", "True", "Available", ""), ("Available", "True", "Available", "")],
    "Provisioning", ("SpecApplied", "False", "Applying"), "Topology")]
#[case::gate(&[UP_TO_CONTROL_PLANE[0], UP_TO_CONTROL_PLANE[1], ("ControlPlaneAvailable", "True", "Available", ""),
    ("TopologyReconciled", "True", "Succeeded", ""), ("WorkersAvailable", "True", "Available", ""),
    ("Available", "False", "NotAvailable", "* Licensed: no licence yet")],
    "Provisioning", ("ClusterReady", "False", "Provisioning"), "Availability")]
fn before_it_is_ready(
    #[case] said: Said<'_>,
    #[case] phase: &str,
    #[case] (type_, status, reason): (&str, &str, &str),
    #[case] step: &str,
) {
    let mut world = World::cluster_api_claim();
    world.settle();
    world.remote.as_mut().unwrap()["status"] = json!({ "phase": "Provisioned" });
    if !said.is_empty() {
        world.report_cluster_api(said);
    }
    world.hypershift_publishes();
    world.settle();
    assert_eq!(world.phase(), phase);
    assert_eq!(world.condition(type_), is(status, reason));
    assert_eq!(world.status["progress"]["step"], step);
}

/// A gate of administrators is named to the tenant.
#[test]
fn a_gate_that_is_closed_is_named() {
    let mut world = World::cluster_api_claim();
    world.settle();
    world.capi_installs();
    world.hypershift_publishes();
    let conditions = world.remote.as_mut().unwrap()["status"]["conditions"].as_array_mut().unwrap();
    let available = conditions.iter_mut().find(|c| c["type"] == "Available").unwrap();
    available["status"] = json!("False");
    available["reason"] = json!("NotAvailable");
    available["message"] = json!("* Licensed: no licence yet");
    world.settle();
    let message = world.status["message"].as_str().unwrap();
    assert!(message.contains("not available: NotAvailable: Licensed: no licence yet"), "{message}");
}

/// As by conditions of v1beta1, which have other types.
#[test]
fn a_condition_that_is_missing_is_named() {
    for missing in ["Available", "TopologyReconciled"] {
        let mut world = World::cluster_api_claim();
        world.settle();
        world.capi_installs();
        world.hypershift_publishes();
        let conditions = world.remote.as_mut().unwrap()["status"]["conditions"].as_array_mut().unwrap();
        conditions.retain(|condition| condition["type"] != missing);
        conditions.push(json!({ "type": "Ready", "status": "True", "severity": "Info" }));
        world.settle();
        assert_eq!(world.phase(), "Provisioning");
        let message = world.status["message"].as_str().unwrap();
        assert!(message.contains(&format!("does not report condition {missing}")), "{message}");
    }
}

/// A report on an earlier generation of the spec says nothing of the current one.
#[test]
fn conditions_of_an_earlier_generation_do_not_count() {
    let mut world = World::cluster_api_claim();
    world.settle();
    world.capi_installs();
    world.hypershift_publishes();
    world.remote.as_mut().unwrap()["status"]["observedGeneration"] = json!(0);
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    world.report_cluster_api(&[]);
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

/// Each controller notes the generation that it judged in its own condition.
#[rstest]
#[case("TopologyReconciled")]
#[case("Available")]
#[case("WorkersAvailable")]
fn one_condition_of_an_earlier_generation_delays_all(#[case] type_: &str) {
    let judge = |world: &mut World, generation: i64| {
        let conditions = world.remote.as_mut().unwrap()["status"]["conditions"].as_array_mut().unwrap();
        conditions.iter_mut().find(|c| c["type"] == type_).unwrap()["observedGeneration"] = json!(generation);
        world.settle();
    };
    let mut world = World::topology_ready();
    let generation = world.remote.as_ref().unwrap()["metadata"]["generation"].as_i64().unwrap();
    judge(&mut world, generation - 1);
    assert_eq!(world.condition("SpecApplied"), is("False", "Applying"));
    assert_eq!(world.phase(), "Ready");
    judge(&mut world, generation);
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
}

/// Machines report their version before the API of their cluster answers for the first time.
#[test]
fn version_is_reported_once_the_api_has_answered() {
    let mut world = World::cluster_api_claim();
    world.settle();
    world.capi_installs();
    world.report_cluster_api(&[
        ("ControlPlaneInitialized", "False", "NotInitialized", ""),
        ("ControlPlaneAvailable", "False", "NotAvailable", ""),
        ("Available", "False", "NotAvailable", ""),
    ]);
    world.settle();
    assert!(world.status["version"].is_null(), "{}", world.status);
    world.capi_installs();
    world.settle();
    assert_eq!(world.status["version"], "1.29.4");
}

/// After a resize the report says for a few seconds that machines are added, and for minutes that nodes are not there.
#[test]
fn resize_is_progress_until_its_nodes_are_there() {
    let mut world = World::topology_ready();
    world.advance_time(minutes(10));
    world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "default", "count": 3 }]);
    world.settle();
    // Seen by the hub, and by no controller that counts nodes.
    world.report_cluster_api(&[("TopologyReconciled", "True", "ReconcileSucceeded", "")]);
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("False", "Applying"));
    world.report_cluster_api(&[
        ("ScalingUp", "True", "ScalingUp", ""),
        ("WorkersAvailable", "False", "NotAvailable", "* MachineDeployment a: 2 available replicas"),
        ("Available", "False", "NotAvailable", "* WorkersAvailable: 2 of 3"),
    ]);
    world.remote.as_mut().unwrap()["status"]["workers"]["desiredReplicas"] = json!(3);
    world.settle();
    world.report_cluster_api(&[("ScalingUp", "False", "NotScalingUp", "")]);
    for _ in 0..5 {
        world.settle();
        assert_eq!(world.condition("SpecApplied"), is("False", "Applying"));
        assert_eq!(world.condition_message("SpecApplied"), "2 of 3 nodes are ready");
        assert_eq!(world.condition("NodesReady"), is("False", "Waiting"));
        assert_eq!(world.phase(), "Ready");
        assert!(world.status["lastError"].is_null(), "{}", world.status);
        world.advance_time(minutes(5));
    }
    world.advance_time(minutes(6));
    world.settle();
    assert_eq!(world.phase(), "Degraded", "nodes do not take that long");
    world.capi_installs();
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
    assert_eq!(world.phase(), "Ready");
}

/// The condition may be True a second before the count is up.
#[test]
fn nodes_that_are_not_counted_are_not_ready() {
    let mut world = World::topology_ready();
    world.remote.as_mut().unwrap()["status"]["workers"]["availableReplicas"] = json!(1);
    world.settle();
    assert_eq!(world.condition("NodesReady"), is("False", "NotEnough"));
    assert_eq!(world.condition_message("NodesReady"), "1 of 2 nodes are ready");
    assert_eq!(world.status["progress"]["step"], "Nodes");
    assert_eq!(world.condition("SpecApplied"), is("False", "Applying"));
    assert_eq!(world.phase(), "Ready");
}

/// While machines are replaced there is one more than requested.
#[test]
fn no_more_nodes_are_ready_than_requested() {
    let mut world = World::topology_ready();
    world.remote.as_mut().unwrap()["status"]["workers"]["availableReplicas"] = json!(3);
    world.settle();
    assert_eq!(world.status["nodes"]["ready"], 2);
    assert_eq!(world.status["nodes"]["desired"], 2);
}

#[rstest]
#[case("InfrastructureReady", "NotReady", "Quota exceeded for cores", None)]
#[case("InfrastructureReady", "NotReady", "Expected 201, but got 503 instead", None)]
#[case("InfrastructureReady", "NotReady", "Waiting for the load balancer", None)]
#[case("InfrastructureReady", "NotReady", "the cloud says: got 401 instead", Some(3))]
#[case("ControlPlaneMachinesReady", "NotReady", "* Machine a: no suitable image", Some(3))]
#[case("WorkerMachinesReady", "NotReady", "flavor m1.huge could not be found", Some(3))]
#[case("TopologyReconciled", "ReconcileFailed", "variable \"cni\" is invalid", Some(5))]
#[case("TopologyReconciled", "ReconcileFailed", "ClusterClass clusters/openstack-v3 not found", Some(5))]
#[case("TopologyReconciled", "ReconcileFailed", "the server is currently unable: timeout", None)]
#[case("TopologyReconciled", "ClusterClassNotReconciled", "ClusterClass not reconciled", None)]
#[case("WorkerMachinesReady", "NotReady", "* Machine pr-404-x: Ready not yet reported", None)]
#[case("WorkerMachinesReady", "NotReady", "* Machine pr-401-x: Ready not yet reported", None)]
#[case("WorkerMachinesReady", "NotReady", "* Machine pr-503-x-workers-a: no suitable image", Some(3))]
fn only_lasting_terminal_failures_are_final(
    #[case] type_: &str,
    #[case] reason: &str,
    #[case] message: &str,
    #[case] grace: Option<i64>,
) {
    let mut world = World::cluster_api_claim();
    world.settle();
    world.report_cluster_api(&[
        (type_, "False", reason, message),
        ("InfrastructureReady", "Unknown", "X", ""),
    ]);
    world.report_cluster_api(&[(type_, "False", reason, message)]);
    world.settle();
    let early = grace.unwrap_or(30) - 1;
    world.advance_time(minutes(early));
    world.settle();
    assert!(matches!(world.phase().as_str(), "Provisioning" | "Pending"), "{}", world.phase());
    assert_eq!(world.status["lastError"]["terminal"].as_bool().unwrap_or(false), grace.is_some());
    world.advance_time(minutes(2));
    world.settle();
    assert_eq!(world.phase() == "Failed", grace.is_some(), "{}", world.phase());
    if grace.is_some() {
        let shown = world.status["message"].as_str().unwrap();
        assert!(shown.contains(message.trim_start_matches("* ")), "{shown}");
        // Nothing is left that costs money.
        world.hive_is_done();
        world.settle();
        assert!(world.remote.is_none());
        assert_eq!(world.condition("ProwJobCompleted").0, "True");
    }
}

/// A replica of the cloud's that does not know yet, or not any more, what the others do says so for one look.
#[rstest]
#[case("Resource not found: [GET https://cloud.example/v2.1/servers/x], got 404 instead")]
#[case("got 401 instead")]
fn transient_message_is_never_final(#[case] line: &str) {
    let mut world = World::cluster_api_claim();
    world.settle();
    let says = |world: &mut World, line: &str| {
        world.report_cluster_api(&[
            ("InfrastructureReady", "True", "Ready", ""),
            ("WorkerMachinesReady", "False", "NotReady", line),
        ]);
        world.settle();
    };
    says(&mut world, "Waiting for the machines");
    world.advance_time(minutes(10));
    for _ in 0..3 {
        says(&mut world, line);
        assert_eq!(world.phase(), "Provisioning");
        assert_eq!(world.status["lastError"]["terminal"], true);
        world.advance_time(minutes(2));
        says(&mut world, "Waiting for the machines");
        world.advance_time(minutes(2));
        world.settle();
        assert_eq!(world.phase(), "Provisioning");
    }
    // Where nobody notes when it was said, it may have been said just now.
    says(&mut world, line);
    let noted = world.remote.as_mut().unwrap()["metadata"].as_object_mut().unwrap().remove("managedFields");
    world.reconcile_objects();
    world.advance_time(minutes(4));
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    world.remote.as_mut().unwrap()["metadata"]["managedFields"] = noted.unwrap();
    world.settle();
    assert_eq!(world.phase(), "Failed");
}

#[test]
fn exceeded_quota_is_named() {
    let mut world = World::cluster_api_claim();
    world.settle();
    world.report_cluster_api(&[(
        "WorkerMachinesReady",
        "False",
        "NotReady",
        "* Machine a: Quota exceeded for cores",
    )]);
    world.settle();
    assert_eq!(world.status["lastError"]["reason"], "QuotaExceeded");
    assert_eq!(world.status["lastError"]["message"], "Machine a: Quota exceeded for cores");
}

#[test]
fn failure_of_old_api_is_final_at_once() {
    let failed = json!({ "v1beta1": { "failureReason": "CreateError", "failureMessage": "it broke" } });
    let mut world = World::cluster_api_claim();
    world.settle();
    world.report_cluster_api(&[("InfrastructureReady", "False", "NotReady", "")]);
    world.remote.as_mut().unwrap()["status"]["deprecated"] = failed.clone();
    world.settle();
    assert_eq!(world.phase(), "Failed");
    let mut world = World::topology_ready();
    world.remote.as_mut().unwrap()["status"]["deprecated"] = failed;
    world.settle();
    assert_eq!(world.phase(), "Degraded");
    assert_eq!(world.status["lastError"]["reason"], "CreateError");
}

/// After it was ready: how soon the phase is Degraded, if ever, and what is shown at once.
#[rstest]
#[case::control_plane(&[("ControlPlaneAvailable", "False", "NotAvailable", "etcd")], Some(2), ("ControlPlaneAvailable", "False", "Unavailable"))]
#[case::control_plane_unknown(&[("ControlPlaneAvailable", "Unknown", "InspectionFailed", "etcd")], Some(5), ("ControlPlaneAvailable", "Unknown", "Unavailable"))]
#[case::control_plane_replaced(&[("ControlPlaneAvailable", "False", "NotAvailable", "etcd"), ("RollingOut", "True", "RollingOut", "")], Some(5), ("SpecApplied", "False", "Applying"))]
#[case::nodes_coming(&[("WorkersAvailable", "False", "NotAvailable", ""), ("ScalingUp", "True", "ScalingUp", "")], Some(30), ("NodesReady", "False", "Waiting"))]
#[case::workers(&[("WorkersAvailable", "False", "NotAvailable", "")], Some(2), ("NodesReady", "False", "NotEnough"))]
#[case::machines(&[("WorkersAvailable", "False", "X", ""), ("WorkerMachinesReady", "False", "X", "a is gone")], Some(2), ("NodesReady", "False", "Unhealthy"))]
#[case::probe(&[("RemoteConnectionProbe", "False", "Failed", "")], Some(5), ("ControlPlaneAvailable", "False", "Degraded"))]
#[case::gate(&[("Available", "False", "NotAvailable", "gate")], Some(2), ("SpecApplied", "True", "UpToDate"))]
#[case::upgrading(&[("TopologyReconciled", "False", "ClusterUpgrading", "")], None, ("SpecApplied", "False", "Applying"))]
#[case::hook(&[("TopologyReconciled", "False", "LifecycleHookBlocking", "")], None, ("SpecApplied", "False", "Applying"))]
#[case::failed(&[("TopologyReconciled", "False", "ReconcileFailed", "no"), ("Available", "False", "X", "")], None, ("SpecApplied", "False", "Rejected"))]
#[case::rolling(&[("RollingOut", "True", "RollingOut", "")], None, ("SpecApplied", "False", "Applying"))]
#[case::growing(&[("ScalingUp", "True", "ScalingUp", "")], None, ("SpecApplied", "False", "Applying"))]
#[case::shrinking(&[("ScalingDown", "True", "ScalingDown", "")], None, ("SpecApplied", "False", "Applying"))]
#[case::healing(&[("Remediating", "True", "Remediating", "")], None, ("SpecApplied", "True", "UpToDate"))]
#[case::paused(&[("Paused", "True", "Paused", "")], None, ("SpecApplied", "False", "Queued"))]
fn once_it_was_ready(
    #[case] said: Said<'_>,
    #[case] degrades: Option<i64>,
    #[case] (type_, status, reason): (&str, &str, &str),
) {
    let mut world = World::topology_ready();
    world.advance_time(minutes(10));
    world.report_cluster_api(said);
    world.settle();
    assert_eq!(world.phase(), "Ready", "a flap is waited out");
    assert_eq!(world.condition(type_), is(status, reason));
    world.advance_time(minutes(degrades.unwrap_or(60)) - jiff::SignedDuration::from_secs(1));
    world.settle();
    assert_eq!(world.phase(), "Ready");
    world.advance_time(minutes(1));
    world.settle();
    assert_eq!(world.phase(), if degrades.is_some() { "Degraded" } else { "Ready" });
    assert_eq!(world.condition("ClusterReady").0, "True", "it latches");
    world.capi_installs();
    world.report_cluster_api(&[("RemoteConnectionProbe", "True", "X", ""), ("Paused", "False", "X", "")]);
    world.settle();
    assert_eq!(world.phase(), "Ready");
    assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"));
}

#[test]
fn nonsense_status_ends_no_cluster() {
    for status in
        [json!(7), json!({ "conditions": 7 }), json!({ "workers": [], "controlPlane": 1, "conditions": [] })]
    {
        let mut world = World::topology_ready();
        world.remote.as_mut().unwrap()["status"] = status;
        world.settle();
        assert!(matches!(world.phase().as_str(), "Ready" | "Degraded"), "{}", world.phase());
        assert_eq!(world.made, 1);
    }
}

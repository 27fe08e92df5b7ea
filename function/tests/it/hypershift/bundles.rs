//! A template's bundles inside its clusters: requested from the hub once, completed before Ready, and their teardown completed before the
//! nodes go.

use function_model::{
    bundles::build_bundle,
    world::{NAME, World},
};
use serde_json::{Value, json};
use testplatform_apis::{bundle, names::ours};

use crate::hypershift::{is, level, minutes};

fn told(world: &World) -> &Value {
    &world.objects["bundles"].object
}

/// One with bundles, all of which are there.
fn applied() -> World {
    let mut world = World::bundled_and_installed();
    world.bundles_applied();
    world.settle();
    world
}

/// Nothing holds it any more: it ends, and there was never another one.
#[track_caller]
fn is_ended_once(world: &mut World) {
    world.hive_is_done();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 1));
}

#[test]
fn bundles_are_requested_once_the_cluster_is_observed() {
    let mut world = World::with_bundles();
    world.pass();
    assert!(!world.objects.contains_key("bundles"), "nobody knows yet whose the HostedCluster is");
    assert_eq!(world.objects["cluster"].object["metadata"]["annotations"][ours::BUNDLES_REQUESTED], "true");
    assert_eq!(level(&world, "TemplateApplied"), is("Unknown", "NotReported"));
    world.settle();
    let object = told(&world);
    assert_eq!(object["metadata"]["name"], format!("bundles.{NAME}"));
    assert_eq!(object["metadata"]["labels"][ours::COMPONENT], "bundles");
    assert_eq!(
        object["spec"]["references"],
        json!([{ "dependsOn": {
            "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "name": format!("managed-{NAME}"),
        } }])
    );
    let manifest = &object["spec"]["forProvider"]["manifest"];
    assert_eq!(manifest["kind"], "ConfigMap");
    assert_eq!(
        manifest["metadata"],
        json!({ "name": format!("{NAME}-bundles"), "namespace": "clusters", "labels": { bundle::LABEL: "true" } })
    );
    let order = world.requested_bundles();
    assert_eq!(
        (order.cluster.group.as_str(), order.cluster.kind.as_str()),
        ("hypershift.openshift.io", "HostedCluster")
    );
    assert_eq!(order.cluster.name.as_str(), NAME);
    let names = |all: &[bundle::Bundle]| all.iter().map(|b| b.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (names(&order.post_install), names(&order.pre_delete)),
        (vec!["base".into()], vec!["drain".into()])
    );
    assert_eq!(order.post_install[0].timeout, bundle::TIMEOUT);
    assert_eq!(order.pre_delete[0].timeout.to_string(), "5m0s");
    assert_eq!(
        order.post_install[0].manifests[0].object["data"]["cluster"],
        format!("clusters/{NAME} of tenant-a")
    );
    assert_eq!(level(&world, "TemplateApplied"), is("False", "Running"));
}

#[test]
fn an_add_on_is_chosen_by_a_parameter_and_stays_chosen() {
    let mut world = World::with_bundles();
    world.spec["parameters"] = json!({ "monitoring": true });
    world.settle();
    assert_eq!(world.requested_bundles().post_install[1].name, "monitoring");
    assert_eq!(world.status["effective"]["parameters"]["monitoring"], true);
    let before = told(&world)["spec"].clone();
    world.spec["parameters"]["monitoring"] = json!(false);
    world.settle();
    assert_eq!(level(&world, "SpecApplied"), is("False", "Immutable"));
    assert!(
        world.condition_message("SpecApplied").contains("spec.parameters.monitoring"),
        "{}",
        world.condition_message("SpecApplied")
    );
    assert_eq!(told(&world)["spec"], before);
}

#[test]
fn ready_waits_for_post_install_bundles() {
    let mut world = World::bundled_and_installed();
    assert_eq!(
        (world.phase().as_str(), level(&world, "TemplateApplied")),
        ("Provisioning", is("False", "Running"))
    );
    assert_eq!(level(&world, "ClusterReady"), is("False", "SettingUp"));
    world.report_bundles(&json!({
        "state": "Running", "bundle": "postInstall/base", "object": "ConfigMap default/base", "reason": "NotReady",
    }));
    world.settle();
    let said = world.condition_message("ClusterReady");
    assert!(said.contains("postInstall/base") && said.contains("ConfigMap default/base: NotReady"), "{said}");
    assert!(world.tenant.is_empty());
    world.advance_time(minutes(7));
    let applied_at = world.now;
    world.bundles_applied();
    world.settle();
    assert_eq!((world.phase().as_str(), level(&world, "TemplateApplied")), ("Ready", is("True", "Applied")));
    assert_eq!(world.status["readyAt"], json!(applied_at), "its lifetime counts from then");
}

#[test]
fn late_bundle_is_named_and_may_still_become_ready() {
    let mut world = World::bundled_and_installed();
    let failed = json!({
        "state": "SetupFailed", "bundle": "postInstall/base", "object": "Deployment cni/agent", "reason": "NotReady",
        "message": "its expression was false for 10m",
    });
    world.report_bundles(&failed);
    world.settle();
    assert_eq!(level(&world, "TemplateApplied"), is("False", "SetupFailed"));
    assert_eq!(
        (world.phase().as_str(), level(&world, "ClusterReady")),
        ("Provisioning", is("False", "SetupFailed"))
    );
    let said = world.condition_message("TemplateApplied");
    for what in ["postInstall/base", "Deployment cni/agent: NotReady: its expression was false for 10m"] {
        assert!(said.contains(what), "{said}");
    }
    assert!(world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null(), "the cluster stays");
    let mut recovers = world.clone();
    recovers.bundles_applied();
    recovers.settle();
    assert_eq!(recovers.phase(), "Ready");
    // As anything else that does not come about.
    world.advance_time(minutes(91));
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(level(&world, "TemplateApplied"), is("False", "SetupFailed"));
    assert!(
        world.status["message"].as_str().unwrap().contains("Deployment cni/agent"),
        "{}",
        world.status["message"]
    );
}

#[test]
fn bundle_failure_after_ready_changes_the_condition_alone() {
    let mut world = applied();
    world.report_bundles(
        &json!({ "state": "SetupFailed", "bundle": "postInstall/base", "object": "ConfigMap default/base" }),
    );
    world.settle();
    assert_eq!(
        (world.phase().as_str(), level(&world, "TemplateApplied")),
        ("Ready", is("False", "SetupFailed"))
    );
    assert_eq!(level(&world, "ClusterReady"), is("True", "Ready"));
}

#[test]
fn a_catalogue_that_changes_changes_no_cluster() {
    let mut plain = World::hosted_ready();
    plain.catalogue_entry("hosted")["postInstall"] = json!([build_bundle("late", &json!({}))]);
    plain.settle();
    assert!(!plain.objects.contains_key("bundles"));
    assert_eq!(
        (plain.phase().as_str(), level(&plain, "TemplateApplied")),
        ("Ready", is("True", "NothingToApply"))
    );

    let mut world = applied();
    let before = told(&world)["spec"].clone();
    let entry = world.catalogue_entry("hosted");
    entry["postInstall"][0]["manifests"][0]["object"]["data"] = json!({ "other": "data" });
    entry["preDelete"] = json!([]);
    world.settle();
    assert_eq!(told(&world)["spec"], before);
    world.templates.clear();
    world.settle();
    assert_eq!((world.phase().as_str(), &told(&world)["spec"]), ("Ready", &before));
    assert_eq!(level(&world, "TemplateApplied"), is("True", "Applied"));
}

#[test]
fn nodes_stay_until_pre_delete_bundles_are_done() {
    let mut world = applied();
    world.undone = true;
    world.spec["tearDownCluster"] = json!(true);
    world.pass();
    assert!(!world.refs.contains("bundles") && world.refs.contains("bundles-undone"));
    assert!(world.refs.contains("pool-workers"), "it needs its nodes");
    world.settle();
    assert!(!world.node_pools.is_empty());
    assert!(world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    let said = world.status["message"].as_str().unwrap();
    assert!(said.contains("waits for preDelete/drain: Job ops/drain: NotReady"), "{said}");
    assert!(
        world.condition_message("TearDownComplete").contains("preDelete/drain"),
        "{}",
        world.condition_message("TearDownComplete")
    );
    assert_eq!(level(&world, "TemplateApplied"), is("False", "Running"));
    // Whatever is forgotten meanwhile.
    world.drop_status();
    world.settle();
    assert!(world.refs.contains("pool-workers"));
    world.undone = false;
    world.settle();
    assert!(world.bundles.is_none() && world.node_pools.is_empty());
    is_ended_once(&mut world);
    assert!(!world.refs.contains("bundles-undone"));
}

/// Core takes away what tells the hub before it notes, or makes, anything else; and what looks on can be lost.
#[test]
fn aborted_teardown_still_waits_for_pre_delete_bundles() {
    for lost in [false, true] {
        let mut world = applied();
        world.undone = true;
        world.spec["tearDownCluster"] = json!(true);
        if lost {
            world.pass();
            world.objects.remove("bundles-undone");
        } else {
            world.applies_nothing();
        }
        world.settle();
        assert!(world.bundles.is_some() && !world.node_pools.is_empty(), "lost: {lost}");
        assert!(world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null(), "lost: {lost}");
        world.undone = false;
        world.settle();
        assert!(world.bundles.is_none() && world.node_pools.is_empty());
        is_ended_once(&mut world);
    }
}

/// Request for a teardown, and its withdrawal.
type Asked = (fn(&mut World), fn(&mut World));

/// A pass that breaks off may leave nothing of an end but what looks on: nobody has noted that one was asked for.
#[test]
fn unrecorded_teardown_can_be_withdrawn() {
    let asked: [Asked; 2] = [
        (|w| w.spec["tearDownCluster"] = json!(true), |w| w.spec["tearDownCluster"] = json!(false)),
        (|w| w.advance_time(minutes(121)), |w| w.spec["lifetime"] = json!("8h")),
    ];
    for (asks, takes_back) in asked {
        let mut world = applied();
        asks(&mut world);
        world.applies_only("bundles-undone");
        assert!(world.refs.contains("bundles-undone") && !world.refs.contains("bundles"));
        takes_back(&mut world);
        world.settle();
        assert_eq!(world.phase(), "Ready");
        assert!(world.refs.contains("bundles") && !world.refs.contains("bundles-undone"));
        world.spec["tearDownCluster"] = json!(true);
        world.settle();
        is_ended_once(&mut world);
        assert!(world.bundles.is_none());
    }
}

/// Without its Object nobody deletes the ConfigMap, and an end would wait for that for ever.
#[test]
fn bundle_request_with_a_lost_object_is_deleted() {
    for without_entry in [false, true] {
        let mut world = applied();
        world.objects.remove("bundles");
        world.refs.remove("bundles");
        if without_entry {
            world.templates.clear();
            world.settle();
            assert!(!world.objects.contains_key("bundles"), "nobody knows what it is to say");
        }
        world.undone = true;
        world.spec["tearDownCluster"] = json!(true);
        world.pass();
        assert!(!world.refs.contains("bundles"), "it has to be seen first");
        world.reconcile_objects();
        world.pass();
        let object = told(&world);
        assert_eq!(object["spec"]["managementPolicies"], json!(["Observe", "Delete"]));
        assert_eq!(object["spec"]["forProvider"]["manifest"]["metadata"]["uid"], "of-the-bundles");
        let said = world.status["message"].as_str().unwrap();
        assert!(said.contains("it waits until ConfigMap clusters/demo-x7k2p-bundles is gone"), "{said}");
        world.settle();
        assert!(!world.refs.contains("bundles") && world.refs.contains("bundles-undone"));
        assert!(world.bundles.is_some() && !world.node_pools.is_empty());
        assert!(world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
        let said = world.status["message"].as_str().unwrap();
        assert!(said.contains("waits for preDelete/drain"), "{said}");
        world.undone = false;
        world.settle();
        assert!(world.bundles.is_none() && world.node_pools.is_empty());
        is_ended_once(&mut world);
    }
}

/// A ConfigMap of that name without our label is left alone, and reported.
#[test]
fn foreign_config_map_is_not_deleted() {
    let mut world = applied();
    world.objects.remove("bundles");
    world.refs.remove("bundles");
    world.bundles.as_mut().unwrap()["metadata"]["labels"] = json!({});
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert!(world.bundles.is_some() && !world.objects.contains_key("bundles"));
    let said = world.condition_message("TearDownComplete");
    assert!(said.contains("waits until ConfigMap clusters/demo-x7k2p-bundles is gone"), "{said}");
}

/// provider-kubernetes sets its finalizer on the dependencies of an Object once, and never again where that write fails. It takes back core's
/// substitute as soon as the primary Object is desired in other words.
#[test]
fn cluster_waits_for_pre_delete_bundles_of_any_writer() {
    let mut world = World { unreferred: true, ..World::bundled_and_installed() };
    for (name, composed) in &mut world.objects {
        composed.object["metadata"]["uid"] = json!(format!("uid-{name}"));
    }
    world.bundles_applied();
    world.settle();
    let finalizers = world.objects["cluster"].object["metadata"]["finalizers"].to_string();
    assert!(finalizers.contains("referred-by-object-uid-bundles"), "{finalizers}");
    world.undone = true;
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert!(
        world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null(),
        "gone before its backup"
    );
    assert!(world.bundles.is_some() && !world.node_pools.is_empty());
    // An end that has begun is not taken back, and its reason is not forgotten.
    world.spec["tearDownCluster"] = json!(false);
    world.advance_time(minutes(3));
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    world.undone = false;
    world.settle();
    assert!(world.bundles.is_none() && world.node_pools.is_empty());
    world.hive_is_done();
    world.settle();
    assert_eq!(
        (world.phase().as_str(), level(&world, "ProwJobCompleted").1.as_str()),
        ("Deprovisioned", "TornDown")
    );
}

#[test]
fn teardown_before_the_bundle_request_waits_for_nothing() {
    let mut world = World::with_bundles();
    world.pass();
    world.reconcile_objects();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
}

/// Without the rights nothing is done inside the cluster, and nothing keeps its nodes.
#[test]
fn refused_bundle_request_is_reported_and_keeps_no_nodes() {
    let mut world = World::with_bundles();
    world.untold = true;
    world.settle();
    world.hypershift_installs();
    world.hypershift_publishes();
    world.settle();
    assert_eq!(level(&world, "TemplateApplied"), is("False", "SetupFailed"));
    assert!(
        world.condition_message("TemplateApplied").contains("clusters/demo-x7k2p-bundles"),
        "{}",
        world.condition_message("TemplateApplied")
    );
    assert_eq!(
        (world.phase().as_str(), level(&world, "ClusterReady")),
        ("Provisioning", is("False", "SetupFailed"))
    );
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert!(world.node_pools.is_empty());
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
}

#[test]
fn an_overlay_is_merged_at_birth_alone() {
    let mut world = World::hypershift_claim();
    world.catalogue_entry("hosted")["overlay"] = json!({
        "hostedCluster": { "services": [], "etcd": null, "platform": { "kubevirt": { "storageDriver": { "type": "Manual" } } } },
        "nodePool": { "nodeVolumeDetachTimeout": null, "platform": { "kubevirt": { "compute": { "cores": 5 } } } },
    });
    world.settle();
    let spec = &crate::hypershift::asked(&world)["spec"];
    assert_eq!((&spec["services"], &spec["etcd"]), (&json!([]), &Value::Null));
    assert_eq!(
        spec["platform"]["kubevirt"],
        json!({ "baseDomainPassthrough": true, "storageDriver": { "type": "Manual" } })
    );
    assert_eq!(spec["release"]["image"], "quay.io/x:4.20.3-x86_64");
    let pool = &world.requested_pool("workers")["spec"];
    assert_eq!(pool["platform"]["kubevirt"]["compute"], json!({ "cores": 5, "memory": "16Gi" }));
    assert!(pool["nodeVolumeDetachTimeout"].is_null());
    let before = (crate::hypershift::asked(&world)["spec"].clone(), pool.clone());
    world.catalogue_entry("hosted")["overlay"] =
        json!({ "hostedCluster": { "services": [1] }, "nodePool": { "x": 1 } });
    world.settle();
    assert_eq!(
        (&crate::hypershift::asked(&world)["spec"], &world.requested_pool("workers")["spec"]),
        (&before.0, &before.1)
    );
}

#[test]
fn the_order_outlives_a_lost_writer_and_a_lost_status() {
    let mut world = applied();
    let before = told(&world)["spec"].clone();
    world.objects.remove("cluster");
    world.refs.remove("cluster");
    world.drop_status();
    world.settle();
    assert_eq!(told(&world)["spec"], before);
    assert_eq!(world.phase(), "Ready");
}

/// provider-kubernetes reads the ConfigMap twice a minute, and watches the cluster's object.
#[test]
fn cluster_is_ready_by_the_copy_of_the_report() {
    let mut world = World::bundled_and_installed();
    let request = world.bundles.clone();
    world.bundles_applied();
    world.bundles = request;
    world.settle();
    assert_eq!((world.phase().as_str(), level(&world, "TemplateApplied")), ("Ready", is("True", "Applied")));
}

/// The provider may have lost the right to write the copy.
#[test]
fn cluster_is_ready_although_the_copy_is_out_of_date() {
    let mut world = World::bundled_and_installed();
    world.report_bundles(&json!({ "state": "Running", "bundle": "postInstall/base" }));
    let cluster = world.remote.clone();
    world.bundles_applied();
    world.remote = cluster;
    world.settle();
    assert_eq!((world.phase().as_str(), level(&world, "TemplateApplied")), ("Ready", is("True", "Applied")));
}

#[test]
fn failed_setup_is_shown_although_the_copy_is_out_of_date() {
    let mut world = World::bundled_and_installed();
    let since = world.now;
    world.report_bundles(&json!({ "state": "Running", "bundle": "postInstall/base", "since": since }));
    let cluster = world.remote.clone();
    world.report_bundles(&json!({ "state": "SetupFailed", "bundle": "postInstall/base", "since": since }));
    world.remote = cluster;
    world.settle();
    assert_eq!(level(&world, "TemplateApplied"), is("False", "SetupFailed"));
}

/// The cluster's object keeps the last report for as long as its deletion takes.
#[test]
fn deletion_without_bundle_request_runs_no_bundles() {
    let mut world = applied();
    world.undone = true;
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(level(&world, "TemplateApplied"), is("False", "Running"));
    world.undone = false;
    world.settle();
    assert!(world.bundles.is_none());
    assert_eq!(world.phase(), "Deprovisioning");
    assert_eq!(level(&world, "TemplateApplied"), is("Unknown", "NotReported"));
}

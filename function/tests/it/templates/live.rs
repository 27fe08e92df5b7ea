//! What happens to a live cluster by template, whichever backend makes it: its hub is away, it is in trouble, somebody deletes it, and its
//! credentials are published anew.

use function_model::world::{KUBECONFIG, World};
use jiff::SignedDuration;
use serde_json::{Value, json};
use testplatform_apis::names::ours;

use crate::templates::{
    every::{BACKENDS, Made},
    is,
};

/// What the hub reports of a broken control plane.
const BROKEN: &str = "etcd has lost its quorum";

/// Requests another size. Nothing of a cluster of CaaS' can change.
fn grow(world: &mut World, backend: &str) -> bool {
    let class = match backend {
        "hypershift" => "small",
        "cluster-api" => "default",
        "osac" => "metal",
        _ => return false,
    };
    world.spec["nodeGroups"] = json!([{ "name": "workers", "class": class, "count": 3 }]);
    true
}

/// The backend makes what is requested of it.
fn install(world: &mut World, backend: &str) {
    match backend {
        "hypershift" => world.hypershift_installs(),
        "cluster-api" => world.capi_installs(),
        "osac" => world.osac_makes(),
        _ => world.caas_installs(),
    }
    world.settle();
}

fn has_text(value: &Value, words: &str) -> bool {
    value.as_str().is_some_and(|text| text.contains(words))
}

#[test]
fn change_reaches_the_hub_after_its_absence() {
    for Made { backend, ready, .. } in BACKENDS {
        let mut world = ready();
        let status = world.status.clone();
        let on_hub = |world: &World| (world.remote.clone(), world.node_pools.clone(), world.hosted.clone());
        let before = on_hub(&world);
        world.reachable = false;
        let grows = grow(&mut world, backend);
        world.settle();
        assert_eq!(world.phase(), "Ready", "{backend}");
        assert_eq!(world.condition("ClusterReady"), is("True", "Ready"), "{backend}");
        assert_eq!(world.condition("RemoteConsistent"), is("False", "HubUnreachable"), "{backend}");
        let message = world.condition_message("RemoteConsistent");
        assert!(message.starts_with("the hub cannot be reached: "), "{backend}: {message}");
        for field in ["hub", "backend"] {
            assert_eq!(world.status[field], status[field], "{backend}");
        }
        assert!(!grows || world.condition("SpecApplied").0 == "False", "{backend}: who applied it?");
        assert_eq!(on_hub(&world), before, "{backend}");
        assert_eq!(world.tenant["kubeconfig"], KUBECONFIG, "{backend}");

        world.reachable = true;
        world.settle();
        install(&mut world, backend);
        assert_eq!(world.condition("RemoteConsistent").0, "True", "{backend}");
        assert_eq!(world.condition("SpecApplied"), is("True", "UpToDate"), "{backend}");
        assert!(!grows || world.status["nodes"]["ready"] == 3, "{backend}: {}", world.status["nodes"]);
        assert_eq!((world.phase().as_str(), world.made), ("Ready", 1), "{backend}");
    }
}

#[test]
fn lasting_failure_degrades_a_cluster_and_keeps_credentials() {
    for Made { backend, ready, .. } in BACKENDS {
        let mut world = ready();
        world.advance_time(SignedDuration::from_mins(10));
        match backend {
            "hypershift" => {
                world.report_hypershift(&[("Available", "False", "Down")]);
                let all = world.remote.as_mut().unwrap()["status"]["conditions"].as_array_mut().unwrap();
                all.iter_mut().find(|c| c["type"] == "Available").unwrap()["message"] = json!(BROKEN);
            }
            "cluster-api" => world.report_cluster_api(
                &["Available", "ControlPlaneAvailable"].map(|type_| (type_, "False", "NotAvailable", BROKEN)),
            ),
            "osac" => world.set_hosted_condition("Available", "False", BROKEN),
            _ => world.report_hosted_cluster("Available", "False", "UnavailableReplicas", BROKEN),
        }
        world.settle();
        assert_eq!(world.phase(), "Ready", "{backend}: it may pass");
        assert_eq!(world.condition("ControlPlaneAvailable"), is("False", "Unavailable"), "{backend}");
        assert!(world.condition_message("ControlPlaneAvailable").contains(BROKEN), "{backend}");

        world.advance_time(SignedDuration::from_mins(3));
        world.settle();
        assert_eq!(world.phase(), "Degraded", "{backend}");
        assert_eq!(world.condition("ClusterReady"), is("True", "Degraded"), "{backend}");
        let message = &world.status["message"];
        assert!(has_text(message, "the cluster was ready") && has_text(message, BROKEN), "{message}");
        let error = &world.status["lastError"];
        assert!(has_text(&error["message"], BROKEN) && error["terminal"] == false, "{error}");
        assert_eq!(world.condition("CredentialsPublished").0, "True", "{backend}");
        assert_eq!(world.condition("ProwJobCompleted"), is("False", "Running"), "{backend}");
        assert_eq!(world.tenant["kubeconfig"], KUBECONFIG, "{backend}");

        if backend == "osac" {
            world.osac_serves();
        }
        install(&mut world, backend);
        assert_eq!((world.phase().as_str(), world.made), ("Ready", 1), "{backend}");
        assert_eq!(world.condition("ControlPlaneAvailable"), is("True", "Available"), "{backend}");
        assert_eq!(world.condition("ClusterReady"), is("True", "Ready"), "{backend}");
    }
}

#[test]
fn a_cluster_that_somebody_deletes_is_over_and_its_credentials_go() {
    for Made { backend, ready, .. } in BACKENDS {
        let mut world = ready();
        world.remote = None;
        // Argo CD deletes it after the ClusterTemplateInstance.
        world.hosted = None;
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 1), "{backend}");
        let message = &world.status["message"];
        assert!(has_text(message, "somebody deleted the remote object"), "{backend}: {message}");
        assert_eq!(world.condition("RemoteConsistent"), is("False", "RemoteDeleted"), "{backend}");
        assert_eq!(world.condition("ClusterReady"), is("False", "Failed"), "{backend}");
        assert_eq!(world.condition("ProwJobCompleted"), is("True", "RemoteDeleted"), "{backend}");
        assert!(world.tenant.values().all(String::is_empty), "{backend}: {:?}", world.tenant);
    }
}

/// The revision changes the Object `credentials`, and so provider-kubernetes reads the Secret at once.
#[test]
fn credentials_that_are_published_anew_reach_the_tenant() {
    let others = [("ci-operator", World::ready as fn() -> World), ("hive", World::hive_ready)];
    for (backend, ready) in BACKENDS.map(|made| (made.backend, made.ready)).into_iter().chain(others) {
        let mut world = ready();
        world.secrets.insert(world.published_name(), (KUBECONFIG.into(), "another".into()));
        world.remote.as_mut().unwrap()["metadata"]["annotations"][ours::CREDENTIALS_REVISION] = json!("42");
        world.settle();
        let credentials = &world.objects["credentials"].object["metadata"]["annotations"];
        assert_eq!(credentials[ours::CREDENTIALS_REVISION], "42", "{backend}");
        assert_eq!(world.tenant["kubeAdminPassword"], "another", "{backend}");
        assert_eq!((world.phase().as_str(), world.made), ("Ready", 1), "{backend}");
        assert_eq!(world.condition("ClusterReady"), is("True", "Ready"), "{backend}");
    }
}

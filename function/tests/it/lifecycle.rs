//! Lives of a claim, from the tenant's side, against a model of core, provider-kubernetes and the hub.

mod delivered;
mod ends;
mod phases;
mod pooled;
mod time;
mod withdrawn;

use function_model::world::{KUBECONFIG, NAME, World};
use jiff::SignedDuration;
use serde_json::json;

fn is(world: &World, type_: &str) -> (String, String) {
    world.condition(type_)
}

fn pair(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

#[test]
fn happy_path() {
    let mut world = World::default();
    world.settle();
    assert_eq!((world.phase().as_str(), world.incumbent_phase().as_str()), ("Pending", ""));
    world.report_phase(
        "Provisioning",
        &[("ClusterReady", "False", "SecretsFetchFailure", "ci-operator NS not found")],
    );
    world.settle();
    assert_eq!((world.phase().as_str(), world.incumbent_phase().as_str()), ("Provisioning", "Provisioning"));
    assert_eq!(is(&world, "ClusterReady"), pair("False", "Provisioning"));
    world.hub_ready();
    world.settle();
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Ready"));
    assert_eq!(is(&world, "CredentialsPublished"), pair("True", "Published"));
    assert_eq!(is(&world, "RequestAccepted"), pair("True", "Accepted"));
    assert_eq!(is(&world, "RemoteConsistent"), pair("True", "InSync"));
    assert_eq!(world.objects["ec"].object["spec"]["forProvider"]["manifest"]["metadata"]["uid"], "remote-1");

    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert_eq!(world.remote.as_ref().unwrap()["spec"]["tearDownCluster"], true);
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Deprovisioning"));
    assert_eq!(is(&world, "ProwJobCompleted"), pair("False", "TearingDown"));
    world.hub_done("Deprovisioned");
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "ProwJobCompleted"));
    assert_eq!(world.management_policies(), json!(["Observe", "Delete"]));
    assert_eq!(world.made, 1);
    let told =
        ["ProwJobCreated", "Provisioning", "ClusterReady", "CredentialsPublished", "TearingDown", "TornDown"];
    let mut events = world.events.clone();
    events.sort_unstable();
    let mut told = told.to_vec();
    told.sort_unstable();
    assert_eq!(events, told);
}

#[test]
fn claim_is_pending_until_the_hub_starts_provisioning() {
    let mut world = World::default();
    world.settle();
    assert!(world.remote.is_some());
    assert_eq!(world.phase(), "Pending");
    assert_eq!(world.status["message"], "waiting for the hub to start provisioning");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("False", "NotStarted"));
    // The upstream controller writes no phase while it cannot create the ProwJob.
    let words = "create prowjob: the quota is used up";
    world.remote.as_mut().unwrap()["status"] = json!({ "conditions": [
        { "type": "ProwJobCreating", "status": "False", "reason": "CIOperatorJobsGenerateFailure", "message": words },
    ]});
    world.settle();
    assert_eq!((world.phase().as_str(), &world.status["message"]), ("Pending", &json!(words)));
    world.report_phase("Provisioning", &[]);
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("False", "Running"));
}

#[test]
fn obstacle_of_the_hub_is_reported() {
    let away = "build cluster build01 does not answer or does not let this provider in";
    let mut world = World::default();
    world.settle();
    world.report_phase("Provisioning", &[("ClusterReady", "False", "NamespacePending", "no namespace yet")]);
    world.settle();
    let usual = world.status["message"].clone();
    world.report_phase("Provisioning", &[("ClusterReady", "False", "BuildClusterUnreachable", away)]);
    world.settle();
    assert_eq!((world.phase().as_str(), &world.status["message"]), ("Provisioning", &json!(away)));
    world.report_phase("Provisioning", &[("ClusterReady", "False", "CredentialsPending", "no Secret yet")]);
    world.settle();
    assert_eq!(world.status["message"], usual, "what is only not created yet is no news");
}

#[test]
fn ready_waits_for_the_kubeconfig() {
    let mut world = World::default();
    world.settle();
    world.hub_ready();
    world.advance_time(SignedDuration::from_secs(15));
    let kept = std::mem::take(&mut world.secrets);
    world.settle();
    assert_eq!(is(&world, "ClusterReady"), pair("False", "WaitingForCredentials"));
    assert_eq!(is(&world, "CredentialsPublished"), pair("False", "SecretMissing"));
    world.secrets.insert(format!("{NAME}-credentials"), (String::new(), String::new()));
    world.settle();
    assert_eq!(is(&world, "CredentialsPublished"), pair("False", "KeyMissing"));
    world.secrets = kept;
    world.settle();
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Ready"));
}

#[test]
fn an_empty_password_is_a_value() {
    let mut world = World::default();
    world.settle();
    world.hub_ready();
    world.secrets.values_mut().for_each(|(_, password)| password.clear());
    world.settle();
    assert_eq!(is(&world, "CredentialsPublished"), pair("True", "PublishedWithoutPassword"));
    assert_eq!(world.tenant["kubeAdminPassword"], "");
}

#[test]
fn missing_environment_blocks_new_claims_and_keeps_live_ones() {
    let mut world = World { environment: None, ..World::default() };
    world.settle();
    assert_eq!(is(&world, "RequestAccepted"), pair("False", "EnvironmentConfigMissing"));
    assert_eq!((world.phase().as_str(), world.made), ("Pending", 0));
    assert_eq!(world.events, ["EnvironmentConfigMissing"]);

    let mut world = World::ready();
    let before = world.remote.clone();
    world.environment = None;
    world.settle();
    assert_eq!((world.phase().as_str(), &world.remote), ("Ready", &before));
    world.environment = Some(json!({ "clusterName": "another" }));
    world.settle();
    assert_eq!(world.remote, before, "the cluster keeps the name under which it was authorised");
}

#[test]
fn a_lost_hub_changes_nothing_for_the_owner() {
    let mut world = World::ready();
    world.reachable = false;
    world.settle();
    assert_eq!(world.phase(), "Ready");
    assert_eq!(is(&world, "RemoteConsistent"), pair("False", "HubUnreachable"));
    world.reachable = true;
    world.settle();
    assert_eq!(is(&world, "RemoteConsistent"), pair("True", "InSync"));
    assert_eq!(world.events[world.events.len() - 2..], ["RemoteUnavailable", "RemoteAvailable"]);
}

#[test]
fn a_flap_after_ready_shows_and_withdraws_nothing() {
    let mut world = World::ready();
    world.report_phase("Provisioning", &[("ClusterReady", "False", "SecretsFetchFailure", "timeout")]);
    world.remote.as_mut().unwrap()["status"].as_object_mut().unwrap().remove("secretRef");
    world.secrets.clear();
    world.settle();
    assert_eq!((world.phase().as_str(), world.incumbent_phase().as_str()), ("Degraded", "Ready"));
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Degraded"));
    world.hub_ready();
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn dropped_status_is_restored_unchanged() {
    let mut world = World::ready();
    let before = world.status.clone();
    world.advance_time(SignedDuration::from_mins(7));
    world.drop_status();
    world.settle();
    assert_eq!(world.status, before);
}

#[test]
fn an_administrators_composite_needs_no_claim() {
    let mut world = World { claim: false, ..World::default() };
    world.settle();
    assert_eq!(is(&world, "RequestAccepted"), pair("True", "NoTenant"));
    let annotations = &world.remote.as_ref().unwrap()["metadata"]["annotations"];
    assert_eq!(*annotations, json!({ "ephemeralcluster.ci.openshift.io/konflux-cluster": "stone-prd" }));
    let targets: Vec<_> = world.pass().conditions.iter().map(|c| c.target.unwrap()).collect();
    assert!(targets.iter().all(|t| *t == 1), "composite only");
}

/// The incumbent has a text of templates for a tenant that is not there; the hub remembers it.
#[test]
fn composite_of_an_administrator_keeps_its_tenant() {
    let mut world = World { claim: false, ..World::ready() };
    world.settle();
    let tenant = "ephemeralcluster.ci.openshift.io/konflux-tenant";
    let writer = &mut world.objects.get_mut("ec").unwrap().object;
    writer["spec"]["forProvider"]["manifest"]["metadata"]["annotations"][tenant] = json!("<no value>");
    world.remote.as_mut().unwrap()["metadata"]["annotations"][tenant] = json!("<no value>");
    world.settle();
    assert_eq!(world.remote.as_ref().unwrap()["metadata"]["annotations"][tenant], "<no value>");
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn a_changed_claim_does_not_touch_the_cluster() {
    let mut world = World::ready();
    let before = world.remote.clone();
    world.spec["ciOperator"]["test"]["workflow"] = json!("other");
    world.settle();
    assert_eq!(world.remote, before);
    assert_eq!(is(&world, "RequestAccepted"), pair("True", "ChangeIgnored"));
    world.spec = json!({ "clusterClaim": {} });
    world.settle();
    assert_eq!((&world.remote, world.phase().as_str()), (&before, "Ready"));
}

#[test]
fn rotated_credentials_follow_the_revision() {
    let mut world = World::ready();
    let key = "testplatform.ci.openshift.org/credentials-revision";
    world.remote.as_mut().unwrap()["metadata"]["annotations"][key] = json!("42");
    // The provider's annotation on the remote object is not ours to overwrite.
    world.provider_keeps(key, "42");
    let response = world.pass();
    let _ = response;
    assert_eq!(world.objects["credentials"].object["metadata"]["annotations"][key], "42");
}

//! The Secret in the tenant's namespace, which the Object `credentials` writes.

use function_model::world::{KUBECONFIG, PASSWORD, World, set_synced};
use jiff::SignedDuration;
use prost::Message as _;
use serde_json::{Value, json};

fn reference(world: &World) -> &Value {
    &world.objects["credentials"].object["spec"]["writeConnectionSecretToRef"]
}

#[test]
fn secret_keeps_its_first_name() {
    let mut world = World::default().in_namespace();
    world.settle();
    assert_eq!(reference(&world), &json!({ "name": "demo-secret" }));
    world.spec["writeConnectionSecretToRef"]["name"] = json!("another");
    world.settle();
    assert_eq!(
        reference(&world),
        &json!({ "name": "demo-secret" }),
        "the first one would stay with a kubeconfig"
    );
    let mut silent = World::default().in_namespace();
    silent.spec.as_object_mut().unwrap().remove("writeConnectionSecretToRef");
    silent.settle();
    assert_eq!(reference(&silent), &json!({ "name": "demo-x7k2p-kubeconfig" }));
}

/// Core reads any Secret of the name. Content that somebody else wrote is no cluster of this composite.
#[test]
fn earlier_content_of_the_secret_is_no_credential() {
    let mut world = World::default().in_namespace();
    world.pass();
    let before = [("kubeconfig", "of an old cluster"), ("kubeAdminPassword", "old")];
    let details = before.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    world.objects.get_mut("credentials").unwrap().details = details;
    world.pass();
    assert_eq!(world.phase(), "Pending");
    assert!(world.objects.contains_key("ec"), "a cluster is asked for");
    assert_eq!(world.condition("ClusterReady").0, "False");
    assert_eq!(world.condition("CredentialsPublished").0, "False");
}

/// Nobody gets a kubeconfig of a cluster of which more is to come, and nobody of one that Failed.
#[test]
fn secret_is_written_only_while_the_cluster_is_ready() {
    let paused = |world: &World| {
        world.objects["credentials"].object["metadata"]["annotations"]["crossplane.io/paused"] == "true"
    };
    let mut world = World::default().in_namespace();
    world.settle();
    let name = world.published_name();
    world.secrets.insert(name.clone(), (KUBECONFIG.into(), PASSWORD.into()));
    world.report_phase("Provisioning", &[]);
    world.remote.as_mut().unwrap()["status"]["secretRef"] = json!(name);
    world.settle();
    assert!(paused(&world) && world.tenant.is_empty(), "{:#?}", world.conditions);
    world.advance_time(SignedDuration::from_hours(5));
    world.settle();
    assert_eq!(world.phase(), "Failed");
    world.hub_ready();
    world.settle();
    assert!(world.tenant.is_empty(), "{:#?}", world.conditions);
}

/// Message of crossplane-runtime where provider-kubernetes must not write into somebody else's Secret.
#[test]
fn foreign_secret_is_reported_until_the_timeout() {
    for words in [
        "refusing to modify uncontrolled secret of type \"Opaque\"",
        "existing secret is not controlled by UID \"1\"",
    ] {
        let mut world = World::default().in_namespace();
        world.settle();
        world.hub_ready();
        world.pass();
        world.reconcile_objects();
        world.pass();
        let refused = |world: &mut World| {
            let credentials = world.objects.get_mut("credentials").unwrap();
            credentials.details = [("kubeconfig".to_owned(), "theirs".to_owned())].into();
            credentials.object["metadata"].as_object_mut().unwrap().remove("finalizers");
            let message = format!("cannot create or update connection secret: {words}");
            set_synced(&mut credentials.object, Some(&message));
            world.pass();
        };
        refused(&mut world);
        assert_eq!(world.condition("CredentialsPublished"), ("False".into(), "SecretTaken".into()));
        assert_eq!(world.condition("ClusterReady"), ("False".into(), "WaitingForCredentials".into()));
        let said = world.conditions["CredentialsPublished"]["message"].as_str().unwrap().to_owned();
        assert!(said.contains("Secret demo-secret") && !said.contains("theirs"), "{said}");
        // It is paid for meanwhile: not for ever.
        world.advance_time(SignedDuration::from_hours(5));
        refused(&mut world);
        assert_eq!(world.phase(), "Failed");
        world.pass();
        assert_eq!(
            world.objects["ec"].object["spec"]["forProvider"]["manifest"]["spec"]["tearDownCluster"],
            true
        );
    }
}

/// The finalizer tells that it was written once, and not whose it is now.
#[test]
fn secret_taken_by_somebody_else_is_reported() {
    let mut world = World::default().in_namespace();
    world.settle();
    world.hub_ready();
    world.settle();
    assert_eq!(world.condition("CredentialsPublished"), ("True".into(), "Published".into()));
    let credentials = world.objects.get_mut("credentials").unwrap();
    assert!(credentials.object["metadata"]["finalizers"].is_array());
    credentials.details = [("kubeconfig".to_owned(), "theirs".to_owned())].into();
    let message = "cannot create or update connection secret: existing secret is not controlled by UID \"1\"";
    set_synced(&mut credentials.object, Some(message));
    world.pass();
    assert_eq!(world.condition("CredentialsPublished"), ("False".into(), "SecretTaken".into()));
    assert_eq!((world.phase().as_str(), world.condition("ClusterReady").0.as_str()), ("Ready", "True"));
}

/// It is the tenant's own: they may delete it, and write what they like into it.
#[test]
fn arbitrary_content_of_the_secret_keeps_the_answer_valid() {
    let mut world = World::default().in_namespace();
    world.settle();
    world.hub_ready();
    world.settle();
    for text in ["Deprovisioning", "ipi-aws", "the hub's object matches the request", ""] {
        let credentials = world.objects.get_mut("credentials").unwrap();
        credentials.details.insert("kubeAdminPassword".into(), text.into());
        let answer = world.pass();
        assert_eq!(world.phase(), "Ready");
        assert!(!String::from_utf8_lossy(&answer.encode_to_vec()).contains(KUBECONFIG));
    }
    world.objects.get_mut("credentials").unwrap().details.clear();
    world.pass();
    assert_eq!(world.condition("CredentialsPublished"), ("False".into(), "SecretMissing".into()));
    assert_eq!(
        world.condition("ClusterReady"),
        ("True".into(), "Ready".into()),
        "the cluster is no less ready"
    );
    assert_eq!(world.status["credentials"]["state"], "Pending");
    world.settle();
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG, "it is written anew");
    assert_eq!(world.condition("CredentialsPublished"), ("True".into(), "Published".into()));
}

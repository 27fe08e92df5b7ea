//! `credentials.mode: ServiceAccount` from the tenant's side, against a model of core, provider-kubernetes and the hub.

use function_model::world::{KUBECONFIG, PASSWORD, World};
use jiff::SignedDuration;
use serde_json::{Value, json};
use testplatform_apis::names::ours;

/// `true` if any value of the hub's Secret has reached this side.
fn is_taken_up(world: &World) -> bool {
    let detailed =
        world.objects.values().any(|object| object.details.values().any(|value| !value.is_empty()));
    let given = world.details.values().chain(world.tenant.values()).any(|value| !value.is_empty());
    detailed || given
}

fn wishing(credentials: Value) -> World {
    let mut world = World::default();
    world.spec["credentials"] = credentials;
    world.settle();
    world.report_phase("Provisioning", &[]);
    world.settle();
    world
}

fn wish(world: &World) -> Value {
    let manifest = &world.objects[world.writer()].object["spec"]["forProvider"]["manifest"];
    manifest["metadata"]["annotations"][ours::CREDENTIALS_WISH].clone()
}

/// The provider says whose credentials it published.
fn says(world: &mut World, mode: &str) {
    let annotations = &mut world.remote.as_mut().unwrap()["metadata"]["annotations"];
    annotations[ours::CREDENTIALS_MODE] = json!(mode);
}

#[test]
fn credentials_without_a_service_account_report_are_never_published() {
    let mut world = wishing(json!({ "mode": "ServiceAccount", "clusterRole": "view" }));
    assert_eq!(wish(&world), r#"{"clusterRole":"view","generation":0,"mode":"ServiceAccount"}"#);
    world.hub_ready();
    world.advance_time(SignedDuration::from_secs(15));
    for mode in ["", "Admin", "serviceaccount"] {
        says(&mut world, mode);
        world.settle();
        assert_eq!(world.condition("ClusterReady"), ("False".into(), "WaitingForCredentials".into()));
        assert_eq!(world.condition("CredentialsPublished"), ("False".into(), "SecretMissing".into()));
        assert!(!is_taken_up(&world), "{mode}: the admin's credentials were taken up");
        assert_eq!(
            world.objects["credentials"].object["metadata"]["annotations"]["crossplane.io/paused"],
            "true"
        );
    }
    says(&mut world, "ServiceAccount");
    world.settle();
    assert_eq!(world.condition("ClusterReady"), ("True".into(), "Ready".into()));
    assert_eq!(world.status["credentials"]["mode"], "ServiceAccount");
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    let said = world.conditions["CredentialsPublished"]["message"].as_str().unwrap();
    assert!(said.contains("ServiceAccount token"), "{said}");
}

/// Such as by a hub on which only the upstream controller runs. Whoever is to change that is a person, and nobody can use the cluster until then.
#[test]
fn cluster_without_publishable_credentials_times_out() {
    let mut world = wishing(json!({ "mode": "ServiceAccount" }));
    world.hub_ready();
    says(&mut world, "Admin");
    world.settle();
    world.advance_time(SignedDuration::from_mins(59));
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    world.advance_time(SignedDuration::from_hours(5));
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(world.remote.as_ref().unwrap()["spec"]["tearDownCluster"], true);
    assert!(!is_taken_up(&world));
}

#[test]
fn default_credentials_are_the_admins() {
    for credentials in [json!(null), json!({}), json!({ "mode": "Admin" })] {
        let mut world = wishing(credentials);
        assert_eq!(wish(&world), Value::Null);
        world.hub_ready();
        world.settle();
        assert_eq!(world.tenant["kubeAdminPassword"], PASSWORD);
        assert_eq!(world.status["credentials"]["mode"], Value::Null);
    }
}

#[test]
fn only_the_generation_follows_the_claim() {
    let mut world = wishing(json!({ "mode": "ServiceAccount", "clusterRole": "view" }));
    let asked = wish(&world);
    world.spec["credentials"]["generation"] = json!(2);
    world.settle();
    assert_eq!(wish(&world), r#"{"clusterRole":"view","generation":2,"mode":"ServiceAccount"}"#);
    assert_eq!(world.condition("RequestAccepted"), ("True".into(), "Accepted".into()));
    for changed in [
        json!(null),
        json!({ "mode": "Admin" }),
        json!({ "mode": "ServiceAccount" }),
        json!({ "mode": "ServiceAccount", "clusterRole": "edit" }),
        json!({ "mode": "Nobody" }),
        json!("Admin"),
    ] {
        world.spec["credentials"] = changed.clone();
        world.settle();
        let now = wish(&world);
        assert!(now.as_str().unwrap().contains(r#""clusterRole":"view""#), "{changed}: {asked} became {now}");
        assert_eq!(world.condition("RequestAccepted"), ("True".into(), "ChangeIgnored".into()), "{changed}");
    }
    // Nor is one that has the admin's given others, as if those were not known any more.
    let mut world = wishing(json!(null));
    world.spec["credentials"] = json!({ "mode": "ServiceAccount" });
    world.settle();
    assert_eq!(wish(&world), Value::Null);
    assert_eq!(world.condition("RequestAccepted"), ("True".into(), "ChangeIgnored".into()));
}

/// The remote object has it as well, and status tells of one. Without it the hub would publish the admin's, and those be taken up.
#[test]
fn a_wish_that_the_writer_lost_is_kept() {
    for mut world in [World::default(), World::hive_claim(), World::hypershift_claim()] {
        let asked = json!({ "mode": "ServiceAccount", "clusterRole": "view" });
        world.spec["credentials"] = asked.clone();
        world.settle();
        let before = wish(&world);
        assert!(before.is_string());
        for (seen, claim, role) in [
            (true, &asked, "view"),
            (true, &json!(null), "view"),
            (false, &asked, "view"),
            (false, &json!(null), "cluster-admin"),
        ] {
            let mut world = world.clone();
            let name = world.writer();
            let writer = &mut world.objects.get_mut(name).unwrap().object;
            let annotations = &mut writer["spec"]["forProvider"]["manifest"]["metadata"]["annotations"];
            annotations.as_object_mut().unwrap().remove(ours::CREDENTIALS_WISH);
            if !seen {
                writer["status"] = json!({});
            }
            world.spec["credentials"] = claim.clone();
            world.pass();
            let kept = wish(&world);
            assert_eq!(kept, before.as_str().unwrap().replace("view", role), "{name}, seen: {seen}, {claim}");
            if name == "ec" {
                world.hub_ready();
                world.settle();
                assert_eq!(world.condition("CredentialsPublished").1, "SecretMissing");
                assert!(!is_taken_up(&world), "the admin's credentials were taken up");
            }
        }
    }
}

#[test]
fn invalid_credentials_request_is_refused_by_path() {
    for (credentials, path) in [
        (json!("ServiceAccount"), "spec.credentials"),
        (json!({ "mode": "Token" }), "spec.credentials.mode"),
        (json!({ "generation": 1 }), "spec.credentials"),
        (json!({ "mode": "ServiceAccount", "clusterRole": "../x" }), "spec.credentials.clusterRole"),
        (json!({ "mode": "ServiceAccount", "generation": 0.5 }), "spec.credentials.generation"),
    ] {
        let mut world = World::default();
        world.spec["credentials"] = credentials.clone();
        world.settle();
        assert_eq!(
            world.condition("RequestAccepted"),
            ("False".into(), "InvalidClaim".into()),
            "{credentials}"
        );
        let said = world.conditions["RequestAccepted"]["message"].as_str().unwrap();
        assert!(said.contains(path), "{credentials}: {said}");
        assert_eq!(world.made, 0);
    }
}

/// The same of a cluster out of a pool, which tells in its report.
#[test]
fn pool_cluster_publishes_service_account_credentials_only() {
    let mut world = World::hive_claim();
    world.spec["credentials"] = json!({ "mode": "ServiceAccount" });
    world.settle();
    assert_eq!(wish(&world), r#"{"clusterRole":"cluster-admin","generation":0,"mode":"ServiceAccount"}"#);
    world.hive_publishes();
    world.settle();
    assert_eq!(world.condition("CredentialsPublished"), ("False".into(), "SecretMissing".into()));
    assert!(!is_taken_up(&world), "the admin's credentials were taken up");
    let name = world.published_name();
    let report = json!({
        "powerState": "Running", "ownership": "Confirmed", "clusterDeployment": { "name": "aws-420-x7k2p" },
        "credentials": { "secretName": name, "passwordAvailable": false, "mode": "ServiceAccount" },
    });
    world.report_status(&report);
    world.settle();
    assert_eq!(world.condition("ClusterReady"), ("True".into(), "Ready".into()));
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
}

/// Whatever the provider said before: one that was replaced by an older one, or by the upstream controller, publishes the admin's again.
#[test]
fn other_credentials_are_not_published_after_the_first() {
    for in_namespace in [false, true] {
        let mut world = World::default();
        if in_namespace {
            world = world.in_namespace();
        }
        world.spec["credentials"] = json!({ "mode": "ServiceAccount" });
        world.settle();
        world.report_phase("Provisioning", &[]);
        world.settle();
        world.hub_ready();
        let name = world.secrets.keys().next().unwrap().clone();
        world.secrets.insert(name.clone(), (KUBECONFIG.into(), String::new()));
        says(&mut world, "ServiceAccount");
        world.settle();
        assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);

        for mode in ["", "Admin"] {
            says(&mut world, mode);
            world.settle();
            world.secrets.insert(name.clone(), ("the admin's".into(), PASSWORD.into()));
            world.advance_time(SignedDuration::from_mins(30));
            world.settle();
            assert_eq!(keeps(&world), (KUBECONFIG, ""), "{mode}: the admin's credentials were taken up");
            let held = &world.objects["credentials"].details;
            assert!(held.values().all(|value| value == KUBECONFIG || value.is_empty()), "{mode}: {held:?}");
            assert_eq!(world.condition("ClusterReady"), ("True".into(), "Ready".into()));
            let said = world.conditions["CredentialsPublished"]["message"].as_str().unwrap();
            assert!(said.contains("it is not being updated: the hub publishes the admin's"), "{said}");
        }
        // A Secret whose report says `Token` again is read again.
        world.secrets.insert(name, (KUBECONFIG.into(), String::new()));
        says(&mut world, "ServiceAccount");
        world.settle();
        assert_eq!(keeps(&world), (KUBECONFIG, ""));
        assert!(world.objects["credentials"].object["spec"]["connectionDetails"].is_array());
        let said = world.conditions["CredentialsPublished"]["message"].as_str().unwrap();
        assert!(!said.contains("not being updated"), "{said}");
    }
}

fn keeps(world: &World) -> (&str, &str) {
    (&world.tenant["kubeconfig"], &world.tenant["kubeAdminPassword"])
}

/// A look that came between the two, when the Secret was the admin's already and was not said to be: nothing of it goes on.
#[test]
fn admin_secret_read_before_its_report_is_not_published() {
    for hive in [false, true] {
        let mut world = if hive { World::hive_claim() } else { World::default() };
        world.spec["credentials"] = json!({ "mode": "ServiceAccount" });
        world.settle();
        if hive {
            world.hive_publishes();
        } else {
            world.report_phase("Provisioning", &[]);
            world.settle();
            world.hub_ready();
        }
        let name = world.secrets.keys().next().unwrap().clone();
        world.secrets.insert(name.clone(), (KUBECONFIG.into(), String::new()));
        let mut report = json!({
            "powerState": "Running", "ownership": "Confirmed", "clusterDeployment": { "name": "aws-420-x7k2p" },
            "credentials": { "secretName": name, "passwordAvailable": false, "mode": "ServiceAccount" },
        });
        if hive {
            world.report_status(&report);
        } else {
            says(&mut world, "ServiceAccount");
        }
        world.settle();
        assert_eq!(keeps(&world), (KUBECONFIG, ""));
        report["credentials"].as_object_mut().unwrap().remove("mode");
        if hive {
            world.report_status(&report);
        } else {
            says(&mut world, "");
        }
        world.settle();
        world.secrets.insert(name, ("the admin's".into(), PASSWORD.into()));
        let details = &mut world.objects.get_mut("credentials").unwrap().details;
        details.insert("kubeconfig".into(), "the admin's".into());
        details.insert("kubeAdminPassword".into(), PASSWORD.into());
        world.settle();
        assert_eq!(keeps(&world), (KUBECONFIG, ""));
    }
}

//! Lives, side by side with those of a claim.

use function_model::world::{KUBECONFIG, NAME, World};
use jiff::SignedDuration;
use serde_json::{Value, json};
use testplatform_apis::names::ours;

/// State for its owner, and requests to the hub, without messages, which name a Secret, and without the remote object's name.
fn seen(world: &World) -> Value {
    let told = |c: &Value| json!([c["type"], c["status"], c["reason"]]);
    let seen = json!({
        "phase": world.phase(),
        "conditions": world.conditions.values().map(told).collect::<Vec<_>>(),
        "credentials": world.status["credentials"]["state"],
        "resources": world.objects.iter().filter(|(name, _)| *name != "ended").map(|(name, c)| json!([
            name, c.object["spec"]["managementPolicies"], annotations(&c.object),
        ])).collect::<Vec<_>>(),
        "asks": world.remote.as_ref().map(|r| json!([r["kind"], r["spec"], r["metadata"]["annotations"]])),
        "tenant": world.tenant.get("kubeconfig").filter(|k| !k.is_empty()),
        "made": world.made,
    });
    let name = world.remote.as_ref().and_then(|r| r["metadata"]["name"].as_str()).unwrap_or(NAME);
    serde_json::from_str(&seen.to_string().replace(name, NAME)).unwrap()
}

/// Those of an Object, but for the external name, which is its name.
fn annotations(object: &Value) -> Value {
    let mut annotations = object["metadata"]["annotations"].clone();
    let external = annotations.as_object_mut().and_then(|all| all.remove("crossplane.io/external-name"));
    assert_eq!(external.as_ref(), Some(&object["metadata"]["name"]));
    annotations
}

/// The same happens to both, and the same comes of it.
fn both(claimed: World, events: &[&dyn Fn(&mut World)]) -> World {
    let (mut claimed, mut namespaced) = (claimed.clone(), claimed.in_namespace());
    for (step, event) in events.iter().enumerate() {
        for world in [&mut claimed, &mut namespaced] {
            event(world);
            world.settle();
        }
        assert_eq!(seen(&namespaced), seen(&claimed), "after event {step}");
    }
    namespaced
}

#[test]
fn the_happy_path_is_that_of_a_claim() {
    let world = both(
        World::default(),
        &[
            &|_| {},
            &|w| w.report_phase("Provisioning", &[]),
            &World::hub_ready,
            &|w| w.spec["tearDownCluster"] = json!(true),
            &|w| w.hub_done("Deprovisioned"),
        ],
    );
    assert_eq!(world.phase(), "Deprovisioned");
    assert!(world.tenant.is_empty(), "the Secret goes with the Object that wrote it");
}

#[test]
fn trouble_is_that_of_a_claim() {
    let ready: [&dyn Fn(&mut World); 2] = [&|_| {}, &World::hub_ready];
    let with =
        |events: &[&dyn Fn(&mut World)]| both(World::default(), &[&ready[..], events].concat()).phase();
    assert_eq!(with(&[&|w| w.remote = None]), "Failed");
    assert_eq!(with(&[&|w| w.remote.as_mut().unwrap()["metadata"]["uid"] = json!("other")]), "Failed");
    assert_eq!(
        with(&[&|w| w.environment = None, &|w| w.environment = Some(json!({ "clusterName": "b" }))]),
        "Ready"
    );
    assert_eq!(with(&[&|w| w.reachable = false, &|w| w.reachable = true]), "Ready");
    assert_eq!(
        with(&[&|w| w.spec["lifetime"] = json!("1h"), &|w| w.advance_time(SignedDuration::from_mins(61))]),
        "Deprovisioning"
    );
    assert_eq!(with(&[&World::drop_status]), "Ready");
    assert_eq!(with(&[&World::fail_pass]), "Ready");
    let refused: [&dyn Fn(&mut World); 2] =
        [&|w| w.refuses = Some("admission webhook denied the request".into()), &|w| {
            w.advance_time(SignedDuration::from_hours(5));
        }];
    assert_eq!(both(World::default(), &refused).phase(), "Failed");
}

#[test]
fn an_end_is_that_of_a_claim() {
    let ready: [&dyn Fn(&mut World); 2] = [&|_| {}, &World::hub_ready];
    let with =
        |events: &[&dyn Fn(&mut World)]| both(World::default(), &[&ready[..], events].concat()).phase();
    assert_eq!(with(&[&|w| w.hub_done("Failed")]), "Failed");
    assert_eq!(with(&[&|w| drop(w.objects.remove("ec"))]), "Ready", "its writer is lost");
    assert_eq!(
        with(&[
            &|w| w.spec["lifetime"] = json!("1h"),
            &|w| w.advance_time(SignedDuration::from_mins(61)),
            &|w| w.hub_done("Deprovisioned"),
        ]),
        "Deprovisioned"
    );
    let early: [&dyn Fn(&mut World); 5] = [
        &|_| {},
        &|w| w.report_phase("Provisioning", &[]),
        &|w| w.spec["tearDownCluster"] = json!(true),
        // There is no way back.
        &|w| w.spec["tearDownCluster"] = json!(false),
        &|w| w.hub_done("Deprovisioned"),
    ];
    assert_eq!(both(World::default(), &early).phase(), "Deprovisioned");
}

/// The hub publishes a token.
fn publish_token(world: &mut World) {
    let name = world.published_name();
    world.secrets.insert(name.clone(), (KUBECONFIG.into(), String::new()));
    world.report_status(&json!({
        "credentials": { "secretName": name, "passwordAvailable": false, "mode": "ServiceAccount" },
    }));
}

#[test]
fn a_cluster_by_template_is_that_of_a_claim() {
    let tear_down = |w: &mut World| w.spec["tearDownCluster"] = json!(true);
    let hosted: [&dyn Fn(&mut World); 7] = [
        &|_| {},
        &World::hypershift_installs,
        &publish_token,
        &|w| w.spec["credentials"]["generation"] = json!(1),
        &|w| drop(w.objects.remove("cluster")),
        &tear_down,
        &World::hive_is_done,
    ];
    let mut asked = World::hypershift_claim();
    asked.spec["credentials"] = json!({ "mode": "ServiceAccount", "clusterRole": "view", "generation": 0 });
    assert_eq!(both(asked, &hosted).phase(), "Deprovisioned");
    let topology: [&dyn Fn(&mut World); 7] = [
        &|_| {},
        &World::complete_prerequisites,
        &World::capi_installs,
        &World::hypershift_publishes,
        &|w| w.annotations = json!({ ours::CLOUD_CREDENTIAL_GENERATION: "1" }),
        &tear_down,
        &World::hive_is_done,
    ];
    let world = both(World::with_prerequisites(), &topology);
    assert_eq!(world.phase(), "Deprovisioned");
    assert!(world.ahead.is_empty(), "{:?}", world.ahead.keys());
}

#[test]
fn a_cluster_of_a_pool_is_that_of_a_claim() {
    let world = both(
        World::hive_claim(),
        &[
            &|_| {},
            &World::hive_assigns,
            &World::hive_publishes,
            &|w| w.spec["tearDownCluster"] = json!(true),
            &World::hive_is_done,
        ],
    );
    assert_eq!(world.phase(), "Deprovisioned");
}

#[test]
fn an_end_is_remembered_through_a_restore() {
    let mut world = World::hive_claim().in_namespace();
    world.settle();
    world.hive_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready", "{:#?}", world.conditions);
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(world.objects.keys().collect::<Vec<_>>(), ["claim"], "the writer remembers it");
    let before = world.condition("ProwJobCompleted");
    world.drop_status();
    world.spec["tearDownCluster"] = json!(false);
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 1));
    assert_eq!(world.condition("ProwJobCompleted"), before);
}

/// A claim's composite has its emptied keys to remember its end by. Here an Object does, where there is no writer.
#[test]
fn early_teardown_stays_completed() {
    let mut world = World::default().in_namespace();
    world.environment = None;
    world.settle();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(world.objects.keys().collect::<Vec<_>>(), ["ended"]);
    assert_eq!(world.objects["ended"].object["metadata"]["annotations"]["crossplane.io/paused"], "true");
    world.environment = Some(json!({ "clusterName": "back" }));
    world.spec["tearDownCluster"] = json!(false);
    world.drop_status();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 0));
}

/// The tenant's Secret is the only remaining witness, and it counts.
#[test]
fn delivered_credentials_keep_a_second_cluster_from_being_made() {
    let mut world = World::default().in_namespace();
    world.settle();
    world.hub_ready();
    world.settle();
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    world.objects.remove("ec");
    world.drop_status();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1), "{:#?}", world.conditions);
}

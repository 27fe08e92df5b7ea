//! Lives of a cluster that goes from one to the other, and what keeps it from going.

use function_model::world::{KUBECONFIG, NAME, World};
use jiff::SignedDuration;
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::names::ours;

use crate::handover::pair::{Pair, Side};

fn accepted(world: &World) -> (String, String) {
    let condition = &world.conditions["RequestAccepted"];
    let text = |field: &str| condition[field].as_str().unwrap().to_owned();
    (text("reason"), text("message"))
}

fn handed() -> Pair {
    let mut pair = Pair::ready();
    pair.settle();
    pair.hand_over();
    pair.settle();
    pair
}

#[test]
fn a_cluster_goes_from_a_claim_to_a_test_cluster() {
    let mut pair = Pair::ready();
    pair.settle();
    assert_eq!(pair.taker.phase(), "Pending");
    assert_eq!(pair.taker.condition("RequestAccepted"), ("False".into(), "TakeOverWaits".into()));
    assert_eq!(pair.taker.status["takeOver"], json!({ "from": NAME, "stage": "Waiting" }));
    let end = pair.giver.status["expiresAt"].clone();
    pair.hand_over();
    pair.settle();
    assert_eq!((pair.giver.phase().as_str(), pair.taker.phase().as_str()), ("Ready", "Ready"));
    assert_eq!(pair.enders(), [Side::Taker]);
    assert_eq!(pair.taker.status["takeOver"], json!({ "from": NAME, "stage": "Taken", "uid": "remote-1" }));
    let to = json!({ "namespace": "tenant-a", "name": NAME, "uid": "taker-0" });
    assert_eq!(pair.giver.status["handedOver"], to);
    assert_eq!(pair.giver.condition("RequestAccepted"), ("True".into(), "HandedOver".into()));
    let told = accepted(&pair.giver).1;
    assert!(told.contains("which ends it; delete this claim"), "{told}");
    // Neither its readiness nor its lifetime begins anew.
    assert_eq!(pair.taker.status["readyAt"], pair.giver.status["readyAt"]);
    assert_eq!((&pair.taker.status["expiresAt"], &pair.giver.status["expiresAt"]), (&end, &json!(null)));
    assert_eq!(
        (&pair.giver.tenant["kubeconfig"], &pair.taker.tenant["kubeconfig"]),
        (&KUBECONFIG.into(), &KUBECONFIG.into())
    );

    pair.delete(Side::Giver);
    pair.settle();
    assert_eq!(pair.taker.phase(), "Ready");
    assert!(pair.remote().is_some() && pair.made() == 1);
    pair.taker.spec["tearDownCluster"] = json!(true);
    pair.settle();
    assert_eq!(pair.remote().unwrap()["spec"]["tearDownCluster"], true);
    pair.with(Side::Taker, |w| w.hub_done("Deprovisioned"));
    pair.settle();
    assert_eq!(pair.taker.phase(), "Deprovisioned");
    assert!(pair.taker.tenant.is_empty());
}

/// The tenant has had the kubeconfig since the claim was given it, which may be long after the hub had it.
#[rstest]
#[case::of_a_claim_that_stays(false)]
#[case::of_a_claim_that_goes(true)]
fn a_lifetime_counts_from_when_the_claim_had_its_kubeconfig(#[case] goes: bool) {
    let mut pair = Pair::ready();
    let delivered = pair.giver.now + SignedDuration::from_hours(2);
    pair.giver.status["readyAt"] = json!(delivered);
    for side in [Side::Giver, Side::Taker] {
        pair.of(side).advance_time(SignedDuration::from_hours(2));
    }
    pair.settle();
    pair.hand_over();
    if goes {
        while !pair.enders().is_empty() {
            pair.sees(Side::Giver);
            pair.pass(Side::Giver);
            pair.provider(Side::Giver);
            pair.sees(Side::Taker);
            pair.pass(Side::Taker);
            pair.provider(Side::Taker);
        }
        pair.delete(Side::Giver);
    }
    pair.settle();
    assert_eq!(pair.taker.phase(), "Ready", "{}", pair.taker.status);
    assert_eq!(pair.taker.status["readyAt"], json!(delivered));
    assert_eq!(pair.taker.status["expiresAt"], json!(delivered + SignedDuration::from_hours(3)));
}

/// However short the rest of it is.
#[test]
fn delivery_does_not_end_the_lifetime() {
    let mut pair = Pair::ready();
    pair.settle();
    pair.hand_over();
    let mut phases = vec![];
    for _ in 0..30 {
        for side in [Side::Giver, Side::Taker] {
            pair.sees(side);
            pair.pass(side);
            if side == Side::Taker {
                let taken = pair.taker.status["takeOver"]["stage"] == "Taken";
                if taken && pair.taker.phase() != "Ready" && phases.last() != Some(&"Ready".to_owned()) {
                    pair.taker.advance_time(SignedDuration::from_hours(4));
                }
                phases.push(pair.taker.phase());
            }
            pair.provider(side);
        }
    }
    phases.dedup();
    assert!(phases.ends_with(&["Ready".into(), "Deprovisioning".into()]), "{phases:?}");
    assert_eq!(pair.taker.tenant["kubeconfig"], KUBECONFIG);
}

/// The limit at birth holds, whatever the default of the new owner is.
#[rstest]
#[case::none(None, Some("1h"))]
#[case::longer(Some("8h"), Some("1h"))]
#[case::where_there_is_none(Some("8h"), None)]
fn current_defaults_do_not_shorten_a_taken_cluster(#[case] born: Option<&str>, #[case] today: Option<&str>) {
    let mut pair = Pair::silent(born, today);
    pair.settle();
    let end = pair.giver.status["expiresAt"].clone();
    assert_eq!(end.is_null(), born.is_none(), "{}", pair.giver.status);
    for side in [Side::Giver, Side::Taker] {
        pair.of(side).advance_time(SignedDuration::from_hours(2));
    }
    pair.settle();
    pair.hand_over();
    pair.settle();
    pair.settle();
    assert_eq!(pair.taker.phase(), "Ready", "{}", pair.taker.status);
    assert_eq!(pair.taker.status["expiresAt"], end);
    let remote = pair.remote().unwrap();
    assert_ne!(remote["spec"]["tearDownCluster"], true);
    assert_eq!(remote["metadata"]["annotations"].get(ours::LIFETIME).is_some(), born.is_some(), "{remote}");
}

#[test]
fn the_end_of_the_cluster_is_the_end_of_both() {
    let mut pair = handed();
    pair.delete(Side::Taker);
    pair.settle();
    assert!(pair.remote().is_none(), "its owner ends it");
    assert_eq!(pair.giver.phase(), "Deprovisioned");
    assert_eq!(pair.giver.condition("ProwJobCompleted").0, "True");
}

#[test]
fn released_claim_neither_tears_down_nor_expires() {
    let mut pair = handed();
    pair.giver.spec["tearDownCluster"] = json!(true);
    pair.settle();
    assert_eq!(pair.giver.phase(), "Ready");
    assert_ne!(pair.remote().unwrap()["spec"]["tearDownCluster"], true);
    pair.giver.spec["lifetime"] = json!("1h");
    pair.giver.advance_time(SignedDuration::from_mins(55));
    pair.settle();
    assert_eq!(pair.giver.condition("ClusterReady"), ("True".into(), "Ready".into()));
    pair.giver.advance_time(SignedDuration::from_hours(1));
    pair.settle();
    assert_eq!((pair.giver.phase().as_str(), pair.taker.phase().as_str()), ("Ready", "Ready"));
    // A claim that looks overdue while nobody tears it down would raise an alert.
    assert_eq!(pair.giver.status["expiresAt"], json!(null));
    // The one that it went to has the lifetime from the same moment on.
    pair.taker.advance_time(SignedDuration::from_hours(4));
    pair.settle();
    assert_eq!(pair.taker.phase(), "Deprovisioning");
    assert_eq!(pair.remote().unwrap()["spec"]["tearDownCluster"], true);
}

#[test]
fn transfer_without_taker_is_taken_back() {
    let mut pair = Pair::ready();
    pair.settle();
    pair.hand_over();
    // It lets go, and before that is seen the TestCluster is deleted.
    while pair.giver.management_policies() != json!(["Observe"]) {
        for side in [Side::Taker, Side::Giver] {
            pair.sees(side);
            pair.pass(side);
            pair.provider(side);
        }
    }
    assert_eq!(pair.enders(), []);
    pair.delete(Side::Taker);
    pair.settle();
    assert_eq!(pair.enders(), [Side::Giver]);
    assert!(pair.giver.status["handedOver"].is_null() && pair.remote().is_some());
    pair.giver.spec["tearDownCluster"] = json!(true);
    pair.settle();
    assert_eq!(pair.remote().unwrap()["spec"]["tearDownCluster"], true);
}

#[test]
fn claim_deleted_before_the_transfer_leaves_the_cluster_to_its_taker() {
    let mut pair = Pair::ready();
    pair.settle();
    pair.hand_over();
    while pair.giver.management_policies() != json!(["Observe"]) {
        for side in [Side::Taker, Side::Giver] {
            pair.sees(side);
            pair.pass(side);
            pair.provider(side);
        }
    }
    pair.delete(Side::Giver);
    pair.settle();
    assert_eq!((pair.enders(), pair.taker.phase().as_str()), (vec![Side::Taker], "Ready"));
}

/// Nothing of what a tenant can write makes a cluster theirs that is not, and they are not told whether there is one.
#[rstest]
#[case::another_tenants("/spec/claimRef/namespace", json!("tenant-b"))]
#[case::handed_to_nobody("/metadata/annotations", json!({}))]
#[case::handed_to_another("/metadata/annotations", json!({ ours::HAND_OVER: "tenant-a/other/taker-0" }))]
#[case::handed_to_an_earlier_one("/metadata/annotations", json!({ ours::HAND_OVER: format!("tenant-a/{NAME}/taker-9") }))]
#[case::an_administrators("/spec/claimRef", Value::Null)]
fn cluster_is_taken_only_by_its_target(#[case] at: &str, #[case] value: Value) {
    let mut pair = Pair::ready();
    pair.hand_over();
    let mut giver = pair.giver.composite();
    *giver.pointer_mut(at).unwrap() = value;
    giver["status"]["handedOver"] = json!({ "namespace": "tenant-a", "name": NAME, "uid": "taker-0" });
    let mut told = Vec::new();
    for seen in [vec![giver], vec![]] {
        let mut taker = pair.taker.clone();
        taker.other_side = Some(seen);
        for _ in 0..4 {
            taker.pass();
            taker.reconcile_objects();
        }
        assert!(!taker.objects.contains_key("ec"), "it watches or writes: {taker:#?}");
        told.push(accepted(&taker));
    }
    assert_eq!(told[0], told[1]);
}

#[rstest]
#[case::unreadable(&|p: &mut Pair| p.giver.annotations = json!({ ours::HAND_OVER: "demo" }), "namespace/name/uid")]
#[case::elsewhere(&|p: &mut Pair| p.giver.annotations = json!({ ours::HAND_OVER: format!("tenant-b/{NAME}/taker-0") }), "claim's namespace")]
#[case::another_uid(&|p: &mut Pair| p.giver.annotations = json!({ ours::HAND_OVER: format!("tenant-a/{NAME}/taker-9") }), "no TestCluster of that name and uid")]
#[case::one_flavour(&|p: &mut Pair| p.giver.input["bothFlavours"] = json!(false), "bothFlavours")]
#[case::ends(&|p: &mut Pair| p.giver.spec["tearDownCluster"] = json!(true), "must be Ready")]
#[case::another_spec(&|p: &mut Pair| p.taker.spec["ciOperator"]["test"]["workflow"] = json!("ipi-gcp"), "does not see the cluster yet")]
#[case::other_credentials(&|p: &mut Pair| p.taker.spec["credentials"] = json!({ "mode": "ServiceAccount" }), "does not see the cluster yet")]
#[case::not_asked(&|p: &mut Pair| p.taker.annotations = json!({ ours::TAKE_OVER: "other-x7k2p" }), "not created to take over")]
#[case::outlived(&|p: &mut Pair| {
    p.taker.spec["lifetime"] = json!("1h");
    p.giver.advance_time(SignedDuration::from_hours(2));
}, "has a lifetime that is over by now")]
#[case::over(&|p: &mut Pair| p.taker.spec["tearDownCluster"] = json!(true), "TestCluster has ended")]
fn a_cluster_is_not_let_go_while_something_is_missing(
    #[case] change: &dyn Fn(&mut Pair),
    #[case] words: &str,
) {
    let mut pair = Pair::ready();
    pair.hand_over();
    change(&mut pair);
    pair.settle();
    let (reason, message) = accepted(&pair.giver);
    assert!(reason == "HandOverWaits" && message.contains(words), "{reason}: {message}");
    assert_eq!(pair.enders(), [Side::Giver]);
}

#[test]
fn clusters_of_other_blocks_are_not_handed_over() {
    let mut world = World::hive_claim();
    world.settle();
    world.annotations = json!({ ours::HAND_OVER: format!("tenant-a/{NAME}/taker-0") });
    world.settle();
    let (reason, message) = accepted(&world);
    assert!(reason == "HandOverWaits" && message.contains("clusterClaim"), "{reason}: {message}");
}

/// Each waits for what the other notes, and nobody tells core of that.
#[test]
fn transfer_is_reconciled_every_ten_seconds() {
    let mut pair = Pair::ready();
    for side in [Side::Giver, Side::Taker] {
        pair.of(side).input["ttl"] = json!("1h");
    }
    let ttl = |pair: &mut Pair, side| {
        let mut seconds = 0;
        pair.with(side, |world| seconds = world.pass().meta.unwrap().ttl.unwrap().seconds);
        seconds
    };
    assert!(ttl(&mut pair, Side::Giver) > 60, "nobody asked it yet");
    pair.settle();
    pair.hand_over();
    pair.sees(Side::Giver);
    assert_eq!([Side::Giver, Side::Taker].map(|side| ttl(&mut pair, side)), [10, 10]);
    pair.settle();
    assert!([Side::Giver, Side::Taker].into_iter().all(|side| ttl(&mut pair, side) > 60));
}

#[test]
fn taker_never_creates_a_cluster() {
    let mut pair = Pair::ready();
    pair.settle();
    // Not even when nothing is left of why it was made but what it remembers.
    pair.taker.annotations = json!({});
    pair.taker.drop_status();
    pair.settle();
    pair.taker.advance_time(SignedDuration::from_hours(5));
    pair.settle();
    assert_eq!((pair.made(), pair.taker.phase().as_str()), (1, "Failed"));
    assert_eq!(pair.taker.condition("ProwJobCompleted"), ("True".into(), "NothingToTearDown".into()));
}

#[test]
fn late_transfer_annotation_is_ignored() {
    let mut world = World::default().in_namespace();
    world.settle();
    world.annotations = json!({ ours::TAKE_OVER: NAME });
    world.settle();
    assert_eq!(world.condition("RequestAccepted"), ("True".into(), "ChangeIgnored".into()));
    assert!(world.status["takeOver"].is_null());
}

#[test]
fn taken_cluster_stays_taken_through_a_restore() {
    let mut pair = handed();
    for side in [Side::Giver, Side::Taker] {
        pair.of(side).drop_status();
    }
    pair.restore();
    pair.settle();
    assert_eq!((pair.enders(), pair.taker.phase().as_str()), (vec![Side::Taker], "Ready"));
    pair.delete(Side::Giver);
    pair.settle();
    assert!(pair.remote().is_some());
}

/// Status tells it, or what the TestCluster says. Otherwise the end of this claim would be that of the other's cluster.
#[rstest]
#[case::objects(&|w: &mut World| w.objects.clear())]
#[case::notes(&forget)]
#[case::notes_and_status(&|w: &mut World| { forget(w); w.drop_status(); })]
fn giver_stays_released_after_lost_records(#[case] lose: &dyn Fn(&mut World)) {
    let mut pair = handed();
    lose(&mut pair.giver);
    pair.settle();
    assert_eq!(pair.enders(), [Side::Taker]);
    assert_eq!(pair.giver.condition("RequestAccepted"), ("True".into(), "HandedOver".into()));
    let noted = &pair.giver.objects["credentials"].object["metadata"]["annotations"][ours::HANDED_OVER];
    assert_eq!(noted, &format!("tenant-a/{NAME}/taker-0/taken"));
    pair.delete(Side::Giver);
    pair.settle();
    assert!(pair.remote().is_some() && pair.taker.phase() == "Ready");
}

fn forget(world: &mut World) {
    for composed in world.objects.values_mut() {
        composed.object["metadata"]["annotations"].as_object_mut().unwrap().remove(ours::HANDED_OVER);
    }
}

/// It has the name that the claim's composite gave it. Under another one nothing would be found, and the cluster run on with nobody told.
#[test]
fn taken_cluster_is_found_by_its_name() {
    for alive in [false, true] {
        let mut pair = Pair::ready();
        pair.with(Side::Giver, |w| {
            w.place = None;
            let ec = &mut w.objects.get_mut("ec").unwrap().object;
            ec["spec"]["forProvider"]["manifest"]["metadata"]["name"] = json!("of-the-claim");
            w.remote.as_mut().unwrap()["metadata"]["name"] = json!("of-the-claim");
        });
        pair.hand_over();
        pair.settle();
        if !alive {
            pair.delete(Side::Giver);
        }
        pair.taker.objects.clear();
        pair.taker.place = None;
        pair.pass(Side::Taker);
        let ec = &pair.taker.objects["ec"].object["spec"];
        let sought = &ec["forProvider"]["manifest"]["metadata"];
        assert_eq!(
            (&sought["name"], &sought["uid"]),
            (&json!("of-the-claim"), &json!("remote-1")),
            "{alive}"
        );
        assert_eq!(ec["managementPolicies"], json!(["Observe", "Delete"]), "it looks, and can make nothing");
        pair.settle();
        assert_eq!((pair.enders(), pair.taker.phase().as_str()), (vec![Side::Taker], "Ready"));
        assert_eq!(pair.taker.status["takeOver"]["stage"], "Taken");
    }
}

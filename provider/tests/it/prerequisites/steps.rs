//! Single decisions.

use std::time::Duration;

use provider_testplatform::controllers::prerequisites::{
    plan::{ClusterPresence, GIVE_UP, GRACE, KEEP, POLL, PrerequisitePlan, PrerequisiteRelease, SLOW, plan},
    request::PrerequisiteRequest,
};
use serde_json::{Value, json};
use testplatform_apis::{bundle::BundleProgress, prerequisites as marks};

use crate::prerequisites::model::{Hub, Meddle, TIMEOUT, is_ours, names, order};

fn hub() -> Hub {
    Hub::new(&order())
}

async fn applied() -> Hub {
    let mut hub = hub();
    hub.all_ready();
    hub.run(10).await;
    assert_eq!(hub.report().state, Some(BundleProgress::Applied));
    hub
}

fn words(hub: &Hub) -> (Option<BundleProgress>, [Option<String>; 3]) {
    let report = hub.report();
    (report.state, [report.bundle, report.object, report.reason])
}

fn said(state: BundleProgress, parts: [&str; 3]) -> (Option<BundleProgress>, [Option<String>; 3]) {
    (Some(state), parts.map(|part| Some(part.to_owned())))
}

fn verbs(hub: &Hub) -> Vec<(&'static str, &str)> {
    hub.calls.iter().map(|call| (call.verb, &*call.name)).collect()
}

#[tokio::test]
async fn prerequisites_run_one_after_another() {
    let mut hub = hub();
    hub.pass(None, None).await;
    let first = hub.report();
    assert_eq!(
        (first.state, first.bundle.as_deref()),
        (Some(BundleProgress::Running), Some("prerequisites/b0"))
    );
    assert!(hub.read().unwrap().holds && hub.calls.is_empty(), "the finalizer comes before anything");
    hub.pass(None, None).await;
    assert_eq!(verbs(&hub), [("create", "kept-0-a"), ("create", "kept-0-b")]);
    assert_eq!(
        words(&hub),
        said(BundleProgress::Running, ["prerequisites/b0", "Thing kept-0-b", "NotReady"])
    );
    hub.tick(5);
    hub.ready.extend(["kept-0-b".to_owned(), "kept-1-b".to_owned()]);
    hub.run(20).await;
    assert_eq!(words(&hub), said(BundleProgress::Running, ["preCreate/b0", "Thing once-0-b", "NotReady"]));
    assert!(hub.report().since > first.since, "its time begins with it");
    hub.all_ready();
    hub.run(20).await;
    assert_eq!((hub.report().state, hub.report().reason), (Some(BundleProgress::Applied), None));
    assert!(hub.objects().values().all(is_ours) && hub.objects().len() == names().len());
}

#[tokio::test]
async fn late_prerequisite_fails_and_may_become_ready() {
    let mut hub = hub();
    hub.meddle(&Meddle::Make("kept-0-b".into()));
    hub.run(TIMEOUT - 20).await;
    assert_eq!(
        words(&hub),
        said(BundleProgress::Running, ["prerequisites/b0", "Thing kept-0-b", "NameTaken"])
    );
    hub.run(30).await;
    assert_eq!(
        words(&hub),
        said(BundleProgress::SetupFailed, ["prerequisites/b0", "Thing kept-0-b", "NameTaken"])
    );
    assert!(hub.report().message.unwrap().contains("this request did not create"));
    assert!(!is_ours(&hub.objects()["kept-0-b"]));
    hub.meddle(&Meddle::Vanish("kept-0-b".into()));
    hub.all_ready();
    hub.run(100).await;
    assert_eq!(hub.report().state, Some(BundleProgress::Applied));
}

#[tokio::test]
async fn completed_prerequisites_stay() {
    let mut hub = applied().await;
    let told = hub.report();
    for name in ["kept-1-a", "once-0-a"] {
        hub.meddle(&Meddle::Vanish(name.into()));
    }
    assert_eq!(hub.pass(None, None).await, Some(KEEP));
    let kept = [("apply", "kept-0-a"), ("apply", "kept-0-b"), ("create", "kept-1-a"), ("apply", "kept-1-b")];
    assert_eq!(verbs(&hub), kept);
    hub.refused.insert("kept-0-a".into());
    assert_eq!(hub.pass(None, None).await, Some(KEEP));
    hub.served = false;
    assert_eq!(hub.pass(None, None).await, Some(SLOW));
    assert_eq!(hub.report(), told);
    // Whoever takes the report away begins anew, and with everything.
    hub.served = true;
    hub.forget_report();
    hub.all_ready();
    hub.run(10).await;
    assert!(hub.objects().contains_key("once-0-a") && hub.report().state == Some(BundleProgress::Applied));
}

#[tokio::test]
async fn impossible_prerequisite_is_reported_before_any_write() {
    let bad = |pointer: &str, value: Value| {
        let mut order = order();
        let object = order.pointer_mut("/preCreate/1/manifests/1").unwrap();
        *object.pointer_mut(pointer).unwrap() = value;
        order
    };
    let mut elsewhere = order();
    elsewhere["preCreate"][1]["manifests"][1]["object"]["metadata"]["namespace"] = "another".into();
    for (order, object, reason) in [
        (bad("/ready", "object.".into()), "Thing once-1-b", "InvalidExpression"),
        (bad("/object/kind", "Secret".into()), "Secret once-1-b", "KindNotAllowed"),
        (bad("/object/apiVersion", Value::Null), "Thing once-1-b", "InvalidManifest"),
        (elsewhere, "Thing another/once-1-b", "InvalidManifest"),
    ] {
        let mut hub = Hub::new(&order);
        assert_eq!(hub.pass(None, None).await, Some(SLOW));
        hub.run(2000).await;
        assert_eq!(words(&hub), said(BundleProgress::SetupFailed, ["preCreate/b1", object, reason]));
        assert!(hub.objects().is_empty() && !hub.read().unwrap().holds);
        hub.delete();
        assert!(hub.map.is_none(), "nothing holds it");
    }
}

#[tokio::test]
async fn unreadable_and_ownerless_requests_are_reported() {
    let mut hub = Hub::new(&Value::from("{"));
    assert_eq!(hub.pass(None, None).await, Some(SLOW));
    assert_eq!(
        (hub.report().state, hub.report().reason.as_deref()),
        (Some(BundleProgress::SetupFailed), Some("InvalidOrder"))
    );
    let mut hub = self::hub();
    hub.served = false;
    hub.run(1000).await;
    assert_eq!(hub.report().reason.as_deref(), Some("UnknownCluster"));
    assert!(!hub.read().unwrap().holds && hub.objects().is_empty());
    hub.served = true;
    hub.all_ready();
    hub.run(10).await;
    assert_eq!(hub.report().state, Some(BundleProgress::Applied), "once it is served it is begun");
}

#[tokio::test]
async fn empty_request_is_applied_at_once_and_blocks_nothing() {
    let cluster = order()["cluster"].take();
    let mut hub = Hub::new(&json!({ "cluster": cluster }));
    hub.run(1000).await;
    assert_eq!(hub.report().state, Some(BundleProgress::Applied));
    assert!(!hub.read().unwrap().holds);
}

#[tokio::test]
async fn prerequisites_are_deleted_after_the_cluster_in_reverse() {
    let mut hub = applied().await;
    hub.cluster = true;
    hub.delete();
    let deleted = hub.now;
    assert_eq!(hub.pass(None, None).await, Some(POLL));
    hub.run(100_000).await;
    assert_eq!(hub.objects().len(), names().len(), "the cluster may need it");
    hub.cluster = false;
    hub.pass(None, None).await;
    assert_eq!(
        (hub.read().unwrap().removing, hub.calls.len()),
        (Some(hub.now), 0),
        "it is written down since when"
    );
    hub.pass(None, None).await;
    let last_first: Vec<String> = names().into_iter().rev().collect();
    assert_eq!(verbs(&hub), last_first.iter().map(|name| ("delete", &**name)).collect::<Vec<_>>());
    assert_eq!((hub.released.clone(), hub.map.is_none()), (Some((hub.now, PrerequisiteRelease::Done)), true));
    assert!(hub.now > deleted + GRACE);
}

#[tokio::test]
async fn a_cluster_may_be_on_its_way_for_a_while() {
    let mut hub = applied().await;
    hub.delete();
    assert_eq!(hub.pass(None, None).await, Some(Duration::from_secs(30)));
    hub.tick(29);
    assert_eq!(hub.pass(None, None).await, Some(Duration::from_secs(1)));
    hub.cluster = true;
    hub.run(1000).await;
    assert_eq!(hub.objects().len(), names().len());
}

#[tokio::test]
async fn stuck_object_blocks_for_a_bounded_time() {
    let mut hub = applied().await;
    hub.delete();
    hub.stuck.insert("once-0-a".into());
    hub.tick(31);
    let gone = hub.now;
    hub.run(GIVE_UP.as_secs() - 20).await;
    assert!(
        hub.map.is_some()
            && hub.objects().contains_key("kept-1-a")
            && !hub.objects().contains_key("once-1-a")
    );
    hub.run(60).await;
    let (at, PrerequisiteRelease::GivenUp(why)) = hub.released.clone().unwrap() else {
        panic!("it is there")
    };
    assert!(why.contains("Thing once-0-a: it still exists"), "{why}");
    assert!(at >= gone + GIVE_UP && hub.map.is_none());
}

#[tokio::test]
async fn returning_cluster_restarts_the_grace_period() {
    let mut hub = applied().await;
    hub.delete();
    hub.stuck.insert("once-1-b".into());
    hub.tick(31);
    hub.run(60).await;
    assert!(hub.read().unwrap().removing.is_some());
    hub.cluster = true;
    hub.run(2000).await;
    assert!(hub.map.is_some() && hub.read().unwrap().removing.is_none());
    hub.cluster = false;
    hub.run(60).await;
    assert!(hub.map.is_some() && hub.objects().contains_key("once-1-b"), "it is given up too early");
    hub.unstick();
    hub.run(60).await;
    assert_eq!(hub.released.map(|(_, how)| how), Some(PrerequisiteRelease::Done));
}

#[tokio::test]
async fn unreadable_cluster_does_not_count_as_gone() {
    let mut hub = applied().await;
    hub.delete();
    hub.served = false;
    hub.run(10_000).await;
    assert_eq!((hub.map.is_some(), hub.objects().len()), (true, names().len()));
    let map = hub.read().unwrap();
    assert_eq!(plan(&map, ClusterPresence::Unasked, None, hub.now), PrerequisitePlan::Later(POLL));
}

#[tokio::test]
async fn damaged_request_is_released_after_its_cluster() {
    let mut hub = applied().await;
    hub.map.as_mut().unwrap().data.as_mut().unwrap().insert(marks::ORDER.into(), "{".into());
    assert_eq!(hub.pass(None, None).await, Some(SLOW));
    assert_eq!(hub.report().state, Some(BundleProgress::Applied), "the cluster was asked for");
    hub.cluster = true;
    hub.delete();
    hub.run(1000).await;
    assert!(hub.map.is_some());
    hub.cluster = false;
    hub.run(60).await;
    assert!(matches!(hub.released, Some((_, PrerequisiteRelease::GivenUp(_)))) && hub.map.is_none());
}

#[tokio::test]
async fn report_of_a_config_map_round_trips() {
    let mut hub = applied().await;
    hub.delete();
    hub.tick(31);
    hub.stuck.insert("once-1-b".into());
    hub.run(5).await;
    let map: PrerequisiteRequest = hub.read().unwrap();
    assert_eq!((&*map.owner.namespace, &*map.owner.name), ("clusters", "one-prerequisites"));
    assert!(map.holds && map.order.is_ok() && map.deleted.is_some() && map.removing.is_some());
}

/// The API server's clock is ahead of ours, by how much nobody knows.
#[tokio::test]
async fn a_clock_that_is_behind_holds_up_nothing() {
    let mut hub = applied().await;
    hub.delete();
    hub.tick(-3600);
    let from = hub.now;
    hub.run(120).await;
    let (at, how) = hub.released.clone().unwrap();
    assert_eq!((how, hub.map.is_none()), (PrerequisiteRelease::Done, true));
    assert!(at.duration_since(from) <= GRACE + POLL.try_into().unwrap(), "{at}");
}

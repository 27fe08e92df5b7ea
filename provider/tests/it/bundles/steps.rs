//! Single decisions.

use jiff::SignedDuration;
use provider_testplatform::{
    controllers::bundles::plan::{BundlePhase, BundleRelease},
    manifests::wait::MAX_TIMEOUT,
};
use serde_json::{Value, json};
use testplatform_apis::bundle::{self, BundleProgress};

use crate::bundles::model::{AFTER, BEFORE, Hub, TIMEOUT, name, order};

fn hub() -> Hub {
    Hub::new(&order(AFTER, BEFORE))
}

fn words(hub: &Hub) -> [Option<String>; 3] {
    let report = hub.report();
    [report.bundle, report.object, report.reason]
}

fn said(parts: [&str; 3]) -> [Option<String>; 3] {
    parts.map(|part| Some(part.to_owned()))
}

#[tokio::test]
async fn bundles_wait_for_published_credentials() {
    let mut hub = hub();
    hub.run(1000).await;
    assert_eq!((hub.state(), hub.look.len()), (None, 0));
    assert!(hub.map.as_ref().unwrap().metadata.finalizers.is_none());
    hub.published = Some("another".into());
    hub.run(1000).await;
    assert_eq!((hub.state(), hub.look.len()), (None, 0));
}

#[tokio::test]
async fn bundles_run_one_after_another() {
    let mut hub = hub();
    hub.publish();
    hub.pass(None).await;
    let first = hub.report();
    assert_eq!(
        (first.state, first.bundle.as_deref()),
        (Some(BundleProgress::Running), Some("postInstall/b0"))
    );
    assert_eq!(hub.read().unwrap().cluster.as_deref(), Some("uid-0"));
    assert!(hub.read().unwrap().has_finalizer && hub.look.is_empty(), "the finalizer comes before anything");
    hub.run(10).await;
    assert_eq!(words(&hub), said(["postInstall/b0", "Second ns/after-0", "NotReady"]));
    assert!(hub.look.iter().all(|call| call.name == "after-0"));
    hub.ready.insert(name(BundlePhase::PostInstall, 0));
    hub.run(30).await;
    assert_eq!(words(&hub), said(["postInstall/b1", "Second ns/after-1", "NotReady"]));
    assert!(hub.report().since > first.since, "its time begins with it");
    hub.all_ready();
    hub.run(60).await;
    let done = hub.report();
    assert_eq!((done.state, done.bundle, done.reason), (Some(BundleProgress::Applied), None, None));
    hub.ready.clear();
    hub.run(1000).await;
    assert_eq!(
        (hub.state(), hub.look.len()),
        (Some(BundleProgress::Applied), 0),
        "it is not looked at any more"
    );
}

#[tokio::test]
async fn request_without_bundles_is_applied_at_once() {
    let mut hub = Hub::new(&order(0, 1));
    hub.publish();
    hub.pass(None).await;
    assert_eq!(hub.state(), Some(BundleProgress::Applied));
    assert!(hub.read().unwrap().has_finalizer);
    let mut hub = Hub::new(&order(1, 0));
    hub.publish();
    hub.pass(None).await;
    assert!(!hub.read().unwrap().has_finalizer, "there is nothing before the deletion");
}

#[tokio::test]
async fn late_bundle_has_failed_until_ready() {
    let mut hub = hub();
    hub.publish();
    hub.refused.insert(name(BundlePhase::PostInstall, 0));
    hub.run(TIMEOUT - 2).await;
    assert_eq!(hub.state(), Some(BundleProgress::Running));
    hub.run(4).await;
    let failed = hub.report();
    assert_eq!(failed.state, Some(BundleProgress::SetupFailed));
    assert_eq!(words(&hub), said(["postInstall/b0", "First ns/after-0", "Forbidden"]));
    assert_eq!(failed.message.as_deref(), Some("no, by token=[…]"), "what it answers is its owner's text");
    // Growing distances.
    let mut looks = 0;
    let end = hub.now + SignedDuration::from_hours(10);
    while hub.now < end {
        let after = hub.pass(None).await.unwrap();
        looks += 1;
        hub.now += SignedDuration::try_from(after).unwrap();
    }
    assert!((50..120).contains(&looks), "{looks}");
    hub.all_ready();
    hub.run(700).await;
    assert_eq!(hub.state(), Some(BundleProgress::Applied));
}

#[tokio::test]
async fn silent_cluster_times_out() {
    let mut hub = hub();
    hub.publish();
    hub.up = false;
    hub.run(TIMEOUT + 3).await;
    assert_eq!(hub.state(), Some(BundleProgress::SetupFailed));
    assert_eq!(words(&hub), said(["postInstall/b0", "First ns/after-0", "Unreachable"]));
    hub.published = None;
    hub.run(700).await;
    assert_eq!(hub.report().reason.as_deref(), Some("NotPublished"));
}

#[tokio::test]
async fn invalid_expression_is_reported_at_once() {
    for (path, is) in [("postInstall", "postInstall/b1"), ("preDelete", "preDelete/b1")] {
        let mut bad = order(AFTER, BEFORE);
        bad[path][1]["manifests"][1]["ready"] = "object.".into();
        let mut hub = Hub::new(&bad);
        hub.publish();
        hub.run(10).await;
        assert_eq!(hub.state(), Some(BundleProgress::SetupFailed));
        assert_eq!(hub.report().bundle.as_deref(), Some(is));
        assert_eq!(hub.report().reason.as_deref(), Some("InvalidExpression"));
        assert!(hub.look.is_empty(), "nothing is applied by it");
        assert!(hub.read().unwrap().has_finalizer, "but before it goes there may be something to do");
    }
    let mut bad = order(1, 0);
    bad["postInstall"][0]["manifests"][1]["ready"] = "object.metadata.name".into();
    let mut hub = Hub::new(&bad);
    hub.publish();
    hub.run(3).await;
    assert_eq!(hub.state(), Some(BundleProgress::SetupFailed));
    assert_eq!(hub.report().reason.as_deref(), Some("InvalidExpression"));
}

#[tokio::test]
async fn unreadable_request_is_reported_and_blocks_nothing() {
    let mut hub = Hub::new(&json!({ "cluster": "one" }));
    hub.publish();
    hub.run(10).await;
    assert_eq!(hub.state(), Some(BundleProgress::SetupFailed));
    assert_eq!(hub.report().reason.as_deref(), Some("InvalidOrder"));
    hub.map.as_mut().unwrap().metadata.finalizers = Some(vec![bundle::FINALIZER.into()]);
    hub.delete();
    hub.pass(None).await;
    assert!(hub.map.is_none());
}

#[tokio::test]
async fn namesake_cluster_is_left_alone() {
    let mut hub = hub();
    hub.publish();
    hub.run(10).await;
    hub.replace();
    hub.publish();
    hub.run(300).await;
    assert_eq!(hub.report().reason.as_deref(), Some("ClusterReplaced"));
    assert!(hub.look.is_empty());
    hub.delete();
    hub.pass(None).await;
    assert_eq!(hub.released.unwrap().1, BundleRelease::NotNeeded);
}

#[tokio::test]
async fn request_without_a_report_starts_over() {
    let mut hub = hub();
    hub.publish();
    hub.all_ready();
    hub.run(10).await;
    assert_eq!(hub.state(), Some(BundleProgress::Applied));
    hub.replace();
    hub.publish();
    hub.forget_report();
    hub.ready.clear();
    hub.run(10).await;
    assert_eq!(hub.state(), Some(BundleProgress::Running));
    assert_eq!(hub.read().unwrap().cluster.as_deref(), Some("uid-1"));
    assert!(hub.look.iter().all(|call| call.uid == "uid-1"));
}

/// Runs until it is let go: after how many seconds, and how.
async fn let_go(hub: &mut Hub) -> (i64, BundleRelease) {
    let deleted = hub.now;
    hub.delete();
    for _ in 0..1000 {
        if let Some((at, how)) = hub.released {
            return (at.duration_since(deleted).as_secs(), how);
        }
        let after = hub.pass(None).await.unwrap_or_default();
        hub.now += SignedDuration::try_from(after).unwrap();
    }
    panic!("it is held: {:?}", hub.read());
}

async fn applied() -> Hub {
    let mut hub = hub();
    hub.publish();
    hub.all_ready();
    hub.run(10).await;
    assert_eq!(hub.state(), Some(BundleProgress::Applied));
    hub
}

#[tokio::test]
async fn pre_delete_bundles_run_in_order() {
    let mut hub = applied().await;
    hub.ready.remove(&name(BundlePhase::PreDelete, 1));
    hub.delete();
    hub.run(20).await;
    assert_eq!(hub.state(), Some(BundleProgress::BeforeDeletion));
    assert_eq!(words(&hub), said(["preDelete/b1", "Second ns/before-1", "NotReady"]));
    hub.all_ready();
    hub.run(20).await;
    assert_eq!(hub.released.unwrap().1, BundleRelease::Done);
    assert!(hub.map.is_none());
}

#[tokio::test]
async fn each_pre_delete_bundle_has_its_timeout() {
    let mut hub = applied().await;
    hub.ready.remove(&name(BundlePhase::PreDelete, 0));
    assert_eq!(let_go(&mut hub).await, (TIMEOUT, BundleRelease::Done), "the second one is done");
    let mut hub = applied().await;
    hub.ready.clear();
    assert_eq!(let_go(&mut hub).await, (2 * TIMEOUT, BundleRelease::GivenUp));
    let mut hub = applied().await;
    hub.up = false;
    assert_eq!(let_go(&mut hub).await, (2 * TIMEOUT, BundleRelease::GivenUp));
    let mut hub = applied().await;
    hub.published = None;
    assert_eq!(let_go(&mut hub).await, (2 * TIMEOUT, BundleRelease::GivenUp));
}

#[tokio::test]
async fn cluster_in_deletion_skips_its_bundles() {
    for how in [
        |hub: &mut Hub| hub.cluster = None,
        |hub: &mut Hub| hub.going = true,
        |hub: &mut Hub| {
            hub.replace();
            hub.publish();
        },
    ] {
        let mut hub = applied().await;
        how(&mut hub);
        hub.ready.clear();
        assert_eq!(let_go(&mut hub).await, (0, BundleRelease::NotNeeded));
    }
}

#[tokio::test]
async fn cluster_without_setup_is_cleaned_up() {
    let mut hub = hub();
    hub.publish();
    hub.pass(None).await;
    hub.ready.extend([name(BundlePhase::PreDelete, 0), name(BundlePhase::PreDelete, 1)]);
    assert_eq!(let_go(&mut hub).await, (0, BundleRelease::Done));
}

#[tokio::test]
async fn late_teardown_bundle_is_tried_once() {
    let mut hub = applied().await;
    hub.delete();
    hub.tick(100_000);
    hub.run(1).await;
    assert_eq!(hub.released.unwrap().1, BundleRelease::Done);
    let mut hub = applied().await;
    hub.ready.clear();
    hub.delete();
    hub.tick(100_000);
    hub.run(1).await;
    assert_eq!(hub.released.unwrap().1, BundleRelease::GivenUp);
}

#[tokio::test]
async fn a_time_to_come_is_no_longer_time() {
    let mut hub = applied().await;
    hub.ready.clear();
    hub.delete();
    hub.pass(None).await;
    let notes = hub.map.as_mut().unwrap().metadata.annotations.as_mut().unwrap();
    let mut report: Value = serde_json::from_str(&notes[bundle::REPORT]).unwrap();
    report["since"] = "2099-01-01T00:00:00Z".into();
    notes.insert(bundle::REPORT.into(), report.to_string());
    hub.run(2 * TIMEOUT + 1).await;
    assert!(hub.released.is_some());
}

#[tokio::test]
async fn bundle_timeout_is_bounded() {
    let mut long = order(0, 1);
    long["preDelete"][0]["timeout"] = "100000h".into();
    let mut hub = Hub::new(&long);
    hub.publish();
    hub.pass(None).await;
    hub.delete();
    let deleted = hub.now;
    hub.run(MAX_TIMEOUT.as_secs() + 1).await;
    assert!(hub.released.unwrap().0 <= deleted + MAX_TIMEOUT);
}

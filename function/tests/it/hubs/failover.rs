//! A hub is given up only where nothing can have been made on it.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::foreign::object::{self, AnyRemote, Object};
use testplatform_composites::{
    cluster::{
        catalog::hubs::{Failover, MAX_EXCLUDED, decide_failover, excluded_annotation},
        observed::read_excluded,
    },
    objects::{Outage, SyncState},
};

use crate::hubs::now;

const UNREACHABLE: SyncState = SyncState::Unavailable(Outage::Unreachable("it does not answer"));

/// A writer that was made so many minutes ago, whose hub was never reached; why not was told just now in other words.
fn writer(minutes: i64) -> Value {
    let made = now() - jiff::SignedDuration::from_mins(minutes);
    json!({
        "apiVersion": object::API_VERSION, "kind": object::KIND,
        "metadata": {
            "name": "managed-x", "creationTimestamp": made.to_string(),
            "annotations": { "crossplane.io/external-name": "managed-x" },
        },
        "spec": { "forProvider": { "manifest": { "metadata": { "name": "x" } } } },
        "status": { "conditions": [
            { "type": "Synced", "status": "False", "lastTransitionTime": now().to_string(), "message": "dial tcp" },
        ] },
    })
}

fn judged(writer: &Value, link: &SyncState, pinned: bool, given_up: usize) -> Failover {
    let object: Object<AnyRemote> = serde_json::from_value(writer.clone()).unwrap();
    let given_up = (0..given_up).map(|i| format!("hub-{i}")).collect();
    decide_failover(&object, link, pinned, &given_up, now())
}

#[test]
fn unreached_hub_is_given_up_after_five_minutes() {
    assert_eq!(judged(&writer(5), &UNREACHABLE, false, 0), Failover::Allowed);
    assert_eq!(judged(&writer(5), &UNREACHABLE, false, MAX_EXCLUDED - 1), Failover::Allowed);
    let in_a_minute = now() + jiff::SignedDuration::from_mins(1);
    assert_eq!(judged(&writer(4), &UNREACHABLE, false, 0), Failover::At(in_a_minute));
    assert!(matches!(judged(&writer(5), &UNREACHABLE, false, MAX_EXCLUDED), Failover::Never(_)));
    assert!(matches!(judged(&writer(5), &UNREACHABLE, true, 0), Failover::Never(_)));
}

#[rstest]
#[case("/metadata/annotations", json!({ "crossplane.io/external-create-pending": "2026-01-01T11:00:00Z" }))]
#[case("/metadata/annotations", json!({ "crossplane.io/external-create-succeeded": "2026-01-01T11:00:00Z" }))]
#[case("/metadata/finalizers", json!(["finalizer.managedresource.crossplane.io"]))]
#[case("/metadata/deletionTimestamp", json!("2026-01-01T11:00:00Z"))]
#[case("/status/atProvider", json!({ "manifest": { "metadata": { "name": "x" } } }))]
#[case("/spec/forProvider/manifest/metadata/uid", json!("u"))]
fn every_trace_of_a_try_keeps_the_hub(#[case] path: &str, #[case] value: Value) {
    let mut traced = writer(60);
    let (parent, key) = path.rsplit_once('/').unwrap();
    traced.pointer_mut(parent).unwrap()[key] = value;
    assert!(matches!(judged(&traced, &UNREACHABLE, false, 0), Failover::Never(_)), "{path}");
}

/// A hub that answers, however it answers, is one that can be asked what there is.
#[test]
fn a_hub_that_answers_is_not_given_up() {
    for link in [
        SyncState::Unknown,
        SyncState::InSync,
        SyncState::Deleted,
        SyncState::Replaced,
        SyncState::UnknownField("spec.x".into()),
        SyncState::Refused("no".into()),
        SyncState::Paused,
    ] {
        assert_eq!(judged(&writer(60), &link, false, 0), Failover::NotNow, "{link:?}");
    }
    let mut timeless = writer(60);
    timeless["metadata"]["creationTimestamp"] = json!("long ago");
    assert_eq!(judged(&timeless, &UNREACHABLE, false, 0), Failover::NotNow);
    let mut synced = writer(60);
    synced["status"]["conditions"][0]["status"] = json!("True");
    assert_eq!(judged(&synced, &UNREACHABLE, false, 0), Failover::NotNow);
}

#[test]
fn excluded_hubs_round_trip() {
    let given_up = ["west".to_owned(), "east".to_owned()].into();
    assert_eq!(excluded_annotation(&given_up).as_deref(), Some("east,west"));
    assert_eq!(read_excluded(excluded_annotation(&given_up).as_deref()), given_up);
    assert_eq!((excluded_annotation(&[].into()), read_excluded(None)), (None, [].into()));
    assert_eq!(read_excluded(Some(" a, ,b")), ["a".to_owned(), "b".to_owned()].into());
}

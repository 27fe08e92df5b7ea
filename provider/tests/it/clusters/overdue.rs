//! A cluster whose latest end has come is deleted, where that is switched on: by its object, once, and no other.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use provider_testplatform::{publish::Action, step::Requeue};
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{names::ours, template::Backend};

use super::fixture::{Case, born, minutes, published};

const END: &str = "2026-11-22T12:00:00Z";

/// A published cluster with a latest end, on a provider that ends such ones.
fn ending(backend: Backend) -> Case {
    let mut case = published(backend);
    case.end_overdue = BTreeSet::from(["clusters".to_owned()]);
    case.object["metadata"]["annotations"][ours::LATEST_END] = json!(END);
    case
}

fn events(case: &Case) -> Vec<(bool, String)> {
    let event = |action: &Action| match action {
        Action::Emit(event) => Some((event.warning, event.reason.clone())),
        Action::Publish(_) | Action::Issue(_) | Action::Withdraw => None,
    };
    case.step().actions.iter().filter_map(event).collect()
}

#[rstest]
fn one_is_deleted_when_its_latest_end_has_come(
    #[values(Backend::HyperShift, Backend::ClusterApi, Backend::Caas, Backend::Osac)] backend: Backend,
) {
    let mut case = ending(backend);
    let end = END.parse().unwrap();
    case.now = end - SignedDuration::from_secs(90);
    assert!(!case.step().deletes);
    assert_eq!(case.step().requeue, Requeue::after(SignedDuration::from_secs(90)), "it is looked at then");
    case.now = end;
    assert!(case.step().deletes);
    assert_eq!(events(&case), [(true, "ClusterOverdue".to_owned())]);
    // Once it goes, its credentials are withdrawn as ever, and nothing is deleted again.
    case.object["metadata"]["deletionTimestamp"] = json!(END);
    assert!(!case.step().deletes);
    assert!(case.step().actions.contains(&Action::Withdraw), "{:?}", case.step());
}

#[rstest]
#[case::switched_off("/none", json!(null))]
#[case::another_namespace("/metadata/namespace", json!("others"))]
#[case::not_marked("/metadata/annotations", json!({ ours::LATEST_END: END }))]
#[case::marked_for_another_provider(
    "/metadata/annotations", json!({ ours::LATEST_END: END, ours::CREDENTIALS_NAMESPACE: "other" })
)]
#[case::no_end("/metadata/annotations", json!({ ours::CREDENTIALS_NAMESPACE: "testplatform-credentials" }))]
#[case::no_time(
    "/metadata/annotations", json!({ ours::LATEST_END: "soon", ours::CREDENTIALS_NAMESPACE: "testplatform-credentials" })
)]
#[case::an_empty_time(
    "/metadata/annotations", json!({ ours::LATEST_END: "", ours::CREDENTIALS_NAMESPACE: "testplatform-credentials" })
)]
fn no_other_is(#[case] pointer: &str, #[case] value: Value) {
    for backend in Backend::ALL {
        let mut case = ending(backend);
        case.now = born() + minutes(100_000);
        if pointer == "/none" {
            case.end_overdue.clear();
        } else {
            *case.object.pointer_mut(pointer).unwrap() = value.clone();
        }
        assert!(!case.step().deletes, "{backend:?}");
        let told = events(&case).into_iter().any(|(_, reason)| reason == "ClusterOverdue");
        assert!(!told, "{backend:?}");
    }
}

//! A cluster whose latest end has come is deleted, where that is switched on: by its object, once, and no other.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use provider_testplatform::{
    controllers::template_cluster::overdue::LatestEnd,
    credentials::publish::{CredentialsOperation, CredentialsSource},
};
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{names::ours, template::Backend};
use testplatform_runtime::reconcile::Action;

use super::fixture::{Case, born, minutes, published};

const END: &str = "2026-11-22T12:00:00Z";

/// A published cluster with a latest end, on a provider that ends such ones.
fn ending(backend: Backend) -> Case {
    let mut case = published(backend);
    case.end_overdue = BTreeSet::from(["clusters".to_owned()]);
    case.object["metadata"]["annotations"][ours::LATEST_END] = json!(END);
    case
}

fn latest_end(case: &Case) -> LatestEnd {
    LatestEnd::of(&case.object(), &case.world().settings, case.now)
}

#[rstest]
fn cluster_is_overdue_after_its_latest_end(
    #[values(Backend::HyperShift, Backend::ClusterApi, Backend::Caas, Backend::Osac)] backend: Backend,
) {
    let mut case = ending(backend);
    let end = END.parse().unwrap();
    case.now = end - SignedDuration::from_secs(90);
    let then = Action::requeue_after(SignedDuration::from_secs(90));
    assert_eq!(latest_end(&case), LatestEnd::Ahead(then));
    assert_eq!(case.step().requeue, then, "it is looked at then");
    case.now = end;
    let LatestEnd::Overdue(event) = latest_end(&case) else { panic!("{:?}", latest_end(&case)) };
    assert!(event.warning && event.reason == "ClusterOverdue" && event.note.contains(END), "{event:?}");
    // Whatever else is wrong with it.
    case.object["status"] = json!({ "conditions": "none" });
    case.source = CredentialsSource::Unread;
    assert!(matches!(latest_end(&case), LatestEnd::Overdue(_)));
    // Once it goes, its credentials are withdrawn as ever.
    let mut case = Case { now: end, ..ending(backend) };
    case.object["metadata"]["deletionTimestamp"] = json!(END);
    assert_eq!(latest_end(&case), LatestEnd::None);
    assert!(case.step().actions.contains(&CredentialsOperation::Withdraw), "{:?}", case.step());
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
        assert_eq!(latest_end(&case), LatestEnd::None, "{backend:?}");
    }
}

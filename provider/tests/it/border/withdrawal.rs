//! The event about withdrawn credentials is emitted once, by the reconcile that stores the report, whatever fails before.

use testplatform_apis::template::Backend::HyperShift;

use super::{
    claims, clusters,
    memory::{Call, Fault, Memory},
    walk::in_time,
};

/// A write fails until the hub is well again.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// Another writer is faster than the report.
    Conflict,
    /// The Secret is deleted, and the answer is lost.
    AnswerLost,
}

fn begin(hub: &Memory, trouble: Trouble, object: &str) {
    let object = object.to_owned();
    let mut lost = false;
    hub.judge(move |call: &Call| match trouble {
        Trouble::Conflict => (call.method == "PATCH" && call.path == object).then_some(Fault::Refused(409)),
        Trouble::AnswerLost => {
            let deletes = call.method == "DELETE" && call.path.ends_with("-credentials");
            (deletes && !std::mem::replace(&mut lost, true)).then_some(Fault::AnswerLost)
        }
    });
}

fn withdrawals(hub: &Memory, namespace: &str) -> usize {
    let events = hub.list(&format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"));
    events.iter().filter(|event| event["reason"] == "CredentialsWithdrawn").count()
}

#[test]
fn of_a_cluster_claim() {
    use claims::life::{Event, Life};
    for trouble in [Trouble::Conflict, Trouble::AnswerLost] {
        in_time(async {
            let mut life = Life::begin(0).await;
            for event in [Event::Assign(0), Event::Confirm, Event::Acknowledge, Event::Run] {
                life.happen(event).await;
            }
            life.until("published", |life| life.told()["credentials"].is_object()).await;
            begin(&life.hub, trouble, claims::CLAIM);
            life.happen(Event::Delete).await;
            if matches!(trouble, Trouble::Conflict) {
                life.wait(600).await;
                assert_eq!((life.published(), withdrawals(&life.hub, "cluster-pools")), (None, 0));
            }
            life.wait(60).await;
            life.rest().await;
            assert_eq!(withdrawals(&life.hub, "cluster-pools"), 1, "{trouble:?}");
        });
    }
}

#[test]
fn of_a_cluster_by_template() {
    use clusters::life::{Event, Life};
    for trouble in [Trouble::Conflict, Trouble::AnswerLost] {
        in_time(async {
            let mut life = Life::begin(HyperShift, 0).await;
            life.happen(Event::Run(true)).await;
            life.until("published", |life| life.told()["credentials"].is_object()).await;
            begin(&life.hub, trouble, &life.object());
            life.happen(Event::Delete).await;
            if matches!(trouble, Trouble::Conflict) {
                life.wait(600).await;
                assert_eq!((life.published(), withdrawals(&life.hub, "clusters")), (None, 0));
            }
            life.wait(60).await;
            life.rest().await;
            assert_eq!(withdrawals(&life.hub, "clusters"), 1, "{trouble:?}");
        });
    }
}

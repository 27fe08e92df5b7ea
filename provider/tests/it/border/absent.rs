//! An API server that lags behind answers that an object does not exist, after a watch has reported it. No event follows.

use serde_json::json;
use testplatform_apis::template::Backend::HyperShift;

use super::{
    claims, clusters,
    memory::{Call, Fault, Memory},
    strays::Held,
    walk::{
        in_time,
        life::{Life, begin_time},
    },
};

/// Reads of one object are answered with 404, until the hub is current.
fn lag(hub: &Memory, path: &str) {
    let path = path.to_owned();
    hub.judge(move |call: &Call| (call.method == "GET" && call.path == path).then_some(Fault::Absent));
}

fn catch_up(hub: &Memory) {
    hub.judge(|_| None);
}

#[test]
fn a_cluster_claim_that_is_denied_once_is_published_within_a_minute() {
    use claims::life::{Event, Life};
    in_time(async {
        let mut life = Life::begin(0).await;
        for event in [Event::Assign(0), Event::Confirm, Event::Acknowledge] {
            life.happen(event).await;
        }
        lag(&life.hub, claims::CLAIM);
        life.happen(Event::Run).await;
        life.wait(5).await;
        assert_eq!(life.published(), None);
        catch_up(&life.hub);
        life.wait(60).await;
        assert!(life.published().is_some());
    });
}

#[test]
fn a_cluster_by_template_that_is_denied_once_is_published_within_a_minute() {
    use clusters::life::{Event, Life};
    in_time(async {
        let mut life = Life::begin(HyperShift, 0).await;
        lag(&life.hub, &life.object());
        life.happen(Event::Run(true)).await;
        life.wait(5).await;
        assert_eq!(life.published(), None);
        catch_up(&life.hub);
        life.wait(60).await;
        assert!(life.published().is_some());
    });
}

#[test]
fn an_ephemeral_cluster_that_is_denied_once_gets_its_job_within_a_minute() {
    in_time(async {
        let life = Life::begin(0).await;
        let path = "/apis/ci.openshift.io/v1/namespaces/ephemeral-cluster/ephemeralclusters/late";
        lag(&life.hub, path);
        life.put_beside("late", json!({ "spec": super::walk::life::spec() }));
        life.wait(5).await;
        assert_eq!(life.beside("late")["status"], json!(null));
        catch_up(&life.hub);
        life.wait(60).await;
        assert!(life.beside("late")["status"]["prowJobId"].is_string(), "{:#}", life.beside("late"));
    });
}

#[test]
fn a_request_that_is_denied_once_is_released() {
    for by in [Held::by_prerequisites, Held::by_a_credential, Held::by_bundles] {
        in_time(async {
            begin_time();
            let mut held = by();
            lag(&held.hub, held.map);
            held.with_action(std::time::Duration::from_secs(5)).await;
            assert!(held.hub.get(held.map).is_some(), "{}", held.map);
            catch_up(&held.hub);
            held.with_action(std::time::Duration::from_mins(5)).await;
            assert_eq!(held.hub.get(held.map), None, "{}", held.map);
        });
    }
}

/// An object that is deleted costs a few reads at most, however late the watch reports it.
#[test]
fn a_deleted_object_that_is_still_cached_is_read_at_an_increasing_interval() {
    use clusters::life::{Event, Life};
    in_time(async {
        let mut life = Life::begin(HyperShift, 0).await;
        let object = life.object();
        lag(&life.hub, &object);
        life.happen(Event::Run(true)).await;
        life.hub.calls();
        life.wait(3600).await;
        let is_read = |call: &Call| call.method == "GET" && call.path == object;
        let reads = life.hub.calls().into_iter().filter(is_read).count();
        assert!((5..30).contains(&reads), "{reads}");
    });
}

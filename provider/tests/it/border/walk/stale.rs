//! An object that is missing in a cache may exist: nothing is ended by the cache alone.

use serde_json::{Value, json};

use super::{
    in_time,
    life::{Event, Life, PHASE},
};
use crate::border::memory::Fault;

const JOBS: &str = "/apis/prow.k8s.io/v1/namespaces/ci/prowjobs";
const OBJECTS: &str = "/apis/ci.openshift.io/v1/namespaces/ephemeral-cluster/ephemeralclusters";
const SIGNAL: &str = "/api/v1/namespaces/ci-op-y/secrets/test-done-signal";

/// A job whose label somebody took off is in no cache.
#[test]
fn a_job_that_no_cache_knows_is_not_gone() {
    in_time(async {
        let life = Life::ready().await;
        let [job] = life.hub.list(JOBS).try_into().unwrap();
        let at = format!("{JOBS}/{}", job["metadata"]["name"].as_str().unwrap());
        let unlabelled = json!({ "metadata": { "labels": { "ci.openshift.io/ephemeral-cluster": null } } });
        life.hub.merge(&at, &unlabelled);
        life.wait(3600).await;
        assert_eq!(life.phase(), PHASE[1], "{:#?}", life.beside("ec"));
        life.happen(Event::TearDown).await;
        life.until_signalled().await;
        life.happen(Event::Success).await;
        life.until("over", |ec| ec["status"]["phase"] == "Deprovisioned").await;
        life.check();
    });
}

/// The watch of jobs may be ahead of that of their owners.
#[test]
fn a_job_whose_owner_no_cache_knows_is_no_orphan() {
    in_time(no_orphan(false));
    // Nor where something else than the API server answers for it.
    in_time(no_orphan(true));
}

fn blind(life: &Life, stray: bool) {
    life.hub.judge(move |call| {
        let is_watch = call.path == OBJECTS && call.parameter("watch").is_some();
        let is_stray = stray && call.path == format!("{OBJECTS}/late");
        is_watch.then_some(Fault::Lost).or(is_stray.then_some(Fault::Refused(404)))
    });
}

async fn no_orphan(stray: bool) {
    let life = Life::begin(0).await;
    blind(&life, stray);
    // The watch that is under way hears of this, and none hears of anything after it.
    life.hub.merge(&format!("{OBJECTS}/ec"), &json!({ "metadata": { "annotations": { "x": "y" } } }));
    life.wait(5).await;

    life.put_beside("late", json!({ "spec": super::life::spec() }));
    let labels = json!({ "ci.openshift.io/jobid": "of-late" });
    life.build_cluster.put("/api/v1/namespaces/ci-op-y", json!({ "metadata": { "labels": labels } }));
    life.wait(5).await;
    let labels = json!({
        "ci.openshift.io/ephemeral-cluster": "late",
        "testplatform.ci.openshift.org/ephemeral-cluster-uid": life.beside("late")["metadata"]["uid"],
        "testplatform.ci.openshift.org/ephemeral-cluster-namespace": "ephemeral-cluster",
    });
    let job = json!({
        "metadata": { "labels": labels }, "spec": { "cluster": "build01" }, "status": { "state": "pending" },
    });
    let at = format!("{JOBS}/of-late");
    life.hub.put(&at, job);
    life.wait(60).await;
    assert_eq!(life.build_cluster.get(SIGNAL), None, "the job of one that is there was told to end");
    assert_eq!(life.beside("late")["status"], Value::Null, "a cache knows its owner, and this shows nothing");

    // Nobody hears of that either, but whoever looks sees it.
    blind(&life, false);
    life.hub.delete(&format!("{OBJECTS}/late"));
    life.hub.merge(&at, &json!({ "status": { "url": "https://prow" } }));
    life.wait(600).await;
    assert!(life.build_cluster.get(SIGNAL).is_some(), "an orphan was not told to end");
}

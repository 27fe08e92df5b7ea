//! A 404 that is not about the object, but that of something in between, or of a path that is not served: nothing is gone because of it.

use std::time::Duration;

use provider_testplatform::{
    config::{CloudCredentials, Clusters, ClustersOf, Prerequisites, Switch},
    controllers::{
        bundles, cloud_credentials as cloud,
        ephemeral_cluster::{
            operation::{Operation, Plan},
            status::{Phase, Status},
        },
        prerequisites,
    },
    metrics::Metrics,
};
use serde_json::{Value, json};
use testplatform_apis::{
    bundle, cloud as credential, prerequisites as before,
    template::Backend::{self, ClusterApi, HyperShift},
};
use testplatform_runtime::controller::Running;
use tokio::time::sleep;

use super::{
    Bench, JOB, OBJECT, SECRET, credentials,
    memory::{Fault, Memory},
    plain,
    walk::{
        in_time,
        life::{Event, Life, PHASE, begin_time, now, seconds},
    },
};

const JOBS: &str = "/apis/prow.k8s.io/v1/namespaces/ci/prowjobs";
const PATIENCE: Duration = Duration::from_secs(10);

/// Its job is in no cache, so the API server is asked.
#[test]
fn a_job_is_not_gone_because_something_answers_404() {
    in_time(async {
        let life = Life::ready().await;
        let [job] = life.hub.list(JOBS).try_into().unwrap();
        let at = format!("{JOBS}/{}", job["metadata"]["name"].as_str().unwrap());
        let asked = at.clone();
        life.hub
            .judge(move |call| (call.method == "GET" && call.path == asked).then_some(Fault::Refused(404)));
        let unlabelled = json!({ "metadata": { "labels": { "ci.openshift.io/ephemeral-cluster": null } } });
        life.hub.merge(&at, &unlabelled);
        life.wait(3600).await;
        let tries = life.hub.calls().iter().filter(|call| call.method == "GET" && call.path == at).count();
        assert!((5..500).contains(&tries), "asked {tries} times");
        assert_eq!(life.phase(), PHASE[1], "{:#?}", life.beside("ec"));
        life.hub.judge(|_| None);
        life.happen(Event::TearDown).await;
        life.until_signalled().await;
        life.happen(Event::Success).await;
        life.until("over", |ec| ec["status"]["phase"] == PHASE[3]).await;
        life.check();
    });
}

/// Else what it was about would be held, or paid for, without anybody knowing.
#[tokio::test]
async fn write_answered_with_404_was_not_done() {
    let abort = || Operation::AbortProwJob { name: "job".into(), description: "why".into() };
    for (action, failed) in [
        (Operation::RemoveFinalizer, "remove_finalizer/not_found"),
        (Operation::SetAnnotations([("a".to_owned(), Some("b".to_owned()))].into()), "annotate/not_found"),
        (Operation::WithdrawCredentials, "withdraw_credentials/not_found"),
        (abort(), "abort_prow_job/not_found"),
    ] {
        let mut object = plain();
        object["metadata"]["finalizers"] = json!(["ephemeralcluster.ci.openshift.io/dependent-prowjob"]);
        let (bench, object) = Bench::with(object);
        bench.act(&object, Operation::PublishCredentials(credentials("x"))).await.unwrap();
        bench.hub.put(JOB, json!({ "status": { "state": "pending" } }));
        for read in [false, true] {
            bench.hub.judge(move |call| (call.is_write() || read).then_some(Fault::Refused(404)));
            assert_eq!(bench.act(&object, action.clone()).await.unwrap_err(), failed, "reads: {read}");
        }
        assert!(bench.hub.get(SECRET).is_some() && bench.hub.get(OBJECT).is_some());
    }
    let (bench, object) = Bench::with(plain());
    bench.hub.judge(|call| call.is_write().then_some(Fault::Refused(404)));
    let status = Some(Status { phase: Some(Phase::Deprovisioning), ..Status::default() });
    let step = Plan { status, ..Plan::default() };
    let failure = bench.executor.run(Some(object), &step).await.unwrap_err();
    assert_eq!((failure.error.action, failure.error.reason.as_str()), ("write_status", "not_found"));
}

/// Path of a backend's cluster object.
fn cluster(backend: Backend) -> String {
    let kind = backend.cluster_kind();
    format!("/apis/{}/{}/namespaces/clusters/{}/one", kind.group, kind.versions[0], kind.plural)
}

fn config(backend: Backend) -> Clusters {
    let of = ClustersOf { namespaces: ["clusters".into()].into(), ..ClustersOf::default() };
    Clusters {
        backends: [(backend, of)].into(),
        credentials_namespace: "credentials".into(),
        cloud_credentials: CloudCredentials { mode: Switch::On, ..CloudCredentials::default() },
        prerequisites: Prerequisites { mode: Switch::On, ..Prerequisites::default() },
        ..Clusters::default()
    }
}

/// Reference of a request to its cluster.
fn named(backend: Backend) -> Value {
    let kind = backend.cluster_kind();
    json!({ "group": kind.group, "kind": kind.kind, "name": "one" })
}

/// A ConfigMap with an order, which is held and whose deletion has begun.
fn deleted(label: &str, finalizer: &str, order: &Value) -> Value {
    json!({
        "metadata": {
            "labels": { label: "true" }, "finalizers": [finalizer], "deletionTimestamp": seconds(),
        },
        "data": { "order": order.to_string() },
    })
}

/// A hub on which something is held for a cluster, and who holds it.
pub struct Held {
    pub hub: Memory,
    backend: Backend,
    pub map: &'static str,
    provider: Running,
}

impl Held {
    /// By its prerequisites.
    pub fn by_prerequisites() -> Self {
        const MAP: &str = "/api/v1/namespaces/clusters/configmaps/one-prerequisites";
        let hub = Memory::new().with_clock(seconds);
        let order = json!({ "cluster": named(HyperShift) });
        hub.put(MAP, deleted(before::LABEL, before::FINALIZER, &order));
        let options = prerequisites::controller::Options {
            request_timeout: PATIENCE,
            ..prerequisites::controller::Options::new(hub.client(), config(HyperShift), now)
        };
        let forever = Box::pin(std::future::pending());
        let provider = prerequisites::controller::run(options, Metrics::default().prerequisites(), forever);
        Self { hub, backend: HyperShift, map: MAP, provider }
    }

    /// By its credential of a cloud.
    pub fn by_a_credential() -> Self {
        const MAP: &str = "/api/v1/namespaces/clusters/configmaps/one-cloud-credential";
        let hub = Memory::new().with_clock(seconds);
        let order = json!({ "cluster": named(ClusterApi), "uid": "u", "cloud": "acme", "tenant": "tenant" });
        hub.put(MAP, deleted(credential::LABEL, credential::FINALIZER, &order));
        let options = cloud::controller::Options {
            request_timeout: PATIENCE,
            ..cloud::controller::Options::new(hub.client(), config(ClusterApi), now)
        };
        let forever = Box::pin(std::future::pending());
        let provider = cloud::controller::run(options, Metrics::default().cloud(), forever);
        Self { hub, backend: ClusterApi, map: MAP, provider }
    }

    /// By its bundles.
    pub fn by_bundles() -> Self {
        const MAP: &str = "/api/v1/namespaces/clusters/configmaps/one-bundles";
        let hub = Memory::new().with_clock(seconds);
        let order = json!({ "cluster": named(HyperShift) });
        hub.put(MAP, deleted(bundle::LABEL, bundle::FINALIZER, &order));
        let options = bundles::controller::Options {
            request_timeout: PATIENCE,
            ..bundles::controller::Options::new(hub.client(), config(HyperShift), now)
        };
        let forever = Box::pin(std::future::pending());
        let provider = bundles::controller::run(options, Metrics::default().bundles(), forever);
        Self { hub, backend: HyperShift, map: MAP, provider }
    }

    pub async fn with_action(&mut self, time: Duration) {
        tokio::select! { () = &mut self.provider => panic!("it ended"), () = sleep(time) => {} }
    }
}

/// Prerequisites that the cluster's deletion needs would go before the cluster.
#[test]
fn ambiguous_404_releases_nothing() {
    for by in [Held::by_prerequisites, Held::by_a_credential] {
        in_time(async {
            begin_time();
            let mut held = by();
            let (map, at) = (held.map, cluster(held.backend));
            held.hub.put(&at, json!({ "metadata": { "uid": "uid-of-one" } }));
            let asked = at.clone();
            held.hub.judge(move |call| (call.path == asked).then_some(Fault::Refused(404)));
            held.with_action(Duration::from_hours(1)).await;
            assert!(held.hub.get(map).is_some(), "{map}: its cluster may be there");

            // Nor is anything let go by a write that was not done.
            let mut first = true;
            held.hub.judge(move |call| {
                let lets_go = call.method == "PATCH" && call.body["metadata"]["finalizers"].is_array();
                (lets_go && std::mem::take(&mut first)).then_some(Fault::Refused(404))
            });
            held.hub.delete(&at);
            held.with_action(Duration::from_mins(10)).await;
            assert_eq!(held.hub.get(map), None, "{map}: its cluster is gone");
        });
    }
}

/// The definition was removed, and the cluster with it.
#[test]
fn unserved_kind_blocks_nothing() {
    for by in [Held::by_prerequisites, Held::by_a_credential] {
        in_time(async {
            begin_time();
            let mut held = by();
            let at = cluster(held.backend);
            held.hub.judge(move |call| (call.path == at).then_some(Fault::Refused(404)));
            held.with_action(Duration::from_mins(5)).await;
            assert_eq!(held.hub.get(held.map), None, "{}", held.map);
        });
    }
}

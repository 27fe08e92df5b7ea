//! Bundles on an API server in memory that refuses what they have to see.

use std::time::Duration;

use provider_testplatform::{
    config::{Clusters, ClustersOf},
    controllers::bundles::controller::{Options, run},
    metrics::Metrics,
};
use serde_json::{Value, json};
use testplatform_apis::{bundle, template::Backend::HyperShift};
use tokio::time::sleep;

use super::{
    memory::{Fault, Memory},
    walk::{
        in_time,
        life::{begin_time, now, seconds},
    },
};

const MAP: &str = "/api/v1/namespaces/clusters/configmaps/one-bundles";
const CLUSTER: &str = "/apis/hypershift.openshift.io/v1beta1/namespaces/clusters/hostedclusters/one";

/// Looks after bundles of HostedClusters in `clusters`, as long as it is not dropped.
fn start(hub: &Memory) -> impl Future<Output = ()> + use<> {
    let config = Clusters {
        backends: [(
            HyperShift,
            ClustersOf { namespaces: ["clusters".into()].into(), ..ClustersOf::default() },
        )]
        .into(),
        credentials_namespace: "credentials".into(),
        ..Clusters::default()
    };
    let patience = Duration::from_secs(10);
    let options = Options { request_timeout: patience, ..Options::new(hub.client(), config, now) };
    run(options, Metrics::default().bundles(), Box::pin(std::future::pending()))
}

/// An order with two bundles before the deletion, of a minute each, whose deletion has begun.
fn deleted() -> Value {
    let bundle = |name: &str| {
        json!({ "name": name, "timeout": "1m", "manifests": [{
            "object": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "ns" } },
        }] })
    };
    let order = json!({
        "cluster": { "group": "hypershift.openshift.io", "kind": "HostedCluster", "name": "one" },
        "preDelete": [bundle("one"), bundle("two")],
    });
    json!({
        "metadata": {
            "labels": { bundle::LABEL: "true" }, "annotations": { bundle::CLUSTER: "uid-of-one" },
            "finalizers": [bundle::FINALIZER], "deletionTimestamp": seconds(),
        },
        "data": { bundle::ORDER: order.to_string() },
    })
}

/// A conversion webhook that does not answer, rights that were taken away, something in between that knows nothing of it.
#[test]
fn unreadable_cluster_blocks_no_longer_than_its_bundles_timeouts() {
    for code in [403, 404, 500] {
        in_time(async {
            begin_time();
            let hub = Memory::new().with_clock(seconds);
            hub.put(CLUSTER, json!({ "metadata": { "uid": "uid-of-one" } }));
            hub.put(MAP, deleted());
            hub.judge(move |call| (call.path.contains("/hostedclusters/")).then_some(Fault::Refused(code)));
            let provider = start(&hub);
            tokio::pin!(provider);
            let mut during = async |time: u64| {
                let time = Duration::from_secs(time);
                tokio::select! { () = &mut provider => panic!("it ended"), () = sleep(time) => {} }
            };
            during(110).await;
            assert!(hub.get(MAP).is_some(), "{code}: all of its time is not over");
            during(120).await;
            assert_eq!(hub.get(MAP), None, "{code}: held although its time is over");
            let events = hub.list("/apis/events.k8s.io/v1/namespaces/clusters/events");
            assert!(events.iter().any(|event| event["reason"] == "BundlesGivenUp"), "{events:#?}");
        });
    }
}

/// The definition was removed, and the cluster with it.
#[test]
fn unserved_kind_is_not_waited_for() {
    in_time(async {
        begin_time();
        let hub = Memory::new().with_clock(seconds);
        hub.put(MAP, deleted());
        hub.judge(|call| (call.path.contains("/hostedclusters/")).then_some(Fault::Refused(404)));
        let provider = start(&hub);
        tokio::select! { () = provider => panic!("it ended"), () = sleep(Duration::from_secs(30)) => {} }
        assert_eq!(hub.get(MAP), None);
    });
}

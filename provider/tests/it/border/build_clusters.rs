//! Knowledge about a build cluster, also when it fails, is unreachable, or comes back.

use std::{fs, sync::Arc, time::Duration};

use provider_testplatform::build_clusters::{BuildClusterEvent, BuildClusterSet, NamespaceLookup};
use serde_json::{Value, json};
use testplatform_runtime::client::Trust;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::sleep,
};

use super::memory::{Fault, Memory};

const PATIENCE: Duration = Duration::from_secs(30);

fn clusters() -> (Arc<BuildClusterSet>, UnboundedReceiver<BuildClusterEvent>) {
    let (sender, receiver) = unbounded_channel();
    (BuildClusterSet::new(sender, PATIENCE), receiver)
}

async fn seconds(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

fn namespace(memory: &Memory, name: &str, job: &str, metadata: &Value) {
    let mut object = json!({ "metadata": { "labels": { "ci.openshift.io/jobid": job } } });
    for (key, value) in metadata.as_object().unwrap() {
        object["metadata"][key] = value.clone();
    }
    memory.put(&format!("/api/v1/namespaces/{name}"), object);
}

fn secret(memory: &Memory, namespace: &str, name: &str) {
    memory.put(&format!("/api/v1/namespaces/{namespace}/secrets/{name}"), json!({}));
}

fn told(moved: &mut UnboundedReceiver<BuildClusterEvent>) -> Vec<BuildClusterEvent> {
    let mut all: Vec<BuildClusterEvent> = std::iter::from_fn(|| moved.try_recv().ok()).collect();
    all.dedup();
    all
}

#[tokio::test(start_paused = true)]
async fn events_name_the_job() {
    let memory = Memory::new();
    let (clusters, mut moved) = clusters();
    assert_eq!(clusters.find_namespace("build01", "job"), NamespaceLookup::Unknown);
    clusters.add_cluster("build01", memory.client());
    assert_eq!(clusters.find_namespace("build01", "job"), NamespaceLookup::NotYet);
    seconds(1).await;
    assert_eq!(clusters.find_namespace("build01", "job"), NamespaceLookup::NoNamespace);
    told(&mut moved);

    namespace(&memory, "ci-op-x", "job", &json!({}));
    seconds(1).await;
    assert_eq!(told(&mut moved), [BuildClusterEvent::Job("job".into())]);
    secret(&memory, "ci-op-x", "cluster-provisioning");
    secret(&memory, "ci-op-x", "somebody-elses");
    secret(&memory, "elsewhere", "cluster-provisioning");
    seconds(1).await;
    assert_eq!(told(&mut moved), [BuildClusterEvent::Job("job".into())]);
    let NamespaceLookup::Here(here) = clusters.find_namespace("build01", "job") else { panic!("it is here") };
    assert_eq!((here.namespace.as_str(), here.terminating), ("ci-op-x", false));
    assert_eq!(here.secrets.keys().copied().collect::<Vec<_>>(), ["cluster-provisioning"]);

    memory.delete("/api/v1/namespaces/ci-op-x");
    seconds(1).await;
    assert_eq!(told(&mut moved), [BuildClusterEvent::Job("job".into())]);
    assert_eq!(clusters.find_namespace("build01", "job"), NamespaceLookup::NoNamespace);
    // Nothing is asked for but what RBAC allows.
    for call in memory.calls() {
        let secrets = call.path == "/api/v1/secrets" && call.parameter("fieldSelector").is_some();
        assert!(call.method == "GET" && (secrets || call.path == "/api/v1/namespaces"), "{call:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn newest_namespace_counts_unless_it_is_in_deletion() {
    let memory = Memory::new();
    namespace(&memory, "ci-op-a", "job", &json!({ "creationTimestamp": "2026-01-01T00:00:00Z" }));
    namespace(&memory, "ci-op-b", "job", &json!({ "creationTimestamp": "2026-01-01T00:10:00Z" }));
    let going =
        json!({ "creationTimestamp": "2026-01-01T00:20:00Z", "deletionTimestamp": "2026-01-01T00:30:00Z" });
    namespace(&memory, "ci-op-c", "job", &going);
    let (clusters, _moved) = clusters();
    let anywhere = |job: &str| clusters.find_namespace_anywhere(job);
    assert_eq!(
        anywhere("job"),
        Some((String::new(), NamespaceLookup::Unknown)),
        "while none is known it may be on any"
    );
    clusters.add_cluster("build01", memory.client());
    seconds(1).await;
    assert!(
        matches!(clusters.find_namespace("build01", "job"), NamespaceLookup::Here(here) if here.namespace == "ci-op-b")
    );
    assert!(
        matches!(anywhere("job"), Some((cluster, NamespaceLookup::Here(here))) if cluster == "build01" && here.namespace == "ci-op-b")
    );
    assert_eq!(anywhere("other"), None);
    // A namespace that cannot be observed may exist.
    let away = Memory::new();
    away.judge(|_| Some(Fault::Lost));
    clusters.add_cluster("build02", away.client());
    assert_eq!(anywhere("other"), Some(("build02".into(), NamespaceLookup::NotYet)));
    seconds(60).await;
    assert!(
        matches!(anywhere("other"), Some((cluster, NamespaceLookup::Unreachable(_))) if cluster == "build02")
    );
    assert!(matches!(anywhere("job"), Some((_, NamespaceLookup::Here(_)))));
}

#[tokio::test(start_paused = true)]
async fn unreachable_cluster_is_reported_after_a_delay() {
    for fault in [Fault::Lost, Fault::Refused(503), Fault::Refused(403)] {
        let memory = Memory::new();
        namespace(&memory, "ci-op-x", "job", &json!({}));
        let (clusters, mut moved) = clusters();
        clusters.add_cluster("build01", memory.client());
        seconds(1).await;
        told(&mut moved);
        memory.judge(move |_| Some(fault));
        // Probes notice what a watch that hears nothing does not.
        seconds(75).await;
        assert!(
            matches!(clusters.find_namespace("build01", "job"), NamespaceLookup::Here(_)),
            "{fault:?}: as it was"
        );
        assert_eq!(
            clusters.find_namespace("build01", "other"),
            NamespaceLookup::NotYet,
            "{fault:?}: may be there by now"
        );
        seconds(35).await;
        assert!(
            matches!(clusters.find_namespace("build01", "job"), NamespaceLookup::Unreachable(_)),
            "{fault:?}"
        );
        assert_eq!(told(&mut moved), [BuildClusterEvent::Cluster("build01".into())], "{fault:?}");
        assert!(clusters.get_cluster("build01").is_err() && clusters.states()[0].1.is_some());

        memory.judge(|_| None);
        seconds(75).await;
        assert!(matches!(clusters.find_namespace("build01", "job"), NamespaceLookup::Here(_)), "{fault:?}");
        assert!(told(&mut moved).contains(&BuildClusterEvent::Cluster("build01".into())));
        assert_eq!(clusters.states(), [("build01".to_owned(), None)]);
    }
}

/// As with a role that has `list` and not `watch`: every list comes through, and none of them is a recovery.
#[tokio::test(start_paused = true)]
async fn cluster_without_watch_is_unreachable_and_backs_off() {
    let memory = Memory::new();
    namespace(&memory, "ci-op-x", "job", &json!({}));
    memory.judge(|call| call.parameter("watch").is_some().then_some(Fault::Refused(403)));
    let (clusters, _moved) = clusters();
    clusters.add_cluster("build01", memory.client());
    seconds(300).await;
    assert!(clusters.get_cluster("build01").is_err(), "{:?}", clusters.states());
    let calls = memory.calls().len();
    // Five watches, each with a list and a try, half a minute apart.
    assert!(calls < 5 * 2 * 20, "{calls} calls in five minutes");
}

/// The last state must not count for ever because of a bug in its reader.
#[tokio::test(start_paused = true)]
async fn cluster_with_panicking_watch_is_unreachable_until_restart() {
    let memory = Memory::new();
    namespace(&memory, "ci-op-x", "job", &json!({}));
    let (clusters, mut moved) = clusters();
    clusters.add_cluster("build01", memory.client());
    seconds(1).await;
    told(&mut moved);
    memory.judge(|call| call.parameter("watch").is_some().then(|| panic!("a bug")));
    namespace(&memory, "ci-op-y", "other", &json!({}));
    seconds(60).await;
    assert!(matches!(clusters.find_namespace("build01", "job"), NamespaceLookup::Unreachable(_)));
    assert!(told(&mut moved).contains(&BuildClusterEvent::Cluster("build01".into())));

    memory.judge(|_| None);
    namespace(&memory, "ci-op-z", "a third", &json!({}));
    seconds(60).await;
    for job in ["job", "other", "a third"] {
        assert!(matches!(clusters.find_namespace("build01", job), NamespaceLookup::Here(_)), "{job}");
    }
}

#[tokio::test(start_paused = true)]
async fn never_reached_cluster_delays_nobody_for_long() {
    let (good, bad) = (Memory::new(), Memory::new());
    bad.judge(|_| Some(Fault::Lost));
    let (clusters, _moved) = clusters();
    clusters.add_cluster("build01", good.client());
    clusters.add_cluster("build02", bad.client());
    let begun = tokio::time::Instant::now();
    clusters.wait_for_first_list().await;
    assert!(begun.elapsed() <= PATIENCE + Duration::from_secs(1));
    assert_eq!(clusters.find_namespace("build01", "job"), NamespaceLookup::NoNamespace);
    assert!(matches!(clusters.find_namespace("build02", "job"), NamespaceLookup::Unreachable(_)));
}

#[tokio::test]
async fn the_directory_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = |server: &str| {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "a" } }],
            "clusters": [{ "name": "a", "cluster": { "server": server } }],
            "users": [{ "name": "a", "user": { "token": "s3cret" } }],
        })
        .to_string()
    };
    // As the kubelet mounts a Secret.
    let versions = ["..v1", "..v2"].map(|name| directory.path().join(name));
    for version in &versions {
        fs::create_dir(version).unwrap();
    }
    fs::write(versions[0].join("build01"), kubeconfig("https://127.0.0.1:1")).unwrap();
    fs::write(versions[0].join("build02"), "s3cret: [").unwrap();
    fs::write(versions[1].join("build01"), "half").unwrap();
    fs::write(versions[1].join("build03"), kubeconfig("https://127.0.0.1:3")).unwrap();
    let link = directory.path().join("..data");
    std::os::unix::fs::symlink(&versions[0], &link).unwrap();
    for name in ["build01", "build02", "build03"] {
        std::os::unix::fs::symlink(link.join(name), directory.path().join(name)).unwrap();
    }

    let (clusters, mut moved) = clusters();
    clusters.read_directory(directory.path(), Trust::Bundle).await.unwrap();
    assert!(clusters.get_cluster("build01").is_ok());
    let NamespaceLookup::Unreachable(error) = clusters.find_namespace("build02", "job") else {
        panic!("it cannot be used")
    };
    assert_eq!(error, "its kubeconfig cannot be used: it is not a kubeconfig");
    assert_eq!(clusters.find_namespace("build03", "job"), NamespaceLookup::Unknown);
    told(&mut moved);

    clusters.read_directory(directory.path(), Trust::Bundle).await.unwrap();
    assert_eq!(told(&mut moved), [], "nothing changed");

    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&versions[1], &link).unwrap();
    clusters.read_directory(directory.path(), Trust::Bundle).await.unwrap();
    assert!(clusters.get_cluster("build01").is_ok(), "what worked goes on working");
    assert_eq!(clusters.find_namespace("build02", "job"), NamespaceLookup::Unknown);
    assert!(clusters.get_cluster("build03").is_ok());
    let names: Vec<BuildClusterEvent> = told(&mut moved);
    assert!(
        names.contains(&BuildClusterEvent::Cluster("build02".into()))
            && names.contains(&BuildClusterEvent::Cluster("build03".into()))
    );
}

/// A build cluster has no annotation with the end of its token, so the token itself has to say it.
#[tokio::test]
async fn tokens_of_kubeconfigs_have_an_expiry() {
    let kubeconfig = |token: &str| {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
             clusters: [{{name: a, cluster: {{server: 'https://127.0.0.1:1'}}}}]\nusers: [{{name: a, user: {{token: {token}}}}}]"
        )
    };
    let directory = tempfile::tempdir().unwrap();
    // {"exp":1767225600}, and a token that does not say.
    fs::write(directory.path().join("build01"), kubeconfig("e30.eyJleHAiOjE3NjcyMjU2MDB9.c2ln")).unwrap();
    fs::write(directory.path().join("build02"), kubeconfig("opaque")).unwrap();
    let (clusters, _moved) = clusters();
    clusters.read_directory(directory.path(), Trust::Bundle).await.unwrap();
    let expiries = clusters.token_expiries();
    let expected = [("build01", Some("2026-01-01T00:00:00Z")), ("build02", None)];
    let expected = expected.map(|(name, at)| (name.to_owned(), at.map(|at| at.parse().unwrap())));
    assert_eq!(expiries, expected);
}

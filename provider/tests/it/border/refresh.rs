//! Kubeconfigs that an earlier version published as they came.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use provider_testplatform::{
    credentials::{account::fingerprint::TokenFingerprint, kubeconfig::rewrite_kubeconfig, publish::refresh},
    metrics::Metrics,
};
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use tokio::time::{Instant, sleep};

use super::memory::{Call, Fault, Memory};
use crate::support::kubeconfig;

const NAMESPACE: &str = "ephemeral-cluster";

fn path(name: &str) -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/secrets/{name}-credentials")
}

/// Metadata of a Secret of an EphemeralCluster, made from this state of its source.
fn of_object(revision: &str) -> Value {
    let owner = json!({ "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster", "name": "ec", "uid": "u", "controller": true });
    json!({ "ownerReferences": [owner], "annotations": { ours::SOURCE_REVISION: revision } })
}

/// Metadata of a Secret that was published for an object of this group and kind.
fn labelled(group: &str, kind: &str) -> Value {
    json!({ "labels": {
        ours::OWNER_GROUP: group, ours::OWNER_KIND: kind, ours::OWNER_NAMESPACE: "clusters", ours::OWNER_UID: "u",
    } })
}

fn secret(metadata: &Value, kubeconfig: &str) -> Value {
    let encoded = |text: &str| BASE64_STANDARD.encode(text);
    json!({
        "metadata": metadata,
        "data": { "kubeconfig": encoded(kubeconfig), "kubeAdminPassword": encoded("p") },
    })
}

fn published(hub: &Memory, name: &str) -> Option<String> {
    let stored = hub.get(&path(name))?;
    assert_eq!(stored["data"]["kubeAdminPassword"], BASE64_STANDARD.encode("p"), "{name}");
    let bytes = BASE64_STANDARD.decode(stored["data"]["kubeconfig"].as_str().unwrap()).unwrap();
    Some(String::from_utf8(bytes).unwrap())
}

/// A hub with Secrets, and the provider on it for so long.
async fn run(hub: &Memory, time: Duration) -> Metrics {
    let options = refresh::Options { client: hub.client(), namespaces: vec![NAMESPACE.into()] };
    let metrics = Metrics::default();
    refresh::run(options, metrics.runtime_metrics().clone(), Box::pin(sleep(time))).await;
    metrics
}

/// With a comment that hides a plugin from one parser and shows it to another.
fn hiding(server: &str) -> String {
    kubeconfig(server, "t # \u{2028}    exec: {command: rm}")
}

#[tokio::test(start_paused = true)]
async fn unfiltered_kubeconfigs_are_rewritten_or_withdrawn() {
    let hub = Memory::new();
    let plugin = kubeconfig("https://c", "t\n    exec: {command: rm}");
    let current = kubeconfig("https://b", "t");
    let stamp = TokenFingerprint {
        issued: Timestamp::UNIX_EPOCH,
        expires: Timestamp::UNIX_EPOCH,
        generation: 0,
        origin: "o".into(),
        digest: "d".into(),
    };
    for (name, metadata, text) in [
        ("hiding", of_object("build01/ci-op-x:s@7"), hiding("https://a")),
        ("current", of_object("build01/ci-op-x:s@7"), current.clone()),
        ("plugin", of_object("build01/ci-op-x:s@7"), plugin.clone()),
        ("claimed", labelled("hive.openshift.io", "ClusterClaim"), hiding("https://d")),
        ("token", of_object(&stamp.to_string()), hiding("https://e")),
        ("space", labelled("", "Namespace"), hiding("https://f")),
        ("elses", json!({}), plugin.clone()),
    ] {
        hub.put(&path(name), secret(&metadata, &text));
    }
    run(&hub, Duration::from_mins(1)).await;
    let written = |text: &str| String::from_utf8(rewrite_kubeconfig(text.as_bytes()).unwrap()).unwrap();
    for (name, now) in [
        ("hiding", Some(written(&hiding("https://a")))),
        ("current", Some(current)),
        ("plugin", None),
        ("claimed", Some(written(&hiding("https://d")))),
        ("token", Some(hiding("https://e"))),
        ("space", Some(hiding("https://f"))),
        ("elses", Some(plugin)),
    ] {
        assert_eq!(published(&hub, name), now, "{name}");
    }
    let kept = &hub.get(&path("hiding")).unwrap()["metadata"];
    assert_eq!(kept["annotations"][ours::SOURCE_REVISION], "build01/ci-op-x:s@7");
    assert_eq!(hub.writes().len(), 3);
    run(&hub, Duration::from_mins(1)).await;
    assert!(hub.writes().is_empty(), "they are in the form of this version");
}

/// Each change wakes a claim.
#[tokio::test(start_paused = true)]
async fn secrets_are_rewritten_one_after_another() {
    let hub = Memory::new();
    for i in 0..5 {
        hub.put(&path(&format!("ec-{i}")), secret(&of_object("r"), &hiding("https://a")));
    }
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    hub.judge(move |call: &Call| {
        if call.is_write() {
            seen.lock().unwrap().push(Instant::now());
        }
        None
    });
    run(&hub, Duration::from_mins(1)).await;
    let times = times.lock().unwrap();
    assert_eq!(times.len(), 5);
    assert!(times.windows(2).all(|two| two[1] - two[0] >= Duration::from_secs(2)), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn failed_rewrite_is_retried() {
    let hub = Memory::new();
    hub.put(&path("ec"), secret(&of_object("r"), &hiding("https://a")));
    let mut tries = 0;
    hub.judge(move |call: &Call| {
        tries += i32::from(call.is_write());
        (call.is_write() && tries < 3).then_some(if tries == 1 { Fault::Lost } else { Fault::Refused(409) })
    });
    let metrics = run(&hub, Duration::from_hours(1)).await;
    assert!(!published(&hub, "ec").unwrap().contains("exec"));
    let told = metrics.encode().unwrap();
    let line =
        r#"testplatform_provider_action_errors_total{action="refresh_credentials",reason="timeout"} 1"#;
    assert!(told.contains(line), "{told}");
    // Who may not list them is told so once.
    hub.judge(|_| Some(Fault::Refused(403)));
    hub.calls();
    run(&hub, Duration::from_hours(1)).await;
    assert_eq!(hub.calls().len(), 1);
}

/// In proxy mode upstream's controller publishes, and would publish again.
#[tokio::test(start_paused = true)]
async fn secrets_of_another_controller_stay() {
    let hub = Memory::new();
    let mut metadata = of_object("build01/ci-op-x:s@7");
    metadata.as_object_mut().unwrap().remove("annotations");
    for (name, kubeconfig) in
        [("a", hiding("https://a")), ("b", kubeconfig("https://b", "t\n    exec: {command: rm}"))]
    {
        hub.put(&path(name), secret(&metadata, &kubeconfig));
        run(&hub, Duration::from_mins(1)).await;
        assert_eq!(published(&hub, name), Some(kubeconfig), "{name}");
    }
}

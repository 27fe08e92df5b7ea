//! The border on API servers in memory: each action is one call or a few, exactly these; one replica acts; and build
//! clusters fail each by itself.

mod absent;
mod actions;
mod build_clusters;
mod bundles;
mod claims;
mod clusters;
mod faults;
mod lease;
mod memory;
mod rbac;
mod refresh;
mod revoke;
mod strays;
mod unlisted;
mod walk;
mod withdrawal;

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use memory::Memory;
use provider_testplatform::{
    controllers::ephemeral_cluster::{
        execute::{ExecutionFailure, ExecutionResult, Executor, Patience, Reach, Reached},
        hub::Hub,
        object::EphemeralCluster,
        operation::{Operation, Plan},
    },
    credentials::{Credentials, account::guest_limiter::GuestLimiter},
};
use serde_json::{Value, json};
use testplatform_runtime::{
    error::{Cause, Reason},
    redacted::Redacted,
};

const OBJECT: &str = "/apis/ci.openshift.io/v1/namespaces/ephemeral-cluster/ephemeralclusters/ec";
const JOB: &str = "/apis/prow.k8s.io/v1/namespaces/ci/prowjobs/job";
const SECRET: &str = "/api/v1/namespaces/ephemeral-cluster/secrets/ec-credentials";
/// Secret that no error may repeat.
const CONFIDENTIAL: &str = "s3cret of a cluster";
const SIGNAL: &str = "/api/v1/namespaces/ci-op-x/secrets/test-done-signal";

/// A hub and a build cluster in memory, and an executor on them.
struct Bench {
    hub: Memory,
    build_cluster: Memory,
    executor: Executor,
}

impl Bench {
    fn new() -> Self {
        let (hub, build_cluster) = (Memory::new(), Memory::new());
        let client = build_cluster.client();
        let reach: Reach = Arc::new(move |name| {
            if name == "build01" {
                Ok(Reached { client: client.clone(), leave: None })
            } else {
                Err(Cause::new(Reason::Unreachable, "there is no kubeconfig for it"))
            }
        });
        let moment = Duration::from_millis(100);
        let executor = Executor::new(
            Hub::new(hub.client(), "ephemeral-cluster", "ci"),
            reach,
            GuestLimiter::default(),
            "me",
            Patience { hub: moment, build_clusters: moment },
            || "2026-01-01T02:00:00.123456Z".parse::<Timestamp>().unwrap(),
        );
        Self { hub, build_cluster, executor }
    }

    /// With an EphemeralCluster on the hub.
    fn with(object: Value) -> (Self, EphemeralCluster) {
        let bench = Self::new();
        let stored = bench.hub.put(OBJECT, object);
        (bench, decode(stored))
    }

    /// Does one action.
    async fn act(&self, object: &EphemeralCluster, action: Operation) -> Result<ExecutionResult, String> {
        let step = Plan { actions: vec![action], ..Plan::default() };
        let done = self.executor.run(Some(object.clone()), &step).await;
        done.map_err(|ExecutionFailure { error, .. }| format!("{}/{}", error.action, error.reason.as_str()))
    }
}

fn decode(object: Value) -> EphemeralCluster {
    serde_json::from_value(object).unwrap()
}

fn plain() -> Value {
    json!({ "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster", "metadata": { "uid": "u" }, "spec": {} })
}

fn credentials(kubeconfig: &str) -> Credentials {
    Credentials {
        kubeconfig: Redacted(kubeconfig.into()),
        password: Redacted(Vec::new()),
        source_revision: format!("build01/ci-op-x:cluster-provisioning@{}", kubeconfig.len()),
    }
}

/// `true` if a text repeats the secret: plain, in the encoding of a Secret, or as Rust prints its bytes.
fn tells(text: &str) -> bool {
    [CONFIDENTIAL.to_owned(), BASE64_STANDARD.encode(CONFIDENTIAL), format!("{:?}", CONFIDENTIAL.as_bytes())]
        .iter()
        .any(|form| text.contains(form))
}

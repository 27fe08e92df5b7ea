//! A claim that goes while it is looked at.

use std::{convert::Infallible, sync::Arc};

use http::{Request, Response};
use kube::client::Body;
use testplatform_apis::duration::GoDuration;
use tokio::{sync::Semaphore, task::yield_now};

use super::*;
use crate::cleanup::next::{Run, RunKind};

const KEY: &str = "testplatformclusters/a/one";
/// The run that owns it, which goes on.
const RUN: &str = r#"{ "apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata":
    { "name": "run", "namespace": "a", "uid": "of-the-run", "resourceVersion": "7" } }"#;

fn seen() -> Seen {
    let run = Run {
        kind: RunKind::PipelineRun,
        namespace: "a".into(),
        name: "run".into(),
        uid: "of-the-run".into(),
    };
    let claim = Claim {
        kept: Some(GoDuration::from_mins(10)),
        namespace: "a".into(),
        runs: vec![run],
        asked: None,
        failed: None,
        ends: false,
        note: None,
    };
    let identity = Identity {
        kind: "TestPlatformCluster",
        namespace: "a".into(),
        name: "one".into(),
        uid: "of-the-claim".into(),
        version: "1".into(),
    };
    Seen { claim, identity, flavour: Cleaned::Claims }
}

/// Whether the run of a claim is followed after a look, during which the claim may go.
async fn is_followed(goes: bool) -> bool {
    let answers = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&answers);
    let service = tower::service_fn(move |_: Request<Body>| {
        let waits = Arc::clone(&waits);
        async move {
            drop(waits.acquire().await);
            Ok::<_, Infallible>(Response::new(Body::from(RUN.as_bytes().to_vec())))
        }
    });
    let client = Client::new(service, "default");
    let controller = Controller {
        runs: Runs::new(client.clone(), unbounded_channel().0),
        client,
        instance: "me".into(),
        now: || Timestamp::UNIX_EPOCH,
        poll: NET,
        metrics: Metrics::default(),
        claims: Mutex::new(BTreeMap::from([(KEY.to_owned(), seen())])),
        told: Mutex::default(),
        noted: Mutex::default(),
    };
    let meanwhile = async {
        yield_now().await;
        if goes {
            controller.forget(KEY);
        }
        answers.add_permits(1);
    };
    tokio::join!(controller.look(KEY), meanwhile);
    controller.runs.follows(KEY)
}

#[tokio::test]
async fn the_runs_of_a_claim_that_goes_during_a_look_are_followed_no_longer() {
    assert!(is_followed(false).await);
    assert!(!is_followed(true).await);
}

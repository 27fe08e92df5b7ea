//! A hub that is not ready.

use std::convert::Infallible;

use http::{Request, Response, StatusCode};
use kube::client::Body;
use prometheus_client::registry::Registry;
use testplatform_apis::byoc::REQUEST;
use testplatform_runtime::metrics::ControllerMetrics as _;
use tokio::time::sleep;

use super::*;

fn encode_metrics(metrics: &SecretSyncMetrics) -> String {
    let (mut registry, mut text) = (Registry::default(), String::new());
    metrics.register_metrics(&mut registry);
    metrics.runtime_metrics().register_metrics(&mut registry);
    metrics.refresh_gauges();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text
}

const KEY: &str = "xtestplatformclusters//one";
const HUB: &str = "hive-1";

fn controller(client: Client, hub: Client) -> SecretSyncController {
    let order = SyncRequest {
        name: "one".into(),
        tenant: "a".into(),
        hub: Some(HUB.into()),
        namespace: Some("byoc-one".into()),
        brings: vec![],
        over: false,
    };
    let (hubs, now) = (Hubs::one(HUB, hub), || Timestamp::UNIX_EPOCH);
    let controller = SecretSyncController::new(client, hubs, vec![Carried::Claims], NET, now, Arc::default());
    controller.lock_requests().insert(KEY.to_owned(), order);
    controller
}

/// Its namespace is not made there, or does not let the carrier in.
#[tokio::test(start_paused = true)]
async fn unready_hub_is_polled_with_backoff() {
    let absent = format!(
        r#"{{ "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
            "details": {{ "name": "{REQUEST}", "kind": "configmaps" }} }}"#
    );
    let shut = r#"{ "kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden" }"#;
    for (code, text) in [(StatusCode::NOT_FOUND, &*absent), (StatusCode::FORBIDDEN, shut)] {
        let (start, text) = (Instant::now(), text.to_owned());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let service = tower::service_fn(move |_: Request<Body>| {
            log.lock().unwrap().push(start.elapsed().as_secs());
            let mut answer = Response::new(Body::from(text.clone().into_bytes()));
            *answer.status_mut() = code;
            async move { Ok::<_, Infallible>(answer) }
        });
        let hub = Client::new(service, "default");
        let controller = controller(hub.clone(), hub);
        controller.queue.push(KEY);
        controller::reconcile_queued(&controller, sleep(Duration::from_secs(130))).await;
        assert_eq!(*asked.lock().unwrap(), [0, 5, 15, 35, 65, 95, 125], "{code}");
        let told = encode_metrics(&controller.metrics);
        for line in [
            r#"testplatform_secret_sync_claims{state="waiting"} 1"#,
            r#"testplatform_secret_sync_reconciles_total{outcome="failing"} 0"#,
        ] {
            assert!(told.contains(line), "{line}: {told}");
        }
    }
}

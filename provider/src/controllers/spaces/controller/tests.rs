//! A space that goes, and what is published for it.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use http::{Method, Request, Response, StatusCode};
use kube::{Client, client::Body};
use testplatform_runtime::controller::{reconcile, reconcile_queued};
use tokio::time::sleep;

use super::*;

/// On its way out, as long as it is there.
const NAMESPACE: &str = r#"{ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata":
    { "name": "one", "uid": "of-the-space", "deletionTimestamp": "2026-03-02T12:00:00Z" } }"#;

/// Response of an API server for a missing object.
fn respond_not_found(request: &Request<Body>) -> String {
    let name = request.uri().path().rsplit('/').next().unwrap_or_default();
    let details = serde_json::json!({ "name": name });
    serde_json::json!({ "kind": "Status", "code": 404, "reason": "NotFound", "details": details }).to_string()
}

fn published() -> String {
    let labels = serde_json::json!(owner("one", "of-the-space").labels());
    format!(
        r#"{{ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata":
            {{ "name": "one-credentials", "uid": "of-the-secret", "labels": {labels} }} }}"#
    )
}

fn controller(client: Client) -> SpaceController {
    let options = Options::new(client, Spaces::default(), || Timestamp::UNIX_EPOCH);
    SpaceController::new(options, Arc::default())
}

/// A list may lack an object that existed when the watch broke off, and no other event reports its deletion.
#[tokio::test(start_paused = true)]
async fn published_credentials_are_deleted_with_their_namespace_without_an_event() {
    let (there, removed) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (is_there, deletions) = (Arc::clone(&there), Arc::clone(&removed));
    let service = tower::service_fn(move |request: Request<Body>| {
        let is_removed = deletions.load(Ordering::Relaxed) > 0;
        let is_secret = request.uri().path().ends_with("/secrets/one-credentials");
        let (code, text) = match (request.method() == Method::DELETE, is_secret) {
            (true, _) => {
                deletions.fetch_add(1, Ordering::Relaxed);
                (StatusCode::OK, r#"{ "kind": "Status", "status": "Success" }"#.to_owned())
            }
            (false, true) if !is_removed => (StatusCode::OK, published()),
            (false, false) if is_there.load(Ordering::Relaxed) => (StatusCode::OK, NAMESPACE.to_owned()),
            (false, _) => (StatusCode::NOT_FOUND, respond_not_found(&request)),
        };
        let mut answer = Response::new(Body::from(text.into_bytes()));
        *answer.status_mut() = code;
        async move { Ok::<_, Infallible>(answer) }
    });
    let controller = controller(Client::new(service, "default"));
    controller.queue.push("one");
    let vanishes = async {
        sleep(Duration::from_mins(1)).await;
        assert_eq!(removed.load(Ordering::Relaxed), 0, "before it is gone");
        there.store(false, Ordering::Relaxed);
        sleep(Duration::from_mins(15)).await;
    };
    reconcile_queued(&controller, vanishes).await;
    assert_eq!(removed.load(Ordering::Relaxed), 1);
    assert_eq!(
        reconcile(&controller, &"one".to_owned(), false).await.action,
        Action::AwaitChange,
        "nothing is left to be looked at"
    );
}

/// Anyone who may patch Secrets can block the deletion of one.
#[tokio::test(start_paused = true)]
async fn a_secret_with_a_finalizer_is_not_withdrawn_repeatedly() {
    let (removed, read) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (deletions, reads) = (Arc::clone(&removed), Arc::clone(&read));
    let service = tower::service_fn(move |request: Request<Body>| {
        let is_secret = request.uri().path().ends_with("/secrets/one-credentials");
        let (code, text) = match (request.method() == Method::DELETE, is_secret) {
            (true, _) => {
                deletions.fetch_add(1, Ordering::Relaxed);
                (StatusCode::OK, r#"{ "kind": "Status", "status": "Success" }"#.to_owned())
            }
            (false, true) => {
                let mut secret: serde_json::Value = serde_json::from_str(&published()).unwrap();
                if deletions.load(Ordering::Relaxed) > 0 {
                    secret["metadata"]["deletionTimestamp"] = "2026-03-02T12:00:00Z".into();
                }
                (StatusCode::OK, secret.to_string())
            }
            // Each reconcile reads the namespace once.
            (false, false) => {
                reads.fetch_add(1, Ordering::Relaxed);
                (StatusCode::NOT_FOUND, respond_not_found(&request))
            }
        };
        let mut answer = Response::new(Body::from(text.into_bytes()));
        *answer.status_mut() = code;
        async move { Ok::<_, Infallible>(answer) }
    });
    let controller = controller(Client::new(service, "default"));
    controller.queue.push("one");
    reconcile_queued(&controller, sleep(Duration::from_mins(1))).await;
    assert_eq!(removed.load(Ordering::Relaxed), 1);
    assert_eq!(read.load(Ordering::Relaxed), 2, "reconciles");
}

/// Something in between, or an API server that does not serve what it should.
#[tokio::test]
async fn published_credentials_stay_unless_the_namespace_is_known_to_be_deleted() {
    let service = tower::service_fn(|request: Request<Body>| {
        assert_eq!(request.method(), Method::GET, "{}", request.uri());
        let is_secret = request.uri().path().ends_with("/secrets/one-credentials");
        let (code, text) = if is_secret {
            (StatusCode::OK, published())
        } else {
            (StatusCode::NOT_FOUND, "404 page not found".to_owned())
        };
        let mut answer = Response::new(Body::from(text.into_bytes()));
        *answer.status_mut() = code;
        async move { Ok::<_, Infallible>(answer) }
    });
    let controller = controller(Client::new(service, "default"));
    assert_eq!(reconcile(&controller, &"one".to_owned(), false).await.action, Action::Backoff);
}

/// Both came between the two reads of a look.
#[tokio::test]
async fn what_came_with_its_namespace_while_that_was_looked_for_stays() {
    let requested = Arc::new(AtomicBool::new(false));
    let service = tower::service_fn(move |request: Request<Body>| {
        assert_eq!(request.method(), Method::GET, "{}", request.uri());
        let is_secret = request.uri().path().ends_with("/secrets/one-credentials");
        let (code, text) = match (requested.swap(true, Ordering::Relaxed), is_secret) {
            (false, _) => (StatusCode::NOT_FOUND, respond_not_found(&request)),
            (true, true) => (StatusCode::OK, published()),
            (true, false) => (StatusCode::OK, NAMESPACE.to_owned()),
        };
        let mut answer = Response::new(Body::from(text.into_bytes()));
        *answer.status_mut() = code;
        async move { Ok::<_, Infallible>(answer) }
    });
    let controller = controller(Client::new(service, "default"));
    assert_eq!(reconcile(&controller, &"one".to_owned(), false).await.action, Action::AwaitChange);
}

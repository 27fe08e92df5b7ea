//! Plain HTTP for probes and Prometheus: a kubelet speaks neither gRPC over TLS nor has it a certificate.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{
    Router,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
    routing::get,
};

use crate::edge::metrics::Metrics;

/// Whether calls are welcome.
#[derive(Clone, Default)]
pub(super) struct Ready(Arc<AtomicBool>);

impl Ready {
    pub(super) fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

pub(super) fn router(ready: Ready, metrics: Metrics) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route(
            "/readyz",
            get(async move || {
                if ready.get() {
                    (StatusCode::OK, "ok\n")
                } else {
                    (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
                }
            }),
        )
        .route("/metrics", get(async move || exposition(&metrics)))
}

fn exposition(metrics: &Metrics) -> Response {
    match metrics.encode() {
        Ok(text) => ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text)
            .into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

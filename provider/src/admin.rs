//! Plain HTTP for probes and Prometheus.

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

use crate::metrics::Metrics;

/// Whether the process does what it is for: it leads, or waits to.
///
/// A replica that waits is ready too. A Deployment replaces the old pod only when the new one is ready, and the new one
/// can lead only when the old one is gone.
#[derive(Clone, Default)]
pub struct Ready(Arc<AtomicBool>);

impl Ready {
    /// From now on it is, or is not.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// `/healthz`, `/readyz` and `/metrics`.
pub fn router(ready: Ready, metrics: Metrics) -> Router {
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

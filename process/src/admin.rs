//! Plain HTTP for probes and Prometheus: a kubelet speaks neither gRPC over TLS nor has it a certificate.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Router,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
    routing::get,
};

/// Whether the process does what it is for, or is to be left alone. Clones share it.
#[derive(Clone, Debug, Default)]
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

/// `/healthz`, `/readyz` and `/metrics`; `metrics` writes the last, as text that Prometheus reads.
pub fn router(
    ready: Ready,
    metrics: impl Fn() -> Result<String, fmt::Error> + Clone + Send + Sync + 'static,
) -> Router {
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
        .route("/metrics", get(async move || exposition(metrics())))
}

fn exposition(metrics: Result<String, fmt::Error>) -> Response {
    match metrics {
        Ok(text) => ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text)
            .into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

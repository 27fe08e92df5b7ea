//! A gRPC service whose unary calls are counted and timed, those included that never reach the handler.

use std::{convert::Infallible, time::Instant};

use tonic::{
    Code, Status,
    body::Body,
    codegen::{BoxFuture, Context, Poll, Service, http},
    server::NamedService,
};

use super::{
    incomplete::IncompleteRequests,
    metrics::{Handled, Method, Metrics},
    trimmed::Trimmed,
};

/// Wraps a generated server.
#[derive(Clone)]
pub struct Measured<S> {
    inner: S,
    metrics: Metrics,
}

impl<S> Measured<S> {
    /// Counts the calls of `inner` in `metrics`.
    pub fn new(inner: S, metrics: Metrics) -> Self {
        Self { inner, metrics }
    }
}

impl<S: NamedService> NamedService for Measured<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Measured<S>
where
    S: NamedService + Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        // Labels are known names only; what a client makes up must not become a time series.
        let method = match request.uri().path().rsplit('/').next() {
            Some("RunFunction") => "RunFunction",
            Some("Check") => "Check",
            _ => return Box::pin(self.inner.call(request)),
        };
        let request = if method == "RunFunction" {
            let connection = request.extensions().get::<IncompleteRequests>().cloned().unwrap_or_default();
            request.map(|body| Body::new(Trimmed::new(body, connection)))
        } else {
            request
        };
        let labels = Method { grpc_type: "unary", grpc_service: S::NAME, grpc_method: method };
        let call = Call::start(self.metrics.clone(), labels);
        let response = self.inner.call(request);
        Box::pin(async move {
            let mut response = response.await?;
            // A unary call's status is in the headers unless it is OK.
            let status = Status::from_header_map(response.headers());
            let mut code = status.as_ref().map_or(Code::Ok, Status::code);
            if let Some(status) = status.filter(|status| status.code() == Code::OutOfRange) {
                // The handler never says so, only tonic does, of a message over the limit; gRPC servers in
                // other languages call that RESOURCE_EXHAUSTED, and operators look for it.
                let message = format!("{}; see --max-recv-message-size", status.message());
                response = Status::resource_exhausted(message).into_http();
                code = Code::ResourceExhausted;
            }
            call.end(code);
            Ok(response)
        })
    }
}

/// A running call. A call that is dropped without an end was cancelled, by its client or its deadline.
struct Call {
    metrics: Metrics,
    method: Method,
    start: Instant,
    code: Code,
}

impl Call {
    fn start(metrics: Metrics, method: Method) -> Self {
        metrics.started.get_or_create(&method).inc();
        Self { metrics, method, start: Instant::now(), code: Code::Cancelled }
    }

    fn end(mut self, code: Code) {
        self.code = code;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let handled = Handled { method: self.method.clone(), grpc_code: code_name(self.code) };
        self.metrics.handled.get_or_create(&handled).inc();
        self.metrics.observe_handling(&self.method, self.start.elapsed().as_secs_f64());
    }
}

/// The code as the Go middleware writes it, whose dashboards these metrics are for.
fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "Canceled",
        Code::Unknown => "Unknown",
        Code::InvalidArgument => "InvalidArgument",
        Code::DeadlineExceeded => "DeadlineExceeded",
        Code::NotFound => "NotFound",
        Code::AlreadyExists => "AlreadyExists",
        Code::PermissionDenied => "PermissionDenied",
        Code::ResourceExhausted => "ResourceExhausted",
        Code::FailedPrecondition => "FailedPrecondition",
        Code::Aborted => "Aborted",
        Code::OutOfRange => "OutOfRange",
        Code::Unimplemented => "Unimplemented",
        Code::Internal => "Internal",
        Code::Unavailable => "Unavailable",
        Code::DataLoss => "DataLoss",
        Code::Unauthenticated => "Unauthenticated",
    }
}

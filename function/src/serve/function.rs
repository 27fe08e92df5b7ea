//! The gRPC service around [`testplatform_composites::run`]: what may go wrong there must not go wrong here.
//!
//! A call is answered by exactly one of: what the function said, untouched; or, if it panicked or said more
//! than Crossplane can receive, one FATAL result. After a FATAL Crossplane leaves everything as it is, while
//! an answer with half a desired state would make it delete the other half.
//!
//! The handler needs a fraction of a millisecond of CPU and nothing else, so it runs where the request was
//! decoded. Resources of other steps and the context are raw bytes from the request to the response
//! ([`testplatform_composites::sdk::proto`]), so that passing them through is a reference count, and exact.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use jiff::Timestamp;
use prost::Message as _;
use serde::Deserialize;
use testplatform_apis::condition::FatalReason;
use testplatform_composites::{
    Options,
    sdk::{
        fatal::{build_fatal, repeat_conditions},
        proto::{self, RunFunctionRequest, RunFunctionResponse, Severity},
        wire,
    },
};
use testplatform_process::{
    panics,
    trace_context::{HEADER, TraceContext, continue_trace},
};
use tonic::{Request, Response, Status, async_trait};
use tracing::Span;

use super::metrics::Metrics;

/// The largest response that Crossplane receives. Its client keeps grpc-go's default, and no flag changes it.
pub const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;

type Handler = dyn Fn(&RunFunctionRequest, Timestamp) -> RunFunctionResponse + Send + Sync;

/// The function as a service, under both of its names.
pub struct Function {
    handler: Box<Handler>,
    clock: fn() -> Timestamp,
    metrics: Metrics,
}

impl Function {
    /// Serves [`testplatform_composites::run`]; `clock` says what time it is when a request arrives.
    pub fn new(options: Options, clock: fn() -> Timestamp, metrics: Metrics) -> Self {
        Self::with_handler(
            move |request, now| testplatform_composites::run(request, &options, now),
            clock,
            metrics,
        )
    }

    /// Serves another handler: tests have slow, huge and panicking ones.
    pub fn with_handler(
        handler: impl Fn(&RunFunctionRequest, Timestamp) -> RunFunctionResponse + Send + Sync + 'static,
        clock: fn() -> Timestamp,
        metrics: Metrics,
    ) -> Self {
        Self { handler: Box::new(handler), clock, metrics }
    }

    /// Counters and histograms.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Answers one call, whatever the handler does.
    pub fn answer(&self, request: &RunFunctionRequest) -> RunFunctionResponse {
        self.answer_traced(request, None)
    }

    fn answer_call(&self, request: &Request<RunFunctionRequest>) -> RunFunctionResponse {
        let caller = request.metadata().get(HEADER).and_then(|header| header.to_str().ok());
        self.answer_traced(request.get_ref(), caller.and_then(TraceContext::parse))
    }

    /// Answers one call in a span of its own, which continues the trace of its caller.
    fn answer_traced(
        &self,
        request: &RunFunctionRequest,
        caller: Option<TraceContext<'_>>,
    ) -> RunFunctionResponse {
        let start = Instant::now();
        let xr = read_identity(request);
        let span = call_span(&xr, caller);
        if let Some(caller) = &caller {
            continue_trace(&span, caller);
        }
        let _entered = span.entered();
        let now = (self.clock)();
        let mut response =
            catch_unwind(AssertUnwindSafe(|| (self.handler)(request, now))).unwrap_or_else(|payload| {
                // Dropped unread: a panic's message may quote the request.
                drop(payload);
                self.metrics.panics.inc();
                let place = panics::take_place().map(|place| format!(" at {place}")).unwrap_or_default();
                let message = format!("internal error: the function panicked{place}; nothing was changed");
                // A request that caused a panic once may do so again.
                let shown = catch_unwind(AssertUnwindSafe(|| repeat_conditions(request)));
                build_internal_error(request, message, shown.unwrap_or_default())
            });
        let mut bytes = response.encoded_len();
        if bytes > MAX_RESPONSE_BYTES {
            let incoming = request.desired.as_ref().map_or(0, proto::State::encoded_len)
                + request.context.as_ref().map_or(0, prost::bytes::Bytes::len);
            let message = format!(
                "the response has {bytes} bytes, {incoming} of them from earlier steps of the pipeline; \
                 Crossplane receives at most {MAX_RESPONSE_BYTES}, so nothing was changed"
            );
            // Not those of this answer: they would tell of what was not done.
            response = build_internal_error(request, message, repeat_conditions(request));
            bytes = response.encoded_len();
        }
        self.metrics.observe(&response, bytes);
        log_call(request, &xr, &response, bytes, start);
        response
    }
}

/// A FATAL that Crossplane can receive.
fn build_internal_error(
    request: &RunFunctionRequest,
    message: String,
    conditions: Vec<proto::Condition>,
) -> RunFunctionResponse {
    let mut response = build_fatal(request, FatalReason::InternalError.as_str(), message, conditions);
    // A request has no size limit at core. Core does not apply the desired state of a FATAL, so it may be left out.
    if response.encoded_len() > MAX_RESPONSE_BYTES {
        (response.desired, response.context) = (None, None);
    }
    if response.encoded_len() > MAX_RESPONSE_BYTES {
        response.conditions.clear();
    }
    response
}

/// Names from a request's metadata, and nothing else of it.
#[derive(Default, Deserialize)]
struct Identity<'a> {
    #[serde(default, rename = "apiVersion")]
    api_version: &'a str,
    #[serde(default)]
    kind: &'a str,
    #[serde(default, borrow)]
    metadata: Metadata<'a>,
}

#[derive(Default, Deserialize)]
struct Metadata<'a> {
    #[serde(default)]
    namespace: &'a str,
    #[serde(default)]
    name: &'a str,
    #[serde(default)]
    uid: &'a str,
}

fn read_identity(request: &RunFunctionRequest) -> Identity<'_> {
    let composite = request.observed.as_ref().and_then(|observed| observed.composite.as_ref());
    composite.and_then(|xr| wire::from_struct(&xr.resource).ok()).unwrap_or_default()
}

/// Span of a call: the composite, and the trace of the caller if it has one.
fn call_span(xr: &Identity<'_>, caller: Option<TraceContext<'_>>) -> Span {
    let (namespace, trace_id, parent_id) = (
        Some(xr.metadata.namespace).filter(|namespace| !namespace.is_empty()),
        caller.map(|caller| caller.trace_id),
        caller.map(|caller| caller.parent_id),
    );
    let (name, uid) = (xr.metadata.name, xr.metadata.uid);
    tracing::info_span!("RunFunction", kind = xr.kind, namespace, name, uid, trace_id, parent_id)
}

fn log_call(
    request: &RunFunctionRequest,
    xr: &Identity<'_>,
    response: &RunFunctionResponse,
    bytes: usize,
    start: Instant,
) {
    let results = |severity: Severity| {
        response.results.iter().filter(|result| result.severity == i32::from(severity)).count()
    };
    let fatal = results(Severity::Fatal);
    tracing::info!(
        tag = request.meta.as_ref().map(|meta| meta.tag.as_str()).unwrap_or_default(),
        xr_api_version = xr.api_version,
        xr_kind = xr.kind,
        xr_namespace = xr.metadata.namespace,
        xr_name = xr.metadata.name,
        seconds = start.elapsed().as_secs_f64(),
        bytes,
        fatal,
        warning = results(Severity::Warning),
        normal = results(Severity::Normal),
        "{}",
        if fatal > 0 { "function failed" } else { "function ran" },
    );
}

#[async_trait]
impl proto::v1::function_runner_service_server::FunctionRunnerService for Function {
    async fn run_function(
        &self,
        request: Request<RunFunctionRequest>,
    ) -> Result<Response<RunFunctionResponse>, Status> {
        Ok(Response::new(self.answer_call(&request)))
    }
}

#[async_trait]
impl proto::v1beta1::function_runner_service_server::FunctionRunnerService for Function {
    async fn run_function(
        &self,
        request: Request<RunFunctionRequest>,
    ) -> Result<Response<RunFunctionResponse>, Status> {
        Ok(Response::new(self.answer_call(&request)))
    }
}

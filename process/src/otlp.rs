//! Export of spans over OTLP, in a build with feature `otlp`: to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names.

use opentelemetry::{
    Context,
    trace::{
        SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState, TracerProvider as _,
    },
};
use opentelemetry_otlp::{OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, SpanExporter};
use opentelemetry_sdk::{
    Resource,
    trace::{SdkTracer, SdkTracerProvider},
};
use tokio::runtime::{Builder, Runtime};
use tracing::{Span, Subscriber};
use tracing_opentelemetry::{OpenTelemetryLayer, OpenTelemetrySpanExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::trace_context::TraceContext;

/// A running export, with a runtime of its own for the connection: spans exist before the program has one.
pub struct Export {
    pub(crate) provider: SdkTracerProvider,
    runtime: Runtime,
}

impl Export {
    /// Exports the last spans.
    ///
    /// # Errors
    ///
    /// If the collector does not take them.
    pub fn finish(self) -> Result<(), String> {
        let result = self.provider.shutdown().map_err(|error| error.to_string());
        self.runtime.shutdown_background();
        result
    }
}

/// Starts the export if the environment names a collector.
///
/// # Errors
///
/// If the exporter cannot be configured as the environment says.
pub fn start(service: &'static str) -> Result<Option<Export>, String> {
    let variables = [OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT];
    if variables.iter().all(|name| std::env::var_os(name).is_none_or(|value| value.is_empty())) {
        return Ok(None);
    }
    let failed = |error: &dyn std::fmt::Display| format!("cannot export spans: {error}");
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| failed(&error))?;
    let entered = runtime.enter();
    let exporter = SpanExporter::builder().with_tonic().build().map_err(|error| failed(&error))?;
    drop(entered);
    Ok(Some(Export { provider: start_with(exporter, service), runtime }))
}

fn start_with(
    exporter: impl opentelemetry_sdk::trace::SpanExporter + 'static,
    service: &'static str,
) -> SdkTracerProvider {
    let resource = Resource::builder().with_service_name(service).build();
    SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build()
}

/// The layer that turns spans into those of a provider. Events are log lines, and are not exported.
pub(crate) fn layer<S>(provider: &SdkTracerProvider) -> OpenTelemetryLayer<S, SdkTracer>
where
    S: Subscriber + for<'l> LookupSpan<'l>,
{
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("testplatform"))
        .with_location(false)
        .with_threads(false)
}

/// Makes a span the child of its caller's.
pub fn continue_trace(span: &Span, caller: &TraceContext<'_>) {
    let ids = (TraceId::from_hex(caller.trace_id), SpanId::from_hex(caller.parent_id));
    let (Ok(trace), Ok(parent)) = ids else { return };
    let flags = if caller.sampled { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
    let remote = SpanContext::new(trace, parent, flags, true, TraceState::default());
    // Fails only without the layer, and then nothing is exported.
    let _ = span.set_parent(Context::new().with_remote_span_context(remote));
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use opentelemetry_otlp::WithExportConfig as _;
    use tokio::net::TcpListener;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const PARENT: &str = "b7ad6b7169203331";

    /// Answers one export as a collector does. Returns its path and message.
    async fn collect(listener: TcpListener) -> (String, Vec<u8>) {
        let (stream, _) = listener.accept().await.unwrap();
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let received = Arc::new(Mutex::new(None));
        while let Some(request) = connection.accept().await {
            let (request, mut respond) = request.unwrap();
            let received = Arc::clone(&received);
            tokio::spawn(async move {
                let (head, mut body) = request.into_parts();
                let mut message = Vec::new();
                while let Some(chunk) = body.data().await {
                    let chunk = chunk.unwrap();
                    let _ = body.flow_control().release_capacity(chunk.len());
                    message.extend_from_slice(&chunk);
                }
                *received.lock().unwrap() = Some((head.uri.path().to_owned(), message));
                let head =
                    hyper::Response::builder().header("content-type", "application/grpc").body(()).unwrap();
                let mut answer = respond.send_response(head, false).unwrap();
                // An empty message: not compressed, of no bytes.
                answer.send_data(hyper::body::Bytes::from_static(&[0; 5]), false).unwrap();
                let status = [("grpc-status", "0")].map(|(name, value)| {
                    (
                        hyper::header::HeaderName::from_static(name),
                        hyper::header::HeaderValue::from_static(value),
                    )
                });
                answer.send_trailers(status.into_iter().collect()).unwrap();
            });
        }
        let received = received.lock().unwrap().take();
        received.unwrap()
    }

    fn contains(message: &[u8], part: &[u8]) -> bool {
        message.windows(part.len()).any(|window| window == part)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn spans_reach_the_collector_in_the_trace_of_their_caller() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let collector = tokio::spawn(collect(listener));
        let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build().unwrap();
        let provider = start_with(exporter, "service-of-this-test");
        let subscriber = tracing_subscriber::registry().with(layer(&provider));
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("RunFunction", kind = "XTestPlatformCluster", name = "mine");
            let caller = TraceContext { trace_id: TRACE, parent_id: PARENT, sampled: true };
            continue_trace(&span, &caller);
            span.in_scope(|| tracing::info!("function ran"));
        });
        tokio::task::spawn_blocking(move || {
            provider.force_flush().unwrap();
            provider.shutdown().unwrap();
        })
        .await
        .unwrap();
        let (path, message) = collector.await.unwrap();
        assert_eq!(path, "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
        for text in ["service-of-this-test", "RunFunction", "XTestPlatformCluster", "mine"] {
            assert!(contains(&message, text.as_bytes()), "{text}");
        }
        let id = |hex: &str| {
            let digits =
                (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
            digits.collect::<Vec<u8>>()
        };
        assert!(contains(&message, &id(TRACE)) && contains(&message, &id(PARENT)));
    }

    #[test]
    fn without_a_collector_nothing_is_exported() {
        // No test of this process sets the variables.
        assert!(start("service").unwrap().is_none());
    }
}

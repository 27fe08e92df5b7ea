//! Counters and histograms: the standard metrics of a gRPC server, so that existing dashboards work, and our own.

use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{
        counter::Counter,
        family::{Family, MetricConstructor},
        histogram::Histogram,
        info::Info,
    },
    registry::{Registry, Unit},
};
use testplatform_composites::sdk::proto::{RunFunctionResponse, Severity};
use testplatform_process::metrics::add_earlier_names;

/// Go's default buckets, and finer ones below: a call takes well under a millisecond.
const SECONDS: [f64; 16] =
    [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Up to core's limit of 4 MiB.
const BYTES: [f64; 7] = [1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0, 4_194_304.0];

/// Every metric by the name under which Prometheus has it, for rules and panels; histograms without `_bucket`, `_sum` and `_count`.
pub const EXPORTED: [&str; 9] = [
    "grpc_server_handled_total",
    "grpc_server_handling_seconds",
    "grpc_server_started_total",
    "testplatform_function_build_info",
    "testplatform_function_panics_total",
    "testplatform_function_response_bytes",
    "testplatform_function_results_total",
    "testplatform_function_tls_certificate_loads_total",
    "testplatform_function_tls_handshake_failures_total",
];

/// Metrics that had another name until 0.1, and are exported under both for one release: the earlier name, and the current one.
pub const RENAMED: [(&str, &str); 6] = [
    ("function_build_info", "testplatform_function_build_info"),
    ("function_panics_total", "testplatform_function_panics_total"),
    ("function_response_bytes", "testplatform_function_response_bytes"),
    ("function_results_total", "testplatform_function_results_total"),
    ("function_tls_certificate_loads_total", "testplatform_function_tls_certificate_loads_total"),
    ("function_tls_handshake_failures_total", "testplatform_function_tls_handshake_failures_total"),
];

/// One method of one service.
#[expect(clippy::struct_field_names, reason = "the labels of the standard metrics")]
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct Method {
    pub(super) grpc_type: &'static str,
    pub(super) grpc_service: &'static str,
    pub(super) grpc_method: &'static str,
}

/// One method and how its call ended.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct Handled {
    #[prometheus(flatten)]
    pub(super) method: Method,
    pub(super) grpc_code: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SeverityLabel {
    severity: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Clone)]
struct Latency;

impl MetricConstructor<Histogram> for Latency {
    fn new_metric(&self) -> Histogram {
        Histogram::new(SECONDS)
    }
}

/// Handles to all metrics; clones share them.
#[derive(Clone)]
pub struct Metrics {
    pub(super) started: Family<Method, Counter>,
    pub(super) handled: Family<Handled, Counter>,
    handling: Family<Method, Histogram, Latency>,
    results: Family<SeverityLabel, Counter>,
    pub(super) panics: Counter,
    response_bytes: Histogram,
    handshake_failures: Counter,
    certificate_loads: Family<Outcome, Counter>,
    registry: std::sync::Arc<Registry>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let started = Family::default();
        let handled = Family::default();
        let handling = Family::new_with_constructor(Latency);
        let results = Family::default();
        let panics = Counter::default();
        let response_bytes = Histogram::new(BYTES);
        let handshake_failures = Counter::default();
        let certificate_loads = Family::default();

        registry.register("grpc_server_started", "Calls started on the server", started.clone());
        registry.register("grpc_server_handled", "Calls completed on the server", handled.clone());
        registry.register_with_unit(
            "grpc_server_handling",
            "Time until the server had answered a call",
            Unit::Seconds,
            handling.clone(),
        );
        registry.register("testplatform_function_results", "Results given, by severity", results.clone());
        registry.register(
            "testplatform_function_panics",
            "Calls in which the function panicked",
            panics.clone(),
        );
        registry.register_with_unit(
            "testplatform_function_response",
            "Size of responses",
            Unit::Bytes,
            response_bytes.clone(),
        );
        registry.register(
            "testplatform_function_tls_handshake_failures",
            "Connections refused or lost before the TLS handshake was done",
            handshake_failures.clone(),
        );
        registry.register(
            "testplatform_function_tls_certificate_loads",
            "Attempts to load certificates that changed on disk",
            certificate_loads.clone(),
        );
        registry.register(
            "testplatform_function_build",
            "The version that is running",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        Self {
            started,
            handled,
            handling,
            results,
            panics,
            response_bytes,
            handshake_failures,
            certificate_loads,
            registry: std::sync::Arc::new(registry),
        }
    }
}

impl Metrics {
    /// Everything in the text format of `OpenMetrics`.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        Ok(add_earlier_names(&self.encode_current()?, &RENAMED))
    }

    /// Everything under current names alone.
    fn encode_current(&self) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }

    pub(super) fn observe(&self, response: &RunFunctionResponse, bytes: usize) {
        for result in &response.results {
            let severity = match result.severity() {
                Severity::Fatal => "fatal",
                Severity::Normal => "normal",
                // As core takes it.
                Severity::Warning | Severity::Unspecified => "warning",
            };
            self.results.get_or_create(&SeverityLabel { severity }).inc();
        }
        #[expect(clippy::cast_precision_loss, reason = "responses are far smaller than 2^53 bytes")]
        self.response_bytes.observe(bytes as f64);
    }

    pub(super) fn observe_handling(&self, method: &Method, seconds: f64) {
        self.handling.get_or_create(method).observe(seconds);
    }

    /// A connection ended before its TLS handshake was done.
    pub(crate) fn handshake_failed(&self) {
        self.handshake_failures.inc();
    }

    /// Certificates changed on disk and were taken, or not.
    pub(crate) fn certificates_loaded(&self, ok: bool) {
        let outcome = if ok { "success" } else { "failure" };
        self.certificate_loads.get_or_create(&Outcome { outcome }).inc();
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;
    use testplatform_composites::sdk::proto::Result as Said;
    use testplatform_process::metrics::list_families;

    /// Help, type and labels of every metric, from which the reference is made.
    const LISTING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/metrics.txt");

    #[test]
    fn exported_metrics_equal_the_documented_ones() {
        let metrics = Metrics::default();
        let method = Method { grpc_type: "unary", grpc_service: "service", grpc_method: "RunFunction" };
        // A family without a value is not exported.
        metrics.started.get_or_create(&method).inc();
        metrics.handled.get_or_create(&Handled { method: method.clone(), grpc_code: "OK" }).inc();
        metrics.observe_handling(&method, 0.1);
        metrics.certificates_loaded(true);
        let response =
            RunFunctionResponse { results: vec![Said::default()], ..RunFunctionResponse::default() };
        metrics.observe(&response, 1);
        let text = metrics.encode_current().unwrap();
        let listing = list_families(&text);
        if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
            fs::write(LISTING, &listing).unwrap();
        }
        assert_eq!(fs::read_to_string(LISTING).unwrap_or_default(), listing, "run `just snapshots`");
        for (earlier, current) in RENAMED {
            let both = metrics.encode().unwrap();
            for name in [earlier, current] {
                assert!(both.lines().any(|line| line.starts_with(name)), "{name}: {both}");
            }
            assert!(EXPORTED.contains(&current), "{current}");
        }
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let names: BTreeSet<&str> = samples
            .filter_map(|line| line.split(['{', ' ']).next())
            .map(|name| ["_bucket", "_sum", "_count"].iter().fold(name, |n, end| n.trim_end_matches(end)))
            .collect();
        assert_eq!(names, BTreeSet::from(EXPORTED), "{text}");
    }
}

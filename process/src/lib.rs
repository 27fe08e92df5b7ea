//! Process infrastructure shared by function and provider: probes, logs, metrics, trace context and panics. It contains none of their decisions.

pub mod admin;
pub mod logs;
pub mod metrics;
#[cfg(feature = "otlp")]
mod otlp;
pub mod panics;
pub mod trace_context;

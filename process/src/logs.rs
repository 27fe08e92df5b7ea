//! Log lines on standard error: JSON with `ts`, `level` and `msg`, as other functions write them, or text.

use std::{
    fmt::{self, Write as _},
    io::{self, IsTerminal as _},
};

use clap::ValueEnum;
use jiff::Timestamp;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_subscriber::{
    filter::Targets,
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    layer::SubscriberExt as _,
    registry::LookupSpan,
    util::SubscriberInitExt as _,
};

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One object per line.
    Json,
    /// For people.
    Text,
}

/// Starts logging to standard error.
pub fn init(debug: bool, format: Format) {
    let filter = log_filter(debug);
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let registry = tracing_subscriber::registry().with(filter);
    match format {
        Format::Json => registry.with(layer.event_format(Json)).init(),
        Format::Text => registry.with(layer.with_ansi(io::stderr().is_terminal()).with_target(debug)).init(),
    }
}

/// Log levels by target.
fn log_filter(debug: bool) -> Targets {
    let level = if debug { LevelFilter::DEBUG } else { LevelFilter::INFO };
    Targets::new()
        .with_default(level)
        // It logs an unparsed response completely, and that may be a Secret.
        .with_target("kube_client", LevelFilter::ERROR)
        // We report failed watches ourselves, each with its object.
        .with_target("kube_runtime", LevelFilter::ERROR)
        // Connections, frames and header tables are irrelevant to debugging here.
        .with_target("hyper_util", LevelFilter::INFO)
        .with_target("h2", LevelFilter::INFO)
        // One line for each request that waits for its turn.
        .with_target("tower", LevelFilter::INFO)
}

struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        #[expect(clippy::disallowed_methods, reason = "the time of a log line is not a part of any answer")]
        let now = Timestamp::now();
        // Enough for most lines without reallocation.
        let mut line = EventFields { fields: String::with_capacity(512), ..EventFields::default() };
        event.record(&mut line);
        write!(
            out,
            "{{\"ts\":\"{now:.6}\",\"level\":\"{}\",\"msg\":{}{}}}",
            level_name(*event.metadata().level()),
            if line.message.is_empty() { "\"\"" } else { &line.message },
            line.fields
        )?;
        writeln!(out)
    }
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        _ => "debug",
    }
}

/// The fields of one event, as JSON.
#[derive(Default)]
struct EventFields {
    message: String,
    fields: String,
}

impl EventFields {
    /// Appends a field whose displayed form is already JSON.
    fn write_field(&mut self, field: &Field, json: impl fmt::Display) {
        // Writing to a string cannot fail.
        let _ = if field.name() == "message" {
            write!(self.message, "{json}")
        } else {
            write!(self.fields, ",\"{}\":{json}", field.name())
        };
    }
}

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        // Most values contain no character to escape.
        if value.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
            return self.write_field(field, format_args!("\"{value}\""));
        }
        // Writing a string cannot fail.
        self.write_field(field, serde_json::to_string(value).unwrap_or_default());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // Infinity and NaN become null.
        self.write_field(field, serde_json::Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.write_field(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.write_field(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.write_field(field, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unparsed_responses_are_not_logged() {
        for debug in [false, true] {
            assert!(!log_filter(debug).would_enable("kube_client::client", &Level::WARN));
            assert!(log_filter(debug).would_enable("provider_testplatform::controllers", &Level::INFO));
            assert!(log_filter(debug).would_enable("testplatform_runtime::watch", &Level::INFO));
        }
        assert!(log_filter(true).would_enable("provider_testplatform::controllers", &Level::DEBUG));
        assert!(log_filter(true).would_enable("testplatform_runtime::watch", &Level::DEBUG));
    }
}

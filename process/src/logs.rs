//! Log lines on standard error: JSON with `ts`, `level` and `msg`, as other functions write them, or text. Fields of the span that a line is
//! in are in `span`, those of outer spans in `spans`.

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
    span::Record,
};
use tracing_subscriber::{
    field::RecordFields,
    filter::Targets,
    fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields, format::Writer},
    layer::SubscriberExt as _,
    registry::{LookupSpan, SpanRef},
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

/// Export of spans, in a build with feature `otlp`.
#[must_use = "the last spans are exported by `finish`"]
pub struct Exporting {
    #[cfg(feature = "otlp")]
    export: Option<crate::otlp::Export>,
}

impl Exporting {
    /// Exports the last spans.
    pub fn finish(self) {
        let Self {
            #[cfg(feature = "otlp")]
            export,
        } = self;
        #[cfg(feature = "otlp")]
        if let Some(error) = export.and_then(|export| export.finish().err()) {
            tracing::warn!(%error, "last spans not exported");
        }
    }
}

/// Starts logging to standard error, and the export of spans if this build has it.
///
/// # Errors
///
/// If spans cannot be exported as the environment says.
pub fn init(service: &'static str, debug: bool, format: Format) -> Result<Exporting, String> {
    let filter = log_filter(debug);
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let registry = tracing_subscriber::registry().with(filter);
    #[cfg(feature = "otlp")]
    let export = crate::otlp::start(service)?;
    #[cfg(feature = "otlp")]
    let registry = registry.with(export.as_ref().map(|export| crate::otlp::layer(&export.provider)));
    #[cfg(not(feature = "otlp"))]
    let _ = service;
    match format {
        Format::Json => registry.with(layer.fmt_fields(JsonFields).event_format(Json)).init(),
        Format::Text => registry.with(layer.with_ansi(io::stderr().is_terminal()).with_target(debug)).init(),
    }
    Ok(Exporting {
        #[cfg(feature = "otlp")]
        export,
    })
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
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        #[expect(clippy::disallowed_methods, reason = "the time of a log line is not a part of any answer")]
        let now = Timestamp::now();
        // Enough for most lines without reallocation.
        let mut line = EventFields { fields: String::with_capacity(512), ..EventFields::default() };
        event.record(&mut line);
        write!(
            out,
            "{{\"ts\":\"{now:.6}\",\"level\":\"{}\",\"msg\":{}{}",
            level_name(*event.metadata().level()),
            if line.message.is_empty() { "\"\"" } else { &line.message },
            line.fields
        )?;
        let mut spans = context.event_scope().into_iter().flatten();
        if let Some(innermost) = spans.next() {
            out.write_str(",\"span\":")?;
            write_span::<S, N>(&mut out, &innermost)?;
        }
        for (number, outer) in spans.enumerate() {
            out.write_str(if number == 0 { ",\"spans\":[" } else { "," })?;
            write_span::<S, N>(&mut out, &outer)?;
            if outer.parent().is_none() {
                out.write_char(']')?;
            }
        }
        writeln!(out, "}}")
    }
}

/// A span as an object: its name, and the fields that [`JsonFields`] wrote.
fn write_span<'a, S, N>(out: &mut Writer<'_>, span: &SpanRef<'a, S>) -> fmt::Result
where
    S: Subscriber + for<'l> LookupSpan<'l>,
    N: for<'w> FormatFields<'w> + 'static,
{
    let extensions = span.extensions();
    let fields = extensions.get::<FormattedFields<N>>().map_or("", |fields| fields.fields.as_str());
    // Not `name`, which is that of an object.
    write!(out, "{{\"operation\":\"{}\"{fields}}}", span.name())
}

/// Writes the fields of a span as the rest of an object: each with a comma before it.
struct JsonFields;

impl<'w> FormatFields<'w> for JsonFields {
    fn format_fields<R: RecordFields>(&self, mut out: Writer<'w>, fields: R) -> fmt::Result {
        let mut line = EventFields::default();
        fields.record(&mut line);
        out.write_str(&line.fields)
    }

    fn add_fields(&self, current: &'w mut FormattedFields<Self>, fields: &Record<'_>) -> fmt::Result {
        // The default adds a space between the two.
        self.format_fields(current.as_writer(), fields)
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

    /// Everything that a program logs, in JSON.
    fn logged(log: impl FnOnce()) -> Vec<serde_json::Value> {
        #[derive(Clone, Default)]
        struct Buffer(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
        impl io::Write for Buffer {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let layer = tracing_subscriber::fmt::layer().with_writer(move || writer.clone());
        let layer = layer.fmt_fields(JsonFields).event_format(Json);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), log);
        let bytes = buffer.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect()
    }

    #[test]
    fn lines_have_the_fields_of_their_spans() {
        let lines = logged(|| {
            tracing::info!(namespace = "own", "outside");
            let outer = tracing::info_span!("call", kind = "Claim", uid = tracing::field::Empty);
            outer.record("uid", "u\"1");
            let _outer = outer.enter();
            tracing::info!(namespace = "own", "in one");
            let _inner = tracing::info_span!("reconcile", name = "b", count = 3).entered();
            let _innermost = tracing::info_span!("step").entered();
            tracing::info!("in three");
        });
        assert_eq!(lines[0]["span"], serde_json::Value::Null);
        let call = serde_json::json!({ "operation": "call", "kind": "Claim", "uid": "u\"1" });
        assert_eq!(lines[1]["span"], call);
        assert_eq!(lines[1]["namespace"], "own");
        assert_eq!(lines[1]["spans"], serde_json::Value::Null);
        assert_eq!(lines[2]["span"], serde_json::json!({ "operation": "step" }));
        assert_eq!(
            lines[2]["spans"],
            serde_json::json!([{ "operation": "reconcile", "name": "b", "count": 3 }, call])
        );
    }

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

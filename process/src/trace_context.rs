//! W3C Trace Context: the trace that a caller continues, from header `traceparent`.

use std::str;

/// Name of the header, and of the key in the metadata of gRPC.
pub const HEADER: &str = "traceparent";
/// Length of the fields that every version has: `VV-TRACE-PARENT-FLAGS`.
const LENGTH: usize = 55;

/// Trace and span of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext<'h> {
    /// Trace, as 32 hexadecimal digits.
    pub trace_id: &'h str,
    /// Span of the caller, as 16 hexadecimal digits.
    pub parent_id: &'h str,
    /// Whether the caller records the trace.
    pub sampled: bool,
}

impl<'h> TraceContext<'h> {
    /// Parses the value of the header. None: it is invalid, and the recommendation says that a new trace begins.
    #[must_use]
    pub fn parse(header: &'h str) -> Option<Self> {
        let bytes = header.as_bytes();
        let fields = bytes.get(..LENGTH)?;
        let version = hexadecimal(fields.get(..2)?)?;
        let is_future = version != "00";
        // A later version may add fields, and 255 is forbidden.
        if version == "ff" || (bytes.len() > LENGTH && !(is_future && bytes[LENGTH] == b'-')) {
            return None;
        }
        if [fields[2], fields[35], fields[52]] != [b'-'; 3] {
            return None;
        }
        let trace_id = hexadecimal(&fields[3..35])?;
        let parent_id = hexadecimal(&fields[36..52])?;
        let flags = u8::from_str_radix(hexadecimal(&fields[53..])?, 16).ok()?;
        let is_zero = |id: &str| id.bytes().all(|digit| digit == b'0');
        let is_valid = !is_zero(trace_id) && !is_zero(parent_id);
        is_valid.then_some(Self { trace_id, parent_id, sampled: flags & 1 == 1 })
    }
}

/// Makes a span the child of its caller's, in a build that exports spans. In every build its fields name the trace.
pub fn continue_trace(span: &tracing::Span, caller: &TraceContext<'_>) {
    #[cfg(feature = "otlp")]
    crate::otlp::continue_trace(span, caller);
    #[cfg(not(feature = "otlp"))]
    let _ = (span, caller);
}

/// Lower-case hexadecimal digits, as the recommendation demands.
fn hexadecimal(bytes: &[u8]) -> Option<&str> {
    let digits = bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    digits.then(|| str::from_utf8(bytes).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const PARENT: &str = "b7ad6b7169203331";

    #[test]
    fn valid_headers_have_trace_and_parent() {
        for (header, sampled) in [
            (format!("00-{TRACE}-{PARENT}-01"), true),
            (format!("00-{TRACE}-{PARENT}-00"), false),
            (format!("cc-{TRACE}-{PARENT}-03-more"), true),
        ] {
            let expected = TraceContext { trace_id: TRACE, parent_id: PARENT, sampled };
            assert_eq!(TraceContext::parse(&header), Some(expected), "{header}");
        }
    }

    #[test]
    fn invalid_headers_are_ignored() {
        let zero = "0".repeat(32);
        for header in [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-{PARENT}"),
            format!("00-{TRACE}-{PARENT}-01-more"),
            format!("cc-{TRACE}-{PARENT}-01more"),
            format!("ff-{TRACE}-{PARENT}-01"),
            format!("00-{zero}-{PARENT}-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-{PARENT}-01", TRACE.to_uppercase()),
            format!("00_{TRACE}_{PARENT}_01"),
            format!("0x-{TRACE}-{PARENT}-01"),
            "ä".repeat(40),
        ] {
            assert_eq!(TraceContext::parse(&header), None, "{header}");
        }
    }
}

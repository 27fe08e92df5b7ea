//! Durations as Go writes them (`1h30m`), because every tool around this product reads and writes them so.
//!
//! Source of the rules: the documentation of Go's `time.ParseDuration` and `time.Duration.String`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// CEL rule of a duration field: a duration of at least a minute.
/// Go's syntax first, because `duration()` fails with a message of its own on anything else; without a sign, which no span of ours has.
pub(crate) const AT_LEAST_A_MINUTE: &str = "self.matches('^(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$') && duration(self) >= duration('1m')";

/// A span of time in Go's syntax: decimal numbers, each with an optional fraction and a unit
/// (`ns`, `us`, `µs`, `ms`, `s`, `m`, `h`), optionally signed, such as `90s`, `1h30m`, `1.5h` or `0`.
///
/// Like Go's, it holds whole nanoseconds in 64 bits, so its range is about ±292 years; what is larger is an error, never a wrap.
/// Two values that mean the same span are equal, however they were written; they are written back in Go's canonical form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(i64);

/// Why a text is not a duration. The sentence quotes the text, shortened, and says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text does not follow the syntax, or a number has no unit.
    #[error("{0:?} is not a duration: use numbers with a unit, such as 90s, 45m or 1h30m")]
    Syntax(String),
    /// A unit that does not exist, such as `d` for days.
    #[error("{text:?} is not a duration: unknown unit {unit:?}, use one of h, m, s, ms, us, ns")]
    Unit {
        /// The whole text, shortened.
        text: String,
        /// The unit that was not understood, shortened.
        unit: String,
    },
    /// The span does not fit in 64 bits of nanoseconds.
    #[error("{0:?} is too long a duration: the largest is about 292 years")]
    Range(String),
}

impl GoDuration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of whole seconds; saturates at the ends of the range.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// A span of whole minutes; saturates at the ends of the range.
    pub const fn from_mins(minutes: i64) -> Self {
        Self::from_secs(minutes.saturating_mul(60))
    }

    /// A span of whole hours; saturates at the ends of the range.
    pub const fn from_hours(hours: i64) -> Self {
        Self::from_secs(hours.saturating_mul(3600))
    }

    /// The span for arithmetic with timestamps.
    pub const fn as_signed(self) -> SignedDuration {
        SignedDuration::from_nanos(self.0)
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Whole seconds, rounded towards zero.
    pub const fn as_secs(self) -> i64 {
        self.0 / 1_000_000_000
    }

    /// The span as people write it: zero units at the end left out (`4h`, `1h30m`).
    pub fn to_short_string(self) -> String {
        let text = self.to_string();
        let text = if text.ends_with("m0s") { text.trim_end_matches("0s") } else { &text };
        let text = if text.ends_with("h0m") { text.trim_end_matches("0m") } else { text };
        text.to_owned()
    }

    /// Both spans together; saturates at the ends of the range.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl From<GoDuration> for SignedDuration {
    fn from(duration: GoDuration) -> Self {
        duration.as_signed()
    }
}

impl TryFrom<SignedDuration> for GoDuration {
    type Error = DurationError;

    /// Fails only outside the range of about ±292 years.
    fn try_from(duration: SignedDuration) -> Result<Self, DurationError> {
        i64::try_from(duration.as_nanos()).map(Self).map_err(|_| DurationError::Range(format!("{duration}")))
    }
}

impl FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        parse_duration(text)
    }
}

/// One term is `digits [. digits] unit` with a digit on at least one side of the point.
fn parse_duration(text: &str) -> Result<GoDuration, DurationError> {
    let syntax = || DurationError::Syntax(shorten_text(text));
    let range = || DurationError::Range(shorten_text(text));
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(GoDuration::ZERO);
    }
    if rest.is_empty() {
        return Err(syntax());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (whole, after) = split_digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => split_digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(syntax());
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let nanos = match unit {
            "" => return Err(syntax()),
            "ns" => 1,
            // U+00B5 micro sign and U+03BC Greek mu: Go takes both.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => NANOS_PER_SECOND,
            "m" => 60 * NANOS_PER_SECOND,
            "h" => 3600 * NANOS_PER_SECOND,
            unit => return Err(DurationError::Unit { text: shorten_text(text), unit: shorten_text(unit) }),
        };
        // 19 digits hold every legal value; more are out of range whatever the unit, unless they are leading zeros.
        let digits = whole.trim_start_matches('0');
        if digits.len() > 19 {
            return Err(range());
        }
        let units: i128 = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| syntax())? };
        total += units * nanos + fraction_nanos(fraction, nanos);
        if total > i128::from(i64::MAX) + i128::from(negative) {
            return Err(range());
        }
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).map(GoDuration).map_err(|_| range())
}

/// A fraction of a unit in nanoseconds, cut off (not rounded) below one. Digits past the 18th cannot matter:
/// the largest unit has 3.6 × 10¹² nanoseconds.
fn fraction_nanos(fraction: &str, unit: i128) -> i128 {
    let mut scale: i128 = 1;
    let mut value: i128 = 0;
    for digit in fraction.bytes().take(18) {
        value = value * 10 + i128::from(digit - b'0');
        scale *= 10;
    }
    value * unit / scale
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Enough of the text to recognise it: a tenant may send 64 KiB.
fn shorten_text(text: &str) -> String {
    const LIMIT: usize = 40;
    let mut short: String = text.chars().take(LIMIT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

impl fmt::Display for GoDuration {
    /// Go's `String`: leading zero units left out (`1h0m0s`, `1m30s`), below a second the largest unit that fits (`1.5ms`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let text = match nanos {
            0 => "0s".to_owned(),
            1..1_000 => format!("{sign}{nanos}ns"),
            1_000..1_000_000 => format!("{sign}{}µs", format_decimal(nanos, 3)),
            1_000_000..1_000_000_000 => format!("{sign}{}ms", format_decimal(nanos, 6)),
            _ => {
                let minutes = nanos / 60_000_000_000;
                let seconds = format_decimal(nanos % 60_000_000_000, 9);
                match (minutes / 60, minutes % 60) {
                    (0, 0) => format!("{sign}{seconds}s"),
                    (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                    (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
                }
            }
        };
        f.pad(&text)
    }
}

/// `value / 10^places` without trailing zeros.
fn format_decimal(value: u64, places: u32) -> String {
    let unit = 10_u64.pow(places);
    let (whole, fraction) = (value / unit, value % unit);
    if fraction == 0 {
        return whole.to_string();
    }
    let fraction = format!("{fraction:0width$}", width = places as usize);
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = GoDuration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as 90s or 1h30m, as a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<GoDuration, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl JsonSchema for GoDuration {
    fn schema_name() -> Cow<'static, str> {
        "GoDuration".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// A plain string: what is a legal span differs from field to field and is a rule there. The length bounds the cost of such a rule.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": 64,
            "description": "A Go duration: numbers with a unit (h, m, s, ms, us, ns), such as 90s, 45m or 1h30m."
        })
    }
}

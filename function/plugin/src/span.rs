//! Spans of time as people say them.

use jiff::{SignedDuration, Timestamp};

/// A span in at most two units: `45s`, `4m12s`, `38m`, `2h59m`, `3d4h`. A negative span counts as zero.
pub fn human(span: SignedDuration) -> String {
    let seconds = span.as_secs().max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let two = |whole: i64, unit: &str, rest: i64, small: &str| {
        if rest == 0 { format!("{whole}{unit}") } else { format!("{whole}{unit}{rest}{small}") }
    };
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=599 => two(minutes, "m", seconds % 60, "s"),
        600..=3599 => format!("{minutes}m"),
        3600..=172_799 => two(hours, "h", minutes % 60, "m"),
        _ => two(hours / 24, "d", hours % 24, "h"),
    }
}

/// How long ago something was; empty if that is not known.
pub fn ago(since: Option<Timestamp>, now: Timestamp) -> String {
    since.map_or_else(String::new, |since| human(now.duration_since(since)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_units_at_most() {
        let cases = [
            (-5, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (252, "4m12s"),
            (600, "10m"),
            (3599, "59m"),
            (3600, "1h"),
            (10_740, "2h59m"),
            (172_800, "2d"),
            (273_600, "3d4h"),
        ];
        for (seconds, text) in cases {
            assert_eq!(human(SignedDuration::from_secs(seconds)), text);
        }
    }
}

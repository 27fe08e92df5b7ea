//! Durations, against the cases in Go's own documentation and tests of `time.ParseDuration` and `Duration.String`.

use proptest::prelude::*;
use rstest::rstest;
use testplatform_apis::duration::{DurationError, GoDuration};

const SECOND: i64 = 1_000_000_000;

#[rstest]
#[case("0", 0, "0s")]
#[case("+0", 0, "0s")]
#[case("-0", 0, "0s")]
#[case("5s", 5 * SECOND, "5s")]
#[case("1478s", 1478 * SECOND, "24m38s")]
#[case("-5s", -5 * SECOND, "-5s")]
#[case("+5s", 5 * SECOND, "5s")]
#[case("5.0s", 5 * SECOND, "5s")]
#[case("5.s", 5 * SECOND, "5s")]
#[case(".5s", SECOND / 2, "500ms")]
#[case("1.004s", 1_004_000_000, "1.004s")]
#[case("100.00100s", 100_001_000_000, "1m40.001s")]
#[case("10ns", 10, "10ns")]
#[case("11us", 11_000, "11µs")]
#[case("12\u{b5}s", 12_000, "12µs")]
#[case("12\u{3bc}s", 12_000, "12µs")]
#[case("1.1\u{b5}s", 1_100, "1.1µs")]
#[case("13ms", 13_000_000, "13ms")]
#[case("2.2ms", 2_200_000, "2.2ms")]
#[case("14s", 14 * SECOND, "14s")]
#[case("15m", 900 * SECOND, "15m0s")]
#[case("2h", 7200 * SECOND, "2h0m0s")]
#[case("1h30m", 5400 * SECOND, "1h30m0s")]
#[case("1.5h", 5400 * SECOND, "1h30m0s")]
#[case("3h30m", 12_600 * SECOND, "3h30m0s")]
#[case("10.5s4m", 250 * SECOND + SECOND / 2, "4m10.5s")]
#[case("-2m3.4s", -123_400_000_000, "-2m3.4s")]
#[case("1h2m3s4ms5us6ns", 3_723_004_005_006, "1h2m3.004005006s")]
#[case("39h9m14.425s", 140_954_425_000_000, "39h9m14.425s")]
#[case("52763797000ns", 52_763_797_000, "52.763797s")]
#[case("0.3333333333333333333h", 1_199_999_999_999, "19m59.999999999s")]
#[case("9007199254740993ns", 9_007_199_254_740_993, "2501h59m59.254740993s")]
#[case("9223372036854775807ns", i64::MAX, "2562047h47m16.854775807s")]
#[case("-9223372036854775808ns", i64::MIN, "-2562047h47m16.854775808s")]
#[case("-2562047h47m16.854775808s", i64::MIN, "-2562047h47m16.854775808s")]
#[case("0.100000000000000000000h", 360 * SECOND, "6m0s")]
#[case("0000000000000000000000001s", SECOND, "1s")]
fn reads_and_writes_as_go_does(#[case] text: &str, #[case] nanos: i64, #[case] canonical: &str) {
    let duration: GoDuration = text.parse().unwrap();
    assert_eq!(duration.as_nanos(), nanos);
    assert_eq!(duration.to_string(), canonical);
    assert_eq!(duration.as_signed().as_nanos(), i128::from(nanos));
}

#[rstest]
#[case("")]
#[case("3")]
#[case("-")]
#[case("+")]
#[case("s")]
#[case(".")]
#[case("-.")]
#[case(".s")]
#[case("+.s")]
#[case("--1s")]
#[case("1h 30m")]
#[case(" 1h")]
#[case("5 parsecs")]
#[case("1d")]
#[case("1H")]
#[case("1.2.3s")]
#[case("\u{85}\u{85}")]
#[case("1\u{ffff}")]
#[case("hello world")]
#[case("é1h")]
#[case("1hé")]
#[case("٣h")]
fn duration_refuses_the_same_as_go(#[case] text: &str) {
    let error = text.parse::<GoDuration>().unwrap_err();
    assert!(error.to_string().contains("is not a duration"), "{error}");
}

#[rstest]
#[case("9223372036854775808ns")]
#[case("-9223372036854775809ns")]
#[case("9223372036854775.808us")]
#[case("9223372036854ms775us808ns")]
#[case("3000000h")]
#[case("99999999999999999999999999999999999999999999h")]
#[case("2562047h47m16.854775808s")]
fn duration_out_of_range_is_refused(#[case] text: &str) {
    assert!(matches!(text.parse::<GoDuration>(), Err(DurationError::Range(_))));
}

#[test]
fn errors_quote_little() {
    let error = format!("1{}", "x\n".repeat(40_000)).parse::<GoDuration>().unwrap_err().to_string();
    assert!(error.len() < 300 && !error.contains('\n'), "{error}");
}

#[test]
fn duration_is_a_string_in_json() {
    let duration: GoDuration = serde_json::from_str("\"90m\"").unwrap();
    assert_eq!(serde_json::to_string(&duration).unwrap(), "\"1h30m0s\"");
    assert_eq!(duration, GoDuration::from_mins(90));
    for wrong in ["5", "null", "{}", "\"5\""] {
        assert!(serde_json::from_str::<GoDuration>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn arithmetic_ends_at_the_ends() {
    assert_eq!(GoDuration::from_hours(i64::MAX).as_nanos(), i64::MAX);
    assert_eq!(GoDuration::from_hours(i64::MIN).as_nanos(), i64::MIN);
    let most = GoDuration::from_secs(i64::MAX);
    assert_eq!(most.saturating_add(most), most);
    assert_eq!(GoDuration::try_from(most.as_signed()), Ok(most));
    assert!(GoDuration::try_from(jiff::SignedDuration::MAX).is_err());
}

proptest! {
    #[test]
    fn duration_round_trips(nanos in any::<i64>()) {
        let duration: GoDuration = format!("{nanos}ns").parse().unwrap();
        prop_assert_eq!(duration.as_nanos(), nanos);
        prop_assert_eq!(duration.to_string().parse::<GoDuration>(), Ok(duration));
    }

    #[test]
    fn parsing_never_panics(text in "[-+]?([0-9.]{0,30}(h|m|s|ms|us|µs|ns|d|é)?){0,5}", other in any::<String>()) {
        let _ = text.parse::<GoDuration>();
        let _ = other.parse::<GoDuration>();
    }
}

#[test]
fn a_short_form_for_people() {
    for (text, short) in [
        ("4h", "4h"),
        ("90m", "1h30m"),
        ("1m", "1m"),
        ("100s", "1m40s"),
        ("20m10s", "20m10s"),
        ("10h20m", "10h20m"),
        ("0", "0s"),
        ("30s", "30s"),
        ("10m", "10m"),
        ("100h", "100h"),
    ] {
        assert_eq!(text.parse::<GoDuration>().unwrap().to_short_string(), short);
    }
}

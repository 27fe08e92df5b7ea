//! When nobody needs a cluster: what the schema refuses, and what both ends make of a claim.

use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{
    cleanup::{KEEP_ALONE, KEEP_RULE, debug_retention, format_since, parse_since, teardown_due},
    duration::GoDuration,
};

use crate::support::{create, pooled, templated, update};

fn claim(cleanup: &Value) -> Value {
    json!({ "ciOperator": {}, "cleanup": cleanup })
}

fn says(answer: Result<(), Vec<String>>, wanted: &str) {
    let complaints = answer.expect_err("accepted");
    assert!(complaints.iter().any(|c| c == wanted), "none says {wanted:?}, but: {complaints:#?}");
}

#[test]
fn every_claim_may_request_cleanup_at_any_time() {
    for spec in [json!({ "ciOperator": {} }), pooled(), templated()] {
        let mut asking = spec.clone();
        asking["cleanup"] = json!({ "onOwnerCompletion": true, "keepForDebug": "45m" });
        assert_eq!(create(&asking), Ok(()), "{spec}");
        assert_eq!(update(&spec, &asking), Ok(()), "{spec}");
        assert_eq!(update(&asking, &spec), Ok(()), "{spec}");
    }
    for cleanup in [json!({}), json!(null), json!({ "onOwnerCompletion": false, "keepForDebug": "1h" })] {
        assert_eq!(create(&claim(&cleanup)), Ok(()), "{cleanup}");
        assert_eq!(debug_retention(&claim(&cleanup)), None);
    }
}

/// A value that an API server refuses does not parse either, whoever wrote it.
#[rstest]
#[case(json!("soon"))]
#[case(json!("-5m"))]
#[case(json!("5"))]
#[case(json!("1d"))]
#[case(json!(""))]
fn a_time_that_is_none_is_refused(#[case] wrong: Value) {
    let spec = claim(&json!({ "onOwnerCompletion": true, "keepForDebug": wrong }));
    says(create(&spec), &format!("spec.cleanup.keepForDebug: {KEEP_RULE}"));
    assert!(debug_retention(&spec).is_some_and(|kept| kept.is_err()), "{spec}");
    assert_eq!(teardown_due(&spec, Some("2026-03-02T12:00:00Z")), None);
}

#[test]
fn a_time_for_nothing_is_refused() {
    says(create(&claim(&json!({ "keepForDebug": "5m" }))), &format!("spec.cleanup: {KEEP_ALONE}"));
    assert!(create(&claim(&json!({ "onOwnerCompletion": "yes" }))).is_err());
    assert_eq!(debug_retention(&claim(&json!({ "onOwnerCompletion": "yes" }))), None);
    assert!(
        debug_retention(&claim(&json!({ "onOwnerCompletion": true, "keepForDebug": 5 })))
            .is_some_and(|kept| kept.is_err())
    );
}

#[rstest]
#[case("0s", 0)]
#[case("90s", 90)]
#[case("1.5h", 5400)]
fn a_time_is_a_go_duration(#[case] text: &str, #[case] seconds: i64) {
    let spec = claim(&json!({ "onOwnerCompletion": true, "keepForDebug": text }));
    assert_eq!(create(&spec), Ok(()));
    assert_eq!(debug_retention(&spec), Some(Ok(GoDuration::from_secs(seconds))));
}

#[test]
fn cleanup_annotation_has_one_form() {
    let at = "2026-03-02T12:00:00.75Z".parse().unwrap();
    assert_eq!(format_since(at), "2026-03-02T12:00:00Z");
    assert_eq!(parse_since(&format_since(at)).map(format_since), Some(format_since(at)));
    for wrong in [
        "",
        "now",
        "2026-03-02",
        "2026-03-02 12:00:00Z",
        "2026-03-02T12:00:00+00:00",
        "2026-03-02T12:00:00.5Z",
        " 2026-03-02T12:00:00Z",
    ] {
        assert_eq!(parse_since(wrong), None, "{wrong}");
    }
    let spec = claim(&json!({ "onOwnerCompletion": true, "keepForDebug": "30m" }));
    assert_eq!(teardown_due(&spec, Some(&format_since(at))), "2026-03-02T12:30:00Z".parse().ok());
    assert_eq!(teardown_due(&spec, None), None);
    assert_eq!(teardown_due(&json!({ "ciOperator": {} }), Some(&format_since(at))), None, "nobody asked");
    let endless = claim(&json!({ "onOwnerCompletion": true, "keepForDebug": "2540400h" }));
    assert_eq!(teardown_due(&endless, Some("9999-12-30T22:00:00Z")), None);
}

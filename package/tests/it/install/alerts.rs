//! Every alert on series: it fires as soon as it should, and neither before nor for what resembles its cause.
//!
//! The cases are also written as test files of promtool, which runs them where it is installed.

use std::{collections::BTreeSet, fs, io::Write as _, process::Command, str::FromStr as _};

use serde_json::{Value, json};
use testplatform_apis::duration::GoDuration;
use testplatform_package::install::alerts::{Alert, LISTS};

use super::{
    alert_cases::{CLAIM_CASES, Case, FUNCTION_CASES, SECRET_AND_ORPHAN_CASES},
    alert_cases_hub::HUB_CASES,
    promql::{Labels, Series, firing, parse_labels},
};

fn cases() -> impl Iterator<Item = &'static Case> {
    [FUNCTION_CASES, CLAIM_CASES, HUB_CASES, SECRET_AND_ORPHAN_CASES].into_iter().flatten()
}

fn alerts() -> impl Iterator<Item = &'static Alert> {
    LISTS.into_iter().flatten()
}

fn fires_at(case: &Case, minute: u32) -> BTreeSet<Labels> {
    let alert =
        alerts().find(|alert| alert.name == case.alert).unwrap_or_else(|| panic!("no alert {}", case.alert));
    let series: Vec<Series> =
        case.series.iter().map(|(series, values)| Series::parse(series, values)).collect();
    let lasts = GoDuration::from_str(alert.lasts).unwrap().as_signed().as_secs_f64();
    firing(alert.expression, lasts, &series, minute)
}

fn expected(labels: &[&str]) -> BTreeSet<Labels> {
    labels.iter().map(|labels| parse_labels(labels)).collect()
}

#[test]
fn alerts_fire_when_they_should_and_not_before() {
    for case in cases() {
        for (minute, labels) in case.expected {
            let found = fires_at(case, *minute);
            assert_eq!(found, expected(labels), "{} after {minute} minutes of {:?}", case.alert, case.series);
        }
    }
}

/// A new alert needs both kinds of cases. A case that ends before the alert could fire does not count as one in which it does not.
#[test]
fn every_alert_has_a_case_that_fires_and_one_that_does_not() {
    for alert in alerts() {
        let of_alert = || cases().filter(|case| case.alert == alert.name);
        let lasts = GoDuration::from_str(alert.lasts).unwrap().as_signed().as_mins();
        let ends = |case: &&Case| case.expected.last().is_some_and(|(_, labels)| !labels.is_empty());
        assert!(of_alert().any(|case| ends(&case)), "{} has no case in which it fires", alert.name);
        let silent = |case: &Case| {
            let before =
                |(minute, labels): &(u32, &[&str])| labels.is_empty() && i64::from(*minute) >= lasts - 1;
            case.expected.iter().any(before)
        };
        assert!(of_alert().any(silent), "{} has no case in which it does not fire", alert.name);
    }
}

/// A label that the result does not have would be empty in the summary.
#[test]
fn summaries_name_labels_of_the_alert() {
    for alert in alerts() {
        let fired: Vec<Labels> = cases()
            .filter(|case| case.alert == alert.name)
            .flat_map(|case| case.expected.iter().flat_map(|(_, labels)| expected(labels)))
            .collect();
        let summary = alert.to_rule()["annotations"]["summary"].as_str().unwrap().to_owned();
        for label in summary.split("$labels.").skip(1).map(|rest| rest.split(' ').next().unwrap()) {
            assert!(
                fired.iter().any(|labels| labels.contains_key(label)),
                "{}: no label {label}",
                alert.name
            );
        }
    }
}

/// The file for `promtool test rules`: each case is a test, which looks at the series that Prometheus keeps of its own alerts.
fn promtool_tests() -> Value {
    let tests: Vec<Value> = cases()
        .map(|case| {
            let series = case.series.iter().map(|(series, values)| json!({ "series": series, "values": values }));
            let expressions = case.expected.iter().map(|(minute, labels)| {
                let samples = labels.iter().map(|labels| json!({ "labels": labels, "value": 1 }));
                json!({
                    // Without the labels that Prometheus and the rule add.
                    "expr": format!(
                        "max without (__name__, alertname, alertstate, severity) (ALERTS{{alertname=\"{}\",alertstate=\"firing\"}})",
                        case.alert
                    ),
                    "eval_time": format!("{minute}m"),
                    "exp_samples": samples.collect::<Vec<_>>(),
                })
            });
            json!({
                "name": case.alert,
                "interval": "1m",
                "input_series": series.collect::<Vec<_>>(),
                "promql_expr_test": expressions.collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests })
}

/// The evaluator of these tests and Prometheus agree on every case. `TESTPLATFORM_PROMTOOL` names a promtool that is not in the path.
#[test]
fn promtool_agrees() {
    let program = std::env::var_os("TESTPLATFORM_PROMTOOL").unwrap_or_else(|| "promtool".into());
    if !Command::new(&program).arg("--version").output().is_ok_and(|output| output.status.success()) {
        // Not eprintln!, which the test harness keeps to itself where a test passes.
        let _ = writeln!(std::io::stderr(), "NOT RUN: comparison with promtool: no promtool here");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let rules: Vec<Value> = alerts().map(Alert::to_rule).collect();
    let rules = json!({ "groups": [{ "name": "testplatform", "rules": rules }] });
    // JSON is YAML.
    fs::write(directory.path().join("rules.yaml"), rules.to_string()).unwrap();
    let tests = directory.path().join("tests.yaml");
    fs::write(&tests, promtool_tests().to_string()).unwrap();
    let output = Command::new(&program).args(["test", "rules"]).arg(&tests).output().unwrap();
    let [out, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{out}{errors}");
}

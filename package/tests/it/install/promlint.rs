//! Names of metrics by the rules of `promtool check metrics`, and ours by their prefix.

use std::fs;

use testplatform_package::install::metrics;

use crate::install::repository;

/// Metrics of other projects' conventions: those of gRPC servers in Go.
const STANDARD: [&str; 3] = ["grpc_server_handled", "grpc_server_handling_seconds", "grpc_server_started"];
/// Units that are no base units, and the abbreviations of units.
const OTHER_UNITS: [&str; 21] = [
    "minutes",
    "hours",
    "days",
    "weeks",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "kilobytes",
    "megabytes",
    "gigabytes",
    "bits",
    "percent",
    "fahrenheit",
    "millis",
    "ms",
    "us",
    "ns",
    "sec",
    "kb",
    "mb",
    "gb",
];
/// Types of metrics, which their names do not repeat.
const TYPES: [&str; 4] = ["counter", "gauge", "histogram", "summary"];

/// A family of a listing: its name, type and help, and its series with their labels.
struct Family<'t> {
    name: &'t str,
    kind: &'t str,
    help: &'t str,
    series: Vec<&'t str>,
}

/// Families of a file that `list_families` of crate testplatform-process writes.
fn families(listing: &str) -> Vec<Family<'_>> {
    let mut all: Vec<Family<'_>> = Vec::new();
    for line in listing.lines() {
        let comment = line.strip_prefix("# ").and_then(|rest| rest.split_once(' '));
        if let Some(("HELP", rest)) = comment {
            let (name, help) = rest.split_once(' ').unwrap_or((rest, ""));
            all.push(Family { name, kind: "", help, series: Vec::new() });
            continue;
        }
        let family = all.last_mut().unwrap_or_else(|| panic!("no family before {line}"));
        match comment {
            Some(("TYPE", rest)) => family.kind = rest.split_once(' ').unwrap().1,
            Some(_) => {}
            None => family.series.push(line),
        }
    }
    all
}

/// Problems of one family, as promtool names them.
fn lint(family: &Family<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut problem = |text: &str| problems.push(format!("{}: {text}", family.name));
    if family.help.trim_end_matches('.').is_empty() {
        problem("no help text");
    }
    let parts: Vec<&str> = family.name.split('_').collect();
    if let Some(unit) = OTHER_UNITS.iter().find(|unit| parts.contains(unit)) {
        problem(&format!("{unit} is no base unit"));
    }
    if let Some(kind) = TYPES.iter().find(|kind| parts.contains(kind)) {
        problem(&format!("the name has its type {kind}"));
    }
    if family.name.contains(':') || family.name.chars().any(char::is_uppercase) {
        problem("colons and capitals do not belong into names");
    }
    for series in &family.series {
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let labels: Vec<&str> = labels.trim_end_matches('}').split(',').collect();
        if (family.kind == "counter") != name.ends_with("_total") {
            problem("counters end in _total, and nothing else does");
        }
        let of_histogram = ["_bucket", "_count", "_sum"].iter().any(|end| name.ends_with(end));
        if family.kind != "histogram" && (of_histogram || labels.contains(&"le")) {
            problem("_bucket, _count, _sum and label le are a histogram's");
        }
        if labels.iter().any(|label| label.chars().any(char::is_uppercase)) {
            problem("labels are in snake_case");
        }
    }
    let ours = family.name.starts_with("testplatform_") || STANDARD.contains(&family.name);
    if !ours {
        problem("no prefix testplatform_");
    }
    // A metric without a unit counts something, or is 0 or 1.
    if family.kind == "histogram" && !["_seconds", "_bytes"].iter().any(|unit| family.name.ends_with(unit)) {
        problem("a histogram needs a unit");
    }
    problems
}

fn listing(program: &str) -> String {
    fs::read_to_string(repository().join(program).join("metrics.txt")).unwrap()
}

#[test]
fn metrics_follow_the_conventions_of_prometheus() {
    for program in ["function", "provider"] {
        let listing = listing(program);
        let families = families(&listing);
        assert!(families.len() > 5, "{program}");
        let problems: Vec<String> = families.iter().flat_map(lint).collect();
        assert!(problems.is_empty(), "{problems:#?}");
    }
    for name in metrics::ALL {
        let family = Family { name, kind: "gauge", help: "Help", series: vec![name] };
        assert_eq!(lint(&family), [""; 0]);
    }
}

/// The lint sees what it is for.
#[test]
fn unconventional_metrics_are_named() {
    let cases = [
        ("# HELP testplatform_a .\n# TYPE testplatform_a gauge\ntestplatform_a\n", "no help text"),
        (
            "# HELP testplatform_a_count A.\n# TYPE testplatform_a_count gauge\ntestplatform_a_count\n",
            "histogram's",
        ),
        ("# HELP testplatform_a A.\n# TYPE testplatform_a counter\ntestplatform_a\n", "end in _total"),
        ("# HELP testplatform_a A.\n# TYPE testplatform_a gauge\ntestplatform_a_total\n", "end in _total"),
        ("# HELP testplatform_ms A.\n# TYPE testplatform_ms gauge\ntestplatform_ms\n", "base unit"),
        ("# HELP testplatform_a A.\n# TYPE testplatform_a histogram\ntestplatform_a_sum\n", "needs a unit"),
        ("# HELP testplatform_a A.\n# TYPE testplatform_a gauge\ntestplatform_a{le}\n", "histogram's"),
        ("# HELP testplatform_a A.\n# TYPE testplatform_a gauge\ntestplatform_a{podName}\n", "snake_case"),
        (
            "# HELP testplatform_a_gauge A.\n# TYPE testplatform_a_gauge gauge\ntestplatform_a_gauge\n",
            "type gauge",
        ),
        ("# HELP a A.\n# TYPE a gauge\na\n", "prefix"),
    ];
    for (text, problem) in cases {
        let problems = lint(&families(text)[0]);
        assert!(problems.len() == 1 && problems[0].contains(problem), "{text}: {problems:?}");
    }
}

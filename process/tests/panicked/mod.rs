//! Log lines of both programs about a panic: its place, and nothing of its message, which may quote a request or an object.

use std::{collections::BTreeSet, process::Command};

use serde_json::{Value, json};

/// Runs a program that would serve. Nothing that it is sent makes it panic. A thread that cannot be had does, and none can with a stack of
/// this size.
pub fn is_logged_with_where_and_not_with_what(program: &mut Command) {
    let output = program.env("RUST_MIN_STACK", (1_u64 << 60).to_string()).output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(101), "{log}");
    let line: Value = serde_json::from_str(&log).unwrap_or_else(|_| panic!("not one line of a log: {log}"));
    let told: BTreeSet<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(told, BTreeSet::from(["level", "msg", "place", "ts"]), "{line}");
    assert_eq!((&line["level"], &line["msg"]), (&json!("error"), &json!("panic")));
    let (file, number) = line["place"].as_str().unwrap().rsplit_once(':').unwrap();
    assert!(!file.starts_with('/') && !file.contains(' ') && number.parse::<u32>().is_ok(), "{line}");
}

//! The program that measures, on a few calls: that it measures what it says, not what comes out.
#![allow(clippy::unwrap_used, reason = "the lints see helpers of an integration test as production code")]

use std::{fs, process::Command};

#[test]
fn function_and_no_op_are_measured_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_load"))
        .args(["--calls", "40", "--rounds", "2", "--concurrency", "4", "--soak", "30", "--name", "few"])
        .arg("--output")
        .arg(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let table = String::from_utf8(output.stdout).unwrap();
    // Built for release it judges, and forty calls are no basis for that.
    assert!(output.status.success() || !cfg!(debug_assertions), "{said}");
    for start in ["# examples/ready", "| function-testplatform |", "| no-op |", "| 30 |", "| throughput"] {
        assert!(table.lines().any(|line| line.starts_with(start)), "{start} in {table}{said}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("few.md")).unwrap(), table);
    assert!(fs::read_to_string(folder.path().join("few.svg")).unwrap().starts_with("<svg"));
    let folder = folder.path().display().to_string();
    assert!(!table.contains(&folder), "a path of this machine is in it");
}

#[test]
fn what_cannot_be_measured_is_an_error_of_its_own() {
    let output = Command::new(env!("CARGO_BIN_EXE_load")).args(["--request", "nothing"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("neither an example nor a file"));
}

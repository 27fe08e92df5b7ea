//! Instructions, counted by valgrind where it is installed.

use std::{fs, path::Path, process::Command};

use function_model::print_line;

use crate::budgets::table::Row;

/// Functions whose instructions count: from the decoded request to the response, without reading files and the schema, which a
/// process does once. Together these are all of a pass over a cluster.
const FUNCTIONS: [&str; 3] = [
    "testplatform_composites::cluster::evaluate",
    "testplatform_composites::cluster::respond::build_response",
    "testplatform_composites::cluster::check::find_violation",
];

/// Instructions of `render` for each example. `None` if they cannot be counted here: that is printed past the harness, or the budgets would
/// seem met.
pub fn instructions(examples: &[&str]) -> Option<Vec<Row>> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        print_line("NOT RUN: budgets of instructions: valgrind is not installed");
        return None;
    }
    if !cfg!(debug_assertions) {
        print_line("NOT RUN: budgets of instructions: this is not the profile that they are for");
        return None;
    }
    Some(examples.iter().map(|name| Row { name: (*name).to_owned(), values: vec![count(name)] }).collect())
}

fn count(name: &str) -> u64 {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = tempfile::tempdir().unwrap();
    let counts = folder.path().join("counts");
    let example = Path::new("examples").join(name);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no"])
        .args(FUNCTIONS.map(|function| format!("--toggle-collect={function}")))
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(env!("CARGO_BIN_EXE_function-testplatform"))
        .arg("render")
        .arg(example.join("claim.yaml"))
        .arg("package/compositions/testplatform-ephemeral-cluster.yaml")
        .arg("--required-resources")
        .arg(example.join("environment.yaml"))
        .args(["--now", super::examples::MADE])
        .args(top.join(&example).join("observed.yaml").is_file().then_some("--observed-resources"))
        .args(top.join(&example).join("observed.yaml").is_file().then(|| example.join("observed.yaml")))
        .current_dir(&top)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {said}");
    let text = fs::read_to_string(&counts).unwrap();
    let totals =
        text.lines().find_map(|line| line.strip_prefix("totals: ")).expect("callgrind writes totals");
    let count = totals.trim().parse().unwrap();
    for function in FUNCTIONS {
        assert!(
            text.contains(&format!(" {function}\n")),
            "{name}: {function} was not counted; is it still called that?"
        );
    }
    count
}

//! The program that measures, with a few calls: it measures the right things, and holds its own word about them. The targets that so few
//! calls can show are checked here too.
#![allow(clippy::unwrap_used, reason = "the lints see helpers of an integration test as production code")]

use std::{fs, process::Command};

use testplatform_tests::program;

/// Cells of the table's rows whose first cell is this one, without it.
fn rows<'a>(table: &'a str, first: &str) -> Vec<Vec<&'a str>> {
    let cells = |line: &'a str| line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let rows = table.lines().map(cells).filter(|cells: &Vec<&str>| cells.first() == Some(&first));
    rows.map(|cells| cells[1..].to_vec()).collect()
}

/// The number before a unit.
fn number(cell: &str, unit: &str) -> f64 {
    cell.strip_suffix(unit).unwrap().trim().parse().unwrap()
}

pub fn function_and_no_op_are_measured_side_by_side() -> anyhow::Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let output = program::tell(&mut Command::new(env!("CARGO_BIN_EXE_load")))
        .unwrap()
        .args(["--calls", "400", "--rounds", "2", "--concurrency", "100", "--soak", "30", "--name", "few"])
        .arg("--output")
        .arg(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let table = String::from_utf8(output.stdout).unwrap();
    let targets = [
        "throughput, as a part of the no-op's",
        "CPU of a call",
        "resident memory, at its peak",
        "growth from the first to the last tenth of the long run",
    ];
    let judged = targets.map(|target| match rows(&table, target).as_slice() {
        [row] => row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>(),
        other => vec![format!("{} rows", other.len())],
    });
    assert!(judged.iter().all(|row| row.len() == 3), "{judged:?} in {table}{said}");
    let held = judged.iter().all(|row| row[2] == "yes");
    // Built for release it judges, by what stands in its table: a clock may miss a target, and nothing else is an error.
    let right = i32::from(!(cfg!(debug_assertions) || held));
    assert_eq!(output.status.code(), Some(right), "{table}{said}");
    // Memory needs no clock, and there is as much of it after few calls as after many: so many at a time are what takes it.
    let [_, cpu, memory, _] = &judged;
    if !cfg!(debug_assertions) {
        assert_eq!(memory[2], "yes", "{table}");
    }
    assert!(number(&cpu[1], "ms") > 0.0 && number(&memory[1], "MiB") > 1.0, "{table}");
    for server in ["function-testplatform", "no-op", "no-op with trees"] {
        let [row] = <[_; 1]>::try_from(rows(&table, server)).unwrap();
        assert!(number(row[0], "") > 0.0, "{server}: {row:?}");
        assert!(number(row[1], "ms") <= number(row[2], "ms"), "{server}: {row:?}");
        assert!(number(row[4], "MiB") <= number(row[5], "MiB"), "{server}: {row:?}");
    }
    for start in ["# examples/ready", "| function-testplatform |", "| no-op |", "| 30 |", "| throughput"] {
        assert!(table.lines().any(|line| line.starts_with(start)), "{start} in {table}{said}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("few.md")).unwrap(), table);
    assert!(fs::read_to_string(folder.path().join("few.svg")).unwrap().starts_with("<svg"));
    let folder = folder.path().display().to_string();
    assert!(!table.contains(&folder), "a path of this machine is in it");
    Ok(())
}

pub fn what_cannot_be_measured_is_an_error_of_its_own() -> anyhow::Result<()> {
    let output = Command::new(env!("CARGO_BIN_EXE_load")).args(["--request", "nothing"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("neither an example nor a file"));
    Ok(())
}

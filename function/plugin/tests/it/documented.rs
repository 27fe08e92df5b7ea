//! README and `--help` tell of the same codes.

use std::{fs, path::Path};

use kubectl_testplatform::exit::Exit;

#[test]
fn the_readme_has_every_exit_code() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    for exit in Exit::ALL {
        let row = format!("| {} | {} |", exit.code(), exit.meaning());
        assert!(readme.contains(&row), "README.md does not have: {row}");
    }
}

/// Each answer leads to an entry that is there.
#[test]
fn runbook_has_every_referenced_section() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let runbook = fs::read_to_string(top.join("RUNBOOK.md")).unwrap();
    let answers = fs::read_to_string(top.join("function/plugin/tests/why.txt")).unwrap();
    let in_answers =
        answers.split("(RUNBOOK.md, ").skip(1).filter_map(|rest| rest.split_once(')')).map(|(e, _)| e);
    let named = [
        "FunctionErrors",
        "Paused",
        "Failed",
        "ProwJobFailure",
        "DeprovisionFailed",
        "RemoteReplaced",
        "EndedWithoutSignal",
        "ProwJobGone",
    ];
    let entries: Vec<&str> = in_answers.chain(named).collect();
    assert!(entries.len() > 40, "{entries:?}");
    for entry in entries {
        assert!(runbook.contains(&format!("\n### {entry}\n")), "RUNBOOK.md has no entry {entry}");
    }
}

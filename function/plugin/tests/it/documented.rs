//! The documentation and `--help` have the same codes, and answers lead to entries that exist.

use std::{fs, path::Path};

use kubectl_testplatform::exit::Exit;

#[test]
fn reference_has_every_exit_code() {
    let page = "docs/reference/cli.md";
    let reference =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)).unwrap();
    for exit in Exit::ALL {
        let row = format!("| {} | {} |", exit.code(), exit.meaning());
        assert!(reference.contains(&row), "{page} does not have: {row}");
    }
}

/// Each answer leads to an entry that is there.
#[test]
fn runbook_has_every_referenced_section() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = ["docs/reference/reasons.md", "docs/runbook/alerts-konflux.md", "docs/runbook/alerts-hub.md"];
    let runbook: String = pages.map(|page| fs::read_to_string(top.join(page)).unwrap()).concat();
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
        let is_there = [format!("\n### {entry}\n"), format!("\n| `{entry}` |")];
        assert!(is_there.iter().any(|text| runbook.contains(text)), "the runbook has no entry {entry}");
    }
}

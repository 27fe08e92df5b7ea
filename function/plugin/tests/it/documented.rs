//! The documentation and `--help` have the same codes, and answers lead to entries that exist.

use std::{fs, path::Path};

use kubectl_testplatform::{exit::Exit, runbook::entry_of};
use testplatform_apis::{
    condition::{ClusterReady, Credentials, JobCompleted, Remote, Request},
    reason,
};

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

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// `true` if a text such as `docs/runbook/tenants.md#failed` or `docs/reference/reasons.md, Pending` leads to an entry.
fn is_entry(text: &str) -> bool {
    if let Some((name, anchor)) = text.split_once('#') {
        return page(name).lines().any(|line| {
            line.strip_prefix("### ").is_some_and(|heading| heading.to_ascii_lowercase() == anchor)
        });
    }
    let (name, reason) = text.split_once(", ").unwrap();
    page(name).contains(&format!("\n| `{reason}` |"))
}

/// Each answer leads to an entry that is there.
#[test]
fn answers_lead_to_entries_of_the_documentation() {
    let answers = page("function/plugin/tests/why.txt");
    let in_answers = answers.split("(docs/").skip(1).filter_map(|rest| rest.split_once(')'));
    let mut entries: Vec<String> = in_answers.map(|(entry, _)| format!("docs/{entry}")).collect();
    assert!(entries.len() > 40, "{entries:?}");
    assert!(!answers.contains("RUNBOOK.md"), "an answer names no page");
    entries.extend(reason::all().map(|(_, reason)| entry_of(reason.word)));
    entries.extend(["FunctionDown", "FunctionErrors"].map(entry_of));
    entries.sort();
    entries.dedup();
    for entry in entries {
        assert!(is_entry(&entry), "there is no entry {entry}");
    }
}

/// The reference of reasons and the plugin lead to the same entry.
#[test]
fn reasons_lead_where_the_reference_leads() {
    let reference = page("docs/reference/reasons.md");
    let rows: Vec<(&str, &str)> = reference
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .filter_map(|(reason, rest)| Some((reason, rest.split_once("[Entry](../")?.1.split_once(')')?.0)))
        .collect();
    let of_claims = |reason: &str| {
        Request::parse(reason).is_some()
            || Remote::parse(reason).is_some()
            || Credentials::parse(reason).is_some()
            || ClusterReady::parse(reason).is_some()
            || JobCompleted::parse(reason).is_some()
    };
    let mut compared = 0;
    for (reason, entry) in rows.into_iter().filter(|(reason, _)| of_claims(reason)) {
        assert_eq!(entry_of(reason), format!("docs/{entry}"));
        compared += 1;
    }
    assert!(compared > 30, "{compared} reasons");
}

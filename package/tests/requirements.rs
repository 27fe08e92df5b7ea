//! The table of requirements names tests that exist.

use std::{collections::BTreeMap, fs, path::Path};

/// A test as the table names it: file and function.
fn named(cell: &str) -> Vec<(&str, &str)> {
    cell.split('`').filter_map(|word| word.split_once("::")).collect()
}

/// Whether a file has a test of this name: a function right below an attribute that makes it one.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim_start).collect();
    let declares = |line: &&str| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with('('))
    };
    let attributes = |at: usize| {
        lines[..at].iter().rev().take_while(|l| l.starts_with("#[") || l.starts_with("//")).copied()
    };
    let test =
        |line: &str| ["#[test]", "#[rstest]", "#[tokio::test", "#[case("].iter().any(|a| line.starts_with(a));
    lines.iter().enumerate().any(|(at, line)| declares(line) && attributes(at).any(test))
}

#[test]
fn every_requirement_has_a_test_that_exists_or_says_why_not() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(package.join("POOLS.md")).unwrap();
    let mut sources = BTreeMap::new();
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let Ok(number) = cells[0].parse::<u32>() else { continue };
        assert_eq!(cells.len(), 4, "row {number}");
        rows.push(number);
        let tests = named(cells[3]);
        let declined = cells[2].contains("declined") || cells[2].starts_with("nothing to do");
        assert!(
            !tests.is_empty() || (cells[3] == "–" && declined),
            "row {number} has neither a test nor a reason"
        );
        for (file, name) in tests {
            let source = sources.entry(file).or_insert_with(|| {
                fs::read_to_string(package.join("..").join(file))
                    .unwrap_or_else(|e| panic!("row {number}: {file}: {e}"))
            });
            assert!(has_test(source, name), "row {number}: {file} has no test {name}");
        }
    }
    assert_eq!(rows, (1..=30).collect::<Vec<_>>());
}

#[test]
fn a_test_is_told_from_what_is_none() {
    let source = "#[test]\nfn one() {}\nfn helper() {}\n    #[rstest]\n    // Why.\n    #[case(1)]\n    fn two(#[case] n: u8) {}\n#[tokio::test(flavor = \"x\")]\nasync fn three() {}\n";
    for (name, is) in
        [("one", true), ("two", true), ("three", true), ("helper", false), ("on", false), ("four", false)]
    {
        assert_eq!(has_test(source, name), is, "{name}");
    }
}

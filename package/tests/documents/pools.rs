//! The table of requirements in `package/POOLS.md` names tests that exist.

use crate::text::{has_test, read};

const POOLS: &str = "package/POOLS.md";

/// A test as the table names it: file and function.
fn named(cell: &str) -> Vec<(&str, &str)> {
    cell.split('`').filter_map(|word| word.split_once("::")).collect()
}

#[test]
fn every_requirement_has_a_test_that_exists_or_says_why_not() {
    let text = read(POOLS);
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
        let wrong: Vec<String> = tests.iter().filter_map(|(file, name)| has_test(file, name).err()).collect();
        assert!(wrong.is_empty(), "row {number}: {wrong:?}");
    }
    assert_eq!(rows, (1..=30).collect::<Vec<_>>());
}

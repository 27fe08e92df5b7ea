//! Tables of requirements say of each how it is met, with tests that exist, or why it is not.

use crate::documents::text::{has_test, read};

const POOLS: &str = "docs/how-to/pools.md";
const CLUSTERS: &str = "examples/README.md";
/// Where tests are on real control planes: of what is called met one is there.
const TESTBED: &str = "tests/tests/";

/// A row of a table of requirements.
struct Row {
    /// Its number, or the first and the last of those that it is for.
    number: String,
    /// How it is met.
    how: String,
    /// Tests that hold it.
    tests: String,
}

impl Row {
    /// The tests that it names: file and function.
    fn named(&self) -> Vec<(&str, &str)> {
        self.tests.split('`').filter_map(|word| word.split_once("::")).collect()
    }

    /// The numbers that it is for, of the list whose numbers begin with these letters. None: it is of another.
    fn numbers(&self, letters: &str) -> Option<Vec<u32>> {
        let number = |text: &str| text.strip_prefix(letters)?.parse::<u32>().ok();
        let (first, last) =
            self.number.split_once('–').unwrap_or((self.number.as_str(), self.number.as_str()));
        Some((number(first)?..=number(last)?).collect())
    }

    /// Errors in the names of its tests.
    fn wrong(&self) -> Vec<String> {
        self.named().iter().filter_map(|(file, name)| has_test(file, name).err()).collect()
    }
}

/// The rows of a document whose numbers begin with these letters, one after the other up to the last.
fn rows(document: &str, letters: &str, last: u32) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut numbers = Vec::new();
    for line in read(document).lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [number, how, tests] = [0, 2, 3].map(|i| cells.get(i).copied().unwrap_or_default().to_owned());
        let row = Row { number, how, tests };
        let Some(of_row) = row.numbers(letters) else { continue };
        assert_eq!(cells.len(), 4, "{document}: row {}", row.number);
        numbers.extend(of_row);
        rows.push(row);
    }
    assert_eq!(numbers, (1..=last).collect::<Vec<_>>(), "{document}: {letters}");
    rows
}

/// Checks that a row's claim about clusters agrees with the tests that it names.
fn stands(row: &Row) -> Result<(), String> {
    let how = row.how.as_str();
    let shown = row.named().iter().any(|(file, _)| file.starts_with(TESTBED));
    if how.starts_with("met: ") || how.starts_with("in part: ") {
        let whole = how.starts_with("met: ") || ["Not yet", "Declined"].iter().any(|word| how.contains(word));
        return match (shown, whole) {
            (true, true) => Ok(()),
            (false, _) => Err("no test on the testbed shows it".to_owned()),
            (_, false) => Err("it does not say which part is missing".to_owned()),
        };
    }
    let states = ["not yet: ", "not yet on the engine: ", "declined: ", "nothing to do: "];
    if !states.iter().any(|state| how.starts_with(state)) {
        return Err(format!("{how:?} does not begin with where it stands"));
    }
    let bare = row.named().is_empty();
    if bare && how.starts_with("not yet on the engine: ") {
        return Err("nothing holds what is said to be there".to_owned());
    }
    if bare && row.tests != "–" { Err(format!("{:?} is not a test", row.tests)) } else { Ok(()) }
}

#[test]
fn every_requirement_of_pools_names_a_test_or_a_reason() {
    for row in rows(POOLS, "", 30) {
        let declined = row.how.contains("declined") || row.how.starts_with("nothing to do");
        assert!(
            !row.named().is_empty() || (row.tests == "–" && declined),
            "row {} has neither a test nor a reason",
            row.number
        );
        assert_eq!(row.wrong(), [""; 0], "row {}", row.number);
    }
}

#[test]
fn every_requirement_of_clusters_has_a_status() {
    for (letters, last) in [("S", 64), ("M", 45), ("P", 33), ("A", 10)] {
        for row in rows(CLUSTERS, letters, last) {
            assert_eq!(stands(&row), Ok(()), "row {}", row.number);
            assert_eq!(row.wrong(), [""; 0], "row {}", row.number);
        }
    }
}

/// The comparison sees what it is for.
#[test]
fn a_requirement_without_a_proof_is_not_met() {
    let row = |how: &str, tests: &str| Row { number: "S6–S8".into(), how: how.into(), tests: tests.into() };
    let (shown, held) = (
        "`tests/tests/it/scenarios/life.rs::lifetime_reached`",
        "`function/tests/it/lifecycle.rs::happy_path`",
    );
    for (how, tests) in [
        ("met: it is", shown),
        ("in part: it is. Not yet: the rest", shown),
        ("not yet on the engine: it is", held),
        ("not yet: it is not", "–"),
        ("declined: no", "–"),
    ] {
        let row = row(how, tests);
        assert_eq!((stands(&row), row.wrong()), (Ok(()), vec![]), "{how}");
    }
    for (how, tests) in [
        ("met: it is", held),
        ("met: it is", "–"),
        ("in part: it is", shown),
        ("not yet on the engine: it is", "–"),
        ("it is", shown),
        ("declined: no", "none"),
    ] {
        assert!(stands(&row(how, tests)).is_err(), "{how}");
    }
    assert_eq!(row("", "").numbers("S"), Some(vec![6, 7, 8]));
    assert_eq!(row("", "").numbers("M"), None);
    assert_eq!(row("", "`tests/tests/it/scenarios/life.rs::nothing`").wrong().len(), 1);
}

//! The documentation's cost of a call is the budget's.

use crate::documents::text::{read, sections};

const PAGE: &str = "docs/explanation/performance.md";

/// The examples on the page, in its order.
const TOLD: [&str; 8] = [
    "ready",
    "test-cluster-ready",
    "hive-ready",
    "caas-ready",
    "osac-ready",
    "hypershift-ready",
    "cluster-api-ready",
    "space-ready",
];

/// The numbers of a text, however their thousands are set apart.
fn numbers(text: &str) -> Vec<u64> {
    let words = text.split(|c: char| c.is_whitespace() || c == ';');
    let plain = words.map(|word| word.trim_matches(|c: char| c == '.' || c == ',').replace(',', ""));
    plain.filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn allocations_are_those_of_the_budgets() {
    let budgets = read("function/tests/budgets/passes.txt");
    let budget = |name: &str| {
        let line = budgets.lines().find(|line| line.split_whitespace().next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("{name} has no budget"));
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let page = read(PAGE);
    let section = sections(&page).into_iter().find(|section| section.title == "What a pass costs").unwrap();
    let told = section.text.split("A budget that is exceeded").next().unwrap();
    assert_eq!(numbers(told), TOLD.map(budget), "{PAGE}, what a pass costs, in the order of {TOLD:?}");
}

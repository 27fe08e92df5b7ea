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
    let section = sections(&page).into_iter().find(|section| section.title == "Cost of a pass").unwrap();
    let told = section.text.split("A budget that is exceeded").next().unwrap();
    assert_eq!(numbers(told), TOLD.map(budget), "{PAGE}, what a pass costs, in the order of {TOLD:?}");
}

/// Figures of the README, and the page that each is from.
const FIGURES: [(&str, &str); 6] = [
    ("0.095 ms", "tests/results/README.md"),
    ("13.8 MiB", "tests/results/README.md"),
    ("28 and 32 s", "docs/explanation/performance.md"),
    ("18 ms", "docs/explanation/performance.md"),
    ("128 MiB", "docs/explanation/performance.md"),
    ("63 faults", "docs/explanation/fault-testing.md"),
];

#[test]
fn figures_of_the_readme_are_those_of_their_pages() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let readme = words(&read("README.md"));
    for (figure, page) in FIGURES {
        assert!(readme.contains(figure), "README.md does not have {figure}");
        assert!(words(&read(page)).contains(figure), "{page} does not have {figure}");
    }
}

/// The cost of the provider is measured rarely, and was written down in three places with two results.
#[test]
fn cost_of_the_provider_is_that_of_the_results() {
    let figures = ["1.2 % of a core", "117 MiB"];
    for page in ["tests/results/README.md", "docs/explanation/performance.md"] {
        let text = read(page);
        for figure in figures {
            assert!(text.contains(figure), "{page} does not have {figure}");
        }
    }
    let changelog = read("CHANGELOG.md");
    assert!(!changelog.contains("% of a core"), "CHANGELOG.md repeats a figure of the results");
}

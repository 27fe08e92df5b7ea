//! The map of the code names every module at the top of function and provider, and none that is gone.

use std::collections::BTreeSet;

use crate::documents::{
    security::proofs,
    text::{has_test, read},
};

const MAP: &str = "docs/architecture.md";

/// Modules that these sources declare.
fn declared(sources: &[&str]) -> BTreeSet<String> {
    let text: String = sources.iter().map(|source| read(source)).collect();
    let modules = text.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    modules.map(str::to_owned).collect()
}

/// One section of the map.
fn section(heading: &str) -> String {
    let text = read(MAP);
    let section = text.split(&format!("\n### {heading}\n")).nth(1);
    let section = section.unwrap_or_else(|| panic!("{MAP} has no section {heading}"));
    section.split("\n### ").next().unwrap().to_owned()
}

/// Code spans of a text.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Sections of the map, and the sources of which each names every module.
const MAPPED: [(&str, &[&str]); 3] = [
    (
        "function",
        &[
            "function/composites/src/lib.rs",
            "function/composites/src/cluster.rs",
            "function/composites/src/sdk.rs",
            "function/src/lib.rs",
        ],
    ),
    ("provider", &["provider/src/lib.rs", "provider/src/controllers.rs"]),
    ("provider/runtime", &["provider/runtime/src/lib.rs"]),
];

#[test]
fn map_names_every_module() {
    for (heading, sources) in MAPPED {
        let (declared, section) = (declared(sources), section(heading));
        let mapped = code_spans(&section).map(str::to_owned).collect();
        assert!(declared.len() > 10, "{sources:?}: {declared:?}");
        let missing: Vec<_> = declared.difference(&mapped).collect();
        assert!(missing.is_empty(), "{MAP}, section {heading}, does not name {missing:?}");
    }
}

#[test]
fn tables_of_the_map_name_existing_modules() {
    for (heading, sources) in MAPPED {
        let (declared, section) = (declared(sources), section(heading));
        // The column that is headed `module`.
        let rows = section.lines().filter(|line| line.starts_with('|'));
        let mut column = None;
        let mut named = 0;
        for row in rows {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            if let Some(place) = cells.iter().position(|cell| *cell == "module") {
                column = Some(place);
                continue;
            }
            for module in code_spans(cells[column.expect("a heading")]) {
                assert!(declared.contains(module), "{MAP}: {sources:?} have no module {module}");
                named += 1;
            }
        }
        assert!(named > 5, "{heading}: {named}");
    }
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let proofs = proofs(&read(MAP));
    assert_eq!(proofs.len(), 16, "{MAP}: one test for each invariant");
    let wrong: Vec<String> = proofs.iter().filter_map(|(name, path)| has_test(path, name).err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

//! The map of the code names every module at the top of function and provider, and none that is gone.

use std::collections::BTreeSet;

use crate::documents::text::read;

const MAP: &str = "docs/architecture.md";

/// Modules that a crate declares in its library.
fn declared(library: &str) -> BTreeSet<String> {
    let text = read(library);
    let modules = text.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    modules.map(str::to_owned).collect()
}

/// Words in code of one section of the map.
fn mapped(heading: &str) -> BTreeSet<String> {
    let text = read(MAP);
    let section =
        text.split(&format!("\n### {heading}\n")).nth(1).unwrap_or_else(|| panic!("no section {heading}"));
    let section = section.split("\n### ").next().unwrap();
    section.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn map_names_every_module() {
    for (heading, library) in [("function", "function/src/lib.rs"), ("provider", "provider/src/lib.rs")] {
        let (declared, mapped) = (declared(library), mapped(heading));
        assert!(declared.len() > 10, "{library}: {declared:?}");
        let missing: Vec<_> = declared.difference(&mapped).collect();
        assert!(missing.is_empty(), "{MAP}, section {heading}, does not name {missing:?}");
    }
}

#[test]
fn tables_of_the_map_name_existing_modules() {
    for (heading, library) in [("function", "function/src/lib.rs"), ("provider", "provider/src/lib.rs")] {
        let declared = declared(library);
        let text = read(MAP);
        let section =
            text.split(&format!("\n### {heading}\n")).nth(1).unwrap().split("\n### ").next().unwrap();
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
            for module in cells[column.expect("a heading")].split('`').skip(1).step_by(2) {
                assert!(declared.contains(module), "{MAP}: {library} has no module {module}");
                named += 1;
            }
        }
        assert!(named > 5, "{heading}: {named}");
    }
}

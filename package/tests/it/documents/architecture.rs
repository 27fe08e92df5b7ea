//! The map of the code names every module at the top of function and provider, and none that is gone.

use std::collections::BTreeSet;

use crate::documents::{
    security::proofs,
    text::{has_test, read, sources},
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
    ("function", &["function/src/lib.rs", "function/src/cluster.rs", "function/src/sdk.rs"]),
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

/// What a source of the provider imports against the arrows of the map.
fn upward_imports(path: &str, code: &str) -> Vec<String> {
    let below = path.strip_prefix("provider/src/").unwrap_or(path);
    let (layer, rest) = below.split_once('/').unwrap_or((below.trim_end_matches(".rs"), ""));
    let own = match layer {
        "controllers" if !rest.is_empty() => rest.split(['/', '.']).next(),
        "build_clusters" | "config" | "credentials" | "manifests" | "rights" => None,
        // What puts all of them together.
        _ => return Vec::new(),
    };
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let upward = lines.filter(|line| {
        let of_another = line.split("controllers::").skip(1).any(|target| {
            let module = target.split(|c: char| !c.is_alphanumeric() && c != '_').next();
            own.is_none() || module != own
        });
        of_another || imports_rbac(line)
    });
    upward.map(|line| format!("{path}: {}", line.trim())).collect()
}

/// Whether a line imports module `rbac` of the crate, alone or in a tree.
fn imports_rbac(line: &str) -> bool {
    line.match_indices("rbac").any(|(at, word)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let is_root = before.ends_with("crate::") || before.ends_with('{') || before.trim().is_empty();
        let is_next = before.starts_with("use crate::{") && before.ends_with(", ");
        (is_root || is_next) && (after.starts_with("::") || after.starts_with([',', ';', '}']))
    })
}

#[test]
fn no_controller_is_imported_by_another_or_from_below() {
    let sources = sources("provider/src");
    assert!(
        sources.iter().any(|(path, _)| path.starts_with("provider/src/controllers/")),
        "they are elsewhere"
    );
    let upward: Vec<_> = sources.iter().flat_map(|(path, code)| upward_imports(path, code)).collect();
    assert!(upward.is_empty(), "{upward:#?}");
}

#[test]
fn upward_imports_are_found() {
    let import = "use crate::controllers::bundles::plan;";
    for (path, found) in [
        ("provider/src/controllers/bundles/observe.rs", 0),
        ("provider/src/controllers/bundles.rs", 0),
        ("provider/src/controllers/spaces/observe.rs", 1),
        ("provider/src/config/check.rs", 1),
        ("provider/src/rights.rs", 1),
        ("provider/src/rbac.rs", 0),
        ("provider/src/credentials.rs", 1),
        ("provider/src/metrics.rs", 0),
        ("provider/src/controllers.rs", 0),
    ] {
        assert_eq!(upward_imports(path, import).len(), found, "{path}");
    }
    assert!(upward_imports("provider/src/config.rs", "// controllers::bundles").is_empty());
    for import in [
        "use crate::rbac::hub;",
        "use crate::rbac;",
        "    rbac::{self, ServiceAccount},",
        "use crate::{config::Config, rbac::hub};",
    ] {
        for path in ["provider/src/controllers/bundles/rights.rs", "provider/src/rights.rs"] {
            assert_eq!(upward_imports(path, import).len(), 1, "{path}: {import}");
        }
        assert!(upward_imports("provider/src/main.rs", import).is_empty(), "{import}");
    }
    let foreign = "use k8s_openapi::api::rbac::v1::Role; // rbac.authorization.k8s.io";
    assert!(upward_imports("provider/src/credentials/account.rs", foreign).is_empty());
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let proofs = proofs(&read(MAP));
    assert_eq!(proofs.len(), 16, "{MAP}: one test for each invariant");
    let wrong: Vec<String> = proofs
        .iter()
        .filter_map(|(name, path)| has_test(path.strip_prefix("../").unwrap_or(path), name).err())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

//! Each line of the security page names the tests that prove it, and each of these tests exists.

use std::path::Path;

use crate::documents::text::{Section, has_test, is_test, links, read, sections};

const SECURITY: &str = "docs/explanation/security.md";
/// The page of accepted and unproven properties, and its sections.
const LIMITS: (&str, [&str; 3]) =
    ("docs/explanation/security-limits.md", ["Known and accepted", "Not proven yet", "Out of scope"]);
/// The section of the first page without proofs.
const UNPROVEN: &str = "Reporting a vulnerability";

/// A test by the name of its function, and its file.
type Proof = (String, String);

pub fn proofs(text: &str) -> Vec<Proof> {
    let of_source = |(label, target): (String, String)| {
        let name = label.strip_prefix('`')?.strip_suffix('`')?.to_owned();
        let path = target.trim_start_matches("../").to_owned();
        Path::new(&path).extension().is_some_and(|e| e == "rs").then_some((name, path))
    };
    links(text).into_iter().filter_map(of_source).collect()
}

/// The lines of a list, each with what it continues with.
fn items(section: &Section) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in section.text.lines() {
        match (line.strip_prefix("- "), items.last_mut()) {
            (Some(first), _) => items.push(first.to_owned()),
            (None, Some(item)) if line.starts_with("  ") => {
                item.push(' ');
                item.push_str(line.trim());
            }
            (None, _) => {}
        }
    }
    items
}

#[test]
fn every_proof_is_a_test_that_exists() {
    let proofs = proofs(&(read(SECURITY) + &read(LIMITS.0)));
    assert!(proofs.len() > 30, "{} proofs", proofs.len());
    let wrong: Vec<String> = proofs.iter().filter_map(|(name, path)| has_test(path, name).err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_line_has_a_proof_or_declares_its_absence() {
    let text = read(SECURITY);
    let all = sections(&text);
    assert!(all.iter().any(|s| s.title == UNPROVEN), "{SECURITY} has no section {UNPROVEN:?}");
    let limits: Vec<String> = sections(&read(LIMITS.0))
        .into_iter()
        .filter(|section| section.level == 2)
        .map(|section| section.title)
        .collect();
    assert_eq!(limits, LIMITS.1, "{}", LIMITS.0);
    for section in all.iter().filter(|s| s.title != UNPROVEN) {
        for item in items(section) {
            assert!(!proofs(&item).is_empty(), "{}: no proof for: {item}", section.title);
        }
    }
}

/// The comparison sees what it is for.
#[test]
fn only_tests_are_proofs() {
    let here = "package/tests/it/documents/security.rs";
    assert_eq!(has_test(here, "only_tests_are_proofs"), Ok(()));
    assert!(has_test(here, "has_test").is_err() && has_test(here, "nowhere").is_err());
    assert!(has_test("nowhere.rs", "has_test").is_err());
    assert_eq!(has_test("tests/tests/it/scenarios/life.rs", "lifetime_reached"), Ok(()));
}

/// It exists, and is as good as none.
#[test]
fn ignored_tests_are_no_proofs() {
    let source = "#[test]\nfn runs() {\n}\n\n#[test]\n#[ignore = \"whole tier: takes minutes\"]\nfn slow() {}\n\n\
                  #[tokio::test]\n#[ignore = \"takes minutes\"]\nasync fn waits() {\n}\n\
                  #[ignore]\n#[test]\nfn other() {}\n\n#[cfg_attr(unix, ignore)]\n#[test]\nfn elsewhere() {}\n\n\
                  pub async fn brief() {}\n\npub async fn lasting() {}\n";
    let harness = "    alone(both(scenario!(life::brief))),\n    case!(life::lasting).measurement(),\n";
    let judged = |name: &str| is_test("scenarios/life.rs", source, harness, name);
    for name in ["runs", "slow", "brief"] {
        assert_eq!(judged(name), Ok(()));
    }
    for name in ["waits", "other", "elsewhere", "lasting"] {
        assert!(judged(name).is_err(), "{name}");
    }
    let why = has_test("tests/tests/it/provider/load.rs", "five_thousand_at_rest").unwrap_err();
    assert!(why.contains("proves nothing"), "{why}");
}

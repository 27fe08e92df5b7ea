//! Markdown and sources, as far as they are compared.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A file of the repository.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every Rust source below a folder: its path in the repository, and what it says without its own tests.
pub fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                found.push((path.strip_prefix(root()).unwrap().display().to_string(), code));
            }
        }
    }
    found.sort();
    found
}

/// A heading with its level, and the text below it up to the next.
#[derive(Debug)]
pub struct Section {
    pub level: usize,
    pub title: String,
    pub text: String,
}

/// The sections of a document. Lines within a block of code are no headings.
pub fn sections(document: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut code = false;
    for line in document.lines() {
        code ^= line.starts_with("```");
        let level = line.chars().take_while(|c| *c == '#').count();
        if !code && level > 0 && line[level..].starts_with(' ') {
            let title = line[level..].trim().to_owned();
            sections.push(Section { level, title, text: String::new() });
        } else if let Some(section) = sections.last_mut() {
            section.text.push_str(line);
            section.text.push('\n');
        }
    }
    sections
}

/// Text and target of every link.
pub fn links(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("](") {
        let (before, after) = (&text[..at], &text[at + 2..]);
        let Some((label, target)) = before.rfind('[').zip(after.find(')')) else { continue };
        found.push((before[label + 1..].to_owned(), after[..target].to_owned()));
    }
    found
}

/// The anchors of a document.
///
/// # Panics
/// If two headings have the same one.
pub fn anchors(name: &str, document: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for section in sections(document) {
        let anchor = section
            .title
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || ['_', '-', ' '].contains(c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let new = anchors.insert(anchor);
        assert!(new, "{name} has two headings {:?}, and so one anchor for both", section.title);
    }
    anchors
}

/// Checks that a source has a test of that name which the quick or the whole tier runs: one of Rust's, or a case that its harness lists.
pub fn has_test(path: &str, name: &str) -> Result<(), String> {
    let text = fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))?;
    is_test(path, &text, &harness(Path::new(path)), name)
}

/// The sources that list the cases of this one: its parent module, and the program that has both.
fn harness(path: &Path) -> String {
    let parent = path.parent().unwrap_or(path);
    let lists = [parent.with_extension("rs"), parent.with_file_name("main.rs"), parent.join("main.rs")];
    lists.iter().filter_map(|list| fs::read_to_string(root().join(list)).ok()).collect()
}

/// The same of what a source and the harness beside it say.
pub fn is_test(path: &str, text: &str, harness: &str, name: &str) -> Result<(), String> {
    let lines: Vec<&str> = text.lines().collect();
    let is_it = |line: &&str| line.contains(&format!("fn {name}(")) || line.contains(&format!("fn {name}<"));
    let at = lines.iter().position(is_it).ok_or(format!("{path} has no function {name}"))?;
    let above = lines[..at].iter().rev().take_while(|line| !line.trim().is_empty() && line.trim() != "}");
    let attributes: Vec<&str> =
        above.map(|line| line.trim_start()).filter(|line| line.starts_with("#[")).collect();
    let has = |marks: &[&str]| attributes.iter().any(|line| marks.iter().any(|mark| line.contains(mark)));
    let in_whole_tier = has(&["#[ignore = \"whole tier: "]);
    if has(&["#[ignore", "ignore)"]) && !in_whole_tier {
        return Err(format!("{name} in {path} is ignored: it proves nothing where nobody asks for it"));
    }
    if has(&["#[test]", "#[rstest]", "#[tokio::test"]) {
        return Ok(());
    }
    let module = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    let entry = format!("{module}::{name})");
    let listed = harness.lines().find(|line| line.contains(&entry));
    let listed = listed.ok_or(format!("{name} in {path} is not a test, and no harness lists it"))?;
    if listed.contains(".measurement()") {
        return Err(format!("{name} in {path} is a measurement: it proves nothing where nobody asks for it"));
    }
    Ok(())
}

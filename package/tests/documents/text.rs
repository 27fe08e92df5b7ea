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

/// The sections of a document. What looks like a heading within a block of code is none.
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

/// Every link leads somewhere: to a heading of the document, to a file of the repository, or away from it.
pub fn links_lead_somewhere(name: &str, document: &str) {
    let mut anchors = BTreeSet::new();
    for section in sections(document) {
        let anchor: String = section
            .title
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-')
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        assert!(
            anchors.insert(anchor),
            "{name} has two headings {:?}, and so one anchor for both",
            section.title
        );
    }
    for (label, target) in links(document) {
        let leads = match target.strip_prefix('#') {
            Some(anchor) => anchors.contains(anchor),
            None => target.starts_with("https://") || root().join(&target).exists(),
        };
        assert!(leads, "{name}: [{label}]({target}) leads nowhere");
    }
}

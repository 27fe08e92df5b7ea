//! Pages are short, in the summary, and made of short sentences; procedures have their parts.

use std::collections::BTreeSet;

use crate::documents::{
    links::documents,
    text::{links, read, sections},
};

/// The most lines of the README and of any page that is not generated.
const README_LINES: usize = 120;
const PAGE_LINES: usize = 400;
/// The most words of a sentence.
const WORDS: usize = 30;
/// Mark of pages whose text comes from the types.
const GENERATED: &str = "<!-- Generated";
/// Headings of every procedure.
const PARTS: [&str; 3] = ["Prerequisites", "Expected result", "How to undo"];

/// Groups of the changelog, by who reads them.
const GROUPS: [&str; 4] = ["Tenants", "Administrators", "Hub operators", "Tools"];

/// The pages that people wrote, with their texts.
pub fn written_pages() -> Vec<(String, String)> {
    let is_page =
        |name: &String| name.starts_with("docs/") || ["README.md", "RUNBOOK.md"].contains(&name.as_str());
    let pages = documents().into_iter().filter(is_page).map(|name| (name.clone(), read(&name)));
    pages.filter(|(_, text)| !text.contains(GENERATED)).collect()
}

/// Text without code, headings and marks: a paragraph, an item of a list or a cell of a table each.
fn paragraphs(page: &str) -> Vec<String> {
    let (mut all, mut code) = (vec![String::new()], false);
    for line in page.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            code = !code;
            all.push(String::new());
        } else if !code && line.starts_with('|') {
            all.extend(line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()));
            all.push(String::new());
        } else if !code && !line.starts_with(['#', '<']) {
            let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let item =
                line.strip_prefix("- ").or_else(|| number.strip_prefix(". ").filter(|_| number != line));
            if line.is_empty() || item.is_some() {
                all.push(String::new());
            }
            let last = all.last_mut().unwrap();
            last.push(' ');
            last.push_str(item.unwrap_or(line));
        }
    }
    all.retain(|paragraph| !paragraph.trim().is_empty());
    all
}

/// A paragraph whose code and targets of links are one word each.
fn plain(paragraph: &str) -> String {
    let spans = paragraph.split('`').enumerate();
    let code: String = spans.map(|(at, span)| if at % 2 == 1 { "code" } else { span }).collect();
    let mut out = String::new();
    for (at, part) in code.split("](").enumerate() {
        out.push_str(if at == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) });
    }
    out
}

/// The sentences with too many words.
pub fn long_sentences(page: &str) -> Vec<String> {
    let mut long = Vec::new();
    for paragraph in paragraphs(page) {
        let mut sentence = Vec::new();
        for word in plain(&paragraph).split_whitespace() {
            if word.chars().any(char::is_alphanumeric) {
                sentence.push(word.to_owned());
            }
            if word.trim_end_matches([')', '"', '*']).ends_with(['.', '!', '?', ':', ';']) {
                long.extend((sentence.len() > WORDS).then(|| sentence.join(" ")));
                sentence.clear();
            }
        }
        long.extend((sentence.len() > WORDS).then(|| sentence.join(" ")));
    }
    long
}

/// Documents outside the book that people wrote; those of `tests/` with figures are written by programs.
const OTHERS: [&str; 6] = [
    "CONTRIBUTING.md",
    "examples/README.md",
    "examples/gitops/README.md",
    "examples/tekton/README.md",
    "fuzz/README.md",
    "tests/results/README.md",
];

#[test]
fn sentences_are_short() {
    let mut pages = written_pages();
    pages.extend(OTHERS.map(|name| (name.to_owned(), read(name))));
    assert!(pages.len() > 40, "{} pages", pages.len());
    let long: Vec<String> = pages
        .iter()
        .flat_map(|(name, text)| {
            long_sentences(text).into_iter().map(move |sentence| format!("{name}: {sentence}"))
        })
        .collect();
    assert!(long.is_empty(), "more than {WORDS} words: {long:#?}");
}

#[test]
fn pages_are_short() {
    let readme = read("README.md").lines().count();
    assert!(readme <= README_LINES, "README.md has {readme} lines");
    for (name, text) in written_pages() {
        let lines = text.lines().count();
        assert!(lines <= PAGE_LINES, "{name} has {lines} lines");
    }
}

#[test]
fn summary_has_every_page_once() {
    let entries: Vec<String> =
        links(&read("docs/SUMMARY.md")).into_iter().map(|(_, target)| format!("docs/{target}")).collect();
    let listed: BTreeSet<&str> = entries.iter().map(String::as_str).collect();
    assert_eq!(listed.len(), entries.len(), "docs/SUMMARY.md has an entry twice");
    let all = documents();
    let pages: BTreeSet<&str> = all
        .iter()
        .map(String::as_str)
        .filter(|name| name.starts_with("docs/") && *name != "docs/SUMMARY.md")
        .collect();
    assert_eq!(listed, pages, "docs/SUMMARY.md and the pages differ");
}

/// Headings that a page lacks.
fn missing_parts(page: &str, parts: &[&'static str]) -> Vec<&'static str> {
    let titles: Vec<String> = sections(page).into_iter().map(|section| section.title).collect();
    parts.iter().copied().filter(|part| !titles.iter().any(|title| title == part)).collect()
}

#[test]
fn procedures_have_their_parts() {
    let mut procedures = 0;
    for (name, text) in written_pages() {
        let missing = if name.starts_with("docs/how-to/") {
            missing_parts(&text, &PARTS)
        } else if name.starts_with("docs/tutorials/") {
            // Each step of a tutorial says what to see.
            let mut missing = missing_parts(&text, &["Prerequisites", "How to undo"]);
            missing.extend((!text.contains("You should see")).then_some("You should see"));
            missing
        } else {
            continue;
        };
        procedures += 1;
        assert!(missing.is_empty(), "{name} does not say: {missing:?}");
    }
    assert!(procedures > 20, "{procedures} procedures");
}

/// Readers look for their group, so each version has all of them in the same order. An empty group is only in the section of the next version.
#[test]
fn changelog_has_the_same_groups_in_each_version() {
    let all = sections(&read("CHANGELOG.md"));
    let mut versions: Vec<(String, Vec<&str>)> = Vec::new();
    for section in &all {
        match (section.level, versions.last_mut()) {
            (2, _) => versions.push((section.title.clone(), Vec::new())),
            (3, Some((_, groups))) => groups.push(&section.title),
            _ => {}
        }
    }
    assert_eq!(versions[0].0, "[Unreleased]");
    assert!(versions.len() > 1, "{versions:?}");
    for (version, groups) in versions {
        assert_eq!(groups, GROUPS, "CHANGELOG.md, {version}");
    }
}

/// The comparison sees what it is for.
#[test]
fn long_sentences_and_missing_parts_are_found() {
    let word = "word ".repeat(WORDS);
    for long in [
        format!("{word}more.\n"),
        format!("- {word}\n  [more](than.md#enough).\n"),
        format!("| a | {word} `one word of code` |\n"),
    ] {
        assert_eq!(long_sentences(&long).len(), 1, "{long}");
    }
    for short in [
        format!("{word}.\n"),
        format!("{word}.\n\n{word}.\n- {word}\n- {word}\n"),
        format!("```\n{word}{word}\n```\n"),
        format!("One `{word}` of `{word}` [{}](x y z)\n", "link"),
    ] {
        assert_eq!(long_sentences(&short), [""; 0], "{short}");
    }
    let page = "# Title\n\n## Prerequisites\n\n```\n## How to undo\n```\n";
    assert_eq!(missing_parts(page, &PARTS), ["Expected result", "How to undo"]);
}

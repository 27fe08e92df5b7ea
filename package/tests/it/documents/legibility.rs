//! Names and sentences of the workspace, counted. A crate whose names a stranger cannot guess, or whose comments open with a free relative
//! ("What is read …"), exceeds a limit.
//!
//! The limits are above the counts in linkerd2's policy-controller, opensearch-operator, kube-runtime and quinn-proto.

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Regex;

use crate::documents::{
    links::documents,
    text::{read, sources},
};

/// Sentences that open with a free relative, of 1,000.
const MAX_RELATIVE: usize = 10;
/// Functions with a name of several words, of 100.
const MIN_SEVERAL_WORDS: usize = 55;
/// Types whose name is in several files of a crate.
const MAX_REPEATED_TYPES: usize = 8;
/// Names with a verb of saying or standing.
const MAX_SAYING: usize = 5;
/// Fewer functions than these have no share.
const FEW_FUNCTIONS: usize = 40;

/// Sources of each crate.
const CRATES: [&str; 11] = [
    "apis/src",
    "function/composites/src",
    "function/model/src",
    "function/plugin/src",
    "function/render/src",
    "function/src",
    "package/src",
    "process/src",
    "provider/src",
    "readiness/src",
    "version/src",
];
const RELATIVE: &str = "^(What|Whatever|Whoever|Whose|Who|Of what|Of whom|Of one|Of those|Of a|That which|One that|Those that|Where it|How it|So that)\\b";
const SAYING: [&str; 25] = [
    "told", "tell", "tells", "said", "say", "says", "asked", "meant", "noted", "seen", "saw", "kept", "held",
    "taken", "left", "gone", "going", "whole", "stand", "stands", "stood", "here", "there", "back", "again",
];
/// Names that a trait or a convention of Rust prescribes.
const PRESCRIBED: [&str; 14] = [
    "new",
    "fmt",
    "from",
    "default",
    "main",
    "run",
    "drop",
    "eq",
    "next",
    "poll",
    "hash",
    "deref",
    "serialize",
    "deserialize",
];
/// Types that every module may have.
const COMMON_TYPES: [&str; 6] = ["Error", "Options", "Args", "Metrics", "Spec", "Status"];

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

/// Sentences of four words and more.
fn sentences(text: &str) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let ends = regex("[.!?:] ");
    let mut sentences = Vec::new();
    let mut start = 0;
    for end in ends.find_iter(&text).map(|end| end.end()).chain([text.len()]) {
        sentences.push(text[start..end].trim().to_owned());
        start = end;
    }
    sentences.retain(|sentence| sentence.split(' ').count() > 3);
    sentences
}

/// Sentences that open with a free relative. A question may.
fn relatives(sentences: &[String]) -> Vec<&String> {
    let relative = regex(RELATIVE);
    sentences.iter().filter(|sentence| relative.is_match(sentence) && !sentence.ends_with('?')).collect()
}

/// Words of a name in snake or camel case.
fn words(name: &str) -> Vec<String> {
    let mut separated = String::new();
    for (at, c) in name.char_indices() {
        if c.is_ascii_uppercase() && name[..at].ends_with(|before: char| before.is_ascii_lowercase()) {
            separated.push('_');
        }
        separated.push(c.to_ascii_lowercase());
    }
    separated.split('_').map(str::to_owned).collect()
}

/// The code without comments and texts.
fn bare(code: &str) -> String {
    let code = regex("//[^\n]*").replace_all(code, "");
    regex(r#""(\\.|[^"\\])*""#).replace_all(&code, "\"\"").into_owned()
}

/// Limits that the sources of a crate exceed.
fn findings(sources: &[(String, String)]) -> Vec<String> {
    let comment = regex(r"(?m)^\s*//[/!]? ?(.*)");
    let function = regex(r"\bfn\s+(\w+)");
    let declaration = regex(r"\b(?:struct|enum|trait)\s+(\w+)");
    let item = regex(r"\b(?:fn|struct|enum|trait|mod|let|const)\s+(?:mut\s+)?(\w+)");
    let (mut prose, mut functions, mut saying) = (Vec::new(), Vec::new(), Vec::new());
    let mut types: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (path, code) in sources {
        let lines: Vec<&str> = comment.captures_iter(code).map(|c| c.get(1).unwrap().as_str()).collect();
        prose.extend(sentences(&lines.join(" ")));
        let code = bare(code);
        let names = |of: &Regex| -> Vec<String> {
            of.captures_iter(&code).map(|found| found[1].to_owned()).collect()
        };
        functions.extend(names(&function).into_iter().filter(|name| !PRESCRIBED.contains(&name.as_str())));
        for name in names(&declaration) {
            types.entry(name).or_default().insert(path);
        }
        let says = |name: &String| words(name).iter().any(|word| SAYING.contains(&word.as_str()));
        saying.extend(names(&item).into_iter().filter(says));
    }
    let relatives = relatives(&prose);
    let several = functions.iter().filter(|name| name.contains('_')).count();
    types.retain(|name, paths| paths.len() > 1 && !COMMON_TYPES.contains(&name.as_str()));
    let mut findings = Vec::new();
    if relatives.len() * 1000 > MAX_RELATIVE * prose.len() {
        findings.push(format!("{} of {} sentences: {relatives:#?}", relatives.len(), prose.len()));
    }
    if functions.len() > FEW_FUNCTIONS && several * 100 < MIN_SEVERAL_WORDS * functions.len() {
        findings.push(format!("{several} of {} functions have names of several words", functions.len()));
    }
    if types.len() > MAX_REPEATED_TYPES {
        findings.push(format!("types of the same name: {types:#?}"));
    }
    if saying.len() > MAX_SAYING {
        findings.push(format!("names: {saying:?}"));
    }
    findings
}

#[test]
fn crates_are_legible() {
    for folder in CRATES {
        let sources = sources(folder);
        assert!(!sources.is_empty(), "{folder}");
        let findings = findings(&sources);
        assert!(findings.is_empty(), "{folder}: {}", findings.join("\n"));
    }
}

#[test]
fn documents_are_legible() {
    let fenced = regex("(?s)```.*?```");
    let mut prose = Vec::new();
    for path in documents() {
        let text = read(&path);
        let plain = fenced.replace_all(&text, " ");
        prose.extend(
            sentences(&plain).into_iter().map(|s| s.trim_start_matches(['-', '*', '#', '|', ' ']).to_owned()),
        );
    }
    let relatives = relatives(&prose);
    assert!(prose.len() > 1000, "{}", prose.len());
    assert!(
        relatives.len() * 1000 <= MAX_RELATIVE * prose.len(),
        "{} of {}: {relatives:#?}",
        relatives.len(),
        prose.len()
    );
}

/// The counts find the defects that they are for.
#[test]
fn illegible_sources_are_found() {
    let lines = |count, line: fn(usize) -> String| (0..count).map(line).collect::<Vec<_>>().join("\n") + "\n";
    let many = lines(50, |n| format!("/// What is read of it, number {n}.\nfn put{n}() {{}}"));
    let types = lines(9, |n| format!("struct T{n};\nlet told_{n} = 1;"));
    let other = lines(9, |n| format!("enum T{n} {{}}"));
    let bad = [("a.rs".to_owned(), many + &types), ("b.rs".to_owned(), other)];
    assert_eq!(findings(&bad).len(), 4, "{:#?}", findings(&bad));
    let good =
        [("a.rs".to_owned(), "/// Reads the whole file, \"What is it\".\nfn read_file() {}\n".to_owned())];
    assert!(findings(&good).is_empty());
}

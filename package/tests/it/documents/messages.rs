//! Texts in the sources that users see: no sentence is longer than a reader can take in.

use crate::documents::{pages::long_sentences, reference, text::sources};

/// Sources whose literals reach users: messages, events, log lines, outputs, summaries of alerts, help.
const FOLDERS: [&str; 8] = [
    "apis/src",
    "function/composites/src",
    "function/render/src",
    "function/src",
    "function/plugin/src",
    "package/src",
    "provider/src",
    "provider/runtime/src",
];

/// Contents of the string literals of a source, without its comments.
fn string_literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let before = rest[..at].chars().next_back();
        let here = &rest[at..];
        rest = match here.as_bytes() {
            [b'/', b'/', ..] => here.split_once('\n').map_or("", |(_, after)| after),
            [b'"', ..] => {
                let hashes = rest[..at].len() - rest[..at].trim_end_matches('#').len();
                let is_raw =
                    rest[..at].trim_end_matches('#').ends_with('r') && (hashes > 0 || before == Some('r'));
                let (literal, after) = if is_raw {
                    here[1..].split_once(&format!("\"{}", "#".repeat(hashes))).unwrap_or((&here[1..], ""))
                } else {
                    split_literal(&here[1..])
                };
                found.push(unescape(literal));
                after
            }
            // A character, and not a lifetime.
            [b'\'', b'\\', ..] => {
                here[2..].get(1..).and_then(|after| after.split_once('\'')).map_or("", |(_, after)| after)
            }
            [b'\'', _, b'\'', ..] => &here[3..],
            _ => &here[1..],
        };
    }
    found
}

/// A literal up to its closing quote, and the code after it.
fn split_literal(text: &str) -> (&str, &str) {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return (&text[..at], &text[at + 1..]),
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    (text, "")
}

/// A literal with its continued lines joined. Line breaks end a sentence.
fn unescape(literal: &str) -> String {
    let mut parts = literal.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    let joined = parts.fold(first, |text, part| text + part.trim_start());
    joined.replace("\\n", "\n").replace('\n', "\n\n").replace("\\\"", "\"")
}

/// An expression, a schema or a list is no sentence.
fn is_prose(text: &str) -> bool {
    let words = text.split_whitespace().count();
    let code = text.matches(['{', '}', '=', '|', '(', '<', ',']).count();
    words > 30 && code * 4 < words
}

#[test]
fn messages_have_short_sentences() {
    let (mut long, mut seen) = (Vec::new(), 0);
    for (file, code) in FOLDERS.into_iter().flat_map(sources) {
        for literal in string_literals(&code) {
            seen += 1;
            let sentences = long_sentences(&literal);
            long.extend(
                sentences.into_iter().filter(|text| is_prose(text)).map(|text| format!("{file}: {text}")),
            );
        }
    }
    assert!(seen > 5000, "{seen} literals");
    assert!(long.is_empty(), "more than 30 words: {long:#?}");
}

/// Descriptions of fields, help of commands, meanings of metrics and reasons.
#[test]
fn generated_pages_have_short_sentences() {
    let mut long = Vec::new();
    for (file, text) in reference::pages() {
        // Help is in blocks of code, with a paragraph in each line.
        let prose = text.replace("```text", "").replace("```", "").replace('\n', "\n\n");
        let sentences = long_sentences(&prose);
        long.extend(
            sentences.into_iter().filter(|text| is_prose(text)).map(|text| format!("{file}: {text}")),
        );
    }
    assert!(long.is_empty(), "more than 30 words: {long:#?}");
}

/// The scan sees what it is for.
#[test]
fn long_messages_are_found() {
    let words = ["word"; 31].join(" ");
    let code = format!(
        "// \"{words} comment\"\nlet c = '\"'; let d = '\\''; let l: &'a str = \"short\";\nf(\"{} \\\n   {}\", r#\"raw \"{words}\"#);\n",
        ["one"; 20].join(" "),
        ["two"; 20].join(" "),
    );
    let literals = string_literals(&code);
    assert_eq!(literals.len(), 3, "{literals:?}");
    let long: Vec<&String> = literals.iter().filter(|text| !long_sentences(text).is_empty()).collect();
    assert_eq!(long.len(), 2, "{long:?}");
    assert!(long[0].starts_with("one one") && long[0].ends_with("two") && !long[0].contains('\n'));
}

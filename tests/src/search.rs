//! Looks for secrets: something that is nowhere else in the world goes through it, and every place where that lies is told.
//!
//! ```text
//! Marks (what to look for, in all its forms) ──▶ places::find (objects, logs, files, metrics, processes) ──▶ Found
//! ```
//!
//! **Invariant:** a place that cannot be read is an error, never one that holds nothing.

mod objects;
pub mod places;

use std::{
    collections::{BTreeMap, BTreeSet, hash_map::RandomState},
    hash::BuildHasher as _,
};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use anyhow::{Context as _, ensure};
use base64::{
    Engine as _, alphabet,
    engine::{GeneralPurpose, general_purpose::NO_PAD},
};

pub use places::Place;

/// Name of a text to search for.
type Name = String;
/// Where each of them was found. A name whose mark is nowhere is not in it.
pub type Found = BTreeMap<Name, BTreeSet<Place>>;

const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, NO_PAD);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, NO_PAD);
/// Of a mark each piece of this length is looked for, so that one that was cut off is found too.
const PIECE: usize = 16;

/// Things to look for in bytes.
#[derive(Clone, Debug)]
pub struct Marks {
    names: Vec<Name>,
    /// Whose each needle is.
    whose: Vec<usize>,
    needles: AhoCorasick,
}

impl Marks {
    /// Marks by their names. A mark is made of letters and digits, `-` and `_`: what nobody escapes in JSON, YAML, a URL or a
    /// quoted line. It is looked for as it is, in hex, as numbers, and in base64 of whatever it is a part of, and in base64 of that.
    pub fn new<N: Into<Name>>(marks: impl IntoIterator<Item = (N, String)>) -> anyhow::Result<Self> {
        let (mut names, mut whose, mut needles) = (Vec::new(), Vec::new(), Vec::new());
        for (name, mark) in marks {
            let name = name.into();
            let plain = mark.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
            ensure!(plain && mark.len() >= PIECE, "no good as the mark of {name}: it is escaped, or short");
            for piece in mark.as_bytes().chunks_exact(PIECE) {
                needles.extend(forms(piece));
            }
            whose.resize(needles.len(), names.len());
            names.push(name);
        }
        // A world is large, and gone through often: the form that is quickest, though it takes longest to make.
        let needles = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(needles);
        Ok(Self { names, whose, needles: needles.context("too much to look for")? })
    }

    /// Those that are in bytes.
    pub fn within(&self, bytes: &[u8]) -> BTreeSet<&str> {
        let all = written(bytes).flat_map(|run| self.needles.find_overlapping_iter(run));
        all.map(|it| self.names[self.whose[it.pattern().as_usize()]].as_str()).collect()
    }
}

/// Parts between blank pages: etcd lays its files out by tens of megabytes, and writes into little of them. No mark has a zero byte in it.
fn written(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    const BLANK: [u8; 4096] = [0; 4096];
    let mut rest = bytes;
    std::iter::from_fn(move || {
        while let Some(after) = rest.strip_prefix(&BLANK) {
            rest = after;
        }
        let pages = rest.chunks(BLANK.len()).take_while(|page| **page != BLANK).map(<[u8]>::len).sum();
        let (run, after) = rest.split_at(pages);
        rest = after;
        Some(run).filter(|run| !run.is_empty())
    })
}

/// A mark that is nowhere else.
pub fn unique() -> String {
    let random = || RandomState::new().hash_one("");
    (0..4).map(|_| format!("{:016x}", random())).collect::<Vec<_>>().concat()
}

/// As what a piece may lie somewhere.
fn forms(piece: &[u8]) -> BTreeSet<Vec<u8>> {
    let hex = |upper: bool| -> Vec<u8> {
        let byte = |b: &u8| if upper { format!("{b:02X}") } else { format!("{b:02x}") };
        piece.iter().map(byte).collect::<Vec<_>>().concat().into_bytes()
    };
    // As lists of bytes are shown: by Rust, by Go, and in JSON. Nobody writes half of these numbers by chance, and more of them cost more.
    let numbers = |between: &str| -> Vec<u8> {
        let half = piece.iter().take(PIECE / 2).map(u8::to_string);
        half.collect::<Vec<_>>().join(between).into_bytes()
    };
    let once: BTreeSet<Vec<u8>> = within_base64(piece).into_iter().collect();
    let twice = once.iter().flat_map(|encoded| within_base64(encoded));
    let mut forms: BTreeSet<Vec<u8>> = twice.collect();
    forms.extend([piece.to_vec(), hex(false), hex(true), numbers(", "), numbers(" "), numbers(",")]);
    forms.extend(once);
    forms
}

/// Characters of base64 that depend on a piece alone, for each of the three offsets where it may begin.
fn within_base64(piece: &[u8]) -> Vec<Vec<u8>> {
    let at = |before: usize, engine: &GeneralPurpose| {
        let whole = [vec![0; before], piece.to_vec()].concat();
        let encoded = engine.encode(&whole).into_bytes();
        // A character is six bits: those at the edges belong to neighbours too.
        let (first, last) = ((before * 8).div_ceil(6), whole.len() * 8 / 6);
        encoded[first..last].to_vec()
    };
    (0..3).flat_map(|before| [at(before, &STANDARD), at(before, &URL_SAFE)]).collect()
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_STANDARD;
    use serde_json::json;

    use super::*;

    const MARK: &str = "Zq3kP0vX8mN1cR7tYb5hW2sDf9gJ4lKa";

    fn marks() -> Marks {
        Marks::new([("one", MARK.to_owned()), ("two", MARK.chars().rev().collect())]).unwrap()
    }

    #[test]
    fn mark_is_found_anywhere_in_a_sparse_file() {
        let marks = marks();
        for at in [0, 1, 4090, 4096, 8191, 12_288, 20_000] {
            let mut file = vec![0; at];
            file.extend(MARK.as_bytes());
            for after in [0, 5, 4096, 9000] {
                file.resize(at + MARK.len() + after, 0);
                assert_eq!(marks.within(&file), BTreeSet::from(["one"]), "at {at}, before {after} more");
            }
        }
        assert!(marks.within(&vec![0; 20_000]).is_empty());
    }

    #[test]
    fn a_mark_is_found_however_it_lies() {
        let marks = marks();
        for before in ["", "a", "ab", "abc", "token: "] {
            for after in ["", "x", "yz"] {
                let text = format!("{before}{MARK}{after}");
                let encoded = BASE64_STANDARD.encode(&text);
                let secret = json!({ "data": { "kubeconfig": encoded } }).to_string();
                for (form, carried) in [
                    ("as it is", text.clone()),
                    ("base64", encoded.clone()),
                    ("base64 of base64", BASE64_STANDARD.encode(&secret)),
                    ("base64 for URLs", URL_SAFE.encode(&text)),
                    ("JSON in JSON", json!(secret).to_string()),
                    ("hex", text.bytes().map(|b| format!("{b:02x}")).collect::<Vec<_>>().concat()),
                    ("bytes, as Rust shows them", format!("{:?}", text.as_bytes())),
                    ("bytes, as Go shows them", format!("{:?}", text.as_bytes()).replace(',', "")),
                    ("bytes in JSON", json!({ "data": text.as_bytes() }).to_string()),
                    ("cut off", text[..before.len() + 20].to_owned()),
                ] {
                    let found = marks.within(format!("a line with {carried} in it").as_bytes());
                    assert_eq!(
                        found.into_iter().collect::<Vec<_>>(),
                        ["one"],
                        "{before:?}, {after:?}: {form}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let marks = marks();
        assert!(marks.within(b"").is_empty() && marks.within(b"Z").is_empty());
        assert!(marks.within(MARK[1..].to_lowercase().as_bytes()).is_empty());
    }

    #[test]
    fn unique_ones_are_marks_and_differ() {
        let (one, two) = (unique(), unique());
        assert!(one != two && Marks::new([("x", one), ("y", two)]).is_ok());
    }

    #[test]
    fn what_could_be_escaped_is_no_mark() {
        for mark in
            ["short", "with a space in the mark", "with/a/slash/in/the/mark", "with\"quotes\"in\"the\"mark"]
        {
            assert!(Marks::new([("x", mark.to_owned())]).is_err(), "{mark}");
        }
    }
}

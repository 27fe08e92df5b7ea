//! A pin: a remote kustomize resource at exactly one commit.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::Serialize;

use super::list_entry::ListEntry;

/// A full commit: forty lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Commit(String);

impl Commit {
    /// Its forty digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Abbreviated commit.
    pub fn short(&self) -> &str {
        self.0.get(..7).unwrap_or(&self.0)
    }
}

impl FromStr for Commit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match not_a_commit(text) {
            None => Ok(Self(text.to_owned())),
            Some(why) => Err(format!("{text:?} {why}")),
        }
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Reason for which a ref is no full commit. All other refs can change their target without a review.
fn not_a_commit(text: &str) -> Option<&'static str> {
    let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match text {
        "" => Some("is empty"),
        _ if text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) => None,
        _ if text.len() == 40 && hex(text) => Some("has upper-case digits"),
        _ if (4..40).contains(&text.len()) && hex(text) => Some("is a short commit"),
        _ => Some("is a branch or a tag, not a commit"),
    }
}

/// A repository on GitHub.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub struct Source {
    owner: String,
    name: String,
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.to_string()
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let legal = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        match text.split_once('/') {
            Some((owner, name)) if legal(owner) && legal(name) => {
                Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
            }
            _ => Err(format!("{text:?} is not a repository; write OWNER/NAME")),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.owner, self.name)
    }
}

impl Source {
    /// Whether GitHub treats both as the same repository. GitHub ignores case.
    pub fn is_same(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

/// `https://github.com/<owner>/<name>/<directory>?ref=<commit>`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The repository.
    pub source: Source,
    /// The directory in it.
    pub directory: String,
    /// The pinned commit.
    pub commit: Commit,
    /// The line, from 1.
    pub line: usize,
    /// Byte range of the commit's digits in the file.
    pub span: Range<usize>,
}

/// Reference of an entry of `resources` or `components`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryReference {
    /// A file or a directory of the same repository.
    Local,
    /// Exactly one commit of a repository.
    Pinned(Pin),
    /// A remote reference that is not pinned, or not in the editable form.
    Loose {
        /// The repository, if it is one on GitHub.
        source: Option<Source>,
        /// The problem, as the end of a sentence.
        why: String,
    },
}

/// Parses the reference of an entry.
pub fn parse_reference(entry: &ListEntry) -> EntryReference {
    let value = entry.value.as_str();
    if !is_remote(value) {
        return EntryReference::Local;
    }
    let loose = |why: &str| EntryReference::Loose { source: source_of(value), why: why.to_owned() };
    let Some((address, query)) = value.split_once('?') else { return loose("has no ref") };
    let Some(rest) = address.strip_prefix("https://github.com/") else {
        return loose("is not of the form https://github.com/OWNER/NAME/DIRECTORY?ref=COMMIT");
    };
    let mut parts = rest.splitn(3, '/');
    let (Some(owner), Some(name), Some(directory)) = (parts.next(), parts.next(), parts.next()) else {
        return loose("names no directory");
    };
    let Ok(source) = format!("{owner}/{name}").parse::<Source>() else {
        return loose("names no repository");
    };
    // kustomize clones the same repository, but as a name it would be that of another one.
    if name.rsplit_once('.').is_some_and(|(_, end)| end == "git") {
        return loose("has .git behind the repository's name: leave it out");
    }
    if directory.starts_with('/') || value.contains(char::is_whitespace) {
        return loose("is not of the form https://github.com/OWNER/NAME/DIRECTORY?ref=COMMIT");
    }
    let Some(commit) = query.strip_prefix("ref=").filter(|commit| !commit.contains(['&', '?', '='])) else {
        return loose("has parameters beside one ref");
    };
    match commit.parse::<Commit>() {
        Err(why) => loose(&format!("has a ref that does not stay: {why}")),
        Ok(_) if !entry.verbatim => loose("is quoted or has a comment behind it"),
        Ok(commit) => {
            let end = entry.value_start + value.len();
            let span = end - commit.as_str().len()..end;
            EntryReference::Pinned(Pin {
                source,
                directory: directory.to_owned(),
                commit,
                line: entry.line,
                span,
            })
        }
    }
}

/// Whether kustomize would fetch it.
pub fn is_remote(value: &str) -> bool {
    value.contains("://")
        || value.contains("github.com")
        || value.starts_with("git@")
        || value.starts_with("git::")
}

/// The full commit in an address of any form.
pub fn commit_of(value: &str) -> Option<Commit> {
    let (_, query) = value.split_once('?')?;
    query.split('&').find_map(|parameter| parameter.strip_prefix("ref="))?.parse().ok()
}

/// The GitHub repository in an address of any form.
pub fn source_of(value: &str) -> Option<Source> {
    let lower = value.to_ascii_lowercase();
    let rest = value.get(lower.find("github.com")? + "github.com".len()..)?.trim_start_matches([':', '/']);
    let mut parts = rest.split(['/', '?']);
    let (owner, name) = (parts.next()?, parts.next()?);
    format!("{owner}/{}", name.strip_suffix(".git").unwrap_or(name)).parse().ok()
}

//! Digests in the `images` of a kustomization.

use std::str::FromStr;

use serde_json::Value;

use super::Problem;
use super::text::{self, Splice, split_lines};
use crate::oci::parse_digest;

/// An image with a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Name without tag.
    pub name: String,
    /// `sha256:` and 64 digits.
    pub digest: String,
}

impl FromStr for Image {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('@') {
            Some((name, digest)) if !name.is_empty() && is_digest(digest) => {
                Ok(Self { name: name.to_owned(), digest: digest.to_owned() })
            }
            _ => Err(format!("{text:?} is not an image at a digest; write NAME@sha256:DIGEST")),
        }
    }
}

pub fn is_digest(text: &str) -> bool {
    parse_digest(text).is_ok()
}

/// Whether a kustomization sets an image.
pub fn is_set(kustomization: &Value, image: &Image) -> bool {
    text::items_at(kustomization, &["images"]).any(|item| text::str_at(item, &["name"]) == Some(&image.name))
}

/// The images that a kustomization sets to a digest: the name in manifests, and the pull reference.
pub fn pinned_references(kustomization: &Value) -> Vec<(String, String)> {
    text::items_at(kustomization, &["images"])
        .filter_map(|item| {
            let name = text::str_at(item, &["name"])?;
            let pulled = text::str_at(item, &["newName"]).unwrap_or(name);
            Some((name.to_owned(), format!("{pulled}@{}", text::str_at(item, &["digest"])?)))
        })
        .collect()
}

/// The edit that sets the digest of an image; its tag and everything else stay. None if the image already has the digest.
pub fn digest_splice(
    path: &str,
    text: &str,
    kustomization: &Value,
    image: &Image,
) -> Result<Option<Splice>, Problem> {
    let current = text::items_at(kustomization, &["images"])
        .find(|item| text::str_at(item, &["name"]) == Some(&image.name))
        .and_then(|item| text::str_at(item, &["digest"]));
    if current == Some(&image.digest) {
        return Ok(None);
    }
    let refuse = |line: usize, what: &str| {
        Problem::new(path, format!("{}: {what}", image.name), "edit it by hand").at_line(line)
    };
    let mut section = false;
    let (mut name_at, mut digest_at, mut ours) = (1, None, false);
    for line in split_lines(text) {
        if let Some(name) = line.section() {
            section = name == "images";
            continue;
        }
        let trimmed = line.text.trim();
        if !section || trimmed.starts_with('#') {
            continue;
        }
        let (starts, field) = match trimmed.strip_prefix("- ") {
            Some(field) => (true, field.trim_start()),
            None => (false, trimmed),
        };
        if starts {
            if ours && digest_at.is_some() {
                break;
            }
            (ours, digest_at) = (false, None);
        }
        if field.strip_prefix("name:").is_some_and(|name| name.trim() == image.name) {
            (ours, name_at) = (true, line.number);
        }
        if let Some(digest) = field.strip_prefix("digest:").map(str::trim).filter(|digest| is_digest(digest))
        {
            let end = line.start + line.text.trim_end().len();
            digest_at = Some(end - digest.len()..end);
        }
    }
    match digest_at.filter(|_| ours) {
        Some(range) => Ok(Some((range, image.digest.clone()))),
        None => Err(refuse(name_at, "no line `digest: sha256:…` of its own")),
    }
}

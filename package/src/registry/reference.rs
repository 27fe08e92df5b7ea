//! References of packages: `REGISTRY/REPOSITORY[:TAG][@DIGEST]`.

use std::{fmt, str::FromStr};

use anyhow::{Context as _, bail, ensure};

use crate::oci::{Digest, parse_digest};

/// Location of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Host, with a port if it is not the default one.
    pub registry: String,
    /// Path in the registry.
    pub path: String,
    /// Tag, which may move.
    pub tag: Option<String>,
    /// Digest, which is immutable.
    pub digest: Option<Digest>,
}

impl Reference {
    /// Registry and path, without tag and digest.
    pub fn repository(&self) -> String {
        format!("{}/{}", self.registry, self.path)
    }

    /// Its name in the distribution API: the digest if there is one.
    ///
    /// # Errors
    /// If there is neither tag nor digest.
    pub fn name(&self) -> anyhow::Result<&str> {
        self.digest
            .as_ref()
            .map(AsRef::as_ref)
            .or(self.tag.as_deref())
            .with_context(|| format!("{self} names no version; add :TAG or @sha256:…"))
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.path)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Reference {
    type Err = anyhow::Error;

    /// Names without a registry are refused: Crossplane has no default registry, and a guess could push to a stranger's.
    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(parse_digest(digest)?)),
            None => (text, None),
        };
        let Some((registry, rest)) = rest.split_once('/') else {
            bail!(
                "{text:?} is not a reference; write REGISTRY/REPOSITORY:TAG, such as registry.example.org/team/function-testplatform:v1"
            );
        };
        ensure!(
            registry == "localhost" || registry.contains(['.', ':']),
            "{text:?} names no registry ({registry:?} is not a host); write its name in front"
        );
        ensure!(
            registry.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b)),
            "{registry:?} is not a name of a registry"
        );
        let (path, tag) = match rest.split_once(':') {
            Some((path, tag)) => (path, Some(tag.to_owned())),
            None => (rest, None),
        };
        let word = |word: &str| {
            !word.is_empty()
                && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
                && !word.starts_with(['.', '_', '-'])
                && !word.ends_with(['.', '_', '-'])
        };
        ensure!(
            path.split('/').all(word),
            "{path:?} is not a repository; use lower-case letters, digits, '.', '_', '-' and '/' between them"
        );
        if let Some(tag) = &tag {
            let allowed = tag.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
            ensure!(
                allowed && (1..=128).contains(&tag.len()) && !tag.starts_with(['.', '-']),
                "{tag:?} is not a tag; use letters, digits, '.', '_' and '-', at most 128"
            );
        }
        Ok(Self { registry: registry.to_owned(), path: path.to_owned(), tag, digest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_and_written() {
        let digest = crate::oci::digest_of(b"");
        for text in [
            "registry.example.org/team/function-testplatform:v0.1.0",
            "localhost:5000/f",
            "[::1]:5000/a/b/c:latest",
            &format!("r.example/f@{digest}"),
            &format!("r.example/f:v1@{digest}"),
        ] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_digest_wins_over_a_tag() {
        let digest = crate::oci::digest_of(b"");
        let reference: Reference = format!("r.example/f:v1@{digest}").parse().unwrap();
        assert_eq!(reference.name().unwrap(), digest.as_ref());
        assert!("r.example/f".parse::<Reference>().unwrap().name().is_err());
    }

    #[test]
    fn invalid_references_are_reported() {
        for (text, what) in [
            ("function", "is not a reference"),
            ("team/function", "names no registry"),
            ("r.example/Function", "not a repository"),
            ("r.example//f", "not a repository"),
            ("r.example/f:", "not a tag"),
            ("r.example/f:a b", "not a tag"),
            ("r.example/f@sha256:12", "not a digest"),
            ("https://r.example/f", "not a repository"),
        ] {
            let message = text.parse::<Reference>().unwrap_err().to_string();
            assert!(message.contains(what), "{text}: {message}");
        }
    }
}

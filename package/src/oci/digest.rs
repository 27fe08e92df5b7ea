//! Digest of content: its SHA-256.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

const PREFIX: &str = "sha256:";

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut text = PREFIX.to_owned();
        for byte in Sha256::digest(bytes) {
            for half in [byte >> 4, byte & 0xf] {
                text.extend(char::from_digit(half.into(), 16));
            }
        }
        Self(text)
    }

    /// Its hexadecimal digits.
    pub fn hex(&self) -> &str {
        &self.0[PREFIX.len()..]
    }

    /// The complete digest.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl TryFrom<String> for Digest {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        let digits = text.strip_prefix(PREFIX).unwrap_or_default();
        let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        anyhow::ensure!(
            digits.len() == 64 && digits.bytes().all(lower),
            "{text:?} is not a digest; it is sha256: and 64 lower-case hexadecimal digits"
        );
        Ok(Self(text))
    }
}

impl FromStr for Digest {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        text.to_owned().try_into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_empty_content_is_known() {
        let digest = Digest::of(b"");
        assert_eq!(digest.hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
    }

    #[test]
    fn other_texts_are_no_digests() {
        for text in ["", "sha256:", "sha512:00", &format!("sha256:{}", "A".repeat(64)), &"0".repeat(71)] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}

//! Versions of what runs on a cluster: which release of a template a claim means, and which of two is newer.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A whole version, such as 4.20.3 or v1.31.2. Two that differ only in the leading `v` are the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version(semver::Version);

/// Error of an invalid version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a whole version such as 4.20.3")]
pub struct NoVersion;

impl Version {
    /// Reads one.
    ///
    /// # Errors
    /// The text is no whole version.
    pub fn parse(text: &str) -> Result<Self, NoVersion> {
        let plain = text.strip_prefix('v').unwrap_or(text);
        semver::Version::parse(plain).map(Self).map_err(|_| NoVersion)
    }

    /// Major and minor.
    pub const fn minor(&self) -> (u64, u64) {
        (self.0.major, self.0.minor)
    }

    /// Whether `requested` matches this version: the same, or its first one or two numbers, such as 4.20.
    pub fn matches_request(&self, asked: &str) -> bool {
        let requested = asked.strip_prefix('v').unwrap_or(asked);
        if let Ok(whole) = Self::try_from(requested.to_owned()) {
            return whole == *self;
        }
        let own = [self.0.major, self.0.minor].map(|n| n.to_string());
        let parts: Vec<&str> = requested.split('.').collect();
        // A release that is still to come is asked for by its whole name only.
        self.0.pre.is_empty() && parts.len() <= own.len() && parts.iter().zip(&own).all(|(p, own)| p == own)
    }

    /// The version with which the tag of an image begins, if it does.
    pub fn of_tag(image: &str) -> Option<Self> {
        let last = image.rsplit('/').next().unwrap_or(image);
        let tag = last.split('@').next()?.split_once(':')?.1;
        // Tags of releases end with the architecture: 4.17.3-x86_64.
        let architectures = ["-x86_64", "-amd64", "-aarch64", "-arm64", "-ppc64le", "-s390x", "-multi"];
        let plain = architectures.iter().find_map(|a| tag.strip_suffix(a)).unwrap_or(tag);
        Self::try_from(plain.to_owned()).ok()
    }
}

impl TryFrom<String> for Version {
    type Error = NoVersion;

    fn try_from(text: String) -> Result<Self, NoVersion> {
        Self::parse(&text)
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn a_minor_version_means_its_patches_and_a_whole_one_itself() {
        let own = version("4.20.3");
        for meant in ["4", "4.20", "v4.20", "4.20.3", "v4.20.3"] {
            assert!(own.matches_request(meant), "{meant}");
        }
        for other in ["", "v", "4.2", "4.20.", "4.20.30", "4.20.3.1", "4.20.3-rc.1", "5", "latest", "4.x"] {
            assert!(!own.matches_request(other), "{other}");
        }
        let candidate = version("4.21.0-rc.1");
        assert!(candidate.matches_request("4.21.0-rc.1") && !candidate.matches_request("4.21"));
        assert!(candidate < version("4.21.0") && candidate > own);
    }

    #[test]
    fn tags_of_releases_tell_their_version() {
        for (image, tag) in [
            ("quay.io/openshift-release-dev/ocp-release:4.17.3-x86_64", Some("4.17.3")),
            ("registry:5000/a/b:v1.31.2", Some("1.31.2")),
            ("registry:5000/a/b", None),
            ("quay.io/a/b:latest", None),
            ("quay.io/a/b:4.21.0-rc.1-multi", Some("4.21.0-rc.1")),
            ("quay.io/a/b@sha256:0123", None),
            ("2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a10", None),
            ("", None),
        ] {
            assert_eq!(Version::of_tag(image).map(|v| v.to_string()).as_deref(), tag, "{image}");
        }
    }
}

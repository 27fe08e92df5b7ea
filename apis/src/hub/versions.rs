//! Versions of clusters, and which of them can be made: `4.20`, `4.19.3, 4.20`, `>=4.18 <4.21`.

use std::cmp::Ordering;

/// A version: whole numbers, perhaps with what comes before a release. `4.20.0-rc.1` is before `4.20.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialVersion {
    numbers: Vec<u64>,
    early: bool,
}

impl PartialVersion {
    /// Reads a version, with or without a leading `v`. Suffixes after `-` or `+` are not compared.
    ///
    /// # Errors
    /// If it does not begin with whole numbers.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bare = text.strip_prefix('v').unwrap_or(text);
        let core = bare.split(['-', '+']).next().unwrap_or_default();
        let numbers: Result<Vec<u64>, _> = core.split('.').map(str::parse).collect();
        let wrong = |_| format!("{text:?} is not a version: whole numbers with dots between, such as 4.20.3");
        let early = bare[core.len()..].starts_with('-');
        Ok(Self { numbers: numbers.map_err(wrong)?, early })
    }

    /// Whether it is one of those that begin with these numbers: 4.20 covers 4.20.3.
    fn covers_version(&self, other: &Self) -> bool {
        match self.numbers.len().cmp(&other.numbers.len()) {
            Ordering::Less => other.numbers.starts_with(&self.numbers),
            Ordering::Equal => self == other || (self.numbers.len() < 3 && self.numbers == other.numbers),
            // A claim that asks for 4.20 takes any 4.20, so one that has 4.20.3 has it.
            Ordering::Greater => self.numbers.starts_with(&other.numbers),
        }
    }

    fn compare_numbers(&self, other: &Self) -> Ordering {
        let longest = self.numbers.len().max(other.numbers.len());
        let at = |version: &Self, i: usize| version.numbers.get(i).copied().unwrap_or(0);
        let numbers = (0..longest).map(|i| at(self, i).cmp(&at(other, i))).find(|o| o.is_ne());
        numbers.unwrap_or_else(|| other.early.cmp(&self.early))
    }
}

/// Which versions can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions(Vec<Vec<Bound>>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Bound {
    Is(PartialVersion),
    Above { version: PartialVersion, itself: bool },
    Below { version: PartialVersion, itself: bool },
}

impl Bound {
    fn parse_bound(text: &str) -> Result<Self, String> {
        let version = PartialVersion::parse;
        let above = |version, itself| Self::Above { version, itself };
        let below = |version, itself| Self::Below { version, itself };
        if let Some(rest) = text.strip_prefix(">=") {
            version(rest).map(|v| above(v, true))
        } else if let Some(rest) = text.strip_prefix("<=") {
            version(rest).map(|v| below(v, true))
        } else if let Some(rest) = text.strip_prefix('>') {
            version(rest).map(|v| above(v, false))
        } else if let Some(rest) = text.strip_prefix('<') {
            version(rest).map(|v| below(v, false))
        } else {
            version(text.strip_prefix('=').unwrap_or(text)).map(Self::Is)
        }
    }

    fn is_satisfied_by(&self, version: &PartialVersion) -> bool {
        match self {
            Self::Is(own) => own.covers_version(version),
            Self::Above { version: own, itself } => {
                let order = version.compare_numbers(own);
                order.is_gt() || (*itself && order.is_eq())
            }
            Self::Below { version: own, itself } => {
                let order = version.compare_numbers(own);
                // `<=4.20` means all of 4.20.
                order.is_lt() || (*itself && (order.is_eq() || own.covers_version(version)))
            }
        }
    }
}

impl Versions {
    /// Reads a list with commas. Each part is a version, or bounds with spaces between that all have to hold.
    ///
    /// # Errors
    /// If a part is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        let part =
            |part: &str| part.split_whitespace().map(Bound::parse_bound).collect::<Result<Vec<_>, _>>();
        let parts: Vec<Vec<Bound>> =
            text.split(',').map(str::trim).filter(|p| !p.is_empty()).map(part).collect::<Result<_, _>>()?;
        if parts.is_empty() { Err("it names no version".to_owned()) } else { Ok(Self(parts)) }
    }

    /// Whether a version is among them.
    pub fn contains_version(&self, version: &PartialVersion) -> bool {
        self.0.iter().any(|bounds| bounds.iter().all(|bound| bound.is_satisfied_by(version)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn have(versions: &str, version: &str) -> bool {
        Versions::parse(versions).unwrap().contains_version(&PartialVersion::parse(version).unwrap())
    }

    #[test]
    fn lists_and_ranges_hold_what_they_say() {
        for (versions, version, expected) in [
            ("4.20", "4.20.3", true),
            ("4.20", "4.2.0", false),
            ("4.20", "4.20", true),
            ("4.20.3", "4.20", true),
            ("4.20.3", "4.20.4", false),
            ("4.20.3", "4.20.3-rc.1", false),
            ("4.20", "4.20.0-rc.1", true),
            ("4.19, 4.21", "4.20.1", false),
            ("4.19,4.20", "v4.20.1", true),
            (">=4.18 <4.21", "4.20.9", true),
            (">=4.18 <4.21", "4.21.0", false),
            (">=4.18 <4.21", "4.21.0-rc.1", true),
            (">=4.18 <4.21", "4.17.30", false),
            ("<=4.20", "4.20.9", true),
            (">4.20", "4.20.0", false),
            (">1.30.0, =1.28", "1.28.4", true),
            (">1.30.0, =1.28", "1.30.0", false),
        ] {
            assert_eq!(have(versions, version), expected, "{versions}: {version}");
        }
    }

    #[test]
    fn invalid_version_is_named_in_the_error() {
        for text in ["", " , ", "latest", ">=", "4.x", ">=4.18 and <4.21"] {
            assert!(Versions::parse(text).is_err(), "{text}");
        }
        assert!(PartialVersion::parse("4.x").unwrap_err().contains("\"4.x\""));
    }
}

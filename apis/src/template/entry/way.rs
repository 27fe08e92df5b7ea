//! Upgrade path of a cluster to a newer version, for backends that upgrade step by step.

use super::{Release, within_reach};
use crate::template::version::Version;

/// The releases through which a cluster goes on its way from one version to a newer one, which is not among them. None: there is a gap.
pub fn find_upgrade_path<'a>(
    releases: &'a [Release],
    from: &Version,
    to: &Version,
) -> Option<Vec<&'a Release>> {
    let mut way: Vec<&Release> = Vec::new();
    loop {
        let at = way.last().map_or(from, |last| &last.version);
        if can_reach(releases, at, to) {
            return Some(way);
        }
        // The newest of the next minor version: who wants the one after stays at none before.
        let between = releases.iter().filter(|r| {
            r.enabled
                && r.version < *to
                && r.version.minor() > at.minor()
                && can_reach(releases, at, &r.version)
        });
        way.push(between.max_by(|a, b| a.version.cmp(&b.version))?);
    }
}

/// Whether a step leads there. A release that is not in the list any more says nothing of its own.
fn can_reach(releases: &[Release], from: &Version, to: &Version) -> bool {
    let own = releases.iter().find(|r| r.version == *from);
    own.map_or_else(|| within_reach(from, to), |own| own.may_become(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::try_from(text.to_owned()).unwrap()
    }

    fn release(text: &str) -> Release {
        Release {
            version: version(text),
            image: None,
            enabled: true,
            deprecated: None,
            allowed_upgrades: None,
        }
    }

    fn words(releases: &[Release], from: &str, to: &str) -> Option<Vec<String>> {
        let way = find_upgrade_path(releases, &version(from), &version(to))?;
        Some(way.into_iter().map(|r| r.version.to_string()).collect())
    }

    #[test]
    fn the_newest_of_each_minor_version_between_is_on_the_way() {
        let all = ["1.29.4", "1.30.2", "1.30.6", "1.31.2", "1.32.0"].map(release);
        assert_eq!(words(&all, "1.29.4", "1.29.9"), Some(vec![]));
        assert_eq!(words(&all, "1.29.4", "1.30.2"), Some(vec![]));
        assert_eq!(words(&all, "1.29.4", "1.31.2"), Some(vec!["1.30.6".into()]));
        assert_eq!(words(&all, "1.28.0", "1.31.2"), Some(vec!["1.29.4".into(), "1.30.6".into()]));
    }

    #[test]
    fn upgrade_path_has_no_gap_and_no_disabled_version() {
        let mut all = ["1.29.4", "1.30.6", "1.31.2"].map(release);
        assert_eq!(words(&all, "1.29.4", "2.0.0"), None);
        assert_eq!(words(&all, "1.27.0", "1.31.2"), None);
        all[1].enabled = false;
        assert_eq!(words(&all, "1.29.4", "1.31.2"), None);
    }

    #[test]
    fn allowed_upgrades_of_an_entry_widen_or_narrow_the_path() {
        let mut all = ["1.29.4", "1.30.6", "1.31.2"].map(release);
        all[0].allowed_upgrades = Some(vec!["1.31".into()]);
        assert_eq!(words(&all, "1.29.4", "1.31.2"), Some(vec![]));
        all[0].allowed_upgrades = Some(vec![]);
        assert_eq!(words(&all, "1.29.4", "1.31.2"), None);
    }
}

//! Release notes: one section of the changelog.

use anyhow::{Context as _, ensure};

/// Start of a section's heading.
const HEADING: &str = "## [";

/// The text of a version's section without its heading. `version` may begin with a `v`, as tags do.
///
/// # Errors
/// If there is no such section, or it is empty.
pub fn cut_notes<'a>(changelog: &'a str, version: &str) -> anyhow::Result<&'a str> {
    let version = version.strip_prefix('v').unwrap_or(version);
    let sections = split_sections(changelog);
    let found = sections.iter().find(|(name, _)| *name == version);
    let (_, text) = found.with_context(|| {
        let names: Vec<&str> = sections.iter().map(|(name, _)| *name).collect();
        format!("the changelog has no section [{version}]; it has {}", names.join(", "))
    })?;
    ensure!(!text.is_empty(), "section [{version}] of the changelog is empty");
    Ok(text)
}

/// Names and texts of all sections.
fn split_sections(changelog: &str) -> Vec<(&str, &str)> {
    let starts: Vec<usize> = changelog
        .match_indices(HEADING)
        .map(|(at, _)| at)
        .filter(|at| *at == 0 || changelog[..*at].ends_with('\n'))
        .collect();
    let ends = starts.iter().copied().skip(1).chain([changelog.len()]);
    let sections = starts.iter().zip(ends).map(|(start, end)| &changelog[start + HEADING.len()..end]);
    sections
        .filter_map(|section| {
            let (heading, text) = section.split_once('\n').unwrap_or((section, ""));
            Some((heading.split_once(']')?.0, text.trim()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGELOG: &str = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Tools\n\n- One, see `## [0.1.0]`.\n\n## [0.1.0]\n\n- First.\n";

    #[test]
    fn a_section_ends_before_the_next_heading() {
        let notes = "### Tools\n\n- One, see `## [0.1.0]`.";
        assert_eq!(cut_notes(CHANGELOG, "0.2.0").unwrap(), notes);
        assert_eq!(cut_notes(CHANGELOG, "v0.2.0").unwrap(), notes);
        assert_eq!(cut_notes(CHANGELOG, "0.1.0").unwrap(), "- First.");
    }

    #[test]
    fn a_missing_or_empty_section_is_named() {
        let refused = |version: &str| cut_notes(CHANGELOG, version).unwrap_err().to_string();
        assert_eq!(
            refused("v0.3.0"),
            "the changelog has no section [0.3.0]; it has Unreleased, 0.2.0, 0.1.0"
        );
        assert_eq!(refused("Unreleased"), "section [Unreleased] of the changelog is empty");
        assert_eq!(
            cut_notes("", "0.1.0").unwrap_err().to_string(),
            "the changelog has no section [0.1.0]; it has "
        );
    }
}

//! Text of `/metrics`: families repeated under the names of an earlier release, and a listing for documentation.

use std::{collections::BTreeSet, fmt::Write as _};

/// Last line of every page.
const END: &str = "# EOF\n";

/// Repeats each renamed family under its earlier name, so that rules and dashboards of the previous release continue to work.
///
/// `renamed` has pairs of an earlier and a current name, as Prometheus stores them.
#[must_use]
pub fn add_earlier_names(page: &str, renamed: &[(&str, &str)]) -> String {
    let families = page.strip_suffix(END).unwrap_or(page);
    let mut out = String::with_capacity(page.len() * 2);
    out.push_str(families);
    for block in blocks(families) {
        let name = family(block);
        let Some((earlier, current)) = renamed.iter().find(|(_, current)| base_name(current) == name) else {
            continue;
        };
        let to = base_name(earlier);
        for line in block.lines() {
            // Writing to a string cannot fail.
            let _ = match line.strip_prefix("# ").and_then(|comment| comment.split_once(' ')) {
                Some(("HELP", _)) => writeln!(out, "# HELP {to} Deprecated: use {current}."),
                Some((word, rest)) => writeln!(out, "# {word} {to}{}", &rest[name.len()..]),
                None => writeln!(out, "{to}{}", &line[name.len()..]),
            };
        }
    }
    out.push_str(END);
    out
}

/// Help, type and label names of each family, without values: the same bytes for the same metrics, for documentation and tests.
#[must_use]
pub fn list_families(page: &str) -> String {
    let families = page.strip_suffix(END).unwrap_or(page);
    let mut listed: Vec<String> = blocks(families)
        .map(|block| {
            let (comments, samples): (Vec<&str>, Vec<&str>) =
                block.lines().partition(|line| line.starts_with('#'));
            let series: BTreeSet<String> = samples.into_iter().map(without_values).collect();
            comments.into_iter().map(str::to_owned).chain(series).map(|line| line + "\n").collect()
        })
        .collect();
    listed.sort();
    listed.concat()
}

/// Blocks of a page: the comments of a family, and its samples.
fn blocks(page: &str) -> impl Iterator<Item = &str> {
    let starts: Vec<usize> = page
        .match_indices("# HELP ")
        .map(|(at, _)| at)
        // Help is one line, so every other place is inside a value or a help text.
        .filter(|at| *at == 0 || page[..*at].ends_with('\n'))
        .collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([page.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &page[start..end])
}

/// Name of a block's family.
fn family(block: &str) -> &str {
    block.split(' ').nth(2).unwrap_or_default()
}

/// Name of a family without the suffix that its samples add.
fn base_name(name: &str) -> &str {
    name.strip_suffix("_total").or_else(|| name.strip_suffix("_info")).unwrap_or(name)
}

/// A sample's name and the names of its labels.
fn without_values(sample: &str) -> String {
    let Some((name, rest)) = sample.split_once('{') else {
        return sample.split(' ').next().unwrap_or_default().to_owned();
    };
    let (mut labels, mut rest) = (Vec::new(), rest);
    while let Some((label, value)) = rest.split_once("=\"") {
        labels.push(label.trim_start_matches(','));
        rest = after_quote(value);
        if rest.starts_with('}') {
            break;
        }
    }
    labels.sort_unstable();
    format!("{name}{{{}}}", labels.join(","))
}

/// The text after the end of a quoted value.
fn after_quote(value: &str) -> &str {
    let mut escaped = false;
    for (at, byte) in value.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return &value[at + 1..],
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP new_calls Calls.\n# TYPE new_calls counter\nnew_calls_total{code=\"OK\"} 3\n\
                        # HELP new_wait_seconds Waits.\n# TYPE new_wait_seconds histogram\n# UNIT new_wait_seconds seconds\n\
                        new_wait_seconds_sum 1.0\nnew_wait_seconds_bucket{le=\"1.0\",queue=\"a\"} 1\n\
                        # HELP same Stays.\n# TYPE same gauge\nsame{of=\"}# HELP x\\\",y=\\\"\"} 1\n# EOF\n";

    #[test]
    fn renamed_families_are_exported_under_both_names() {
        let renamed = [("calls_total", "new_calls_total"), ("wait_seconds", "new_wait_seconds")];
        let both = add_earlier_names(PAGE, &renamed);
        assert!(both.starts_with(PAGE.strip_suffix(END).unwrap()), "{both}");
        assert_eq!(
            both.strip_prefix(PAGE.strip_suffix(END).unwrap()).unwrap(),
            "# HELP calls Deprecated: use new_calls_total.\n# TYPE calls counter\ncalls_total{code=\"OK\"} 3\n\
             # HELP wait_seconds Deprecated: use new_wait_seconds.\n# TYPE wait_seconds histogram\n\
             # UNIT wait_seconds seconds\nwait_seconds_sum 1.0\nwait_seconds_bucket{le=\"1.0\",queue=\"a\"} 1\n# EOF\n"
        );
    }

    #[test]
    fn listings_have_labels_and_no_values() {
        let listing = list_families(PAGE);
        assert!(listing.contains("new_calls_total{code}\n"), "{listing}");
        assert!(listing.contains("new_wait_seconds_bucket{le,queue}\n"), "{listing}");
        assert!(listing.ends_with("# TYPE same gauge\nsame{of}\n"), "{listing}");
    }
}

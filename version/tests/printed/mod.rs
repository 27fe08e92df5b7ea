//! The line that a program prints for `--version`. Tests of each program include this file.

use std::process::{Command, Output};

/// Panics unless the output is one line with the program, its version and the commit of this work tree.
pub fn is_version_with_commit(output: &Output, program: &str) {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.trim_end_matches('\n');
    let expected = format!("{program} {}", env!("CARGO_PKG_VERSION"));
    let rest =
        line.strip_prefix(&expected).unwrap_or_else(|| panic!("{line:?} does not begin with {expected:?}"));
    let commit = rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')')).unwrap_or_default();
    let head =
        Command::new("git").args(["rev-parse", "HEAD"]).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    match head {
        Ok(head) if head.status.success() && std::env::var_os("TESTPLATFORM_COMMIT").is_none() => {
            let head = String::from_utf8_lossy(&head.stdout);
            let printed = commit.strip_suffix("-dirty").unwrap_or(commit);
            assert_eq!(printed, head.get(..12).unwrap_or_default(), "{line:?} is not of the commit {head}");
        }
        _ => assert_eq!(
            rest.is_empty(),
            commit.is_empty(),
            "{line:?} is neither a version nor one with a commit"
        ),
    }
}

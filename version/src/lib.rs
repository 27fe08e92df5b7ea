//! The version that a program prints, with the commit that it is built from.
//!
//! A macro, and no build script: after a build script has run, cargo compiles every target of its package again, libraries and tests
//! included. The macro is expanded in `main.rs` of each program, so a new commit only compiles that file.
//!
//! Input: variable `TESTPLATFORM_COMMIT`, which `cargo xpkg build` sets, or else git. Output: a string literal.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use proc_macro::TokenStream;

/// Environment variable with the commit. An empty value means that the commit is unknown, and git is not run.
const VARIABLE: &str = "TESTPLATFORM_COMMIT";
/// Digits of a printed commit. The length that git chooses depends on the size of the clone, so it would change the bytes of a program.
const DIGITS: usize = 12;

/// Expands to the version of the calling crate and the commit, such as `0.1.0 (d4389033c1f2)`; `-dirty` follows the commit if files differ
/// from it. Without a commit, for example in an unpacked archive, it is the version alone.
#[proc_macro]
pub fn version(_input: TokenStream) -> TokenStream {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let code = match std::env::var_os(VARIABLE) {
        Some(commit) => expand(&shorten(&commit.to_string_lossy()), None),
        None => expand(&shorten(&read_commit(&package).unwrap_or_default()), find_log(&package).as_deref()),
    };
    code.parse().unwrap_or_default()
}

/// The expression. Its constants tell the compiler when to expand it again: after a change of the variable, or of git's log of commits.
fn expand(commit: &str, log: Option<&Path>) -> String {
    let suffix = if commit.is_empty() { String::new() } else { format!(" ({commit})") };
    let log = log.map(|log| format!("const _: &[u8] = include_bytes!({:?});", log.to_string_lossy()));
    format!(
        "{{ const _: Option<&str> = option_env!({VARIABLE:?}); {} concat!(env!(\"CARGO_PKG_VERSION\"), {suffix:?}) }}",
        log.unwrap_or_default()
    )
}

/// The first digits of a commit, with its suffix if it has one.
fn shorten(commit: &str) -> String {
    let (digits, suffix) = commit.split_at(commit.find('-').unwrap_or(commit.len()));
    digits.chars().take(DIGITS).collect::<String>() + suffix
}

/// The commit that is checked out at a directory, with `-dirty` if files differ from it; none without git.
fn read_commit(directory: &Path) -> Option<String> {
    let commit = run_git(directory, &["rev-parse", "HEAD"])?;
    let clean = run_git(directory, &["status", "--porcelain"])?.is_empty();
    Some(if clean { commit } else { format!("{commit}-dirty") })
}

/// The file that git changes with every commit and checkout of this work tree.
fn find_log(directory: &Path) -> Option<PathBuf> {
    let paths = ["logs/HEAD", "HEAD"].into_iter();
    let mut files = paths
        .filter_map(|name| Some(directory.join(run_git(directory, &["rev-parse", "--git-path", name])?)));
    files.find(|file| file.is_file())
}

fn run_git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(directory).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn git(directory: &Path, arguments: &[&str]) {
        let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
        let all: Vec<&str> = identity.into_iter().chain(arguments.iter().copied()).collect();
        assert!(run_git(directory, &all).is_some(), "git {arguments:?}");
    }

    #[test]
    fn the_commit_of_a_work_tree_changes_with_its_files_and_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        git(root, &["init", "--quiet"]);
        fs::create_dir(root.join("crate")).unwrap();
        fs::write(root.join("crate/file"), "one").unwrap();
        git(root, &["add", "."]);
        git(root, &["commit", "--quiet", "--message=One"]);
        let package = root.join("crate");
        let first = read_commit(&package).unwrap();
        assert!(first.len() == 40 && first.chars().all(|digit| digit.is_ascii_hexdigit()), "{first}");

        fs::write(root.join("crate/file"), "two").unwrap();
        assert_eq!(read_commit(&package).unwrap(), format!("{first}-dirty"));

        let log = find_log(&package).unwrap();
        let before = fs::read(&log).unwrap();
        git(root, &["commit", "--quiet", "--all", "--message=Two"]);
        assert_ne!(read_commit(&package).unwrap(), first);
        assert_ne!(fs::read(&log).unwrap(), before, "the compiler would not notice the commit");
    }

    #[test]
    fn a_directory_outside_of_git_has_no_commit() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_commit(folder.path()), None);
        assert_eq!(find_log(folder.path()), None);
        assert_eq!(read_commit(&folder.path().join("nowhere")), None);
    }

    #[test]
    fn a_commit_is_printed_with_twelve_digits_and_its_suffix() {
        for (commit, short) in [
            ("d4389033c1f2aa90d4389033c1f2aa90d4389033", "d4389033c1f2"),
            ("d4389033c1f2aa90d4389033c1f2aa90d4389033-dirty", "d4389033c1f2-dirty"),
            ("abc", "abc"),
            ("", ""),
        ] {
            assert_eq!(shorten(commit), short);
        }
    }

    #[test]
    fn an_unknown_commit_leaves_the_version_alone() {
        assert!(expand("", None).ends_with("concat!(env!(\"CARGO_PKG_VERSION\"), \"\") }"));
        let code = expand("abc", Some(Path::new("/a \"b\"/HEAD")));
        assert!(code.contains(r#"include_bytes!("/a \"b\"/HEAD")"#), "{code}");
        assert!(
            code.contains("option_env!(\"TESTPLATFORM_COMMIT\")") && code.contains("\" (abc)\""),
            "{code}"
        );
    }
}

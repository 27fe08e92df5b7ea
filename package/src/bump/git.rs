//! Access to git: state of the checkout, and history of the source. Runs the program `git`, read-only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

use super::upstream::{self, Upstream};
use super::{Commit, Edit, Problem, Source, Tree, deployed_paths, text};

/// Whether a directory is in a checkout.
///
/// # Errors
/// If git refuses an existing checkout, such as one of another user.
pub fn is_checkout(directory: &Path) -> Result<bool, Problem> {
    match run_git(directory, &["rev-parse", "--is-inside-work-tree"]) {
        Ok(message) => Ok(message.starts_with(b"true")),
        Err(problem) => {
            let canonical = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
            let has_git = canonical.ancestors().any(|above| above.join(".git").exists());
            if has_git { Err(problem) } else { Ok(false) }
        }
    }
}

/// Reports git's reason for refusing this repository, if that caused the failure.
fn check_access(directory: &Path) -> Result<(), Problem> {
    run_git(directory, &["rev-parse", "--git-dir"]).map(|_| ())
}

/// Edited files with uncommitted changes, each with the first different line.
///
/// # Errors
/// If git fails.
pub fn find_uncommitted(root: &Path, edits: &BTreeMap<String, Edit>) -> Result<Vec<Problem>, Problem> {
    let mut problems = Vec::new();
    for (path, edit) in edits {
        let Some(now) = &edit.before else { continue };
        let status = run_git(
            root,
            &["status", "--porcelain=v1", "-z", "--ignored", "--untracked-files=all", "--", path],
        )?;
        if status.is_empty() {
            continue;
        }
        let committed = git_output(root, &["show", &format!("HEAD:./{path}")])
            .ok()
            .filter(|output| output.status.success())
            .map(|output| output.stdout);
        let (what, line) = match committed {
            None => ("not committed", 1),
            Some(committed) => ("has changes that are not committed", first_difference(&committed, now)),
        };
        let help = "commit or stash them, or give --allow-dirty";
        problems.push(Problem::new(path, what, help).at_line(line));
    }
    Ok(problems)
}

fn first_difference(one: &[u8], other: &[u8]) -> usize {
    let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (one, other) = (lines(one), lines(other));
    // Equal to the end if the difference is only in the index.
    one.iter().zip(&other).position(|(one, other)| one != other).map_or(1, |index| index + 1)
}

/// Commits to which staging of a component was ever pinned, each with its time in Unix seconds.
pub fn staged_commits(root: &Path, component: &str, source: &Source) -> Option<BTreeMap<Commit, i64>> {
    let directories =
        ["staging", "base", "rings/ring-1"].map(|name| format!("components/{component}/{name}"));
    let mut arguments =
        vec!["log", "--no-merges", "-p", "-U0", "--no-color", "--no-ext-diff", "--format=%x00%ct", "--"];
    arguments.extend(directories.iter().map(String::as_str));
    let log = git_output(root, &arguments).ok().filter(|output| output.status.success())?;
    Some(parse_staged_commits(&String::from_utf8_lossy(&log.stdout), source))
}

/// The same, from the text of the log.
fn parse_staged_commits(log: &str, source: &Source) -> BTreeMap<Commit, i64> {
    let address = format!("https://github.com/{source}/");
    let mut staged = BTreeMap::new();
    for part in log.split('\0') {
        let Some((seconds, diff)) = part.split_once('\n') else { continue };
        let Ok(seconds) = seconds.trim().parse::<i64>() else { continue };
        for line in diff.lines().filter(|line| line.starts_with('+') && line.contains(&address)) {
            let commit =
                line.split_once("?ref=").and_then(|(_, commit)| commit.trim_end().parse::<Commit>().ok());
            if let Some(commit) = commit {
                let first = staged.entry(commit).or_insert(seconds);
                *first = seconds.min(*first);
            }
        }
    }
    staged
}

/// Files that differ from the merge base with `base`, committed or not.
///
/// # Errors
/// If `base` is not a commit here.
pub fn changed_files(root: &Path, base: &str) -> Result<Vec<String>, Problem> {
    check_access(root)?;
    let base = run_git(
        root,
        &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{base}^{{commit}}")],
    )
    .map_err(|_| Problem::new("--base", format!("no commit {base:?} here"), "fetch it"))?;
    let base = lossy_text(&base);
    let fork = lossy_text(&run_git(root, &["merge-base", &base, "HEAD"])?);
    // Both names of a file that moved from staging to production count.
    let names = run_git(root, &["diff", "--name-only", "--no-renames", "--relative", "-z", &fork])?;
    Ok(String::from_utf8_lossy(&names)
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect())
}

/// The checked-out commit of a clone.
///
/// # Errors
/// If it is no clone.
pub fn head_commit(clone: &Path) -> Result<Commit, Problem> {
    let head = run_git(clone, &["rev-parse", "--verify", "HEAD"]).map_err(|problem| {
        Problem::new(
            clone.display().to_string(),
            format!("no clone: {}", problem.what),
            "give a clone of the source",
        )
    })?;
    lossy_text(&head).parse().map_err(|why: String| {
        Problem::new(clone.display().to_string(), why, "give a clone of the source with SHA-1 commits")
    })
}

/// Whether a clone has a commit.
///
/// # Errors
/// If it is no clone, or git refuses it.
pub fn has_commit(clone: &Path, commit: &Commit) -> Result<bool, Problem> {
    check_access(clone)?;
    let object = format!("{commit}^{{commit}}");
    Ok(git_output(clone, &["cat-file", "-e", &object]).is_ok_and(|output| output.status.success()))
}

/// Number of commits, without merges, that a clone has after one.
pub fn count_behind(clone: &Path, commit: &Commit) -> Option<usize> {
    let range = format!("{commit}..HEAD");
    let count = git_output(clone, &["rev-list", "--count", "--no-merges", &range]).ok()?;
    lossy_text(&count.stdout).parse().ok().filter(|_| count.status.success())
}

/// The deployed part of a source at a commit: directories and files, starting from the pinned directories.
///
/// # Errors
/// If the clone has no such commit, or a kustomization on the way cannot be read.
pub fn deployed_paths(
    clone: &Path,
    commit: &Commit,
    pinned: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Problem> {
    deployed_paths::deployed_paths(pinned, &list_paths(clone, commit)?, |path| {
        let bytes = read_file(clone, commit, path)?;
        text::parse_documents(&format!("{}:{path}", commit.short()), &bytes).map_err(|problem| Problem {
            help: "move to another commit, or give --to as a commit and no clone".to_owned(),
            ..problem
        })
    })
}

/// Those directories in which a commit has no kustomization.
///
/// # Errors
/// If the clone has no such commit.
pub fn missing_kustomizations(
    clone: &Path,
    commit: &Commit,
    directories: BTreeSet<String>,
) -> Result<Vec<String>, Problem> {
    let files = list_paths(clone, commit)?;
    Ok(directories
        .into_iter()
        .filter(|directory| !deployed_paths::has_kustomization(&files, directory))
        .collect())
}

/// The files at some paths, directories or files, at a commit.
///
/// # Errors
/// If the clone has no such commit.
pub fn read_files(clone: &Path, commit: &Commit, places: &BTreeSet<String>) -> Result<Tree, Problem> {
    let mut tree = Tree::default();
    for path in list_paths(clone, commit)?.iter().filter(|path| deployed_paths::includes_path(places, path)) {
        tree.insert(path, read_file(clone, commit, path)?);
    }
    Ok(tree)
}

/// All files at a commit, also if `clone` is a subdirectory of the clone.
fn list_paths(clone: &Path, commit: &Commit) -> Result<BTreeSet<String>, Problem> {
    let names = run_git(clone, &["ls-tree", "-r", "-z", "--full-tree", "--name-only", commit.as_str()])?;
    let names = String::from_utf8_lossy(&names);
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn read_file(clone: &Path, commit: &Commit, path: &str) -> Result<Vec<u8>, Problem> {
    run_git(clone, &["show", &format!("{commit}:{path}")])
}

/// The source between two commits, with the directories in `pinned` pinned.
///
/// # Errors
/// If the clone lacks the target, or a kustomization of the deployed part cannot be read.
pub fn read_range(
    clone: &Path,
    from: &Commit,
    to: &Commit,
    pinned: &BTreeSet<String>,
) -> Result<Upstream, Problem> {
    if !has_commit(clone, to)? {
        let what = format!("the clone has no commit {to}");
        return Err(Problem::new(clone.display().to_string(), what, "fetch it, or check --to and --source"));
    }
    let known = has_commit(clone, from)?;
    let after = deployed_paths(clone, to, pinned)?;
    let mut range = Upstream {
        from: from.clone(),
        to: to.clone(),
        known,
        descendant: false,
        commits: Vec::new(),
        before: Tree::default(),
        after: read_files(clone, to, &after)?,
    };
    if known {
        let ancestor = ["merge-base", "--is-ancestor", from.as_str(), to.as_str()];
        range.descendant = git_output(clone, &ancestor).is_ok_and(|output| output.status.success());
        let before = deployed_paths(clone, from, pinned)?;
        range.before = read_files(clone, from, &before)?;
        let log = run_git(clone, &log_arguments(&format!("{from}..{to}")))?;
        // A path deployed at only one of the two commits changes with the commits in between.
        let either = before.union(&after).cloned().collect();
        range.commits = upstream::commits_of_log(&String::from_utf8_lossy(&log), &either);
    }
    Ok(range)
}

/// The command whose output `upstream` parses. Its diffs do not depend on the user's git configuration.
fn log_arguments(span: &str) -> [&str; 11] {
    [
        "log",
        "--no-merges",
        "-p",
        "-U0",
        "--no-color",
        "--no-ext-diff",
        "--no-renames",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--format=%x00%H%x1f%s",
        span,
    ]
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn git_output(directory: &Path, arguments: &[&str]) -> std::io::Result<Output> {
    // No lock is taken, so a person can work in the checkout meanwhile. Messages are parsed, so they are always in English.
    Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(["-c", "core.quotePath=false", "--no-pager", "--no-optional-locks"])
        .args(arguments)
        .env("LC_ALL", "C")
        // git sets them in hooks, where they name the hook's own repository.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .output()
}

fn run_git(directory: &Path, arguments: &[&str]) -> Result<Vec<u8>, Problem> {
    let at = directory.display().to_string();
    match git_output(directory, arguments) {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => {
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            let message = text::split_lines(&message).next().map_or("it failed", |line| line.text).to_owned();
            Err(Problem::new(
                at,
                format!("git {}: {message}", arguments.first().unwrap_or(&"")),
                "check the repository",
            ))
        }
        Err(error) => Err(Problem::new(at, format!("git cannot be run: {error}"), "install git")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staging_has_a_commit_since_its_first_write() {
        let one = "1".repeat(40);
        let log = format!(
            "\0200\n\ndiff --git a/x b/x\n+- https://github.com/o/n/config?ref={one}\n\
             \0100\n\n+- https://github.com/o/n/config?ref={one}\n+- https://github.com/other/n/config?ref={one}\n\
             \0050\n\n-- https://github.com/o/n/config?ref={one}\n+- https://github.com/o/n/config?ref=main\n"
        );
        let staged = parse_staged_commits(&log, &"o/n".parse().unwrap());
        assert_eq!(staged.into_iter().collect::<Vec<_>>(), [(one.parse().unwrap(), 100)]);
    }
}

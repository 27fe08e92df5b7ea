//! The checkout on disk: complete reads, and atomic writes.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{Edit, Problem, Tree, deployed_paths};

/// Directories relevant to a bump of a component, besides the paths that its kustomizations reference. All others stay unread.
fn relevant_directories(component: &str) -> [String; 6] {
    [
        format!("components/{component}"),
        "components/crossplane-config".to_owned(),
        "components/authentication/base".to_owned(),
        "components/konflux-rbac/base".to_owned(),
        "argo-cd-apps/base".to_owned(),
        // The lists of clusters in rings.
        "argo-cd-apps/k-components".to_owned(),
    ]
}

/// The YAML files of a checkout that matter for a component. Symbolic links are not followed: they may lead to a file of someone else.
///
/// # Errors
/// If the component does not exist, or a file cannot be read.
pub fn read_checkout(root: &Path, component: &str) -> Result<Tree, Problem> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if component.is_empty() || component.starts_with('.') || !component.bytes().all(legal) {
        let what = format!("{component:?} is not a name of a component");
        return Err(Problem::new("--component", what, "give the name of a directory below components/"));
    }
    if !root.join("components").join(component).is_dir() {
        let path = root.join("components").join(component);
        let help = "give a checkout of infra-deployments with --repo, and the component with --component";
        return Err(Problem::new(path.display().to_string(), "no such directory", help));
    }
    let mut tree = Tree::default();
    for directory in relevant_directories(component) {
        read_directory(root, &directory, &mut tree).map_err(|(path, error)| read_problem(&path, &error))?;
    }
    // Kustomizations reference directories of other components, and files with any extension. These may reference more.
    let mut known = BTreeSet::new();
    loop {
        let mut paths = deployed_paths::unread_paths(&tree);
        paths.retain(|path| known.insert(path.clone()));
        if paths.is_empty() {
            return Ok(tree);
        }
        for path in paths {
            read_reference(root, &path, &mut tree).map_err(|(path, error)| read_problem(&path, &error))?;
        }
    }
}

/// Reads a file, or the files directly in a directory, that a kustomization references. Targets of symbolic links stay unread.
fn read_reference(root: &Path, path: &str, tree: &mut Tree) -> Result<(), (PathBuf, io::Error)> {
    let mut target = root.to_owned();
    for part in path.split('/') {
        target.push(part);
        if fs::symlink_metadata(&target).map_or(true, |data| data.is_symlink()) {
            return Ok(());
        }
    }
    let fail = |error: io::Error| (target.clone(), error);
    if target.is_file() {
        tree.insert(path, fs::read(&target).map_err(fail)?);
    } else if target.is_dir() {
        for entry in fs::read_dir(&target).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let is_file = entry.file_type().map_err(fail)?.is_file();
            let Ok(name) = entry.file_name().into_string() else { continue };
            if is_file && is_yaml(&name) {
                tree.insert(format!("{path}/{name}"), fs::read(entry.path()).map_err(fail)?);
            }
        }
    }
    Ok(())
}

/// A file named on the command line.
///
/// # Errors
/// If it cannot be read.
pub fn read_file(path: &Path) -> Result<Vec<u8>, Problem> {
    fs::read(path).map_err(|error| read_problem(path, &error))
}

fn read_problem(path: &Path, error: &io::Error) -> Problem {
    Problem::new(
        path.display().to_string(),
        format!("cannot be read: {error}"),
        "check the path and its permissions",
    )
}

fn read_directory(root: &Path, directory: &str, tree: &mut Tree) -> Result<(), (PathBuf, io::Error)> {
    let path = root.join(directory);
    if !path.is_dir() {
        return Ok(());
    }
    let fail = |error: io::Error| (path.clone(), error);
    for entry in fs::read_dir(&path).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let kind = entry.file_type().map_err(fail)?;
        // A kustomization cannot contain a name that is not UTF-8.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let below = format!("{directory}/{name}");
        if kind.is_dir() {
            read_directory(root, &below, tree)?;
        } else if kind.is_file() && is_yaml(&name) {
            let bytes = fs::read(entry.path()).map_err(|error| (entry.path(), error))?;
            tree.insert(below, bytes);
        }
    }
    Ok(())
}

fn is_yaml(name: &str) -> bool {
    name == "Kustomization" || name.rsplit_once('.').is_some_and(|(_, end)| matches!(end, "yaml" | "yml"))
}

/// Writes all edits or none. Each new text is complete next to its file before the first file is replaced. `report` runs in between.
///
/// # Errors
/// If a file changed since the plan, a write fails, or the report fails. Every file is then unchanged.
pub fn write_edits<'a, E: From<Problem>>(
    root: &Path,
    edits: impl IntoIterator<Item = (&'a String, &'a Edit)>,
    report: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let edits: Vec<_> = edits.into_iter().collect();
    for (path, edit) in &edits {
        let on_disk = root.join(path);
        let same = match &edit.before {
            Some(before) => {
                fs::symlink_metadata(&on_disk).is_ok_and(|data| data.is_file())
                    && fs::read(&on_disk).is_ok_and(|bytes| bytes == *before)
            }
            None => fs::symlink_metadata(&on_disk).is_err(),
        };
        if !same {
            let help = "run the command again; if it stays, see what else writes there";
            return Err(Problem::new(*path, "changed while it was being edited", help).at_line(1).into());
        }
    }
    let mut made = Vec::new();
    let staged = stage_edits(root, &edits, &mut made).map_err(E::from);
    let written = staged.and_then(|staged| {
        report()?;
        Ok(replace_files(root, &edits, staged)?)
    });
    if written.is_err() {
        for directory in made.iter().rev() {
            // A directory that got files from elsewhere in the meantime stays.
            let _ = fs::remove_dir(directory);
        }
    }
    written
}

type Edits<'a> = [(&'a String, &'a Edit)];

fn stage_edits(root: &Path, edits: &Edits, made: &mut Vec<PathBuf>) -> Result<Vec<NamedTempFile>, Problem> {
    let mut staged = Vec::new();
    for (path, edit) in edits {
        staged.push(stage_one(&root.join(path), edit, made).map_err(|error| write_problem(path, &error))?);
    }
    Ok(staged)
}

fn stage_one(path: &Path, edit: &Edit, made: &mut Vec<PathBuf>) -> io::Result<NamedTempFile> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let absent: Vec<_> = parent.ancestors().take_while(|directory| !directory.exists()).collect();
    for directory in absent.into_iter().rev() {
        fs::create_dir(directory)?;
        made.push(directory.to_owned());
    }
    let permissions = match &edit.before {
        Some(_) => fs::metadata(path)?.permissions(),
        // The umask applies, as to every new file.
        None => fs::Permissions::from_mode(0o666),
    };
    let mut file =
        tempfile::Builder::new().prefix(".bump-").permissions(permissions.clone()).tempfile_in(parent)?;
    if edit.before.is_some() {
        file.as_file().set_permissions(permissions)?;
    }
    file.write_all(&edit.after)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn replace_files(root: &Path, edits: &Edits, staged: Vec<NamedTempFile>) -> Result<(), Problem> {
    for (index, ((path, edit), file)) in edits.iter().zip(staged).enumerate() {
        let target = root.join(path);
        let persisted = match edit.before {
            Some(_) => file.persist(&target),
            None => file.persist_noclobber(&target),
        };
        if let Err(error) = persisted {
            for (path, edit) in edits.iter().take(index) {
                let target = root.join(path);
                // A failed restore cannot be repaired; the first error matters more.
                let _ = match &edit.before {
                    Some(before) => fs::write(target, before),
                    None => fs::remove_file(target),
                };
            }
            return Err(write_problem(path, &error.error));
        }
    }
    Ok(())
}

fn write_problem(path: &str, error: &io::Error) -> Problem {
    Problem::new(
        path,
        format!("cannot be written: {error}"),
        "nothing was changed; check its permissions and the disk",
    )
}

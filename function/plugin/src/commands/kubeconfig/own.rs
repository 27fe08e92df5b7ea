//! The caller's own kubeconfig: `--merge` adds the entry of a claim, and `down` removes it.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use serde_json::Value;
use testplatform_apis::{text::bounded, yaml};

use super::super::super::{
    claim::Claim,
    command_context::CommandContext,
    config::{conflicting_server, entry_name, extract_entry, mark_owner, merge_configs, remove_entry},
    exit::Stop,
    session::Session,
};

/// Adds the entry of a claim, as kubectl would: under its lock, and whole or not at all.
pub fn add_entry(session: &mut Session<'_>, claim: &Claim, kubeconfig: &str) -> Result<(), Stop> {
    let name = entry_name(claim.namespace(), claim.name());
    let secret = format!("the kubeconfig in Secret {}", claim.secret());
    let parsed = yaml::parse_one(Path::new(&secret), kubeconfig).map_err(|e| Stop::error(e.to_string()))?;
    let mut new = extract_entry(&parsed, &name)
        .map_err(|why| Stop::error(format!("{secret} cannot be used: {why}")))?;
    mark_owner(&mut new, claim.uid());
    let path = kubeconfig_path(session)?;
    let previous = change_under_lock(&path, |own| {
        let previous = conflicting_server(&own, &new);
        Some((merge_configs(own, &new), previous))
    })?;
    // Two claims may come to one name, as team/a-demo and team-a/demo do.
    if let Some(server) = previous.flatten() {
        session.note(&format!("note: context {name} led to {} before", bounded(&server, 600)));
    }
    let way = CommandContext { kubeconfig: session.way.kubeconfig.clone(), ..CommandContext::default() };
    let use_it = way.kubectl(&format!("--context {name} get nodes"));
    session.print_line(&format!("Added to {} as context {name}:\n  {use_it}", path.display()))
}

/// Removes the entry that was added for a claim, if there is one. The end of the cluster does not depend on it, so a failure is a note.
pub fn forget_entry(session: &mut Session<'_>, claim: &Claim) {
    let Ok(path) = kubeconfig_path(session) else { return };
    let name = entry_name(claim.namespace(), claim.name());
    let is_present = |own: &Value| remove_entry(own.clone(), &name, claim.uid()).is_some();
    // Without the lock, as most claims have no entry.
    if !read_config(&path).is_ok_and(|own| is_present(&own)) {
        return;
    }
    match change_under_lock(&path, |own| remove_entry(own, &name, claim.uid())) {
        Ok(Some(was_current)) => {
            session.note(&format!("Removed context {name} from {}.", path.display()));
            if was_current {
                session.note(
                    "note: it was the current context; choose another: kubectl config use-context CONTEXT",
                );
            }
        }
        Ok(None) => {}
        Err(stop) => {
            let path = path.display();
            session.note(&format!("note: context {name} stays in {path}: {}", stop.message));
        }
    }
}

/// Changes the file under kubectl's lock. None if the change does not apply.
fn change_under_lock<T>(
    path: &Path,
    change: impl FnOnce(Value) -> Option<(Value, T)>,
) -> Result<Option<T>, Stop> {
    let lock = sibling_path(path, ".lock");
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(|e| file_error("make", directory, &e))?;
    }
    OpenOptions::new().write(true).create_new(true).open(&lock).map_err(|e| {
        let advice = "Another kubectl changes the kubeconfig; if none runs, remove that file.";
        Stop { advice: advice.to_owned(), ..file_error("make", &lock, &e) }
    })?;
    let changed = change_file(path, change);
    let _ = fs::remove_file(&lock);
    changed
}

fn change_file<T>(path: &Path, change: impl FnOnce(Value) -> Option<(Value, T)>) -> Result<Option<T>, Stop> {
    let Some((changed, result)) = change(read_config(path)?) else { return Ok(None) };
    // Other programs read values of other writers: Go reads nothing of a file with a block whose first line begins with a tab.
    let quoted = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let text = serde_saphyr::to_string_with_options(&changed, quoted);
    write_file(path, &text.map_err(|e| Stop::error(format!("{}: {e}", path.display())))?)?;
    Ok(Some(result))
}

fn read_config(path: &Path) -> Result<Value, Stop> {
    match fs::read_to_string(path) {
        Ok(text) => yaml::parse_one(path, &text).map_err(|e| Stop::error(e.to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Value::Null),
        Err(error) => Err(file_error("read", path, &error)),
    }
}

/// The kubeconfig that kubectl would change: the one that was given, else the first of KUBECONFIG that is there or else its
/// last, else that at home (client-go, `PathOptions.GetDefaultFilename`).
fn kubeconfig_path(session: &Session<'_>) -> Result<PathBuf, Stop> {
    if let Some(given) = &session.way.kubeconfig {
        return Ok(given.into());
    }
    let list = (session.around.variable)("KUBECONFIG");
    let mut files: Vec<PathBuf> = list.iter().flat_map(std::env::split_paths).collect();
    files.retain(|file| !file.as_os_str().is_empty());
    let otherwise = files.pop();
    if let Some(file) = files.into_iter().find(|file| file.exists()).or(otherwise) {
        return Ok(file);
    }
    let home = (session.around.variable)("HOME").filter(|home| !home.is_empty());
    let home = home
        .ok_or_else(|| Stop::error("there is no HOME in which the kubeconfig could be: give --kubeconfig"))?;
    Ok(Path::new(&home).join(".kube/config"))
}

/// Writes a file that nobody else may read, whole or not at all.
pub fn write_file(path: &Path, text: &str) -> Result<(), Stop> {
    // A pipe or a device is for whoever has it, and must stay what it is.
    let special = fs::metadata(path).is_ok_and(|is| !is.is_file());
    let written = refuse_trap(path)
        .and_then(|()| if special { write_through(path, text) } else { replace_file(path, text) });
    written.map_err(|error| file_error("write", path, &error))
}

/// Refuses a link or a pipe that another user put in a directory such as `/tmp`: it would lead the credentials, or the write, where that user wants.
/// The kernel protects only opens that may create (`protected_symlinks`, `protected_fifos`).
fn refuse_trap(path: &Path) -> io::Result<()> {
    let Ok(entry) = fs::symlink_metadata(path) else { return Ok(()) };
    let redirects = entry.file_type().is_symlink() || entry.file_type().is_fifo();
    let caller = rustix::process::geteuid();
    if redirects && !is_trusted_owner(entry.uid(), caller.as_raw()) {
        let message = "another user owns this link or pipe; choose a path in a directory of your own";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(())
}

/// Whether an entry of this owner may lead elsewhere: the caller's own, and those of the system, such as `/dev/stdout`.
fn is_trusted_owner(owner: u32, caller: u32) -> bool {
    owner == caller || owner == 0
}

fn write_through(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    // Where a link leads is what is meant.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // Nobody else's: what is there of that name is neither followed nor lost.
    let beside = sibling_path(path, &format!(".{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let mut put = || {
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        fs::rename(&beside, path)
    };
    // Half a kubeconfig is still a secret.
    put().inspect_err(|_| _ = fs::remove_file(&beside))
}

/// The file beside another that has all of its name and an end more, as kubectl names locks.
fn sibling_path(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn file_error(what: &str, path: &Path, error: &io::Error) -> Stop {
    Stop::error(format!("cannot {what} {}: {error}", path.display()))
}

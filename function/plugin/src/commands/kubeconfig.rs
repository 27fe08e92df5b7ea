//! `kubeconfig`: hands out what the Secret of a ready claim holds.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;
use testplatform_apis::{condition::Credentials, text::bounded, yaml};

use super::super::{
    advice::{self, with_entry},
    claim::Claim,
    command_context::{CommandContext, word},
    config::{conflicting_server, entry_name, extract_entry, merge_configs},
    exit::{Exit, Stop},
    facts::Lookup,
    observed_secret::{KUBECONFIG, ObservedSecret, Owner, foreign_owner},
    session::Session,
    trouble::Trouble,
};

/// Runs it.
pub fn run(session: &mut Session<'_>, name: &str, out: Option<&str>, merge: bool) -> Result<(), Stop> {
    let out = out.filter(|out| *out != "-");
    out.map_or(Ok(()), check_writable)?;
    let claim = session.find_claim(name)?;
    if let Some(stop) = super::without_cluster(session, &claim).filter(|_| !claim.is_delivered()) {
        return Err(stop);
    }
    let kubeconfig = fetch_kubeconfig(session, &claim)?;
    if merge {
        return into_own(session, &claim, &kubeconfig);
    }
    match out {
        None => session.print(&kubeconfig),
        Some(out) => {
            write(Path::new(out), &kubeconfig)?;
            session.note(&format!("Written to {out}: export KUBECONFIG={}", word(out)));
            Ok(())
        }
    }
}

/// Said before anything is read that would have no place.
fn check_writable(out: &str) -> Result<(), Stop> {
    let message = if out.is_empty() {
        "--out names no file".to_owned()
    } else if Path::new(out).is_dir() {
        format!("--out {out} is a directory")
    } else {
        return Ok(());
    };
    Err(Stop::new(Exit::Usage, message, "Name a file, or - for stdout."))
}

fn fetch_kubeconfig(session: &Session<'_>, claim: &Claim) -> Result<String, Stop> {
    let secret = claim.secret();
    if secret.is_empty() {
        let message = format!("{} names no Secret for its kubeconfig", claim.label());
        return Err(Stop::new(Exit::Usage, message, "Set spec.writeConnectionSecretToRef.name."));
    }
    let why = session.next("why", claim);
    let missing =
        |what: &str| Stop::new(Exit::NotYet, format!("Secret {secret} {what}"), format!("More: {why}"));
    let printed = match session.kubectl.run(&["get", "secret", &secret, "-o", KUBECONFIG], None) {
        Ok(printed) => printed,
        Err(Trouble::NotFound(_)) => return Err(missing("is not created yet")),
        Err(trouble) => return Err(trouble.into()),
    };
    let (encoded, owner) = Owner::split_output(&printed);
    // A user with the kubeconfig of another cluster would work there as if it were this one.
    let lookup = Lookup::Found(ObservedSecret { keys: vec![], owner: owner.clone() });
    if let Some(whose) = foreign_owner(claim, &lookup) {
        let todo = with_entry(advice::foreign_secret(claim.flavour), Credentials::SecretTaken.as_str());
        let message = format!("Secret {secret} {whose}, and no kubeconfig of {} is in it", claim.label());
        return Err(Stop::new(Exit::NotYet, message, format!("To do: {todo}\nMore:  {why}")));
    }
    if encoded.trim().is_empty() || !owner.holds_for(claim) {
        return Err(missing("has no kubeconfig yet"));
    }
    let decoded = BASE64_STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.ok_or_else(|| Stop::error(format!("the kubeconfig in Secret {secret} is not text")))
}

/// Puts it beside what is in the caller's own kubeconfig, as kubectl would: under its lock, and whole or not at all.
fn into_own(session: &mut Session<'_>, claim: &Claim, kubeconfig: &str) -> Result<(), Stop> {
    let name = entry_name(claim.namespace(), claim.name());
    let secret = format!("the kubeconfig in Secret {}", claim.secret());
    let parsed = yaml::parse_one(Path::new(&secret), kubeconfig).map_err(|e| Stop::error(e.to_string()))?;
    let new = extract_entry(&parsed, &name)
        .map_err(|why| Stop::error(format!("{secret} cannot be used: {why}")))?;
    let path = kubeconfig_path(session)?;
    let lock = sibling_path(&path, ".lock");
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(|e| file_error("make", directory, &e))?;
    }
    OpenOptions::new().write(true).create_new(true).open(&lock).map_err(|e| {
        let advice = "Another kubectl changes the kubeconfig; if none runs, remove that file.";
        Stop { advice: advice.to_owned(), ..file_error("make", &lock, &e) }
    })?;
    let changed = change_file(&path, &new);
    let _ = fs::remove_file(&lock);
    // Two claims may come to one name, as team/a-demo and team-a/demo do.
    if let Some(server) = changed? {
        session.note(&format!("note: context {name} led to {} before", bounded(&server, 600)));
    }
    let way = CommandContext { kubeconfig: session.way.kubeconfig.clone(), ..CommandContext::default() };
    let use_it = way.kubectl(&format!("--context {name} get nodes"));
    session.print_line(&format!("Added to {} as context {name}:\n  {use_it}", path.display()))
}

/// Changes it. Returns where the context led until now, if that was elsewhere.
fn change_file(path: &Path, new: &Value) -> Result<Option<String>, Stop> {
    let own = match fs::read_to_string(path) {
        Ok(text) => yaml::parse_one(path, &text).map_err(|e| Stop::error(e.to_string()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Value::Null,
        Err(error) => return Err(file_error("read", path, &error)),
    };
    let before = conflicting_server(&own, new);
    // Other programs read values of other writers: Go reads nothing of a file with a block whose first line begins with a tab.
    let quoted = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let text = serde_saphyr::to_string_with_options(&merge_configs(own, new), quoted);
    write(path, &text.map_err(|e| Stop::error(format!("{}: {e}", path.display())))?)?;
    Ok(before)
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
fn write(path: &Path, text: &str) -> Result<(), Stop> {
    // A pipe or a device is for whoever has it, and must stay what it is.
    let special = fs::metadata(path).is_ok_and(|is| !is.is_file());
    let written = if special { write_through(path, text) } else { replace_file(path, text) };
    written.map_err(|error| file_error("write", path, &error))
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

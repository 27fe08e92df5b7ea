//! `kubeconfig`: hands out what the Secret of a ready claim holds.

pub mod own;

use std::path::Path;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use testplatform_apis::condition::Credentials;

use self::own::write_file;
use super::super::{
    advice::{self, with_entry},
    claim::Claim,
    command_context::word,
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
    if merge {
        return merge_into_own(session, &claim);
    }
    let kubeconfig = fetch_kubeconfig(session, &claim)?;
    match out {
        None => session.print(&kubeconfig),
        Some(out) => {
            write_file(Path::new(out), &kubeconfig)?;
            session.note(&format!("Written to {out}: export KUBECONFIG={}", word(out)));
            Ok(())
        }
    }
}

/// Merges the kubeconfig of a ready claim into the caller's own.
pub fn merge_into_own(session: &mut Session<'_>, claim: &Claim) -> Result<(), Stop> {
    let kubeconfig = fetch_kubeconfig(session, claim)?;
    own::add_entry(session, claim, &kubeconfig)
}

/// Checks the file before anything is read that would have no place.
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

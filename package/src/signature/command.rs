//! The command lines of `cargo xpkg sign` and `verify`.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};

use super::{
    key::{SigningKey, VerifyingKey},
    sign_digest, signature_tag, verify_digest,
};
use crate::{
    oci::Digest,
    registry::{
        Reference,
        command::{Connection, find_artifact, list_platforms, push_artifact},
    },
};

/// Sign a package in a registry with a key, as cosign does, and print the reference of its signatures.
#[derive(clap::Args, Clone, Debug)]
pub struct SignArgs {
    /// Output of `cargo xpkg push`: REGISTRY/REPOSITORY@sha256:…
    #[arg(value_name = "REF")]
    reference: Reference,
    /// Private key of the curve P-256 in PKCS #8, without a password.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    connection: Connection,
}

/// Check that a package in a registry is signed by a key. Exits with 3 if it is not, with 1 if the check fails.
#[derive(clap::Args, Clone, Debug)]
pub struct VerifyArgs {
    /// Package by digest: REGISTRY/REPOSITORY@sha256:…
    #[arg(value_name = "REF")]
    reference: Reference,
    /// Public key, as cosign and openssl write it.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    connection: Connection,
}

/// Signs a package. Its other signatures are left.
///
/// # Errors
/// If the key cannot be used, or the registry has no such package or refuses the signature.
pub fn sign(arguments: &SignArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let (reference, connection) = (&arguments.reference, arguments.connection);
    let digest = required_digest(reference)?;
    let key = SigningKey::from_pem(&read_key(&arguments.key)?)
        .with_context(|| format!("{} cannot be used", arguments.key.display()))?;
    ensure!(
        list_platforms(reference, connection)?.is_some(),
        "{reference} is not in its registry; push it first"
    );
    let target = signatures_of(reference, digest);
    let existing = find_artifact(&target, connection)?;
    let signed = sign_digest(&key, &reference.repository(), digest, existing.as_ref())?;
    push_artifact(&signed, &target, connection)?;
    writeln!(out, "{target}").context("cannot print")
}

/// Verifies a package, and prints the result; false if it is not signed by the key.
///
/// # Errors
/// If the key cannot be read, or the registry does not answer.
pub fn verify(arguments: &VerifyArgs, out: &mut impl Write) -> anyhow::Result<bool> {
    let key = read_verifying_key(&arguments.key)?;
    let problem = find_problem(&arguments.reference, &key, arguments.connection)?;
    match &problem {
        Some(problem) => writeln!(out, "error: {problem}"),
        None => writeln!(out, "{} is signed by {}", arguments.reference, arguments.key.display()),
    }
    .context("cannot print")?;
    Ok(problem.is_none())
}

/// Reads a public key.
///
/// # Errors
/// If the file cannot be read, or is no such key.
pub fn read_verifying_key(path: &Path) -> anyhow::Result<VerifyingKey> {
    VerifyingKey::from_pem(&read_key(path)?).with_context(|| format!("{} cannot be used", path.display()))
}

/// The reason why a package does not count as signed by a key; none if it does.
///
/// # Errors
/// If the registry does not answer, or the reference has no digest.
pub fn find_problem(
    reference: &Reference,
    key: &VerifyingKey,
    connection: Connection,
) -> anyhow::Result<Option<String>> {
    let digest = required_digest(reference)?;
    let Some(signatures) = find_artifact(&signatures_of(reference, digest), connection)? else {
        return Ok(Some(format!(
            "{reference} has no signature by a key; `cargo xpkg sign` signs it, and bundles of cosign 3 are not read"
        )));
    };
    Ok(verify_digest(key, digest, &signatures).err().map(|error| format!("{reference}: {error:#}")))
}

fn required_digest(reference: &Reference) -> anyhow::Result<&Digest> {
    reference.digest.as_ref().with_context(|| {
        format!(
            "{reference} is named without a digest, and a tag may move; add the @sha256:… that push printed"
        )
    })
}

/// Reference of the signatures of a package.
fn signatures_of(reference: &Reference, digest: &Digest) -> Reference {
    Reference { tag: Some(signature_tag(digest)), digest: None, ..reference.clone() }
}

fn read_key(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

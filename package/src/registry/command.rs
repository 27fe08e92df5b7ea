//! The command line of `cargo xpkg push`, and package reads for other commands.

use std::{collections::BTreeSet, io::Write, path::PathBuf};

use anyhow::Context as _;

use super::{Client, Reference, client::PushSummary, credentials, http::Http};
use crate::oci::{Artifact, layout};

/// Push a package to a registry, and print the reference by digest under which it can be installed.
///
/// Credentials are those of `docker login` and `podman login`: `REGISTRY_AUTH_FILE`, `DOCKER_CONFIG`/config.json or
/// ~/.docker/config.json, `XDG_RUNTIME_DIR`/containers/auth.json, ~/.config/containers/auth.json. `HTTPS_PROXY`,
/// `ALL_PROXY` and `NO_PROXY` are honoured. Content that the registry already has is not sent again.
#[derive(clap::Args, Clone, Debug)]
pub struct PushArgs {
    /// Output of `cargo xpkg build`: the folder of one package, or an archive (.xpkg).
    #[arg(value_name = "DIR")]
    package: PathBuf,
    /// Where to push it: REGISTRY/REPOSITORY[:TAG].
    #[arg(value_name = "REF")]
    reference: Reference,
    #[command(flatten)]
    connection: Connection,
}

/// How registries are spoken to.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct Connection {
    /// Use plain HTTP for a registry without TLS; by default only for this machine.
    #[arg(long)]
    plain_http: bool,
}

/// Pushes a package and prints its reference.
///
/// # Errors
/// If the package does not exist, or the registry refuses it.
pub fn run(arguments: &PushArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let artifact = layout::open(&arguments.package)?;
    let reference = arguments.reference.clone();
    if let Some(digest) = &reference.digest {
        anyhow::ensure!(
            digest == artifact.root.digest(),
            "{} has the digest {}, so it cannot be pushed as {reference}; leave the digest out",
            arguments.package.display(),
            artifact.root.digest()
        );
    }
    let pushed = push_artifact(&artifact, &reference, arguments.connection)?;
    eprintln!("{} blobs sent, {} were there already", pushed.sent, pushed.skipped);
    writeln!(out, "{}@{}", reference.repository(), artifact.root.digest()).context("cannot print")
}

/// Reads a package from a registry.
///
/// # Errors
/// If it does not exist.
pub fn pull_artifact(reference: &Reference, connection: Connection) -> anyhow::Result<Artifact> {
    let mut client = build_client(reference, connection)?;
    block_on(client.pull())?
}

/// Reads an artifact from a registry; none if it does not exist.
///
/// # Errors
/// If the registry does not answer.
pub fn find_artifact(reference: &Reference, connection: Connection) -> anyhow::Result<Option<Artifact>> {
    let mut client = build_client(reference, connection)?;
    block_on(client.find())?
}

/// Pushes an artifact.
///
/// # Errors
/// If the registry refuses it.
pub fn push_artifact(
    artifact: &Artifact,
    reference: &Reference,
    connection: Connection,
) -> anyhow::Result<PushSummary> {
    let mut client = build_client(reference, connection)?;
    block_on(client.push(artifact))?
}

/// The platforms of an image in a registry; none if there is no such image.
///
/// # Errors
/// If the registry does not answer.
pub fn list_platforms(
    reference: &Reference,
    connection: Connection,
) -> anyhow::Result<Option<BTreeSet<String>>> {
    let mut client = build_client(reference, connection)?;
    block_on(client.list_platforms())?
}

/// Downloads a file from a web server.
///
/// # Errors
/// If it does not exist.
pub fn download_file(url: &str) -> anyhow::Result<Vec<u8>> {
    let uri: http::Uri = url.parse().with_context(|| format!("{url:?} is not an address"))?;
    let http = Http::new(None)?;
    let headers = http::HeaderMap::new();
    let answer = block_on(http.send(http::Method::GET, &uri, &headers, &[]))??;
    anyhow::ensure!(
        answer.status.is_success(),
        "{} answers {}",
        super::http::redact_query(&uri),
        answer.status
    );
    Ok(answer.body)
}

fn build_client(reference: &Reference, connection: Connection) -> anyhow::Result<Client> {
    let credentials = credentials::read_credentials(&credentials::login_files(), reference)?;
    Ok(Client::new(Http::new(Some(connection.plain_http))?, reference.clone(), credentials))
}

fn block_on<F: Future>(future: F) -> anyhow::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.context("cannot start the runtime")?.block_on(future))
}

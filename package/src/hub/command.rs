//! The command line of `cargo xpkg hub-kubeconfig`.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use kube::config::{Cluster, Kubeconfig};
use testplatform_apis::{duration::GoDuration, names::ours};

use super::{
    KubeconfigTarget, build_kubeconfig,
    token::{HubTokenRequest, IssuedToken, issue_token},
};
use crate::{
    access::{Access, block_on},
    to_yaml,
};

/// Minimum lifetime of a token: API servers issue none for less.
const MIN_DURATION: GoDuration = GoDuration::from_mins(10);
/// Tolerance for the lifetime of a token. An API server may issue a shorter one than requested; a few seconds are network latency.
const SLACK: SignedDuration = SignedDuration::from_mins(1);

/// Print a kubeconfig for the ServiceAccount of a Konflux cluster on the hub. It contains the token.
///
/// Asks the hub for the token, as somebody who may create serviceaccounts/token there. Nothing is stored; the last line on
/// stderr says when the token ends.
#[derive(clap::Args, Clone, Debug)]
pub struct HubKubeconfigArgs {
    #[command(flatten)]
    access: Access,
    /// Konflux cluster that the kubeconfig is for.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "ephemeral-cluster/konflux", value_parser = parse_account)]
    service_account: (String, String),
    /// How long the token is to be good, at least 10m. The hub may make it shorter.
    #[arg(long, value_name = "DURATION", default_value = "2160h")]
    duration: GoDuration,
    /// Secret beside the ServiceAccount to which the token is bound: deleting that Secret ends it before its time.
    #[arg(long, value_name = "NAME")]
    bound_secret: Option<String>,
    /// Address under which the Konflux clusters reach the hub [default: the one in the kubeconfig of whoever asks].
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// File with the CA of that address, PEM [default: what the kubeconfig of whoever asks has].
    #[arg(long, value_name = "FILE")]
    certificate_authority: Option<PathBuf>,
}

fn parse_account(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err("expected namespace/name".to_owned()),
    }
}

/// Requests a token and prints the kubeconfig.
///
/// # Errors
/// If the hub issues no token, or data for the kubeconfig is missing.
pub fn run(arguments: &HubKubeconfigArgs, out: &mut impl Write, now: Timestamp) -> anyhow::Result<()> {
    ensure!(
        arguments.duration >= MIN_DURATION,
        "--duration {} is too short: no API server issues a token for less than 10m",
        arguments.duration
    );
    let own = arguments.access.read_kubeconfig()?;
    let cluster = find_cluster(&arguments.access, &own)?.clone();
    let server = server_url(arguments.server.as_deref(), &cluster)?;
    let authority = authority_data(arguments.certificate_authority.as_deref(), &cluster)?;
    let (namespace, name) = &arguments.service_account;
    let request = HubTokenRequest {
        namespace,
        account: name,
        bound: arguments.bound_secret.as_deref(),
        seconds: Some(arguments.duration.as_secs()),
    };
    let issued = async { issue_token(arguments.access.build_client(own).await?, &request).await };
    let IssuedToken { token, until } = block_on(issued)?;
    let way =
        KubeconfigTarget { server: &server, authority: &authority, account: name, namespace, token: &token };
    out.write_all(to_yaml(&build_kubeconfig(&way))?.as_bytes()).context("cannot print")?;
    if until.duration_since(now) + SLACK < arguments.duration.as_signed() {
        eprintln!(
            "note: the hub gives shorter tokens than the {} that were asked for (its flag \
             --service-account-max-token-expiration)",
            arguments.duration
        );
    }
    eprintln!(
        "the token ends at {until}; where a ProviderConfig reads this kubeconfig, write that into its annotation"
    );
    eprintln!("{}: \"{until}\"", ours::KUBECONFIG_EXPIRES_AT);
    Ok(())
}

fn find_cluster<'k>(access: &'k Access, own: &'k Kubeconfig) -> anyhow::Result<&'k Cluster> {
    let context =
        access.context(own).context("the kubeconfig has no current context; name one with --context")?;
    let named = own.contexts.iter().find(|named| named.name == context);
    let named = named.and_then(|named| named.context.as_ref());
    let named = named.with_context(|| format!("the kubeconfig has no context {context:?}"))?;
    let cluster = own.clusters.iter().find(|cluster| cluster.name == named.cluster);
    cluster.and_then(|cluster| cluster.cluster.as_ref()).with_context(|| {
        format!("the kubeconfig has no cluster {:?}, which context {context:?} names", named.cluster)
    })
}

fn server_url(given: Option<&str>, cluster: &Cluster) -> anyhow::Result<String> {
    let server = given
        .or(cluster.server.as_deref())
        .context("the kubeconfig names no server; name it with --server")?;
    let uri: http::Uri = server.parse().with_context(|| format!("{server:?} is not an address"))?;
    ensure!(
        uri.scheme_str() == Some("https") && uri.host().is_some(),
        "{server:?} is not an address that begins with https://, and a token may go nowhere else"
    );
    Ok(server.to_owned())
}

/// The CA in base64, as in a kubeconfig.
fn authority_data(given: Option<&Path>, cluster: &Cluster) -> anyhow::Result<String> {
    let read = |file: &Path| fs::read(file).with_context(|| format!("cannot read {}", file.display()));
    let pem = match (given, &cluster.certificate_authority_data, &cluster.certificate_authority) {
        (Some(file), _, _) => read(file)?,
        (None, Some(data), _) => {
            BASE64_STANDARD.decode(data.trim()).context("the CA in the kubeconfig is not base64")?
        }
        (None, None, Some(file)) => read(file.as_ref())?,
        (None, None, None) => bail!(
            "the kubeconfig has no CA, and where it will be used there may be no other; give one with \
             --certificate-authority"
        ),
    };
    let text = String::from_utf8_lossy(&pem);
    ensure!(text.contains("-----BEGIN CERTIFICATE-----"), "the CA is not a certificate in PEM");
    ensure!(
        !text.contains("PRIVATE KEY"),
        "there is a private key beside the CA; it must not leave this machine"
    );
    Ok(BASE64_STANDARD.encode(pem))
}

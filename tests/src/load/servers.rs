//! Measured servers: programs that are started here, each a process of its own, and others that run already.

use std::{
    env,
    net::SocketAddr,
    path::{self, Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, bail};
use prost::bytes::Bytes;
use tokio::time::{sleep, timeout};

use super::{
    arguments::{Measure, Other, PATIENCE},
    client::Client,
    requests::{self, Asked},
};
use crate::{
    nest::{Nest, Process},
    observed::Observed,
    pki::Authority,
    ports::free_ports,
    program,
};

/// The function in tables and plots.
pub(super) const OURS: &str = "function-testplatform";
/// Server that does nothing.
pub(super) const NOOP: &str = "no-op";
/// Server that only makes trees of messages, and messages of trees.
pub(super) const TREES: &str = "no-op with trees";

/// A function of another make that is started here.
const PEER: &str = "peer";

/// A server, and what it is asked.
pub(super) struct Server {
    pub name: String,
    pub client: Client,
    pub request: Bytes,
    pub process: Option<Observed>,
    /// Killed with this.
    _started: Option<Process>,
}

/// All servers. The function is the first.
pub(super) async fn start(nest: &Nest, measure: &Measure, asked: &Asked) -> anyhow::Result<Vec<Server>> {
    let authority = Authority::new("load")?;
    let (serving, calling) = (nest.directory().join("server"), nest.directory().join("client"));
    authority.publish(&serving, &authority.server("load")?)?;
    authority.publish(&calling, &authority.client("load", None)?)?;

    let given = measure.program.as_deref().map(Path::canonicalize).transpose();
    let program = match given.context("there is no such program")? {
        Some(program) => program,
        None => program::function()?.to_owned(),
    };
    let mut function = Command::new(program);
    // A connection that ends in the middle of a turn would be a figure about something else.
    function.args(["--metrics-address=127.0.0.1:0", "--max-connection-age=0"]);
    let function = launch(nest, OURS, function, &serving, &calling, asked.bytes.clone()).await?;

    let answer = function.client.call(asked.bytes.clone()).await.context("the first call failed")?;
    requests::sane(&answer)?;
    let answer = nest.file("answer", answer)?;
    let mut servers = vec![function];
    for (name, more) in [(NOOP, None), (TREES, Some("--trees"))] {
        let mut noop = Command::new(env::current_exe()?);
        noop.arg("noop").arg("--answer").arg(&answer).args(more);
        servers.push(launch(nest, name, noop, &serving, &calling, asked.bytes.clone()).await?);
    }
    if let Some(peer) = &measure.other.peer {
        // It runs where its log is; paths are those of who wrote the command line. Links stay: they tell Python where its packages are.
        let whole = |word: &str| match path::absolute(word) {
            Ok(whole) if whole.exists() => whole,
            _ => word.into(),
        };
        let mut words = peer.split_whitespace().map(whole);
        let mut command = Command::new(words.next().context("--peer has no command")?);
        command.args(words);
        let peer = launch(nest, PEER, command, &serving, &calling, asked.bytes.clone()).await?;
        let answer = peer.client.call(asked.bytes.clone()).await.context("the peer's first call failed")?;
        requests::sane(&answer).context("the peer")?;
        servers.push(peer);
    }
    servers.extend(other(&measure.other, asked).await?);
    Ok(servers)
}

/// Starts a program that takes `--address`, and waits until it is there.
async fn launch(
    nest: &Nest,
    name: &str,
    mut command: Command,
    serving: &Path,
    calling: &Path,
    request: Bytes,
) -> anyhow::Result<Server> {
    let [port] = free_ports()?;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    command.env("TLS_SERVER_CERTS_DIR", serving).arg(format!("--address={address}"));
    let mut process = nest.spawn(name, &mut command)?;
    let connected = async {
        loop {
            match Client::connect(address, "localhost", calling).await {
                Ok(client) => break Ok(client),
                Err(_) => process.check()?,
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let connected: anyhow::Result<Result<Client, anyhow::Error>> =
        timeout(PATIENCE, connected).await.map_err(Into::into);
    let client = match connected {
        Ok(client) => client?,
        Err(_) => bail!("{name} does not serve; its last words:\n{}", process.tail()),
    };
    let observed = Some(Observed::new(process.id()));
    Ok(Server { name: name.to_owned(), client, request, process: observed, _started: Some(process) })
}

/// The function that runs already, if one is to be called.
async fn other(other: &Other, asked: &Asked) -> anyhow::Result<Option<Server>> {
    let Some(address) = other.endpoint else { return Ok(None) };
    let certs: &PathBuf = other.certs.as_ref().context("--certs is missing")?;
    let client = Client::connect(address, &other.server_name, certs).await?;
    let request = match &other.input {
        Some(input) => requests::with_input(asked, input)?,
        None => asked.bytes.clone(),
    };
    let answer = client.call(request.clone()).await.context("the other function's first call failed")?;
    requests::sane(&answer).context("the other function")?;
    let process = other.pid.map(Observed::new);
    Ok(Some(Server { name: other.endpoint_name.clone(), client, request, process, _started: None }))
}

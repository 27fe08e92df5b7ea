//! Access to an API server as in kubectl: a kubeconfig and a context. Edge.

use std::path::PathBuf;

use anyhow::Context as _;
use http::Uri;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

/// Which cluster, and as whom.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Access {
    /// Kubeconfig of whoever asks [default: the files in KUBECONFIG, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context in it [default: the current one].
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl Access {
    /// The kubeconfig.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn read_kubeconfig(&self) -> anyhow::Result<Kubeconfig> {
        match &self.kubeconfig {
            Some(file) => {
                Kubeconfig::read_from(file).with_context(|| format!("cannot read {}", file.display()))
            }
            None => Kubeconfig::read().context("there is no kubeconfig; name one with --kubeconfig"),
        }
    }

    /// The selected context.
    pub fn context<'k>(&'k self, kubeconfig: &'k Kubeconfig) -> Option<&'k str> {
        self.context.as_deref().or(kubeconfig.current_context.as_deref())
    }

    /// A client. It ignores the environment's proxy, which is for registries: no client here supports one, and its construction would fail.
    /// A proxy in the kubeconfig makes the construction fail, because its author does not want a direct connection.
    ///
    /// # Errors
    /// If the kubeconfig is unusable.
    pub async fn build_client(&self, kubeconfig: Kubeconfig) -> anyhow::Result<Client> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let named = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref()?.proxy_url.clone());
        let named: Vec<String> = named.collect();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let mut config = config.context("the kubeconfig cannot be used")?;
        let own = |url: &Uri| named.iter().any(|named| named.parse::<Uri>().is_ok_and(|named| named == *url));
        config.proxy_url = config.proxy_url.take().filter(own);
        Client::try_from(config).context("the kubeconfig cannot be used")
    }
}

/// An API server's refusal, in one sentence.
pub fn describe_error(error: kube::Error) -> anyhow::Error {
    match error {
        kube::Error::Api(status) => anyhow::anyhow!("the API server says: {}", status.message),
        other => anyhow::Error::new(other).context("the API server cannot be reached"),
    }
}

/// Runs a future that calls an API server.
///
/// # Errors
/// If it fails, or no runtime can start.
pub fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start the runtime")?.block_on(future)
}

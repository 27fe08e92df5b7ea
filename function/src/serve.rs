//! The server: sockets, TLS, health, reflection, metrics, and an orderly end.
//!
//! Crossplane keeps one connection per function for as long as it stays healthy and never looks up the name
//! again. So connections have an age, after which the client is asked to make another one: that is what lets
//! a second replica get calls. And clients wait for a server that is away, up to the deadline of the whole
//! reconcile: so ending means telling them at once, and finishing what they already asked.

mod address;
mod connection;
mod function;
mod incoming;
pub(crate) mod incomplete;
mod measured;
pub mod metrics;
mod services;
pub mod tls;
mod trimmed;

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

pub use address::Address;
use connection::Connection;
pub use function::{Function, MAX_RESPONSE_BYTES};
use measured::Measured;
use metrics::Metrics;
use services::{ServiceName, Services};
use testplatform_composites::sdk::proto::{self, v1, v1beta1};
use testplatform_process::admin::{self, Ready};
use thiserror::Error;
use tls::Certs;
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{server::NamedService, transport};
use tonic_health::server::HealthReporter;

type V1 = v1::function_runner_service_server::FunctionRunnerServiceServer<Function>;
type V1Beta1 = v1beta1::function_runner_service_server::FunctionRunnerServiceServer<Function>;

/// A peer that does not answer a ping for this long is gone, whatever TCP believes.
const KEEPALIVE: (Duration, Duration) = (Duration::from_mins(1), Duration::from_secs(20));

/// Flow-control windows of one call and of a connection. HTTP/2 begins with 64 KiB for both: five requests of a ready cluster, and every
/// further one would wait for a network round trip.
const WINDOWS: (u32, u32) = (1 << 20, 4 << 20);

/// Calls at a time in one connection. Crossplane has one, and works on a few hundred composites at a time; its further calls wait in the client, as
/// HTTP/2 has it, until one of these ends, which takes milliseconds. So no call is refused whose request holds up to a share of
/// [`incomplete::LIMIT`], and a client cannot hold more streams for nothing.
const MAX_STREAMS: u32 = 24;

/// Connections at a time. Each replica of Crossplane has one for each revision of the function.
const MAX_CONNECTIONS: usize = 256;

/// Bytes of a call's headers.
const MAX_HEADERS: u32 = 16 << 10;

/// How connections are protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    /// Not at all: HTTP/2 in plain text, for `crossplane render` and tests.
    Insecure,
    /// TLS with the certificates in this directory; clients must have one too.
    Mutual(PathBuf),
}

/// Server settings from the command line.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where gRPC listens.
    pub address: Address,
    /// Where probes and metrics are answered.
    pub admin_address: Address,
    /// How gRPC connections are protected.
    pub security: Security,
    /// The largest request that is accepted, in bytes.
    pub max_recv_message_size: usize,
    /// After this time a client is asked to connect again; none for never.
    pub max_connection_age: Option<Duration>,
    /// How long calls in flight may take once the server was told to end.
    pub shutdown_timeout: Duration,
}

/// Why the server does not start, or stopped.
#[derive(Debug, Error)]
pub enum Error {
    /// A socket cannot be opened.
    #[error("cannot listen on {address} for {purpose}: {cause}")]
    Listen {
        /// The address as it was given.
        address: Address,
        /// Its purpose.
        purpose: &'static str,
        /// Why not.
        cause: io::Error,
    },
    /// The certificates cannot be used.
    #[error("cannot use the certificates: {0}")]
    Certificates(tls::Error),
    /// The descriptors compiled into this program are damaged.
    #[error("cannot set up reflection")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// Serving failed.
    #[error("the gRPC server failed")]
    Transport(#[from] transport::Error),
}

/// A server that has its sockets and certificates, so that nothing but a bug can keep it from serving.
pub struct Server {
    config: Config,
    function: Arc<Function>,
    certs: Option<Arc<Certs>>,
    grpc: TcpListener,
    admin: TcpListener,
}

impl Server {
    /// Loads the certificates and opens the sockets.
    pub async fn bind(config: Config, function: Function) -> Result<Self, Error> {
        let certs = match &config.security {
            Security::Insecure => None,
            Security::Mutual(dir) => {
                let certs = Certs::load(dir.clone(), function.metrics().clone());
                Some(Arc::new(certs.map_err(Error::Certificates)?))
            }
        };
        let grpc = bind_listener(&config.address, "gRPC").await?;
        let admin = bind_listener(&config.admin_address, "health and metrics").await?;
        Ok(Self { config, function: Arc::new(function), certs, grpc, admin })
    }

    /// Where gRPC is served, with the port that was chosen if none was given.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.grpc.local_addr()
    }

    /// Where probes and metrics are served.
    pub fn admin_address(&self) -> io::Result<SocketAddr> {
        self.admin.local_addr()
    }

    /// Serves until `shutdown`, and then until calls in flight are finished or have had their time.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let metrics = self.function.metrics().clone();
        let ready = Ready::default();
        ready.set(true);
        let written = metrics.clone();
        let admin = tokio::spawn(admin::serve(self.admin, ready.clone(), move || written.encode()));

        let (reporter, services) = build_services(&self.function, self.config.max_recv_message_size).await?;
        let (stop, stopped) = watch::channel(false);
        let serving = async {
            let (out, connections) = mpsc::channel(1);
            let accepting = match self.certs {
                None => tokio::spawn(incoming::accept_plain(self.grpc, out)),
                Some(certs) => tokio::spawn(incoming::accept_encrypted(self.grpc, certs, metrics, out)),
            };
            serve_connections(&self.config, services, connections, stopped).await?;
            let _ = accepting.await;
            Ok::<_, Error>(())
        };
        let mut serving = std::pin::pin!(serving);

        let served = tokio::select! {
            served = &mut serving => served,
            () = shutdown => {
                let bound = self.config.shutdown_timeout;
                tracing::info!(seconds = bound.as_secs_f64(), "shutting down: finishing calls in flight");
                ready.set(false);
                not_serving(&reporter).await;
                stop.send_replace(true);
                timeout(bound, serving).await.unwrap_or_else(|_| {
                    tracing::warn!("shut down with calls in flight: they took longer than --shutdown-timeout");
                    Ok(())
                })
            }
        };
        admin.abort();
        served
    }
}

async fn bind_listener(address: &Address, purpose: &'static str) -> Result<TcpListener, Error> {
    let error = |cause| Error::Listen { address: address.clone(), purpose, cause };
    address.bind_listener().await.map_err(error)
}

/// Everything that is on the gRPC port: the function under both names, health, reflection.
async fn build_services(function: &Arc<Function>, limit: usize) -> Result<(HealthReporter, Services), Error> {
    let metrics: Metrics = function.metrics().clone();
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_serving::<V1>().await;
    reporter.set_serving::<V1Beta1>().await;
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let v1 = V1::from_arc(Arc::clone(function)).max_decoding_message_size(limit);
    let v1beta1 = V1Beta1::from_arc(Arc::clone(function)).max_decoding_message_size(limit);
    let services = Services::from([
        ServiceName::new(Measured::new(v1, metrics.clone())),
        ServiceName::new(Measured::new(v1beta1, metrics.clone())),
        ServiceName::new(Measured::new(health, metrics)),
        ServiceName::new(reflection().build_v1()?),
        ServiceName::new(reflection().build_v1alpha()?),
    ]);
    Ok((reporter, services))
}

async fn not_serving(reporter: &HealthReporter) {
    for name in ["", V1::NAME, V1Beta1::NAME] {
        reporter.set_service_status(name, tonic_health::ServingStatus::NotServing).await;
    }
}

/// Runs HTTP/2 on the connections until told to stop and all of them are closed.
async fn serve_connections(
    config: &Config,
    services: Services,
    connections: mpsc::Receiver<io::Result<Connection>>,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), Error> {
    let (interval, patience) = KEEPALIVE;
    let mut server = transport::Server::builder();
    if let Some(age) = config.max_connection_age {
        // Without a grace period on purpose: with one, tonic cuts the connection without a word.
        server = server.max_connection_age(age);
    }
    server
        .initial_stream_window_size(WINDOWS.0)
        .initial_connection_window_size(WINDOWS.1)
        .http2_keepalive_interval(Some(interval))
        .http2_keepalive_timeout(Some(patience))
        .max_concurrent_streams(MAX_STREAMS)
        .http2_max_header_list_size(MAX_HEADERS)
        .serve_with_incoming_shutdown(services, ReceiverStream::new(connections), async move {
            let _ = stopped.wait_for(|stop| *stop).await;
        })
        .await?;
    Ok(())
}

//! A client that sends prepared bytes and counts time: what it costs itself is next to nothing, so that on a small
//! machine the server is what is measured.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use hyper_util::rt::TokioIo;
use prost::bytes::{Buf as _, BufMut as _, Bytes};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
};
use tokio::{net::TcpStream, task::JoinSet};
use tokio_rustls::TlsConnector;
use tonic::{
    Request, Status,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    codegen::http::uri::PathAndQuery,
    transport::{Channel, Endpoint},
};
use tower::service_fn;

const METHOD: &str = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";

/// A function that can be called.
#[derive(Clone)]
pub(super) struct Client(Channel);

impl Client {
    /// Connects as Crossplane does: mutual TLS, one connection for all calls.
    pub async fn connect(address: SocketAddr, name: &str, certificates: &Path) -> anyhow::Result<Self> {
        let connector = TlsConnector::from(Arc::new(tls(certificates)?));
        let name = ServerName::try_from(name.to_owned())?;
        let connect = service_fn(move |_| {
            let (connector, name) = (connector.clone(), name.clone());
            async move {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Ok::<_, std::io::Error>(TokioIo::new(connector.connect(name, stream).await?))
            }
        });
        let endpoint = Endpoint::from_static("http://function");
        let channel = endpoint.connect_with_connector(connect).await;
        Ok(Self(channel.with_context(|| format!("cannot connect to {address}"))?))
    }

    /// One call.
    pub async fn call(&self, request: Bytes) -> Result<Bytes, Status> {
        let mut grpc = Grpc::new(self.0.clone()).max_decoding_message_size(usize::MAX);
        grpc.ready().await.map_err(|e| Status::unavailable(e.to_string()))?;
        Ok(grpc.unary(Request::new(request), PathAndQuery::from_static(METHOD), Raw).await?.into_inner())
    }

    /// That many calls, so many at a time. How long each took, in their order of ending for each of the callers.
    pub async fn drive(
        &self,
        request: &Bytes,
        calls: u64,
        concurrency: u32,
    ) -> anyhow::Result<Vec<Duration>> {
        let left = Arc::new(AtomicU64::new(calls));
        let mut callers = JoinSet::new();
        for _ in 0..concurrency {
            let (client, request, left) = (self.clone(), request.clone(), Arc::clone(&left));
            callers.spawn(async move {
                let mut took = Vec::new();
                let next = |left: u64| left.checked_sub(1);
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok() {
                    let start = Instant::now();
                    client.call(request.clone()).await?;
                    took.push(start.elapsed());
                }
                Ok::<_, Status>(took)
            });
        }
        let mut all = Vec::new();
        while let Some(took) = callers.join_next().await {
            all.extend(took?.context("a call failed")?);
        }
        Ok(all)
    }
}

fn tls(certificates: &Path) -> anyhow::Result<ClientConfig> {
    let file = |name: &str| certificates.join(name);
    let read = |name: &str| {
        CertificateDer::pem_file_iter(file(name))
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .with_context(|| format!("cannot read {}", file(name).display()))
    };
    let mut roots = RootCertStore::empty();
    for authority in read("ca.crt")? {
        roots.add(authority)?;
    }
    let key = PrivateKeyDer::from_pem_file(file("tls.key"))
        .with_context(|| format!("cannot read {}", file("tls.key").display()))?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_client_auth_cert(read("tls.crt")?, key)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

/// Messages as they are on the wire.
#[derive(Clone, Copy)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

//! A server on loopback and clients for it.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use function_testplatform::serve::{Config, Error, Function, Security, Server, metrics::Metrics};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use rustls::{ClientConfig, pki_types::ServerName};
use testplatform_composites::sdk::proto::{
    RequestMeta, RunFunctionRequest, RunFunctionResponse, v1, v1beta1,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_rustls::TlsConnector;
use tonic::{
    Status,
    codegen::{BoxFuture, Service, http::Uri},
    transport::{Channel, Endpoint},
};

/// Longer than anything here takes, shorter than anybody waits.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn config(security: Security) -> Config {
    Config {
        address: "127.0.0.1:0".parse().unwrap(),
        admin_address: "127.0.0.1:0".parse().unwrap(),
        security,
        max_recv_message_size: 64 * 1024 * 1024,
        max_connection_age: None,
        shutdown_timeout: PATIENCE,
    }
}

pub fn mutual(dir: impl Into<PathBuf>) -> Config {
    config(Security::Mutual(dir.into()))
}

/// A function that gives back what came in, as one does that has nothing to add.
pub fn echo() -> Function {
    function(|request| RunFunctionResponse {
        meta: Some(v1::ResponseMeta { tag: request.meta.clone().unwrap_or_default().tag, ttl: None }),
        desired: request.desired.clone(),
        context: request.context.clone(),
        ..RunFunctionResponse::default()
    })
}

pub fn function(
    handler: impl Fn(&RunFunctionRequest) -> RunFunctionResponse + Send + Sync + 'static,
) -> Function {
    Function::with_handler(move |request, _| handler(request), || Timestamp::UNIX_EPOCH, Metrics::default())
}

pub struct Running {
    pub address: SocketAddr,
    pub admin: SocketAddr,
    pub metrics: Metrics,
    stop: oneshot::Sender<()>,
    done: JoinHandle<Result<(), Error>>,
}

pub async fn start(config: Config, function: Function) -> Running {
    let metrics = function.metrics().clone();
    let server = Server::bind(config, function).await.unwrap();
    let (address, admin) = (server.address().unwrap(), server.admin_address().unwrap());
    let (stop, stopped) = oneshot::channel::<()>();
    let done = tokio::spawn(server.run(async move { drop(stopped.await) }));
    Running { address, admin, metrics, stop, done }
}

impl Running {
    /// Says that it is time to end, and gives what tells when it has.
    pub fn shut_down(self) -> JoinHandle<Result<(), Error>> {
        self.stop.send(()).unwrap();
        self.done
    }

    /// A plain HTTP request to the admin port: the whole answer.
    pub async fn get(&self, path: &str) -> String {
        get(self.admin, path).await.unwrap()
    }

    /// The value of one time series.
    pub fn metric(&self, series: &str) -> Option<f64> {
        let text = self.metrics.encode().unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
        line.parse().ok()
    }
}

pub async fn get(admin: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(admin).await?;
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes())
        .await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// A channel that connects when it is first used; without TLS if there is no configuration.
pub fn channel(address: SocketAddr, tls: Option<ClientConfig>) -> Channel {
    let endpoint = Endpoint::from_static("http://function").timeout(PATIENCE);
    endpoint.connect_with_connector_lazy(Connector { address, tls: tls.map(Arc::new) })
}

pub async fn call(
    channel: &Channel,
    request: impl tonic::IntoRequest<RunFunctionRequest>,
) -> Result<RunFunctionResponse, Status> {
    let client = v1::function_runner_service_client::FunctionRunnerServiceClient::new(channel.clone());
    let mut client = client.max_decoding_message_size(usize::MAX);
    Ok(client.run_function(request).await?.into_inner())
}

pub async fn call_v1beta1(
    channel: &Channel,
    request: RunFunctionRequest,
) -> Result<RunFunctionResponse, Status> {
    let mut client =
        v1beta1::function_runner_service_client::FunctionRunnerServiceClient::new(channel.clone());
    Ok(client.run_function(request).await?.into_inner())
}

pub fn tagged(tag: &str) -> RunFunctionRequest {
    let meta = Some(RequestMeta { tag: tag.to_owned(), capabilities: Vec::new() });
    RunFunctionRequest { meta, ..RunFunctionRequest::default() }
}

/// Waits until `condition` holds.
pub async fn eventually<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let wait = async {
        while !condition().await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("still not so: {what}"));
}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

#[derive(Clone)]
struct Connector {
    address: SocketAddr,
    tls: Option<Arc<ClientConfig>>,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Box<dyn Io>>;
    type Error = io::Error;
    type Future = BoxFuture<Self::Response, io::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self { address, tls } = self.clone();
        Box::pin(async move {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, address.port())).await?;
            stream.set_nodelay(true)?;
            let io: Box<dyn Io> = match tls {
                None => Box::new(stream),
                Some(tls) => {
                    let name = ServerName::try_from("function").map_err(io::Error::other)?;
                    Box::new(TlsConnector::from(tls).connect(name, stream).await?)
                }
            };
            Ok(TokioIo::new(io))
        })
    }
}

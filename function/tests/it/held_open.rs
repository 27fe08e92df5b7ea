//! Connections that a client holds open for nothing: the program stays small, and answers everybody else meanwhile.

use std::{
    collections::VecDeque,
    convert::Infallible,
    fs,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use http_body::Frame;
use prost::{Message as _, bytes::Bytes, encoding::encode_varint};
use rustls::{ClientConfig, pki_types::ServerName};
use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    task::JoinSet,
    time::{Sleep, sleep, timeout},
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tonic::{
    body::Body,
    codegen::{Body as HttpBody, Service as _, http::Request},
    transport::Channel,
};

use crate::{
    binary::Serving,
    serve::{
        harness::{call, channel, get, tagged},
        pki::{Authority, publish},
    },
};

/// Many times the calls that one connection may have at a time: the rest waits in the client.
const CALLS: usize = 1024;
/// More than there may be connections.
const CONNECTIONS: usize = 600;
/// The most that the program may hold, in MiB.
const MOST: f64 = 64.0;
/// How long a probe or a call of somebody else may take on a busy machine.
const SOON: Duration = Duration::from_secs(5);

/// A message of which this comes, and no more.
struct Unfinished(Option<Bytes>);

impl HttpBody for Unfinished {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.take().map_or(Poll::Pending, |bytes| Poll::Ready(Some(Ok(Frame::data(bytes)))))
    }
}

/// A message whose last byte comes a while after the rest.
struct Delayed {
    parts: VecDeque<Bytes>,
    pause: Pin<Box<Sleep>>,
}

impl Delayed {
    fn new(mut message: Bytes, pause: Duration) -> Self {
        let last = message.split_off(message.len() - 1);
        Self { parts: [message, last].into(), pause: Box::pin(sleep(pause)) }
    }
}

impl HttpBody for Delayed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.parts.len() == 1 {
            ready!(self.pause.as_mut().poll(cx));
        }
        Poll::Ready(self.parts.pop_front().map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// The program with certificates, and who may call it.
fn serving() -> (Serving, Authority, TempDir) {
    let (authority, dir) = (Authority::new(), TempDir::new().unwrap());
    publish(dir.path(), "1", &authority.server(), &authority.pem());
    (Serving::encrypted(dir.path()), authority, dir)
}

/// Resident memory in MiB, without the program's file: of a program that is built for debugging that is many times as large.
fn resident(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let field = if cfg!(debug_assertions) { "RssAnon:" } else { "VmRSS:" };
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

/// The most that it holds within a while in which probes and another caller are answered.
async fn holds(what: &str, server: &Serving, other: &Channel) -> f64 {
    let mut most: f64 = 0.0;
    let mut slowest = Duration::ZERO;
    for _ in 0..10 {
        let begun = Instant::now();
        let probe =
            timeout(SOON, get(server.admin_address(), "/readyz")).await.expect("no probe in time").unwrap();
        assert!(probe.starts_with("HTTP/1.1 200"), "{probe}");
        timeout(SOON, call(other, tagged("t"))).await.expect("no answer in time").unwrap();
        slowest = slowest.max(begun.elapsed());
        most = most.max(resident(server.process()));
        sleep(Duration::from_millis(100)).await;
    }
    println!("{what}: {most:.1} MiB; a probe and a call took {} ms at most", slowest.as_millis());
    most
}

/// Opens as many calls as there may be in one connection, each with a message of which `sent` bytes of `announced` come.
fn unfinished_calls(channel: &Channel, announced: u32, sent: usize) -> JoinSet<()> {
    let mut message = vec![0];
    message.extend(announced.to_be_bytes());
    // One field of bytes that nobody knows.
    message.extend([0xfa, 0x3f, 0xff, 0xff, 0xff, 0x0f]);
    message.resize(5 + sent, b'x');
    let message = Bytes::from(message);
    let mut open = JoinSet::new();
    for _ in 0..CALLS {
        let mut channel = channel.clone();
        let request = grpc_request(Body::new(Unfinished(Some(message.clone()))));
        open.spawn(async move {
            std::future::poll_fn(|cx| channel.poll_ready(cx)).await.unwrap();
            drop(channel.call(request).await);
        });
    }
    open
}

/// Calls with a message of this size in one connection, all of which are begun before any ends. Returns the status of each.
async fn call_at_once(channel: &Channel, count: usize, size: usize) -> Vec<String> {
    let mut message = tagged("t").encode_to_vec();
    // A field of bytes that nobody knows, so that no answer repeats it.
    let tag = 999_u32 << 3 | 2;
    encode_varint(tag.into(), &mut message);
    encode_varint(size.try_into().unwrap(), &mut message);
    message.resize(message.len() + size, b'x');
    let mut framed = vec![0];
    framed.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    framed.extend(message);
    let framed = Bytes::from(framed);
    let mut calls = JoinSet::new();
    for _ in 0..count {
        let (mut channel, body) = (channel.clone(), Delayed::new(framed.clone(), Duration::from_secs(1)));
        calls.spawn(async move {
            std::future::poll_fn(|cx| channel.poll_ready(cx)).await.unwrap();
            let request = grpc_request(Body::new(body));
            let answer = channel.call(request).await.unwrap();
            let (parts, mut body) = answer.into_parts();
            let mut status = parts.headers.get("grpc-status").cloned();
            while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                let trailers = frame.unwrap().into_trailers().ok();
                status = trailers.and_then(|trailers| trailers.get("grpc-status").cloned()).or(status);
            }
            status.map_or_else(String::new, |status| status.to_str().unwrap().to_owned())
        });
    }
    calls.join_all().await
}

fn grpc_request(body: Body) -> Request<Body> {
    Request::post("http://function/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(body)
        .unwrap()
}

/// Crossplane has one connection, and works on many composites at a time: calls beyond the budget wait, and none is refused.
#[tokio::test(flavor = "multi_thread")]
async fn large_calls_that_are_incomplete_at_once_are_all_answered() {
    let (server, authority, _dir) = serving();
    // Together more than a connection may hold in incomplete requests.
    let (count, size) = (48, 600 << 10);
    let channel = channel(server.address(), Some(authority.dial(Some(&authority.client()))));
    // Crossplane's client waits for the limit of the connection before its first call; this one learns it by a call.
    call(&channel, tagged("t")).await.unwrap();
    let statuses = call_at_once(&channel, count, size).await;
    let refused = statuses.iter().filter(|status| *status != "0").count();
    let most = resident(server.process());
    println!("{count} calls of {} KiB: {refused} refused, {most:.1} MiB", size >> 10);
    assert_eq!(refused, 0, "{statuses:?}");
    assert!(most <= MOST, "{most:.1} MiB");
    server.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_whose_messages_never_end_take_little_memory() {
    let (server, authority, _dir) = serving();
    let connect = || channel(server.address(), Some(authority.dial(Some(&authority.client()))));
    let other = connect();
    call(&other, tagged("t")).await.unwrap();
    let idle = resident(server.process());
    println!("idle: {idle:.1} MiB");
    for (what, announced, sent) in [
        ("nothing but the length of 60 MiB", 60 << 20, 0),
        ("16 KiB of 60 MiB", 60 << 20, 16 << 10),
        ("64 KiB of 1 MiB", 1 << 20, 64 << 10),
        ("64 KiB of 60 MiB", 60 << 20, 64 << 10),
    ] {
        let attacker = connect();
        let open = unfinished_calls(&attacker, announced, sent);
        let most = holds(what, &server, &other).await;
        assert!(most <= MOST, "{what}: {most:.1} MiB");
        drop(open);
    }
    server.kill();
}

/// The beginning of an HTTP/2 connection, and of a call whose headers never end.
fn unfinished_headers() -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // Settings, none.
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    // 8 KiB of headers of the first stream, without the flag that they end with it: a literal name and value.
    let size: u16 = 8192;
    let [high, low] = size.to_be_bytes();
    bytes.extend([0, high, low, 1, 0, 0, 0, 0, 1]);
    bytes.extend([0x00, 0x01, b'a', 0x7f, 0xf1, 0x3e]);
    bytes.resize(bytes.len() + usize::from(size) - 6, b'x');
    // A continuation that is announced and does not come.
    bytes.extend([0, high, low, 9, 0, 0, 0, 0, 1]);
    bytes.extend([b'x'; 4096]);
    bytes
}

async fn dial(address: SocketAddr, tls: Arc<ClientConfig>) -> Option<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await.ok()?;
    let name = ServerName::try_from("function").unwrap();
    let mut stream = timeout(SOON, TlsConnector::from(tls).connect(name, stream)).await.ok()?.ok()?;
    stream.write_all(&unfinished_headers()).await.ok()?;
    stream.flush().await.ok()?;
    Some(stream)
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_whose_headers_never_end_take_little_memory() {
    let (server, authority, _dir) = serving();
    let other = channel(server.address(), Some(authority.dial(Some(&authority.client()))));
    call(&other, tagged("t")).await.unwrap();
    let tls = Arc::new(authority.dial(Some(&authority.client())));
    let mut dialling = JoinSet::new();
    for _ in 0..CONNECTIONS {
        dialling.spawn(dial(server.address(), Arc::clone(&tls)));
    }
    let held: Vec<_> = dialling.join_all().await.into_iter().flatten().collect();
    let what = format!("{} connections with unfinished headers", held.len());
    let most = holds(&what, &server, &other).await;
    assert!(most <= MOST, "{what}: {most:.1} MiB");
    drop(held);
    server.kill();
}

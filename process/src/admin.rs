//! Plain HTTP for probes and Prometheus: a kubelet supports no gRPC over TLS, and has no client certificate.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{ALLOW, CONTENT_TYPE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, task::AbortHandle, time::sleep};

/// Timeout of a request's head and of an idle connection. Prometheus reconnects after it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum open connections. Everyone who reaches the pod can open the port, so descriptors and memory have to suffice for others.
const MAX_CONNECTIONS: usize = 64;
/// Maximum bytes of a request's head.
const MAX_HEAD: usize = 8192;
const MAX_HEADERS: usize = 32;
/// Delay after a failed accept, mostly because of too many connections.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_secs(1);
const TEXT: &str = "text/plain; charset=utf-8";
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Readiness of the process: whether it works, and gets traffic. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Ready(Arc<AtomicBool>);

impl Ready {
    /// Sets the readiness.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Serves `/healthz`, `/readyz` and `/metrics` forever; `metrics` writes the last in Prometheus' text format.
///
/// It supports only HTTP/1.1, which kubelets and Prometheus use. Slow requests time out. At the connection limit the oldest connection is
/// closed: a probe is short, and idle connections make room for it.
pub async fn serve(
    listener: TcpListener,
    ready: Ready,
    metrics: impl Fn() -> Result<String, fmt::Error> + Send + Sync + 'static,
) {
    let answering = Arc::new((ready, metrics));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS);
    let mut open: VecDeque<AbortHandle> = VecDeque::with_capacity(MAX_CONNECTIONS);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let answering = Arc::clone(&answering);
        let service = service_fn(move |request: Request<Incoming>| {
            let (ready, metrics) = &*answering;
            std::future::ready(build_response(&request, ready, metrics))
        });
        let connection = http.serve_connection(TokioIo::new(stream), service);
        open.retain(|connection| !connection.is_finished());
        if open.len() == MAX_CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        let connection = tokio::spawn(async move {
            // A client may close its connection early.
            let _ = connection.await;
        });
        open.push_back(connection.abort_handle());
    }
}

fn build_response<B>(
    request: &Request<B>,
    ready: &Ready,
    metrics: impl Fn() -> Result<String, fmt::Error>,
) -> hyper::http::Result<Response<Full<Bytes>>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let refused = Response::builder().status(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET, HEAD");
        return refused.body(Full::default());
    }
    let (status, kind, text) = match request.uri().path() {
        "/healthz" => (StatusCode::OK, TEXT, "ok\n".to_owned()),
        "/readyz" if ready.get() => (StatusCode::OK, TEXT, "ok\n".to_owned()),
        "/readyz" => (StatusCode::SERVICE_UNAVAILABLE, TEXT, "not ready\n".to_owned()),
        "/metrics" => match metrics() {
            Ok(text) => (StatusCode::OK, METRICS, text),
            Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, TEXT, "the metrics cannot be written\n".to_owned()),
        },
        _ => (StatusCode::NOT_FOUND, TEXT, "there are /healthz, /readyz and /metrics\n".to_owned()),
    };
    Response::builder().status(status).header(CONTENT_TYPE, kind).body(Full::from(text))
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
    };

    use super::*;

    /// The response until the server closes the connection.
    async fn answer(request: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve(listener, Ready::default(), || Ok("# EOF\n".to_owned())));
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        serving.abort();
        answer
    }

    #[tokio::test]
    async fn endpoints_respond() {
        let ask = |what: &str| format!("{what} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n");
        for (what, status, body) in [
            ("GET /healthz", "200 OK", "ok\n"),
            ("HEAD /healthz", "200 OK", ""),
            ("GET /readyz", "503 Service Unavailable", "not ready\n"),
            ("GET /metrics", "200 OK", "# EOF\n"),
            ("GET /other", "404 Not Found", "there are /healthz, /readyz and /metrics\n"),
            ("POST /metrics", "405 Method Not Allowed", ""),
        ] {
            let answer = answer(&ask(what)).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{what}: {answer}");
            assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{what}: {answer}");
        }
    }

    /// Each connection holds a descriptor, and memory for its data.
    #[tokio::test]
    async fn idle_connections_do_not_block_probes() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve(listener, Ready::default(), || Ok("# EOF\n".to_owned())));
        let mut held = Vec::new();
        for _ in 0..3 * MAX_CONNECTIONS {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: ").await;
            held.push(stream);
        }
        let mut probe = TcpStream::connect(address).await.unwrap();
        probe.write_all(b"GET /healthz HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        probe.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        // The first idle connection was closed.
        let closed = held[0].read(&mut [0]).await;
        assert!(closed.is_err() || closed.is_ok_and(|read| read == 0));
        serving.abort();
    }

    #[tokio::test]
    async fn a_head_that_is_too_long_is_refused() {
        let long =
            format!("GET /healthz HTTP/1.1\r\nhost: here\r\nlong: {}\r\n\r\n", "x".repeat(2 * MAX_HEAD));
        let many =
            format!("GET /healthz HTTP/1.1\r\nhost: here\r\n{}\r\n", "a: b\r\n".repeat(2 * MAX_HEADERS));
        for request in [long, many] {
            assert!(answer(&request).await.starts_with("HTTP/1.1 431"), "{}", &request[..60]);
        }
    }

    /// The paused clock advances while all tasks are idle.
    #[tokio::test(start_paused = true)]
    async fn unfinished_requests_time_out() {
        let begun = tokio::time::Instant::now();
        let answer = answer("GET /healthz HTTP/1.1\r\nhost:").await;
        assert!(!answer.contains("200 OK"), "{answer}");
        assert_eq!(begun.elapsed().as_secs(), REQUEST_TIMEOUT.as_secs());
    }
}

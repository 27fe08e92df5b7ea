//! Connections: accepted, encrypted where that is asked for, handed over once they are usable.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use super::{MAX_CONNECTIONS, connection::Connection, tls::Certs};
use crate::serve::metrics::Metrics;

/// A client that has not finished its handshake by then never will.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Handshakes cost CPU and memory before anybody has shown a certificate.
const MAX_HANDSHAKES: usize = 256;

/// Connections ready for HTTP/2, as tonic takes them.
pub(super) type Sender = mpsc::Sender<io::Result<Connection>>;

/// Hands over connections as they are, until nobody takes them any more.
pub(super) async fn accept_plain(listener: TcpListener, out: Sender) {
    loop {
        let Some((stream, _)) = accept_stream(&listener, &out).await else { return };
        if out.send(Ok(Connection::new_plain(stream))).await.is_err() {
            return;
        }
    }
}

/// Hands over connections whose client has shown a good certificate, until nobody takes them any more.
/// Each handshake is a task of its own: a slow client delays nobody.
pub(super) async fn accept_encrypted(
    listener: TcpListener,
    certs: Arc<Certs>,
    metrics: Metrics,
    out: Sender,
) {
    let log = Arc::new(FailureLog::default());
    let mut handshakes = JoinSet::new(); // dropped with this task, and then so are they
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Some((stream, peer)) = accept_stream(&listener, &out).await else { return };
        while handshakes.try_join_next().is_some() {}
        if handshakes.len() >= MAX_HANDSHAKES {
            handshakes.join_next().await;
        }
        let acceptor = TlsAcceptor::from(certs.current_config());
        let (out, log, metrics) = (out.clone(), Arc::clone(&log), metrics.clone());
        let places = Arc::clone(&places);
        handshakes.spawn(async move {
            let result = timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await;
            let error = match result {
                Ok(Ok(stream)) => {
                    // Only who has shown a certificate takes a place from others.
                    if let Ok(place) = places.acquire_owned().await {
                        let _ = out.send(Ok(Connection::new_encrypted(stream, place))).await;
                    }
                    return;
                }
                Ok(Err(error)) => error,
                Err(_) => io::Error::new(io::ErrorKind::TimedOut, "the client did not finish in time"),
            };
            metrics.handshake_failed();
            log.log_failure(peer, &error);
        });
    }
}

/// The next connection, or none once nobody takes them any more.
async fn accept_stream(listener: &TcpListener, out: &Sender) -> Option<(TcpStream, SocketAddr)> {
    loop {
        let accepted = tokio::select! {
            () = out.closed() => return None,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Calls are small and somebody waits for each of them. Without it they only get slower.
                let _ = stream.set_nodelay(true);
                return Some((stream, peer));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                // Out of descriptors, mostly: that passes, but not by trying at once.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// One line per second at most, with the number of those that were left out.
#[derive(Default)]
struct FailureLog(Mutex<(Option<Instant>, u64)>);

impl FailureLog {
    fn log_failure(&self, peer: SocketAddr, error: &io::Error) {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            // A client that only checks whether the port is open, as probes do.
            tracing::debug!(%peer, %error, "connection closed before the TLS handshake was done");
            return;
        }
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0.is_some_and(|at| at.elapsed() < Duration::from_secs(1)) {
            last.1 += 1;
            return;
        }
        let suppressed = std::mem::take(&mut last.1);
        last.0 = Some(Instant::now());
        drop(last);
        tracing::warn!(%peer, %error, suppressed, "TLS handshake failed");
    }
}

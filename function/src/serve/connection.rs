//! A connection, encrypted or not. One type for both, so that HTTP/2 is in the program once.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::OwnedSemaphorePermit,
};
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use crate::serve::incomplete::IncompleteRequests;

/// Bytes in both directions.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection that is ready for HTTP/2.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    /// Its place among those that may be open, until it is closed.
    _place: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// One in plain text.
    pub(super) fn new_plain(stream: TcpStream) -> Self {
        Self { stream: Box::new(stream), _place: None }
    }

    /// An encrypted connection.
    pub(super) fn new_encrypted(stream: TlsStream<TcpStream>, place: OwnedSemaphorePermit) -> Self {
        Self { stream: Box::new(stream), _place: Some(place) }
    }
}

/// The certificate of the client was verified before. Its requests share one limit.
impl Connected for Connection {
    type ConnectInfo = IncompleteRequests;

    fn connect_info(&self) -> IncompleteRequests {
        IncompleteRequests::default()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

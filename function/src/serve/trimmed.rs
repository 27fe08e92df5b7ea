//! Long requests lose what nobody reads of other composites before they are held in memory.
//!
//! A claim that is counted against others brings all composites along, and a composite may be as large as its owner likes. gRPC would hold the
//! whole message, and refuse it from a size on, for each claim of everybody.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use http_body::{Body, Frame, SizeHint};
use prost::bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use testplatform_composites::{
    cluster::observed::trim_peers,
    sdk::wire::{self, Trimmer},
};
use tonic::Status;

use super::incomplete::{IncompleteRequests, RequestBytes};

/// Shorter requests pass as they are: nearly all, and what they cost is known.
const LONG: u32 = 1 << 20;

/// Before each message: whether it is compressed, and its length.
const HEADER: usize = 5;

/// A request's body.
pub(crate) struct Trimmed<B> {
    inner: B,
    progress: Progress,
    /// Released once the request is handled.
    counted: RequestBytes,
    /// Bytes that were passed on.
    passed: usize,
}

enum Progress {
    /// The header has not arrived as a whole.
    Header(BytesMut),
    /// This much of a long message is still to come.
    Long(Box<Trimmer>, u64),
    /// Everything else passes.
    Passing,
}

impl<B> Trimmed<B> {
    pub(crate) fn new(inner: B, connection: IncompleteRequests) -> Self {
        let counted = RequestBytes::new(connection);
        Self { inner, progress: Progress::Header(BytesMut::new()), counted, passed: 0 }
    }

    /// Takes a piece that came, and counts the bytes that the request holds since.
    fn take_piece(&mut self, piece: Bytes) -> Result<Option<Bytes>, Status> {
        let passed = self.progress.take_piece(piece)?;
        self.passed += passed.as_ref().map_or(0, Bytes::len);
        let buffered =
            if let Progress::Long(trimmer, _) = &self.progress { trimmer.buffered_bytes() } else { 0 };
        self.counted.set_bytes(self.passed + buffered)?;
        Ok(passed)
    }
}

impl Progress {
    /// Part of a received piece to pass on; none: nothing yet.
    fn take_piece(&mut self, mut piece: Bytes) -> Result<Option<Bytes>, Status> {
        if let Self::Header(so_far) = self {
            if so_far.is_empty() && piece.len() >= HEADER && !is_long(&piece) {
                *self = Self::Passing;
                return Ok(Some(piece));
            }
            let missing = HEADER - so_far.len();
            so_far.put(piece.split_to(missing.min(piece.len())));
            if so_far.len() < HEADER {
                return Ok(None);
            }
            if !is_long(so_far) {
                so_far.put(piece);
                let all = std::mem::take(so_far).freeze();
                *self = Self::Passing;
                return Ok(Some(all));
            }
            let length = message_length(so_far).into();
            let trimmer = trim_peers(length);
            *self = Self::Long(Box::new(trimmer), length);
        }
        let Self::Long(trimmer, left) = self else { return Ok(Some(piece)) };
        let malformed = |error: wire::Error| Status::invalid_argument(error.to_string());
        let part = piece.split_to(usize::try_from(*left).map_or(piece.len(), |left| left.min(piece.len())));
        trimmer.push(&part).map_err(malformed)?;
        *left -= part.len() as u64;
        if *left > 0 {
            return Ok(None);
        }
        let Self::Long(trimmer, _) = std::mem::replace(self, Self::Passing) else { return Ok(None) };
        let shorter = trimmer.finish().map_err(malformed)?;
        // It is never longer than before.
        let length = u32::try_from(shorter.len()).map_err(|e| Status::internal(e.to_string()))?;
        let mut message = BytesMut::with_capacity(HEADER + shorter.len() + piece.len());
        message.put_u8(0);
        message.put_u32(length);
        message.put_slice(&shorter);
        message.put(piece);
        Ok(Some(message.freeze()))
    }
}

/// Whether a message begins here that is worth trimming. A compressed one cannot be trimmed.
fn is_long(header: &[u8]) -> bool {
    header[0] == 0 && message_length(header) > LONG
}

fn message_length(header: &[u8]) -> u32 {
    (&header[1..HEADER]).get_u32()
}

impl<B: Body<Data = Bytes, Error = Status> + Unpin> Body for Trimmed<B> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        loop {
            let frame = match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            let data = match frame.into_data() {
                Ok(data) => data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            };
            match self.take_piece(data) {
                Ok(Some(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Ok(None) => {}
                Err(status) => return Poll::Ready(Some(Err(status))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        // It may become shorter than it was.
        SizeHint::default()
    }
}

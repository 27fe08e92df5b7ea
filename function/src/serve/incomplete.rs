//! Bytes of requests that have not arrived completely, and a limit for them in each connection.
//!
//! A client may open many calls and end none of them. Each call holds what has arrived of its request until the client ends it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tonic::Status;

/// The most bytes that a connection may hold in incomplete requests: 1 MiB for each of the calls that it may have, from which size on requests are
/// trimmed. One request alone may be as large as the server accepts.
pub(crate) const LIMIT: usize = 24 << 20;

/// The bytes that a connection holds. Clones share the count.
#[derive(Clone, Debug, Default)]
pub(crate) struct IncompleteRequests(Arc<AtomicUsize>);

/// The bytes of one request among them. They are released when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct RequestBytes {
    connection: IncompleteRequests,
    bytes: usize,
}

impl RequestBytes {
    /// A request of which nothing has arrived.
    pub(crate) fn new(connection: IncompleteRequests) -> Self {
        Self { connection, bytes: 0 }
    }

    /// Sets the number of bytes that the request holds.
    ///
    /// # Errors
    /// If the requests of the connection hold too much together.
    pub(crate) fn set_bytes(&mut self, bytes: usize) -> Result<(), Status> {
        let IncompleteRequests(total) = &self.connection;
        let added = bytes.saturating_sub(self.bytes);
        let removed = self.bytes.saturating_sub(bytes);
        let before = total.fetch_add(added, Ordering::Relaxed);
        total.fetch_sub(removed, Ordering::Relaxed);
        let others = before.saturating_sub(self.bytes);
        self.bytes = bytes;
        if others > 0 && others + bytes > LIMIT {
            let message =
                format!("incomplete requests of this connection hold more than {} MiB", LIMIT >> 20);
            return Err(Status::resource_exhausted(message));
        }
        Ok(())
    }
}

impl Drop for RequestBytes {
    fn drop(&mut self) {
        self.connection.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_share_the_limit_of_their_connection() {
        let connection = IncompleteRequests::default();
        let request = || RequestBytes::new(connection.clone());
        let (mut first, mut second) = (request(), request());
        first.set_bytes(LIMIT / 2).unwrap();
        second.set_bytes(LIMIT / 2).unwrap();
        assert!(second.set_bytes(LIMIT / 2 + 1).is_err());
        // Of another connection.
        RequestBytes::default().set_bytes(LIMIT).unwrap();
        drop(second);
        // Alone it may be as large as it likes.
        first.set_bytes(2 * LIMIT).unwrap();
        first.set_bytes(1).unwrap();
        request().set_bytes(LIMIT - 1).unwrap();
        drop(first);
        assert_eq!(connection.0.load(Ordering::Relaxed), 0);
    }
}

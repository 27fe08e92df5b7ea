//! A wire between two programs that can be bad: what goes through it is reset, delayed, refused, or goes nowhere.
//!
//! ```text
//! client ──TCP──▶ Proxy ──TCP──▶ server
//! ```
//!
//! It knows nothing of what it carries, so TLS goes through it from end to end. Its counters show that a fault hit somebody: a wire may be bad, and
//! nobody notices.

use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// How a wire is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// As it should be.
    #[default]
    Good,
    /// Everything takes so much longer, in each direction.
    Slow(Duration),
    /// Connections stay, new ones are made, and nothing arrives, until it is good again.
    Silent,
    /// New connections are reset.
    Refusing,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    manner: Manner,
    /// How often all connections were reset.
    resets: u64,
}

/// Counters of the traffic on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Connections that were made by it.
    pub connections: u64,
    /// Bytes that it carried, in both directions.
    pub carried: u64,
    /// Bytes that were kept for a while, because it was slow or silent.
    pub delayed: u64,
    /// Connections that were there when all of them were reset.
    pub reset: u64,
    /// Connections that were refused.
    pub refused: u64,
}

impl Met {
    /// Difference to earlier counters.
    #[must_use]
    pub fn after(self, earlier: Self) -> Self {
        Self {
            connections: self.connections.saturating_sub(earlier.connections),
            carried: self.carried.saturating_sub(earlier.carried),
            delayed: self.delayed.saturating_sub(earlier.delayed),
            reset: self.reset.saturating_sub(earlier.reset),
            refused: self.refused.saturating_sub(earlier.refused),
        }
    }
}

/// Counted by every connection.
#[derive(Clone, Debug, Default)]
struct Counts(Arc<Mutex<Met>>);

impl Counts {
    fn count(&self, change: impl FnOnce(&mut Met)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn met(&self) -> Met {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wire. It is cut when this is dropped.
pub struct Proxy {
    port: u16,
    state: watch::Sender<State>,
    counts: Counts,
    task: JoinHandle<()>,
}

impl Proxy {
    /// A good wire to a port of this machine.
    pub async fn to(server: u16) -> anyhow::Result<Self> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no free port for a proxy")?;
        let port = listener.local_addr()?.port();
        let (state, seen) = watch::channel(State::default());
        let counts = Counts::default();
        let counted = counts.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server, seen.clone(), counted.clone()));
            }
        });
        Ok(Self { port, state, counts, task })
    }

    /// Counters so far.
    pub fn met(&self) -> Met {
        self.counts.met()
    }

    /// Where clients connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Is like that from now on.
    pub fn be(&self, manner: Manner) {
        self.state.send_modify(|state| state.manner = manner);
    }

    /// Resets every connection that there is.
    pub fn reset(&self) {
        self.state.send_modify(|state| state.resets += 1);
    }
}

impl Proxy {
    /// Same as [`Self::reset`], for a task of its own.
    pub fn resetter(&self) -> impl Fn() + Send + 'static + use<> {
        let state = self.state.clone();
        move || state.send_modify(|state| state.resets += 1)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.reset();
        self.task.abort();
    }
}

async fn carry(mut client: TcpStream, server: u16, state: watch::Receiver<State>, counts: Counts) {
    let begun = *state.borrow();
    // Closed with what is unread in it, or by a linger of nothing, a connection is reset.
    if begun.manner == Manner::Refusing {
        counts.count(|met| met.refused += 1);
        let _ = client.set_zero_linger();
        return;
    }
    let Ok(mut server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await else {
        let _ = client.set_zero_linger();
        return;
    };
    counts.count(|met| met.connections += 1);
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let mut seen = state.clone();
    let reset = {
        let (mut from_client, mut to_client) = client.split();
        let (mut from_server, mut to_server) = server.split();
        let there = pump(&mut from_client, &mut to_server, state.clone(), &counts);
        let back = pump(&mut from_server, &mut to_client, state, &counts);
        tokio::select! {
            _ = async { tokio::join!(there, back) } => false,
            _ = seen.wait_for(|state| state.resets != begun.resets) => true,
        }
    };
    if reset {
        counts.count(|met| met.reset += 1);
        let _ = (client.set_zero_linger(), server.set_zero_linger());
    }
}

async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    mut state: watch::Receiver<State>,
    counts: &Counts,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        let bytes = u64::try_from(read).unwrap_or(u64::MAX);
        // Counted when it is met with: what is silent may be so for long.
        let manner = state.borrow().manner;
        if matches!(manner, Manner::Slow(_) | Manner::Silent) {
            counts.count(|met| met.delayed += bytes);
        }
        let seen = state.wait_for(|state| state.manner != Manner::Silent).await.map(|state| state.manner);
        if let Ok(Manner::Slow(delay)) = seen {
            tokio::time::sleep(delay).await;
        }
        counts.count(|met| met.carried += bytes);
        to.write_all(&buffer[..read]).await?;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;

    /// A server that says everything back.
    async fn echo() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    tokio::io::copy(&mut read, &mut write).await
                });
            }
        });
        port
    }

    async fn say(stream: &mut TcpStream) -> std::io::Result<[u8; 4]> {
        let mut heard = [0; 4];
        stream.write_all(b"ping").await?;
        stream.read_exact(&mut heard).await?;
        Ok(heard)
    }

    #[tokio::test]
    async fn each_manner_is_what_it_says() {
        let proxy = Proxy::to(echo().await).await.unwrap();
        let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port()));
        let mut stream = connect().await.unwrap();
        assert_eq!(&say(&mut stream).await.unwrap(), b"ping");
        let mut met = Met { connections: 1, carried: 8, ..Met::default() };
        assert_eq!(proxy.met(), met);

        proxy.be(Manner::Slow(Duration::from_millis(100)));
        let begun = Instant::now();
        say(&mut stream).await.unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(200), "{:?}", begun.elapsed());
        met = Met { carried: 16, delayed: 8, ..met };
        assert_eq!(proxy.met(), met);

        proxy.be(Manner::Silent);
        assert!(timeout(Duration::from_millis(300), say(&mut stream)).await.is_err());
        met = Met { delayed: 12, ..met };
        assert_eq!(proxy.met(), met, "it is known before it is good again");
        proxy.be(Manner::Good);
        // Bytes that were under way arrive.
        let mut late = [0; 4];
        stream.read_exact(&mut late).await.unwrap();
        met = Met { carried: 24, ..met };
        assert_eq!(proxy.met(), met);

        proxy.reset();
        let error = say(&mut stream).await.unwrap_err();
        assert!(
            [std::io::ErrorKind::ConnectionReset, std::io::ErrorKind::BrokenPipe].contains(&error.kind()),
            "{error}"
        );
        assert_eq!(proxy.met().reset, 1);
        assert_eq!(&say(&mut connect().await.unwrap()).await.unwrap(), b"ping");

        met = proxy.met();
        proxy.be(Manner::Refusing);
        let mut refused = connect().await.unwrap();
        assert!(say(&mut refused).await.is_err());
        assert_eq!(proxy.met().after(met), Met { refused: 1, ..Met::default() });
    }
}
